// SPDX-License-Identifier: MIT
//
// What became of a start: a function of its receipt and of what the kernel tells of the process
// now (metalrun(1), status).
#pragma once

#include "launch/receipt_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::launch {

enum class ProcessState : std::uint8_t {
    active,            ///< a device of it gives the raised answers
    loaded,            ///< the shim is in it and has seen no Metal device yet
    reexecuted,        ///< the shim was in it, and then it became another program, stock
    stock_by_decision, ///< metalrun decided to start it stock
    stock_by_shim,     ///< the shim is in it and left it stock
    stripped,          ///< the shim was predicted to load and is not there
    unconfirmed,       ///< none of these can be proved
    dead,              ///< the process of the receipt is gone
};

/// The word for a state, as JSON and text have it.
[[nodiscard]] std::string_view to_string(ProcessState state);

/// What there is to know of the receipt's process now.
struct ProcessView {
    std::optional<ProcessFacts> facts; ///< absent: it cannot be told; see is_gone
    bool is_gone = false;              ///< there is no process of that number
    Tri has_library = Tri::unknown;    ///< the receipt's library is among its mapped files
    FileIdentity metalrun;             ///< the running metalrun's own file
    std::uint32_t receipt_owner = 0;   ///< who alone may append to the receipt
    std::int64_t receipt_age_ns = 0;   ///< since the receipt was last written to
};

struct Judgement {
    ProcessState state = ProcessState::unconfirmed;
    /// Why: of stock the finding's id or the shim's own words, else a clause of ours; may be empty.
    std::string reason;
    /// What the shim told of the device, if it is active.
    std::optional<ReceiptEvent> device;
};

/// A process that started later than this before now may still be on its way to the shim.
inline constexpr std::int64_t kPatienceNs = 2'000'000'000;

/// `stripped` is said only of metalrun's own shim that was predicted to load, more than kPatienceNs
/// after the start, if it could have written to the receipt and is not among the mapped files.
[[nodiscard]] Judgement judge_process(const Receipt& receipt, const ProcessView& view);

/// True if the process is what its start said it would be, as far as it can be proved.
[[nodiscard]] bool is_as_predicted(ProcessState state);

/// A process that the target started and that has the shim, too.
struct Child {
    int process_id = 0;
    Judgement judgement; ///< active, loaded or stock_by_shim: what it told last
};

/// The children that told something, in the order of their first events.
[[nodiscard]] std::vector<Child> children_of(const Receipt& receipt);

} // namespace metalrun::launch
