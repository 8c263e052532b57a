// SPDX-License-Identifier: MIT
#include "report/text.hpp"

#include <array>

#include <doctest/doctest.h>

using namespace metalrun;

TEST_SUITE("report.text") {
    TEST_CASE("a quoted name is one printable line") {
        CHECK(text::quote("plain") == "'plain'");
        CHECK(text::quote("") == "''");
        CHECK(text::quote("a b\n\t\r\x1b") == "'a b\\n\\t\\r\\x1b'");
        CHECK(text::quote("it's \\ here") == "'it\\'s \\\\ here'");
        CHECK(text::escape("it's") == "it's");
    }

    TEST_CASE("UTF-8 stays, other bytes are shown as numbers") {
        CHECK(text::quote("gr\xc3\xbc\xc3\x9f") == "'gr\xc3\xbc\xc3\x9f'");
        CHECK(text::quote("\xff\xc3") == "'\\xff\\xc3'");
        CHECK(text::quote("\xc0\x80") == "'\\xc0\\x80'");          // overlong
        CHECK(text::quote("\xed\xa0\x80") == "'\\xed\\xa0\\x80'"); // surrogate
        CHECK(text::quote("\xc2\x9b"
                          "31m") == "'\\xc2\\x9b31m'"); // CSI
        CHECK(text::quote("a\xe2\x80\xae"
                          "b") == "'a\\xe2\\x80\\xaeb'"); // right-to-left override
        CHECK(text::quote("\xe2\x82\xac") == "'\xe2\x82\xac'");
        CHECK(text::is_utf8("\xf0\x9f\x8d\x8e"));
        CHECK_FALSE(text::is_utf8("\xf4\x90\x80\x80"));
    }

    TEST_CASE("a basic string is valid TOML and JSON whatever the bytes") {
        CHECK(text::basic_string("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
        CHECK(text::basic_string("\xff") == "\"\xef\xbf\xbd\"");
        CHECK(text::basic_string("\x7f") == "\"\\u007f\"");
    }

    TEST_CASE("a text that is too long keeps its begin and more of its end") {
        CHECK(text::elide("abcdefghij", 10) == "abcdefghij");
        CHECK(text::elide("abcdefghij", 7) == "ab…ghij");
        CHECK(text::elide("äöüäöüäöü", 4) == "ä…öü");
        CHECK(text::elide("abc", 1) == "…");
        CHECK(text::elide("abc", 0).empty());
        CHECK(text::width("äöü…") == 4);
    }

    TEST_CASE("the nearest word is found, a far one is not") {
        constexpr std::array<std::string_view, 3> words{"apple_family", "hook", "working_set"};
        CHECK(text::nearest("apple_familly", words) == "apple_family");
        CHECK(text::nearest("hok", words) == "hook");
        CHECK(text::nearest("elephant", words).empty());
        CHECK(text::nearest(std::string(1000, 'x'), words).empty());
    }
}
