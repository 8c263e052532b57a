// SPDX-License-Identifier: MIT
//
// What the doctor says of the login session.
#include "doctor_case.hpp"

#include <functional>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::test;
using doctor::BadLink;
using doctor::SetBy;
using judge::Severity;

namespace {

using Ids = std::vector<std::string>;

std::vector<doctor::Finding> findings_of(const std::function<void(doctor::Facts&)>& change) {
    doctor::Facts facts = healthy_guest();
    change(facts);
    return doctor::diagnose(facts);
}

doctor::Finding only(const std::function<void(doctor::Facts&)>& change) {
    const auto findings = findings_of(change);
    REQUIRE(findings.size() == 1);
    return findings.front();
}

doctor::Finding of_variable(const std::string& name) {
    return only([&](auto& facts) { facts.variables = {{name, "1"}}; });
}

doctor::ShellFile file_with(std::vector<doctor::SetLine> lines,
                            const std::string& path = "/Users/u/.zshrc") {
    return {.path = path, .real_path = path, .content = std::move(lines)};
}

doctor::Finding of_lines(std::vector<doctor::SetLine> lines) {
    return only([&](auto& facts) { facts.shell_files = {file_with(std::move(lines))}; });
}

} // namespace

TEST_SUITE("judge.doctor_session") {
    TEST_CASE("inherited variables, by what the loader makes of them") {
        for (const char* name :
             {"LD_PRELOAD", "DYLD_INSERT_LIBRARY", "DYLD_INSERT_LIBS", "DYLD_PRELOAD"}) {
            CAPTURE(name);
            CHECK(of_variable(name).id == "wrong-variable");
            CHECK(of_variable(name).severity == Severity::warning);
            CHECK(of_variable(name).command == std::string("unset ") + name);
        }
        CHECK(of_variable("DYLD_FORCE_FLAT_NAMESPACE").id == "flat-namespace");
        CHECK(of_variable("DYLD_LIBRARY_PATH").id == "loader-variable");
        CHECK(of_variable("DYLD_LIBRARY_PATH").severity == Severity::note);
        CHECK(of_variable("LUME_METAL_APPLE_FAMILY_MAX").id == "shim-setting-for-all");
        CHECK(of_variable("LUME_METAL_APPLE_FAMILY_MAX").severity == Severity::note);
    }

    TEST_CASE("Linux has names of its own") {
        doctor::Facts facts = healthy_guest();
        facts.host.kernel = HostFacts::Kernel::linux;
        facts.shims.clear();
        facts.variables = {{"DYLD_INSERT_LIBRARY", "a"}, {"DYLD_FORCE_FLAT_NAMESPACE", "1"}};
        facts.shell_files = {file_with({{.line = 1, .name = "DYLD_INSERT_LIBRARIES"}})};
        CHECK(ids_of(facts) == Ids{"not-a-guest"});
        facts.shell_files = {file_with({{.line = 1, .name = "LD_PRELOAD"}})};
        CHECK(ids_of(facts) == Ids{"not-a-guest", "insertion-for-all"});
    }

    TEST_CASE("libraries that were inherited") {
        const auto other = only([](auto& facts) {
            facts.variables = {{"DYLD_INSERT_LIBRARIES", "/a/\x1b.dylib"}};
            facts.insertion.elements = {"/a/\x1b.dylib"};
        });
        CHECK(other.id == "inherited-insertion");
        CHECK(other.facts == Ids{"/a/\\x1b.dylib"});
        const auto shim = only([](auto& facts) {
            facts.insertion.removed_shims = {"/lume/shim.dylib"};
            facts.insertion.is_session_wide = true;
        });
        CHECK(shim.id == "insertion-for-all");
        CHECK(shim.facts == Ids{"/lume/shim.dylib"});
        // What a start of metalrun's own passed on to its children is meant.
        CHECK(findings_of([](auto& facts) {
                  facts.variables = {{"DYLD_INSERT_LIBRARIES", "/shim.dylib"}};
                  facts.insertion.removed_shims = {"/shim.dylib"};
              }).empty());
    }

    TEST_CASE("launchd's own variable") {
        const auto finding =
            only([](auto& facts) { facts.session_insertion = std::string("/a.dylib"); });
        CHECK(finding.id == "session-insertion");
        CHECK(finding.severity == Severity::warning);
        CHECK(finding.command == "launchctl unsetenv DYLD_INSERT_LIBRARIES");
        CHECK(findings_of([](auto& facts) {
                  facts.session_insertion = std::unexpected(std::string("for a reason"));
              }).empty());
    }

    TEST_CASE("lines of a file are switched off together, each once") {
        const auto finding = of_lines({{.line = 2, .name = "DYLD_INSERT_LIBRARIES"},
                                       {.line = 2, .name = "DYLD_INSERT_LIBRARIES"},
                                       {.line = 9, .name = "DYLD_INSERT_LIBRARIES"}});
        CHECK(finding.id == "insertion-for-all");
        CHECK(finding.severity == Severity::warning);
        CHECK(finding.command == "sed -i.bak '2s/^/: # /;9s/^/: # /' /Users/u/.zshrc");
    }

    TEST_CASE("a line of a longer statement is left to an editor") {
        CHECK(of_lines({{.line = 7, .name = "DYLD_INSERT_LIBRARIES", .continued = true}}).command ==
              "vi +7 /Users/u/.zshrc");
    }

    TEST_CASE("what is assigned and not exported needs no mending") {
        CHECK(of_lines({{.line = 1, .name = "DYLD_INSERT_LIBRARIES", .by = SetBy::assigned}})
                  .severity == Severity::note);
        CHECK(of_lines({{.line = 1, .name = "DYLD_INSERT_LIBRARIES", .by = SetBy::launchctl}})
                  .severity == Severity::warning);
    }

    TEST_CASE("the file behind a link is edited, and one of the system as root") {
        const auto finding = only([](auto& facts) {
            facts.shell_files = {
                {.path = "/etc/zshrc",
                 .real_path = "/private/etc/zshrc",
                 .content = std::vector<doctor::SetLine>{{.line = 1, .name = "LD_PRELOAD"}}}};
        });
        CHECK(finding.id == "wrong-variable");
        CHECK(finding.command == "sudo sed -i.bak '1s/^/: # /' /private/etc/zshrc");
    }

    TEST_CASE("each kind of variable in a file is a finding of its own") {
        doctor::Facts facts = healthy_guest();
        facts.shell_files = {file_with({{.line = 1, .name = "LUME_METAL_APPLE_FAMILY_MAX"},
                                        {.line = 2, .name = "DYLD_INSERT_LIBRARIES"},
                                        {.line = 3, .name = "DYLD_FORCE_FLAT_NAMESPACE"},
                                        {.line = 4, .name = "DYLD_LIBRARY_PATH"}})};
        CHECK(ids_of(facts) == Ids{"insertion-for-all", "flat-namespace", "shim-setting-for-all",
                                   "loader-variable"});
    }

    TEST_CASE("a file that cannot be read is unknown, and no finding") {
        CHECK(findings_of([](auto& facts) {
                  facts.shell_files = {{.path = "/Users/u/.zshrc",
                                        .real_path = "/Users/u/.zshrc",
                                        .content = std::unexpected(std::string("it is a pipe"))}};
                  facts.job_files = {{.path = "/Users/u/Library/LaunchAgents/a.plist",
                                      .real_path = {},
                                      .content = std::unexpected(std::string("binary"))}};
              }).empty());
    }

    TEST_CASE("a job that sets the variable for all is unloaded in its own domain") {
        const auto job_at = [](const std::string& path) {
            return only([&](auto& facts) {
                facts.job_files = {
                    {.path = path,
                     .real_path = path,
                     .content = doctor::LaunchJob{.session = {"DYLD_INSERT_LIBRARIES"}}}};
            });
        };
        const auto users = job_at("/Users/u/Library/LaunchAgents/a b.plist");
        CHECK(users.id == "launch-job-sets-session");
        CHECK(users.severity == Severity::warning);
        CHECK(users.command ==
              "launchctl bootout gui/$(id -u) '/Users/u/Library/LaunchAgents/a b.plist'; mv -i "
              "'/Users/u/Library/LaunchAgents/a b.plist' "
              "'/Users/u/Library/LaunchAgents/a b.plist.off'");
        CHECK(job_at("/Library/LaunchDaemons/d.plist").command ==
              "sudo launchctl bootout system /Library/LaunchDaemons/d.plist; sudo mv -i "
              "/Library/LaunchDaemons/d.plist /Library/LaunchDaemons/d.plist.off");
    }

    TEST_CASE("a job that inserts into its own program alone is told") {
        const auto finding = only([](auto& facts) {
            facts.job_files = {{.path = "/a.plist",
                                .real_path = "/a.plist",
                                .content = doctor::LaunchJob{.own = {"DYLD_INSERT_LIBRARIES"}}}};
        });
        CHECK(finding.id == "launch-job-inserts");
        CHECK(finding.severity == Severity::note);
    }

    TEST_CASE("links that stand for a program and lead nowhere") {
        const auto dangling = only([](auto& facts) {
            facts.bad_links = {{.path = "/b/llama-server", .destination = "/gone/metalrun"}};
        });
        CHECK(dangling.id == "link-dangling");
        CHECK(dangling.command == "rm /b/llama-server");
        const auto last = only([](auto& facts) {
            facts.bad_links = {{.path = "/b/llama-server",
                                .destination = "metalrun",
                                .why = BadLink::Why::last_name}};
        });
        CHECK(last.id == "link-without-program");
    }
}
