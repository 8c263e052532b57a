// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using Words = std::vector<std::string>;

namespace {

cli::Request parsed(const Words& words) {
    auto request = cli::parse(words);
    REQUIRE_MESSAGE(request.has_value(), (request ? std::string{} : request.error().message));
    return *request;
}

std::string refused(const Words& words) {
    const auto request = cli::parse(words);
    REQUIRE_FALSE(request.has_value());
    CHECK(request.error().code == Errc::usage);
    return request.error().message;
}

} // namespace

TEST_SUITE("cli.command_line") {
    TEST_CASE("options end at the first operand") {
        const auto request = parsed({"-q", "llama-server", "-v", "--port", "8080", "--stock"});
        CHECK(request.quiet);
        CHECK_FALSE(request.verbose);
        CHECK_FALSE(request.policy.stock);
        CHECK(request.operands == Words{"llama-server", "-v", "--port", "8080", "--stock"});
    }

    TEST_CASE("options end at --, and a second -- belongs to the target") {
        CHECK(parsed({"--", "--", "x"}).operands == Words{"--", "x"});
        CHECK(parsed({"-v", "--", "-v"}).operands == Words{"-v"});
        CHECK(parsed({"--", ""}).operands == Words{""});
    }

    TEST_CASE("a bare first operand may be a command, behind -- it is a program") {
        CHECK(parsed({"probe"}).command == cli::Command::probe);
        CHECK(parsed({"--anywhere", "probe", "--stock"}).policy.stock);
        CHECK(parsed({"--", "probe"}).command == cli::Command::run);
        CHECK(parsed({"./probe"}).command == cli::Command::run);
    }

    TEST_CASE("a value comes behind =, in the next word, or behind the letter") {
        CHECK(parsed({"--profile=a", "t"}).policy.profile == "a");
        CHECK(parsed({"--profile", "a", "t"}).policy.profile == "a");
        CHECK(parsed({"-pa", "t"}).policy.profile == "a");
        CHECK(parsed({"-p", "a", "t"}).policy.profile == "a");
        CHECK(parsed({"-vqpa", "t"}).policy.profile == "a");
        CHECK(parsed({"--argv0=a=b", "t"}).argv0 == "a=b");
    }

    TEST_CASE("empty and dash-led values are values") {
        CHECK(parsed({"--argv0", "", "t"}).argv0 == "");
        CHECK(parsed({"--argv0=", "t"}).argv0 == "");
        CHECK(parsed({"--argv0", "--stock", "t"}).argv0 == "--stock");
        CHECK(parsed({"-C", "-n", "t"}).chdir == "-n");
    }

    TEST_CASE("the last use wins, -e and -u add up in order") {
        CHECK(parsed({"-pa", "--profile", "b", "t"}).policy.profile == "b");
        const auto request = parsed({"-e", "A=1", "-u", "B", "--env", "A=", "t"});
        REQUIRE(request.environment.size() == 3);
        CHECK(request.environment[0].value == "1");
        CHECK(request.environment[1].name == "B");
        CHECK_FALSE(request.environment[1].value.has_value());
        CHECK(request.environment[2].value == "");
    }

    TEST_CASE("an unknown option is named with the nearest known one; nothing is abbreviated") {
        const auto request = cli::parse({"--stok", "t"});
        REQUIRE_FALSE(request.has_value());
        CHECK(request.error().message == "unknown option '--stok'");
        CHECK(request.error().help == "an option with a similar name exists: '--stock'");
        CHECK(refused({"--prof", "a", "t"}) == "unknown option '--prof'");
        CHECK(refused({"-vZ", "t"}) == "unknown option '-Z'");
        CHECK(refused({"--st\nock"}) == "unknown option '--st\\nock'");
    }

    TEST_CASE("a missing or superfluous value is an error") {
        CHECK(refused({"--profile"}) == "option '--profile' needs a value: NAME|FILE");
        CHECK(refused({"-p"}) == "option '-p' needs a value: NAME|FILE");
        CHECK(refused({"--stock=yes", "t"}) == "option '--stock' takes no value, 'yes' was given");
        CHECK(refused({"-v"}) == "no target was given");
    }

    TEST_CASE("values are checked where they are given") {
        CHECK(parsed({"--family", "apple8", "t"}).policy.family->ceiling == 1008);
        CHECK(parsed({"--family=1009", "t"}).policy.family->ceiling == 1009);
        CHECK(refused({"--family", "metal3", "t"}).starts_with("option '--family': "));
        CHECK(refused({"--threadgroup-memory", "65 KiB", "t"})
                  .starts_with("option '--threadgroup-memory': "));
        CHECK(refused({"--arch", "ppc", "t"}) ==
              "option '--arch': 'ppc' is none of 'arm64', 'arm64e', 'x86_64'");
    }

    TEST_CASE("-e takes no name that is metalrun's own") {
        CHECK(refused({"-e", "LD_PRELOAD=x", "t"}).find("'LD_PRELOAD'") != std::string::npos);
        CHECK(refused({"-e", "LUME_METAL_X=1", "t"}).find("'LUME_METAL_X'") != std::string::npos);
        CHECK(refused({"-e", "METALRUN_X=1", "t"}).find("'METALRUN_X'") != std::string::npos);
        CHECK(refused({"-e", "DYLD_INSERT_LIBRARIES=x", "t"}).find("DYLD_INSERT") !=
              std::string::npos);
        CHECK(parsed({"-e", "DYLD_PRINT_LIBRARIES=1", "t"}).environment.size() == 1);
        CHECK(refused({"-e", "A", "t"}) == "option '--env': 'A' is not NAME=VALUE");
        CHECK(refused({"-e", "=b", "t"}) == "option '--env': '=b' is not NAME=VALUE");
        CHECK(refused({"-u", "A=b", "t"}) == "option '--unset': 'A=b' is no variable name");
    }

    TEST_CASE("an option of another command is refused") {
        CHECK(refused({"profile", "list", "--chdir", "/"}) ==
              "option '--chdir' does not belong to the command 'profile'");
        CHECK(refused({"--json", "t"}) == "option '--json' does not belong to a start");
    }

    TEST_CASE("--help and --version are commands of their own") {
        CHECK(parsed({"--help"}).command == cli::Command::help);
        CHECK(parsed({"probe", "--help"}).help_about == cli::Command::probe);
        CHECK(parsed({"--version"}).command == cli::Command::version);
        CHECK(parsed({"t", "--help"}).command == cli::Command::run);
    }
}
