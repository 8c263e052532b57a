// SPDX-License-Identifier: MIT
//
// Where profiles come from and which one a target gets (profile/catalogue.hpp).
#include "profile/catalogue.hpp"
#include "system/fake.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::profile;

namespace {

const Places kPlaces{
    .user = "/home/u/.config/metalrun", .etc = "/usr/etc/metalrun", .share = "/usr/share/mr"};

struct House {
    FakeSystem system;
    TrustedFolders trust{system, 0};
    Catalogue catalogue{system, kPlaces, trust};

    void add(const std::string& path, const std::string& body) {
        system.add_file(path, "schema = 1\n" + body);
    }
    void add_user(const std::string& name, const std::string& body) {
        add(kPlaces.user + "/" + name + ".toml", body);
    }
    void add_etc(const std::string& name, const std::string& body) {
        add(kPlaces.etc + "/" + name + ".toml", body);
    }
    void add_share(const std::string& name, const std::string& body) {
        add(kPlaces.share + "/" + name + ".toml", body);
    }

    // The name and place of the profile that matches; "" for none.
    std::string match(const Subject& subject) {
        const Result<std::optional<Chosen>> found = catalogue.find_match(subject);
        INFO((found ? "" : found.error().message));
        REQUIRE(found.has_value());
        return *found ? (*found)->profile.name + " of " + (*found)->profile.origin : "";
    }
};

Subject program(std::string name, std::vector<std::string> arguments = {},
                std::vector<std::string> libraries = {}) {
    return {.program_names = {std::move(name)},
            .arguments = std::move(arguments),
            .libraries = std::move(libraries)};
}

const BuiltIn& built_in(std::string_view name) {
    const auto found = std::ranges::find(built_ins(), name, &BuiltIn::name);
    REQUIRE(found != built_ins().end());
    return *found;
}

} // namespace

TEST_SUITE("profile.places") {

    TEST_CASE("the places come from HOME and the prefix of the executable") {
        FakeSystem system;
        const std::vector<std::string> environment{"A=1", "HOME=/home/u"};
        const Places places = find_places(system, environment, "/usr/local/bin/metalrun");
        CHECK(places.user == "/home/u/.config/metalrun");
        CHECK(places.etc == "/usr/local/etc/metalrun");
        CHECK(places.share == "/usr/local/share/metalrun/profiles");
        CHECK(find_places(system, environment, "/bin/metalrun").etc == "/etc/metalrun");
        CHECK(find_places(system, environment, "").share.empty());
    }

    TEST_CASE("XDG_CONFIG_HOME replaces ~/.config if it is absolute") {
        FakeSystem system;
        const auto user = [&](std::vector<std::string> environment) {
            return find_places(system, environment, "/usr/bin/metalrun").user;
        };
        CHECK(user({"XDG_CONFIG_HOME=/x", "HOME=/h"}) == "/x/metalrun");
        CHECK(user({"XDG_CONFIG_HOME=x", "HOME=/h"}) == "/h/.config/metalrun");
        CHECK(user({"XDG_CONFIG_HOME=", "HOME=/h"}) == "/h/.config/metalrun");
        CHECK(user({"XDG_CONFIG_HOME=/x"}) == "/x/metalrun");
        CHECK(user({"HOME=/first", "HOME=/second"}) == "/first/.config/metalrun");
    }

    TEST_CASE("without HOME the user's folder is skipped") {
        FakeSystem system;
        for (const std::vector<std::string>& environment :
             {std::vector<std::string>{}, {"HOME="}, {"HOME=relative"}, {"HOME"}, {"XHOME=/h"}}) {
            CHECK(find_places(system, environment, "/usr/bin/metalrun").user.empty());
        }
    }

    TEST_CASE("as root, a user's folder that root does not own is left out") {
        FakeSystem system;
        system.user = {};
        system.add_folder("/var/root/.config/metalrun");
        system.add_folder("/home/u/.config/metalrun", {.mode = 0755, .owner = 501});
        const auto user = [&](const std::string& home) {
            const std::vector<std::string> environment{"HOME=" + home};
            return find_places(system, environment, "/usr/bin/metalrun").user;
        };
        CHECK(user("/var/root") == "/var/root/.config/metalrun");
        CHECK(user("/home/u").empty());
        CHECK(user("/absent").empty());
    }
}

TEST_SUITE("profile.catalogue") {

    TEST_CASE("a name is searched in the user's folder, etc, share and the built-in copies") {
        House house;
        CHECK(house.catalogue.load("llama.cpp")->origin == "built-in");
        house.system.add_file(kPlaces.share + "/llama.cpp.toml",
                              std::string(built_in("llama.cpp").toml));
        CHECK(house.catalogue.load("llama.cpp")->origin == kPlaces.share + "/llama.cpp.toml");
        house.add_etc("llama.cpp", "");
        CHECK(house.catalogue.load("llama.cpp")->origin == kPlaces.etc + "/llama.cpp.toml");
        house.add_user("llama.cpp", "");
        CHECK(house.catalogue.load("llama.cpp")->origin == kPlaces.user + "/llama.cpp.toml");
        CHECK(house.catalogue.load("llama.cpp")->name == "llama.cpp");
    }

    TEST_CASE("a name that is in no place is an error that names the nearest") {
        House house;
        const Result<Profile> profile = house.catalogue.load("llama.cp");
        REQUIRE_FALSE(profile.has_value());
        CHECK(profile.error().code == Errc::profile);
        CHECK(profile.error().message == "there is no profile named 'llama.cp'");
        CHECK(profile.error().help == "a profile with a similar name exists: 'llama.cpp'");
        CHECK(profile.error().notes.size() == 3);
        CHECK(house.catalogue.load("llama").error().help ==
              "a profile with a similar name exists: 'llama.cpp'");
        house.add_user("mine", "");
        CHECK(house.catalogue.load("mime").error().help.find("'mine'") != std::string::npos);
        CHECK(house.catalogue.load("qqqqqqqq").error().help.find("profile list") !=
              std::string::npos);
        CHECK_FALSE(house.catalogue.load("").has_value());
        CHECK_FALSE(house.catalogue.load(".").has_value());
    }

    TEST_CASE("a name is never searched in the current folder") {
        House house;
        house.system.current_folder = "/here";
        house.add("/here/mine.toml", "");
        house.add("/here/mine", "");
        CHECK_FALSE(house.catalogue.load("mine").has_value());
    }

    TEST_CASE("a name with a slash or .toml is a file, relative to the current folder") {
        House house;
        house.system.current_folder = "/here";
        house.add("/here/mine.toml", "shim.path = 'a.dylib'\n");
        house.add("/here/sub/serve", "target.program = 'x'\n");
        house.add_user("mine", "");
        CHECK(house.catalogue.load("mine.toml")->origin == "/here/mine.toml");
        CHECK(house.catalogue.load("mine.toml")->shim.path == "/here/a.dylib");
        CHECK(house.catalogue.load("./mine.toml")->name == "mine");
        CHECK(house.catalogue.load("sub/serve")->origin == "/here/sub/serve");
        CHECK(house.catalogue.load("/here/sub/serve")->target->program == "x");
        CHECK_FALSE(house.catalogue.load("llama.cpp.toml").has_value());
    }

    TEST_CASE("a message shows the file as it was written") {
        House house;
        house.system.current_folder = "/here";
        house.add("/here/llama.toml", "[metal]\napple_familly = 1\n");
        CHECK(house.catalogue.load("llama.toml").error().message ==
              "llama.toml:3:1: unknown key 'metal.apple_familly'");
    }

    TEST_CASE("relative paths mean the folder of the profile's real path") {
        House house;
        house.add("/opt/x/serve.toml", "shim.path = 'a.dylib'\n");
        house.system.add_link("/home/u/bin/serve", "/opt/x/serve.toml");
        const Result<Profile> profile = house.catalogue.load("/home/u/bin/serve");
        REQUIRE(profile.has_value());
        CHECK(profile->shim.path == "/opt/x/a.dylib");
        CHECK(profile->origin == "/home/u/bin/serve");
    }

    TEST_CASE("an explicit file that cannot be read is an error") {
        House house;
        house.system.add_folder("/d/folder.toml");
        house.system.add_special("/d/fifo.toml");
        house.add("/d/closed.toml", "");
        house.system.refuse("open", "/d/closed.toml", EACCES);
        house.system.add_file("/d/large.toml", std::string((1U << 20U) + 1, '#'));
        const auto message = [&](const std::string& path) {
            const Result<Profile> profile = house.catalogue.load(path);
            REQUIRE_FALSE(profile.has_value());
            CHECK(profile.error().code == Errc::profile);
            return profile.error().message;
        };
        CHECK(message("/d/absent.toml").find("No such file") != std::string::npos);
        CHECK(message("/d/folder.toml").find("it is a directory") != std::string::npos);
        CHECK(message("/d/fifo.toml").find("not a regular file") != std::string::npos);
        CHECK(message("/d/closed.toml").find("Permission denied") != std::string::npos);
        CHECK(message("/d/large.toml").find("the limit is 1048576") != std::string::npos);
    }

    TEST_CASE("a named file that is there and cannot be read is an error") {
        House house;
        house.add_user("default", "");
        house.system.refuse("open", kPlaces.user + "/default.toml", EACCES);
        CHECK_FALSE(house.catalogue.load("default").has_value());
    }

    TEST_CASE("a place that this user may not look into has no profiles") {
        House house;
        house.system.refuse("open", kPlaces.user + "/default.toml", EACCES);
        house.system.refuse("lstat", kPlaces.user + "/default.toml", EACCES);
        house.system.refuse("list", kPlaces.user, EACCES);
        CHECK(house.catalogue.load("default")->origin == "built-in");
        CHECK(house.match(program("llama-server")) == "llama.cpp of built-in");
    }

    TEST_CASE("a profile that others may write is refused in every place") {
        for (const std::string& folder : {kPlaces.user, kPlaces.etc, kPlaces.share}) {
            House house;
            house.add(folder + "/default.toml", "");
            house.system.status_of(folder + "/default.toml").mode = 0666;
            const Result<Profile> profile = house.catalogue.load("default");
            REQUIRE_FALSE(profile.has_value());
            CHECK(profile.error().message.find("can be written by everyone") != std::string::npos);
        }
    }

    TEST_CASE("the folders of a link's end are judged") {
        House house;
        house.add("/tmp/open/p.toml", "");
        house.system.status_of("/tmp/open").mode = 0777;
        house.system.add_link(kPlaces.user + "/p.toml", "/tmp/open/p.toml");
        CHECK_FALSE(house.catalogue.load("p").has_value());
    }

    TEST_CASE("a changed file in share is used instead of the built-in copy") {
        House house;
        house.add_share("default", "description = 'changed'\n");
        CHECK(house.catalogue.load("default")->description == "changed");
        CHECK(house.catalogue.load("default")->origin == kPlaces.share + "/default.toml");
        house.add_share("llama.cpp", "description = 'changed too'\n");
        const auto found = house.catalogue.find_match(program("llama-server"));
        REQUIRE(found.has_value());
        CHECK((*found)->profile.description == "changed too");
        house.add_share("mlx", "broken = 1\n");
        CHECK_FALSE(house.catalogue.find_match(program("mlx_lm.generate")).has_value());
    }

    TEST_CASE("the usual start opens no file but the one in share") {
        House house;
        CHECK(house.match(program("llama-server")) == "llama.cpp of built-in");
        CHECK(std::ranges::count_if(house.system.calls, [](const std::string& call) {
                  return call.starts_with("open ");
              }) == 1);
        CHECK(house.system.was_asked("open " + kPlaces.share + "/llama.cpp.toml"));
    }

    TEST_CASE("a catalogue without places has the built-in profiles") {
        FakeSystem system;
        TrustedFolders trust(system, 0);
        Catalogue catalogue(system, Places{}, trust);
        CHECK(catalogue.load("default")->origin == "built-in");
        CHECK((*catalogue.find_match(program("llama-cli")))->profile.name == "llama.cpp");
        CHECK(catalogue.list().size() == built_ins().size());
        CHECK(system.calls.empty());
    }

    TEST_CASE("the list has every name once, with the place that wins, and errors too") {
        House house;
        house.add_user("llama.cpp", "");
        house.add_etc("broken", "x = 1\n");
        house.add_etc("llama.cpp", "y = 1\n");
        house.add_share("extra", "");
        house.add_share("default", "description = 'changed'\n");
        const std::vector<Catalogue::Entry> entries = house.catalogue.list();
        CHECK(entries.size() == built_ins().size() + 2);
        CHECK(std::ranges::is_sorted(entries, {}, &Catalogue::Entry::name));
        const auto entry = [&](std::string_view name) {
            const auto found = std::ranges::find(entries, name, &Catalogue::Entry::name);
            REQUIRE(found != entries.end());
            return *found;
        };
        CHECK(entry("llama.cpp").origin == kPlaces.user + "/llama.cpp.toml");
        CHECK(entry("broken").origin == kPlaces.etc + "/broken.toml");
        CHECK_FALSE(entry("broken").profile.has_value());
        CHECK(entry("extra").origin == kPlaces.share + "/extra.toml");
        CHECK(entry("default").profile->description == "changed");
        CHECK(entry("mlx").origin == "built-in");
    }
}

TEST_SUITE("profile.match") {

    TEST_CASE("the shipped profiles match their workloads") {
        House house;
        CHECK(house.match(program("llama-server")) == "llama.cpp of built-in");
        CHECK(house.match(program("llama-mtmd-cli")) == "llama.cpp of built-in");
        CHECK(house.match(program("my-app", {}, {"libllama.0.dylib"})) == "llama.cpp of built-in");
        CHECK(house.match(program("whisper-cli")) == "whisper.cpp of built-in");
        CHECK(house.match(program("sd")) == "stable-diffusion.cpp of built-in");
        CHECK(house.match(program("ollama", {"serve"})) == "ollama of built-in");
        CHECK(house.match(program("ollama", {"run", "gemma"})) == "ollama-client of built-in");
        CHECK(house.match(program("ollama")) == "ollama-client of built-in");
        CHECK(house.match(program("vllm", {"serve"})).empty());
        CHECK(house.match(program("python3.12", {"-m", "mlx_lm.generate", "--model", "x"})) ==
              "mlx of built-in");
        CHECK(house.match(program("python3", {"-u", "-m", "mlx_lm", "generate"})) ==
              "mlx of built-in");
        CHECK(house.match(program("mlx_lm.server")) == "mlx of built-in");
        CHECK(house.match(program("app", {}, {"libtorch_cpu.dylib"})) == "pytorch of built-in");
        CHECK(house.match(program("vkcube")) == "moltenvk of built-in");
        CHECK(house.match(program("Godot")) == "godot of built-in");
        CHECK(house.match(program("Blender")) == "blender of built-in");
        CHECK(house.match(program("Google Chrome Helper")) == "chromium of built-in");
        CHECK(house.match(program("python3", {"train.py"})).empty());
        CHECK(house.match(Subject{}).empty());
    }

    TEST_CASE("any name along the chain counts") {
        House house;
        CHECK(house.match({.program_names = {"serve.sh", "python3.12", "llama-server"},
                           .arguments = {},
                           .libraries = {}}) == "llama.cpp of built-in");
    }

    TEST_CASE("an unsafe library decides over a beneficial program") {
        House house;
        CHECK(house.match(program("llama-server", {}, {"libMoltenVK.dylib"})) ==
              "moltenvk of built-in");
        CHECK(house.match(program("x", {}, {"libllama.dylib", "libMoltenVK.dylib"})) ==
              "moltenvk of built-in");
    }

    TEST_CASE("the first place that has a match decides") {
        House house;
        house.add_share("other", "match.arguments = ['llama-server -m*']\n");
        CHECK(house.match(program("llama-server", {"-m", "x"})) ==
              "other of " + kPlaces.share + "/other.toml");
        house.add_etc("e", "match.programs = ['llama-*']\n");
        CHECK(house.match(program("llama-server", {"-m", "x"})) ==
              "e of " + kPlaces.etc + "/e.toml");
        house.add_user("u", "match.programs = ['*']\n");
        CHECK(house.match(program("llama-server", {"-m", "x"})) ==
              "u of " + kPlaces.user + "/u.toml");
    }

    TEST_CASE("a profile of the user without a fitting match is not chosen") {
        House house;
        house.add_user("llama.cpp", "description = 'mine'\n");
        CHECK(house.match(program("llama-server")) == "llama.cpp of built-in");
    }

    TEST_CASE("arguments are more specific than libraries, and those than programs") {
        House house;
        house.add_user("a", "match.arguments = ['run*']\n");
        house.add_user("l", "match.libraries = ['libx*']\n");
        house.add_user("p", "match.programs = ['prog']\n");
        const auto name = [&](const Subject& subject) { return house.match(subject).substr(0, 1); };
        CHECK(name(program("prog", {"run"}, {"libx.dylib"})) == "a");
        CHECK(name(program("prog", {"stop"}, {"libx.dylib"})) == "l");
        CHECK(name(program("prog", {"stop"}, {"liby.dylib"})) == "p");
    }

    TEST_CASE("among equals unsafe wins, and a tie is an error that names both") {
        House house;
        house.add_user("a", "match.programs = ['prog']\n");
        house.add_user("b", "match.programs = ['pro*']\nworkload.status = 'unsafe'\n");
        CHECK(house.match(program("prog")).starts_with("b of"));
        house.add_user("c", "match.programs = ['p*']\nworkload.status = 'unsafe'\n");
        const auto found = house.catalogue.find_match(program("prog"));
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().code == Errc::profile);
        CHECK(found.error().message.find("/b.toml'") != std::string::npos);
        CHECK(found.error().message.find("/c.toml'") != std::string::npos);
        CHECK(found.error().help == "choose one with '--profile'");
    }

    TEST_CASE("a tie below the best match is no error") {
        House house;
        house.add_user("a", "match.programs = ['prog']\n");
        house.add_user("b", "match.programs = ['prog']\n");
        house.add_user("c", "match.arguments = ['run']\n");
        CHECK(house.match(program("prog", {"run"})).starts_with("c of"));
    }

    TEST_CASE("a file in share and a built-in profile can tie") {
        House house;
        house.add_share("mine", "match.programs = ['llama-server']\n");
        CHECK_FALSE(house.catalogue.find_match(program("llama-server")).has_value());
    }

    TEST_CASE("patterns on arguments are compared with each leading run of up to eight") {
        House house;
        const auto fits = [](const std::string& pattern, std::vector<std::string> arguments) {
            House fresh;
            fresh.add_user("x", "match.arguments = ['" + pattern + "']\n");
            return !fresh.match(program("prog", std::move(arguments))).empty();
        };
        CHECK(fits("run", {"run"}));
        CHECK(fits("run", {"run", "x"}));
        CHECK(fits("run x", {"run", "x", "y"}));
        CHECK(fits("prog run", {"run", "x"}));
        CHECK(fits("-m mlx_lm*", {"-m", "mlx_lm.generate", "--model", "x"}));
        CHECK(fits("r[aeu]n", {"run"}));
        CHECK(fits("*y", {"run", "y", "z"}));
        CHECK(fits("a b c d e f g h", {"a", "b", "c", "d", "e", "f", "g", "h", "i"}));
        CHECK_FALSE(fits("a b c d e f g h i", {"a", "b", "c", "d", "e", "f", "g", "h", "i"}));
        CHECK_FALSE(fits("run", {"x", "run"}));
        CHECK_FALSE(fits("run", {"runner"}));
        CHECK_FALSE(fits("other run", {"run"}));
        CHECK_FALSE(fits("prog", {"run"}));
        CHECK_FALSE(fits("*", {}));
    }

    TEST_CASE("patterns are shell patterns") {
        const auto fits = [](const std::string& pattern, const std::string& name) {
            House fresh;
            fresh.add_user("x", "match.programs = ['" + pattern + "']\n");
            return !fresh.match(program(name)).empty();
        };
        CHECK(fits("abc", "abc"));
        CHECK(fits("ab*", "ab"));
        CHECK(fits("a?c", "abc"));
        CHECK(fits("a*c", "abbbc"));
        CHECK(fits("[a-c]x", "bx"));
        CHECK(fits("\\*", "*"));
        CHECK(fits("*", ".hidden"));
        CHECK_FALSE(fits("abc", "abcd"));
        CHECK_FALSE(fits("abc", "ABC"));
        CHECK_FALSE(fits("ab*", "a"));
        CHECK_FALSE(fits("a?c", "ac"));
        CHECK_FALSE(fits("\\*", "x"));
    }

    TEST_CASE("a profile in the search that does not load stops it, with its place") {
        House house;
        house.add_user("broken", "x = 1\n");
        const auto found = house.catalogue.find_match(program("llama-server"));
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().message == kPlaces.user + "/broken.toml:2:1: unknown key 'x'");
    }

    TEST_CASE("what is not a profile by its name is left alone") {
        House house;
        house.add_user("x", "");
        house.system.add_file(kPlaces.user + "/.x.toml", "not toml");
        house.system.add_file(kPlaces.user + "/x.toml~", "not toml");
        house.system.add_file(kPlaces.user + "/README", "not toml");
        house.system.add_file(kPlaces.user + "/.toml", "not toml");
        CHECK(house.match(program("llama-server")) == "llama.cpp of built-in");
    }

    TEST_CASE("a match tells which of its patterns fits what") {
        House house;
        house.add_user("mine", "[match]\nprograms = [\"x*\", \"tool\"]\n"
                               "arguments = [\"run *\"]\nlibraries = [\"libfoo*\"]\n");
        const auto choice_for = [&](const Subject& subject) {
            const auto found = house.catalogue.find_match(subject);
            REQUIRE(found);
            REQUIRE(*found);
            CHECK((*found)->choice.by == Choice::By::match);
            return (*found)->choice.key + ": " + (*found)->choice.pattern + ": " +
                   (*found)->choice.subject;
        };
        CHECK(choice_for({.program_names = {"typed", "tool"}}) == "programs: tool: tool");
        CHECK(choice_for(program("xyz")) == "programs: x*: xyz");
        CHECK(choice_for(program("tool", {"run", "it", "now"})) == "arguments: run *: run it");
        CHECK(choice_for(program("tool", {}, {"libc", "libfoo.1.dylib"})) ==
              "libraries: libfoo*: libfoo.1.dylib");
        CHECK(choice_for(program("ollama", {"serve"})).starts_with("arguments: "));
        CHECK(choice_for(program("llama-cli")).starts_with("programs: "));
    }
}
