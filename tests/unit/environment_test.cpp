// SPDX-License-Identifier: MIT
#include "launch/environment.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using launch::Insertion;
using Words = std::vector<std::string>;

namespace {

constexpr auto kLinux = HostFacts::Kernel::linux;
constexpr auto kDarwin = HostFacts::Kernel::darwin;

bool never(const std::string& /*path*/) {
    return false;
}

Insertion read(std::string_view value, HostFacts::Kernel kernel = kLinux) {
    return launch::read_insertion(value, kernel, "/cwd", never);
}

launch::Plan plan_of(std::uint16_t ceiling) {
    launch::Plan plan;
    plan.ceiling = ceiling;
    return plan;
}

} // namespace

TEST_SUITE("launch.environment") {
    TEST_CASE("inherited libraries keep their order and lose empty and repeated elements") {
        const auto insertion = read(":/a.so::/b.so:/a.so:");
        CHECK(insertion.elements == Words{"/a.so", "/b.so"});
        CHECK(insertion.had_empty);
        CHECK_FALSE(read("/a.so").had_empty);
        CHECK_FALSE(read("").had_empty);
    }

    TEST_CASE("ld.so splits at blanks, dyld does not") {
        CHECK(read("/a.so /b.so").elements == Words{"/a.so", "/b.so"});
        CHECK(read("/a b.dylib:/c.dylib", kDarwin).elements == Words{"/a b.dylib", "/c.dylib"});
    }

    TEST_CASE("relative elements become absolute, searched names stay") {
        CHECK(read("lib/x.so:y.so").elements == Words{"/cwd/lib/x.so", "y.so"});
        CHECK(read("y.dylib", kDarwin).elements == Words{"/cwd/y.dylib"});
        CHECK(read("@executable_path/y.dylib", kDarwin).elements ==
              Words{"@executable_path/y.dylib"});
    }

    TEST_CASE("known shims are taken out") {
        const auto insertion = launch::read_insertion(
            "/s.so:/a.so", kLinux, "/", [](const std::string& path) { return path == "/s.so"; });
        CHECK(insertion.elements == Words{"/a.so"});
        CHECK(insertion.removed_shims == Words{"/s.so"});
    }

    TEST_CASE("a change keeps the place of the name and removes its repetitions") {
        Words environment{"A=1", "B=2", "A=3", "AB=4"};
        launch::apply_change(environment, "A", "x");
        CHECK(environment == Words{"A=x", "B=2", "AB=4"});
        launch::apply_change(environment, "B", std::nullopt);
        CHECK(environment == Words{"A=x", "AB=4"});
        launch::apply_change(environment, "C", "");
        CHECK(environment == Words{"A=x", "AB=4", "C="});
    }

    TEST_CASE("a stock start gets what was inherited, less what an outer start left for a shim") {
        const Words inherited{"A=1",
                              "LUME_METAL_APPLE_FAMILY_MAX=1009",
                              "METALRUN_RECEIPT=/r",
                              "METALRUN_SHIM_HOOK=late",
                              "METALRUN_STATE_DIR=/s",
                              "LD_PRELOAD=/x.so"};
        const auto environment = launch::compose_environment(inherited, plan_of(1007),
                                                             read("/x.so"), kLinux, std::nullopt);
        CHECK(environment == Words{"A=1", "METALRUN_STATE_DIR=/s", "LD_PRELOAD=/x.so"});
    }

    TEST_CASE("an injected start gets the shim first and the whole contract") {
        const Words inherited{"LD_PRELOAD=/x.so", "A=1"};
        auto plan = plan_of(1009);
        plan.threadgroup_memory.value = 65536;
        const auto environment = launch::compose_environment(
            inherited, plan, read("/x.so"), kLinux,
            launch::ShimSettings{
                .library = "/shim.so", .receipt = "/r.toml", .children_inherit = true});
        CHECK(environment ==
              Words{"LD_PRELOAD=/shim.so:/x.so", "A=1", "LUME_METAL_APPLE_FAMILY_MAX=1009",
                    "LUME_METAL_MAX_THREADGROUP_MEMORY=65536", "METALRUN_SHIM_HOOK=early",
                    "METALRUN_SHIM_CHILDREN=inherit", "METALRUN_RECEIPT=/r.toml"});
    }

    TEST_CASE("stock threadgroup memory is written as 0, since unset means 64 KiB") {
        const auto environment = launch::compose_environment(
            {}, plan_of(1007), {}, kDarwin,
            launch::ShimSettings{.library = "/s.dylib", .verbose = true});
        CHECK(environment ==
              Words{"DYLD_INSERT_LIBRARIES=/s.dylib", "LUME_METAL_APPLE_FAMILY_MAX=1007",
                    "LUME_METAL_MAX_THREADGROUP_MEMORY=0", "METALRUN_SHIM_HOOK=early",
                    "METALRUN_SHIM_CHILDREN=stock", "METALRUN_SHIM_VERBOSE=1"});
    }

    TEST_CASE("changes of the plan apply in order, and -u LD_PRELOAD drops what was inherited") {
        auto plan = plan_of(1007);
        plan.environment = {
            {"A", "1", "p"}, {"A", std::nullopt, "c"}, {"LD_PRELOAD", std::nullopt, "c"}};
        const Words inherited{"LD_PRELOAD=/x.so"};
        const auto stock =
            launch::compose_environment(inherited, plan, read("/x.so"), kLinux, std::nullopt);
        CHECK(stock.empty());
        const auto injected = launch::compose_environment(inherited, plan, read("/x.so"), kLinux,
                                                          launch::ShimSettings{.library = "/s.so"});
        CHECK(launch::find_variable(injected, "LD_PRELOAD") == "/s.so");
    }

    TEST_CASE("env's changes come behind the plan's, and the shim's behind them") {
        using Kind = target::EnvironmentChange::Kind;
        const Words inherited{"A=1", "B=2", "LD_PRELOAD=/x.so"};
        auto plan = plan_of(1007);
        plan.environment = {{.name = "C", .value = "3", .origin = "command line"}};
        const std::vector<target::EnvironmentChange> changes{
            {.kind = Kind::unset, .name = "A"},
            {.kind = Kind::set, .name = "C", .value = "4"},
            {.kind = Kind::set, .name = "METALRUN_SHIM_HOOK", .value = "late"}};
        CHECK(launch::compose_environment(inherited, plan, read("/x.so"), kLinux, std::nullopt,
                                          changes) == Words{"B=2", "LD_PRELOAD=/x.so", "C=4"});
        const auto injected = launch::compose_environment(
            inherited, plan, read("/x.so"), kLinux, launch::ShimSettings{.library = "/shim.so"},
            std::vector<target::EnvironmentChange>{{.kind = Kind::clear},
                                                   {.kind = Kind::set, .name = "D", .value = "5"}});
        CHECK(injected.at(0) == "D=5");
        CHECK(injected.at(1) == "LD_PRELOAD=/shim.so");
        CHECK(launch::find_variable(injected, "LUME_METAL_APPLE_FAMILY_MAX") == "1007");
    }
}
