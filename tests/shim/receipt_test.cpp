// SPDX-License-Identifier: MIT
//
// The text of a record. Which files it is appended to: receipt_file_test.cpp.
#include "receipt.hpp"

#include <string>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace metalrun::shim;

namespace {

std::string text_of(const Record& record) {
    return {record.data(), record.size()};
}

std::string head(const std::string& state) {
    return "[[event]]\npid = " + std::to_string(getpid()) + "\nstate = \"" + state + "\"\n";
}

} // namespace

TEST_SUITE("shim.receipt") {

    TEST_CASE("a record is one event table with a blank line at its end") {
        const Record record("loaded");
        CHECK(text_of(record) == head("loaded") + "\n");
    }

    TEST_CASE("keys follow in the order in which they were added") {
        Record record("active");
        record.text("device", "Apple Paravirtual device");
        record.number("ceiling", 1009);
        record.number("none", 0);
        record.number("most", 18446744073709551615UL);
        CHECK(text_of(record) == head("active") +
                                     "device = \"Apple Paravirtual device\"\nceiling = 1009\n"
                                     "none = 0\nmost = 18446744073709551615\n\n");
    }

    TEST_CASE(
        "what would end the string or the line is escaped, halves of characters are not kept") {
        Record record("active");
        record.text("device", "a\"b\\c\nd\x7f\t\xc3\xa9");
        CHECK(text_of(record) ==
              head("active") + "device = \"a\\u0022b\\u005cc\\u000ad\\u007f\\u0009??\"\n\n");
    }

    TEST_CASE("a long string is cut, and a key that does not fit is left out whole") {
        const std::string long_name(500, 'x');
        const std::string worst_name(500, '\n');
        Record record("active");
        record.text("device", long_name.c_str());
        const auto with_name = head("active") + "device = \"" + std::string(127, 'x') + "\"\n";
        CHECK(text_of(record) == with_name + "\n");
        record.text("one", worst_name.c_str());
        const auto full = text_of(record);
        CHECK(full.size() > 127 * 6);
        record.text("two", worst_name.c_str());
        CHECK(text_of(record) == full);
        record.number("last", 7);
        CHECK(text_of(record) == full.substr(0, full.size() - 1) + "last = 7\n\n");
        for (int count = 0; count < 200; ++count) {
            record.number("n", 1);
        }
        CHECK(record.size() <= 1024);
        CHECK(text_of(record).ends_with("n = 1\n\n"));
    }

} // TEST_SUITE
