// SPDX-License-Identifier: MIT
#include "elf_builder.hpp"
#include "system/fake.hpp"
#include "target/bundle.hpp"
#include "target/chain.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using judge::FindingId;
using target::find_bundle_executable;
using tests::make_elf;

namespace {

std::string info(const std::string& executable) {
    return "<plist><dict><key>CFBundleExecutable</key><string>" + executable +
           "</string></dict></plist>";
}

FindingId problem_of(FakeSystem& system, const std::string& bundle) {
    const auto found = find_bundle_executable(system, bundle);
    REQUIRE_FALSE(found);
    return found.error().id;
}

} // namespace

TEST_SUITE("target.bundle") {
    TEST_CASE("a bundle is a folder with a bundle's ending") {
        FakeSystem system;
        system.add_folder("/a/X.app");
        system.add_folder("/a/X.xpc");
        system.add_folder("/a/X.appex");
        system.add_folder("/a/X.framework");
        system.add_file("/a/file.app", "");
        CHECK(target::is_bundle(system, "/a/X.app"));
        CHECK(target::is_bundle(system, "/a/X.app//"));
        CHECK(target::is_bundle(system, "/a/X.xpc"));
        CHECK(target::is_bundle(system, "/a/X.appex"));
        CHECK_FALSE(target::is_bundle(system, "/a/X.framework"));
        CHECK_FALSE(target::is_bundle(system, "/a/file.app"));
        CHECK_FALSE(target::is_bundle(system, "/a/absent.app"));
    }

    TEST_CASE("Info.plist names the main executable") {
        FakeSystem system;
        system.add_file("/X.app/Contents/Info.plist", info("server &amp; co"));
        system.add_program("/X.app/Contents/MacOS/X", make_elf());
        system.add_program("/X.app/Contents/MacOS/server & co", make_elf());
        CHECK(find_bundle_executable(system, "/X.app/") == "/X.app/Contents/MacOS/server & co");
    }

    TEST_CASE("a bundle without Contents has its executable beside Info.plist") {
        FakeSystem system;
        system.add_file("/X.app/Info.plist", info("main"));
        system.add_program("/X.app/main", make_elf());
        system.add_program("/Y.app/Y", make_elf());
        system.add_file("/Y.app/Info.plist", "bplist00");
        CHECK(find_bundle_executable(system, "/X.app") == "/X.app/main");
        CHECK(find_bundle_executable(system, "/Y.app") == "/Y.app/Y");
    }

    TEST_CASE("without a readable Info.plist the bundle's name or the only file tells") {
        for (const std::string plist : {"bplist00...", "<plist><dict/></plist>", "<<<",
                                        "<dict><key>CFBundleExecutable</key><true/></dict>"}) {
            CAPTURE(plist);
            FakeSystem system;
            system.add_file("/X.app/Contents/Info.plist", plist);
            system.add_program("/X.app/Contents/MacOS/helper", make_elf());
            system.add_file("/X.app/Contents/MacOS/.DS_Store", "");
            system.add_folder("/X.app/Contents/MacOS/folder");
            CHECK(find_bundle_executable(system, "/X.app") == "/X.app/Contents/MacOS/helper");
            system.add_program("/X.app/Contents/MacOS/X", make_elf());
            CHECK(find_bundle_executable(system, "/X.app") == "/X.app/Contents/MacOS/X");
        }
        FakeSystem system;
        system.add_program("/X.app/Contents/MacOS/one", make_elf());
        system.add_program("/X.app/Contents/MacOS/two", make_elf());
        CHECK(problem_of(system, "/X.app") == FindingId::target_not_found);
        system.add_folder("/empty.app");
        CHECK(problem_of(system, "/empty.app") == FindingId::target_not_found);
    }

    TEST_CASE("a name that leads out of the folder is refused, a missing file is told") {
        for (const std::string name : {"../../bin/sh", "/bin/sh", "..", ".", "a/b"}) {
            CAPTURE(name);
            FakeSystem system;
            system.add_program("/X.app/Contents/MacOS/X", make_elf());
            system.add_file("/X.app/Contents/Info.plist", info(name));
            CHECK(problem_of(system, "/X.app") == FindingId::target_not_executable);
        }
        FakeSystem system;
        system.add_program("/X.app/Contents/MacOS/X", make_elf());
        system.add_file("/X.app/Contents/Info.plist", info("gone"));
        CHECK(problem_of(system, "/X.app") == FindingId::target_not_found);
    }

    TEST_CASE("a bundle is started and judged by its main executable") {
        FakeSystem system;
        system.add_file("/lib64/ld-linux-x86-64.so.2", "ld");
        system.add_file("/X.app/Contents/Info.plist", info("main"));
        system.add_program("/X.app/Contents/MacOS/main", make_elf());
        for (const target::Chain& chain :
             {target::resolve(system, "/X.app", {}), target::inspect(system, "/X.app", {})}) {
            CHECK_FALSE(chain.problem);
            CHECK(chain.path == "/X.app/Contents/MacOS/main");
            REQUIRE(chain.links.size() == 2);
            CHECK(chain.links[0].kind == target::LinkKind::bundle);
            CHECK(chain.links[0].path == "/X.app");
            REQUIRE(chain.image);
            CHECK(chain.image->path == "/X.app/Contents/MacOS/main");
            CHECK(chain.names == std::vector<std::string>{"X.app", "main"});
        }
    }

    TEST_CASE("a bundle whose main executable is metalrun leads not back as a script does") {
        FakeSystem system;
        system.add_file("/lib64/ld-linux-x86-64.so.2", "ld");
        system.add_program("/X.app/Contents/MacOS/X", make_elf());
        const auto chain = target::resolve(system, "/X.app", {});
        const FileStatus own = system.status_of("/X.app/Contents/MacOS/X");
        CHECK(target::find_way_back(system, chain, own, {}) == nullptr);
    }

    TEST_CASE("the main executable may be a script") {
        FakeSystem system;
        system.add_file("/lib64/ld-linux-x86-64.so.2", "ld");
        system.add_program("/usr/bin/prog", make_elf());
        system.add_program("/usr/bin/env", make_elf());
        system.add_program("/X.app/Contents/MacOS/X", "#!/usr/bin/env prog\n");
        const auto chain = target::resolve(system, "/X.app", {.path = "/usr/bin"});
        REQUIRE_FALSE(chain.problem);
        CHECK(chain.path == "/usr/bin/prog");
        CHECK(chain.arguments == std::vector<std::string>{"prog", "/X.app/Contents/MacOS/X"});
    }
}
