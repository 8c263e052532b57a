// SPDX-License-Identifier: MIT
//
// The profile format, schema 1: each key accepted and rejected (profile/loader.hpp).
#include "profile/loader.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::profile;

namespace {

Result<Profile> load(const std::string& body) {
    return parse_profile("schema = 1\n" + body, "/p/x.toml", "/p");
}

Profile loaded(const std::string& body) {
    const Result<Profile> profile = load(body);
    INFO((profile ? "" : profile.error().message));
    REQUIRE(profile.has_value());
    return *profile;
}

// The message behind the file name: "LINE:COLUMN: …"; the schema is line 1.
std::string refusal(const std::string& body) {
    const Result<Profile> profile = load(body);
    if (profile) {
        return "accepted";
    }
    CHECK(profile.error().code == Errc::profile);
    const std::string head = "/p/x.toml:";
    REQUIRE(profile.error().message.starts_with(head));
    return profile.error().message.substr(head.size());
}

std::string help(const std::string& body) {
    const Result<Profile> profile = load(body);
    return profile ? "accepted" : profile.error().help;
}

} // namespace

TEST_SUITE("profile.loader") {

    TEST_CASE("the smallest profile has a schema and nothing else") {
        const Profile profile = loaded("");
        CHECK(profile.name == "x");
        CHECK(profile.origin == "/p/x.toml");
        Profile expected;
        expected.name = "x";
        expected.origin = "/p/x.toml";
        CHECK(profile == expected);
    }

    TEST_CASE("the name is the base name without .toml") {
        CHECK(parse_profile("schema = 1", "/a/llama.cpp.toml", "/a")->name == "llama.cpp");
        CHECK(parse_profile("schema = 1", "/a/serve", "/a")->name == "serve");
        CHECK(parse_profile("schema = 1", "serve.toml", "/a")->name == "serve");
    }

    TEST_CASE("a launcher script is a profile whose first line is a comment") {
        const Result<Profile> profile = parse_profile(
            "#!/usr/bin/env metalrun\nschema = 1\n[target]\nprogram = 'llama-server'\n", "/p/serve",
            "/p");
        REQUIRE(profile.has_value());
        REQUIRE(profile->target.has_value());
        CHECK(profile->target->program == "llama-server");
    }

    TEST_CASE("the schema is asked for, and only 1 is known") {
        const Result<Profile> without = parse_profile("description = 'x'\n", "/p/x.toml", "/p");
        REQUIRE_FALSE(without.has_value());
        CHECK(without.error().message == "/p/x.toml:1:1: missing key 'schema'");
        CHECK(without.error().help == "begin the profile with 'schema = 1'");
        const auto message = [](std::string_view text) {
            return parse_profile(text, "x", "/").error().message;
        };
        CHECK(message("schema = 2\nnew_key = 1\n") ==
              "x:1:10: schema 2 is not known: this metalrun reads schema 1");
        CHECK(message("schema = '1'\n") == "x:1:10: 'schema' must be an integer, not a string");
        CHECK(message("schema = 1.0\n") ==
              "x:1:10: 'schema' must be an integer, not a floating-point number");
        CHECK(message("schema = 1\nschema = 1\n").starts_with("x:2:"));
    }

    TEST_CASE("every key is accepted in one profile") {
        const std::string digits(64, 'a');
        const Profile profile = loaded(R"(description = "d"
[metal]
apple_family = "apple7"
threadgroup_memory = "32 KiB"
working_set = 4294967296
never_above_host = false
hook = "late"
[shim]
path = "lib/shim.dylib"
sha256 = { arm64 = ")" + digits + R"(", arm64e = ")" +
                                       digits + R"(", x86_64 = ")" + digits + R"(" }
[target]
program = "llama-server"
arguments = ["--port", "8080", ""]
directory = "models"
argv0 = ""
[environment]
set = { B = "2", A = "" }
unset = ["C"]
[policy]
on_refusal = "stock"
when_uncertain = "inject"
children = "inherit"
where = "anywhere"
[match]
programs = ["llama-*"]
arguments = ["-m mlx_lm*"]
libraries = ["libMoltenVK*"]
[workload]
status = "no-benefit"
reason = "r"
[[workload.record]]
chip = "c"
host_os = "h"
guest_os = "g"
build = "b"
workload = "w"
stock = "1"
shim = "2"
host = "3"
speed_up = "4"
share_of_host = "5"
source = "s"
runs = 10
apple_family = 1009
threadgroup_memory = 65536
[[workload.record]]
apple_family = "apple9"
threadgroup_memory = "64 KiB"
[[quirk]]
guest_os = "13"
level = "warn"
set = { Q = "1" }
note = "n"
[[quirk]]
guest_os = ">=15"
)");
        CHECK(profile.description == "d");
        CHECK(profile.metal == Metal{.apple_family = Family{Family::Kind::ceiling, 1007},
                                     .threadgroup_memory = Limit{32768},
                                     .working_set = Limit{4294967296},
                                     .never_above_host = false,
                                     .hook = Hook::late});
        CHECK(profile.shim == Shim{.path = "/p/lib/shim.dylib",
                                   .sha256_arm64 = digits,
                                   .sha256_arm64e = digits,
                                   .sha256_x86_64 = digits});
        REQUIRE(profile.target.has_value());
        CHECK(*profile.target == Target{.program = "llama-server",
                                        .arguments = {"--port", "8080", ""},
                                        .directory = "/p/models",
                                        .argv0 = ""});
        CHECK(profile.environment == Environment{.set = {{"B", "2"}, {"A", ""}}, .unset = {"C"}});
        CHECK(profile.policy == Policy{.on_refusal = OnRefusal::stock,
                                       .when_uncertain = WhenUncertain::inject,
                                       .children = Children::inherit,
                                       .where = Where::anywhere});
        CHECK(profile.match == Match{.programs = {"llama-*"},
                                     .arguments = {"-m mlx_lm*"},
                                     .libraries = {"libMoltenVK*"}});
        CHECK(profile.workload.status == WorkloadStatus::no_benefit);
        CHECK(profile.workload.reason == "r");
        REQUIRE(profile.workload.records.size() == 2);
        CHECK(profile.workload.records[0] == Record{.chip = "c",
                                                    .host_os = "h",
                                                    .guest_os = "g",
                                                    .build = "b",
                                                    .workload = "w",
                                                    .stock = "1",
                                                    .shim = "2",
                                                    .host = "3",
                                                    .speed_up = "4",
                                                    .share_of_host = "5",
                                                    .source = "s",
                                                    .runs = 10,
                                                    .apple_family = 1009,
                                                    .threadgroup_memory = 65536});
        CHECK(profile.workload.records[1].apple_family == 1009);
        CHECK(profile.workload.records[1].threadgroup_memory == 65536);
        REQUIRE(profile.quirks.size() == 2);
        CHECK(profile.quirks[0] ==
              Quirk{.guest_os = "13", .level = QuirkLevel::warn, .set = {{"Q", "1"}}, .note = "n"});
        CHECK(profile.quirks[1] ==
              Quirk{.guest_os = ">=15", .level = QuirkLevel::note, .set = {}, .note = ""});
    }

    TEST_CASE("a wrong type of any key is refused with its place") {
        struct Case {
            std::string_view table, key, value;
        };
        constexpr std::array<Case, 47> kCases{{
            {"", "description", "1"},
            {"", "metal", "1"},
            {"", "shim", "[]"},
            {"", "target", "'x'"},
            {"", "environment", "[]"},
            {"", "policy", "true"},
            {"", "match", "1.5"},
            {"", "workload", "1"},
            {"", "quirk", "{}"},
            {"", "quirk", "[1]"},
            {"metal", "apple_family", "true"},
            {"metal", "apple_family", "[]"},
            {"metal", "threadgroup_memory", "1.5"},
            {"metal", "working_set", "{}"},
            {"metal", "never_above_host", "'yes'"},
            {"metal", "never_above_host", "1"},
            {"metal", "hook", "1"},
            {"shim", "path", "1"},
            {"shim", "sha256", "'a'"},
            {"shim.sha256", "arm64", "1"},
            {"shim.sha256", "arm64e", "[]"},
            {"shim.sha256", "x86_64", "{}"},
            {"target", "program", "1"},
            {"target", "arguments", "'x'"},
            {"target", "arguments", "[1]"},
            {"target", "directory", "1"},
            {"target", "argv0", "[]"},
            {"environment", "set", "[]"},
            {"environment", "set", "{ A = 1 }"},
            {"environment", "unset", "'A'"},
            {"environment", "unset", "[1]"},
            {"policy", "on_refusal", "1"},
            {"policy", "when_uncertain", "true"},
            {"policy", "children", "[]"},
            {"policy", "where", "{}"},
            {"match", "programs", "'x'"},
            {"match", "arguments", "[1]"},
            {"match", "libraries", "[[]]"},
            {"workload", "status", "1"},
            {"workload", "reason", "1"},
            {"workload", "record", "{}"},
            {"workload", "record", "['x']"},
            {"workload", "record", "[{ chip = 1 }]"},
            {"workload", "record", "[{ runs = '1' }]"},
            {"workload", "record", "[{ apple_family = 1.5 }]"},
            {"workload", "record", "[{ threadgroup_memory = [] }]"},
            {"", "quirk", "[{ guest_os = 13 }]"},
        }};
        for (const Case& c : kCases) {
            const std::string header = c.table.empty() ? "\n" : "[" + std::string(c.table) + "]\n";
            const std::string body =
                header + std::string(c.key) + " = " + std::string(c.value) + "\n";
            CAPTURE(body);
            const std::string message = refusal(body);
            CHECK(message.starts_with("3:"));
            CHECK(message.find(" must be ") != std::string::npos);
        }
        CHECK(refusal("[metal]\nhook = 1\n") ==
              "3:8: 'metal.hook' must be a string, not an integer");
        CHECK(refusal("[match]\nprograms = ['a', 7]\n") ==
              "3:18: 'match.programs' must be a string, not an integer");
    }

    TEST_CASE("an unknown key is told with its whole path and the nearest known one") {
        CHECK(refusal("[metal]\napple_familly = 1\n") == "3:1: unknown key 'metal.apple_familly'");
        CHECK(help("[metal]\napple_familly = 1\n") ==
              "a key with a similar name exists: 'metal.apple_family'");
        CHECK(refusal("descripton = 'x'\n") == "2:1: unknown key 'descripton'");
        CHECK(help("descripton = 'x'\n") == "a key with a similar name exists: 'description'");
        CHECK(refusal("[meta]\n") == "2:2: unknown key 'meta'");
        CHECK(help("[meta]\n") == "a key with a similar name exists: 'metal'");
        CHECK(help("[[quirks]]\n") == "a key with a similar name exists: 'quirk'");
        CHECK(refusal("[workload]\n[[workload.record]]\nchips = 'x'\n") ==
              "4:1: unknown key 'workload.record.chips'");
        CHECK(help("[[workload.record]]\nchips = 'x'\n") ==
              "a key with a similar name exists: 'workload.record.chip'");
        CHECK(refusal("[[quirk]]\nguest_os = '13'\nleves = 'x'\n") ==
              "4:1: unknown key 'quirk.leves'");
        CHECK(refusal("[shim.sha256]\narm = 'x'\n") == "3:1: unknown key 'shim.sha256.arm'");
    }

    TEST_CASE("a known key in the wrong table is answered with its own table") {
        CHECK(help("[metal]\nchildren = 'stock'\n") ==
              "a key with a similar name exists: 'policy.children'");
        CHECK(help("apple_family = 'apple7'\n") ==
              "a key with a similar name exists: 'metal.apple_family'");
    }

    TEST_CASE("an unknown key is shown on one printable line") {
        CHECK(refusal("\"a\\nb\" = 1\n") == "2:1: unknown key 'a\\nb'");
        CHECK(refusal("\"metal.hook\" = 'late'\n") == "2:1: unknown key '\"metal.hook\"'");
    }

    TEST_CASE("duplicates are refused") {
        CHECK(refusal("[metal]\nhook = 'late'\nhook = 'late'\n").starts_with("4:"));
        CHECK(refusal("[metal]\n[metal]\n").starts_with("3:"));
        CHECK(refusal("environment.set = { A = '1', A = '2' }\n").starts_with("2:"));
    }

    TEST_CASE("a value that its key does not take is refused with the accepted ones") {
        CHECK(refusal("[metal]\nhook = 'earlier'\n") ==
              "3:8: 'metal.hook': expected 'early' or 'late', not 'earlier'");
        CHECK(refusal("[policy]\nchildren = 'all'\n").find("'inherit-if-safe'") !=
              std::string::npos);
        CHECK(refusal("[policy]\non_refusal = ''\n").starts_with("3:14: "));
        CHECK(refusal("[policy]\nwhen_uncertain = 'x'\n").starts_with("3:18: "));
        CHECK(refusal("[policy]\nwhere = 'host'\n").starts_with("3:9: "));
        CHECK(refusal("[workload]\nstatus = 'good'\n").starts_with("3:10: "));
        CHECK(refusal("[[quirk]]\nguest_os = '13'\nlevel = 'error'\n").starts_with("4:9: "));
    }

    TEST_CASE("families are Apple families only") {
        CHECK(loaded("[metal]\napple_family = 1007\n").metal.apple_family ==
              Family{Family::Kind::ceiling, 1007});
        CHECK(loaded("[metal]\napple_family = 'host'\n").metal.apple_family ==
              Family{Family::Kind::host, 0});
        for (const std::string_view value : {"5001",
                                             "5002",
                                             "2001",
                                             "2002",
                                             "3001",
                                             "3003",
                                             "4001",
                                             "4002",
                                             "1000",
                                             "1011",
                                             "7",
                                             "-1",
                                             "0",
                                             "9223372036854775807",
                                             "-9223372036854775808",
                                             "'metal3'",
                                             "'mac2'",
                                             "'common3'",
                                             "'catalyst1'",
                                             "'apple11'",
                                             "''"}) {
            CAPTURE(value);
            CHECK(refusal("[metal]\napple_family = " + std::string(value) + "\n")
                      .starts_with("3:16: 'metal.apple_family': "));
        }
    }

    TEST_CASE("limits are numbers or text, in range") {
        CHECK(loaded("[metal]\nthreadgroup_memory = 65536\n").metal.threadgroup_memory ==
              Limit{65536});
        CHECK(loaded("[metal]\nthreadgroup_memory = 'stock'\n").metal.threadgroup_memory ==
              Limit{0});
        CHECK(loaded("[metal]\nworking_set = '8 GiB'\n").metal.working_set == Limit{8ULL << 30U});
        for (const std::string_view value :
             {"65537", "-1", "'65 KiB'", "'64 KB'", "'1.5 KiB'", "''"}) {
            CAPTURE(value);
            CHECK(refusal("[metal]\nthreadgroup_memory = " + std::string(value) + "\n")
                      .starts_with("3:22: 'metal.threadgroup_memory': "));
        }
        CHECK(refusal("[metal]\nworking_set = -5\n").starts_with("3:15: 'metal.working_set': "));
    }

    TEST_CASE("a limit cannot be raised while the family is stock") {
        CHECK(refusal("[metal]\napple_family = 'stock'\nthreadgroup_memory = 65536\n") ==
              "4:22: 'metal.threadgroup_memory' cannot be raised while 'metal.apple_family' is "
              "'stock'");
        CHECK(refusal("[metal]\nworking_set = '1 GiB'\napple_family = 'stock'\n")
                  .starts_with("3:15"));
        CHECK(loaded("[metal]\napple_family = 'stock'\nthreadgroup_memory = 0\nworking_set = "
                     "'stock'\n")
                  .metal.apple_family == Family{});
        CHECK(loaded("[metal]\napple_family = 'apple7'\nthreadgroup_memory = 65536\n")
                  .metal.threadgroup_memory == Limit{65536});
    }

    TEST_CASE("paths are absolute or relative to the folder of the profile") {
        CHECK(loaded("[shim]\npath = '/a/b.dylib'\n").shim.path == "/a/b.dylib");
        CHECK(loaded("[shim]\npath = '../b.dylib'\n").shim.path == "/p/../b.dylib");
        CHECK(loaded("[target]\nprogram = './run'\n").target->program == "/p/./run");
        CHECK(loaded("[target]\nprogram = '/bin/run'\n").target->program == "/bin/run");
        CHECK(loaded("[target]\nprogram = 'run'\n").target->program == "run");
        CHECK(loaded("[target]\ndirectory = '.'\n").target->directory == "/p/.");
        CHECK(parse_profile("schema = 1\nshim.path = 'a'\n", "/x", "/")->shim.path == "/a");
    }

    TEST_CASE("paths that begin with '@' or '~/' are refused, and so are empty ones") {
        for (const std::string_view key : {"shim.path", "target.directory"}) {
            for (const std::string_view value :
                 {"@rpath/x", "@executable_path/x", "@loader_path/x", "@", "~/x", "~", ""}) {
                CAPTURE(key);
                CAPTURE(value);
                CHECK(refusal(std::string(key) + " = '" + std::string(value) + "'\n")
                          .starts_with("2:"));
            }
        }
        CHECK(refusal("target.program = '@rpath/x'\n").find("'@'") != std::string::npos);
        CHECK(refusal("target.program = '~/x'\n").find("'~'") != std::string::npos);
        CHECK(refusal("target.program = ''\n") == "2:18: 'target.program' must not be empty");
        CHECK(loaded("target.program = '@x'\n").target->program == "@x");
    }

    TEST_CASE("a NUL is refused wherever the system would end a string") {
        for (const std::string_view body :
             {"shim.path = \"a\\u0000b\"\n", "target.program = \"a\\u0000\"\n",
              "target.arguments = [\"\\u0000\"]\n", "target.argv0 = \"\\u0000\"\n",
              "target.directory = \"\\u0000\"\n", "environment.set = { A = \"\\u0000\" }\n",
              "environment.unset = [\"A\\u0000\"]\n", "environment.set = { \"A\\u0000\" = '' }\n",
              "match.programs = [\"\\u0000\"]\n", "description = \"\\u0000\"\n"}) {
            CAPTURE(body);
            CHECK(refusal(std::string(body)).starts_with("2:"));
        }
    }

    TEST_CASE("reserved variables are refused at their place") {
        for (const std::string_view name :
             {"DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "LD_PRELOAD", "LD_LIBRARY_PATH",
              "LUME_METAL_APPLE_FAMILY_MAX", "METALRUN_RECEIPT", "METALRUN_PROFILE"}) {
            const std::string n(name);
            CAPTURE(n);
            CHECK(refusal("[environment]\nset = { A = '', " + n + " = '' }\n")
                      .starts_with("3:17: '"));
            CHECK(refusal("[environment]\nunset = ['" + n + "']\n").starts_with("3:10: '"));
            CHECK(refusal("[[quirk]]\nguest_os = '13'\nset = { " + n + " = '' }\n")
                      .starts_with("4:9: '"));
        }
        CHECK(refusal("[environment.set]\nLD_PRELOAD = ''\n").starts_with("3:1: 'LD_PRELOAD' is "));
    }

    TEST_CASE("names that no environment can hold are refused") {
        CHECK(refusal("[environment]\nset = { '' = 'x' }\n") ==
              "3:9: '' is not the name of a variable");
        CHECK(refusal("[environment]\nset = { 'A=B' = 'x' }\n").starts_with("3:9: 'A=B'"));
        CHECK(refusal("[environment]\nunset = ['A=']\n").starts_with("3:10: 'A='"));
        CHECK(refusal("[environment]\nunset = ['']\n").starts_with("3:10: ''"));
    }

    TEST_CASE("variables keep the order of the file") {
        const Profile profile = loaded("[environment.set]\nZ = '1'\nA = '2'\n'M M' = '3'\n");
        CHECK(profile.environment.set ==
              std::vector<Variable>{{"Z", "1"}, {"A", "2"}, {"M M", "3"}});
    }

    TEST_CASE("a checksum is 64 lower-case hexadecimal digits") {
        const std::string good = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        for (const std::string key : {"arm64", "arm64e", "x86_64"}) {
            const std::string head = std::string("[shim.sha256]\n") + key + " = ";
            CHECK(load(head + "'" + good + "'\n").has_value());
            CHECK(refusal(head + "''\n").starts_with("3:"));
            CHECK(refusal(head + "'" + good.substr(1) + "'\n").starts_with("3:"));
            CHECK(refusal(head + "'" + good + "0'\n").starts_with("3:"));
            CHECK(refusal(head + "'" + good.substr(1) + "g'\n").starts_with("3:"));
            CHECK(refusal(head + "'" + good.substr(1) + "A'\n").starts_with("3:"));
        }
    }

    TEST_CASE("an empty pattern is refused, and so is a slash in a pattern on base names") {
        for (const std::string key : {"programs", "arguments", "libraries"}) {
            CHECK(refusal("[match]\n" + key + " = ['a', '']\n") ==
                  "3:" + std::to_string(key.size() + 10) + ": 'match." + key +
                      "' has an empty pattern");
            CHECK(load("[match]\n" + key + " = []\n").has_value());
        }
        CHECK(refusal("[match]\nprograms = ['bin/*']\n").starts_with("3:13: "));
        CHECK(refusal("[match]\nlibraries = ['/usr/lib/*']\n").starts_with("3:14: "));
        CHECK(load("[match]\narguments = ['--file /x/*']\n").has_value());
    }

    TEST_CASE("numbers of a record are checked") {
        for (const std::string_view entry :
             {"runs = 0", "runs = -1", "runs = 1000001", "apple_family = 1011",
              "apple_family = 5001", "apple_family = 'stock'", "apple_family = 'host'",
              "apple_family = -9", "threadgroup_memory = 65537", "threadgroup_memory = -1"}) {
            CAPTURE(entry);
            CHECK(refusal("[[workload.record]]\n" + std::string(entry) + "\n").starts_with("3:"));
        }
        CHECK(load("[[workload.record]]\nruns = 1000000\nthreadgroup_memory = 'stock'\n")
                  .has_value());
    }

    TEST_CASE("a quirk names its systems") {
        CHECK(refusal("[[quirk]]\nnote = 'x'\n") == "2:1: missing key 'quirk.guest_os'");
        for (const std::string_view pattern : {"", "x", "15..14", "14.", "=>15"}) {
            CAPTURE(pattern);
            CHECK(refusal("[[quirk]]\nguest_os = '" + std::string(pattern) + "'\n")
                      .starts_with("3:12: 'quirk.guest_os': "));
        }
        CHECK(loaded("quirk = [{ guest_os = '14.0..14.3' }]\n").quirks[0].guest_os == "14.0..14.3");
    }

    TEST_CASE("the first error of the file is told") {
        CHECK(refusal("[policy]\nwhere = 'x'\n[metal]\nhook = 'x'\n").starts_with("3:"));
        CHECK(refusal("[metal]\nhook = 'x'\n[policy]\nwhere = 'x'\n").starts_with("3:"));
    }

    TEST_CASE("the file of a message is escaped") {
        const Result<Profile> profile = parse_profile("x = 1\n", "/a\nb.toml", "/");
        REQUIRE_FALSE(profile.has_value());
        CHECK(profile.error().message.starts_with("/a\\nb.toml:1:1: "));
    }

    TEST_CASE("a profile larger than the limit is refused unread") {
        CHECK(load("#" + std::string(1000, 'x')).has_value());
        const std::string large(kLargestProfileFile, '#');
        CHECK(load(large).error().message.find("above the limit") != std::string::npos);
    }

    TEST_CASE("the known keys are listed once each, tables included") {
        std::vector<std::string_view> keys(known_keys().begin(), known_keys().end());
        CHECK(std::ranges::find(keys, "metal.apple_family") != keys.end());
        CHECK(std::ranges::find(keys, "workload.record.threadgroup_memory") != keys.end());
        CHECK(std::ranges::find(keys, "quirk") != keys.end());
        std::ranges::sort(keys);
        CHECK(std::ranges::adjacent_find(keys) == keys.end());
    }
}
