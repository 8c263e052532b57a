// SPDX-License-Identifier: MIT
#include "elf_builder.hpp"
#include "macho/bytes.hpp"
#include "system/fake.hpp"
#include "target/chain.hpp"
#include "target/script.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using judge::FindingId;
using target::Kernel;
using tests::make_elf;
using Words = std::vector<std::string>;

namespace {

auto parse(std::string_view text, Kernel kernel) {
    return target::parse_interpreter_line("/script", std::as_bytes(std::span(text)), kernel);
}

// Smallest bytes that are taken for a Mach-O file.
const std::string kMacho("\xcf\xfa\xed\xfe\x0c\x00\x00\x01", 8);

target::Chain elsewhere(FakeSystem& system, const std::string& text) {
    system.add_file("/script", text);
    return target::inspect(system, "/script", {.kernel = Kernel::darwin, .elsewhere = true});
}

} // namespace

TEST_SUITE("target.script") {
    TEST_CASE("both kernels skip blanks before and behind the interpreter") {
        for (const Kernel kernel : {Kernel::linux, Kernel::darwin}) {
            const auto line = parse("#! \t/bin/sh \t -e  \nbody", kernel);
            REQUIRE(line);
            CHECK(line->interpreter == "/bin/sh");
            CHECK(line->rest == "-e");
            CHECK(parse("#!/bin/sh\r\n", kernel)->has_carriage_return);
            CHECK(parse("#!  \n", kernel).error().id == FindingId::script_without_interpreter_line);
        }
    }

    TEST_CASE("a NUL ends the line, as it ends every string of a kernel") {
        for (const Kernel kernel : {Kernel::linux, Kernel::darwin}) {
            const auto line = parse(std::string_view("#!/bin/sh -e\0 x\n", 16), kernel);
            REQUIRE(line);
            CHECK(line->interpreter == "/bin/sh");
            CHECK(line->rest == "-e");
            CHECK(parse(std::string_view("#!/bin/sh\0x\n", 12), kernel)->interpreter == "/bin/sh");
        }
    }

    TEST_CASE("macOS ends the line at '#', Linux does not") {
        CHECK(parse("#!/bin/sh -x#y\n", Kernel::darwin)->rest == "-x");
        CHECK(parse("#!/bin/sh -x#y\n", Kernel::linux)->rest == "-x#y");
        CHECK_FALSE(parse("#!#/bin/sh\n", Kernel::darwin));
    }

    TEST_CASE("macOS wants the end of the line within 512 bytes, Linux the interpreter in 256") {
        const std::string name(250, 'x');
        CHECK(parse("#!/" + name + "xxx\n", Kernel::linux).error().id ==
              FindingId::script_line_too_long);
        CHECK(parse("#!/" + name + "xxx\n", Kernel::darwin)->interpreter == "/" + name + "xxx");
        CHECK(parse("#!/bin/sh " + name + name + "\n", Kernel::linux)->interpreter == "/bin/sh");
        CHECK(parse("#!/bin/sh " + std::string(501, 'x') + "\n", Kernel::darwin));
        CHECK(parse("#!/bin/sh " + std::string(502, 'x') + "\n", Kernel::darwin).error().id ==
              FindingId::script_line_too_long);
    }

    TEST_CASE("a first line that ends with the file is read by Linux alone") {
        CHECK(parse("#!/bin/sh", Kernel::linux)->interpreter == "/bin/sh");
        CHECK_FALSE(parse("#!/bin/sh", Kernel::darwin));
    }

    TEST_CASE("the line's words: one on Linux, each its own on macOS") {
        CHECK(target::line_words("python3  -u", Kernel::darwin) == Words{"python3", "-u"});
        CHECK(target::line_words("python3  -u", Kernel::linux) == Words{"python3  -u"});
        for (const Kernel kernel : {Kernel::linux, Kernel::darwin}) {
            CHECK(target::line_words("", kernel).empty());
        }
    }

    TEST_CASE("macOS runs no script as the interpreter of a script") {
        FakeSystem system;
        system.add_file("/lib64/ld-linux-x86-64.so.2", "ld");
        system.add_program("/prog", make_elf());
        system.add_program("/inner", "#!/prog\n");
        system.add_program("/outer", "#!/inner\n");
        CHECK_FALSE(target::resolve(system, "/outer", {}).problem);
        const auto chain = target::resolve(system, "/outer", {.kernel = Kernel::darwin});
        REQUIRE(chain.problem);
        CHECK(chain.problem->id == FindingId::script_interpreter_is_script);
        CHECK_FALSE(target::resolve(system, "/inner", {.kernel = Kernel::darwin}).problem);
    }

    TEST_CASE("for another machine the interpreter is named, not looked at") {
        FakeSystem system;
        system.add_program("/bin/sh", make_elf());
        for (const std::string interpreter : {"/bin/sh", "/opt/homebrew/bin/python3"}) {
            const auto chain = elsewhere(system, "#!" + interpreter + " -x\n");
            REQUIRE_FALSE(chain.problem);
            REQUIRE(chain.image);
            CHECK(chain.image->elsewhere);
            CHECK(chain.image->path == interpreter);
            CHECK_FALSE(chain.image->content.is_known());
            CHECK(chain.links.back().path == interpreter);
            CHECK(chain.path == "/script");
        }
    }

    TEST_CASE("for another machine env leads to the program that it names, unsearched") {
        FakeSystem system;
        const auto chain = elsewhere(system, "#!/usr/bin/env python3 -u\n");
        REQUIRE(chain.image);
        CHECK(chain.image->elsewhere);
        CHECK(chain.image->path == "python3");
        CHECK(chain.arguments == Words{"python3", "-u", "/script"});
        const auto cleared = elsewhere(system, "#!/usr/bin/env -i A=1 python3\n");
        REQUIRE(cleared.image);
        CHECK(cleared.image->path == "python3");
        CHECK(cleared.environment.size() == 2);
        const auto unfollowed = elsewhere(system, "#!/usr/bin/env -S ${HOME}/python3\n");
        REQUIRE(unfollowed.image);
        CHECK(unfollowed.image->path == "/usr/bin/env");
        CHECK(unfollowed.passes_env);
        CHECK(unfollowed.env_unfollowed == "the string behind '-S'");
    }

    TEST_CASE("for another machine a Mach-O interpreter that is here is judged") {
        FakeSystem system;
        system.add_program("/opt/tool", kMacho);
        const auto chain = elsewhere(system, "#!/opt/tool\n");
        REQUIRE(chain.image);
        CHECK_FALSE(chain.image->elsewhere);
        CHECK(chain.image->content.is_macho());
    }

    TEST_CASE("for another machine a carriage return is still told") {
        FakeSystem system;
        for (const std::string text : {"#!/bin/sh\r\n", "#!/usr/bin/env python3\r\n"}) {
            const auto chain = elsewhere(system, text);
            REQUIRE(chain.problem);
            CHECK(chain.problem->id == FindingId::script_line_crlf);
        }
    }
}
