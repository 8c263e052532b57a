// SPDX-License-Identifier: MIT
//
// `metalrun doctor` as a whole: this machine, a made-up guest with a made-up home, homes that are
// meant to hold it up, and commands that mend what they were printed for.
#include "harness.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace metalrun::test;
namespace json = boost::json;

namespace {

struct Seen {
    int status = 0;
    json::object document;
};

Seen doctor(const Strings& environment, Strings arguments = {}) {
    arguments.insert(arguments.begin(), {"doctor", "--json"});
    auto command = metalrun_command(std::move(arguments));
    for (const auto& entry : environment) {
        command.environment = without(command.environment, {entry.substr(0, entry.find('='))});
        command.environment.push_back(entry);
    }
    const auto outcome = run(command);
    CAPTURE(outcome.out);
    CAPTURE(outcome.err);
    CHECK(outcome.err.empty());
    boost::system::error_code wrong;
    auto document = json::parse(outcome.out, wrong);
    REQUIRE_FALSE(wrong);
    return {.status = outcome.status(), .document = document.as_object()};
}

Seen doctor_of_guest(const Strings& environment) {
    return doctor(environment, {"--host-facts", METALRUN_FACTS});
}

std::string text_of(const json::value& value) {
    return {value.as_string().data(), value.as_string().size()};
}

Strings ids_of(const Seen& seen) {
    Strings ids;
    for (const auto& finding : seen.document.at("findings").as_array()) {
        ids.push_back(text_of(finding.at("id")));
    }
    return ids;
}

bool has(const Seen& seen, const std::string& id) {
    const auto ids = ids_of(seen);
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The command of the first finding of this id.
std::string command_of(const Seen& seen, const std::string& id) {
    for (const auto& finding : seen.document.at("findings").as_array()) {
        if (text_of(finding.at("id")) == id) {
            return text_of(finding.at("command"));
        }
    }
    FAIL("no finding ", id);
    return {};
}

const json::value& line_of(const Seen& seen, const char* section, const std::string& key) {
    return seen.document.at("sections").at(section).as_object().at(key);
}

bool is_unknown(const Seen& seen, const char* section, const std::string& key) {
    const auto& line = line_of(seen, section, key);
    return line.is_object() && !text_of(line.at("unknown")).empty();
}

Strings names_below(const std::string& folder) {
    Strings names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        names.push_back(entry.path());
    }
    std::sort(names.begin(), names.end());
    return names;
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

const sockaddr* as_address(const sockaddr_in& address) {
    return static_cast<const sockaddr*>(static_cast<const void*>(&address));
}

/// A socket, closed at the end.
class Socket {
public:
    explicit Socket(int flags = 0)
        : number_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)) {}
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { close(number_); }
    [[nodiscard]] int get() const { return number_; }

private:
    int number_;
};

constexpr std::uint16_t kOllamaPort = 11434;

} // namespace

TEST_SUITE("exec.doctor") {
    TEST_CASE("of this machine, nothing is changed and nothing needs mending") {
        const TempFolder folder;
        folder.write(".zshrc", "export PATH=/bin\n");
        const auto before = names_below(folder.path());
        const auto seen = doctor({"HOME=" + folder.path()});
        CHECK(seen.status == 0);
        CHECK(seen.document.at("good").as_bool());
        CHECK_FALSE(seen.document.at("simulated").as_bool());
        CHECK(text_of(line_of(seen, "host", "system")) == "Linux");
        CHECK(text_of(line_of(seen, "shim", "checksum")) == "as SHA256SUMS says");
        CHECK(has(seen, "not-a-guest"));
        CHECK(names_below(folder.path()) == before);
    }

    TEST_CASE("the device is asked by the probe") {
        if (!exists(programs().simulated_metal)) {
            MESSAGE("skipped: the simulated Metal was not built");
            return;
        }
        const auto seen = doctor({"LD_PRELOAD=" + programs().simulated_metal});
        CHECK(has(seen, "device-under-reports"));
        CHECK(has(seen, "inherited-insertion"));
        CHECK(contains(text_of(line_of(seen, "device", "name")), "(simulated)"));
        CHECK_FALSE(has(doctor({}), "device-under-reports"));
    }

    TEST_CASE("a made-up guest says that it is one, and what cannot be asked is unknown") {
        const TempFolder folder;
        const auto seen = doctor_of_guest({"HOME=" + folder.path()});
        CHECK(seen.document.at("simulated").as_bool());
        CHECK(text_of(line_of(seen, "host", "system")) == "macOS 15.5");
        CHECK(is_unknown(seen, "device", "name"));
        CHECK(is_unknown(seen, "device", "ollama_port"));
        CHECK(is_unknown(seen, "session", "launchd"));
        // The libraries of macOS are not in a Linux build.
        CHECK(seen.status == 1);
        CHECK(ids_of(seen) == Strings{"shim-missing", "shim-missing"});
    }

    TEST_CASE("the command that is printed mends what it was printed for") {
        const TempFolder folder;
        const auto home = folder.make_folder("it's a home");
        folder.write("it's a home/.zshrc",
                     "if true; then\n  export DYLD_INSERT_LIBRARIES=/x\nfi\nexport A=1\n");
        folder.write("it's a home/.config/fish/config.fish",
                     "set -gx DYLD_FORCE_FLAT_NAMESPACE 1\n");
        folder.make_link("/nowhere/metalrun", "bin/llama server");
        folder.make_folder("state", 0777);
        chmod((folder / "state").c_str(), 0777);
        const Strings environment{"HOME=" + home, "PATH=/usr/bin:/bin:" + (folder / "bin"),
                                  "METALRUN_STATE_DIR=" + (folder / "state")};
        for (const std::string id :
             {"insertion-for-all", "flat-namespace", "link-dangling", "state-folder-unusable"}) {
            CAPTURE(id);
            const auto before = doctor_of_guest(environment);
            const auto command = command_of(before, id);
            CAPTURE(command);
            const auto mended = run({.arguments = {"/bin/sh", "-c", command}});
            CHECK(mended.status() == 0);
            CHECK(mended.err.empty());
            CHECK_FALSE(has(doctor_of_guest(environment), id));
        }
        CHECK(read_file(home + "/.zshrc") ==
              "if true; then\n: #   export DYLD_INSERT_LIBRARIES=/x\nfi\nexport A=1\n");
        CHECK(contains(read_file(home + "/.zshrc.bak"), "\n  export DYLD_INSERT"));
        CHECK(run({.arguments = {"/bin/sh", home + "/.zshrc"}}).status() == 0);
    }

    TEST_CASE("a home that is meant to hold it up does not") {
        const TempFolder folder;
        REQUIRE(mkfifo((folder / ".zshrc").c_str(), 0600) == 0);
        folder.make_link(".zprofile", ".zprofile");
        folder.make_folder(".profile");
        folder.make_link("/dev/zero", ".bashrc");
        folder.write(".zlogin", std::string((1U << 20U) + 1, '\n'));
        folder.write(".bash_login", std::string("export DYLD_INSERT_LIBRARIES=\0\xff\n", 32));
        folder.write("Library/LaunchAgents/\xff\xfe\x1b[31m\n.plist", "<plist");
        folder.write("Library/LaunchAgents/b.plist", "bplist00");
        REQUIRE(mkfifo((folder / "Library/LaunchAgents/c.plist").c_str(), 0600) == 0);
        folder.write(".config/metalrun/\xff.toml", "\xff\xfe");
        REQUIRE(mkfifo((folder / ".config/metalrun/pipe.toml").c_str(), 0600) == 0);
        folder.make_link("loop", "bin/loop");
        const auto seen =
            doctor_of_guest({"HOME=" + folder.path(), "PATH=" + (folder / "bin") + ":/usr/bin"});
        CHECK(seen.status == 1);
        for (const auto* name : {".zshrc", ".zprofile", ".profile", ".bashrc", ".zlogin",
                                 "Library/LaunchAgents/b.plist", "Library/LaunchAgents/c.plist"}) {
            CAPTURE(std::string{name});
            CHECK(is_unknown(seen, "session", folder / name));
        }
        CHECK(has(seen, "insertion-for-all"));
    }

    TEST_CASE("the text has no control bytes of others") {
        const TempFolder folder;
        folder.write("Library/LaunchAgents/\x1b[31m\n.plist", "<plist");
        folder.write("\x1b/.zshrc", "export DYLD_INSERT_LIBRARIES=\x1b[31m\n");
        for (const auto& home : {folder.path(), folder / "\x1b"}) {
            auto command = metalrun_command({"doctor", "--host-facts", METALRUN_FACTS});
            command.environment.push_back("HOME=" + home);
            command.environment.push_back("DYLD_INSERT_LIBRARY=\x1b[31m");
            const auto outcome = run(command);
            CHECK(outcome.status() == 1);
            CHECK(outcome.err.empty());
            CHECK_FALSE(contains(outcome.out, "\x1b"));
        }
    }

    TEST_CASE("without HOME, PATH or a usable one of them there is still a report") {
        for (const Strings& environment :
             {Strings{"HOME="}, Strings{"HOME=relative"}, Strings{"HOME=/nonexistent"},
              Strings{"PATH="}, Strings{"PATH=:relative:/nowhere:/dev/null"}}) {
            CAPTURE(environment);
            CHECK(doctor(environment).status == 0);
        }
        CHECK(is_unknown(doctor({"HOME=relative"}), "session", "home"));
    }

    TEST_CASE("the block for a bug report has no home and no values") {
        const TempFolder folder;
        folder.write(".zshrc", "export DYLD_INSERT_LIBRARIES=/secret-value\n");
        folder.write(".config/metalrun/mine.toml", "schema = 1\n");
        auto seen = doctor_of_guest({"HOME=" + folder.path(), "DYLD_LIBRARY_PATH=/secret-value"});
        const auto block = text_of(seen.document.at("bug_report"));
        CAPTURE(block);
        CHECK(contains(block, "insertion-for-all"));
        CHECK(contains(block, "profiles: mine, "));
        CHECK(contains(block, "simulated macOS 15.5"));
        CHECK_FALSE(contains(block, folder.path()));
        CHECK_FALSE(contains(block, "secret-value"));
        std::array<char, 256> host_name{};
        REQUIRE(gethostname(host_name.data(), host_name.size() - 1) == 0);
        CHECK_FALSE(contains(block, std::string(host_name.data())));
        // An installation in the home is shown with ~.
        const auto metalrun = folder.copy(programs().metalrun, "m/bin/metalrun");
        auto command = metalrun_command({"doctor"});
        command.file = metalrun;
        command.environment.push_back("HOME=" + folder.path());
        CHECK(contains(run(command).out, "shim: ~/m/lib/metalrun/libmetalrun_shim.so not read"));
    }

    TEST_CASE("a server on Ollama's port is seen, and one that does not answer holds nothing up") {
        const Socket server;
        const auto address = loopback(kOllamaPort);
        constexpr int kOn = 1;
        setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
        if (bind(server.get(), as_address(address), sizeof address) != 0) {
            MESSAGE("skipped: port 11434 is in use here");
            return;
        }
        CHECK_FALSE(has(doctor({}), "port-in-use"));
        REQUIRE(listen(server.get(), 0) == 0);
        CHECK(has(doctor({}), "port-in-use"));
        // Nobody accepts: the queue is full, and further connections hang.
        const std::array<Socket, 4> waiting{Socket(SOCK_NONBLOCK), Socket(SOCK_NONBLOCK),
                                            Socket(SOCK_NONBLOCK), Socket(SOCK_NONBLOCK)};
        for (const auto& one : waiting) {
            static_cast<void>(connect(one.get(), as_address(address), sizeof address));
        }
        const auto seen = doctor({});
        CHECK(seen.status == 0);
        CHECK(is_unknown(seen, "device", "ollama_port"));
    }

    TEST_CASE("an installed library is held against its checksum") {
        const TempFolder folder;
        folder.copy(programs().metalrun, "bin/metalrun");
        folder.copy(programs().shim, "lib/metalrun/libmetalrun_shim.so");
        folder.write("lib/metalrun/SHA256SUMS", std::string(64, '0') + "  libmetalrun_shim.so\n");
        auto command = metalrun_command({"doctor"});
        command.file = folder / "bin/metalrun";
        const auto outcome = run(command);
        CHECK(outcome.status() == 1);
        CHECK(contains(outcome.out, "[shim-checksum]"));
        CHECK(contains(outcome.out, "[probe-missing]"));
        CHECK(contains(outcome.out, "device: unknown: the probe cannot be started"));
    }

    TEST_CASE("a link for a program that PATH does not have is told, and one that works is not") {
        const TempFolder folder;
        folder.make_link(programs().metalrun, "bin/no-such-program");
        folder.make_link(programs().metalrun, "bin/show");
        const Strings environment{"PATH=" + (folder / "bin") + ":" + programs().targets};
        const auto seen = doctor(environment);
        CHECK(seen.status == 1);
        CHECK(command_of(seen, "link-without-program") == "rm " + (folder / "bin/no-such-program"));
        std::filesystem::remove(folder / "bin/no-such-program");
        CHECK(doctor(environment).status == 0);
    }
}
