// SPDX-License-Identifier: MIT
#include "macho/facts.hpp"
#include "macho_builder.hpp"
#include "macho_der_builder.hpp"
#include "macho_signed.hpp"
#include "system/fake.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::macho;
using namespace metalrun::tests;

namespace {

bool says(const std::string& message, std::string_view words) {
    return message.find(words) != std::string::npos;
}

// --- CMS ----------------------------------------------------------------------------------------

const std::string kSha256Oid = der(0x06, "\x60\x86\x48\x01\x65\x03\x04\x02\x01");

std::string cms_for(const std::string& directory) {
    const std::string algorithm = der(0x30, kSha256Oid);
    const std::string attribute = der(0x30, der(0x06, "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04") +
                                                der(0x31, der(0x04, hash_of(directory))));
    const std::string version("\x02\x01\x01", 3);
    const std::string signer = der(0x30, version + der(0x30, "") + algorithm +
                                             der(0xa0, attribute) + algorithm + der(0x04, ""));
    const std::string data =
        der(0x30, version + der(0x31, algorithm) + der(0x30, "") + der(0x31, signer));
    return der(0x30, der(0x06, "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02") + der(0xa0, data));
}

// The same with an indefinite length outside, as Apple's tool writes it.
std::string with_indefinite_length(const std::string& cms) {
    return std::string("\x30\x80", 2) + cms.substr(cms[1] == '\x82' ? 4 : 2) +
           std::string("\0\0", 2);
}

// --- how much is read ---------------------------------------------------------------------------

struct CountingFile final : File {
    explicit CountingFile(const FakeFile& file) : file_(file) {}
    [[nodiscard]] const FileStatus& status() const override { return file_.status(); }
    [[nodiscard]] SysResult<std::string> real_path() const override { return file_.real_path(); }
    [[nodiscard]] SysResult<std::size_t> read_at(std::uint64_t offset,
                                                 std::span<std::byte> into) const override {
        const auto got = file_.read_at(offset, into);
        read_ += got.value_or(0);
        return got;
    }
    const FakeFile& file_;
    mutable std::size_t read_ = 0;
};

} // namespace

TEST_SUITE("macho.signature") {
    TEST_CASE("a super blob with one directory is an ad-hoc signature") {
        const std::string directory = make_directory(code());
        const auto signature = read_slots({{0, directory}});
        REQUIRE_MESSAGE(signature.has_value(), problem(signature));
        CHECK(signature->kind == SignatureKind::adhoc);
        CHECK(signature->best().identifier == "test");
        CHECK(signature->best().code_limit == kSignatureAt);
        CHECK(signature->best().exec_segment_limit == 0x4000);
        CHECK(signature->best().cdhash == hex(bytes_of(hash_of(directory, 20))));
        CHECK_FALSE(signature->has_overlapping_blobs);
    }

    TEST_CASE("a bare directory is a signature too") {
        CHECK(read_file(signed_file(make_directory(code()))).has_value());
    }

    TEST_CASE("the super blob and its index must hold what they name") {
        const std::string directory = make_directory(code());
        struct Row {
            std::string signature;
            std::string_view words;
        };
        const std::string good = make_super_blob({{0, directory}});
        const auto changed = [&](std::size_t at, std::uint32_t value) {
            std::string signature = good;
            set_be32(signature, at, value);
            return signature;
        };
        const std::vector<Row> rows{
            {changed(0, 0x12345678), "begins with 0x12345678"},
            {changed(4, 0x2000), "the signature ends at 0x1000"},
            {changed(4, 8), "a super blob was expected"},
            {changed(8, 65), "at most 64 are believed"},
            {changed(8, 0xffffffff), "at most 64 are believed"},
            {changed(8, 0), "no code directory"},
            {changed(16, 0xfffffff0), "beyond the end of the signature"},
            {changed(20, kMagicRequirements), "magic number 0xfade0c01"},
            {changed(24, 7), "has 0x7 bytes"},
            {changed(24, 0x1001), "has 0x1001 bytes"},
        };
        for (const Row& row : rows) {
            const std::string message = problem(read_file(signed_file(row.signature)));
            CHECK_MESSAGE(says(message, row.words), message);
        }
        CHECK(says(problem(read_slots({{0, directory}, {0x1000, directory}})),
                   "two code directories have SHA-256"));
        const std::string constraint = make_blob(kMagicLaunchConstraint, "");
        CHECK(says(problem(read_slots({{0, directory}, {8, constraint}, {8, constraint}})),
                   "slot 0x8 is there twice"));
    }

    TEST_CASE("the area must lie inside the slice") {
        const std::string file = signed_file(make_super_blob({{0, make_directory(code())}}));
        const auto facts = read_facts(file_with(file.substr(0, kSignatureAt + 0x100)));
        CHECK(says(problem(facts->slices.at(0).signature.value()), "beyond the end of the slice"));
    }

    TEST_CASE("fields that a directory's version does not have are not read") {
        DirectoryOptions options;
        options.team = "ABCDE12345";
        CHECK(read_directory(options)->best().team == "ABCDE12345");
        options.version = 0x20100;
        CHECK_FALSE(read_directory(options)->best().team.has_value());
        CHECK(read_directory(options)->best().exec_segment_limit == 0);
    }

    TEST_CASE("a directory is refused for each field that disagrees") {
        struct Row {
            DirectoryOptions options;
            std::string_view words;
        };
        const std::vector<Row> rows{
            {{.hash_type = 9}, "unknown hash type 9"},
            {{.hash_type = 1}, "has hashes of 32 bytes, SHA-1 has 20"},
            {{.page_shift = 0}, "pages of 2^0 bytes"},
            {{.page_shift = 13}, "pages of 2^13 bytes"},
            {{.identifier_offset = 0xffffffff}, "an identifier at 0xffffffff"},
            {{.team_offset = 0x10000}, "a team identifier at 0x10000"},
            {{.hash_offset = 0xfffffff0}, "beyond its end"},
            {{.special_slots = 0xffffffff}, "special slots before its hashes"},
            {{.code_slots = 3}, "for the 4 pages of its code limit"},
            {{.code_slots = 0xffffffff}, "beyond its end"},
            {{.code_limit = 0x3fff}, "not all up to the signature at 0x4000"},
            {{.scatter_offset = 0xffffffff}, "scattered parts at 0xffffffff"},
            {{.code_limit_64 = ~std::uint64_t{0}}, "pages of its code limit"},
            {{.flags = 0}, "neither flagged ad-hoc nor signed"},
        };
        for (const Row& row : rows) {
            const std::string message = problem(read_directory(row.options));
            CHECK_MESSAGE(says(message, row.words), message);
        }
        std::string open_end = make_directory(code());
        open_end.replace(96, open_end.size() - 96, open_end.size() - 96, 'x');
        CHECK(says(problem(read_slots({{0, open_end}})), "does not end inside"));
        CHECK(says(problem(read_slots({{0, make_blob(kMagicCodeDirectory, "short")}})),
                   "at least 44 were expected"));
    }

    TEST_CASE("the directory with the best hash counts, whatever its place") {
        DirectoryOptions truncated{.flags = kCsAdhoc | kCsRuntime, .hash_type = 3, .hash_size = 20};
        const Slots slots{{0, make_directory(code())}, {0x1000, make_directory(code(), truncated)}};
        CHECK_FALSE(read_slots(slots)->is_hardened());
        DirectoryOptions larger{.flags = kCsAdhoc | kCsRuntime, .hash_type = 4, .hash_size = 48};
        const Slots other{{0, make_directory(code())}, {0x1004, make_directory(code(), larger)}};
        const auto signature = read_slots(other);
        REQUIRE_MESSAGE(signature.has_value(), problem(signature));
        CHECK(signature->is_hardened());
        CHECK(signature->has_library_validation());
        CHECK(signature->best().cdhash.size() == 40);
        const auto file = file_with(signed_file(make_super_blob(other)));
        CHECK(check_pages(file, read_facts(file)->slices.at(0)).checked == 8);
        CHECK(check_pages(file, read_facts(file)->slices.at(0)).good());
    }

    TEST_CASE("a blob without hash, a hash without blob and a wrong hash are bad") {
        const std::string constraint = make_blob(kMagicLaunchConstraint, der_document(""));
        const std::string directory = make_directory(code(), {.special = {{8, constraint}}});
        const auto good = read_slots({{0, directory}, {8, constraint}});
        REQUIRE_MESSAGE(good.has_value(), problem(good));
        CHECK(good->constraint_slots == std::vector<std::uint32_t>{8});
        CHECK(says(problem(read_slots({{0, directory}})), "slot 8 has a hash, but no blob"));
        CHECK(says(problem(read_slots({{0, make_directory(code())}, {8, constraint}})),
                   "slot 8 has a blob, but no hash"));
        CHECK(says(
            problem(read_slots({{0, directory}, {8, make_blob(kMagicLaunchConstraint, "other")}})),
            "does not have the SHA-256 hash"));
        CHECK(says(problem(read_slots({{0, directory}, {8, make_blob(kMagicRequirements, "")}})),
                   "0xfade8181 was expected"));
    }

    TEST_CASE("requirements may be missing, but not other than their hash") {
        const std::string none = make_blob(kMagicRequirements, std::string(4, '\0'));
        const std::string directory = make_directory(code(), {.special = {{2, none}}});
        CHECK(read_slots({{0, directory}, {2, none}}).has_value());
        CHECK(read_slots({{0, directory}}).has_value());
        CHECK(says(problem(read_slots({{0, directory}, {2, make_blob(kMagicRequirements, "x")}})),
                   "slot 2"));
    }

    TEST_CASE("a CMS signature is of the directory that it names") {
        const std::string directory = make_directory(code(), {.flags = 0});
        for (const std::string& cms :
             {cms_for(directory), with_indefinite_length(cms_for(directory))}) {
            const auto signature =
                read_slots({{0, directory}, {kSlotCms, make_blob(kMagicBlobWrapper, cms)}});
            REQUIRE_MESSAGE(signature.has_value(), problem(signature));
            CHECK(signature->kind == SignatureKind::cms);
            CHECK(signature->cms_bytes == cms.size());
            REQUIRE(signature->cms.has_value());
            CHECK(signature->cms->digest_kind == DigestKind::sha256);
            CHECK(signature->cms->message_digest == hex(bytes_of(hash_of(directory))));
            for (std::size_t length = 1; length < cms.size(); ++length) {
                const std::string cut = cms.substr(0, length);
                const auto one =
                    read_slots({{0, directory}, {kSlotCms, make_blob(kMagicBlobWrapper, cut)}});
                // The end mark of the outermost value is not missed.
                CHECK((!one.has_value() || length + 2 >= cms.size()));
            }
        }
        CHECK(says(problem(read_slots(
                       {{0, directory}, {kSlotCms, make_blob(kMagicBlobWrapper, cms_for("x"))}})),
                   "another code directory"));
        // The signature's value is the last thing in it.
        std::string longer = cms_for(directory);
        longer.back() = '\1';
        CHECK(says(
            problem(read_slots({{0, directory}, {kSlotCms, make_blob(kMagicBlobWrapper, longer)}})),
            "no signature value"));
        CHECK(
            read_slots({{0, make_directory(code())}, {kSlotCms, make_blob(kMagicBlobWrapper, "")}})
                ->kind == SignatureKind::adhoc);
    }

    TEST_CASE("without CMS, or with an empty one, there are no facts of it") {
        CHECK_FALSE(read_directory({})->cms.has_value());
        CHECK_FALSE(
            read_slots({{0, make_directory(code())}, {kSlotCms, make_blob(kMagicBlobWrapper, "")}})
                ->cms.has_value());
    }

    TEST_CASE("the limit of large files is used when it is there") {
        const auto large = read_directory({.code_limit = 1, .code_limit_64 = kSignatureAt});
        REQUIRE_MESSAGE(large.has_value(), problem(large));
        CHECK(large->best().has_code_limit_64);
        CHECK(large->best().code_limit == kSignatureAt);
        CHECK_FALSE(read_directory({})->best().has_code_limit_64);
        // Before version 0x20300 the field does not exist.
        const auto old = read_directory({.version = 0x20200, .code_limit_64 = 1});
        REQUIRE_MESSAGE(old.has_value(), problem(old));
        CHECK(old->best().code_limit == kSignatureAt);
    }

    TEST_CASE("no identifier is an empty one") {
        const auto signature = read_directory({.identifier_offset = 0});
        REQUIRE_MESSAGE(signature.has_value(), problem(signature));
        CHECK(signature->best().identifier.empty());
    }

    TEST_CASE("linkage lies inside its directory") {
        const auto linked = [](std::uint32_t size) {
            std::string strings(12, '\0'); // the fields lie where the identifier is otherwise
            strings[0] = '\2';
            strings[11] = static_cast<char>(size);
            return read_directory({.version = 0x20600, .identifier = strings});
        };
        CHECK(linked(200).has_value());
        CHECK(says(problem(linked(255)), "255 bytes of linkage at 0x0"));
    }

    TEST_CASE("overlapping blobs are noted") {
        std::string same = make_super_blob({{0, make_directory(code())}, {0x10002, "12345678"}});
        set_be32(same, 24, 28);
        const auto overlapping = read_file(signed_file(same));
        REQUIRE_MESSAGE(overlapping.has_value(), problem(overlapping));
        CHECK(overlapping->has_overlapping_blobs);
    }

    TEST_CASE("flags have codesign's names") {
        CHECK(flag_names(0x10002) == std::vector<std::string>{"adhoc", "runtime"});
        CHECK(flag_names(0x2810) == std::vector<std::string>{"forced-library-validation",
                                                             "restrict", "library-validation"});
        CHECK(flag_names(0x80000040) == std::vector<std::string>{"0x40", "0x80000000"});
        CHECK(flag_names(0).empty());
    }

    TEST_CASE("what is hashed to decide is bounded in all, whatever the signature repeats") {
        constexpr std::size_t kSize = std::size_t{1} << 20U;
        const std::string program = code_before_signature(kSize);
        const std::string blob =
            make_blob(kMagicLaunchConstraint, std::string(std::size_t{200} << 10U, 'x'));
        const Slots constraints{{8, blob}, {9, blob}, {10, blob}, {11, blob}};
        Slots slots{
            {0, make_directory(program, {.special = constraints})},
            {0x1000,
             make_directory(program, {.hash_type = 3, .hash_size = 20, .special = constraints})},
            {0x1001,
             make_directory(program, {.hash_type = 4, .hash_size = 48, .special = constraints})}};
        slots.insert(slots.end(), constraints.begin(), constraints.end());
        std::string signature = make_super_blob(slots);
        REQUIRE(signature.size() <= kSize);
        signature.resize(kSize, '\0');
        const FakeFile file = file_with(program + signature);
        const CountingFile counting(file);
        const auto facts = read_facts(counting);
        REQUIRE(facts.has_value());
        const auto& decided = facts->slices.at(0).signature.value();
        REQUIRE_MESSAGE(decided.has_value(), problem(decided));
        CHECK(counting.read_ < kSize);
        CHECK(read_file(program + signature).has_value());
    }

    TEST_CASE("a large program is judged from few bytes, and verified when asked") {
        MachoOptions options;
        constexpr std::size_t kCode = std::size_t{48} << 20U;
        options.size = kCode;
        options.commands.push_back(numbers_command(kLcCodeSignature, {kCode, 0x100000}));
        const std::string program = make_macho(options);
        std::string signature = make_super_blob({{0, make_directory(program)}});
        signature.resize(0x100000, '\0');
        const FakeFile file = file_with(program + signature);
        const CountingFile counting(file);
        const auto facts = read_facts(counting);
        REQUIRE(facts.has_value());
        REQUIRE(facts->slices.at(0).signature.value().has_value());
        CHECK(facts->slices.at(0).signature.value()->best().cdhash.empty());
        CHECK(counting.read_ < std::size_t{64} << 10U);
        CHECK(
            read_facts(file, Depth::verify)->slices.at(0).signature.value()->best().cdhash.size() ==
            40);
        CHECK(check_pages(file, facts->slices.at(0)).checked == kCode / 4096);
        CHECK(check_pages(file, facts->slices.at(0)).good());
    }
}
