// SPDX-License-Identifier: MIT
#include "macho_signed.hpp"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::macho;
using namespace metalrun::tests;

namespace {

PageCheck pages_of(const std::string& content, unsigned workers = 1) {
    const FakeFile file = file_with(content);
    const auto facts = read_facts(file, Depth::verify);
    REQUIRE(facts.has_value());
    const SliceFacts& slice = facts->slices.at(0);
    REQUIRE(slice.signature.has_value());
    REQUIRE_MESSAGE(slice.signature->has_value(), problem(*slice.signature));
    return check_pages(file, slice, workers);
}

PageCheck pages_with(const DirectoryOptions& options, std::size_t damaged_at = 0) {
    std::string file = signed_file(make_super_blob({{0, make_directory(code(), options)}}));
    file.at(damaged_at == 0 ? file.size() - 1 : damaged_at) ^= 1;
    return pages_of(file);
}

// A program of 5 MiB and a bit with three directories, and which of its bytes are damaged.
std::string large_program(const std::vector<std::size_t>& damaged) {
    constexpr std::size_t kSize = (std::size_t{5} << 20U) + 4096;
    MachoOptions options;
    options.size = kSize;
    options.commands.push_back(
        numbers_command(kLcCodeSignature, {static_cast<std::uint32_t>(kSize), 0x40000}));
    std::string program = make_macho(options);
    for (std::size_t at = 0x1000; at < program.size(); at += 100) {
        program[at] = static_cast<char>(at / 100);
    }
    std::string signature = make_super_blob(
        {{0, make_directory(program, {.hash_type = 1, .hash_size = 20})},
         {0x1000, make_directory(program)},
         {0x1001, make_directory(program, {.hash_type = 4, .hash_size = 48, .page_shift = 14})}});
    REQUIRE(signature.size() <= 0x40000);
    signature.resize(0x40000, '\0');
    for (const std::size_t at : damaged) {
        program.at(at) ^= 1;
    }
    return program + signature;
}

} // namespace

TEST_SUITE("macho.pages") {
    TEST_CASE("pages are checked with every kind of hash, and a damaged one is found") {
        struct Row {
            std::uint8_t type;
            std::uint8_t size;
        };
        for (const Row& row : {Row{1, 20}, Row{2, 32}, Row{3, 20}, Row{4, 48}}) {
            for (const unsigned shift : {12U, 14U}) {
                CAPTURE(row.type);
                const DirectoryOptions options{
                    .hash_type = row.type, .hash_size = row.size, .page_shift = shift};
                const std::uint64_t pages = shift == 12 ? 4 : 1;
                CHECK(pages_with(options) == PageCheck{.checked = pages});
                CHECK(pages_with(options, 0x2fff) ==
                      PageCheck{.checked = pages, .bad = 1, .first_bad = shift == 12 ? 2 : 0});
            }
        }
    }

    TEST_CASE("of several directories each one counts") {
        DirectoryOptions wrong{.hash_type = 1, .hash_size = 20};
        std::string other = code();
        other.back() ^= 1;
        const Slots slots{{0, make_directory(other, wrong)}, {0x1000, make_directory(code())}};
        CHECK(pages_of(signed_file(make_super_blob(slots))) ==
              PageCheck{.checked = 8, .bad = 1, .first_bad = 3});
    }

    TEST_CASE("the last page ends at the code limit and is not padded") {
        MachoOptions options;
        options.size = 0x4123;
        options.commands.push_back(numbers_command(kLcCodeSignature, {0x4123, kSignatureSize}));
        const std::string program = make_macho(options);
        std::string signature = make_super_blob({{0, make_directory(program)}});
        signature.resize(kSignatureSize, '\0');
        CHECK(pages_of(program + signature) == PageCheck{.checked = 5});
    }

    TEST_CASE("any number of workers gives the answer of one") {
        const std::size_t kLast = (std::size_t{5} << 20U) + 4095;
        for (const std::vector<std::size_t>& damaged :
             {std::vector<std::size_t>{}, {0x345678, 0x1001}, {kLast}}) {
            const std::string program = large_program(damaged);
            const PageCheck one = pages_of(program);
            CHECK(one.checked == 2 * 1281 + 321);
            CHECK(one.bad == 3 * damaged.size());
            for (const unsigned workers : {0U, 2U, 3U, 16U, 100U}) {
                CHECK(pages_of(program, workers) == one);
            }
        }
    }

    TEST_CASE("one worker is the caller itself") {
        struct OwnThread final : File {
            explicit OwnThread(const FakeFile& file) : file_(file) {}
            [[nodiscard]] const FileStatus& status() const override { return file_.status(); }
            [[nodiscard]] SysResult<std::string> real_path() const override {
                return file_.real_path();
            }
            [[nodiscard]] SysResult<std::size_t> read_at(std::uint64_t offset,
                                                         std::span<std::byte> into) const override {
                strangers_ += std::this_thread::get_id() == owner_ ? 0 : 1;
                return file_.read_at(offset, into);
            }
            const FakeFile& file_;
            std::thread::id owner_ = std::this_thread::get_id();
            mutable std::atomic<int> strangers_ = 0;
        };
        const FakeFile file = file_with(large_program({}));
        const OwnThread watched(file);
        const auto facts = read_facts(watched);
        REQUIRE(facts.has_value());
        CHECK(check_pages(watched, facts->slices.at(0)).good());
        CHECK(watched.strangers_ == 0);
    }

    TEST_CASE("a file that has become shorter has bad pages") {
        const std::string whole = large_program({});
        const auto facts = read_facts(file_with(whole));
        REQUIRE(facts.has_value());
        const FakeFile shorter = file_with(whole.substr(0, std::size_t{2} << 20U));
        CHECK(check_pages(shorter, facts->slices.at(0)).bad == 2 * 1281 + 321);
    }

    // xnu bsd/kern/ubc_subr.c hashes() and cs_validate_codedirectory.
    TEST_CASE("scattered hashes are those of the pages that they name") {
        CHECK(pages_with({.scatter = {{4, 0}}}) == PageCheck{.checked = 4});
        CHECK(pages_with({.scatter = {{2, 0}, {2, 2}}}) == PageCheck{.checked = 4});
        // The hashes of pages 0 and 1 are named those of pages 2 and 3. Pages 0 and 1 have none; of
        // the others only page 3 is like page 1.
        CHECK(pages_with({.scatter = {{2, 2}}}) ==
              PageCheck{.checked = 4, .bad = 3, .first_bad = 0});
        CHECK(pages_with({.scatter = {{4, 0}}}, 0x1fff) ==
              PageCheck{.checked = 4, .bad = 1, .first_bad = 1});
        // Parts out of order: what comes behind has no hash.
        CHECK(pages_with({.scatter = {{1, 0}, {3, 0}}}).bad == 2);
        // More hashes than there are.
        CHECK(pages_with({.code_slots = 1, .scatter = {{100, 0}}}).checked == 4);
    }
}
