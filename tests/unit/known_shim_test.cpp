// SPDX-License-Identifier: MIT
//
// The published libraries by their SHA-256 (SHA256SUMS of trycua/cua,
// libs/lume/metal-capability-shim/Release): named, and nothing else is taken for one.
#include "judge_case.hpp"
#include "report/check_report.hpp"
#include "system/fake.hpp"
#include "target/shim.hpp"

#include <array>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace metalrun;

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kPublished{{
    {"515b9d84ab67e86d959282e95c194a5ad8a947261514b947d6f7483c57797b31",
     "LumeMetalCapabilities-arm64.dylib"},
    {"62504be341ed74191eab22f19e21d99b2afbe6cc029902c760578ffbbd0588cb",
     "LumeMetalCapabilities-arm64e.dylib"},
}};
// Both, as the release's PROVENANCE.md says (bytes).
constexpr std::size_t kPublishedSize = 69'456;
// Of as many zero bytes, by sha256sum(1).
constexpr std::string_view kZerosSha256 =
    "76a065379790c36ac98e4750ac5e4ed19b37aec5bc67fdafa65fee65fadffb08";

judge::ShimFacts inspect_zeros(std::size_t size, target::Digest digest) {
    FakeSystem system;
    system.add_file("/shim.dylib", std::string(size, '\0'));
    profile::TrustedFolders trust{system, 0};
    return target::inspect_shim(system, "/shim.dylib", digest, trust);
}

bool is_known(std::size_t size) {
    FakeSystem system;
    system.add_file("/shim.dylib", std::string(size, '\0'));
    return target::is_known_shim(system, "/shim.dylib", nullptr);
}

} // namespace

TEST_SUITE("target.known_shim") {
    TEST_CASE("the published libraries are known by their SHA-256") {
        for (const auto& [sha256, name] : kPublished) {
            CHECK(target::published_shim(sha256) == name);
        }
    }

    TEST_CASE("no other digest is taken for one") {
        // The probe of the same release.
        CHECK(target::published_shim(
                  "6e0f26c6c138b4c31379fb659cb5748d98db993d4d19c8db0f0e4a44ed714396")
                  .empty());
        CHECK(target::published_shim("").empty());
        for (const auto& [sha256, name] : kPublished) {
            CAPTURE(name);
            CHECK(target::published_shim(sha256.substr(0, sha256.size() - 1)).empty());
            CHECK(target::published_shim(std::string(sha256) + "0").empty());
            for (std::size_t at = 0; at < sha256.size(); ++at) {
                std::string changed(sha256);
                changed[at] = changed[at] == '0' ? '1' : '0';
                CHECK(target::published_shim(changed).empty());
            }
        }
    }

    TEST_CASE("a library of the published size is hashed, one of another size only when asked") {
        const auto alike = inspect_zeros(kPublishedSize, target::Digest::not_needed);
        CHECK(alike.sha256 == kZerosSha256);
        CHECK(alike.published.empty());
        for (const std::size_t size : {kPublishedSize - 1, kPublishedSize + 1}) {
            CHECK(inspect_zeros(size, target::Digest::not_needed).sha256.empty());
            CHECK_FALSE(inspect_zeros(size, target::Digest::needed).sha256.empty());
        }
    }

    TEST_CASE("the size alone makes no file a known shim") {
        CHECK_FALSE(is_known(kPublishedSize));
        CHECK_FALSE(is_known(kPublishedSize - 1));
    }

    TEST_CASE("check names it") {
        for (const auto& [sha256, name] : kPublished) {
            test::Case example;
            example.shim.sha256 = sha256;
            example.shim.published = target::published_shim(sha256);
            report::CheckReport report{.host = example.host, .version = "0"};
            report.targets.push_back({.chain = example.chain, .verdict = example.verdict()});
            const std::string said = "'/shim.dylib' is the published " + std::string(name);
            CHECK(report::render_check(report, {}).find("note: " + said + " [shim-known]") !=
                  std::string::npos);
            CHECK(report::render_check_json(report).find(said) != std::string::npos);
        }
    }
}
