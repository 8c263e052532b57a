// SPDX-License-Identifier: MIT
//
// TOML documents as values with places (profile/toml.hpp).
#include "profile/toml.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::toml;

namespace {

std::string message_of(std::string_view document) {
    const Result<Table> table = toml::parse(document, "x.toml", Errc::profile);
    return table ? "" : table.error().message;
}

} // namespace

TEST_SUITE("profile.toml") {

    TEST_CASE("every kind of value is read with its place") {
        const Result<Table> table = toml::parse("s = 'text'\n"
                                                "i = 0x10\n"
                                                "  r = 1.5\n"
                                                "b = true\n"
                                                "d = 2026-01-02\n"
                                                "a = [1, 2]\n"
                                                "[t]\n"
                                                "k = ''\n",
                                                "x.toml", Errc::profile);
        REQUIRE(table.has_value());
        REQUIRE(table->entries.size() == 7);
        CHECK(*table->find("s")->string() == "text");
        CHECK(*table->find("i")->integer() == 16);
        CHECK(table->find("r")->type_name() == "a floating-point number");
        CHECK(*table->find("b")->boolean());
        CHECK(table->find("d")->type_name() == "a date or time");
        CHECK(table->find("a")->array()->size() == 2);
        CHECK(table->find("t")->table()->find("k")->string()->empty());
        CHECK(table->find("absent") == nullptr);
        CHECK(table->find("r")->at == Position{.line = 3, .column = 7});
        CHECK(table->entries[2].key_at == Position{.line = 3, .column = 3});
    }

    TEST_CASE("keys keep the order of the file") {
        const Result<Table> table = toml::parse("z = 1\na = 2\nm = 3\n", "x", Errc::profile);
        REQUIRE(table.has_value());
        CHECK(table->entries[0].key == "z");
        CHECK(table->entries[1].key == "a");
        CHECK(table->entries[2].key == "m");
    }

    TEST_CASE("a syntax error has the file, the line and the column") {
        CHECK(message_of("a = 1\nb = \n").starts_with("x.toml:2:5: "));
        CHECK(message_of("a = 1\na = 2\n").starts_with("x.toml:2:"));
        CHECK(message_of("a = 1\na = 2\n").find("cannot redefine") != std::string::npos);
        CHECK(message_of("a = \xFF\n").starts_with("x.toml:1:"));
        CHECK_FALSE(message_of("[t]\n[t]\n").empty());
        CHECK_FALSE(message_of("a = 99999999999999999999\n").empty());
        CHECK_FALSE(message_of("a = \"\n").empty());
    }

    TEST_CASE("a message is one printable line without the words of the parser") {
        for (const std::string_view document : {"a = \n", "a = \x01\n", "\x7F", "a = 'x\n"}) {
            const std::string message = message_of(document);
            CHECK(message.find('\n') == std::string::npos);
            CHECK(message.find("Error while") == std::string::npos);
            CHECK_FALSE(message.ends_with("."));
        }
    }

    TEST_CASE("letters and white space beyond ASCII are refused outside of strings and comments") {
        for (const std::string_view letter : {"\u00A1", "\u00E9", "\u0494", "\u1681", "\u2001",
                                              "\u3001", "\uFA80", "\uFE00", "\U0001F600"}) {
            const std::string l(letter);
            CAPTURE(l);
            CHECK(message_of("# " + l + "\na = '" + l + "'\nb = \"\"\"\\\n  " + l + "\"\"\"\n")
                      .empty());
            CHECK(message_of(l + " = 1\n").starts_with("x.toml:1:1: "));
            CHECK(message_of("a" + l + " = 1\n").starts_with("x.toml:1:2: "));
            CHECK_FALSE(message_of("a = 1" + l + "\n").empty());
            CHECK_FALSE(message_of("a = '1'" + l + "\n").empty());
            CHECK_FALSE(message_of("a = [1," + l + "]\n").empty());
            CHECK_FALSE(message_of("[" + l + "]\n").empty());
            CHECK_FALSE(message_of("a." + l + " = 1\n").empty());
        }
    }

    TEST_CASE("keys that begin with no key character are refused") {
        for (
            const std::string_view document :
            {"[.a]\n",      "[a.]\n",    "a. = 1\n", ".a = 1\n", "a..b = 1\n",     "= 1\n",
             "[]\n",        "[[]]\n",    "[a\n",     "[[a]\n",   "a = {.b = 1}\n", "a = {b. = 1}\n",
             "a = {= 1}\n", "a = {,}\n", "a.\n",     "a.#\n",    "[a.#]\n",        "a",
             "a.",          "[",         "[[",       "a = {",    "a = {b",         "a = {b ="}) {
            CAPTURE(document);
            CHECK(message_of(document).starts_with("x.toml:1:"));
        }
    }

    TEST_CASE("an empty document is an empty table") {
        CHECK(toml::parse("", "x", Errc::profile)->entries.empty());
        CHECK(toml::parse("# only a comment", "x", Errc::profile)->entries.empty());
    }

    TEST_CASE("values nest sixteen deep and no deeper") {
        const auto nested = [](std::size_t depth) {
            return "a = " + std::string(depth, '[') + std::string(depth, ']') + "\n";
        };
        CHECK(message_of(nested(kDeepestValue)).empty());
        CHECK(message_of(nested(kDeepestValue + 1)).find("depth of 16") != std::string::npos);
        CHECK_FALSE(message_of(nested(200'000)).empty());
        CHECK_FALSE(message_of("a = " + std::string(200'000, '[')).empty());
        std::string inline_tables;
        for (int i = 0; i < 50'000; ++i) {
            inline_tables += "a={";
        }
        CHECK_FALSE(message_of(inline_tables).empty());
    }

    TEST_CASE("a dotted key has sixteen parts and no more") {
        const auto dotted = [](std::size_t parts) {
            std::string key = "a";
            for (std::size_t i = 1; i < parts; ++i) {
                key += ".a";
            }
            return key;
        };
        CHECK(message_of(dotted(16) + " = 1\n").empty());
        CHECK(message_of("[" + dotted(16) + "]\n").empty());
        CHECK(message_of("b = 1\n" + dotted(17) + " = 1\n") ==
              "x.toml:2:32: this key has more than 16 parts");
        CHECK_FALSE(message_of(dotted(400'000) + " = 1\n").empty());
        CHECK_FALSE(message_of("[" + dotted(400'000) + "]\n").empty());
        CHECK_FALSE(message_of("[[" + dotted(400'000) + "]]\n").empty());
        CHECK_FALSE(message_of("t = {" + dotted(400'000) + " = 1}\n").empty());
    }

    TEST_CASE("dots in strings and comments are not counted") {
        const std::string dots(100, '.');
        CHECK(message_of("# " + dots + "\n").empty());
        CHECK(message_of("a = \"" + dots + "\"\n").empty());
        CHECK(message_of("a = \"\\\"" + dots + "\"\n").empty());
        CHECK(message_of("a = '\\'\nb = '" + dots + "'\n").empty());
        CHECK(message_of("a = \"\"\"\n\"" + dots + "\"\"\\\"" + dots + "\"\"\"\n").empty());
        CHECK(message_of("a = '''\n''" + dots + "'''\n").empty());
        CHECK(message_of("a = \"\"\"x\"\"\"\"\"\nb = '" + dots + "'\n").empty());
        CHECK(message_of("a = \"\"\nb = ''\nc = '" + dots + "'\n").empty());
        CHECK(message_of("\"" + dots + "\" = 1\n").empty());
    }

    TEST_CASE("a key cannot hide behind a string or a comment") {
        std::string key = "a";
        for (int i = 0; i < 20; ++i) {
            key += ".a";
        }
        for (const std::string_view head :
             {"x = ''\n", "x = \"\"\n", "x = '\\'\n", "x = \"\\\\\"\n", "x = ''''''\n",
              "x = \"\"\"a\"\"\"\"\n", "# '\n", "x = [ # \"\n'a' ]\n", "'x' = 1\n", "x = '#'\n"}) {
            CAPTURE(head);
            CHECK(message_of(std::string(head) + key + " = 1\n").find("16 parts") !=
                  std::string::npos);
        }
    }

    TEST_CASE("a document of nothing but dotted keys is refused before it costs seconds") {
        std::string document;
        for (int i = 0; i < 30'000; ++i) {
            document += "k" + std::to_string(i) + ".a = 1\n";
        }
        CHECK(message_of(document).find("too many dotted keys") != std::string::npos);
    }
}
