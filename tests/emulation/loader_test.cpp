// SPDX-License-Identifier: MIT
//
// The loader of the tests, on the cross-built libraries: what it finds in them, and that no part of
// a damaged one is trusted.
#include "files.hpp"
#include "loader.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace emulation;

namespace {

struct File {
    std::string path;
    Cpu cpu;
    bool chained;
};

std::vector<File> files() {
    return {
        {library_path("METALRUN_MACOS_ARM64_SHIM", ARM64_SHIM), Cpu::arm64, true},
        {library_path("METALRUN_MACOS_ARM64_SHIM_CLASSIC", ARM64_SHIM_CLASSIC), Cpu::arm64, false},
        {library_path("METALRUN_MACOS_X86_64_SHIM", X86_64_SHIM), Cpu::x86_64, true},
        {library_path("METALRUN_MACOS_X86_64_SHIM_CLASSIC", X86_64_SHIM_CLASSIC), Cpu::x86_64,
         false}};
}

std::vector<std::byte> read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

void append_big_endian(std::vector<std::byte>& bytes, std::size_t number) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        bytes.push_back(static_cast<std::byte>(number >> shift));
    }
}

std::vector<std::byte> universal_of(const std::vector<std::byte>& thin, Cpu cpu) {
    constexpr std::size_t kOffset = 0x4000;
    std::vector<std::byte> bytes;
    for (const std::size_t number :
         {std::size_t{0xcafebabe}, std::size_t{1}, static_cast<std::size_t>(cpu), std::size_t{0},
          kOffset, thin.size(), std::size_t{14}}) {
        append_big_endian(bytes, number);
    }
    bytes.resize(kOffset);
    bytes.insert(bytes.end(), thin.begin(), thin.end());
    return bytes;
}

/// Every byte of the load commands, and some of the long rest.
std::size_t step_at(std::size_t offset) {
    return offset < 0x700 ? 1 : 29;
}

/// Whatever is in the bytes, they are accepted or refused with a sentence.
bool answers(Bytes bytes, Cpu cpu) {
    const auto image = parse_image(bytes, cpu);
    if (!image) {
        return !image.error().empty();
    }
    const auto placed = place_image(*image, 0x10000, [](const std::string&) { return 0x99; });
    return placed.has_value() && placed->size() == image->memory.size();
}

} // namespace

TEST_SUITE("emulation.loader") {

    TEST_CASE("the shim has one initialiser, three interposed functions, and exports nothing") {
        for (const auto& [path, cpu, chained] : files()) {
            if (!is_there(path, "loader", 1)) {
                continue;
            }
            CAPTURE(path);
            const auto image = read_image(path, cpu);
            REQUIRE(image);
            CHECK(image->chained == chained);
            CHECK(image->initialisers.size() == 1);
            REQUIRE(image->interposed.size() == 3);
            CHECK(image->interposed[0].original == "_MTLCreateSystemDefaultDevice");
            CHECK(image->interposed[1].original == "_MTLCopyAllDevices");
            CHECK(image->interposed[2].original == "_MTLCopyAllDevicesWithObserver");
            CHECK(image->exports.empty());
            CHECK(image->imports().contains("_objc_lookUpClass"));
        }
    }

    TEST_CASE("the slice of a universal file is the thin file") {
        for (const auto& [path, cpu, chained] : files()) {
            if (!is_there(path, "loader", 1)) {
                continue;
            }
            CAPTURE(path);
            const auto thin = read_bytes(path);
            const auto image = parse_image(thin, cpu);
            const auto slice = parse_image(universal_of(thin, cpu), cpu);
            REQUIRE(image);
            REQUIRE(slice);
            CHECK(slice->memory == image->memory);
            CHECK(slice->fixups.size() == image->fixups.size());
            const auto other = cpu == Cpu::arm64 ? Cpu::x86_64 : Cpu::arm64;
            CHECK_FALSE(parse_image(thin, other));
            CHECK_FALSE(parse_image(universal_of(thin, cpu), other));
        }
    }

    TEST_CASE("prefixes are refused, changed bytes answered") {
        for (const auto& [path, cpu, chained] : files()) {
            if (!is_there(path, "loader", 1)) {
                continue;
            }
            CAPTURE(path);
            auto bytes = read_bytes(path);
            std::size_t prefixes = 0;
            std::size_t refused = 0;
            for (std::size_t size = 0; size < bytes.size(); size += step_at(size)) {
                refused += parse_image(std::span(bytes).first(size), cpu) ? 0U : 1U;
                ++prefixes;
            }
            CHECK(refused == prefixes);
            std::size_t changes = 0;
            std::size_t answered = 0;
            for (std::size_t at = 0; at < bytes.size(); at += step_at(at)) {
                const auto before = bytes[at];
                bytes[at] ^= std::byte{0xff};
                answered += answers(bytes, cpu) ? 1U : 0U;
                ++changes;
                bytes[at] = before;
            }
            CHECK(answered == changes);
            std::printf("loader, %s, %s: %zu prefixes refused, %zu changed bytes answered\n",
                        cpu == Cpu::arm64 ? "arm64" : "x86-64", chained ? "chained" : "classic",
                        refused, changes);
        }
    }

} // TEST_SUITE
