// SPDX-License-Identifier: MIT
//
// What dyld refuses in a library: mach_o/UnsafeHeader.cpp valid() and mach_o/Universal.cpp valid()
// of dyld-1378; what was so before 15.4 by common/MachOAnalyzer.cpp of dyld-1042.1.
#include "macho/facts.hpp"
#include "macho_builder.hpp"
#include "system/fake.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::macho;
using namespace metalrun::tests;

namespace {

std::expected<FileFacts, Malformed> facts_of(const std::string& content) {
    return read_facts(FakeFile({.kind = FileKind::regular, .size_bytes = content.size()}, content));
}

// Places of the commands of a library that is as it should be.
constexpr std::size_t kText = 0;
constexpr std::size_t kLinkedit = 1;
constexpr std::size_t kName = 2;
constexpr std::size_t kVersion = 3;
constexpr std::size_t kUuid = 4;
constexpr std::size_t kLink = 5;

MachoOptions library() {
    MachoOptions options;
    options.filetype = kMhDylib;
    options.size = 0x8000;
    options.commands = {
        segment("__TEXT", 0, 0x4000),
        segment("__LINKEDIT", 0x4000, 0x4000),
        text_command(kLcIdDylib, 24, "@rpath/a.dylib"),
        build_version(kPlatformMacos),
        numbers_command(kLcUuid, {1, 2, 3, 4}),
        text_command(kLcLoadDylib, 24, "/usr/lib/libSystem.B.dylib"),
    };
    return options;
}

MachoOptions with(const std::string& command) {
    MachoOptions options = library();
    options.commands.push_back(command);
    return options;
}

MachoOptions without(std::size_t place) {
    MachoOptions options = library();
    options.commands.erase(options.commands.begin() + static_cast<std::ptrdiff_t>(place));
    return options;
}

MachoOptions instead(std::size_t place, const std::string& command) {
    MachoOptions options = library();
    options.commands.at(place) = command;
    return options;
}

std::optional<DyldProblem> problem(const MachoOptions& options) {
    const auto facts = facts_of(make_macho(options));
    REQUIRE(facts.has_value());
    const auto& image = facts->slices.at(0).image;
    REQUIRE_MESSAGE(image.has_value(), image.error().message);
    return image->dyld_problem;
}

void refuses(const MachoOptions& options, std::string_view words, bool before_15_4) {
    CAPTURE(words);
    const auto found = problem(options);
    REQUIRE(found.has_value());
    CHECK_MESSAGE(found->message.find(words) != std::string::npos, found->message);
    CHECK(found->before_15_4 == before_15_4);
}

void takes(const MachoOptions& options) {
    const auto found = problem(options);
    CHECK_MESSAGE(!found.has_value(), found->message);
}

constexpr bool kAlways = true;
constexpr bool kSince15_4 = false;

std::string universal(const FatSlice& second, const MachoOptions& image) {
    std::string file = make_fat_header({FatSlice{.size = 0x8000}, second});
    file.resize(0x4000, '\0');
    file += make_macho(library());
    file.resize(second.offset, '\0');
    return file + make_macho(image);
}

std::string universal_problem(const FatSlice& second, const MachoOptions& image) {
    const auto facts = facts_of(universal(second, image));
    REQUIRE(facts.has_value());
    return facts->dyld_problem.value_or("");
}

} // namespace

TEST_SUITE("macho.dyld") {
    TEST_CASE("a library as it should be is taken, and a program is not looked at") {
        takes(library());
        MachoOptions program = without(kName);
        program.filetype = kMhExecute;
        takes(program);
    }

    TEST_CASE("commands that dyld must know") {
        refuses(with(numbers_command(0x99 | kLcReqDyld, {0, 0})), "0x80000099", kSince15_4);
        takes(with(numbers_command(0x99, {0, 0})));
        for (const std::uint32_t known : {0x22U, 0x33U, 0x34U}) {
            const std::size_t words = known == 0x22 ? 10 : 2;
            takes(with(numbers_command(known | kLcReqDyld, std::vector<std::uint32_t>(words))));
        }
    }

    TEST_CASE("commands of another size than they have") {
        refuses(with(numbers_command(0x2, {0, 0})), "has 16 bytes, 24 were expected", kSince15_4);
        refuses(instead(kVersion,
                        numbers_command(kLcBuildVersion, {kPlatformMacos, 0xd0000, 0xe0000, 1})),
                "has 24 bytes, 32 were expected", kSince15_4);
        std::string longer = make_segment({.name = "__DATA"});
        longer[4] = '\x50';
        refuses(with(longer + std::string(8, '\0')), "(LC_SEGMENT_64 '__DATA')", kSince15_4);
    }

    TEST_CASE("a path without an end") {
        std::string rest;
        put(rest, 12, 4);
        refuses(with(command(kLcRpath, rest + std::string(4, 'x'))), "a path runs", kAlways);
    }

    TEST_CASE("platforms: unknown ones are refused, none is taken for macOS") {
        refuses(instead(kVersion, build_version(25)), "unknown platform 25", kSince15_4);
        refuses(instead(kVersion, build_version(0)), "unknown none", kSince15_4);
        takes(instead(kVersion, build_version(24)));
        takes(without(kVersion));
        takes(with(build_version(kPlatformMacCatalyst)));
    }

    TEST_CASE("at most one LC_UUID, exactly one install name") {
        refuses(with(numbers_command(kLcUuid, {1, 2, 3, 4})), "2 LC_UUID", kSince15_4);
        takes(without(kUuid));
        refuses(without(kName), "no install name", kAlways);
        refuses(with(text_command(kLcIdDylib, 24, "b")), "2 install names", kSince15_4);
    }

    TEST_CASE("a library links with something, if it was built lately") {
        const auto alone = [](std::uint32_t sdk, std::string_view name) {
            MachoOptions options = without(kLink);
            options.commands.at(kVersion) = build_version(kPlatformMacos, sdk);
            options.commands.at(kName) = text_command(kLcIdDylib, 24, name);
            return options;
        };
        refuses(alone(0x000f0400, "a"), "links with no library", kAlways);
        takes(alone(0x000f0300, "a"));
        takes(alone(0x000f0400, "/usr/lib/system/a.dylib"));
        MachoOptions lazy = alone(0x000f0400, "a");
        lazy.commands.push_back(text_command(kLcLazyLoadDylib, 24, "b"));
        refuses(lazy, "links with no library", kAlways);
    }

    TEST_CASE("before 15.4 only libraries of newer SDKs are looked at") {
        MachoOptions old = without(kName);
        old.commands.at(kVersion - 1) = build_version(kPlatformMacos, 0x000c0300);
        refuses(old, "no install name", kSince15_4);
        old.commands.at(kVersion - 1) = build_version(kPlatformMacos, 0x000d0000);
        refuses(old, "no install name", kAlways);
    }

    TEST_CASE("segments are in memory what they are in the file") {
        refuses(with(make_segment(
                    {.name = "__X", .file_size = 1, .address = 0, .size = 0, .protection = 1})),
                "0x1 bytes in the file, 0x0 in memory", kSince15_4);
        takes(with(make_segment({.name = "__LLVM", .offset = 0x8000, .file_size = 0, .size = 0})));
        takes(instead(kLinkedit, make_segment({.name = "__DWARF",
                                               .offset = 0x4000,
                                               .file_size = 0x4000,
                                               .size = 0,
                                               .protection = 0})));
        refuses(
            instead(kLinkedit,
                    make_segment(
                        {.name = "__L", .offset = 0x4000, .file_size = 0x4000, .size = 0x3fff})),
            "0x4000 bytes in the file, 0x3fff in memory", kAlways);
        refuses(
            instead(kLinkedit,
                    make_segment(
                        {.name = "__L", .offset = 0x4000, .file_size = 0x4000, .protection = 9})),
            "unknown protection 0x9", kAlways);
        refuses(with(make_segment({.name = "__W", .address = ~std::uint64_t{0}, .size = 2})),
                "leaves the memory", kAlways);
    }

    TEST_CASE("the code is not writable, if the SDK is 10.15 or later") {
        const auto writable = [](std::uint32_t sdk) {
            MachoOptions options = instead(
                kText, make_segment({.name = "__TEXT", .file_size = 0x4000, .protection = 7}));
            options.commands.at(kVersion) = build_version(kPlatformMacos, sdk);
            return options;
        };
        refuses(writable(0x000e0000), "'__TEXT' is not readable and executable only", kAlways);
        refuses(writable(0x000a0f00), "'__TEXT' is not readable", kSince15_4);
        takes(writable(0x000a0e00));
    }

    TEST_CASE("the code segment begins with the header and holds the commands") {
        refuses(without(kText), "no segment '__TEXT'", kAlways);
        refuses(instead(kText, segment("__TEXT", 0x1000, 0x3000)), "begins at 0x1000", kAlways);
        refuses(instead(kText, segment("__TEXT", 0, 0x40)), "does not hold", kAlways);
    }

    TEST_CASE("segments do not overlap, neither in memory nor in the file") {
        refuses(with(make_segment({.name = "__D", .address = kBase + 0x7fff, .size = 0x4000})),
                "'__LINKEDIT' and '__D' overlap in memory", kAlways);
        takes(with(make_segment({.name = "__D", .address = kBase + 0x8000, .size = 0x4000})));
        refuses(with(make_segment(
                    {.name = "__D", .offset = 0x3fff, .file_size = 1, .address = kBase + 0x8000})),
                "'__TEXT' and '__D' overlap in the file", kAlways);
        takes(with(make_segment({.name = "__E", .offset = 0x1000, .address = kBase + 0x1000})));
    }

    TEST_CASE("sections lie in their segment") {
        const auto with_section = [](std::uint64_t size, std::uint64_t more) {
            return instead(
                kText, segment("__TEXT", 0, 0x4000, {{"__text", "__TEXT", 0x1000, size, more}}));
        };
        takes(with_section(0x1000, 0x1000));
        refuses(with_section(0x1000, ~std::uint64_t{0}), "section '__text'", kAlways);
        refuses(with_section(std::uint64_t{1} << 63U, 0), "section '__text'", kAlways);
    }

    TEST_CASE("very many segments are answered soon") {
        MachoOptions many = library();
        for (std::uint64_t i = 0; i < 3000; ++i) {
            many.commands.push_back(
                make_segment({.name = "__D", .address = kBase * 2 + i, .size = 1}));
        }
        many.size = std::size_t{1} << 20U;
        many.commands.at(kText) = segment("__TEXT", 0, 0x4000);
        refuses(many, "does not hold", kAlways);
        many.commands.at(kText) = segment("__TEXT", 0, many.size);
        many.commands.at(kLinkedit) = segment("__LINKEDIT", many.size, 0);
        takes(many);
    }

    TEST_CASE("every slice of a universal library lies at a page of its processor") {
        const MachoOptions intel = [] {
            MachoOptions options = library();
            options.cputype = kCpuTypeX86x64;
            options.cpusubtype = 3;
            return options;
        }();
        const FatSlice place{
            .cputype = kCpuTypeX86x64, .cpusubtype = 3, .offset = 0xd000, .size = 0x8000};
        CHECK(universal_problem(place, intel).empty());
        FatSlice odd = place;
        odd.offset = 0xd800;
        CHECK(universal_problem(odd, intel) ==
              "its x86_64 slice begins at 0xd800, not at a multiple of 0x1000");
        MachoOptions arm64e = library();
        arm64e.cpusubtype = 0x80000002;
        CHECK(universal_problem({.cpusubtype = 0x80000002, .offset = 0xd000, .size = 0x8000},
                                arm64e) ==
              "its arm64e slice begins at 0xd000, not at a multiple of 0x4000");
        MachoOptions object = intel;
        object.filetype = kMhObject;
        CHECK(universal_problem(odd, object).empty());
    }

    TEST_CASE("every slice is for the processor that the universal header names") {
        MachoOptions arm64e = library();
        arm64e.cpusubtype = 0x80000002;
        // Two kinds of arm64e are taken for each other, other kinds are not.
        CHECK(
            universal_problem({.cpusubtype = 2, .offset = 0xc000, .size = 0x8000}, arm64e).empty());
        CHECK(universal_problem({.cpusubtype = 1, .offset = 0xc000, .size = 0x8000}, arm64e)
                  .find("universal header") != std::string::npos);
        MachoOptions intel = library();
        intel.cputype = kCpuTypeX86x64;
        intel.cpusubtype = 3;
        CHECK(universal_problem({.cputype = kCpuTypeX86x64,
                                 .cpusubtype = 0x80000003,
                                 .offset = 0xc000,
                                 .size = 0x8000},
                                intel)
                  .empty());
    }
}
