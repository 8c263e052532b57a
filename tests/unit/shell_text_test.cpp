// SPDX-License-Identifier: MIT
#include "report/shell_text.hpp"

#include <doctest/doctest.h>

using metalrun::text::shell_command;
using metalrun::text::shell_word;

TEST_SUITE("report.shell_text") {
    TEST_CASE("a plain word stays as it is") {
        for (const char* word : {"/usr/local/lib/a.dylib", "com.apple.quarantine", "-d", "a=b",
                                 "12:34", "a,b", "50%", "user@host"}) {
            CHECK(shell_word(word) == word);
        }
    }

    TEST_CASE("what a shell would read otherwise is quoted") {
        CHECK(shell_word("") == "''");
        CHECK(shell_word("a b") == "'a b'");
        CHECK(shell_word("it's") == "'it'\\''s'");
        CHECK(shell_word("$HOME") == "'$HOME'");
        CHECK(shell_word("~/x") == "'~/x'");
        CHECK(shell_word("a;rm -r b") == "'a;rm -r b'");
        CHECK(shell_word("=ls") == "'=ls'"); // zsh
        CHECK(shell_word("a\\b") == "'a\\b'");
        CHECK(shell_word("\xc3\xa4") == "'\xc3\xa4'");
    }

    TEST_CASE("bytes that a terminal would act on are written as numbers") {
        CHECK(shell_word("a\nb") == "$'a\\012b'");
        CHECK(shell_word("\x1b[31m'\\") == "$'\\033[31m\\'\\\\'");
        CHECK(shell_word("a\xff") == "$'a\\377'");
        CHECK(shell_word("\x7f") == "$'\\177'");
    }

    TEST_CASE("a command is its words") {
        CHECK(shell_command({"rm", "a b", "c"}) == "rm 'a b' c");
    }
}
