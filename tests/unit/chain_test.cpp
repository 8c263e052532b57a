// SPDX-License-Identifier: MIT
#include "elf_builder.hpp"
#include "system/fake.hpp"
#include "target/chain.hpp"

#include <cerrno>

#include <doctest/doctest.h>

using namespace metalrun;
using judge::FindingId;
using target::resolve;
using tests::make_elf;

namespace {

struct World {
    FakeSystem system;
    target::SearchPath search{.path = "/usr/bin:/opt/bin", .home = "/home/u"};

    World() {
        system.add_file("/lib64/ld-linux-x86-64.so.2", "ld");
        system.add_program("/usr/bin/prog", make_elf());
    }
    target::Chain follow(const std::string& typed) { return resolve(system, typed, search); }
    FindingId problem(const std::string& typed) {
        const auto chain = follow(typed);
        REQUIRE(chain.problem.has_value());
        return chain.problem->id;
    }
};

} // namespace

TEST_SUITE("target.chain") {
    TEST_CASE("the remedy fits what is wrong with a path") {
        World world;
        const auto remedy = [&](int number) {
            world.system.refuse("stat", "/odd", number);
            const auto chain = world.follow("/odd");
            REQUIRE(chain.problem.has_value());
            return chain.problem->help;
        };
        CHECK(remedy(EACCES).find("permissions") != std::string::npos);
        CHECK(remedy(ELOOP).find("symbolic links") != std::string::npos);
        CHECK(remedy(ENAMETOOLONG).find("correct the path") != std::string::npos);
        world.system.add_folder("/usr/local/bin");
        const auto dot = world.follow(".");
        REQUIRE(dot.problem.has_value());
        CHECK(dot.problem->help.find("exists") == std::string::npos);
    }

    TEST_CASE("a name is searched in PATH, a path is not") {
        World world;
        world.system.add_program("/opt/bin/other", make_elf());
        CHECK(world.follow("other").path == "/opt/bin/other");
        CHECK(world.follow("/usr/bin/prog").path == "/usr/bin/prog");
        CHECK(world.problem("./prog") == FindingId::target_not_found);
        CHECK(world.problem("nothing") == FindingId::target_not_found);
        CHECK(world.problem("") == FindingId::target_not_found);
    }

    TEST_CASE("an empty PATH entry is not the current directory") {
        World world;
        world.search.path = "::/nowhere:";
        CHECK(world.problem("prog") == FindingId::target_not_found);
    }

    TEST_CASE("a folder of that name is passed over, a file that may not be run is remembered") {
        World world;
        world.system.add_folder("/usr/bin/tool");
        world.system.add_program("/opt/bin/tool", make_elf());
        CHECK(world.follow("tool").path == "/opt/bin/tool");
        world.system.add_file("/usr/bin/data", "x");
        CHECK(world.problem("data") == FindingId::target_not_executable);
        world.system.add_program("/opt/bin/data", make_elf());
        CHECK(world.follow("data").path == "/opt/bin/data");
    }

    TEST_CASE("what is not found names the searched PATH, and where the program really is") {
        World world;
        world.system.add_program("/home/u/.local/bin/mine", make_elf());
        const auto chain = world.follow("mine");
        REQUIRE(chain.problem.has_value());
        CHECK(chain.problem->facts == std::vector<std::string>{"searched: /usr/bin:/opt/bin"});
        CHECK(chain.problem->help.find("'/home/u/.local/bin/mine' exists") != std::string::npos);
    }

    TEST_CASE("a directory, a special file and a file without the run bit are told apart") {
        World world;
        world.system.add_folder("/d");
        world.system.add_special("/fifo", {.mode = 0755});
        world.system.add_file("/plain", make_elf());
        CHECK(world.problem("/d") == FindingId::target_not_executable);
        CHECK(world.problem("/fifo") == FindingId::target_not_executable);
        CHECK(world.problem("/plain") == FindingId::target_not_executable);
    }

    TEST_CASE("an empty file and a text without an interpreter line are no programs") {
        World world;
        world.system.add_program("/empty", "");
        world.system.add_program("/text", "echo hello\n");
        CHECK(world.problem("/empty") == FindingId::not_a_program);
        CHECK(world.problem("/text") == FindingId::script_without_interpreter_line);
        world.system.add_program("/binary", std::string("PK\x03\x04", 4));
        CHECK(world.problem("/binary") == FindingId::not_a_program);
    }

    TEST_CASE("a script leads to its interpreter") {
        World world;
        world.system.add_program("/script", "#! /usr/bin/prog -x y\nbody\n");
        const auto chain = world.follow("/script");
        CHECK_FALSE(chain.problem.has_value());
        CHECK(chain.path == "/script");
        REQUIRE(chain.links.size() == 2);
        CHECK(chain.links[0].kind == target::LinkKind::script);
        CHECK(chain.image->path == "/usr/bin/prog");
        CHECK(chain.names == std::vector<std::string>{"script", "script", "prog"});
    }

    TEST_CASE("a script's first line is checked") {
        World world;
        world.system.add_program("/none", "#!  \t\n");
        world.system.add_program("/missing", "#!/no/such\n");
        world.system.add_program("/long", "#!/" + std::string(300, 'x') + "\n");
        CHECK(world.problem("/none") == FindingId::script_without_interpreter_line);
        CHECK(world.problem("/missing") == FindingId::script_interpreter_missing);
        CHECK(world.problem("/long") == FindingId::script_line_too_long);
        world.system.add_program("/crlf", "#!/usr/bin/prog\r\n");
        const auto chain = world.follow("/crlf");
        REQUIRE(chain.problem.has_value());
        CHECK(chain.problem->id == FindingId::script_line_crlf);
    }

    TEST_CASE("an interpreter whose path has a blank is told to be cut there") {
        World world;
        world.system.add_program("/my own/tools/prog", make_elf());
        world.system.add_program("/script", "#!/my own/tools/prog -x\n");
        for (const auto kernel : {HostFacts::Kernel::linux, HostFacts::Kernel::darwin}) {
            world.search.kernel = kernel;
            const auto chain = world.follow("/script");
            REQUIRE(chain.problem.has_value());
            CHECK(chain.problem->id == FindingId::script_interpreter_missing);
            CHECK(chain.problem->facts ==
                  std::vector<std::string>{
                      "the line is cut at the blank: '/my own/tools/prog' exists"});
        }
        world.system.add_program("/script", "#!/your own/tools/prog a b c d e f g h i j k\n");
        CHECK(world.follow("/script").problem->facts.empty());
    }

    TEST_CASE("scripts that are each other's interpreter end") {
        World world;
        world.system.add_program("/a", "#!/b\n");
        world.system.add_program("/b", "#!/a\n");
        CHECK(world.problem("/a") == FindingId::script_interpreter_is_script);
    }

    TEST_CASE("five scripts in a row run, six do not; env behind them is followed") {
        World world;
        world.system.add_program("/s1", "#!/usr/bin/prog\n");
        for (int i = 2; i <= 6; ++i) {
            world.system.add_program("/s" + std::to_string(i),
                                     "#!/s" + std::to_string(i - 1) + "\n");
        }
        CHECK_FALSE(world.follow("/s5").problem.has_value());
        CHECK(world.problem("/s6") == FindingId::script_interpreter_is_script);
        world.system.add_program("/usr/bin/env", make_elf());
        world.system.add_program("/inner", "#!/usr/bin/env -S prog -i\n");
        world.system.add_program("/outer", "#!/inner -o p\n");
        CHECK(world.follow("/outer").arguments ==
              std::vector<std::string>{"prog", "-i", "/inner", "-o p", "/outer"});
        world.system.add_link("/usr/bin/myenv", "/usr/bin/env");
        world.system.add_program("/alias", "#!/usr/bin/myenv prog\n");
        CHECK(world.follow("/alias").path == "/usr/bin/prog");
    }

    TEST_CASE("a program that may only be executed stops the judgement, not the start") {
        World world;
        world.system.refuse("open", "/usr/bin/prog", EACCES);
        const auto chain = world.follow("prog");
        REQUIRE(chain.problem.has_value());
        CHECK(chain.problem->step == judge::Step::target);
        CHECK(chain.path == "/usr/bin/prog");
    }

    TEST_CASE("rights that a start would gain are seen") {
        World world;
        world.system.add_file("/suid", make_elf(), {.mode = 04755, .owner = 0});
        world.system.add_file("/mine", make_elf(), {.mode = 04755, .owner = 501});
        world.system.add_file("/sgid", make_elf(), {.mode = 02755, .group = 0});
        world.system.add_program("/caps", make_elf());
        world.system.files_with_capabilities.insert("/caps");
        CHECK(world.follow("/suid").image->gains_rights);
        CHECK_FALSE(world.follow("/mine").image->gains_rights);
        CHECK(world.follow("/sgid").image->gains_rights);
        CHECK(world.follow("/caps").image->gains_rights);
        CHECK_FALSE(world.follow("/usr/bin/prog").image->gains_rights);
    }

    TEST_CASE("a loader that is not there is seen") {
        World world;
        world.system.add_program("/musl", make_elf({.interpreter = "/lib/ld-musl.so.1"}));
        CHECK(world.follow("/musl").image->loader_missing);
        CHECK_FALSE(world.follow("/usr/bin/prog").image->loader_missing);
    }

    TEST_CASE("a search can leave out every metalrun") {
        World world;
        world.system.add_program("/usr/bin/llama-server", make_elf({.marker = "launcher"}));
        world.system.add_program("/opt/bin/llama-server", make_elf());
        world.search.skip = {FileStatus{}};
        CHECK(world.follow("llama-server").path == "/opt/bin/llama-server");
    }

    TEST_CASE("a script that leads back to metalrun is found, directly and through env") {
        World world;
        world.system.add_program("/usr/bin/metalrun", make_elf({.marker = "launcher"}));
        world.system.add_program("/usr/bin/env", make_elf());
        const FileStatus own = world.system.status_of("/usr/bin/metalrun");
        const auto way_back = [&](const std::string& line) {
            world.system.add_program("/script", line + "\n");
            const auto chain = world.follow("/script");
            const auto* link = target::find_way_back(world.system, chain, own, world.search);
            return link != nullptr && link->path == "/script";
        };
        CHECK(way_back("#!/usr/bin/metalrun"));
        CHECK(way_back("#!/usr/bin/metalrun -q --anywhere"));
        CHECK(way_back("#!/usr/bin/env metalrun"));
        CHECK(way_back("#!/usr/bin/env -S metalrun -p x -- prog"));
        CHECK(way_back("#!/usr/bin/env /usr/bin/metalrun"));
        CHECK_FALSE(way_back("#!/usr/bin/env prog"));
        CHECK_FALSE(way_back("#!/usr/bin/prog metalrun"));
        CHECK_FALSE(way_back("#!/usr/bin/env"));
    }

    TEST_CASE("a plain env line is resolved, so that the shim does not stay behind in env") {
        World world;
        world.system.add_program("/usr/bin/env", make_elf());
        world.system.add_program("/script", "#!/usr/bin/env prog\n");
        const auto plain = world.follow("/script");
        CHECK(plain.path == "/usr/bin/prog");
        CHECK(plain.arguments == std::vector<std::string>{"prog", "/script"});
        CHECK(plain.image->path == "/usr/bin/prog");
        CHECK_FALSE(plain.passes_env);
        world.system.add_program("/split", "#!/usr/bin/env -S prog -x  y\n");
        CHECK(world.follow("/split").arguments ==
              std::vector<std::string>{"prog", "-x", "y", "/split"});
    }

    TEST_CASE("an env line that is not followed stays as it is, and the reason is told") {
        World world;
        world.system.add_program("/usr/bin/env", make_elf());
        const std::vector<std::pair<std::string, std::string>> lines{
            {"-C/tmp prog", "the option '-C'"},     {"--chdir=/tmp", "the option '--chdir'"},
            {"-i prog", "the option '-i prog'"},    {"-S prog 'a b", "the string behind '-S'"},
            {"-S A=1", "a line without a program"}, {"", "a line without a program"}};
        for (const auto& [line, reason] : lines) {
            CAPTURE(line);
            world.system.add_program("/script", "#!/usr/bin/env " + line + "\n");
            const auto chain = world.follow("/script");
            CHECK(chain.passes_env);
            CHECK(chain.env_unfollowed == reason);
            CHECK(chain.arguments.empty());
            CHECK(chain.environment.empty());
            CHECK(chain.path == "/script");
        }
        world.system.add_program("/script", "#!/usr/bin/env nosuch\n");
        CHECK(world.problem("/script") == FindingId::script_interpreter_missing);
    }

    TEST_CASE("env searches in the PATH that its line leaves") {
        World world;
        world.system.add_program("/usr/bin/env", make_elf());
        world.system.add_program("/tools/other", make_elf());
        world.system.add_program("/default/other", make_elf());
        world.system.add_program("/opt/bin/other", make_elf());
        world.system.search_path = "/default";
        const auto found = [&](const std::string& line) {
            world.system.add_program("/script", "#!/usr/bin/env -S " + line + "\n");
            return world.follow("/script").path;
        };
        CHECK(found("other") == "/opt/bin/other");
        CHECK(found("PATH=/tools other") == "/tools/other");
        CHECK(found("PATH=/nowhere PATH=/tools other") == "/tools/other");
        CHECK(found("-i other") == "/default/other");
        CHECK(found("-u PATH other") == "/default/other");
        CHECK(found("-i PATH=/tools other") == "/tools/other");
        CHECK(found("-u PATH /opt/bin/other") == "/opt/bin/other");
    }

    TEST_CASE(
        "a script that env finds and that names env itself goes on, with all changes so far") {
        World world;
        world.system.add_program("/usr/bin/env", make_elf());
        world.system.add_program("/opt/bin/inner", "#!/usr/bin/env -S -u A C=${B} prog -x\n");
        world.system.add_program("/outer", "#!/usr/bin/env -S A=1 B=2 inner -o\n");
        world.search.variable = [](const std::string&) { return std::optional<std::string>("0"); };
        const auto chain = world.follow("/outer");
        CHECK(chain.path == "/usr/bin/prog");
        CHECK(chain.arguments ==
              std::vector<std::string>{"prog", "-x", "/opt/bin/inner", "-o", "/outer"});
        using Kind = target::EnvironmentChange::Kind;
        CHECK(chain.environment == std::vector<target::EnvironmentChange>{{Kind::set, "A", "1"},
                                                                          {Kind::set, "B", "2"},
                                                                          {Kind::unset, "A", ""},
                                                                          {Kind::set, "C", "2"}});
    }

    TEST_CASE("scripts that lead to each other through env end, however many they are") {
        World world;
        world.system.add_program("/usr/bin/env", make_elf());
        world.system.add_program("/opt/bin/self", "#!/usr/bin/env self\n");
        CHECK(world.problem("self") == FindingId::script_interpreter_is_script);
        world.system.add_program("/opt/bin/one", "#!/usr/bin/env two\n");
        world.system.add_program("/opt/bin/two", "#!/opt/bin/one\n");
        CHECK(world.problem("one") == FindingId::script_interpreter_is_script);
        for (int i = 0; i < 40; ++i) {
            world.system.add_program("/opt/bin/n" + std::to_string(i),
                                     "#!/usr/bin/env n" + std::to_string(i + 1) + "\n");
        }
        world.system.add_program("/opt/bin/n40", make_elf());
        CHECK(world.problem("n0") == FindingId::script_interpreter_is_script);
        CHECK_FALSE(world.follow("n30").problem);
    }

    TEST_CASE(
        "the env of macOS is BSD's: its -P is no PATH, and the program is named by its path") {
        World world;
        world.search.kernel = HostFacts::Kernel::darwin;
        world.system.add_program("/usr/bin/env", make_elf());
        world.system.add_program("/gnu/env", make_elf());
        world.system.add_program("/tools/other", make_elf());
        world.system.add_program("/script", "#!/usr/bin/env -P /nowhere:/tools other -x\n");
        const auto chain = world.follow("/script");
        CHECK(chain.path == "/tools/other");
        CHECK(chain.arguments == std::vector<std::string>{"/tools/other", "-x", "/script"});
        world.system.add_program("/script", "#!/gnu/env -P /tools other\n");
        CHECK(world.follow("/script").env_unfollowed == "the option '-P'");
        world.system.add_program("/bin/other", make_elf());
        world.system.add_program("/script", "#!/usr/bin/env -i other\n");
        CHECK(world.follow("/script").path == "/bin/other"); // execvp's own default
    }

    TEST_CASE("base names") {
        CHECK(target::base_name("/a/b") == "b");
        CHECK(target::base_name("b") == "b");
        CHECK(target::base_name("/a/b//") == "b");
        CHECK(target::base_name("/") == "/");
        CHECK(target::base_name("") == "");
    }
}
