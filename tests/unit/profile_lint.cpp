// SPDX-License-Identifier: MIT
//
// What is wrong with a profile as a file (profile/lint.hpp).
#include "profile/lint.hpp"
#include "system/fake.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::profile;

namespace {

using Ids = std::vector<std::string>;

const std::string kBody = "schema = 1\n[target]\nprogram = \"llama-server\"\n";

Ids ids_of(const std::vector<Flaw>& flaws) {
    Ids ids;
    for (const Flaw& flaw : flaws) {
        ids.emplace_back(flaw.id);
    }
    return ids;
}

Ids lint_of(const std::string& text) {
    return ids_of(lint_text(text, "/p/script", "/p"));
}

Ids lint_of_file(const std::string& text, FakeAccess access) {
    FakeSystem system;
    system.add_file("/p/script", text, access);
    TrustedFolders trust(system, 0);
    const auto flaws = lint(system, "/p/script", trust);
    REQUIRE(flaws);
    return ids_of(*flaws);
}

/// A first line of so many bytes, the newline among them.
std::string line_of(std::size_t bytes) {
    std::string line = "#!/usr/bin/env -S metalrun -p ";
    line.resize(bytes - 1, 'x');
    return line + "\n" + kBody;
}

} // namespace

TEST_SUITE("profile.lint") {

    TEST_CASE("a launcher script and a plain profile have no flaw") {
        for (const std::string line :
             {"", "#!/usr/bin/env metalrun\n", "#! /usr/bin/env metalrun \n",
              "#!/usr/bin/env -S metalrun -v\n", "#!/opt/bin/metalrun\n",
              "#!/opt/bin/metalrun -v -p x\n", "#!/usr/bin/env -vS metalrun -q\n",
              "\n# a comment\n\n", "# SPDX-License-Identifier: MIT\r\n", "#!/bin/sh\n"}) {
            CAPTURE(line);
            CHECK(lint_of(line + kBody) == Ids{});
        }
    }

    TEST_CASE("only a line that means metalrun needs a program to start") {
        const std::string body = "schema = 1\n[target]\narguments = [\"x\"]\n";
        CHECK(lint_of(body) == Ids{});
        CHECK(lint_of("#!/bin/sh\n" + body) == Ids{});
        for (const std::string line :
             {"#!/usr/bin/env metalrun", "#!/usr/bin/env -S metalrun -p x", "#!/a/metalrun",
              "#!/usr/bin/env -iS metalrun", "#!/usr/bin/env -S A=1 -u B metalrun",
              "#!/usr/bin/env -Smetalrun", "#!/usr/bin/env -S metalrun --"}) {
            CAPTURE(line);
            CHECK(std::ranges::count(lint_of(line + "\n" + body), "target-missing") == 1);
        }
        CHECK(lint_of("#!/usr/bin/env metalrun\nschema = 1\n") == Ids{"target-missing"});
    }

    TEST_CASE("a byte-order mark, alone and before the '#!'") {
        const std::string mark = "\xEF\xBB\xBF";
        for (const std::string& line : {std::string(), std::string("#!/usr/bin/env metalrun\n")}) {
            const auto flaws = lint_text(mark + line + kBody, "/p/script", "/p");
            REQUIRE(ids_of(flaws) == Ids{"byte-order-mark"});
            CHECK(flaws.front().at == toml::Position{.line = 1, .column = 1});
            CHECK((flaws.front().severity == judge::Severity::error) == !line.empty());
        }
    }

    TEST_CASE("what stands before the '#!' hides it") {
        struct Hidden {
            std::string before;
            toml::Position at;
        };
        for (const Hidden& hidden :
             {Hidden{" ", {.line = 1, .column = 2}}, Hidden{"\n", {.line = 2, .column = 1}},
              Hidden{" \r\n\t\n  ", {.line = 3, .column = 3}},
              Hidden{"# a comment\n", {.line = 2, .column = 1}}}) {
            CAPTURE(hidden.before);
            const auto flaws =
                lint_text(hidden.before + "#!/usr/bin/env metalrun\n" + kBody, "/p/script", "/p");
            REQUIRE(ids_of(flaws) == Ids{"script-line-misplaced"});
            CHECK(flaws.front().at == hidden.at);
        }
        // A comment that only looks like one, and one behind the first key.
        CHECK(lint_of("# x\n#!/bin/sh\n" + kBody) == Ids{});
        CHECK(lint_of(kBody + "#!/usr/bin/env metalrun\n") == Ids{});
    }

    TEST_CASE("a first line with a carriage return; elsewhere TOML allows them") {
        CHECK(lint_of("#!/usr/bin/env metalrun\r\n" + kBody) == Ids{"script-line-crlf"});
        CHECK(lint_of("#!/a/metalrun\r\nschema = 1\r\n") ==
              Ids{"script-line-crlf", "target-missing"});
        CHECK(lint_of("schema = 1\r\n") == Ids{});
    }

    TEST_CASE("a '#' in the line is where macOS ends it") {
        const auto flaws = lint_text("#!/a/metalrun -p x#y # z\n" + kBody, "/p/script", "/p");
        REQUIRE(ids_of(flaws) == Ids{"script-line-cut"});
        CHECK(flaws.front().at == toml::Position{.line = 1, .column = 19});
    }

    TEST_CASE("the longest line of each kernel, with its newline") {
        CHECK(lint_of(line_of(256)) == Ids{});
        for (const std::size_t bytes : {257U, 512U, 513U}) {
            CAPTURE(bytes);
            const auto flaws = lint_text(line_of(bytes), "/p/script", "/p");
            REQUIRE(ids_of(flaws) == Ids{"script-line-too-long"});
            CHECK((flaws.front().severity == judge::Severity::error) == (bytes > 512));
        }
    }

    TEST_CASE("words that Linux hands to env as one") {
        CHECK(lint_of("#!/usr/bin/env metalrun -v\n" + kBody) == Ids{"env-arguments-joined"});
        CHECK(lint_of("#!/usr/bin/env -i metalrun\n" + kBody) == Ids{"env-arguments-joined"});
        CHECK(lint_of("#!/usr/bin/env --split-string=metalrun -v\n" + kBody) == Ids{});
    }

    TEST_CASE("an interpreter that no kernel finds") {
        CHECK(lint_of("#!/My Tools/metalrun\n" + kBody) == Ids{"interpreter-blank"});
        CHECK(lint_of("#!/usr/bin/nice /opt/metalrun\n" + kBody) == Ids{});
        for (const std::string line : {"#!metalrun\n", "#!./metalrun\n", "#!bin/env metalrun\n"}) {
            CAPTURE(line);
            CHECK(lint_of(line + kBody) == Ids{"interpreter-relative"});
        }
        CHECK(lint_of("#!\n" + kBody) == Ids{"script-without-interpreter"});
        CHECK(lint_of("#! \t\n" + kBody) == Ids{"script-without-interpreter"});
    }

    TEST_CASE("a script of another language is no profile") {
        CHECK(lint_of("#!/usr/bin/env -S metalrun -p x -- python3\nimport sys\n") == Ids{});
        CHECK(lint_of("#!/a/metalrun -p x -- python3 # fast\nimport sys\n") ==
              Ids{"script-line-cut"});
        CHECK(lint_of("#!/usr/bin/env -S metalrun --\nimport sys\n") == Ids{"profile-invalid"});
    }

    TEST_CASE("what the loader refuses has its place") {
        const auto flaws = lint_text("schema = 1\n[target]\nprogramm = 1\n", "/p/a\nb", "/p");
        REQUIRE(ids_of(flaws) == Ids{"profile-invalid"});
        CHECK(flaws.front().at == toml::Position{.line = 3, .column = 1});
        CHECK(flaws.front().message == "unknown key 'target.programm'");
        CHECK_FALSE(flaws.front().help.empty());
        CHECK(with_place(flaws.front(), "/p/a\nb") ==
              "/p/a\\nb:3:1: unknown key 'target.programm'");
    }

    TEST_CASE("flaws come in the order of the file") {
        CHECK(lint_of("\n#!metalrun # x\nschema = 2\n") ==
              Ids{"script-line-misplaced", "interpreter-relative", "script-line-cut",
                  "profile-invalid"});
    }

    TEST_CASE("the run bit and the '#!' line belong together") {
        const std::string script = "#!/usr/bin/env metalrun\n" + kBody;
        CHECK(lint_of_file(script, {.mode = 0755}) == Ids{});
        CHECK(lint_of_file(script, {.mode = 0644}) == Ids{"run-bit-missing"});
        CHECK(lint_of_file(kBody, {.mode = 0644}) == Ids{});
        CHECK(lint_of_file(kBody, {.mode = 0700}) == Ids{"run-bit-without-script-line"});
        CHECK(lint_of_file("#!/bin/sh\n" + kBody, {.mode = 0644}) == Ids{});
    }

    TEST_CASE("a file that others may write is a flaw, not a failure") {
        CHECK(lint_of_file(kBody, {.mode = 0646}) == Ids{"profile-untrusted"});
        CHECK(lint_of_file(kBody, {.mode = 0644, .owner = 777}) == Ids{"profile-untrusted"});
    }

    TEST_CASE("what cannot be read is a failure") {
        FakeSystem system;
        system.add_folder("/p");
        system.add_special("/fifo");
        system.add_file("/large", std::string((1U << 20U) + 1, '#'));
        TrustedFolders trust(system, 0);
        for (const std::string path : {"/absent", "/p", "/fifo", "/large"}) {
            CAPTURE(path);
            const auto flaws = lint(system, path, trust);
            REQUIRE_FALSE(flaws);
            CHECK(flaws.error().code == Errc::profile);
        }
    }

    TEST_CASE("no beginning of a script is taken amiss") {
        const std::string script =
            "\xEF\xBB\xBF \r\n#!/usr/bin/env -S metalrun -p x # \r\n" + kBody;
        for (std::size_t length = 0; length <= script.size(); ++length) {
            for (const Flaw& flaw : lint_text(script.substr(0, length), "/p/script", "/p")) {
                CHECK_FALSE(flaw.id.empty());
                CHECK_FALSE(flaw.message.empty());
            }
        }
    }
}
