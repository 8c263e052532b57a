// SPDX-License-Identifier: MIT
//
// bench_judge [--reference MB/s] - what judging a program costs, and hashing its pages.
//
// Judges (Depth::decide, as the run path does) two signed programs of its own making, one of 50 KB
// and one of 100 MB, and prints the bytes read and the median time. Goals (DESIGN, "Numbers to
// reach"): at most 1 MiB read, and the large one within 1 ms of the small one. Then it hashes the
// pages of the large one with 1 and 2 workers; the goal is 0.75 of OpenSSL's speed per core used:
//
//     openssl speed -bytes 16384 -seconds 1 sha256     (the last line, in thousands of bytes)
//
// That number, as millions of bytes a second, is the reference. Exit status 1 if a goal is missed
// that can be told: the reference is absent by default.
#include "macho/facts.hpp"
#include "macho/format.hpp"
#include "system/digest.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace metalrun;
using namespace metalrun::macho;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHashSize = 32;
constexpr int kRuns = 201;
constexpr double kMega = 1e6;

// A file in memory: what is measured is this program, not a disk.
class CountedFile final : public File {
public:
    explicit CountedFile(std::string content)
        : content_(std::move(content)),
          status_{.kind = FileKind::regular, .size_bytes = content_.size()} {}

    [[nodiscard]] const FileStatus& status() const override { return status_; }
    [[nodiscard]] SysResult<std::string> real_path() const override { return "/program"; }
    [[nodiscard]] SysResult<std::size_t> read_at(std::uint64_t offset,
                                                 std::span<std::byte> into) const override {
        if (offset >= content_.size()) {
            return std::size_t{0};
        }
        const std::size_t size = std::min<std::size_t>(into.size(), content_.size() - offset);
        std::memcpy(into.data(), content_.data() + offset, size);
        if (is_counting) {
            bytes_read += size;
        }
        return size;
    }

    mutable std::uint64_t bytes_read = 0;
    bool is_counting = false; // not while threads read

private:
    std::string content_;
    FileStatus status_;
};

void put(std::string& out, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        out += static_cast<char>(value >> (8 * i));
    }
}

void put_be(std::string& out, std::uint64_t value, std::size_t size) {
    for (std::size_t i = size; i-- > 0;) {
        out += static_cast<char>(value >> (8 * i));
    }
}

std::string command(std::uint32_t number, std::string rest) {
    rest.resize((rest.size() + 7) / 8 * 8, '\0');
    std::string out;
    put(out, number, 4);
    put(out, rest.size() + 8, 4);
    return out + rest;
}

std::string segment(std::string name, std::uint64_t address, std::uint64_t size,
                    std::uint64_t file_size, std::uint32_t protection) {
    name.resize(16, '\0');
    for (const std::uint64_t value : {address, size, std::uint64_t{0}, file_size}) {
        put(name, value, 8);
    }
    for (const std::uint32_t value : {protection, protection, 0U, 0U}) {
        put(name, value, 4);
    }
    return command(kLcSegment64, name);
}

std::string text_command(std::uint32_t number, std::uint32_t fixed_size, std::string_view text) {
    std::string rest;
    put(rest, fixed_size, 4);
    rest.resize(fixed_size - 8, '\0');
    return command(number, rest + std::string(text) + '\0');
}

// Header and load commands of an arm64 program of `size` bytes of code.
std::string header_of(std::uint64_t size, std::uint64_t signature_size) {
    constexpr std::uint64_t kBase = std::uint64_t{1} << 32U;
    std::string version;
    for (const std::uint32_t value : {kPlatformMacos, 0x000d0000U, 0x000e0000U, 0U}) {
        put(version, value, 4);
    }
    std::string signature;
    put(signature, size, 4);
    put(signature, signature_size, 4);
    const std::vector<std::string> commands{
        segment("__PAGEZERO", 0, kBase, 0, 0),
        segment("__TEXT", kBase, size, size, kVmProtRead | kVmProtExecute),
        text_command(kLcLoadDylinker, 12, "/usr/lib/dyld"),
        command(kLcMain, std::string(16, '\0')),
        command(kLcBuildVersion, version),
        text_command(kLcLoadDylib, 24, "/usr/lib/libSystem.B.dylib"),
        command(kLcCodeSignature, signature),
    };
    std::string all;
    for (const std::string& one : commands) {
        all += one;
    }
    std::string out;
    for (const std::uint64_t value :
         {std::uint64_t{kMhMagic64}, std::uint64_t{kCpuTypeArm64}, std::uint64_t{0},
          std::uint64_t{kMhExecute}, std::uint64_t{commands.size()}, std::uint64_t{all.size()},
          std::uint64_t{kMhDyldlink | kMhPie}, std::uint64_t{0}}) {
        put(out, value, 4);
    }
    return out + all;
}

std::uint64_t pages_of(std::uint64_t size) {
    return (size + kPage - 1) / kPage;
}

std::uint64_t directory_size(std::uint64_t code_size) {
    return 88 + 8 + pages_of(code_size) * kHashSize;
}

// A super blob with one ad-hoc directory of version 0x20400 over the code.
std::string signature_of(std::string_view code) {
    std::string out;
    put_be(out, kMagicEmbeddedSignature, 4);
    put_be(out, 20 + directory_size(code.size()), 4);
    for (const std::uint64_t value :
         {std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{20}, std::uint64_t{kMagicCodeDirectory},
          directory_size(code.size()), std::uint64_t{0x20400}, std::uint64_t{kCsAdhoc},
          std::uint64_t{96}, std::uint64_t{88}, std::uint64_t{0}, pages_of(code.size()),
          std::uint64_t{code.size()}}) {
        put_be(out, value, 4);
    }
    put_be(out, kHashSize, 1);
    put_be(out, 2, 1); // SHA-256
    put_be(out, 0, 1);
    put_be(out, 12, 1); // pages of 2^12 bytes
    out.append(20 + 88 - out.size(), '\0');
    out += std::string("program\0", 8);
    for (std::size_t at = 0; at < code.size(); at += kPage) {
        const std::string_view page = code.substr(at, kPage);
        const DigestValue value =
            digest(DigestKind::sha256, std::as_bytes(std::span(page.data(), page.size())));
        for (const std::byte byte : value.view()) {
            out += static_cast<char>(byte);
        }
    }
    return out;
}

CountedFile program_of(std::uint64_t size) {
    std::string code = header_of(size, 20 + directory_size(size));
    code.resize(static_cast<std::size_t>(size), '\x5a');
    const std::string signature = signature_of(code);
    return CountedFile(code + signature);
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Judged {
    std::uint64_t bytes_read = 0;
    double seconds = 0; // the median
};

Judged judge(CountedFile& file) {
    file.is_counting = true;
    std::vector<double> times;
    for (int i = 0; i < kRuns; ++i) {
        file.bytes_read = 0;
        const auto begin = Clock::now();
        const auto facts = read_facts(file, Depth::decide);
        times.push_back(seconds_since(begin));
        if (!facts || !facts->slices.at(0).signature || !*facts->slices.at(0).signature) {
            std::fputs("bench_judge: its own program is not good\n", stderr);
            std::exit(125);
        }
    }
    file.is_counting = false;
    std::ranges::nth_element(times, times.begin() + kRuns / 2);
    return {.bytes_read = file.bytes_read, .seconds = times.at(kRuns / 2)};
}

// Millions of bytes a second, the best of some runs: by the clock, and by the time that the cores
// were used, as OpenSSL counts too. The second holds on a busy machine as well.
struct Speed {
    double by_clock = 0;
    double by_core = 0;
};

Speed hashing_speed(const CountedFile& file, unsigned workers) {
    const auto facts = read_facts(file);
    Speed best;
    for (int i = 0; i < 5; ++i) {
        const auto begin = Clock::now();
        const std::clock_t used_before = std::clock();
        const PageCheck check = check_pages(file, facts->slices.at(0), workers);
        const double used = static_cast<double>(std::clock() - used_before) / CLOCKS_PER_SEC;
        const double megabytes = static_cast<double>(check.checked * kPage) / kMega;
        if (!check.good()) {
            std::fputs("bench_judge: its own pages are not good\n", stderr);
            std::exit(125);
        }
        best.by_clock = std::max(best.by_clock, megabytes / seconds_since(begin));
        best.by_core = std::max(best.by_core, megabytes / used);
    }
    return best;
}

bool report_hashing(const CountedFile& file, unsigned workers, double reference) {
    const Speed speed = hashing_speed(file, workers);
    std::printf("page hashes, %u worker%s: %.0f MB/s, %.0f MB/s per core used", workers,
                workers == 1 ? "" : "s", speed.by_clock, speed.by_core);
    const double ratio = reference > 0 ? speed.by_core / reference : 0;
    if (reference > 0) {
        std::printf(", %.2f of the reference (goal 0.75)", ratio);
    }
    std::puts("");
    return reference <= 0 || ratio >= 0.75;
}

} // namespace

int main(int count, char** arguments) {
    const std::vector<std::string_view> words(arguments + 1, arguments + count);
    double reference = 0;
    if (!words.empty()) {
        const char* end = words.size() == 2 ? words[1].data() + words[1].size() : nullptr;
        if (words[0] != "--reference" || end == nullptr ||
            std::from_chars(words[1].data(), end, reference).ec != std::errc{}) {
            std::fputs("usage: bench_judge [--reference MB/s]\n", stderr);
            return 125;
        }
    }
    CountedFile small = program_of(50'000 / kPage * kPage);
    CountedFile large = program_of(100'000'000 / 16384 * 16384);
    const Judged first = judge(small);
    const Judged second = judge(large);
    for (const auto& [name, judged] : {std::pair{"50 KB", first}, std::pair{"100 MB", second}}) {
        std::printf("judging %s: %llu bytes read, median %.1f us\n", name,
                    static_cast<unsigned long long>(judged.bytes_read), judged.seconds * kMega);
    }
    bool is_good =
        second.bytes_read <= (std::uint64_t{1} << 20U) && second.seconds <= first.seconds + 1e-3;
    for (const unsigned workers : {1U, 2U}) {
        is_good = report_hashing(large, workers, reference) && is_good;
    }
    return is_good ? 0 : 1;
}
