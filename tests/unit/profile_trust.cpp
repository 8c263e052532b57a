// SPDX-License-Identifier: MIT
//
// Who may write to a profile or a shim (profile/trust.hpp).
#include "profile/trust.hpp"
#include "system/fake.hpp"
#include "system/platform.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::profile;

namespace {

constexpr std::uint32_t kUser = 501;
constexpr std::uint32_t kStaff = 20;
constexpr std::uint32_t kMetalrunOwner = 600;
constexpr std::uint32_t kStranger = 777;

// A file in /a/b, with one access of the three changed.
struct Tree {
    FakeAccess file;
    FakeAccess folder;
    FakeAccess parent;
};

Result<void> judge(const Tree& tree) {
    FakeSystem system;
    system.user = {
        .user = kUser, .effective_user = kUser, .group = kStaff, .effective_group = kStaff};
    system.add_folder("/a", tree.parent);
    system.add_folder("/a/b", tree.folder);
    system.add_file("/a/b/f", "", tree.file);
    TrustedFolders trust(system, kMetalrunOwner);
    return trust.check("/a/b/f", system.status_of("/a/b/f"), Errc::shim);
}

Result<void> judge_file(FakeAccess file) {
    return judge({.file = file, .folder = {}, .parent = {}});
}

Result<void> judge_folder(FakeAccess folder) {
    return judge({.file = {}, .folder = folder, .parent = {}});
}

Result<void> judge_parent(FakeAccess parent) {
    return judge({.file = {}, .folder = {}, .parent = parent});
}

bool mentions(const Result<void>& result, std::string_view text) {
    return !result && result.error().message.find(text) != std::string::npos;
}

} // namespace

TEST_SUITE("profile.trust") {

    TEST_CASE("files and folders of root, the user and the owner of metalrun are trusted") {
        for (const std::uint32_t owner : {0U, kUser, kMetalrunOwner}) {
            CAPTURE(owner);
            CHECK(judge_file({.mode = 0644, .owner = owner, .group = 5}).has_value());
            CHECK(judge_folder({.mode = 0755, .owner = owner, .group = 5}).has_value());
            CHECK(judge_parent({.mode = 0700, .owner = owner, .group = 5}).has_value());
        }
    }

    TEST_CASE("a file or folder of anyone else is refused, with the numbers") {
        CHECK(mentions(judge_file({.mode = 0644, .owner = kStranger}),
                       "'/a/b/f' belongs to user 777"));
        CHECK(mentions(judge_folder({.mode = 0755, .owner = kStranger}),
                       "'/a/b' belongs to user 777"));
        CHECK(
            mentions(judge_parent({.mode = 0755, .owner = kStranger}), "'/a' belongs to user 777"));
        const Error error = judge_file({.mode = 0644, .owner = kStranger}).error();
        CHECK(error.code == Errc::shim);
        CHECK(error.help == "chown 501 '/a/b/f'");
    }

    TEST_CASE("what everyone may write is refused") {
        const Result<void> file = judge_file({.mode = 0666});
        CHECK(mentions(file, "'/a/b/f' can be written by everyone (mode 0666)"));
        CHECK(file.error().help == "chmod o-w '/a/b/f'");
        CHECK(mentions(judge_file({.mode = 0602, .owner = kUser}), "by everyone"));
        CHECK(mentions(judge_folder({.mode = 0777}),
                       "'/a/b' can be written by everyone (mode 0777)"));
        CHECK(mentions(judge_parent({.mode = 0777}), "'/a' can be written by everyone"));
    }

    TEST_CASE("a sticky folder that everyone may write is accepted, a sticky file is not") {
        CHECK(judge_folder({.mode = 01777}).has_value());
        CHECK(judge_parent({.mode = 01777}).has_value());
        CHECK(judge_folder({.mode = 01777, .owner = 0, .group = 5}).has_value());
        CHECK_FALSE(judge_file({.mode = 01666}).has_value());
        CHECK_FALSE(judge_folder({.mode = 01777, .owner = kStranger}).has_value());
    }

    TEST_CASE("group write is accepted for group 0 and for the owner's own group") {
        CHECK(judge_file({.mode = 0664, .owner = kUser, .group = 0}).has_value());
        CHECK(judge_file({.mode = 0664, .owner = kUser, .group = kUser}).has_value());
        CHECK(judge_folder({.mode = 0775, .owner = kMetalrunOwner, .group = kMetalrunOwner})
                  .has_value());
        CHECK(judge_parent({.mode = 0775, .owner = 0, .group = 0}).has_value());
    }

    TEST_CASE("group write is refused for any other group") {
        const Result<void> file = judge_file({.mode = 0664, .owner = kUser, .group = kStaff});
        CHECK(mentions(file, "'/a/b/f' can be written by group 20 (mode 0664)"));
        CHECK(file.error().help == "chmod g-w '/a/b/f'");
        CHECK(mentions(judge_folder({.mode = 0775, .owner = 0, .group = kStaff}), "'/a/b' can be"));
        CHECK(
            mentions(judge_parent({.mode = 0775, .owner = kUser, .group = kStranger}), "'/a' can"));
        CHECK_FALSE(judge_file({.mode = 0664, .owner = 0, .group = kUser}).has_value());
    }

    TEST_CASE("the group admin is trusted on macOS only") {
        const bool trusted = judge_folder({.mode = 0775, .owner = kUser, .group = 80}).has_value();
        CHECK(trusted == kIsMacOs);
    }

    TEST_CASE("the root folder itself is judged") {
        FakeSystem system;
        system.add_file("/f", "");
        system.status_of("/").mode = 0777;
        TrustedFolders trust(system, 0);
        CHECK(mentions(trust.check("/f", system.status_of("/f"), Errc::profile),
                       "'/' can be written"));
        CHECK(system.was_asked("lstat /"));
    }

    TEST_CASE("each folder is looked at once for all files below it") {
        FakeSystem system;
        system.add_file("/a/b/f", "");
        system.add_file("/a/c/g", "");
        TrustedFolders trust(system, 0);
        REQUIRE(trust.check("/a/b/f", system.status_of("/a/b/f"), Errc::profile).has_value());
        REQUIRE(trust.check("/a/c/g", system.status_of("/a/c/g"), Errc::profile).has_value());
        REQUIRE(trust.check("/a/b/f", system.status_of("/a/b/f"), Errc::profile).has_value());
        CHECK(std::ranges::count(system.calls, "lstat /a/b") == 1);
        CHECK(std::ranges::count(system.calls, "lstat /a/c") == 1);
        CHECK(std::ranges::count(system.calls, "lstat /a") == 1);
        CHECK(std::ranges::count(system.calls, "lstat /") == 1);
    }

    TEST_CASE("a folder below a refused one is not remembered as trusted") {
        FakeSystem system;
        system.add_file("/a/b/f", "");
        system.status_of("/a").mode = 0777;
        TrustedFolders trust(system, 0);
        CHECK_FALSE(trust.check("/a/b/f", system.status_of("/a/b/f"), Errc::profile).has_value());
        CHECK_FALSE(trust.check("/a/b/f", system.status_of("/a/b/f"), Errc::profile).has_value());
    }

    TEST_CASE("a file below a trusted folder is still judged itself") {
        FakeSystem system;
        system.add_file("/a/f", "");
        system.add_file("/a/g", "", {.mode = 0666});
        TrustedFolders trust(system, 0);
        CHECK(trust.check("/a/f", system.status_of("/a/f"), Errc::profile).has_value());
        CHECK_FALSE(trust.check("/a/g", system.status_of("/a/g"), Errc::profile).has_value());
    }

    TEST_CASE("a folder that cannot be looked at is not trusted") {
        FakeSystem system;
        system.add_file("/a/f", "");
        system.refuse("lstat", "/a", EACCES);
        TrustedFolders trust(system, 0);
        CHECK(mentions(trust.check("/a/f", system.status_of("/a/f"), Errc::profile), "'/a'"));
    }
}
