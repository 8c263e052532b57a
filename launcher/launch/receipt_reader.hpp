// SPDX-License-Identifier: MIT
//
// The receipt, read back: the part that metalrun wrote before exec, and the events that the shim
// appended (metalrun-shim(7), FILES). The file lies where others of the same user can write, so
// nothing in it is believed beyond its type and range.
#pragma once

#include "macho/bytes.hpp"
#include "result.hpp"
#include "system/system.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::launch {

/// A larger file is no receipt: a record has a few hundred bytes, and a process as many as it has
/// children that inherit the shim.
inline constexpr std::uint64_t kLargestReceipt = 4U << 20U;

/// Two answers of a device: its own, and the one that is given.
struct Answer {
    std::uint64_t stock = 0;
    std::uint64_t given = 0;

    bool operator==(const Answer&) const = default;
};

/// One `[[event]]`. Keys that it does not have are empty.
struct ReceiptEvent {
    enum class Kind : std::uint8_t { loaded, active, stock };

    int process_id = 0; ///< of the process that wrote it
    Kind kind = Kind::loaded;
    bool children_inherit = false; ///< of loaded
    std::string reason;            ///< of stock
    std::string device;            ///< of active: name of the device, once one was handed out
    std::string device_class;      ///< of active
    std::optional<Answer> family;
    std::optional<Answer> threadgroup_memory;
    std::optional<Answer> working_set;

    bool operator==(const ReceiptEvent&) const = default;
};

struct Receipt {
    std::string version;
    int process_id = 0;
    std::uint64_t start_time = 0; ///< 0: unknown
    std::string target;           ///< as typed
    std::string image;            ///< path of the program; empty: unknown
    std::optional<FileIdentity> image_identity;
    std::string profile;
    std::string profile_origin;
    bool injects = false; ///< the decision; otherwise stock
    std::string outcome;  ///< predicted: a word of judge::Outcome
    std::string reason;   ///< id of the finding that decided; empty for inject
    std::string library;  ///< empty unless the decision is inject
    bool is_own_shim = false;
    std::vector<ReceiptEvent> events;
    std::size_t unreadable_events = 0; ///< torn, or of another form than the shim writes

    bool operator==(const Receipt&) const = default;
};

/// Reads a receipt. What follows the last blank line is a record that is still being written, or
/// never will be, and is left out. Errors (Errc::system): the first part is not whole or not of the
/// form that render_receipt gives it; `origin` is the file's name in the message.
[[nodiscard]] Result<Receipt> parse_receipt(std::string_view text, const std::string& origin);

/// True if the text can be one that render_receipt began, finished or not.
[[nodiscard]] bool looks_like_receipt(std::string_view text);

/// Why neither metalrun nor the shim would take this file for a receipt, in words; nothing if they
/// would: regular, mode 0600, one link, of this user (the shim asks the same, shim/receipt.hpp).
[[nodiscard]] std::optional<std::string_view> find_fault(const FileStatus& status,
                                                         std::uint32_t user);

} // namespace metalrun::launch
