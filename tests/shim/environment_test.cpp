// SPDX-License-Identifier: MIT
//
// Taking the shim out of an environment in place.
#include "environment.hpp"
#include "runtime.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun::shim;

namespace {

using Strings = std::vector<std::string>;

bool is_test_shim(const char* path) noexcept {
    return std::strcmp(path, "/lib/shim.so") == 0;
}

std::string insertion(const std::string& value) {
    return std::string(kInsertionVariable) + "=" + value;
}

/// What is left of the entries; also checks that the strings were changed where they lie.
Strings edited(Strings entries) {
    std::vector<char*> vector;
    std::vector<std::size_t> lengths;
    for (auto& entry : entries) {
        vector.push_back(entry.data());
        lengths.push_back(entry.size());
    }
    vector.push_back(nullptr);
    for (int round = 0; round < 2; ++round) { // the second one finds nothing to do
        remove_shim(vector.data(), &is_test_shim);
    }
    Strings left;
    for (char** entry = vector.data(); *entry != nullptr; ++entry) {
        std::size_t owner = 0;
        while (owner < entries.size() && entries[owner].data() != *entry) {
            ++owner;
        }
        REQUIRE(owner < entries.size());
        CHECK(std::strlen(*entry) <= lengths[owner]);
        left.emplace_back(*entry);
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
