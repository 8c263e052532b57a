// SPDX-License-Identifier: MIT
#include "launch/receipt_reader.hpp"

#include "launch/receipt_format.hpp"
#include "profile/toml.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace metalrun::launch {

namespace {

std::string text_of(const toml::Table& table, std::string_view key) {
    const toml::Value* value = table.find(key);
    return value != nullptr && value->string() != nullptr ? *value->string() : std::string{};
}

std::optional<std::uint64_t> number_of(const toml::Table& table, std::string_view key) {
    const toml::Value* value = table.find(key);
    if (value == nullptr || value->integer() == nullptr || *value->integer() < 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(*value->integer());
}

std::optional<int> process_id_of(const toml::Table& table) {
    const auto number = number_of(table, "pid");
    if (!number || *number == 0 || *number > std::numeric_limits<int>::max()) {
        return std::nullopt;
    }
    return static_cast<int>(*number);
}

std::optional<Answer> answer_of(const toml::Table& table, std::string_view name) {
    const auto stock = number_of(table, text::concat(name, "_stock"));
    const auto given = number_of(table, text::concat(name, "_given"));
    return stock && given ? std::optional(Answer{.stock = *stock, .given = *given}) : std::nullopt;
}

std::optional<ReceiptEvent::Kind> kind_of(const toml::Table& table) {
    const std::string word = text_of(table, "state");
    return word == "loaded"   ? std::optional(ReceiptEvent::Kind::loaded)
           : word == "active" ? std::optional(ReceiptEvent::Kind::active)
           : word == "stock"  ? std::optional(ReceiptEvent::Kind::stock)
                              : std::nullopt;
}

std::optional<ReceiptEvent> event_of(const toml::Value& value) {
    const toml::Table* table = value.table();
    const auto process_id = table != nullptr ? process_id_of(*table) : std::nullopt;
    const auto kind = table != nullptr ? kind_of(*table) : std::nullopt;
    if (!process_id || !kind) {
        return std::nullopt;
    }
    return ReceiptEvent{.process_id = *process_id,
                        .kind = *kind,
                        .children_inherit = text_of(*table, "children") == "inherit",
                        .reason = text_of(*table, "reason"),
                        .device = text_of(*table, "device"),
                        .device_class = text_of(*table, "class"),
                        .family = answer_of(*table, "family"),
                        .threadgroup_memory = answer_of(*table, "threadgroup"),
                        .working_set = answer_of(*table, "working_set")};
}

// Each record is read by itself, so that a torn one costs no other.
void take_record(std::string_view record, const std::string& origin, Receipt& into) {
    const auto table = toml::parse(record, origin, Errc::system);
    const toml::Value* events = table ? table->find("event") : nullptr;
    const toml::Array* array = events != nullptr ? events->array() : nullptr;
    if (array == nullptr || array->empty()) {
        ++into.unreadable_events;
        return;
    }
    for (const toml::Value& value : *array) {
        if (auto event = event_of(value)) {
            into.events.push_back(std::move(*event));
        } else {
            ++into.unreadable_events;
        }
    }
}

constexpr std::string_view kRecordEnd = "\n\n";

// The next record without the blank line behind it, which is taken off too; nothing if no whole one
// is left.
std::optional<std::string_view> take_part(std::string_view& text) {
    const std::size_t end = text.find(kRecordEnd);
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view part = text.substr(0, end + 1);
    text.remove_prefix(end + kRecordEnd.size());
    return part;
}

std::unexpected<Error> wrong(const std::string& origin, std::string_view what) {
    return fail({.code = Errc::system, .message = text::concat(text::escape(origin), ": ", what)});
}

} // namespace

Result<Receipt> parse_receipt(std::string_view text, const std::string& origin) {
    const auto head = take_part(text);
    if (!head) {
        return wrong(origin, "the receipt is not whole");
    }
    const auto table = toml::parse(*head, origin, Errc::system);
    if (!table) {
        return fail(table.error());
    }
    const auto process_id = process_id_of(*table);
    const std::string decision = text_of(*table, "decision");
    if (!process_id || (decision != "inject" && decision != "stock")) {
        return wrong(origin, "not the receipt of a start");
    }
    Receipt receipt{.version = text_of(*table, "metalrun"),
                    .process_id = *process_id,
                    .start_time = number_of(*table, "start_time").value_or(0),
                    .target = text_of(*table, "target"),
                    .image = text_of(*table, "image"),
                    .profile = text_of(*table, "profile"),
                    .profile_origin = text_of(*table, "profile_origin"),
                    .injects = decision == "inject",
                    .outcome = text_of(*table, "outcome"),
                    .reason = text_of(*table, "reason"),
                    .library = text_of(*table, "library"),
                    .is_own_shim = text_of(*table, "shim") == kOwnShim};
    const auto device = number_of(*table, "device");
    const auto inode = number_of(*table, "inode");
    if (device && inode) {
        receipt.image_identity = FileIdentity{.device = *device, .inode = *inode};
    }
    while (const auto record = take_part(text)) {
        take_record(*record, origin, receipt);
    }
    return receipt;
}

bool looks_like_receipt(std::string_view text) {
    return text.substr(0, kFirstLine.size()) == kFirstLine.substr(0, text.size());
}

std::optional<std::string_view> find_fault(const FileStatus& status, std::uint32_t user) {
    constexpr std::uint32_t kPrivate = 0600;
    if (status.kind != FileKind::regular) {
        return status.kind == FileKind::symbolic_link ? "it is a symbolic link"
               : status.kind == FileKind::directory   ? "it is a folder"
                                                      : "it is no regular file";
    }
    return status.owner != user      ? std::optional<std::string_view>("another user owns it")
           : status.mode != kPrivate ? "its mode is not 0600"
           : status.links != 1       ? "it has more than one name"
                                     : std::optional<std::string_view>{};
}

} // namespace metalrun::launch
