// SPDX-License-Identifier: MIT
#include "judge/session_files.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::doctor;

namespace {

// "1 exported NAME" for each line found.
std::vector<std::string> seen_in(std::string_view text) {
    std::vector<std::string> out;
    for (const SetLine& line : scan_shell_file(text)) {
        const std::string_view by = line.by == SetBy::exported   ? "exported"
                                    : line.by == SetBy::assigned ? "assigned"
                                                                 : "launchctl";
        out.push_back(std::to_string(line.line) + " " + std::string(by) + " " + line.name +
                      (line.continued ? " continued" : ""));
    }
    return out;
}

std::expected<LaunchJob, std::string> read_job(std::string_view text) {
    return read_launch_job(std::as_bytes(std::span(text)));
}

std::string job_with(const std::string& content) {
    return "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>Label</key>"
           "<string>org.example</string>" +
           content + "</dict></plist>";
}

std::string arguments(const std::vector<std::string>& words) {
    std::string out = "<key>ProgramArguments</key><array>";
    for (const std::string& word : words) {
        out += "<string>" + word + "</string>";
    }
    return out + "</array>";
}

using Lines = std::vector<std::string>;

} // namespace

TEST_SUITE("judge.session_files") {
    TEST_CASE("every shell's way to export is known") {
        for (const char* text :
             {"export DYLD_INSERT_LIBRARIES=/a/b.dylib", "export DYLD_INSERT_LIBRARIES",
              "  export\tDYLD_INSERT_LIBRARIES=\"/with blank/b.dylib\"",
              "export DYLD_INSERT_LIBRARIES=$(brew --prefix)/lib/b.dylib",
              "typeset -x DYLD_INSERT_LIBRARIES=a", "declare -gx DYLD_INSERT_LIBRARIES=a",
              "set -gx DYLD_INSERT_LIBRARIES a", "set --export DYLD_INSERT_LIBRARIES a",
              "set -Ux DYLD_INSERT_LIBRARIES a", "setenv DYLD_INSERT_LIBRARIES a",
              "if true; then export DYLD_INSERT_LIBRARIES=a; fi",
              "[ -e /a ] && export DYLD_INSERT_LIBRARIES=/a", "{ export DYLD_INSERT_LIBRARIES=a; }",
              "builtin export DYLD_INSERT_LIBRARIES=a", "export A=1 DYLD_INSERT_LIBRARIES=a",
              "export DYLD_INSERT_LIBRARIES=a # a comment", "export DYLD_INSERT_LIBRARIES=a\r"}) {
            CAPTURE(text);
            CHECK(seen_in(text) == Lines{"1 exported DYLD_INSERT_LIBRARIES"});
        }
    }

    TEST_CASE("what sets nothing for others is not reported") {
        for (const char* text : {"# export DYLD_INSERT_LIBRARIES=a",
                                 "   #export DYLD_INSERT_LIBRARIES=a",
                                 ": # export DYLD_INSERT_LIBRARIES=a",
                                 "true # export DYLD_INSERT_LIBRARIES=a",
                                 "unset DYLD_INSERT_LIBRARIES",
                                 "export -n DYLD_INSERT_LIBRARIES",
                                 "set -e DYLD_INSERT_LIBRARIES",
                                 "set DYLD_INSERT_LIBRARIES a",
                                 "export DYLD_INSERT_LIBRARIES=",
                                 "export DYLD_INSERT_LIBRARIES=\"\"",
                                 "DYLD_INSERT_LIBRARIES=a llama-server",
                                 "env DYLD_INSERT_LIBRARIES=a llama-server",
                                 "alias x='export DYLD_INSERT_LIBRARIES=a'",
                                 "echo \"export DYLD_INSERT_LIBRARIES=a\" >> ~/.zshrc",
                                 "export MY_DYLD_INSERT_LIBRARIES=a",
                                 "export PATH=a",
                                 "set -gx DYLD_INSERT_LIBRARIES",
                                 "launchctl unsetenv DYLD_INSERT_LIBRARIES",
                                 "launchctl getenv DYLD_INSERT_LIBRARIES",
                                 "typeset DYLD_INSERT_LIBRARIES=a",
                                 ""}) {
            CAPTURE(text);
            CHECK(seen_in(text).empty());
        }
    }

    TEST_CASE("an assignment alone, and launchctl, are told apart from an export") {
        CHECK(seen_in("DYLD_LIBRARY_PATH=/a\nexport LUME_METAL_APPLE_FAMILY_MAX=1009\n"
                      "\nlaunchctl setenv DYLD_INSERT_LIBRARIES /a\n"
                      "sudo /bin/launchctl setenv LD_PRELOAD /a; DYLD_A=1 DYLD_B=2") ==
              Lines{"1 assigned DYLD_LIBRARY_PATH", "2 exported LUME_METAL_APPLE_FAMILY_MAX",
                    "4 launchctl DYLD_INSERT_LIBRARIES", "5 launchctl LD_PRELOAD",
                    "5 assigned DYLD_A", "5 assigned DYLD_B"});
    }

    TEST_CASE(
        "a statement over several lines is marked, for a line of it is not to be switched off") {
        CHECK(seen_in("export A=1 \\\n  B=2\nexport DYLD_A=1 \\\n  C=2\nexport DYLD_B=1\n") ==
              Lines{"3 exported DYLD_A continued", "5 exported DYLD_B"});
        CHECK(seen_in("true && \\\n export DYLD_A=1") == Lines{"2 exported DYLD_A continued"});
    }

    TEST_CASE("not more than a cap is reported") {
        std::string text;
        for (std::size_t i = 0; i < 2 * kMostSetLines; ++i) {
            text += "export DYLD_A=1\n";
        }
        CHECK(scan_shell_file(text).size() == kMostSetLines);
        std::string one_line = "export";
        for (std::size_t i = 0; i < 2 * kMostSetLines; ++i) {
            one_line += " DYLD_A=1";
        }
        CHECK(scan_shell_file(one_line).size() == kMostSetLines);
    }

    TEST_CASE("any bytes are answered") {
        const std::string text = "export DYLD_A='1\n\\\nset -gx \\\nexport \xff\xfe\0=\n'\"`($\n";
        for (std::size_t length = 0; length <= text.size(); ++length) {
            CHECK(scan_shell_file(std::string_view(text).substr(0, length)).size() <= 1);
        }
    }

    TEST_CASE("a job's own variables and those for the session are told apart") {
        const auto own = read_job(job_with("<key>EnvironmentVariables</key><dict>"
                                           "<key>PATH</key><string>/bin</string>"
                                           "<key>DYLD_INSERT_LIBRARIES</key><string>/a</string>"
                                           "<key>DYLD_EMPTY</key><string></string></dict>"));
        REQUIRE(own);
        CHECK(*own == LaunchJob{"org.example", {"DYLD_INSERT_LIBRARIES"}, {}});
        for (const std::string& text :
             {arguments({"/bin/launchctl", "setenv", "DYLD_INSERT_LIBRARIES", "/a"}),
              arguments({"launchctl", "setenv", "DYLD_INSERT_LIBRARIES", "/a"}),
              arguments({"/bin/sh", "-c", "sleep 1; launchctl setenv DYLD_INSERT_LIBRARIES /a"}),
              "<key>Program</key><string>/bin/launchctl</string>" +
                  arguments({"x", "setenv", "DYLD_INSERT_LIBRARIES", "/a"})}) {
            CAPTURE(text);
            const auto session = read_job(job_with(text));
            REQUIRE(session);
            CHECK(*session == LaunchJob{"org.example", {}, {"DYLD_INSERT_LIBRARIES"}});
        }
    }

    TEST_CASE("a job that sets nothing says so") {
        for (const std::string& text :
             {std::string(), arguments({"/bin/launchctl", "unsetenv", "DYLD_INSERT_LIBRARIES"}),
              arguments({"/bin/echo", "launchctl", "setenv", "DYLD_INSERT_LIBRARIES", "/a"}),
              arguments({}), std::string("<key>EnvironmentVariables</key><array/>"),
              std::string("<key>ProgramArguments</key><string>launchctl</string>")}) {
            CAPTURE(text);
            CHECK(read_job(job_with(text)) == LaunchJob{"org.example", {}, {}});
        }
    }

    TEST_CASE("a list that cannot be read is an error, not a job without variables") {
        for (const char* text : {"bplist00\xd1\x01\x02", "<plist><array/></plist>", "<plist",
                                 "<!DOCTYPE x [<!ENTITY a \"b\">]><dict/>"}) {
            CAPTURE(text);
            const auto job = read_job(text);
            REQUIRE_FALSE(job);
            CHECK_FALSE(job.error().empty());
        }
        CHECK(read_job("bplist00").error().find("binary") != std::string::npos);
    }
}
