// SPDX-License-Identifier: MIT
//
// Whole outputs of the program against the files in expected/: status, standard output, standard
// error. METALRUN_UPDATE_GOLDEN=1 writes the files anew; read the difference before it is
// committed. Paths and the version are replaced by names: $TMP, $TARGETS, $SHIM, $PREFIX,
// $METALRUN, $VERSION, $PID, $UID.
#include "harness.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <utility>

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;

namespace {

enum class Needs : unsigned char { nothing, root, x86_64, fixtures };

struct Case {
    std::string name;
    Strings arguments; ///< with the names above
    Strings environment = {};
    Needs needs = Needs::nothing;
};

constexpr auto kUnsafeProfile =
    "schema = 1\n[metal]\napple_family = \"apple7\"\n[workload]\nstatus = \"unsafe\"\n"
    "reason = \"it draws wrong pictures at Apple 7\"\n";

Case check_of(const std::string& fixture) {
    return {"check-" + fixture,
            {"check", "--host-facts", "$FACTS", "$FIXTURES/" + fixture},
            {},
            Needs::fixtures};
}

Case lint_of(const std::string& file) {
    return {"profile-lint-" + file, {"profile", "lint", "$TMP/lint/" + file}};
}

// One line for each message that a user can meet.
const std::vector<Case> kCases{
    {"usage", {}},
    {"help", {"--help"}},
    {"version", {"--version"}},
    {"probe-help", {"probe", "--help"}},
    {"doctor-help", {"doctor", "--help"}},
    {"doctor-operand", {"doctor", "this"}},
    {"doctor-facts-missing", {"doctor", "--host-facts", "$TMP/absent.toml"}},
    {"profile-help", {"profile", "--help"}},
    {"no-target", {"--anywhere"}},

    {"unknown-option", {"--famly", "apple7", "--", "$TARGETS/show"}},
    {"unknown-option-letter", {"-Z", "$TARGETS/show"}},
    {"unknown-option-far", {"--xyzzy-quux", "$TARGETS/show"}},
    {"option-abbreviated", {"--prof", "published", "$TARGETS/show"}},
    {"option-without-value", {"--profile"}},
    {"option-with-surplus-value", {"--stock=yes", "$TARGETS/show"}},
    {"option-unknown-word", {"--children", "sometimes", "$TARGETS/show"}},
    {"option-family-too-high", {"--family", "apple11", "$TARGETS/show"}},
    {"option-family-other-kind", {"--family", "metal3", "$TARGETS/show"}},
    {"option-memory-too-much", {"--threadgroup-memory", "128KiB", "$TARGETS/show"}},
    {"option-memory-not-a-size", {"--threadgroup-memory", "lots", "$TARGETS/show"}},
    {"option-env-without-value", {"-e", "NAME", "$TARGETS/show"}},
    {"option-env-forbidden", {"-e", "LD_PRELOAD=x", "$TARGETS/show"}},
    {"option-env-forbidden-ours", {"-e", "LUME_METAL_APPLE_FAMILY_MAX=1009", "$TARGETS/show"}},
    {"option-unset-with-value", {"-u", "A=B", "$TARGETS/show"}},
    {"option-chdir-missing", {"--anywhere", "-C", "$TMP/absent", "--", "$TARGETS/show"}},

    {"target-missing-path", {"--anywhere", "--", "$TMP/absent"}},
    {"target-not-in-path", {"--anywhere", "--", "no-such-program"}},
    {"target-in-local-bin", {"--anywhere", "--", "metalrun-test-tool"}, {"HOME=$TMP"}},
    {"target-empty-name", {"--anywhere", "--", ""}},
    {"target-folder", {"--anywhere", "--", "$TMP/folder"}},
    {"target-not-executable", {"--anywhere", "--", "$TMP/no-run-bit"}},
    {"target-empty-file", {"--anywhere", "--", "$TMP/empty"}},
    {"target-truncated", {"--anywhere", "--", "$TMP/truncated"}},
    {"target-foreign-machine", {"--anywhere", "--", "$TMP/foreign"}, {}, Needs::x86_64},
    {"target-32-bit", {"--anywhere", "--", "$TMP/narrow"}, {}, Needs::x86_64},
    {"target-static", {"--anywhere", "--", "$TARGETS/show_static"}},
    {"target-static-or-stock", {"--anywhere", "--or-stock", "--", "$TARGETS/exit_with_static"}},
    {"target-set-id", {"--anywhere", "--", "$TMP/set-id"}, {}, Needs::root},
    {"target-text", {"--anywhere", "--", "$TMP/text"}},
    {"target-control-bytes", {"--anywhere", "--", "$TMP/\x1b[31mred\n\xff"}},
    {"script-interpreter-missing", {"--anywhere", "--", "$TMP/orphan"}},
    {"script-env-interpreter-missing", {"--anywhere", "--", "$TMP/env-orphan"}},
    {"script-crlf", {"--anywhere", "--", "$TMP/crlf"}},
    {"script-with-own-target", {"--anywhere", "--", "$TMP/own-target"}},
    {"script-loop", {"--anywhere", "--", "$TMP/loop"}},
    {"script-without-interpreter", {"--anywhere", "--", "$TMP/no-interpreter"}},
    {"script-too-long", {"--anywhere", "--", "$TMP/too-long"}},
    {"script-blank", {"--anywhere", "--", "$TMP/blank"}},
    {"script-itself", {"--anywhere", "--", "$TMP/itself"}},
    {"script-env-circle", {"--anywhere", "--", "$TMP/circle"}},
    {"script-env-one-word", {"--anywhere", "--", "$TMP/one-word"}},
    {"script-env-unfollowed", {"--anywhere", "--children", "stock", "--", "$TMP/unfollowed"}},
    {"script-env-resolved", {"--anywhere", "-n", "--stock", "--", "$TMP/options", "x"}},
    {"starter", {"--anywhere", "--children", "stock", "--", "nohup", "llama-server", "-v"}},
    {"starter-managed", {"--anywhere", "--children", "stock", "--", "$TMP/shims/python3"}},

    {"shim-missing", {"--anywhere", "--shim", "$TMP/absent.so", "--", "$TARGETS/show"}},
    {"shim-missing-or-stock",
     {"--anywhere", "--or-stock", "--shim", "$TMP/absent.so", "--", "$TARGETS/exit_with"}},
    {"shim-foreign-machine",
     {"--anywhere", "--shim", "$TMP/foreign.so", "--", "$TARGETS/show"},
     {},
     Needs::x86_64},
    {"shim-text", {"--anywhere", "--shim", "$TMP/text", "--", "$TARGETS/show"}},
    {"shim-empty", {"--anywhere", "--shim", "$TMP/empty", "--", "$TARGETS/show"}},
    {"shim-truncated", {"--anywhere", "--shim", "$TMP/truncated.so", "--", "$TARGETS/show"}},
    {"shim-writable", {"--anywhere", "--shim", "$TMP/writable.so", "--", "$TARGETS/show"}},
    {"shim-folder-writable", {"--anywhere", "--shim", "$TMP/open/shim.so", "--", "$TARGETS/show"}},
    {"shim-path-colon", {"--anywhere", "--shim", "$TMP/a:b.so", "--", "$TARGETS/show"}},
    {"shim-path-newline", {"--anywhere", "--shim", "$TMP/a\nb.so", "--", "$TARGETS/show"}},

    {"login-shell", {"--anywhere", "--", "$TMP/shells/zsh", "-il"}},
    {"login-shell-link", {"--anywhere", "--argv0", "-zsh", "--", "$TMP/shells/tool"}},
    {"login-shell-by-profile", {"--anywhere", "-p", "$TMP/inherit.toml", "--", "$TMP/shells/zsh"}},
    {"session-by-profile",
     {"--anywhere", "-p", "$TMP/inherit.toml", "--", "$TMP/shells/tmux", "new-session"}},
    {"login-shell-or-stock", {"--anywhere", "--or-stock", "--", "$TMP/shells/zsh"}},
    {"login-shell-asked", {"--anywhere", "--children", "inherit", "--", "$TMP/shells/zsh"}},
    {"shell-with-commands", {"--anywhere", "--", "$TMP/shells/zsh", "-i", "-c", "0"}},

    {"not-a-guest", {"--", "$TARGETS/exit_with"}},
    {"stock-asked", {"--stock", "--", "$TARGETS/exit_with"}},
    {"profile-stock", {"--anywhere", "-p", "stock", "--", "$TARGETS/exit_with"}},
    {"no-benefit", {"--anywhere", "-p", "mlx", "--", "$TARGETS/exit_with"}},
    {"unsafe", {"--anywhere", "-p", "$TMP/unsafe.toml", "--", "$TARGETS/show"}},
    {"unsafe-with-family",
     {"--anywhere", "-p", "$TMP/unsafe.toml", "--family", "apple7", "--", "$TARGETS/exit_with"}},

    {"profile-unknown", {"--anywhere", "-p", "lama.cpp", "--", "$TARGETS/show"}},
    {"profile-missing-file", {"--anywhere", "-p", "$TMP/absent.toml", "--", "$TARGETS/show"}},
    {"profile-folder", {"--anywhere", "-p", "$TMP/folder", "--", "$TARGETS/show"}},
    {"profile-writable", {"--anywhere", "-p", "$TMP/writable.toml", "--", "$TARGETS/show"}},
    {"profile-folder-writable", {"--anywhere", "-p", "$TMP/open/good.toml", "--", "$TARGETS/show"}},
    {"profile-unknown-key", {"--anywhere", "-p", "$TMP/unknown-key.toml", "--", "$TARGETS/show"}},
    {"profile-unknown-table",
     {"--anywhere", "-p", "$TMP/unknown-table.toml", "--", "$TARGETS/show"}},
    {"profile-wrong-type", {"--anywhere", "-p", "$TMP/wrong-type.toml", "--", "$TARGETS/show"}},
    {"profile-out-of-range", {"--anywhere", "-p", "$TMP/out-of-range.toml", "--", "$TARGETS/show"}},
    {"profile-raised-limit-with-stock",
     {"--anywhere", "-p", "$TMP/raised.toml", "--", "$TARGETS/show"}},
    {"profile-forbidden-variable",
     {"--anywhere", "-p", "$TMP/forbidden.toml", "--", "$TARGETS/show"}},
    {"profile-malformed", {"--anywhere", "-p", "$TMP/malformed.toml", "--", "$TARGETS/show"}},
    {"profile-duplicate-key", {"--anywhere", "-p", "$TMP/duplicate.toml", "--", "$TARGETS/show"}},
    {"profile-wrong-schema", {"--anywhere", "-p", "$TMP/schema.toml", "--", "$TARGETS/show"}},
    {"profile-without-schema", {"--anywhere", "-p", "$TMP/no-schema.toml", "--", "$TARGETS/show"}},
    {"profile-variable-unknown",
     {"--anywhere", "--", "$TARGETS/show"},
     {"METALRUN_PROFILE=no-such-profile"}},

    {"dry-run", {"-n", "--anywhere", "-p", "llama.cpp", "--", "$TARGETS/show", "an argument", ""}},
    {"dry-run-published",
     {"-n", "--anywhere", "-p", "published", "-e", "A=1", "-u", "B", "--", "$TARGETS/show"}},
    {"dry-run-matched", {"-n", "--anywhere", "--", "$TMP/llama-server"}},
    {"dry-run-matched-arguments", {"-n", "--anywhere", "--", "$TMP/ollama", "serve"}},
    {"dry-run-script", {"-n", "$TMP/launch", "own"}},
    {"dry-run-stock", {"-n", "--stock", "--", "$TARGETS/show"}},
    {"dry-run-refused", {"-n", "--anywhere", "--", "$TARGETS/show_static"}},
    {"dry-run-not-a-guest", {"-n", "--", "$TARGETS/show"}},
    {"verbose", {"-v", "--anywhere", "-p", "llama.cpp", "--", "$TARGETS/exit_with"}},

    {"profile-list", {"profile", "list"}},
    {"profile-show", {"profile", "show", "llama.cpp"}},
    {"profile-show-file", {"profile", "show", "$TMP/good.toml"}},
    {"profile-show-default", {"profile", "show"}},
    {"profile-show-variable", {"profile", "show"}, {"METALRUN_PROFILE=$TMP/good.toml"}},
    {"profile-show-lowered",
     {"profile", "show", "--host-facts", "$TMP/guest-14.toml", "$TMP/quirks.toml"}},
    {"profile-show-other-chip",
     {"profile", "show", "--host-facts", "$TMP/guest-13.toml", "$TMP/quirks.toml"}},
    {"profile-show-facts-missing",
     {"profile", "show", "--host-facts", "$TMP/absent.toml", "llama.cpp"}},
    {"profile-show-json",
     {"profile", "show", "--json", "--host-facts", "$TMP/guest-14.toml", "$TMP/quirks.toml"}},
    {"profile-show-unknown", {"profile", "show", "lama.cpp"}},
    {"profile-lint-good", {"profile", "lint", "$TMP/good.toml"}},
    {"profile-lint-bad",
     {"profile", "lint", "$TMP/unknown-key.toml", "$TMP/good.toml", "$TMP/absent.toml"}},
    {"profile-lint-json",
     {"profile", "lint", "--json", "$TMP/lint/misplaced", "$TMP/good.toml", "$TMP/absent.toml"}},
    {"profile-lint-nothing", {"profile", "lint"}},
    lint_of("mark"),
    lint_of("mark-alone"),
    lint_of("misplaced"),
    lint_of("carriage-return"),
    lint_of("hash"),
    lint_of("long"),
    lint_of("too-long"),
    lint_of("joined"),
    lint_of("no-interpreter"),
    lint_of("blank"),
    lint_of("relative"),
    lint_of("no-target"),
    lint_of("no-run-bit"),
    lint_of("no-line"),
    lint_of("writable"),
    lint_of("python"),
    {"profile-verb-missing", {"profile"}},
    {"profile-verb-unknown", {"profile", "shwo"}},

    {"status-help", {"status", "--help"}},
    {"status-no-folder", {"status"}},
    {"status-absent-folder", {"status"}, {"METALRUN_STATE_DIR=$TMP/absent"}},
    {"status-absent-process", {"status", "1"}, {"METALRUN_STATE_DIR=$TMP/absent"}},
    {"status-foreign-folder", {"status"}, {"METALRUN_STATE_DIR=$TMP/open"}},
    {"status-linked-folder", {"status"}, {"METALRUN_STATE_DIR=$TMP/link"}},
    {"status-not-a-number", {"status", "llama-server"}},
    {"status-two-numbers", {"status", "1", "2"}},

    {"check-help", {"check", "--help"}},
    {"check-nothing", {"check"}},
    {"check-facts-missing", {"check", "--host-facts", "$TMP/absent.toml", "$TARGETS/show"}},
    {"check-facts-unknown-key", {"check", "--host-facts", "$TMP/facts.toml", "$TARGETS/show"}},
    {"check-text", {"check", "--host-facts", "$FACTS", "$TMP/text"}},
    {"check-missing", {"check", "--host-facts", "$FACTS", "$TMP/absent"}},
    {"check-launcher-script", {"check", "--host-facts", "$FACTS", "$TMP/lint/no-run-bit"}},
    {"check-launcher-script-broken", {"check", "--host-facts", "$FACTS", "$TMP/lint/no-target"}},
    {"check-launcher-script-json",
     {"check", "--json", "--host-facts", "$TMP/guest-14.toml", "$TMP/launch-fixture"},
     {},
     Needs::fixtures},
    {"check-script", {"check", "--host-facts", "$FACTS", "$TMP/orphan"}},
    check_of("plain"),
    check_of("universal"),
    check_of("unsigned"),
    check_of("hardened"),
    check_of("hardened-both"),
    check_of("hardened-false"),
    check_of("library-validation"),
    check_of("library.dylib"),
    check_of("restrict-segment"),
    check_of("restrict-flag"),
    check_of("platform"),
    check_of("sandboxed"),
    check_of("constrained"),
    check_of("team-signed"),
    check_of("x86_64-only"),
    check_of("arm64e-only"),
    check_of("arm64-arm64e"),
    {"check-assumed", {"check", "$FIXTURES/plain"}, {}, Needs::fixtures},
    {"check-rosetta",
     {"check", "--host-facts", "$FACTS", "--arch", "x86_64", "--children", "inherit",
      "$FIXTURES/x86_64-only"},
     {},
     Needs::fixtures},
    {"check-json-inherit",
     {"check", "--json", "--host-facts", "$FACTS", "--children", "inherit", "$FIXTURES/plain"},
     {},
     Needs::fixtures},
    {"check-child-would-die",
     {"check", "--host-facts", "$TMP/older.toml", "--children", "inherit", "$FIXTURES/plain"},
     {},
     Needs::fixtures},
    {"check-child-would-die-if-safe",
     {"check", "--host-facts", "$TMP/older.toml", "--children", "inherit-if-safe",
      "$FIXTURES/plain"},
     {},
     Needs::fixtures},
    {"check-json",
     {"check", "--json", "--host-facts", "$FACTS", "$FIXTURES/hardened-both"},
     {},
     Needs::fixtures},
};

void make_launcher_scripts(const TempFolder& folder) {
    const std::string line = "#!/usr/bin/env metalrun";
    const std::string rest = "\nschema = 1\n[target]\nprogram = \"llama-server\"\n";
    const std::string mark = "\xEF\xBB\xBF";
    const auto write = [&](const std::string& name, const std::string& text, mode_t mode = 0755) {
        folder.write("lint/" + name, text, mode);
    };
    write("mark", mark + line + rest);
    write("mark-alone", mark + rest, 0644);
    write("misplaced", "\n" + line + rest);
    write("carriage-return", line + "\r" + rest);
    write("hash", line + " # in a guest" + rest);
    write("long", "#!/usr/bin/env -S metalrun -p " + std::string(300, 'x') + rest);
    write("too-long", "#!/usr/bin/env -S metalrun -p " + std::string(600, 'x') + rest);
    write("joined", line + " -v -p llama.cpp" + rest);
    write("no-interpreter", "#!" + rest);
    write("blank", "#!/Library/My Tools/metalrun" + rest);
    write("relative", "#!bin/metalrun" + rest);
    write("no-target", line + "\nschema = 1\n");
    write("no-run-bit", line + rest, 0644);
    write("no-line", rest);
    write("writable", line + rest, 0777);
    write("python", "#!/usr/bin/env -S metalrun -p mlx -- python3\nimport mlx\n");
}

void make_files(const TempFolder& folder) {
    make_launcher_scripts(folder);
    const auto elf = read_file(target("show"));
    const auto shim = read_file(programs().shim);
    const std::string head = "schema = 1\n[metal]\n";
    folder.copy(target("show"), ".local/bin/metalrun-test-tool");
    folder.make_folder("folder");
    folder.copy(target("exit_with"), "shells/zsh");
    folder.copy(target("exit_with"), "shells/tmux");
    folder.make_link("zsh", "shells/tool");
    folder.write("inherit.toml",
                 head + "apple_family = \"apple7\"\n[policy]\nchildren = \"inherit\"\n");
    folder.write("no-run-bit", elf, 0644);
    folder.write("empty", "", 0755);
    folder.write("truncated", elf.substr(0, 100), 0755);
    folder.write("foreign", with_machine(elf, foreign_machine()), 0755);
    folder.write("narrow", with_class_32(elf), 0755);
    folder.write("text", "echo this is for a shell\n", 0755);
    folder.write("orphan", "#!/nowhere/interpreter\n", 0755);
    folder.write("env-orphan", "#!/usr/bin/env no-such-interpreter\n", 0755);
    folder.write("crlf", "#!/usr/bin/env\r\n", 0755);
    folder.write("loop", "#!" + programs().metalrun + "\nthis is no profile\n", 0755);
    folder.write("own-target", "#!" + programs().metalrun + " -p mlx -- python3\nimport mlx\n",
                 0755);
    folder.write("no-interpreter", "#!\n", 0755);
    folder.write("too-long", "#!/" + std::string(300, 'x') + "\n", 0755);
    folder.copy(target("show"), "a tool");
    folder.write("blank", "#!" + (folder / "a tool") + "\n", 0755);
    folder.write("itself", "#!" + (folder / "itself") + "\n", 0755);
    folder.write("circle", "#!/usr/bin/env " + (folder / "circle") + "\n", 0755);
    folder.write("one-word", "#!/usr/bin/env python3 -u\n", 0755);
    folder.write("unfollowed", "#!/usr/bin/env -S -C / show\n", 0755);
    folder.write("options", "#!/usr/bin/env -S -i A=1 " + target("show") + " -x\n", 0755);
    folder.write("shims/python3",
                 "#!/bin/sh\nexec \"/opt/pyenv/bin/pyenv\" exec \"$program\" \"$@\"\n", 0755);
    folder.write("foreign.so", with_machine(shim, foreign_machine()));
    folder.write("truncated.so", shim.substr(0, 64));
    folder.write("writable.so", shim, 0666);
    folder.write("open/shim.so", shim);
    folder.write("a:b.so", shim);
    folder.write("a\nb.so", shim);
    folder.write("unsafe.toml", kUnsafeProfile);
    folder.write("good.toml",
                 head + "apple_family = \"apple6\"\nthreadgroup_memory = \"48 KiB\"\n");
    folder.write("open/good.toml", head + "apple_family = \"apple6\"\n");
    folder.write("writable.toml", head, 0666);
    folder.write("unknown-key.toml", head + "apple_familly = \"apple7\"\n");
    folder.write("unknown-table.toml", "schema = 1\n[polcy]\nchildren = \"stock\"\n");
    folder.write("wrong-type.toml", head + "never_above_host = \"yes\"\n");
    folder.write("out-of-range.toml", head + "apple_family = \"apple11\"\n");
    folder.write("raised.toml", head + "apple_family = \"stock\"\nthreadgroup_memory = 65536\n");
    folder.write("forbidden.toml", "schema = 1\n[environment]\nset = { LD_PRELOAD = \"x\" }\n");
    folder.write("malformed.toml", "schema = 1\n[metal\n");
    folder.write("duplicate.toml", head + "hook = \"early\"\nhook = \"late\"\n");
    folder.write("schema.toml", "schema = 2\n");
    folder.write("older.toml",
                 "os = \"14.3\"\narchitecture = \"arm64\"\nguest = true\nsip = \"off\"\n");
    folder.write("facts.toml", "chipp = \"Apple M1\"\n");
    folder.write("guest-13.toml", "os = \"13.6\"\narchitecture = \"arm64\"\nguest = true\n"
                                  "chip = \"Apple Z1\"\nsip = \"on\"\n");
    folder.write("guest-14.toml", "os = \"14.2.1\"\narchitecture = \"arm64\"\nguest = true\n"
                                  "chip = \"Apple M1 Pro (Virtual)\"\nsip = \"on\"\n");
    folder.write("quirks.toml",
                 head + "apple_family = \"apple9\"\n"
                        "[[quirk]]\nguest_os = \"13\"\nnote = \"thirteen\"\n"
                        "[[quirk]]\nguest_os = \"14.0..14.3\"\nlevel = \"warn\"\n"
                        "set = { FOURTEEN = \"1\" }\nnote = \"fourteen, early\"\n"
                        "[[quirk]]\nguest_os = \">=26\"\nlevel = \"refuse\"\nnote = \"late\"\n");
    folder.copy(target("show"), "llama-server");
    folder.copy(target("show"), "ollama");
    const std::string script_line = "#!" + programs().metalrun + "\n";
    folder.write("launch",
                 script_line + head +
                     "apple_family = \"apple7\"\n[policy]\nwhere = \"anywhere\"\n" +
                     "[target]\nprogram = \"./llama-server\"\narguments = [\"--port\"]\n",
                 0755);
    folder.write("launch-fixture",
                 script_line + head + "apple_family = \"apple9\"\n[target]\nprogram = \"" +
                     METALRUN_FIXTURES + "/plain\"\n",
                 0755);
    folder.write("no-schema.toml", "[metal]\napple_family = \"apple7\"\n");
    chmod((folder / "open").c_str(), 0777);
    folder.make_link(folder / "folder", "link");
    if (geteuid() == 0) {
        const auto set_id = folder.copy(target("show"), "set-id");
        constexpr uid_t kOtherUser = 65534;
        if (chown(set_id.c_str(), kOtherUser, kOtherUser) == 0) {
            chmod(set_id.c_str(), 04755);
        }
    }
}

/// What stands for which path; the longer path first.
std::vector<std::pair<std::string, std::string>> names(const TempFolder& folder) {
    return {{"$TMP", folder.path()},          {"$TARGETS", programs().targets},
            {"$SHIM", programs().shim},       {"$METALRUN", programs().metalrun},
            {"$FIXTURES", METALRUN_FIXTURES}, {"$FACTS", METALRUN_FACTS},
            {"$PREFIX", METALRUN_PREFIX}};
}

std::string expanded(std::string text, const TempFolder& folder) {
    for (const auto& [name, path] : names(folder)) {
        text = replace_all(text, name, path);
    }
    return text;
}

std::string normalised(std::string text, const TempFolder& folder) {
    for (const auto& [name, path] : names(folder)) {
        text = replace_all(text, path, name);
    }
    // The build is told behind the version; the process differs from run to run.
    const auto version = replace_all(METALRUN_VERSION_TEXT, ".", "[.]");
    text = std::regex_replace(text, std::regex{version + "( \\([^)]*\\))?"}, "$$VERSION");
    text = std::regex_replace(text, std::regex{"owner [0-9]+"}, "owner $$UID");
    // Another compiler makes other code, with other hashes.
    text = std::regex_replace(text, std::regex{"\"cdhash\": \"[0-9a-f]+\""},
                              "\"cdhash\": \"$$CDHASH\"");
    text = std::regex_replace(text, std::regex{"\"checked\": [0-9]+"}, "\"checked\": $$PAGES");
    return std::regex_replace(text, std::regex{"pid = [0-9]+"}, "pid = $$PID");
}

std::string as_document(const Case& example, const Outcome& outcome, const TempFolder& folder) {
    std::string text = "metalrun";
    for (const auto& argument : example.arguments) {
        text += " " + printed({argument}).substr(1);
        text.pop_back();
    }
    text += "\nstatus " + std::to_string(outcome.status());
    text += "\n--- standard output\n" + normalised(outcome.out, folder);
    text += "--- standard error\n" + normalised(outcome.err, folder);
    return text;
}

bool can_run(const Case& example) {
#if defined(__x86_64__)
    const bool is_x86_64 = true;
#else
    const bool is_x86_64 = false;
#endif
    if (example.needs == Needs::root && geteuid() != 0) {
        MESSAGE("skipped, needs root: ", example.name);
        return false;
    }
    if (example.needs == Needs::fixtures && access(METALRUN_FIXTURES "/plain", R_OK) != 0) {
        MESSAGE("skipped, the fixtures were not built: ", example.name);
        return false;
    }
    if (example.needs == Needs::x86_64 && !is_x86_64) {
        MESSAGE("skipped, its text is that of an x86-64 machine: ", example.name);
        return false;
    }
    return true;
}

std::string expected_path(const std::string& name) {
    return std::string{METALRUN_GOLDEN_DIR} + "/" + name + ".txt";
}

} // namespace

TEST_SUITE("golden") {

    TEST_CASE("every message is as it was approved") {
        const bool update = std::getenv("METALRUN_UPDATE_GOLDEN") != nullptr;
        const TempFolder folder;
        make_files(folder);
        for (const auto& example : kCases) {
            if (!can_run(example)) {
                continue;
            }
            Strings arguments;
            for (const auto& argument : example.arguments) {
                arguments.push_back(expanded(argument, folder));
            }
            auto command = metalrun_command(arguments);
            for (const auto& entry : example.environment) {
                command.environment.push_back(expanded(entry, folder));
            }
            const auto seen = as_document(example, run(command), folder);
            if (update) {
                std::ofstream{expected_path(example.name), std::ios::binary} << seen;
            }
            CAPTURE(example.name);
            CHECK(seen == read_file(expected_path(example.name)));
        }
    }

    TEST_CASE("case names are unique") {
        std::set<std::string> seen;
        for (const auto& example : kCases) {
            CHECK_MESSAGE(seen.insert(example.name).second, example.name);
        }
    }

} // TEST_SUITE
