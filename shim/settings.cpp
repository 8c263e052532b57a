// SPDX-License-Identifier: MIT
//
// Numbers are read as strtoull(3) with base 0 reads them (leading blanks, a sign, hexadecimal and
// octal), because the published shim does so; text behind the number and overflow are refused.
#include "settings.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace metalrun::shim {
namespace {

bool is_set(const char* text) noexcept {
    return text != nullptr && *text != '\0';
}

bool is(const char* text, const char* word) noexcept {
    return text != nullptr && std::strcmp(text, word) == 0;
}

struct Number {
    Size value;
    bool valid;
};

Number parse_number(const char* text, Size when_unset) noexcept {
    if (!is_set(text)) {
        return {.value = when_unset, .valid = true};
    }
    char* end = nullptr;
    errno = 0;
    const Size value = std::strtoull(text, &end, 0);
    return {.value = value, .valid = errno == 0 && end != text && *end == '\0'};
}

bool is_unset_or(const char* text, const char* one, const char* other) noexcept {
    return !is_set(text) || is(text, one) || is(text, other);
}

const char* find_problem(const SettingTexts& texts, const Number& family) noexcept {
    const struct {
        bool applies;
        const char* problem;
    } rows[] = {
        {!is_set(texts.family), "LUME_METAL_APPLE_FAMILY_MAX is not set"},
        {!family.valid, "LUME_METAL_APPLE_FAMILY_MAX is malformed"},
        {family.value < kFirstFamily || family.value > kLastFamily,
         "LUME_METAL_APPLE_FAMILY_MAX is outside 1001 to 1999"},
        {!parse_number(texts.threadgroup_memory, 0).valid,
         "LUME_METAL_MAX_THREADGROUP_MEMORY is malformed"},
        {!parse_number(texts.working_set, 0).valid,
         "LUME_METAL_RECOMMENDED_WORKING_SET_SIZE is malformed"},
        {!is_unset_or(texts.hook, "early", "late"), "METALRUN_SHIM_HOOK is neither early nor late"},
        {!is_unset_or(texts.children, "inherit", "stock"),
         "METALRUN_SHIM_CHILDREN is neither inherit nor stock"},
    };
    for (const auto& row : rows) {
        if (row.applies) {
            return row.problem;
        }
    }
    return nullptr;
}

} // namespace

Settings parse_settings(const SettingTexts& texts) noexcept {
    const Number family = parse_number(texts.family, 0);
    return {
        .ceiling = family.value,
        .threadgroup_memory =
            parse_number(texts.threadgroup_memory, kPublishedThreadgroupMemory).value,
        .working_set = parse_number(texts.working_set, 0).value,
        .hook = is(texts.hook, "late") ? Hook::late : Hook::early,
        .children = is(texts.children, "stock") ? Children::stock : Children::inherit,
        .verbose = is(texts.verbose, "1"),
        .problem = find_problem(texts, family),
    };
}

} // namespace metalrun::shim
