// SPDX-License-Identifier: MIT
#include "launch/receipt_reader.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace metalrun;
using launch::ReceiptEvent;

namespace {

// As the launcher of version 1 writes it.
const std::string kHead = "# metalrun: what was started, and what became of it\n"
                          "metalrun = \"1.0.0\"\npid = 4711\nstart_time = 99\n"
                          "target = \"llama-server\"\nimage = \"/opt/llama-server\"\n"
                          "device = 7\ninode = 8\nprofile = \"llama.cpp\"\n"
                          "profile_origin = \"built-in\"\ndecision = \"inject\"\n"
                          "outcome = \"loads\"\nlibrary = \"/opt/shim.so\"\nshim = \"own\"\n"
                          "[plan]\nceiling = 1007\n\n";

// As the shim writes it.
const std::string kLoaded =
    "[[event]]\npid = 4711\nstate = \"loaded\"\nhook = \"early\"\nchildren = \"inherit\"\n\n";
const std::string kActive =
    "[[event]]\npid = 4711\nstate = \"active\"\nclass = \"Device\"\nceiling = 1007\n"
    "family_stock = 1005\nfamily_given = 1007\ndevice = \"A device\"\n"
    "threadgroup_stock = 32768\nthreadgroup_given = 65536\n\n";

launch::Receipt read(const std::string& text) {
    auto receipt = launch::parse_receipt(text, "4711.toml");
    REQUIRE(receipt);
    return *receipt;
}

std::string without_line(std::string text, const std::string& begin) {
    const std::size_t at = text.find("\n" + begin) + 1;
    REQUIRE(at != 0);
    return text.erase(at, text.find('\n', at) - at + 1);
}

} // namespace

TEST_SUITE("launch.receipt_reader") {

    TEST_CASE("the part before the start is read") {
        const launch::Receipt receipt = read(kHead);
        CHECK(receipt.version == "1.0.0");
        CHECK(receipt.process_id == 4711);
        CHECK(receipt.start_time == 99);
        CHECK(receipt.target == "llama-server");
        CHECK(receipt.image == "/opt/llama-server");
        CHECK(receipt.image_identity == FileIdentity{.device = 7, .inode = 8});
        CHECK(receipt.profile == "llama.cpp");
        CHECK(receipt.profile_origin == "built-in");
        CHECK(receipt.injects);
        CHECK(receipt.outcome == "loads");
        CHECK(receipt.library == "/opt/shim.so");
        CHECK(receipt.is_own_shim);
        CHECK(receipt.events.empty());
        CHECK(receipt.unreadable_events == 0);
    }

    TEST_CASE("events are read in order, with the answers that they have") {
        const launch::Receipt receipt = read(kHead + kLoaded + kActive);
        REQUIRE(receipt.events.size() == 2);
        CHECK(receipt.events[0].kind == ReceiptEvent::Kind::loaded);
        CHECK(receipt.events[0].children_inherit);
        const ReceiptEvent& active = receipt.events[1];
        CHECK(active.kind == ReceiptEvent::Kind::active);
        CHECK(active.device == "A device");
        CHECK(active.device_class == "Device");
        CHECK(active.family == launch::Answer{.stock = 1005, .given = 1007});
        CHECK(active.threadgroup_memory == launch::Answer{.stock = 32768, .given = 65536});
        CHECK_FALSE(active.working_set);
    }

    TEST_CASE("of every prefix, the whole events are read and nothing else") {
        const std::string whole = kHead + kLoaded + kActive;
        for (std::size_t length = 0; length <= whole.size(); ++length) {
            CAPTURE(length);
            const auto receipt = launch::parse_receipt(whole.substr(0, length), "4711.toml");
            CHECK(receipt.has_value() == (length >= kHead.size()));
            if (receipt) {
                const std::size_t events = length == whole.size()                    ? 2
                                           : length >= kHead.size() + kLoaded.size() ? 1
                                                                                     : 0;
                CHECK(receipt->events.size() == events);
                CHECK(receipt->unreadable_events == 0);
            }
        }
    }

    TEST_CASE("a torn event or one of another form is counted and costs no other") {
        for (const std::string other :
             {"[[event]]\npid = 4711\nsta\n\n", "[[event]]\npid = 4711\nstate = \"asleep\"\n\n",
              "[[event]]\npid = 0\nstate = \"active\"\n\n",
              "[[event]]\npid = 2147483648\nstate = \"active\"\n\n",
              "[[event]]\npid = -1\nstate = \"active\"\n\n", "[event]\npid = 1\n\n", "\xff\n\n",
              "event = [1]\n\n", "event = []\n\n", "decision = \"stock\"\n\n"}) {
            CAPTURE(other);
            const launch::Receipt receipt = read(kHead + other + kLoaded);
            CHECK(receipt.events.size() == 1);
            CHECK(receipt.unreadable_events == 1);
            CHECK(receipt.injects);
        }
    }

    TEST_CASE("what has no process or no decision is no receipt") {
        CHECK_FALSE(launch::parse_receipt(without_line(kHead, "pid"), "x"));
        CHECK_FALSE(launch::parse_receipt(without_line(kHead, "decision"), "x"));
        for (const char* text :
             {"", "\n", "\n\n", "pid = 1\n\n", "[[event]]\n\n", "pid = = 1\n\n",
              "pid = 1\ndecision = \"refuse\"\n\n", "pid = 1.0\ndecision = \"stock\"\n\n"}) {
            CAPTURE(std::string(text));
            CHECK_FALSE(launch::parse_receipt(text, "x"));
        }
    }

    TEST_CASE("what a start does not know may be missing") {
        std::string text = kHead;
        for (const char* key : {"start_time", "image", "device", "shim"}) {
            text = without_line(text, key);
        }
        const launch::Receipt receipt = read(text);
        CHECK(receipt.start_time == 0);
        CHECK(receipt.image.empty());
        CHECK_FALSE(receipt.image_identity);
        CHECK_FALSE(receipt.is_own_shim);
    }

    TEST_CASE("what was begun as a receipt looks like one, finished or not") {
        CHECK(launch::looks_like_receipt(kHead));
        CHECK(launch::looks_like_receipt(""));
        CHECK(launch::looks_like_receipt("# metalrun: what"));
        CHECK_FALSE(launch::looks_like_receipt("# metalrun is good"));
        CHECK_FALSE(launch::looks_like_receipt("schema = 1\n"));
    }

    TEST_CASE("only a regular file of mode 0600 with one name, of this user, is taken") {
        const FileStatus good{.kind = FileKind::regular, .mode = 0600, .owner = 501, .links = 1};
        CHECK_FALSE(launch::find_fault(good, 501));
        CHECK(launch::find_fault(good, 502));
        for (const FileKind kind :
             {FileKind::directory, FileKind::symbolic_link, FileKind::other}) {
            FileStatus other = good;
            other.kind = kind;
            CHECK(launch::find_fault(other, 501));
        }
        for (const std::uint32_t mode : {0400U, 0640U, 0602U, 04600U, 0700U}) {
            FileStatus other = good;
            other.mode = mode;
            CHECK(launch::find_fault(other, 501));
        }
        FileStatus linked = good;
        linked.links = 2;
        CHECK(launch::find_fault(linked, 501));
    }

} // TEST_SUITE
