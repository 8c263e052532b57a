// SPDX-License-Identifier: MIT
//
// Any text as a receipt.
#include "fuzz_input.hpp"
#include "launch/receipt_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace metalrun;
    const std::string_view text = as_text(tests::input_bytes(data, size));
    const auto receipt = launch::parse_receipt(text, "4711.toml");
    if (!receipt) {
        tests::require(receipt.error().code == Errc::system, "a wrong receipt is no usage error");
        tests::require(receipt.error().message.find('\n') == std::string::npos,
                       "a message is one line");
        return 0;
    }
    tests::require(*receipt == launch::parse_receipt(text, "4711.toml"),
                   "reading again gives the same");
    tests::require(receipt->process_id > 0, "a receipt names a process");
    for (const launch::ReceiptEvent& event : receipt->events) {
        tests::require(event.process_id > 0, "an event names a process");
    }
    // The shim appends at the end, whatever is there.
    const std::string more = std::string(text) + "\n\n[[event]]\npid = 1\nstate = \"loaded\"\n\n";
    const auto longer = launch::parse_receipt(more, "4711.toml");
    tests::require(longer && !longer->events.empty() && longer->events.back().process_id == 1,
                   "an event behind any other is read");
    return 0;
}
