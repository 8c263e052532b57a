// SPDX-License-Identifier: MIT
#include "macho/bytes.hpp"
#include "macho/property_list.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using macho::parse_property_list;
using macho::PropertyEntry;

namespace {

Bytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

constexpr std::string_view kInfo =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <!-- a comment is nothing -->
    <key>CFBundleExecutable</key> <string>A &amp; B</string>
    <key>LSMinimumSystemVersion</key> <string></string>
    <key>NSHighResolutionCapable</key> <true/>
    <key>LSUIElement</key> <false/>
    <key>CFBundleVersion</key> <integer>12</integer>
    <key>CFBundleURLTypes</key> <array><dict/></array>
</dict>
</plist>
)";

} // namespace

TEST_SUITE("macho.property_list") {
    TEST_CASE("the entries of the root dictionary come in the file's order") {
        const auto entries = parse_property_list(bytes_of(kInfo), "the properties");
        REQUIRE(entries);
        using Kind = PropertyEntry::Kind;
        const macho::PropertyEntries expected{{"CFBundleExecutable", Kind::text, "A & B"},
                                              {"LSMinimumSystemVersion", Kind::text, ""},
                                              {"NSHighResolutionCapable", Kind::yes, "true"},
                                              {"LSUIElement", Kind::no, "false"},
                                              {"CFBundleVersion", Kind::integer, "12"},
                                              {"CFBundleURLTypes", Kind::other, "array"}};
        CHECK(*entries == expected);
    }

    TEST_CASE("the second level is given where it is asked for, and no third") {
        constexpr std::string_view kJob =
            "<plist><dict><key>Label</key><string>l</string><key>EnvironmentVariables</key><dict>"
            "<key>A</key><string>1</string><key>B</key><dict><key>C</key><true/></dict></dict>"
            "<key>ProgramArguments</key><array><string>x</string><array><true/></array></array>"
            "</dict></plist>";
        using Kind = PropertyEntry::Kind;
        const auto two = parse_property_list(bytes_of(kJob), "they", macho::Levels::two);
        REQUIRE(two);
        REQUIRE(two->size() == 3);
        CHECK(two->at(0).entries.empty());
        CHECK(two->at(1).entries ==
              macho::PropertyEntries{{"A", Kind::text, "1"}, {"B", Kind::other, "dictionary"}});
        CHECK(two->at(2).entries ==
              macho::PropertyEntries{{"", Kind::text, "x"}, {"", Kind::other, "array"}});
        const auto one = parse_property_list(bytes_of(kJob), "they");
        REQUIRE(one);
        CHECK(one->at(1).entries.empty());
    }

    TEST_CASE("entries of both levels count together") {
        std::string many = "<dict>";
        for (std::size_t i = 0; i < macho::kMostProperties / 2; ++i) {
            many += "<key>a</key><array><true/></array>";
        }
        CHECK(parse_property_list(bytes_of(many + "</dict>"), "they", macho::Levels::two));
        CHECK_FALSE(parse_property_list(bytes_of(many + "<key>a</key><true/></dict>"), "they",
                                        macho::Levels::two));
        CHECK(parse_property_list(bytes_of(many + "<key>a</key><true/></dict>"), "they"));
    }

    TEST_CASE("a second level that is no dictionary is an error") {
        constexpr std::string_view kOdd =
            "<dict><key>a</key><dict><string>no key</string></dict></dict>";
        CHECK_FALSE(parse_property_list(bytes_of(kOdd), "they", macho::Levels::two));
        CHECK(parse_property_list(bytes_of(kOdd), "they"));
    }

    TEST_CASE("what is no dictionary in XML is an error that says whose it is") {
        for (const std::string_view text :
             {"bplist00", "{ a = b; }", "<plist><array/></plist>", "<plist></plist>",
              "<dict><string>no key</string></dict>", "<dict><key>alone</key></dict>",
              "<!DOCTYPE x [<!ENTITY a \"b\">]><dict/>"}) {
            CAPTURE(text);
            const auto entries = parse_property_list(bytes_of(text), "the properties");
            REQUIRE_FALSE(entries);
            CHECK(entries.error().message.find("the properties") != std::string::npos);
        }
    }

    TEST_CASE("every prefix is answered") {
        for (std::size_t length = 1; length < kInfo.find("</plist>"); ++length) {
            CAPTURE(length);
            CHECK_FALSE(parse_property_list(bytes_of(kInfo.substr(0, length)), "the properties"));
        }
    }
}
