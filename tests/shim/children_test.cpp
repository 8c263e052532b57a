// SPDX-License-Identifier: MIT
//
// What is left of the shim in the environment of the process and of its children.
#include "process.hpp"

#include <cstdio>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace shim_test;

namespace {

/// The entries that the client shows, for a given LD_PRELOAD.
std::string shown(const Strings& entries, const Strings& preload) {
    std::string lines;
    for (const auto& entry : entries) {
        lines += "  " + entry + "\n";
    }
    const auto value = preload_value(preload);
    if (!value.empty()) {
        lines += "  LD_PRELOAD=" + value + "\n";
    }
    return "environ:\n" + lines + "original:\n" + lines;
}

Outcome run_client(const char* mode, const std::string& children, const Strings& preload) {
    return run({.arguments = {CLIENT_PROGRAM, mode},
                .environment = {"LUME_METAL_APPLE_FAMILY_MAX=1009", "OTHER=1",
                                "METALRUN_SHIM_CHILDREN=" + children, "METALRUN_RECEIPT=/r"},
                .preload = preload});
}

const Strings kAll{"LUME_METAL_APPLE_FAMILY_MAX=1009", "OTHER=1", "METALRUN_SHIM_CHILDREN=inherit",
                   "METALRUN_RECEIPT=/r"};

} // namespace

TEST_SUITE("shim.children") {

    TEST_CASE("stock children see a clean environment, by environ and by the original vector") {
        for (const auto* mode : {"environment", "child"}) {
            const auto outcome = run_client(mode, "stock", {SHIM_LIBRARY});
            CHECK(outcome.status == 0);
            CHECK(outcome.out == shown({"OTHER=1"}, {}));
            std::printf("%-38s clean\n", (std::string("children stock, ") + mode).c_str());
        }
    }

    TEST_CASE("other preloaded libraries stay, wherever the shim stood") {
        const std::string other = SIMMETAL_LIBRARY;
        for (const auto& preload : {Strings{SHIM_LIBRARY, other}, Strings{other, SHIM_LIBRARY}}) {
            const auto outcome = run_client("child", "stock", preload);
            CHECK(outcome.out == shown({"OTHER=1"}, {other}));
        }
        std::printf("%-38s kept\n", "children stock, other libraries");
    }

    TEST_CASE("the shim is taken out under another name of its file") {
        const Folder folder;
        const auto link = folder / "link.so";
        std::filesystem::create_symlink(SHIM_LIBRARY, link);
        const auto outcome = run_client("child", "stock", {link, SIMMETAL_LIBRARY});
        CHECK(outcome.out == shown({"OTHER=1"}, {SIMMETAL_LIBRARY}));
        std::printf("%-38s clean\n", "children stock, by a link");
    }

    TEST_CASE("inheriting children see all of it") {
        for (const auto* mode : {"environment", "child"}) {
            const auto outcome = run_client(mode, "inherit", {SHIM_LIBRARY});
            CHECK(outcome.out == shown(kAll, {SHIM_LIBRARY}));
            std::printf("%-38s kept\n", (std::string("children inherit, ") + mode).c_str());
        }
    }

    TEST_CASE("the process itself keeps its raised device when its children are stock") {
        const Folder folder;
        const auto receipt = folder.make_receipt();
        const auto outcome =
            run({.arguments = {LINKED_CLIENT_PROGRAM},
                 .environment = {"LUME_METAL_APPLE_FAMILY_MAX=1009", "METALRUN_SHIM_CHILDREN=stock",
                                 "METALRUN_RECEIPT=" + receipt},
                 .preload = {SHIM_LIBRARY}});
        CHECK(outcome.out.starts_with("yes to 1005 1006 1007 1008 1009 3003, memory 65536"));
        CHECK(events_in(read_file(receipt)) == "loaded, active, active");
        std::printf("%-38s %s", "children stock, itself raised", outcome.out.c_str());
    }

} // TEST_SUITE
