// SPDX-License-Identifier: MIT
//
// Taking the shim out of an environment in place.
#include "environment.hpp"
#include "runtime.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sys/mman.h>

using namespace metalrun::shim;

namespace {

using Strings = std::vector<std::string>;

bool is_test_shim(const char* path) noexcept {
    return std::strcmp(path, "/lib/shim.so") == 0;
}

std::string insertion(const std::string& value) {
    return kInsertionVariable + value;
}

/// What is left of the entries. Also checks that the strings were changed where they lie, that what
/// was taken out is an empty entry before the rest, and that no byte of it can be read any more.
Strings edited(Strings entries) {
    std::vector<char*> vector;
    std::vector<std::size_t> lengths;
    for (auto& entry : entries) {
        vector.push_back(entry.data());
        lengths.push_back(entry.size());
    }
    vector.push_back(nullptr);
    char** const rest = remove_shim(vector.data(), &is_test_shim);
    CHECK(remove_shim(rest, &is_test_shim) == rest); // the second one finds nothing to do
    CHECK(remove_shim(vector.data(), &is_test_shim) == vector.data());
    CHECK(std::find(vector.begin(), vector.end(), nullptr) == vector.end() - 1);
    CHECK(std::all_of(vector.data(), rest, [](const char* entry) { return *entry == '\0'; }));
    Strings left;
    for (char** entry = rest; *entry != nullptr; ++entry) {
        std::size_t owner = 0;
        while (owner < entries.size() && entries[owner].data() != *entry) {
            ++owner;
        }
        REQUIRE(owner < entries.size());
        CHECK(std::strlen(*entry) <= lengths[owner]);
        left.emplace_back(*entry);
    }
    for (const auto& entry : entries) {
        const auto tail = std::find(entry.begin(), entry.end(), '\0');
        CHECK(std::all_of(tail, entry.end(), [](char byte) { return byte == '\0'; }));
    }
    return left;
}

} // namespace

TEST_SUITE("shim.environment") {

    TEST_CASE("the shim's variables go, all others stay in their order") {
        CHECK(edited({"A=1", "LUME_METAL_APPLE_FAMILY_MAX=1009", "B=2",
                      "LUME_METAL_MAX_THREADGROUP_MEMORY=0", "METALRUN_SHIM_HOOK=late",
                      "METALRUN_RECEIPT=/r", "METALRUN_SHIM_CHILDREN=stock", "C=3"}) ==
              Strings{"A=1", "B=2", "C=3"});
    }

    TEST_CASE("names that only look alike stay") {
        const Strings entries{"METALRUN_RECEIPTS=1", "METALRUN_PROFILE=x", "METALRUN_STATE_DIR=/s",
                              "LUME_METALS=1",       "XLUME_METAL_A=1",    "",
                              "LUME_METAL",          "=LUME_METAL_A=1",    "METALRUN_RECEIPT"};
        CHECK(edited(entries) == entries);
    }

    TEST_CASE("the shim's element leaves the insertion variable, the others keep their order") {
        CHECK(edited({insertion("/lib/shim.so:/a.so:/b.so")}) == Strings{insertion("/a.so:/b.so")});
        CHECK(edited({insertion("/a.so:/lib/shim.so:/b.so")}) == Strings{insertion("/a.so:/b.so")});
        CHECK(edited({insertion("/a.so:/b.so:/lib/shim.so")}) == Strings{insertion("/a.so:/b.so")});
        CHECK(edited({insertion("/lib/shim.so:/a.so:/lib/shim.so")}) ==
              Strings{insertion("/a.so")});
        CHECK(edited({insertion("/a.so")}) == Strings{insertion("/a.so")});
        CHECK(edited({insertion("/lib/shim.so.1:/x/lib/shim.so")}) ==
              Strings{insertion("/lib/shim.so.1:/x/lib/shim.so")});
    }

    TEST_CASE("an insertion variable with nothing left goes as a whole") {
        CHECK(edited({"A=1", insertion("/lib/shim.so"), "B=2"}) == Strings{"A=1", "B=2"});
        CHECK(edited({insertion("/lib/shim.so:")}).empty());
        CHECK(edited({insertion("/lib/shim.so:/lib/shim.so")}).empty());
    }

    TEST_CASE("each separator of the system is understood and kept") {
        if (std::strchr(kInsertionSeparators, ' ') != nullptr) {
            CHECK(edited({insertion("/lib/shim.so /a.so /b.so")}) ==
                  Strings{insertion("/a.so /b.so")});
            CHECK(edited({insertion("/a.so /lib/shim.so:/b.so")}) ==
                  Strings{insertion("/a.so:/b.so")});
        } else {
            CHECK(edited({insertion("/x /lib/shim.so")}) == Strings{insertion("/x /lib/shim.so")});
        }
    }

    TEST_CASE("a list that the shim is not in stays as it is, be it empty or odd") {
        for (const auto* value : {"", ":", ":/a.so", "/a.so:", "/a.so::/b.so"}) {
            CHECK(edited({insertion(value), "A=1"}) == Strings{insertion(value), "A=1"});
        }
        CHECK(edited({insertion(""), insertion("/lib/shim.so")}) == Strings{insertion("")});
    }

    TEST_CASE("separators before the first element that stays go with the shim") {
        CHECK(edited({insertion("/lib/shim.so::/a.so")}) == Strings{insertion("/a.so")});
        CHECK(edited({insertion(":/lib/shim.so:/a.so")}) == Strings{insertion("/a.so")});
    }

    TEST_CASE("every entry of a variable that is there several times is looked at") {
        CHECK(edited({insertion("/lib/shim.so"), "A=1", insertion("/b.so:/lib/shim.so"),
                      "METALRUN_SHIM_HOOK=early", "METALRUN_SHIM_HOOK=late"}) ==
              Strings{"A=1", insertion("/b.so")});
    }

    TEST_CASE("an element that is longer than any path is no shim") {
        const auto value = "/lib/shim.so/" + std::string(100'000, 'x');
        CHECK(edited({insertion(value)}) == Strings{insertion(value)});
    }

    TEST_CASE("a constant that some other library gave to putenv is not written to") {
        // A write would end the process.
        static const std::string kConstant = insertion("/a.so:/b.so");
        const std::size_t size = kConstant.size() + 1;
        void* page =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(page != MAP_FAILED);
        std::memcpy(page, kConstant.c_str(), size);
        REQUIRE(mprotect(page, size, PROT_READ) == 0);
        std::vector<char*> vector{static_cast<char*>(page), nullptr};
        CHECK(remove_shim(vector.data(), &is_test_shim) == vector.data());
        CHECK(munmap(page, size) == 0);
    }

    TEST_CASE("a copy of the vector shares its strings with the original") {
        Strings entries{"A=1", "METALRUN_RECEIPT=/r", insertion("/lib/shim.so:/a.so"),
                        insertion("/lib/shim.so"), "B=2"};
        std::vector<char*> original;
        for (auto& entry : entries) {
            original.push_back(entry.data());
        }
        original.push_back(nullptr);
        std::vector<char*> copy = original;
        char** const rest = remove_shim(copy.data(), &is_test_shim);
        CHECK(Strings(rest, copy.data() + copy.size() - 1) ==
              Strings{"A=1", insertion("/a.so"), "B=2"});
        CHECK(remove_shim(original.data(), &is_test_shim) == original.data());
        CHECK(Strings(original.begin(), original.end() - 1) ==
              Strings{"A=1", "", insertion("/a.so"), "", "B=2"});
    }

    TEST_CASE("an empty environment stays empty") {
        CHECK(edited({}).empty());
    }

    TEST_CASE("the own file is known by its path and by any other name of it") {
        CHECK_FALSE(is_this_library(""));
        CHECK_FALSE(is_this_library("/nowhere/at/all"));
        CHECK_FALSE(is_this_library("/bin/sh"));
#if defined(__linux__)
        CHECK(is_this_library("/proc/self/exe")); // here the parts are in the test program
#endif
    }

} // TEST_SUITE
