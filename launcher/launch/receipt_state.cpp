// SPDX-License-Identifier: MIT
#include "launch/receipt_state.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace metalrun::launch {

namespace {

using Kind = ReceiptEvent::Kind;
using Events = std::vector<const ReceiptEvent*>;

// What a process told since the shim was last loaded into it: what came before was another program.
// A process that was forked off has no `loaded` of its own.
Events latest_events(std::span<const ReceiptEvent> all, int process_id) {
    Events events;
    for (const ReceiptEvent& event : all) {
        if (event.process_id == process_id) {
            if (event.kind == Kind::loaded) {
                events.clear();
            }
            events.push_back(&event);
        }
    }
    return events;
}

// The fullest record of the class of devices that was changed last: a later one has the name and
// the limits of a device, too.
std::optional<ReceiptEvent> last_device(const Events& events) {
    std::optional<ReceiptEvent> device;
    for (const ReceiptEvent* event : events) {
        if (event->kind == Kind::active &&
            (!device || !event->device.empty() || device->device.empty())) {
            device = *event;
        }
    }
    return device;
}

// What the events say; there is at least one. The last counts: the shim may find no class of Metal
// at first, and an active class later.
Judgement judge_events(const Events& events) {
    auto device = last_device(events);
    switch (events.back()->kind) {
    case Kind::loaded:
        return {.state = ProcessState::loaded, .reason = {}, .device = {}};
    case Kind::active:
        return {.state = ProcessState::active, .reason = {}, .device = std::move(device)};
    case Kind::stock:
        break;
    }
    std::string reason = events.back()->reason;
    if (device) {
        reason += text::concat("; devices of class '", text::escape(device->device_class),
                               "' are active");
    }
    return {.state = ProcessState::stock_by_shim, .reason = std::move(reason), .device = {}};
}

Judgement unconfirmed(std::string reason) {
    return {.state = ProcessState::unconfirmed, .reason = std::move(reason), .device = {}};
}

// Whether it runs the file that was started. A path alone can prove that it does, not that it does
// not: it may have been spelled with symbolic links.
Tri runs_image(const Receipt& receipt, const ProcessFacts& facts) {
    if (receipt.image_identity && facts.image_identity) {
        return receipt.image_identity == facts.image_identity ? Tri::yes : Tri::no;
    }
    return !facts.image.empty() && facts.image == receipt.image ? Tri::yes : Tri::unknown;
}

// The shim told that it was loaded; is it still this program?
Judgement judge_loaded(const Receipt& receipt, const ProcessFacts& facts, Tri has_library,
                       const Events& events) {
    const bool is_other_program = runs_image(receipt, facts) == Tri::no;
    if (has_library == Tri::no) {
        return {.state = ProcessState::reexecuted,
                .reason = is_other_program
                              ? text::concat("it runs ", text::quote(facts.image), " now")
                              : "the shim is no longer in it",
                .device = {}};
    }
    if (is_other_program && has_library == Tri::unknown) {
        const bool children_inherit = std::ranges::any_of(
            events, [](const ReceiptEvent* event) { return event->children_inherit; });
        std::string reason = text::concat("it runs ", text::quote(facts.image), " now");
        if (children_inherit) {
            return unconfirmed(reason + ", and its mapped files cannot be read");
        }
        return {.state = ProcessState::reexecuted, .reason = std::move(reason), .device = {}};
    }
    return judge_events(events);
}

// Why a shim that told nothing cannot be said to be absent; empty: it can.
std::string doubt_of(const Receipt& receipt, const ProcessView& view, const ProcessFacts& facts) {
    const Tri same = runs_image(receipt, facts);
    if (facts.image_identity == view.metalrun && same != Tri::yes) {
        return "metalrun has not become the target yet";
    }
    if (!receipt.is_own_shim) {
        return "the library is not metalrun's own and tells nothing";
    }
    if (receipt.outcome != "loads") {
        return text::concat("the outcome was predicted as '", text::escape(receipt.outcome), "'");
    }
    if (view.receipt_age_ns <= kPatienceNs) {
        return "it was started less than two seconds ago";
    }
    if (facts.is_stopped) {
        return "it is stopped";
    }
    if (same == Tri::no) {
        return text::concat("it runs ", text::quote(facts.image),
                            ", not the program that was started");
    }
    if (same == Tri::unknown) {
        return "it cannot be told which program it runs";
    }
    if (facts.effective_user != view.receipt_owner) {
        return "it runs as another user, who cannot write to the receipt";
    }
    switch (view.has_library) {
    case Tri::yes:
        return "the shim is in it, but told nothing";
    case Tri::unknown:
        return "its mapped files cannot be read, or the library was replaced";
    case Tri::no:
        break;
    }
    return {};
}

Judgement judge_silent(const Receipt& receipt, const ProcessView& view, const ProcessFacts& facts) {
    std::string doubt = doubt_of(receipt, view, facts);
    if (!doubt.empty()) {
        return unconfirmed(std::move(doubt));
    }
    return {.state = ProcessState::stripped,
            .reason = "the shim was to be loaded and is not in it",
            .device = {}};
}

} // namespace

std::string_view to_string(ProcessState state) {
    switch (state) {
    case ProcessState::active:
        return "active";
    case ProcessState::loaded:
        return "loaded";
    case ProcessState::reexecuted:
        return "re-executed";
    case ProcessState::stock_by_decision:
        return "stock-by-decision";
    case ProcessState::stock_by_shim:
        return "stock-by-shim";
    case ProcessState::stripped:
        return "stripped";
    case ProcessState::unconfirmed:
        return "unconfirmed";
    case ProcessState::dead:
        return "dead";
    }
    return {};
}

Judgement judge_process(const Receipt& receipt, const ProcessView& view) {
    if (view.is_gone) {
        return {.state = ProcessState::dead, .reason = {}, .device = {}};
    }
    if (!view.facts) {
        return unconfirmed("the process cannot be looked at");
    }
    if (receipt.start_time == 0) {
        return unconfirmed("the receipt does not say when the process started");
    }
    if (view.facts->start_time != receipt.start_time) {
        return {.state = ProcessState::dead, .reason = {}, .device = {}};
    }
    if (!receipt.injects) {
        return {.state = ProcessState::stock_by_decision, .reason = receipt.reason, .device = {}};
    }
    const Events events = latest_events(receipt.events, receipt.process_id);
    return events.empty() ? judge_silent(receipt, view, *view.facts)
                          : judge_loaded(receipt, *view.facts, view.has_library, events);
}

bool is_as_predicted(ProcessState state) {
    return state == ProcessState::active || state == ProcessState::loaded ||
           state == ProcessState::stock_by_decision;
}

std::vector<Child> children_of(const Receipt& receipt) {
    std::vector<int> order;
    std::map<int, std::vector<ReceiptEvent>> told;
    for (const ReceiptEvent& event : receipt.events) {
        if (event.process_id == receipt.process_id) {
            continue;
        }
        auto& events = told[event.process_id];
        if (events.empty()) {
            order.push_back(event.process_id);
        }
        events.push_back(event);
    }
    std::vector<Child> children;
    children.reserve(order.size());
    for (const int process_id : order) {
        children.push_back(
            {.process_id = process_id,
             .judgement = judge_events(latest_events(told.at(process_id), process_id))});
    }
    return children;
}

} // namespace metalrun::launch
