// SPDX-License-Identifier: MIT
//
// config/*.toml: every shipped profile loads, equals its built-in copy, and damaged copies of it
// are answered.
#include "profile/catalogue.hpp"
#include "profile/loader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

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
            for (const Record& record : profile.workload.records) {
                CHECK_FALSE(record.source.empty());
                CHECK(record.runs > 0);
            }
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

    TEST_CASE("the JSON Schema names every key of the loader") {
        const std::string schema = content_of(kConfig / "metalrun.schema.json");
        for (const std::string_view key : known_keys()) {
            CAPTURE(key);
            const std::string name(key.substr(key.rfind('.') + 1));
            CHECK(schema.find("\"" + name + "\": {") != std::string::npos);
        }
    }

    TEST_CASE("every prefix of each shipped profile is answered") {
        for (const BuiltIn& built_in : built_ins()) {
            for (std::size_t length = 0; length < built_in.toml.size(); ++length) {
                const Result<Profile> profile =
                    parse_profile(built_in.toml.substr(0, length), "x.toml", "/");
                if (!profile && !profile.error().message.starts_with("x.toml:")) {
                    FAIL("prefix of " << length << " bytes of " << built_in.name);
                }
            }
        }
    }

    TEST_CASE("every single-byte change of a shipped profile is answered") {
        const std::string original = content_of(kConfig / "whisper.cpp.toml");
        for (std::size_t at = 0; at < original.size(); ++at) {
            const auto flipped = [&](unsigned bit) {
                return static_cast<char>(static_cast<unsigned char>(original[at]) ^ bit);
            };
            for (const char change :
                 {'\0', '\n', '"', '[', '.', '\xFF', flipped(1), flipped(0x20)}) {
                std::string changed = original;
                changed[at] = change;
                const Result<Profile> profile = parse_profile(changed, "x.toml", "/");
                if (!profile && !profile.error().message.starts_with("x.toml:")) {
                    FAIL("byte " << at << " changed to " << int{change});
                }
            }
        }
    }
}
