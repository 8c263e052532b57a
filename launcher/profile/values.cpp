// SPDX-License-Identifier: MIT
//
// The words of profile values and of the options that carry the same names (metalrun.toml(5)).
#include "profile/values.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

namespace metalrun::profile {

namespace {

std::unexpected<Error> refuse(std::string message, std::string help = {}) {
    return fail({.code = Errc::usage, .message = std::move(message), .help = std::move(help)});
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// All of `text` as a decimal number without sign; nothing if it is not one or does not fit.
std::optional<std::uint64_t> parse_number(std::string_view text) {
    if (text.empty()) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    for (const char c : text) {
        if (!is_digit(c)) {
            return std::nullopt;
        }
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (number > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) {
            return std::nullopt;
        }
        number = number * 10 + digit;
    }
    return number;
}

// --- enumerations -------------------------------------------------------------------------------

template <class E> struct Word {
    std::string_view text;
    E value;
};

constexpr std::array kHooks{Word{"early", Hook::early}, Word{"late", Hook::late}};
constexpr std::array kChildren{Word{"stock", Children::stock}, Word{"inherit", Children::inherit},
                               Word{"inherit-if-safe", Children::inherit_if_safe}};
constexpr std::array kOnRefusal{Word{"fail", OnRefusal::fail}, Word{"stock", OnRefusal::stock}};
constexpr std::array kWhenUncertain{Word{"refuse", WhenUncertain::refuse},
                                    Word{"inject", WhenUncertain::inject}};
constexpr std::array kWhere{Word{"guest", Where::guest}, Word{"anywhere", Where::anywhere}};
constexpr std::array kStatuses{
    Word{"beneficial", WorkloadStatus::beneficial}, Word{"no-benefit", WorkloadStatus::no_benefit},
    Word{"unsafe", WorkloadStatus::unsafe}, Word{"blocked", WorkloadStatus::blocked},
    Word{"untested", WorkloadStatus::untested}};
constexpr std::array kQuirkLevels{Word{"note", QuirkLevel::note}, Word{"warn", QuirkLevel::warn},
                                  Word{"refuse", QuirkLevel::refuse}};

template <class E, std::size_t N>
Result<E> parse_word(std::string_view text, const std::array<Word<E>, N>& words) {
    std::string accepted;
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; ++i) {
        if (words[i].text == text) {
            return words[i].value;
        }
        names[i] = words[i].text;
        accepted += i == 0 ? "" : i + 1 == N ? " or " : ", ";
        accepted += text::quote(words[i].text);
    }
    const std::string_view near = text::nearest(text, names);
    return refuse(text::format("expected {}, not {}", accepted, text::quote(text)),
                  near.empty() ? ""
                               : text::format("a word with a similar name exists: '{}'", near));
}

template <class E, std::size_t N>
std::string_view word_of(E value, const std::array<Word<E>, N>& words) {
    const auto found = std::ranges::find(words, value, &Word<E>::value);
    return found == words.end() ? std::string_view{} : found->text;
}

// --- families -----------------------------------------------------------------------------------

constexpr std::string_view kFamilyForms = "'stock', 'host', 'apple1' to 'apple10' or 1001 to 1010";

constexpr std::array<std::string_view, 4> kOtherRows{"Mac", "Common", "Catalyst", "Metal"};

constexpr std::string_view kApple = "apple";

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

// The other rows of MTLGPUFamily (MTLDevice.h): Mac 200x, Common 300x, Mac Catalyst 400x,
// Metal 500x.
std::string_view other_family(std::string_view text) {
    const std::string word = lower(text);
    if (word.starts_with("metal")) {
        return "Metal";
    }
    if (word.starts_with("maccatalyst") || word.starts_with("catalyst")) {
        return "Catalyst";
    }
    if (word.starts_with("mac")) {
        return "Mac";
    }
    return word.starts_with("common") ? "Common" : std::string_view{};
}

std::string_view other_family(std::int64_t number) {
    return number >= 2001 && number <= 5999
               ? kOtherRows.at(static_cast<std::size_t>(number / 1000 - 2))
               : std::string_view{};
}

std::unexpected<Error> never_advertised(std::string_view shown, std::string_view row) {
    return refuse(text::format("{} is a {} family: only Apple families can be raised", shown, row),
                  text::format("use {}", kFamilyForms));
}

// --- limits -------------------------------------------------------------------------------------

constexpr std::array<Word<unsigned>, 4> kUnits{
    Word<unsigned>{"B", 0U}, {"KiB", 10U}, {"MiB", 20U}, {"GiB", 30U}};

constexpr std::array<std::string_view, 7> kAmbiguousUnits{"KB", "kB", "MB", "GB", "K", "M", "G"};

// --- versions -----------------------------------------------------------------------------------

struct Version {
    std::array<std::uint32_t, 3> parts{};
    std::size_t count = 0;
};

constexpr std::size_t kLongestPart = 4; ///< digits: enough for any system version

std::optional<Version> parse_version(std::string_view text) {
    Version version;
    while (version.count < version.parts.size()) {
        const std::size_t dot = std::min(text.find('.'), text.size());
        const std::string_view part = text.substr(0, dot);
        const auto number = parse_number(part);
        if (!number || part.size() > kLongestPart) {
            return std::nullopt;
        }
        version.parts.at(version.count++) = static_cast<std::uint32_t>(*number);
        if (dot == text.size()) {
            return version;
        }
        text.remove_prefix(dot + 1);
    }
    return std::nullopt;
}

// Negative, zero or positive as `os` is below, at or above `bound`, by the digits of the bound.
int compare_by_digits(const Version& os, const Version& bound) {
    for (std::size_t i = 0; i < bound.count; ++i) {
        if (os.parts.at(i) != bound.parts.at(i)) {
            return os.parts.at(i) < bound.parts.at(i) ? -1 : 1;
        }
    }
    return 0;
}

struct OsRange {
    Version lowest;
    std::optional<Version> highest; ///< absent: no upper end
};

std::optional<OsRange> parse_os_range(std::string_view pattern) {
    if (pattern.starts_with(">=")) {
        const auto lowest = parse_version(pattern.substr(2));
        return lowest ? std::optional(OsRange{*lowest, std::nullopt}) : std::nullopt;
    }
    const std::size_t dots = pattern.find("..");
    const auto lowest = parse_version(pattern.substr(0, dots));
    const auto highest =
        dots == std::string_view::npos ? lowest : parse_version(pattern.substr(dots + 2));
    if (!lowest || !highest || compare_by_digits(*lowest, *highest) > 0) {
        return std::nullopt;
    }
    return OsRange{*lowest, highest};
}

} // namespace

Result<Family> parse_family(std::string_view text) {
    if (text == "stock") {
        return Family{};
    }
    if (text == "host") {
        return Family{.kind = Family::Kind::host};
    }
    if (const auto number = parse_number(text)) {
        return parse_family(static_cast<std::int64_t>(
            std::min<std::uint64_t>(*number, std::numeric_limits<std::int64_t>::max())));
    }
    if (text.starts_with(kApple) && text.size() > kApple.size() && text[kApple.size()] != '0') {
        const auto number = parse_number(text.substr(kApple.size()));
        if (number && *number <= 10) {
            return Family{.kind = Family::Kind::ceiling,
                          .ceiling = static_cast<std::uint16_t>(1000 + *number)};
        }
    }
    if (const std::string_view row = other_family(text); !row.empty()) {
        return never_advertised(text::quote(text), row);
    }
    const std::string word = lower(text);
    const bool only_case_differs = word != text && parse_family(word).has_value();
    return refuse(text::format("expected {}, not {}", kFamilyForms, text::quote(text)),
                  only_case_differs ? text::format("write '{}'", word) : "");
}

Result<Family> parse_family(std::int64_t number) {
    if (number >= kLowestFamily && number <= kHighestFamily) {
        return Family{.kind = Family::Kind::ceiling, .ceiling = static_cast<std::uint16_t>(number)};
    }
    if (const std::string_view row = other_family(number); !row.empty()) {
        return never_advertised(std::to_string(number), row);
    }
    const bool short_form = number >= 1 && number <= 10;
    return refuse(text::format("expected {}, not {}", kFamilyForms, number),
                  short_form ? text::format("write 'apple{}'", number) : "");
}

Result<Limit> parse_limit(std::string_view text) {
    if (text == "stock") {
        return Limit{};
    }
    const std::size_t digits =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
    const auto number = parse_number(text.substr(0, digits));
    std::string_view unit = text.substr(digits);
    unit.remove_prefix(unit.starts_with(' ') ? 1 : 0);
    const bool plain = digits == text.size();
    const auto found = std::ranges::find(kUnits, unit, &Word<unsigned>::text);
    if (digits > 0 && number && (plain || found != kUnits.end())) {
        const unsigned shift = plain ? 0 : found->value;
        if (*number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) >>
            shift) {
            return Limit{.bytes = *number << shift};
        }
    }
    if (digits > 0 && (!number || found != kUnits.end() || plain)) {
        return refuse(text::format("{} is too large", text::quote(text)));
    }
    if (digits > 0 && std::ranges::find(kAmbiguousUnits, unit) != kAmbiguousUnits.end()) {
        return refuse(text::format("{}: the unit '{}' has two meanings", text::quote(text), unit),
                      text::format("write '{} {}iB'", text.substr(0, digits),
                                   unit.starts_with('k') ? "K" : unit.substr(0, 1)));
    }
    return refuse(text::format("expected 'stock', bytes, or a whole number of B, KiB, MiB or GiB, "
                               "not {}",
                               text::quote(text)));
}

Result<Limit> parse_threadgroup_memory(std::string_view text) {
    Result<Limit> limit = parse_limit(text);
    if (limit && limit->bytes > kLargestThreadgroupMemory) {
        return refuse(text::format("threadgroup memory of {} bytes is above the largest that can "
                                   "be asked for, {} (64 KiB)",
                                   limit->bytes, kLargestThreadgroupMemory));
    }
    return limit;
}

Result<Hook> parse_hook(std::string_view text) {
    return parse_word(text, kHooks);
}
Result<Children> parse_children(std::string_view text) {
    return parse_word(text, kChildren);
}
Result<OnRefusal> parse_on_refusal(std::string_view text) {
    return parse_word(text, kOnRefusal);
}
Result<WhenUncertain> parse_when_uncertain(std::string_view text) {
    return parse_word(text, kWhenUncertain);
}
Result<Where> parse_where(std::string_view text) {
    return parse_word(text, kWhere);
}
Result<WorkloadStatus> parse_workload_status(std::string_view text) {
    return parse_word(text, kStatuses);
}
Result<QuirkLevel> parse_quirk_level(std::string_view text) {
    return parse_word(text, kQuirkLevels);
}

std::string to_string(Family family) {
    switch (family.kind) {
    case Family::Kind::stock:
        return "stock";
    case Family::Kind::host:
        return "host";
    case Family::Kind::ceiling:
        return "apple" + std::to_string(family.ceiling - 1000);
    }
    return {};
}

std::string to_string(Limit limit) {
    return limit.bytes == 0 ? "stock" : std::to_string(limit.bytes);
}

std::string_view to_string(Hook value) {
    return word_of(value, kHooks);
}
std::string_view to_string(Children value) {
    return word_of(value, kChildren);
}
std::string_view to_string(OnRefusal value) {
    return word_of(value, kOnRefusal);
}
std::string_view to_string(WhenUncertain value) {
    return word_of(value, kWhenUncertain);
}
std::string_view to_string(Where value) {
    return word_of(value, kWhere);
}
std::string_view to_string(WorkloadStatus value) {
    return word_of(value, kStatuses);
}
std::string_view to_string(QuirkLevel value) {
    return word_of(value, kQuirkLevels);
}

bool is_reserved_variable(std::string_view name) {
    return name.starts_with("DYLD_") || name.starts_with("LD_") ||
           name.starts_with("LUME_METAL_") || name.starts_with("METALRUN_");
}

bool is_version(std::string_view text) {
    return parse_version(text).has_value();
}

Result<bool> covers_os(std::string_view pattern, std::string_view os) {
    const auto range = parse_os_range(pattern);
    if (!range) {
        return refuse(text::format("{} is not a range of systems", text::quote(pattern)),
                      "write a version such as '13' or '14.3', a range such as '14.0..14.3', or "
                      "'>=15'");
    }
    const auto version = parse_version(os);
    if (!version || compare_by_digits(*version, range->lowest) < 0) {
        return false;
    }
    return !range->highest || compare_by_digits(*version, *range->highest) <= 0;
}

} // namespace metalrun::profile
