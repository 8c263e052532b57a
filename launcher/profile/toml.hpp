// SPDX-License-Identifier: MIT
//
// A TOML 1.0 document as values of ours, each with its line and column. toml.cpp is the only file
// that includes toml++; profiles, host facts and receipts are read through this header.
#pragma once

#include "result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace metalrun::toml {

/// Both count from 1; the column counts code points.
struct Position {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    bool operator==(const Position&) const = default;
};

struct Value;
struct Entry;

/// Key-value pairs in the order of the file.
struct Table {
    std::vector<Entry> entries;

    [[nodiscard]] const Value* find(std::string_view key) const;
};

using Array = std::vector<Value>;

/// A date, a time or both: no document of ours has one, so its value is not kept.
struct DateTime {};

struct Value {
    Position at;
    std::variant<std::string, std::int64_t, double, bool, DateTime, Array, Table> data;

    [[nodiscard]] const std::string* string() const { return std::get_if<std::string>(&data); }
    [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data); }
    [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&data); }
    [[nodiscard]] const Array* array() const { return std::get_if<Array>(&data); }
    [[nodiscard]] const Table* table() const { return std::get_if<Table>(&data); }

    /// What the value is, for a message: "a string", "an integer", …
    [[nodiscard]] std::string_view type_name() const;
};

struct Entry {
    std::string key;
    Position key_at;
    Value value;
};

/// Values in values, and parts of one dotted key: deeper documents are refused.
inline constexpr std::size_t kDeepestValue = 16;
inline constexpr std::size_t kLongestDottedKey = 16;
/// Dots in all keys and numbers together: toml++ searches its list of dotted tables for each.
inline constexpr std::size_t kMostDots = 20'000;

/// Parses a whole document. An error has `code` and the message "ORIGIN:LINE:COLUMN: …".
/// The caller bounds the size of `text`.
[[nodiscard]] Result<Table> parse(std::string_view text, const std::string& origin, Errc code);

/// "ORIGIN:LINE:COLUMN: " with the origin escaped: the head of every message on a document.
[[nodiscard]] std::string place(const std::string& origin, Position at);

} // namespace metalrun::toml
