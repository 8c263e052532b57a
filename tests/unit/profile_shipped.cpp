// SPDX-License-Identifier: MIT
//
// config/*.toml: every shipped profile loads, equals its built-in copy, is found by what it is for,
// has its quirks where they belong, and damaged copies of it are answered.
#include "judge_case.hpp"
#include "launch/plan.hpp"
#include "profile/catalogue.hpp"
#include "profile/loader.hpp"
#include "system/fake.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::profile;

namespace {

const std::filesystem::path kConfig = std::filesystem::path(METALRUN_SOURCE_DIR) / "config";

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

Profile shipped(const std::string& name) {
    const std::filesystem::path path = kConfig / (name + ".toml");
    Result<Profile> profile = parse_profile(content_of(path), path.string(), kConfig.string());
    INFO((profile ? "" : profile.error().message));
    REQUIRE(profile.has_value());
    return std::move(*profile);
}

constexpr std::array<std::string_view, 4> kMacos13{"13", "13.0", "13.6.1", "13.7.8"};
constexpr std::array<std::string_view, 5> kMacos14{"14", "14.0", "14.3.1", "14.7", "14.8.2"};
// Unknown, as on Linux, among them.
constexpr std::array<std::string_view, 8> kOthers{"",     "12.7", "15",   "15.0",
                                                  "15.5", "26",   "26.5", "27.0"};

launch::Plan planned(const Profile& profile, std::string_view os) {
    const HostFacts host{.kernel = HostFacts::Kernel::darwin,
                         .os = std::string(os),
                         .architecture = "arm64",
                         .guest = Tri::yes};
    auto plan = launch::make_plan(profile, {}, host, "/shim.dylib");
    REQUIRE(plan.has_value());
    return std::move(*plan);
}

// The variables that a start in a guest with this system sets, sorted.
std::vector<std::string> variables(const Profile& profile, std::string_view os) {
    std::vector<std::string> set;
    for (const launch::Change& change : planned(profile, os).environment) {
        set.push_back(change.name + "=" + change.value.value_or("(unset)"));
        CHECK(change.origin.starts_with("quirk for guest OS "));
    }
    std::ranges::sort(set);
    return set;
}

// What a start in a guest with this system tells of quirks.
std::optional<judge::Finding> told_quirk(const Profile& profile, std::string_view os) {
    test::Case start;
    start.host.os = os;
    start.plan = planned(profile, os);
    for (const judge::Finding& finding : start.verdict().findings) {
        if (finding.id == judge::FindingId::quirk_applied) {
            return finding;
        }
    }
    return std::nullopt;
}

bool tells(const judge::Finding& finding, std::string_view part) {
    return std::ranges::any_of(finding.facts, [&](const std::string& fact) {
        return fact.find(part) != std::string::npos;
    });
}

const std::set<std::string> kGgml{
    "default", "llama.cpp", "ollama", "published", "stable-diffusion.cpp", "whisper.cpp"};
const std::set<std::string> kReadLlamaArg{"default", "llama.cpp", "ollama", "published"};

// Changes each byte in several ways; an error must have its place.
void check_changes_of(const std::string& original) {
    for (std::size_t at = 0; at < original.size(); ++at) {
        const auto flipped = [&](unsigned bit) {
            return static_cast<char>(static_cast<unsigned char>(original[at]) ^ bit);
        };
        for (const char change : {'\0', '\n', '"', '[', '.', '\xFF', flipped(1), flipped(0x20)}) {
            std::string changed = original;
            changed[at] = change;
            const Result<Profile> profile = parse_profile(changed, "x.toml", "/");
            if (!profile && !profile.error().message.starts_with("x.toml:")) {
                FAIL("byte " << at << " changed to " << int{change});
            }
        }
    }
}

} // namespace

TEST_SUITE("profile.shipped") {

    TEST_CASE("every file of config is built in, and nothing else") {
        std::set<std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(kConfig)) {
            if (entry.path().extension() == ".toml") {
                files.insert(entry.path().stem().string());
            }
        }
        std::set<std::string> names;
        for (const BuiltIn& built_in : built_ins()) {
            names.emplace(built_in.name);
        }
        CHECK(files == names);
        CHECK(std::ranges::is_sorted(built_ins(), {}, &BuiltIn::name));
    }

    TEST_CASE("each built-in copy is what its file says") {
        for (const BuiltIn& built_in : built_ins()) {
            const std::string name(built_in.name);
            CAPTURE(name);
            Profile parsed = shipped(name);
            parsed.origin = "built-in";
            CHECK(built_in.make() == parsed);
            CHECK(built_in.toml == content_of(kConfig / (name + ".toml")));
            CHECK(built_in.status == parsed.workload.status);
            CHECK(std::ranges::equal(built_in.match_programs, parsed.match.programs));
            CHECK(std::ranges::equal(built_in.match_arguments, parsed.match.arguments));
            CHECK(std::ranges::equal(built_in.match_libraries, parsed.match.libraries));
        }
    }

    TEST_CASE("each shipped profile says what it is for and why it has its status") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            CHECK_FALSE(profile.description.empty());
            CHECK(profile.workload.status.has_value());
            CHECK_FALSE(profile.workload.reason.empty());
        }
    }

    TEST_CASE("only `published` goes above what every M-series chip has") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            const Metal& metal = profile.metal;
            if (profile.name == "published") {
                CHECK(metal.apple_family == Family{Family::Kind::ceiling, 1009});
                CHECK(metal.threadgroup_memory == Limit{65536});
                CHECK(metal.never_above_host == false);
                CHECK(profile.match == Match{});
                continue;
            }
            CHECK(metal.apple_family.value_or(Family{}).ceiling <= 1007);
            CHECK(metal.threadgroup_memory.value_or(Limit{}).bytes == 0);
            CHECK(metal.working_set.value_or(Limit{}).bytes == 0);
            CHECK(metal.never_above_host.value_or(true));
        }
    }

    TEST_CASE("the statuses are those of the records") {
        const auto status = [](const std::string& name) { return shipped(name).workload.status; };
        for (const std::string name :
             {"llama.cpp", "published", "whisper.cpp", "stable-diffusion.cpp", "ollama"}) {
            CAPTURE(name);
            CHECK(status(name) == WorkloadStatus::beneficial);
        }
        for (const std::string name : {"mlx", "pytorch", "ollama-client"}) {
            CAPTURE(name);
            CHECK(status(name) == WorkloadStatus::no_benefit);
        }
        for (const std::string name : {"moltenvk", "godot", "blender", "chromium"}) {
            CAPTURE(name);
            CHECK(status(name) == WorkloadStatus::unsafe);
        }
        CHECK(status("default") == WorkloadStatus::untested);
        CHECK(shipped("stock").metal.apple_family == Family{});
    }

    TEST_CASE("llama.cpp says that its throughput was published at 1009 and 64 KiB") {
        const Profile profile = shipped("llama.cpp");
        CHECK(profile.workload.reason.find("published at 1009 and 64 KiB, not at 1007") !=
              std::string::npos);
        CHECK(profile.policy.children == Children::inherit_if_safe);
        REQUIRE_FALSE(profile.workload.records.empty());
        for (const Record& record : profile.workload.records) {
            CHECK(record.apple_family == 1009);
            CHECK(record.threadgroup_memory == 65536);
        }
        CHECK(shipped("ollama").policy.children == Children::inherit);
        CHECK(shipped("default").policy.children == Children::stock);
    }

    TEST_CASE("the published pair is found by its name only") {
        FakeSystem system;
        TrustedFolders trust{system, 0};
        Catalogue catalogue{system, {}, trust};
        const Result<Profile> named = catalogue.load("published");
        REQUIRE(named.has_value());
        CHECK(named->metal.apple_family == Family{Family::Kind::ceiling, 1009});
        for (const std::string name : {"published", "llama-bench", "llama-server", "x"}) {
            CAPTURE(name);
            const auto found = catalogue.find_match({.program_names = {name}});
            REQUIRE(found.has_value());
            CHECK((!*found || (*found)->profile.name == "llama.cpp"));
        }
        for (const std::string name : {"published", "stock", "default"}) {
            CAPTURE(name);
            CHECK(shipped(name).match == Match{});
        }
    }

    TEST_CASE("ggml programs get no bfloat on macOS 13, and only there") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            const bool ggml = kGgml.contains(profile.name);
            for (const std::string_view os : kMacos13) {
                CAPTURE(os);
                const std::vector<std::string> expected{"GGML_METAL_BF16_DISABLE=1"};
                CHECK(variables(profile, os) == (ggml ? expected : std::vector<std::string>{}));
            }
        }
    }

    TEST_CASE("programs that read LLAMA_ARG_* load without mapping on macOS 14, and only there") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            const bool reads = kReadLlamaArg.contains(profile.name);
            for (const std::string_view os : kMacos14) {
                CAPTURE(os);
                const std::vector<std::string> expected{"LLAMA_ARG_LOAD_MODE=none",
                                                        "LLAMA_ARG_NO_MMAP=1"};
                CHECK(variables(profile, os) == (reads ? expected : std::vector<std::string>{}));
            }
        }
    }

    TEST_CASE("no other system has a quirk") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            for (const std::string_view os : kOthers) {
                CAPTURE(os);
                CHECK(variables(profile, os).empty());
                CHECK(planned(profile, os).quirks.empty());
            }
        }
    }

    TEST_CASE("stale weights on macOS 14 are a warning with advice, bfloat on macOS 13 is a note") {
        for (const std::string name : {"llama.cpp", "published", "ollama"}) {
            CAPTURE(name);
            const auto warning = told_quirk(shipped(name), "14.4");
            REQUIRE(warning.has_value());
            CHECK(warning->severity == judge::Severity::warning);
            CHECK(tells(*warning, "'--no-mmap'"));
            const auto note = told_quirk(shipped(name), "13.6");
            REQUIRE(note.has_value());
            CHECK(note->severity == judge::Severity::note);
            CHECK(tells(*note, "bfloat"));
            CHECK_FALSE(told_quirk(shipped(name), "15.0").has_value());
        }
        CHECK(tells(*told_quirk(shipped("llama.cpp"), "14"), "llama-bench with '-mmp 0'"));
        CHECK(tells(*told_quirk(shipped("stable-diffusion.cpp"), "14"), "'--mmap'"));
        // It reads its weights into memory of its own.
        CHECK_FALSE(told_quirk(shipped("whisper.cpp"), "14").has_value());
        // What a program is that no profile knows is not known: no warning at every start.
        CHECK(told_quirk(shipped("default"), "14")->severity == judge::Severity::note);
    }

    TEST_CASE("the JSON Schema names every key of the loader") {
        const std::string schema = content_of(kConfig / "metalrun.schema.json");
        for (const std::string_view key : known_keys()) {
            CAPTURE(key);
            const std::string name(key.substr(key.rfind('.') + 1));
            CHECK(schema.find("\"" + name + "\": {") != std::string::npos);
        }
    }

    TEST_CASE("prefixes of each shipped profile are answered, of a short one each") {
        constexpr std::size_t kMostPrefixes = 1500;
        for (const BuiltIn& built_in : built_ins()) {
            const std::size_t step = 1 + built_in.toml.size() / kMostPrefixes;
            for (std::size_t length = 0; length < built_in.toml.size(); length += step) {
                const Result<Profile> profile =
                    parse_profile(built_in.toml.substr(0, length), "x.toml", "/");
                if (!profile && !profile.error().message.starts_with("x.toml:")) {
                    FAIL("prefix of " << length << " bytes of " << built_in.name);
                }
            }
        }
    }

    TEST_CASE("every single-byte change of a short shipped profile is answered") {
        for (const std::string name : {"default", "ollama-client"}) {
            CAPTURE(name);
            check_changes_of(content_of(kConfig / (name + ".toml")));
        }
    }
}
