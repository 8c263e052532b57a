// SPDX-License-Identifier: MIT
#include "system/mappings.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

namespace metalrun {

namespace {

template <class T> std::optional<T> to_number(std::string_view word, int base = 10) {
    T number{};
    const char* const begin = word.data();
    const char* const end = std::to_address(word.end());
    const auto parsed = std::from_chars(begin, end, number, base);
    return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

// The next word, and the blanks before it, are taken off.
std::string_view take_word(std::string_view& text) {
    constexpr std::string_view kBlanks = " \t\n";
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlanks)));
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(word.size());
    return word;
}

std::string_view take_word(std::string_view& text, int skipped) {
    for (int i = 0; i < skipped; ++i) {
        take_word(text);
    }
    return take_word(text);
}

std::string_view base_name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

constexpr std::string_view kDeleted = " (deleted)";

// makedev(3), so that it compares with st_dev.
std::optional<std::uint64_t> to_device(std::string_view word) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto major = to_number<std::uint64_t>(word.substr(0, colon), 16);
    const auto minor = to_number<std::uint64_t>(word.substr(colon + 1), 16);
    if (!major || !minor) {
        return std::nullopt;
    }
    return (*minor & 0xFFU) | (*major & 0xFFFU) << 8U | (*minor & ~std::uint64_t{0xFF}) << 12U |
           (*major & ~std::uint64_t{0xFFF}) << 32U;
}

} // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(name_end + 1);
    constexpr int kThreads = 16; // fields 4 to 19 lie between the state and the count of threads
    const std::string_view state = take_word(text);
    const auto threads = to_number<std::int64_t>(take_word(text, kThreads));
    const auto start_time = to_number<std::uint64_t>(take_word(text, 1));
    if (state.size() != 1 || !threads || !start_time) {
        return std::nullopt;
    }
    return ProcStat{.state = state.front(), .threads = *threads, .start_time = *start_time};
}

std::optional<std::uint32_t> parse_proc_user(std::string_view text) {
    constexpr std::string_view kKey = "\nUid:";
    const std::size_t found = text.find(kKey);
    if (found == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(found + kKey.size());
    return to_number<std::uint32_t>(take_word(text, 1)); // real, effective, saved, file system
}

MappingSearch::MappingSearch(const MappedFile& wanted)
    : wanted_(wanted), name_(base_name_of(wanted.path)) {}

void MappingSearch::see(std::string_view path, FileIdentity identity) {
    saw_any_ = true;
    saw_file_ =
        saw_file_ || path == wanted_.path || (identity.inode != 0 && identity == wanted_.identity);
    saw_name_ = saw_name_ || (path.starts_with('/') && base_name_of(path) == name_);
}

void MappingSearch::see_line(std::string_view line) {
    constexpr int kDevice = 3; // behind address, rights and offset
    const auto device = to_device(take_word(line, kDevice));
    const auto inode = to_number<std::uint64_t>(take_word(line));
    if (!device || !inode) {
        return;
    }
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    std::string path(line);
    for (std::size_t at = path.find("\\012"); at != std::string::npos;
         at = path.find("\\012", at)) {
        path.replace(at, 4, "\n");
    }
    const FileIdentity identity{.device = *device, .inode = *inode};
    see(path, identity);
    if (path.ends_with(kDeleted)) {
        see(std::string_view(path).substr(0, path.size() - kDeleted.size()), identity);
    }
}

Tri MappingSearch::answer() const {
    if (saw_file_) {
        return Tri::yes;
    }
    return saw_any_ && !saw_name_ ? Tri::no : Tri::unknown;
}

} // namespace metalrun
