// SPDX-License-Identifier: MIT
#include "elf_builder.hpp"
#include "system/fake.hpp"
#include "target/chain.hpp"
#include "target/stand_in.hpp"

#include <map>

#include <doctest/doctest.h>

using namespace metalrun;
using target::EnvironmentChange;
using Words = std::vector<std::string>;

namespace {

// Smallest bytes that are taken for a Mach-O file.
const std::string kMacho("\xcf\xfa\xed\xfe\x0c\x00\x00\x01", 8);

const std::string kVersion = "/opt/Python.framework/Versions/3.13";
const std::string kApp = kVersion + "/Resources/Python.app/Contents/MacOS/Python";

struct Mac {
    FakeSystem system;
    target::SearchPath search{.path = "/usr/bin:/venv/bin",
                              .kernel = HostFacts::Kernel::darwin,
                              .variable = [this](const std::string& name) {
                                  const auto found = variables.find(name);
                                  return found == variables.end() ? std::nullopt
                                                                  : std::optional(found->second);
                              }};
    std::map<std::string, std::string> variables = {};

    Mac() {
        system.add_program(kVersion + "/bin/python3.13", kMacho);
        system.add_program(kApp, kMacho);
        system.add_folder("/venv/bin");
        system.add_link("/venv/bin/python3", kVersion + "/bin/python3.13");
        system.add_link("/current", "/venv");
        system.add_program("/usr/bin/env", kMacho);
    }
    target::Chain follow(const std::string& typed) {
        return target::resolve(system, typed, search);
    }
};

EnvironmentChange launcher(const std::string& path) {
    return {.kind = EnvironmentChange::Kind::set, .name = "__PYVENV_LAUNCHER__", .value = path};
}

/// What a version manager's file in a folder comes to.
std::optional<target::ManagedStandIn> managed(const std::string& path, const std::string& content) {
    FakeSystem system;
    system.add_program(path, content);
    return target::find_manager(path, **system.open(path));
}

} // namespace

TEST_SUITE("target.stand_in") {
    TEST_CASE("the stub of a Python framework is left for its Python.app") {
        Mac mac;
        for (const std::string typed : {"python3", "/venv/bin/python3", "/current/bin/python3"}) {
            CAPTURE(typed);
            const auto chain = mac.follow(typed);
            REQUIRE_FALSE(chain.problem);
            CHECK(chain.path == kApp);
            CHECK(chain.image->path == kApp);
            CHECK(chain.arguments == Words{kApp});
            CHECK(chain.environment == std::vector{launcher("/venv/bin/python3")});
            CHECK_FALSE(chain.python_stub.empty());
            CHECK_FALSE(chain.resolves_env);
            CHECK(chain.links.size() == 2);
        }
        CHECK(mac.follow(kVersion + "/bin/python3.13").environment ==
              std::vector{launcher(kVersion + "/bin/python3.13")});
        mac.system.current_folder = "/venv/bin";
        CHECK(mac.follow("./python3").environment == std::vector{launcher("/venv/bin/python3")});
    }

    TEST_CASE("a script keeps its place behind the words of its line") {
        Mac mac;
        mac.system.add_program("/script", "#!/venv/bin/python3 -u -B\n");
        CHECK(mac.follow("/script").arguments == Words{kApp, "-u", "-B", "/script"});
        mac.system.add_program("/script", "#!/usr/bin/env -i A=1 /venv/bin/python3 -u\n");
        const auto chain = mac.follow("/script");
        CHECK(chain.arguments == Words{kApp, "-u", "/script"});
        REQUIRE(chain.environment.size() == 3);
        CHECK(chain.environment.back() == launcher("/venv/bin/python3"));
        CHECK(chain.resolves_env);
    }

    TEST_CASE("without its Python.app the stub stays what is started") {
        Mac mac;
        mac.system.add_program("/y/Python.framework/Versions/3.9/bin/python3", kMacho);
        const auto chain = mac.follow("/y/Python.framework/Versions/3.9/bin/python3");
        CHECK(chain.path == chain.typed);
        CHECK(chain.python_stub.empty());
        CHECK(chain.arguments.empty());
        CHECK(chain.environment.empty());
    }

    TEST_CASE("frameworks of other names, and what is no stub") {
        FakeSystem system;
        const std::string free = "/opt/PythonT.framework/Versions/3.14";
        system.add_program(free + "/Resources/Python.app/Contents/MacOS/PythonT", kMacho);
        CHECK(target::find_python_app(system, free + "/bin/python3.14t") ==
              free + "/Resources/Python.app/Contents/MacOS/PythonT");
        const std::string apples = "/opt/Python3.framework/Versions/3.9";
        system.add_program(apples + "/Resources/Python.app/Contents/MacOS/Python", kMacho);
        CHECK(target::find_python_app(system, apples + "/bin/python3.9") ==
              apples + "/Resources/Python.app/Contents/MacOS/Python");
        for (const std::string& path :
             {kApp, kVersion + "/bin/pip3", kVersion + "/lib/bin/python3", kVersion + "/python3",
              std::string("/opt/Ruby.framework/Versions/3/bin/python3"),
              std::string("/opt/uv/python/bin/python3"), std::string("python3"), std::string()}) {
            CAPTURE(path);
            CHECK_FALSE(target::is_python_stub(path));
        }
    }

    TEST_CASE("the tool behind a stub of Xcode: DEVELOPER_DIR, the link, the command line tools") {
        Mac mac;
        mac.system.add_program("/usr/bin/git", kMacho);
        CHECK(mac.follow("git").xcode_tool.empty());
        mac.system.add_program("/Library/Developer/CommandLineTools/usr/bin/git", kMacho);
        CHECK(mac.follow("git").xcode_tool == "/Library/Developer/CommandLineTools/usr/bin/git");
        const std::string developer = "/Applications/Xcode.app/Contents/Developer";
        const std::string tool = developer + "/Toolchains/XcodeDefault.xctoolchain/usr/bin/git";
        mac.system.add_program(tool, kMacho);
        mac.system.add_link("/var/db/xcode_select_link", developer);
        CHECK(mac.follow("git").xcode_tool == tool);
        mac.system.add_program("/beta.app/Contents/Developer/usr/bin/git", kMacho);
        mac.variables["DEVELOPER_DIR"] = "/beta.app";
        CHECK(mac.follow("git").xcode_tool == "/beta.app/Contents/Developer/usr/bin/git");
        mac.system.add_program("/usr/bin/sed", kMacho);
        mac.system.add_program("/Library/Developer/CommandLineTools/usr/bin/sed", kMacho);
        CHECK(mac.follow("sed").xcode_tool.empty());
    }

    TEST_CASE("what a version manager put in its folder is known by place and content") {
        const std::string pyenv = "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\n"
                                  "exec \"/opt/homebrew/bin/pyenv\" exec \"$program\" \"$@\"\n";
        CHECK(managed("/u/.pyenv/shims/python3", pyenv)->manager == "pyenv");
        CHECK_FALSE(managed("/u/.pyenv/bin/python3", pyenv));
        CHECK(managed("/u/.asdf/shims/node", "#!/usr/bin/env bash\n# asdf-plugin: nodejs 22.1.0\n"
                                             "exec /opt/asdf/bin/asdf exec \"node\" \"$@\"\n")
                  ->manager == "asdf");
        CHECK_FALSE(managed("/u/shims/tool", "#!/bin/sh\nexec /opt/tool\n"));
        CHECK_FALSE(managed("/u/shims/tool", "#!/bin/sh\n" + std::string(5000, '#') + pyenv));
        CHECK_FALSE(managed("/u/shims/tool", ""));
        FakeSystem system;
        system.add_program("/opt/bin/mise", kMacho);
        system.add_link("/u/mise/shims", "/real");
        system.add_folder("/real");
        system.add_link("/real/node", "/opt/bin/mise");
        CHECK(target::find_manager("/u/mise/shims/node", **system.open("/u/mise/shims/node"))
                  ->manager == "mise");
    }

    TEST_CASE("a script that env leads to a version manager is told so") {
        FakeSystem system;
        system.add_file("/lib64/ld-linux-x86-64.so.2", "ld");
        system.add_program("/usr/bin/env", tests::make_elf());
        system.add_program("/bin/bash", tests::make_elf());
        system.add_program("/u/shims/python3",
                           "#!/usr/bin/env bash\nexec \"/u/bin/pyenv\" exec \"$program\" \"$@\"\n");
        system.add_program("/script", "#!/usr/bin/env python3\n");
        const auto chain = target::resolve(system, "/script", {.path = "/u/shims:/bin"});
        REQUIRE(chain.managed);
        CHECK(chain.managed->path == "/u/shims/python3");
        CHECK(chain.image->path == "/bin/bash");
        CHECK(chain.arguments == Words{"bash", "/u/shims/python3", "/script"});
    }
}
