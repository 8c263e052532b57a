// SPDX-License-Identifier: MIT
#include "target/env_line.hpp"

#include <map>

#include <doctest/doctest.h>

using namespace metalrun;
using target::EnvironmentChange;
using target::EnvKind;
using Words = std::vector<std::string>;
using Changes = std::vector<EnvironmentChange>;
using Kind = EnvironmentChange::Kind;

namespace {

const std::map<std::string, std::string> kVariables{{"HOME", "/home/u"},
                                                    {"WORDS", "a b # \\c"},
                                                    {"EMPTY", ""},
                                                    {"LOOP", "-S-S${LOOP}"},
                                                    {"GROW", "-S${GROW}${GROW}"}};

std::optional<std::string> variable(const std::string& name) {
    const auto found = kVariables.find(name);
    return found == kVariables.end() ? std::nullopt : std::optional(found->second);
}

auto gnu(Words words) {
    return target::parse_env_line(std::move(words), EnvKind::gnu, variable);
}

auto bsd(Words words) {
    return target::parse_env_line(std::move(words), EnvKind::bsd, variable);
}

/// The words behind `show` in the string.
Words split(EnvKind kind, const std::string& text) {
    auto command = target::parse_env_line({"-S", "show " + text}, kind, variable);
    if (!command) {
        return {"not followed: " + command.error()};
    }
    command->words.erase(command->words.begin());
    return command->words;
}

EnvironmentChange set(const std::string& name, const std::string& value) {
    return {.kind = Kind::set, .name = name, .value = value};
}

EnvironmentChange unset(const std::string& name) {
    return {.kind = Kind::unset, .name = name};
}

const EnvironmentChange kClear{.kind = Kind::clear};
const Words kRefused{"not followed: the string behind '-S'"};

} // namespace

TEST_SUITE("target.env_line") {
    TEST_CASE("the first word without '=' is the program, the rest is its own") {
        for (const EnvKind kind : {EnvKind::gnu, EnvKind::bsd}) {
            const auto command =
                target::parse_env_line({"A=1", "B=x=y", "prog", "C=2", "-i"}, kind, variable);
            REQUIRE(command);
            CHECK(command->words == Words{"prog", "C=2", "-i"});
            CHECK(command->changes == Changes{set("A", "1"), set("B", "x=y")});
            CHECK_FALSE(command->search_path);
        }
    }

    TEST_CASE("both clear, unset, then set") {
        for (const auto& parse : {gnu, bsd}) {
            CHECK(parse({"-i", "A=1", "prog"})->changes == Changes{kClear, set("A", "1")});
            CHECK(parse({"-uA", "-u", "B", "prog"})->changes == Changes{unset("A"), unset("B")});
            CHECK(parse({"-vi", "prog"})->changes == Changes{kClear});
            CHECK(parse({"-iuA", "prog"})->changes == Changes{kClear});
            CHECK(parse({"-", "A=1", "prog"})->changes == Changes{kClear, set("A", "1")});
            CHECK(parse({"--", "A=1", "prog", "--"})->words == Words{"prog", "--"});
        }
    }

    TEST_CASE("GNU has long options, and a lone '-' ends them") {
        CHECK(gnu({"--ignore-environment", "prog"})->changes == Changes{kClear});
        CHECK(gnu({"--unset=A", "--unset", "B", "prog"})->changes ==
              Changes{unset("A"), unset("B")});
        CHECK(gnu({"--debug", "--split-string=prog -x"})->words == Words{"prog", "-x"});
        CHECK(gnu({"--split-string", "A=1 prog"})->changes == Changes{set("A", "1")});
        CHECK(gnu({"--", "-", "prog"})->changes == Changes{kClear});
        CHECK(gnu({"-", "-u", "A"})->words == Words{"-u", "A"});
        CHECK_FALSE(gnu({"--unse=A", "prog"}));
        CHECK_FALSE(gnu({"--debug=1", "prog"}));
    }

    TEST_CASE("BSD goes on behind a lone '-', has no long options, and searches along -P") {
        CHECK(bsd({"-", "-u", "A", "prog"})->words == Words{"prog"});
        CHECK(bsd({"--", "-"})->words == Words{"-"});
        CHECK(bsd({"--iv", "prog"})->changes == Changes{kClear});
        CHECK_FALSE(bsd({"--unset=A", "prog"}));
        CHECK(bsd({"-P/a:/b", "prog"})->search_path == "/a:/b");
        CHECK(bsd({"-P", "/a", "-P", "/b", "prog"})->search_path == "/b");
        CHECK_FALSE(gnu({"-P/a", "prog"}));
    }

    TEST_CASE("what env refuses or what is not followed is named") {
        CHECK(gnu({"-C", "/tmp", "prog"}).error() == "the option '-C'");
        CHECK(gnu({"-0", "prog"}).error() == "the option '-0'");
        CHECK(gnu({"--block-signal=PIPE", "prog"}).error() == "the option '--block-signal'");
        CHECK(gnu({"-i prog"}).error() == "the option '-i prog'");
        CHECK(gnu({"-u"}).error() == "the option '-u' without its argument");
        CHECK(gnu({"-uA=B", "prog"}).error() == "the name 'A=B' behind '-u'");
        CHECK(gnu({"-i", "-uA=B", "prog"}));
        CHECK(bsd({"-i", "-uA=B", "prog"}).error() == "the name 'A=B' behind '-u'");
        for (const auto& parse : {gnu, bsd}) {
            CHECK(parse({}).error() == "a line without a program");
            CHECK(parse({"A=1"}).error() == "a line without a program");
            CHECK(parse({"-S", ""}).error() == "a line without a program");
            CHECK(parse({"=1", "prog"}).error() == "an assignment without a name");
            CHECK(parse({"-S", "prog '"}).error() == "the string behind '-S'");
        }
    }

    TEST_CASE("-S puts its words in the place of all options before it") {
        for (const auto& parse : {gnu, bsd}) {
            const auto command = parse({"-vS", "-u A B=1", "C=2", "prog", "x y"});
            REQUIRE(command);
            CHECK(command->changes == Changes{unset("A"), set("B", "1"), set("C", "2")});
            CHECK(command->words == Words{"prog", "x y"});
            CHECK(parse({"-Sprog", "-S"})->words == Words{"prog", "-S"});
            CHECK(parse({"-S", "-S 'prog\\_x'"})->words == Words{"prog", "x"});
            CHECK(parse({"-S", "  ", "prog"})->words == Words{"prog"});
        }
    }

    TEST_CASE("-S knows quotes, escapes and comments") {
        for (const EnvKind kind : {EnvKind::gnu, EnvKind::bsd}) {
            CHECK(split(kind, "a\tb  c") == Words{"a", "b", "c"});
            CHECK(split(kind, "a\r") == Words{"a"});
            CHECK(split(kind, "'a b' \"c d\"e ''") == Words{"a b", "c de", ""});
            CHECK(split(kind, "'\"' \"'\"") == Words{"\"", "'"});
            CHECK(split(kind, "a\\_b\\_ c") == Words{"a", "b", "c"});
            CHECK(split(kind, "\"a\\_b\"") == Words{"a b"});
            CHECK(split(kind, "'a\\_b\\'c\\\\'") == Words{"a\\_b'c\\"});
            CHECK(split(kind, "\\f\\n\\r\\t\\v") == Words{"\f\n\r\t\v"});
            CHECK(split(kind, "\\\"\\#\\$\\'\\\\") == Words{"\"#$'\\"});
            CHECK(split(kind, "a b\\c d") == Words{"a", "b"});
            CHECK(split(kind, "a#b #c d") == Words{"a#b"});
            CHECK(split(kind, "'#a' \\#b") == Words{"#a", "#b"});
            for (const char* refused : {"\"", "'", "\\", "\\q", "\"\\c\"", "'\\c"}) {
                CAPTURE(refused);
                CHECK(split(kind, refused) == kRefused);
            }
        }
        CHECK(split(EnvKind::bsd, "a\\ b") == Words{"a b"});
        CHECK(split(EnvKind::gnu, "a\\ b") == kRefused);
    }

    TEST_CASE("${NAME} is a part of a word, whatever it holds") {
        for (const EnvKind kind : {EnvKind::gnu, EnvKind::bsd}) {
            CHECK(split(kind, "${HOME}/x \"${HOME}\"") == Words{"/home/u/x", "/home/u"});
            CHECK(split(kind, "${WORDS}") == Words{"a b # \\c"});
            CHECK(split(kind, "'${HOME}' \\${HOME}") == Words{"${HOME}", "${HOME}"});
            CHECK(split(kind, "a ${ABSENT} b${ABSENT}") == Words{"a", "b"});
            CHECK(split(kind, "\"${ABSENT}\"") == Words{""});
            for (const char* refused : {"$HOME", "${", "${}", "${1}", "${A-B}", "$", "${HOME"}) {
                CAPTURE(refused);
                CHECK(split(kind, refused) == kRefused);
            }
        }
        CHECK(split(EnvKind::gnu, "${EMPTY}") == Words{""});
        CHECK(split(EnvKind::bsd, "${EMPTY}").empty());
        CHECK_FALSE(target::parse_env_line({"-S", "prog ${HOME}"}, EnvKind::gnu, {}));
    }

    TEST_CASE("BSD takes a variable away at once, GNU at the end") {
        CHECK(gnu({"-u", "HOME", "-S", "prog ${HOME}"})->words == Words{"prog", "/home/u"});
        CHECK(bsd({"-u", "HOME", "-S", "prog ${HOME}"})->words == Words{"prog"});
        CHECK(bsd({"-i", "-S", "prog ${HOME}"})->words == Words{"prog", "/home/u"});
    }

    TEST_CASE("strings without end are given up") {
        CHECK_FALSE(gnu({"-S", "${LOOP}"}));
        CHECK_FALSE(gnu({"-S", "${GROW}"}));
        CHECK_FALSE(bsd({"-S", "${GROW}"}));
    }
}
