// SPDX-License-Identifier: MIT
//
// What `status` prints of a process in each state: as lines, as a table, and as JSON.
#include "report/status_report.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace metalrun;
using launch::ProcessState;
using report::StatusEntry;
using report::StatusReport;

namespace {

launch::Receipt receipt_of(int process_id, std::string target) {
    return {.process_id = process_id,
            .target = target,
            .image = "/opt/homebrew/bin/" + target,
            .profile = "llama.cpp",
            .profile_origin = "built-in",
            .injects = true,
            .outcome = "loads",
            .library = "/opt/homebrew/lib/metalrun/libmetalrun_shim.dylib",
            .is_own_shim = true};
}

StatusEntry entry_of(int process_id, ProcessState state, std::string reason) {
    return {.receipt = receipt_of(process_id, "llama-server"),
            .judgement = {.state = state, .reason = std::move(reason), .device = {}}};
}

StatusEntry active_entry() {
    StatusEntry entry = entry_of(4711, ProcessState::active, "");
    entry.judgement.device =
        launch::ReceiptEvent{.process_id = 4711,
                             .kind = launch::ReceiptEvent::Kind::active,
                             .device = "Apple Paravirtual device",
                             .device_class = "AppleParavirtDevice",
                             .family = launch::Answer{.stock = 1005, .given = 1007},
                             .threadgroup_memory = launch::Answer{.stock = 32768, .given = 65536}};
    entry.children = {{.process_id = 4712, .judgement = {.state = ProcessState::loaded}},
                      {.process_id = 4713,
                       .judgement = {.state = ProcessState::active,
                                     .device = launch::ReceiptEvent{
                                         .device_class = "AppleParavirtDevice",
                                         .family = launch::Answer{.stock = 1005, .given = 1007}}}}};
    entry.ended_children = 2;
    return entry;
}

StatusEntry stock_entry() {
    StatusEntry entry = entry_of(4721, ProcessState::stock_by_decision, "not-a-guest");
    entry.receipt.injects = false;
    entry.receipt.library.clear();
    return entry;
}

StatusReport whole_report() {
    StatusReport report{
        .version = "1.0.0",
        .folder = "/private/var/folders/zz/C/metalrun",
        .entries = {active_entry(), entry_of(4720, ProcessState::loaded, ""), stock_entry()},
        .ignored = {{.path = "/private/var/folders/zz/C/metalrun/9.toml",
                     .problem = "its mode is not 0600"}},
        .cleared = 3};
    report.entries.push_back(entry_of(4722, ProcessState::reexecuted, "it runs '/bin/zsh' now"));
    report.entries.push_back(
        entry_of(4723, ProcessState::stock_by_shim, "LUME_METAL_APPLE_FAMILY_MAX is malformed"));
    report.entries.push_back(
        entry_of(4724, ProcessState::stripped, "the shim was to be loaded and is not in it"));
    report.entries.push_back(
        entry_of(104725, ProcessState::unconfirmed, "it was started less than two seconds ago"));
    return report;
}

void compare(const std::string& name, const std::string& seen) {
    const std::string path = std::string(METALRUN_GOLDEN_DIR) + "/" + name;
    if (std::getenv("METALRUN_UPDATE_GOLDEN") != nullptr) {
        std::ofstream{path, std::ios::binary} << seen;
    }
    std::ifstream in(path, std::ios::binary);
    CHECK(seen == std::string{std::istreambuf_iterator<char>(in), {}});
}

} // namespace

TEST_SUITE("golden.status") {

    TEST_CASE("every state, as lines, as a table and as JSON") {
        const StatusReport report = whole_report();
        compare("status-lines.txt", report::render_status(report, {}));
        compare("status-table.txt", report::render_status(report, {.columns = 132}));
        compare("status-narrow.txt", report::render_status(report, {.columns = 80}));
        compare("status-colour.txt",
                report::render_status(report, {.colour = report::Colour::on, .columns = 132}));
        compare("status-json.txt", report::render_status_json(report));
    }

    TEST_CASE("no process") {
        const StatusReport report{.version = "1.0.0", .folder = "/run/user/501/metalrun"};
        compare("status-none.txt", report::render_status(report, {.columns = 80}));
        compare("status-none-json.txt", report::render_status_json(report));
    }

} // TEST_SUITE
