// SPDX-License-Identifier: MIT
//
// `metalrun check` over many files: bundles, folders, odd names, and what its status and its
// outputs say of all of them. The files are ELF programs of this machine and, where they were
// built, Mach-O fixtures.
#include "harness.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h> // NOLINT(modernize-deprecated-headers): posix_openpt(3)
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;
namespace json = boost::json;

namespace {

std::string fixture(const std::string& name) {
    return METALRUN_FIXTURE_DIR "/" + name;
}

bool has_fixtures() {
    const bool there = exists(fixture("plain"));
    if (!there) {
        MESSAGE("skipped: the fixtures were not built");
    }
    return there;
}

Outcome check(Strings arguments) {
    arguments.insert(arguments.begin(), "check");
    return run(metalrun_command(std::move(arguments)));
}

json::object check_json(Strings arguments) {
    arguments.insert(arguments.begin(), "--json");
    const auto outcome = check(std::move(arguments));
    CAPTURE(outcome.out);
    CHECK(outcome.err.empty());
    boost::system::error_code wrong;
    auto document = json::parse(outcome.out, wrong);
    REQUIRE_FALSE(wrong);
    return document.as_object();
}

std::string text_of(const json::value& value) {
    return value.is_null() ? "null"
                           : std::string(value.as_string().data(), value.as_string().size());
}

// One member of every target, in the document's order.
Strings of_targets(const json::object& document, const char* member) {
    Strings values;
    for (const auto& target : document.at("targets").as_array()) {
        values.push_back(text_of(target.as_object().at(member)));
    }
    return values;
}

std::string info_plist(const std::string& executable) {
    return "<plist version=\"1.0\"><dict><key>CFBundleExecutable</key><string>" + executable +
           "</string></dict></plist>\n";
}

// A terminal of 60 columns whose other end the test reads.
class Terminal {
public:
    Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
        REQUIRE(master_ >= 0);
        REQUIRE(grantpt(master_) == 0);
        REQUIRE(unlockpt(master_) == 0);
        slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY); // NOLINT(concurrency-mt-unsafe)
        REQUIRE(slave_ >= 0);
        const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
        ioctl(slave_, TIOCSWINSZ, &size);
    }
    ~Terminal() {
        close(slave_);
        close(master_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    // Runs `metalrun check …` with the terminal as this descriptor.
    Outcome run_check(Strings arguments, int descriptor, const Strings& variables = {}) const {
        arguments.insert(arguments.begin(), "check");
        auto command = metalrun_command(std::move(arguments));
        command.environment.insert(command.environment.end(), variables.begin(), variables.end());
        command.before_exec = [this, descriptor] { dup2(slave_, descriptor); };
        return run(command);
    }
    [[nodiscard]] std::string shown() const {
        std::string text;
        std::array<char, 4096> buffer{};
        for (auto got = read(master_, buffer.data(), buffer.size()); got > 0;
             got = read(master_, buffer.data(), buffer.size())) {
            text.append(buffer.data(), static_cast<std::size_t>(got));
        }
        std::erase(text, '\r');
        return text;
    }

private:
    int master_;
    int slave_ = -1;
};

} // namespace

TEST_SUITE("exec.check") {
    TEST_CASE("a folder needs --recursive, and the answer says so") {
        const TempFolder folder;
        folder.make_folder("some");
        const auto outcome = check({folder / "some"});
        CHECK(outcome.status() == 1);
        CHECK(contains(outcome.out, "is a directory"));
        CHECK(contains(outcome.out, "'--recursive'"));
    }

    TEST_CASE("--recursive judges the programs of a folder in the order of their paths") {
        const TempFolder folder;
        for (const char* name : {"t/b", "t/a/z", "t/a-z", "t/B"}) {
            folder.copy(target("show"), name);
        }
        folder.write("t/text", "words");
        folder.write("t/script", "#!/bin/sh\n", 0755);
        const auto document = check_json({"--recursive", folder / "t"});
        CHECK(of_targets(document, "path") ==
              Strings{folder / "t/B", folder / "t/a-z", folder / "t/a/z", folder / "t/b"});
        const auto& folders = document.at("folders").as_object();
        CHECK(folders.at("files").as_int64() == 6);
        CHECK(folders.at("skipped").as_int64() == 2);
        CHECK(folders.at("unread").as_array().empty());
        CHECK(check({"--recursive", folder / "t"}).out == check({"--recursive", folder / "t"}).out);
    }

    TEST_CASE("links lead neither out of the folder nor round in it, and no file is judged twice") {
        const TempFolder folder;
        folder.copy(target("show"), "outside/program");
        folder.copy(target("show"), "t/program");
        folder.make_link("program", "t/same");
        folder.make_link(".", "t/loop");
        folder.make_link(folder / "outside", "t/out");
        folder.make_link(folder / "outside/program", "t/out-program");
        const auto document = check_json({"--recursive", folder / "t"});
        CHECK(of_targets(document, "path") == Strings{folder / "t/program"});
    }

    TEST_CASE("a file is judged as often as it is named") {
        const auto document = check_json({target("show"), target("show")});
        CHECK(of_targets(document, "path") == Strings{target("show"), target("show")});
        CHECK(document.at("folders").is_null());
    }

    TEST_CASE("a folder that cannot be read is told, and the rest is judged") {
        const TempFolder folder;
        folder.copy(target("show"), "t/program");
        folder.copy(target("show"), "t/closed/program");
        REQUIRE(chmod((folder / "t/closed").c_str(), 0) == 0);
        auto command = metalrun_command({"check", "--json", "--recursive", folder / "t"});
        // Without these rights root is refused like everybody else.
        command.before_exec = [] {
            prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
            prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
        };
        const auto outcome = run(command);
        REQUIRE(chmod((folder / "t/closed").c_str(), 0755) == 0);
        const auto document = json::parse(outcome.out).as_object();
        CHECK(of_targets(document, "path") == Strings{folder / "t/program"});
        const auto& unread = document.at("folders").as_object().at("unread").as_array();
        REQUIRE(unread.size() == 1);
        CHECK(text_of(unread[0].as_object().at("path")) == folder / "t/closed");
        CHECK(text_of(unread[0].as_object().at("problem")) == "Permission denied");
        CHECK(outcome.status() == 2); // a script must not take it for an answer about all of them
    }

    TEST_CASE("odd names are one printable line of text, and valid JSON") {
        const TempFolder folder;
        for (const char* name :
             {"t/new\nline", "t/\x1b[31mred", "t/not \xff utf-8", "t/\"quoted\""}) {
            folder.copy(target("show"), name);
        }
        const auto outcome = check({"--recursive", folder / "t"});
        CHECK(contains(outcome.out, "new\\nline: "));
        CHECK(contains(outcome.out, "\\x1b[31mred: "));
        CHECK(contains(outcome.out, "not \\xff utf-8: "));
        CHECK_FALSE(contains(outcome.out, "\x1b"));
        const auto document = check_json({"--recursive", folder / "t"});
        CHECK(of_targets(document, "path") ==
              Strings{folder / "t/\x1b[31mred", folder / "t/\"quoted\"", folder / "t/new\nline",
                      folder / "t/not \xef\xbf\xbd utf-8"});
    }

    TEST_CASE("an empty folder is no failure") {
        const TempFolder folder;
        folder.make_folder("t");
        const auto outcome = check({"--recursive", folder / "t"});
        CHECK(outcome.status() == 0);
        CHECK(contains(outcome.out, "files looked at: 0, no programs: 0, links not followed: 0"));
    }

    TEST_CASE("links in a folder are counted") {
        const TempFolder folder;
        folder.make_folder("t");
        REQUIRE(symlink("/nowhere", (folder / "t/link").c_str()) == 0);
        const auto outcome = check({"--recursive", folder / "t"});
        CHECK(contains(outcome.out, "files looked at: 0, no programs: 0, links not followed: 1"));
    }

    TEST_CASE("one that is not injected makes the status 1, whatever the others are") {
        CHECK(check({target("show")}).status() == 0);
        CHECK(check({target("show"), target("show_static"), target("show")}).status() == 1);
        if (has_fixtures()) {
            CHECK(check({fixture("plain")}).status() == 0);
            CHECK(check({fixture("plain"), fixture("sandboxed")}).status() == 2);
            CHECK(check({fixture("sandboxed"), fixture("hardened")}).status() == 1);
        }
    }

    TEST_CASE("a slice that is not arm64 is judged with the library that has it") {
        if (has_fixtures()) {
            const auto standard = check_json({fixture("arm64e-only"), fixture("plain")});
            CHECK(of_targets(standard, "decision") == Strings{"inject", "inject"});
            CHECK(of_targets(standard, "children") == Strings{"stock", "stock"});
            CHECK(of_targets(standard, "library") ==
                  Strings{"libmetalrun_shim_universal.dylib", "libmetalrun_shim.dylib"});
            CHECK(check({"--arch", "x86_64", fixture("x86_64-only")}).status() == 0);
            CHECK(check({"--arch", "arm64e", fixture("arm64-arm64e")}).status() == 0);
        }
    }

    TEST_CASE("a damaged file is an answer; what metalrun cannot use is its own failure") {
        const TempFolder folder;
        const auto elf = read_file(target("show"));
        CHECK(check({folder.write("cut", elf.substr(0, 100), 0755)}).status() == 1);
        CHECK(check({folder / "absent"}).status() == 1);
        CHECK(check({"--host-facts", folder / "absent", target("show")}).status() == 125);
        CHECK(check({"-p", "no-such-profile", target("show")}).status() == 125);
        CHECK(check({}).status() == 125);
        if (has_fixtures()) {
            const auto macho = read_file(fixture("plain"));
            folder.write("t/cut", macho.substr(0, 300));
            const auto document = check_json({"--recursive", folder / "t"});
            CHECK(of_targets(document, "reason") == Strings{"malformed"});
            const auto told = check({folder / "t/cut"}).out;
            CHECK(contains(told, "\n  arm64 damaged\n")); // whether it was signed is unknown
            CHECK(contains(check({fixture("object.o")}).out, "is an object, not a program"));
        }
    }

    TEST_CASE("what cannot be written is a failure: 125") {
        auto command = metalrun_command({"check", target("show")});
        command.before_exec = [] { close(STDOUT_FILENO); };
        const auto outcome = run(command);
        CHECK(outcome.status() == 125);
        CHECK(contains(outcome.err, "cannot write to standard output"));
    }

    TEST_CASE("a bundle is its main executable, and the further programs in it") {
        if (!has_fixtures()) {
            return;
        }
        const TempFolder folder;
        const std::string app = folder / "My App.app";
        folder.write("My App.app/Contents/Info.plist", info_plist("server"));
        folder.copy(fixture("plain"), "My App.app/Contents/MacOS/server");
        folder.copy(fixture("library.dylib"), "My App.app/Contents/Frameworks/l.dylib");
        folder.copy(fixture("hardened"), "My App.app/Contents/Helpers/helper");
        folder.write("My App.app/Contents/Helpers/Inner.app/Contents/Info.plist", info_plist("in"));
        folder.copy(fixture("plain"), "My App.app/Contents/Helpers/Inner.app/Contents/MacOS/in");
        folder.copy(target("show"), "My App.app/Contents/Resources/linux-tool");
        folder.make_link("MacOS/server", "My App.app/Contents/server");
        const auto document = check_json({app});
        CHECK(of_targets(document, "path") ==
              Strings{app, app + "/Contents/Helpers/Inner.app/Contents/MacOS/in",
                      app + "/Contents/Helpers/helper"});
        CHECK(of_targets(document, "decision") == Strings{"inject", "inject", "refuse"});
        const auto& chain = document.at("targets").at(0).at("chain").as_array();
        REQUIRE(chain.size() == 2);
        CHECK(text_of(chain[0].at("kind")) == "bundle");
        CHECK(text_of(chain[1].at("path")) == app + "/Contents/MacOS/server");
        CHECK(check_json({app + "/"}).at("targets").as_array().size() == 3);
    }

    TEST_CASE("a bundle whose Info.plist leads out of it is refused") {
        const TempFolder folder;
        folder.write("X.app/Contents/Info.plist", info_plist("../../../show"));
        folder.copy(target("show"), "show");
        const auto outcome = check({folder / "X.app"});
        CHECK(outcome.status() == 1);
        CHECK(contains(outcome.out, "which is no plain file name"));
        const auto started = run(metalrun_command({"--anywhere", "--", folder / "X.app"}));
        CHECK(started.status() == 126);
    }

    TEST_CASE("run starts a bundle's main executable, which sees its own path as its name") {
        const TempFolder folder;
        folder.write("X.app/Contents/Info.plist", info_plist("main"));
        const auto main = folder.copy(target("show"), "X.app/Contents/MacOS/main");
        auto shown =
            run_show(folder, metalrun_command({"--anywhere", "--", folder / "X.app", "a"}));
        REQUIRE(shown.report);
        CHECK(shown.report->exe == main);
        CHECK(shown.report->arguments == Strings{main, "a"});
        CHECK(shown.report->has_library(programs().shim));
        shown = run_show(folder,
                         metalrun_command({"--anywhere", "--argv0", "me", "--", folder / "X.app"}));
        REQUIRE(shown.report);
        CHECK(shown.report->arguments == Strings{"me"});
    }

    TEST_CASE("a script is judged through its interpreter, as a start would find it") {
        const TempFolder folder;
        const auto script = folder.write("script", "#!" + target("show") + "\n");
        const auto document = check_json({script});
        CHECK(of_targets(document, "decision") == Strings{"inject"});
        const auto& chain = document.at("targets").at(0).at("chain").as_array();
        REQUIRE(chain.size() == 2);
        CHECK(text_of(chain[0].at("kind")) == "script");
        CHECK(text_of(chain[1].at("path")) == target("show"));
        const auto fixed = folder.write("fixed", "#!" + target("show_static") + "\n");
        CHECK(of_targets(check_json({fixed}), "reason") == Strings{"static-program"});
    }

    TEST_CASE(
        "--host-facts: a script's interpreter is the guest's, not the file of its name here") {
        const TempFolder folder;
        const auto script = folder.write("script", "#!/opt/no/such/interpreter -x\n");
        const auto document = check_json({"--host-facts", METALRUN_FACTS, script});
        const auto& chain = document.at("targets").at(0).at("chain").as_array();
        REQUIRE(chain.size() == 2);
        CHECK(text_of(chain[1].at("path")) == "/opt/no/such/interpreter");
        // Not that it is missing: nobody has looked.
        CHECK(of_targets(document, "outcome") == Strings{"uncertain"});
    }

    TEST_CASE("a terminal gets a table, and explanations of what is not injected") {
        const TempFolder folder;
        const auto longest = folder.copy(target("show"), std::string(90, 'n'));
        const auto fixed = folder.copy(target("show_static"), "fixed");
        const Terminal terminal;
        CHECK(terminal.run_check({longest, fixed}, STDOUT_FILENO, {"TERM=xterm"}).status() == 1);
        const auto text = terminal.shown();
        CAPTURE(text);
        const auto lines = lines_of(text);
        const auto head = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
            return line.starts_with("PATH");
        });
        REQUIRE(lines.end() - head > 2);
        CHECK(contains(head[1], "\x1b[32minject"));
        CHECK(contains(head[1], "…"));
        CHECK(contains(head[2], "\x1b[31mrefuse"));
        CHECK(head[2].ends_with("static-program"));
        CHECK(contains(text, "fixed: refuse"));
        CHECK_FALSE(contains(text, "nnn: inject"));
    }

    TEST_CASE("no colour where it is not wanted, no table where there is one target") {
        for (const std::string variable : {"NO_COLOR=1", "TERM=dumb"}) {
            CAPTURE(variable);
            const Terminal terminal;
            terminal.run_check({target("show"), target("show_static")}, STDOUT_FILENO, {variable});
            const auto text = terminal.shown();
            CHECK(contains(text, "DECISION"));
            CHECK_FALSE(contains(text, "\x1b"));
        }
        const Terminal terminal;
        terminal.run_check({target("show")}, STDOUT_FILENO);
        CHECK_FALSE(contains(terminal.shown(), "DECISION"));
    }

    TEST_CASE("progress is one line of a terminal, erased at the end, and nothing elsewhere") {
        const TempFolder folder;
        folder.copy(target("show"), "t/program");
        CHECK(check({"--recursive", folder / "t"}).err.empty());
        const Terminal terminal;
        CHECK(terminal.run_check({"--recursive", folder / "t"}, STDERR_FILENO).status() == 0);
        const auto text = terminal.shown();
        CHECK(contains(text, "files looked at: 1"));
        CHECK(text.ends_with("\x1b[K"));
        CHECK_FALSE(contains(text, "\n"));
        terminal.run_check({"--quiet", "--recursive", folder / "t"}, STDERR_FILENO);
        CHECK(terminal.shown().empty());
        terminal.run_check({"--recursive", folder / "t"}, STDERR_FILENO, {"TERM=dumb"});
        CHECK(terminal.shown().empty()); // it could not erase the line
    }
    TEST_CASE("a Python framework's program is judged by its Python.app") {
        if (!has_fixtures()) {
            return;
        }
        const TempFolder folder;
        const std::string version = "Python.framework/Versions/3.13/";
        const auto stub = folder.copy(fixture("plain"), version + "bin/python3.13");
        folder.make_link(stub, "venv/bin/python3");
        const auto verdict = [&](const std::string& path) {
            return check({"--host-facts", METALRUN_FACTS, path});
        };
        CHECK(contains(verdict(folder / "venv/bin/python3").out, "which is not there"));
        folder.copy(fixture("hardened"), version + "Resources/Python.app/Contents/MacOS/Python");
        const auto hardened = verdict(folder / "venv/bin/python3");
        CHECK(hardened.status() == 1);
        CHECK_MESSAGE(contains(hardened.out, "hardened-runtime"), hardened.out);
        CHECK(contains(hardened.out, "is started directly"));
        const auto script =
            folder.write("script", "#!" + (folder / "venv/bin/python3") + " -u\n", 0755);
        CHECK(contains(verdict(script).out, "hardened-runtime"));
        folder.copy(fixture("plain"), version + "Resources/Python.app/Contents/MacOS/Python");
        const auto plain = verdict(folder / "venv/bin/python3");
        CHECK_MESSAGE(plain.status() == 0, plain.out);
    }
}
