// SPDX-License-Identifier: MIT
//
// The login session stays stock: shells in which people type are refused unless the command line
// asks for them, and no command leaves anything behind but receipts.
#include "harness.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace metalrun::test;

namespace {

/// A program under the name of a shell; it shows with what it was started.
std::string make_shell(const TempFolder& folder, const std::string& name) {
    const auto path = folder / ("shells/" + name);
    return exists(path) ? path : folder.copy(target("show"), "shells/" + name);
}

Shown start_shell(const TempFolder& folder, const Strings& options, const std::string& path,
                  const Strings& arguments) {
    Strings all{"--anywhere"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", path});
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run_show(folder, metalrun_command(all));
}

bool is_refused(const Shown& shown) {
    return !shown.report && shown.outcome.status() == 126 &&
           contains(shown.outcome.err, "[login-shell]");
}

bool has_shim(const Shown& shown) {
    return shown.report && shown.report->has_library(programs().shim);
}

struct Row {
    const char* shell;
    Strings arguments;
};

/// Everything below a folder but its state folder: kind and rights, size, times, and what it holds.
std::map<std::string, std::string> snapshot(const std::string& folder) {
    std::map<std::string, std::string> entries;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        struct stat status{};
        REQUIRE(lstat(entry.path().c_str(), &status) == 0);
        entries[entry.path()] =
            std::to_string(status.st_mode) + " " + std::to_string(status.st_size) + " " +
            std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec) +
            " " + std::to_string(status.st_ctim.tv_nsec) + " " +
            (entry.is_regular_file() ? read_file(entry.path()) : std::string{});
    }
    return entries;
}

/// A home as people have it, a folder for receipts beside it, and a profile.
struct Home {
    TempFolder folder;
    std::string path = folder.make_folder("home");
    std::string state = folder.make_folder("run", 0700) + "/metalrun";
    std::string profile;

    Home() {
        for (const auto* name :
             {".profile", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".zshenv",
              ".config/fish/config.fish", ".config/metalrun/mine.toml",
              "Library/LaunchAgents/mine.plist", "Library/Preferences/mine.plist"}) {
            folder.write("home/" + std::string{name}, "# mine\nschema = 1\n");
        }
        profile = path + "/.config/metalrun/mine.toml";
    }
    [[nodiscard]] Strings environment() const {
        auto entries = base_environment();
        entries.push_back("HOME=" + path);
        entries.push_back("XDG_RUNTIME_DIR=" + (folder / "run"));
        entries.emplace_back("SHELL=/bin/zsh");
        if (exists(programs().simulated_metal)) {
            entries.push_back("LD_PRELOAD=" + programs().simulated_metal);
        }
        return entries;
    }
};

std::string without_marks(std::string word) {
    std::erase_if(word, [](char letter) { return contains("[].", std::string(1, letter)); });
    return word;
}

/// What stands for a word of the help text in a command line.
std::string example_of(const Home& home, const std::string& word) {
    const auto plain = without_marks(word);
    const bool is_placeholder = std::any_of(
        plain.begin(), plain.end(), [](char letter) { return letter >= 'A' && letter <= 'Z'; });
    return !is_placeholder        ? plain
           : plain == "PATH"      ? target("show")
           : plain == "PID"       ? "1"
           : plain == "NAME|FILE" ? "llama.cpp"
                                  : home.profile;
}

/// Every command that the help text names, with an example for each placeholder.
std::vector<Strings> commands_of_help(const Home& home) {
    const auto help = run(metalrun_command({"--help"})).out;
    const auto begin = help.find("\ncommands ");
    REQUIRE(begin != std::string::npos);
    auto lines = lines_of(std::string_view(help).substr(begin + 1));
    lines.erase(lines.begin());
    std::vector<Strings> commands;
    for (const auto& line : lines) {
        if (!line.starts_with("  ") || line.starts_with("   ")) {
            if (line.empty()) {
                break;
            }
            continue; // the rest of an explanation
        }
        const auto usage = line.substr(2, line.find("  ", 2) - 2);
        Strings words;
        for (std::size_t at = 0; at < usage.size();) {
            const auto end = std::min(usage.find(' ', at), usage.size());
            words.push_back(example_of(home, usage.substr(at, end - at)));
            at = end + 1;
        }
        commands.push_back(std::move(words));
    }
    return commands;
}

/// All that metalrun can be asked to do.
std::vector<Strings> all_commands(const Home& home) {
    auto commands = commands_of_help(home);
    for (std::size_t index = 0, count = commands.size(); index < count; ++index) {
        auto as_json = commands[index];
        as_json.emplace_back("--json");
        commands.push_back(std::move(as_json));
    }
    const auto program = target("exit_with");
    for (const Strings& start : std::vector<Strings>{
             {"--anywhere", "--", program, "0"},
             {"--anywhere", "--children", "inherit", "-p", home.profile, "--", program, "0"},
             {"--stock", "--", program, "0"},
             {"-v", "--anywhere", "--", program, "0"},
             {"-n", "--anywhere", "--", program, "0"},
             {"--anywhere", "--", target("exit_with_static"), "0"},
             {"--anywhere", "--or-stock", "--", target("exit_with_static"), "0"},
             {"--anywhere", "--", "/nowhere"},
             {"--help"},
             {"--version"},
             {}}) {
        commands.push_back(start);
    }
    return commands;
}

/// The lines of a trace that change something outside the folder for receipts, or start a program
/// that sets something for a session.
Strings changes_in(const std::string& trace, const std::string& state) {
    Strings found;
    for (const auto& line : lines_of(trace)) {
        const bool opens = contains(line, "open");
        const bool writes = contains(line, "O_WRONLY") || contains(line, "O_RDWR") ||
                            contains(line, "O_CREAT") || contains(line, "O_TRUNC");
        const bool executes = contains(line, "exec");
        const bool is_elsewhere = !contains(line, state) && !contains(line, "\"/dev/null\"") &&
                                  !contains(line, "\"/dev/tty\"") &&
                                  !contains(line, "\"\", "); // no name: there is no receipt
        const bool sets = contains(line, "launchctl") || contains(line, "defaults\"");
        if (executes ? sets : (!opens || writes) && is_elsewhere && contains(line, "(")) {
            found.push_back(line);
        }
    }
    return found;
}

} // namespace

TEST_SUITE("exec.session") {

    TEST_CASE("a shell in which somebody would type is refused") {
        const TempFolder folder;
        for (const auto& [shell, arguments] : std::vector<Row>{{"sh", {}},
                                                               {"bash", {"-il"}},
                                                               {"bash", {"--login"}},
                                                               {"bash", {"-o", "vi"}},
                                                               {"zsh", {"-i"}},
                                                               {"zsh", {"-l"}},
                                                               {"dash", {}},
                                                               {"fish", {"-i"}},
                                                               {"tcsh", {"-l"}},
                                                               {"nu", {}},
                                                               {"pwsh", {"-NoLogo"}},
                                                               {"xonsh", {}}}) {
            CAPTURE(std::string{shell} + " " + printed(arguments));
            const auto shown = start_shell(folder, {}, make_shell(folder, shell), arguments);
            CHECK(is_refused(shown));
            CHECK(contains(shown.outcome.err, "'--children inherit' on the command line"));
        }
        for (const auto* name : {"su", "login"}) { // they start one
            const auto shown = start_shell(folder, {}, make_shell(folder, name), {"-"});
            CHECK_FALSE(shown.report);
            CHECK(shown.outcome.status() == 126);
        }
        CHECK(is_refused(start_shell(folder, {"--argv0", "-zsh"}, make_shell(folder, "zsh"), {})));
        CHECK(is_refused(start_shell(folder, {"--argv0", "-zsh"}, target("show"), {})));
    }

    TEST_CASE("a shell with a script or commands is a program as any other, interactive or not") {
        const TempFolder folder;
        for (const auto& [shell, arguments] :
             std::vector<Row>{{"bash", {"script.sh"}},
                              {"bash", {"-c", "llama-server"}},
                              {"bash", {"-lc", "llama-server"}},
                              {"bash", {"-euo", "pipefail", "script.sh"}},
                              {"sh", {"-s"}},
                              {"zsh", {"-i", "-c", "llama-server"}},
                              {"fish", {"--command", "llama-server"}},
                              {"pwsh", {"-File", "script.ps1"}}}) {
            CAPTURE(std::string{shell} + " " + printed(arguments));
            const auto shown = start_shell(folder, {}, make_shell(folder, shell), arguments);
            CHECK_MESSAGE(has_shim(shown), shown.outcome.err);
        }
    }

    TEST_CASE("a shell is known behind a link, and a link named as a shell is taken for one") {
        const TempFolder folder;
        const auto tool = folder.make_link(make_shell(folder, "zsh"), "tool");
        CHECK(is_refused(start_shell(folder, {}, tool, {})));
        CHECK(has_shim(start_shell(folder, {}, tool, {"-c", "llama-server"})));
        CHECK(
            is_refused(start_shell(folder, {}, folder.make_link(target("show"), "bash"), {"-i"})));
        const auto real = folder.make_link("/bin/sh", "worker");
        CHECK(is_refused(start_shell(folder, {}, real, {})));
    }

    TEST_CASE("only the command line can ask for a session: no profile, no launcher script") {
        const TempFolder folder;
        const auto shell = make_shell(folder, "zsh");
        const auto tmux = make_shell(folder, "tmux");
        const std::string policy = "schema = 1\n[metal]\napple_family = \"apple7\"\n"
                                   "[policy]\nwhere = \"anywhere\"\nchildren = \"inherit\"\n";
        const auto profile = folder.write("inherit.toml", policy);
        CHECK(is_refused(start_shell(folder, {"-p", profile}, shell, {"-l"})));
        CHECK(is_refused(start_shell(folder, {"-p", profile}, tmux, {"new", "-d"})));
        CHECK(has_shim(start_shell(folder, {"-p", profile, "--children", "inherit"}, shell, {})));
        CHECK(has_shim(start_shell(folder, {"--children", "inherit"}, tmux, {"new", "-d"})));
        CHECK(is_refused(start_shell(folder, {"--children", "stock"}, shell, {})));

        Command command;
        command.arguments = {folder.write("session",
                                          "#!" + programs().metalrun + "\n" + policy +
                                              "[target]\nprogram = \"" + shell +
                                              "\"\nargv0 = \"-zsh\"\n",
                                          0755)};
        CHECK(is_refused(run_show(folder, command)));
        const auto judged = run(metalrun_command({"check", command.arguments[0]}));
        CHECK(contains(judged.out, "[login-shell]"));
        CHECK_FALSE(contains(run(metalrun_command({"check", shell})).out, "[login-shell]"));
        command = metalrun_command({"--", shell});
        command.environment.push_back("METALRUN_PROFILE=" + profile);
        CHECK(is_refused(run_show(folder, command)));
    }

    TEST_CASE("without the shim a session may start as it likes") {
        const TempFolder folder;
        const auto shell = make_shell(folder, "zsh");
        for (const auto* option : {"--stock", "--or-stock"}) {
            const auto shown = start_shell(folder, {option}, shell, {"-il"});
            REQUIRE(shown.report);
            CHECK_FALSE(has_shim(shown));
            CHECK(shown.report->environment == shown.given);
        }
    }

    TEST_CASE("no command changes a file: a home, its shell profiles, anything but receipts") {
        const Home home;
        const auto before = snapshot(home.path);
        const auto commands = all_commands(home);
        for (const auto* name : {"check", "probe", "profile"}) { // the help text was understood
            CHECK(std::any_of(commands.begin(), commands.end(), [name](const Strings& command) {
                return !command.empty() && command[0] == name;
            }));
        }
        for (const auto& arguments : commands) {
            CAPTURE(printed(arguments));
            auto command = metalrun_command(arguments);
            command.environment = home.environment();
            command.directory = home.path;
            const auto outcome = run(command);
            CHECK(outcome.signal() == 0);
            CHECK(snapshot(home.path) == before);
            CHECK(snapshot(home.folder / "run").size() ==
                  static_cast<std::size_t>(exists(home.state)) +
                      (exists(home.state) ? snapshot(home.state).size() : 0));
        }
        CHECK_FALSE(snapshot(home.state).empty());
        for (const auto& [path, text] : snapshot(home.state)) {
            CHECK(path.ends_with(".toml"));
        }
    }

    TEST_CASE("no command opens a file for writing elsewhere, or sets anything for a session") {
        if (is_sanitized() || !exists("/usr/bin/strace")) {
            MESSAGE("skipped: no strace");
            return;
        }
        const Home home;
        for (const auto& arguments : all_commands(home)) {
            CAPTURE(printed(arguments));
            const auto trace = home.folder / "trace";
            Command command;
            command.arguments = {
                "/usr/bin/strace",
                "-f",
                "-y",
                "-o",
                trace,
                "-e",
                "signal=none",
                "-e",
                "trace=?open,openat,?openat2,?creat,execve,execveat,?mkdir,mkdirat,?rename,renameat"
                ",renameat2,?link,linkat,?symlink,symlinkat,?unlink,unlinkat,?chmod,fchmodat,?chown"
                ",fchownat,truncate,utimensat,?mknod,mknodat,setxattr",
                programs().metalrun};
            command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
            command.environment = home.environment();
            static_cast<void>(run(command));
            const auto text = read_file(trace);
            if (!contains(text, "execve(")) {
                MESSAGE("skipped: processes cannot be traced here");
                return;
            }
            CHECK(changes_in(text, home.state) == Strings{});
        }
    }

} // TEST_SUITE
