// SPDX-License-Identifier: MIT
//
// Page hashes of a target, as `check` and `run --verify` compare them.
#include "commands/verify.hpp"
#include "macho_builder.hpp"
#include "system/fake.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::tests;

namespace {

std::string signature_for(std::size_t size) {
    return make_super_blob({{0, make_directory(code_before_signature(size))}});
}

std::string signed_program() {
    const std::size_t size = signature_for(0).size();
    return code_before_signature(size) + signature_for(size);
}

target::Image image_of(FakeSystem& system, const std::string& program) {
    system.add_program("/p/prog", program);
    const target::Chain chain = target::resolve(system, "/p/prog", {});
    REQUIRE(chain.image.has_value());
    return *chain.image;
}

} // namespace

TEST_SUITE("verify") {
    TEST_CASE("the pages of a program are compared, a damaged one is found") {
        FakeSystem system;
        const std::string whole = signed_program();
        target::Image good = image_of(system, whole);
        CHECK(good.pages.empty()); // a start does not look
        commands::verify_image(system, good, std::nullopt, commands::Slices::running,
                               commands::Hashing::in_this_thread);
        REQUIRE(good.pages.size() == 1);
        REQUIRE(good.pages.front().has_value());
        CHECK(good.pages.front()->checked == 4);
        CHECK(good.pages.front()->good());

        std::string damaged = whole;
        damaged.at(0x2fff) = 'x';
        target::Image bad = image_of(system, damaged);
        commands::verify_image(system, bad, std::nullopt, commands::Slices::all,
                               commands::Hashing::by_workers);
        REQUIRE(bad.pages.size() == 1);
        CHECK(bad.pages.front()->first_bad == 2U);
    }

    TEST_CASE("a slice that is not started is hashed only when all are asked for") {
        FakeSystem system;
        target::Image image = image_of(system, signed_program());
        commands::verify_image(system, image, cli::Arch::x86_64, commands::Slices::running,
                               commands::Hashing::in_this_thread);
        REQUIRE(image.pages.size() == 1);
        CHECK_FALSE(image.pages.front().has_value());
    }
}
