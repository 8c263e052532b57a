// SPDX-License-Identifier: MIT
//
// Each state, and what is not that state by one fact.
#include "launch/receipt_state.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;
using launch::ProcessState;
using launch::ReceiptEvent;
using Kind = launch::ReceiptEvent::Kind;

namespace {

constexpr int kPid = 4711;
constexpr FileIdentity kImage{.device = 1, .inode = 10};
constexpr FileIdentity kOther{.device = 1, .inode = 11};
constexpr FileIdentity kMetalrun{.device = 1, .inode = 12};

launch::Receipt receipt_with(std::vector<ReceiptEvent> events) {
    return {.process_id = kPid,
            .start_time = 99,
            .image = "/opt/server",
            .image_identity = kImage,
            .injects = true,
            .outcome = "loads",
            .library = "/opt/shim.so",
            .is_own_shim = true,
            .events = std::move(events)};
}

ReceiptEvent event(Kind kind, int process_id = kPid) {
    return {.process_id = process_id, .kind = kind, .device_class = "Device"};
}

ReceiptEvent stock_because(std::string reason) {
    ReceiptEvent stock = event(Kind::stock);
    stock.reason = std::move(reason);
    return stock;
}

ReceiptEvent device_named(std::string name) {
    ReceiptEvent active = event(Kind::active);
    active.device = std::move(name);
    return active;
}

// A process of the image, some time after its start, with the library where it belongs.
launch::ProcessView view_of_live() {
    return {.facts = ProcessFacts{.start_time = 99,
                                  .effective_user = 501,
                                  .image = "/opt/server",
                                  .image_identity = kImage},
            .has_library = Tri::yes,
            .metalrun = kMetalrun,
            .receipt_owner = 501,
            .receipt_age_ns = launch::kPatienceNs + 1};
}

// One that never loaded the shim: nothing told, nothing mapped.
launch::ProcessView view_of_stripped() {
    launch::ProcessView view = view_of_live();
    view.has_library = Tri::no;
    return view;
}

ProcessState state_of(const launch::Receipt& receipt, const launch::ProcessView& view) {
    return launch::judge_process(receipt, view).state;
}

} // namespace

TEST_SUITE("launch.receipt_state") {

    TEST_CASE("active: the shim told of a device, and is still there") {
        const auto receipt = receipt_with({event(Kind::loaded), event(Kind::active)});
        CHECK(state_of(receipt, view_of_live()) == ProcessState::active);
        CHECK(state_of(receipt_with({event(Kind::loaded)}), view_of_live()) ==
              ProcessState::loaded);
    }

    TEST_CASE("of a device that was described later, the description is shown") {
        const auto judged =
            launch::judge_process(receipt_with({event(Kind::loaded), event(Kind::active),
                                                device_named("A device"), event(Kind::active)}),
                                  view_of_live());
        REQUIRE(judged.device);
        CHECK(judged.device->device == "A device");
    }

    TEST_CASE("the last word of the process itself counts: stock, then active, and the reverse") {
        CHECK(state_of(receipt_with({event(Kind::loaded), stock_because("no class yet"),
                                     event(Kind::active)}),
                       view_of_live()) == ProcessState::active);
        const auto judged = launch::judge_process(
            receipt_with({event(Kind::loaded), event(Kind::active), stock_because("odd class")}),
            view_of_live());
        CHECK(judged.state == ProcessState::stock_by_shim);
        CHECK(judged.reason == "odd class; devices of class 'Device' are active");
    }

    TEST_CASE("stock by the shim has the shim's reason") {
        const auto judged = launch::judge_process(
            receipt_with({event(Kind::loaded), stock_because("a value is malformed")}),
            view_of_live());
        CHECK(judged.state == ProcessState::stock_by_shim);
        CHECK(judged.reason == "a value is malformed");
        CHECK_FALSE(judged.device);
    }

    TEST_CASE("what a child told is not taken for the process's own") {
        CHECK(state_of(receipt_with({event(Kind::loaded), event(Kind::active, kPid + 1)}),
                       view_of_live()) == ProcessState::loaded);
        CHECK(state_of(receipt_with({event(Kind::loaded, kPid + 1)}), view_of_stripped()) ==
              ProcessState::stripped);
    }

    TEST_CASE("stock by decision has the finding's id, whatever the process became") {
        auto receipt = receipt_with({});
        receipt.injects = false;
        receipt.reason = "not-a-guest";
        auto view = view_of_stripped();
        view.facts->image_identity = kOther;
        const auto judged = launch::judge_process(receipt, view);
        CHECK(judged.state == ProcessState::stock_by_decision);
        CHECK(judged.reason == "not-a-guest");
    }

    TEST_CASE("re-executed: the shim was there and is no longer mapped") {
        const auto receipt = receipt_with({event(Kind::loaded), event(Kind::active)});
        CHECK(state_of(receipt, view_of_stripped()) == ProcessState::reexecuted);
        auto view = view_of_stripped();
        view.facts->image = "/bin/other";
        view.facts->image_identity = kOther;
        const auto judged = launch::judge_process(receipt, view);
        CHECK(judged.state == ProcessState::reexecuted);
        CHECK(judged.reason == "it runs '/bin/other' now");
    }

    TEST_CASE("another image with the shim in it is not stock: it inherited") {
        auto view = view_of_live();
        view.facts->image_identity = kOther;
        CHECK(
            state_of(receipt_with({event(Kind::loaded), event(Kind::active), event(Kind::loaded)}),
                     view) == ProcessState::loaded);
    }

    TEST_CASE("another image whose mapped files cannot be read is stock unless it could inherit") {
        auto view = view_of_live();
        view.facts->image_identity = kOther;
        view.has_library = Tri::unknown;
        CHECK(state_of(receipt_with({event(Kind::loaded)}), view) == ProcessState::reexecuted);
        ReceiptEvent inheriting = event(Kind::loaded);
        inheriting.children_inherit = true;
        CHECK(state_of(receipt_with({inheriting}), view) == ProcessState::unconfirmed);
    }

    TEST_CASE("the same image whose mapped files cannot be read is believed") {
        auto view = view_of_live();
        view.has_library = Tri::unknown;
        CHECK(state_of(receipt_with({event(Kind::loaded)}), view) == ProcessState::loaded);
        view.facts->image_identity.reset();
        view.facts->image.clear();
        CHECK(state_of(receipt_with({event(Kind::loaded)}), view) == ProcessState::loaded);
    }

    TEST_CASE("stripped only if everything speaks for it") {
        const auto receipt = receipt_with({});
        REQUIRE(state_of(receipt, view_of_stripped()) == ProcessState::stripped);

        struct Row {
            const char* what;
            void (*change)(launch::Receipt&, launch::ProcessView&);
        };
        const std::vector<Row> rows{
            {"a library of another maker",
             [](launch::Receipt& r, launch::ProcessView&) { r.is_own_shim = false; }},
            {"an uncertain outcome",
             [](launch::Receipt& r, launch::ProcessView&) { r.outcome = "uncertain"; }},
            {"two seconds", [](launch::Receipt&,
                               launch::ProcessView& v) { v.receipt_age_ns = launch::kPatienceNs; }},
            {"a clock that was set back",
             [](launch::Receipt&, launch::ProcessView& v) { v.receipt_age_ns = -1; }},
            {"stopped",
             [](launch::Receipt&, launch::ProcessView& v) { v.facts->is_stopped = true; }},
            {"another image",
             [](launch::Receipt&, launch::ProcessView& v) { v.facts->image_identity = kOther; }},
            {"metalrun itself",
             [](launch::Receipt&, launch::ProcessView& v) { v.facts->image_identity = kMetalrun; }},
            {"an unknown image",
             [](launch::Receipt&, launch::ProcessView& v) {
                 v.facts->image.clear();
                 v.facts->image_identity.reset();
             }},
            {"another user",
             [](launch::Receipt&, launch::ProcessView& v) { v.facts->effective_user = 502; }},
            {"an unknown user",
             [](launch::Receipt&, launch::ProcessView& v) { v.facts->effective_user.reset(); }},
            {"the library is mapped",
             [](launch::Receipt&, launch::ProcessView& v) { v.has_library = Tri::yes; }},
            {"mapped files cannot be read",
             [](launch::Receipt&, launch::ProcessView& v) { v.has_library = Tri::unknown; }},
            {"no start time", [](launch::Receipt& r, launch::ProcessView&) { r.start_time = 0; }},
            {"nothing is known of the process",
             [](launch::Receipt&, launch::ProcessView& v) { v.facts.reset(); }},
        };
        for (const Row& row : rows) {
            CAPTURE(std::string(row.what));
            auto changed = receipt;
            auto view = view_of_stripped();
            row.change(changed, view);
            const auto judged = launch::judge_process(changed, view);
            CHECK(judged.state == ProcessState::unconfirmed);
            CHECK_FALSE(judged.reason.empty());
        }
    }

    TEST_CASE("a path that is the image's is enough where its file is not known") {
        auto view = view_of_stripped();
        view.facts->image_identity.reset();
        CHECK(state_of(receipt_with({}), view) == ProcessState::stripped);
    }

    TEST_CASE("dead: no such process, or one that started at another time") {
        const auto receipt = receipt_with({event(Kind::loaded), event(Kind::active)});
        CHECK(state_of(receipt, {.is_gone = true}) == ProcessState::dead);
        auto view = view_of_live();
        view.facts->start_time = 100;
        CHECK(state_of(receipt, view) == ProcessState::dead);
        auto stock = receipt;
        stock.injects = false;
        CHECK(state_of(stock, view) == ProcessState::dead);
        view.facts.reset();
        CHECK(state_of(receipt, view) == ProcessState::unconfirmed);
    }

    TEST_CASE("children are told apart, each by what it said last") {
        const auto children = launch::children_of(
            receipt_with({event(Kind::loaded), event(Kind::loaded, 5), event(Kind::loaded, 3),
                          event(Kind::active, 5), event(Kind::active, 9)}));
        REQUIRE(children.size() == 3);
        CHECK(children[0].process_id == 5);
        CHECK(children[0].judgement.state == ProcessState::active);
        CHECK(children[1].process_id == 3);
        CHECK(children[1].judgement.state == ProcessState::loaded);
        CHECK(children[2].process_id == 9); // forked off a process that has the shim
        CHECK(children[2].judgement.state == ProcessState::active);
    }

    TEST_CASE("as predicted: active, loaded and stock by decision") {
        std::vector<std::string> good;
        for (const ProcessState state :
             {ProcessState::active, ProcessState::loaded, ProcessState::reexecuted,
              ProcessState::stock_by_decision, ProcessState::stock_by_shim, ProcessState::stripped,
              ProcessState::unconfirmed, ProcessState::dead}) {
            if (launch::is_as_predicted(state)) {
                good.emplace_back(launch::to_string(state));
            }
        }
        CHECK(good == std::vector<std::string>{"active", "loaded", "stock-by-decision"});
    }

} // TEST_SUITE
