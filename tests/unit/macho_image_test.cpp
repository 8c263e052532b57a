// SPDX-License-Identifier: MIT
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

std::expected<Image, Malformed> image_of(const std::string& content) {
    const auto facts = facts_of(content);
    return facts ? facts->slices.at(0).image : std::unexpected(facts.error());
}

std::expected<Image, Malformed> image_of(const MachoOptions& options) {
    return image_of(make_macho(options));
}

MachoOptions with(const std::string& command) {
    MachoOptions options;
    options.commands.push_back(command);
    return options;
}

MachoOptions without(std::size_t command) {
    MachoOptions options;
    options.commands.erase(options.commands.begin() + static_cast<std::ptrdiff_t>(command));
    return options;
}

// Places of the commands of a program that is as it should be.
constexpr std::size_t kPageZero = 0;
constexpr std::size_t kText = 1;
constexpr std::size_t kDylinker = 2;
constexpr std::size_t kMain = 3;
constexpr std::size_t kVersion = 4;

MachoOptions instead(std::size_t place, const std::string& command) {
    MachoOptions options;
    options.commands.at(place) = command;
    return options;
}

std::string problem_of(const MachoOptions& options) {
    const auto image = image_of(options);
    return image ? "" : image.error().message;
}

std::string kernel_problem_of(const MachoOptions& options) {
    const auto image = image_of(options);
    REQUIRE_MESSAGE(image.has_value(), problem_of(options));
    return image->kernel_problem.value_or("");
}

bool says(const std::string& message, std::string_view words) {
    return message.find(words) != std::string::npos;
}

// Two slices of one program each, where `second` may be put elsewhere.
std::string two_slices(const FatSlice& second, bool is_wide = false) {
    std::string file = make_fat_header({FatSlice{}, second}, is_wide);
    file.resize(0x4000, '\0');
    file += make_macho();
    return file + make_macho({.cputype = kCpuTypeX86x64, .cpusubtype = 3});
}

constexpr FatSlice kIntel{.cputype = kCpuTypeX86x64, .cpusubtype = 3, .offset = 0x8000};

} // namespace

TEST_SUITE("macho.universal") {
    TEST_CASE("what begins as a Mach-O or universal file does is told from the rest") {
        CHECK(is_macho(bytes_of(make_macho())));
        CHECK(is_macho(bytes_of(two_slices(kIntel))));
        CHECK(is_macho(bytes_of(std::string("\xfe\xed\xfa\xce", 4)))); // big-endian
        CHECK_FALSE(is_macho(bytes_of("#!/bin/sh\n")));
        CHECK_FALSE(is_macho({}));
        const auto text = facts_of("hello");
        REQUIRE_FALSE(text.has_value());
        CHECK_FALSE(text.error().is_macho);
    }

    TEST_CASE("a Java class is no universal file") {
        CHECK_FALSE(is_macho(bytes_of(std::string("\xca\xfe\xba\xbe\x00\x00\x00\x34", 8))));
        CHECK_FALSE(is_macho(bytes_of(std::string("\xca\xfe\xba\xbe", 4))));
    }

    TEST_CASE("slices are in the file's order, with offset and size") {
        const auto facts = facts_of(two_slices(kIntel));
        REQUIRE(facts.has_value());
        CHECK(facts->container == Container::universal);
        REQUIRE(facts->slices.size() == 2);
        CHECK(facts->slices[0].name == "arm64");
        CHECK(facts->slices[1].name == "x86_64");
        CHECK(facts->slices[1].offset == 0x8000);
        CHECK(facts->slices[1].image->kernel_problem.value_or("").empty());
        CHECK(facts_of(two_slices(kIntel, true))->container == Container::universal64);
    }

    TEST_CASE("tables that the kernel refuses are refused, with the numbers") {
        struct Row {
            FatSlice second;
            std::string_view words;
        };
        const std::vector<Row> rows{
            {{.cputype = 7, .cpusubtype = 3, .offset = 0x7000, .size = 0x1000}, "overlap"},
            {{.cputype = kCpuTypeArm64, .cpusubtype = 0, .offset = 0x8000}, "two slices are arm64"},
            {{.cputype = 7, .cpusubtype = 3, .offset = 0x8000, .size = 0x4001},
             "beyond the end of the file at 0xc000"},
            {{.cputype = 7, .cpusubtype = 3, .offset = 0x28, .size = 0}, "inside the universal"},
            {{.cputype = 7, .cpusubtype = 3, .offset = 0xfffffff0, .size = 0xfffffff0},
             "beyond the end"},
        };
        for (const Row& row : rows) {
            const auto facts = facts_of(two_slices(row.second));
            REQUIRE_FALSE(facts.has_value());
            CHECK(facts.error().is_macho);
            CHECK_MESSAGE(says(facts.error().message, row.words), facts.error().message);
        }
        CHECK_FALSE(facts_of(make_fat_header({})).has_value());
        CHECK_FALSE(facts_of(make_fat_header({FatSlice{}}, false, 16)).has_value());
        const FatSlice far{.offset = ~std::uint64_t{0}, .size = ~std::uint64_t{0}};
        CHECK_FALSE(facts_of(two_slices(far, true)).has_value());
    }

    TEST_CASE("a slice must repeat the universal header's processor, all 32 bits of it") {
        const auto facts = facts_of(
            two_slices({.cputype = kCpuTypeX86x64, .cpusubtype = 0x80000003, .offset = 0x8000}));
        REQUIRE(facts.has_value());
        CHECK(says(facts->slices[1].image->kernel_problem.value_or(""), "universal header"));
    }

    TEST_CASE("a slice that is an archive has no image of a program") {
        std::string file = two_slices(kIntel);
        file.replace(0x8000, 8, "!<arch>\n");
        const auto facts = facts_of(file);
        REQUIRE(facts.has_value());
        CHECK(facts->slices[1].image->filetype_name == "archive");
        CHECK_FALSE(facts->slices[1].image->is_executable());
    }

    TEST_CASE("processors have names") {
        CHECK(architecture_name(kCpuTypeArm64, 0x80000002) == "arm64e");
        CHECK(architecture_name(kCpuTypeArm64, 1) == "arm64v8");
        CHECK(architecture_name(kCpuTypeX86x64, 8) == "x86_64h");
        CHECK(architecture_name(kCpuTypeX86, 3) == "i386");
        CHECK(architecture_name(kCpuTypePowerpc, 0) == "ppc");
        CHECK(architecture_name(kCpuTypeArm64, 12) == "unknown (0x100000c, 0xc)");
    }
}

TEST_SUITE("macho.image") {
    TEST_CASE("a program's load commands are facts") {
        const auto image = image_of(MachoOptions{});
        REQUIRE(image.has_value());
        CHECK(image->is_executable());
        CHECK(image->versions.at(0).sdk == "14.2.1");
        CHECK(image->dependencies.at(0).path == "/usr/lib/libSystem.B.dylib");
        CHECK_FALSE(image->kernel_problem.has_value());
        CHECK_FALSE(image->code_signature.has_value());
    }

    TEST_CASE("weak dependencies, search paths and install names are kept apart") {
        MachoOptions options;
        options.filetype = kMhDylib;
        options.commands = {text_command(kLcIdDylib, 24, "@rpath/a.dylib"),
                            text_command(kLcRpath, 12, "@loader_path/.."),
                            text_command(kLcLoadWeakDylib, 24, "/w"),
                            text_command(kLcReexportDylib, 24, "/r")};
        const auto image = image_of(options);
        REQUIRE(image.has_value());
        CHECK(image->install_name == "@rpath/a.dylib");
        CHECK(image->rpaths == std::vector<std::string>{"@loader_path/.."});
        CHECK(image->dependencies.at(0).weak);
        CHECK_FALSE(image->dependencies.at(1).weak);
        CHECK(image->platform() == 0);
    }

    TEST_CASE("older version commands name a platform too") {
        const auto image =
            image_of(with(numbers_command(kLcVersionMinIphoneos, {0x000a0f04, 0x000b0000})));
        REQUIRE(image.has_value());
        CHECK(image->version_commands == 2);
        CHECK(image->versions.at(1).platform_name == "iOS");
        CHECK(image->versions.at(1).minos == "10.15.4");
    }

    TEST_CASE("the restrict section goes by both names, exactly") {
        const auto has = [](const std::string& segment_name, const Section& section) {
            const auto image = image_of(with(segment(segment_name, 0, 0, {section})));
            return image && image->has_restrict_section;
        };
        CHECK(has("__RESTRICT", {.name = "__restrict", .segment = "__RESTRICT"}));
        CHECK(has("__RESTRICT", {.name = "__restrict", .segment = ""}));
        CHECK(has("__DATA", {.name = "__restrict", .segment = "__RESTRICT"}));
        CHECK_FALSE(has("__RESTRICT", {.name = "__restrict", .segment = "__DATA"}));
        CHECK_FALSE(has("__RESTRICT", {.name = "__Restrict", .segment = "__RESTRICT"}));
    }

    TEST_CASE("an encrypted program and the marker are seen") {
        CHECK(
            image_of(with(numbers_command(kLcEncryptionInfo64, {0x4000, 0x4000, 1, 0})))->cryptid ==
            1);
        std::string file = make_macho(
            with(segment("__TEXT", 0, 0x4000, {{"__metalrun", "__TEXT", 0x3000, 0x1000}})));
        file.replace(0x3000, 8, "launcher");
        CHECK(image_of(file)->marker == "launcher");
    }

    TEST_CASE("32-bit and big-endian images are read, not misread") {
        MachoOptions small{.magic = kMhMagic, .cputype = kCpuTypeX86, .cpusubtype = 3};
        small.commands = {};
        const auto image = image_of(small);
        REQUIRE(image.has_value());
        CHECK_FALSE(image->is_64_bit);
        std::string big;
        for (const std::uint32_t word : {kMhMagic, kCpuTypePowerpc, 0U, kMhExecute, 0U, 0U, 4U}) {
            put_be(big, word, 4);
        }
        const auto facts = facts_of(big);
        REQUIRE(facts.has_value());
        CHECK(facts->slices[0].name == "ppc");
        CHECK_FALSE(facts->slices[0].image->is_little_endian);
    }

    TEST_CASE("commands that cannot be believed are damage, with the numbers") {
        struct Row {
            MachoOptions options;
            std::string_view words;
        };
        std::string tiny = command(0x99, "");
        tiny.replace(4, 4, std::string("\x04\x00\x00\x00", 4));
        std::string odd = command(0x99, "");
        odd.replace(4, 4, std::string("\x09\x00\x00\x00", 4));
        MachoOptions beyond;
        beyond.commands_size = 0x5000;
        MachoOptions many;
        many.command_count = 1000;
        MachoOptions huge;
        huge.size = std::size_t{2} << 20U;
        huge.commands_size = 0x100001;
        const std::vector<Row> rows{
            {with(tiny), "has a size of 4 bytes"},
            {with(odd), "load command 6"},
            {beyond, "beyond the end of the slice at 0x4000"},
            {many, "ends beyond the load commands'"},
            {huge, "at most 0x40000 are believed"},
            {with(segment("__DATA", 0x4000, 1)), "(LC_SEGMENT_64 '__DATA')"},
            {with(segment("__DATA", ~std::uint64_t{0}, 2)), "beyond the end of the slice"},
            {with(numbers_command(kLcSegment64, {1, 2})), "at least 72 were expected"},
            {with(text_command(kLcLoadDylib, 20, "/x")), "outside its"},
            {with(numbers_command(kLcRpath, {0xffff, 0})), "(LC_RPATH)"},
            {with(numbers_command(kLcBuildVersion, {1, 2})), "at least 24 were expected"},
            {with(numbers_command(kLcCodeSignature, {0, 0, 0, 0})), "LC_CODE_SIGNATURE"},
        };
        for (const Row& row : rows) {
            const std::string problem = problem_of(row.options);
            CHECK_MESSAGE(says(problem, row.words), problem);
        }
        std::string sections = make_macho(with(segment("__X", 0, 0)));
        const std::size_t at = sections.find("__X") + 56;
        sections[at] = '\x7f';
        CHECK(says(image_of(sections).error().message, "names 127 sections"));
        MachoOptions twice = with(numbers_command(kLcCodeSignature, {0, 0}));
        twice.commands.push_back(twice.commands.back());
        CHECK(says(problem_of(twice), "second LC_CODE_SIGNATURE"));
    }

    TEST_CASE("text without an end stops at its command and is noted") {
        std::string rest;
        put(rest, 12, 4);
        const auto image = image_of(with(command(kLcRpath, rest + std::string(4, 'x'))));
        REQUIRE(image.has_value());
        CHECK(image->has_unterminated_strings);
        CHECK(image->rpaths.at(0) == "xxxx");
    }

    // xnu bsd/kern/mach_loader.c parse_machfile, load_segment, load_dylinker, load_machfile.
    TEST_CASE("what the kernel refuses in an arm64 program is told, one thing at a time") {
        MachoOptions unlinked;
        unlinked.flags = kMhPie;
        CHECK(says(kernel_problem_of(unlinked), "MH_DYLDLINK"));
        MachoOptions fixed;
        fixed.flags = kMhDyldlink;
        CHECK(says(kernel_problem_of(fixed), "MH_PIE"));
        CHECK(says(kernel_problem_of(without(kDylinker)), "0 dynamic linkers"));
        CHECK(says(kernel_problem_of(without(kMain)), "no entry point"));
        CHECK(kernel_problem_of(without(kVersion)).empty());
        CHECK(says(kernel_problem_of(with(build_version(6))), "2 version commands"));
        CHECK(says(kernel_problem_of(with(segment("__DATA", 0x1000, 8))), "16 KiB"));
        CHECK(says(kernel_problem_of(with(text_command(kLcLoadDylinker, 12, "/usr/lib/dyld"))),
                   "2 dynamic linkers"));
        CHECK(says(kernel_problem_of(with(numbers_command(kLcUnixthread, {6, 68}))),
                   "2 entry points"));
        MachoOptions intel = fixed;
        intel.cputype = kCpuTypeX86x64;
        CHECK(kernel_problem_of(intel).empty());
        MachoOptions library = fixed;
        library.filetype = kMhDylib;
        CHECK(kernel_problem_of(library).empty());
    }

    TEST_CASE("the kernel wants dyld's own path, with an end") {
        CHECK(says(kernel_problem_of(
                       instead(kDylinker, text_command(kLcLoadDylinker, 12, "/usr/lib/dyld2"))),
                   "'/usr/lib/dyld2', not"));
        std::string rest;
        put(rest, 19, 4); // the text begins at an odd place, so that it fills the command
        CHECK(says(kernel_problem_of(
                       instead(kDylinker, command(kLcLoadDylinker, rest + "xxxxxxx/usr/lib/dyld"))),
                   "runs to the end"));
    }

    TEST_CASE("one segment maps the header, readable and executable") {
        CHECK(says(kernel_problem_of(without(kText)), "0 segments map the begin"));
        CHECK(says(kernel_problem_of(with(segment("__MORE", 0, 0x10))), "2 segments map"));
        const auto text_with = [](std::uint32_t protection) {
            return kernel_problem_of(instead(
                kText,
                make_segment({.name = "__TEXT", .file_size = 0x4000, .protection = protection})));
        };
        CHECK(says(text_with(1), "not readable and executable"));
        CHECK(says(text_with(4), "not readable and executable"));
        CHECK(text_with(7).empty());
        CHECK(kernel_problem_of(with(segment("__EMPTY", 0, 0))).empty());
    }

    TEST_CASE("the first 4 GiB of memory are kept free") {
        CHECK(says(kernel_problem_of(without(kPageZero)), "__PAGEZERO"));
        CHECK(says(kernel_problem_of(instead(kPageZero, page_zero(kBase - 1))), "__PAGEZERO"));
        CHECK(kernel_problem_of(instead(kPageZero, page_zero(kBase + 1))).empty());
        CHECK(says(kernel_problem_of(instead(kPageZero, make_segment({.name = "__PAGEZERO",
                                                                      .address = 0,
                                                                      .size = kBase,
                                                                      .most_protection = 1,
                                                                      .protection = 0}))),
                   "__PAGEZERO"));
    }

    TEST_CASE("a segment command of the other word size is refused") {
        CHECK(says(kernel_problem_of(with(command(kLcSegment, std::string(48, '\0')))),
                   "other word size"));
    }

    TEST_CASE("every prefix of a program is answered as damage") {
        const std::string whole = make_macho();
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CHECK_FALSE(image_of(whole.substr(0, length)).has_value());
        }
        CHECK(image_of(whole).has_value());
    }
}
