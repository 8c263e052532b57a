// SPDX-License-Identifier: MIT
//
// Whole reports of `metalrun doctor`, as text and as JSON, against the files in expected/doctor/:
// of machines that are made up, down to the bytes of the libraries, so that they are the same
// everywhere. METALRUN_UPDATE_GOLDEN=1 writes the files anew; read the difference before it is
// committed.
#include "../unit/elf_builder.hpp"
#include "../unit/macho_builder.hpp"
#include "commands/doctor_facts.hpp"
#include "report/doctor_report.hpp"
#include "system/digest.hpp"
#include "system/fake.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::tests;

namespace {

const std::string kHome = "/Users/u";
const std::string kLib = "/opt/m/lib/metalrun/";
constexpr std::size_t kCode = 0x4000;
constexpr std::size_t kSignature = 0x1000;

struct Slice {
    std::uint32_t cputype = macho::kCpuTypeArm64;
    std::uint32_t cpusubtype = 0;
};

// A library or a program, signed with these flags.
std::string signed_image(Slice slice, std::uint32_t filetype, std::uint32_t flags) {
    const bool is_library = filetype == macho::kMhDylib;
    MachoOptions options{
        .cputype = slice.cputype, .cpusubtype = slice.cpusubtype, .filetype = filetype};
    options.commands = {segment("__TEXT", 0, kCode, {{"__metalrun", "__TEXT", 0x3000, 0x1000}}),
                        build_version(macho::kPlatformMacos),
                        text_command(macho::kLcLoadDylib, 24, "/usr/lib/libSystem.B.dylib"),
                        numbers_command(macho::kLcCodeSignature, {kCode, kSignature})};
    if (is_library) {
        options.commands.push_back(
            text_command(macho::kLcIdDylib, 24, "@rpath/libmetalrun_shim.dylib"));
    }
    std::string image = make_macho(options);
    const std::string marker = is_library ? "shim" : "launcher";
    image.replace(0x3000, marker.size(), marker);
    std::string signature = make_super_blob({{0, make_directory(image, {.flags = flags})}});
    signature.resize(kSignature, '\0');
    return image + signature;
}

std::string thin_library() {
    return signed_image({}, macho::kMhDylib, macho::kCsAdhoc);
}

std::string universal_library() {
    const std::vector<Slice> slices{
        {},
        {macho::kCpuTypeArm64, macho::kCpuSubtypeArm64e | macho::kCpuSubtypeArm64eVersioned},
        {macho::kCpuTypeX86x64, macho::kCpuSubtypeX86All}};
    std::vector<FatSlice> header;
    std::string contents;
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const std::size_t at = kCode * (2 * i + 1);
        header.push_back({.cputype = slices[i].cputype,
                          .cpusubtype = slices[i].cpusubtype,
                          .offset = at,
                          .size = kCode + kSignature});
        contents.resize(at, '\0');
        contents += signed_image(slices[i], macho::kMhDylib, macho::kCsAdhoc);
    }
    const std::string first = make_fat_header(header);
    return contents.replace(0, first.size(), first);
}

std::string sums_line(const std::string& content, const std::string& name) {
    return sha256_hex(bytes_of(content)) + "  " + name + "\n";
}

HostFacts guest_facts() {
    return {.source = HostFacts::Source::file,
            .kernel = HostFacts::Kernel::darwin,
            .os = "26.5",
            .build = "25F71",
            .architecture = "arm64",
            .chip = "Apple M4 (Virtual)",
            .guest = Tri::yes,
            .sip = Tri::yes,
            .translated = Tri::no};
}

// A home folder and a search path, and what every installation has.
void install(FakeSystem& system) {
    system.executable = "/opt/m/bin/metalrun";
    system.add_folder(kHome, {.owner = system.user.user});
    system.add_program("/opt/m/libexec/metalrun/metalrun-probe", "probe");
    system.add_file("/opt/m/share/metalrun/profiles/llama.cpp.toml", "schema = 1\n");
}

std::string document(doctor::Facts facts) {
    report::DoctorReport report{
        .version = "1.0.0", .commit = "0123456789ab", .facts = std::move(facts)};
    report.findings = doctor::diagnose(report.facts);
    const std::string json = report::render_doctor_json(report);
    boost::system::error_code wrong;
    boost::json::parse(json, wrong);
    CHECK_FALSE(wrong);
    return "status " + std::to_string(doctor::needs_mending(report.findings) ? 1 : 0) + "\n" +
           report::render_doctor(report, report::Colour::off) + "--- as JSON\n" + json;
}

doctor::Facts gather(FakeSystem& system, std::vector<std::string> environment,
                     const std::string& facts_file) {
    environment.push_back("HOME=" + kHome);
    auto session = commands::open_session(system, std::move(environment));
    REQUIRE(session);
    return commands::gather_doctor_facts(*session, facts_file);
}

std::string clean_guest() {
    FakeSystem system;
    install(system);
    system.host = guest_facts();
    system.add_program(system.executable, signed_image({}, macho::kMhExecute, macho::kCsAdhoc));
    system.add_file(kLib + "libmetalrun_shim.dylib", thin_library());
    system.add_file(kLib + "libmetalrun_shim_universal.dylib", universal_library());
    system.add_file(kLib + "SHA256SUMS",
                    sums_line(thin_library(), "libmetalrun_shim.dylib") +
                        sums_line(universal_library(), "libmetalrun_shim_universal.dylib"));
    system.add_file(kHome + "/.zshrc", "export PATH=/opt/m/bin:$PATH\n");
    system.cache_folder = "/var/folders/ab/C";
    system.add_folder("/var/folders/ab/C/metalrun", {.mode = 0700, .owner = system.user.user});
    return document(gather(system, {"PATH=/opt/m/bin:/usr/bin"}, "guest.toml"));
}

void spoil_session(FakeSystem& system) {
    system.add_file(kHome + "/.zshrc",
                    "# export DYLD_INSERT_LIBRARIES=/old\n"
                    "export DYLD_INSERT_LIBRARIES=\"$HOME/shim.dylib\"\n"
                    "export DYLD_FORCE_FLAT_NAMESPACE=1 LUME_METAL_APPLE_FAMILY_MAX=1009\n"
                    "export LD_PRELOAD=$HOME/shim.dylib\n");
    system.add_file(kHome + "/.profile",
                    "export A=1 \\\n  DYLD_B=2\nexport DYLD_INSERT_LIBS=/x \\\n");
    system.add_special(kHome + "/.bashrc");
    system.add_file(kHome + "/.zshenv", "export DYLD_INSERT_LIBRARIES=/x\n");
    system.refuse("open", kHome + "/.zshenv", EACCES);
    system.add_link(kHome + "/.zlogin", ".zlogin");
    system.add_file(kHome + "/.config/fish/config.fish", std::string((1U << 20U) + 1, '\n'));
    const std::string agents = kHome + "/Library/LaunchAgents/";
    system.add_file(agents + "a b.plist",
                    "<plist><dict><key>Label</key><string>a</string><key>ProgramArguments</key>"
                    "<array><string>/bin/launchctl</string><string>setenv</string>"
                    "<string>DYLD_INSERT_LIBRARIES</string><string>/x</string></array></dict>"
                    "</plist>");
    system.add_file(agents + "bin\xff\n.plist", "bplist00\x01\x02");
    system.add_file(agents + "ollama.plist",
                    "<plist><dict><key>EnvironmentVariables</key><dict>"
                    "<key>DYLD_INSERT_LIBRARIES</key><string>/x</string></dict></dict></plist>");
    system.add_link("/home/bin/llama-server", "/gone/bin/metalrun");
    system.add_link("/home/bin/whisper-cli", "/opt/m/bin/metalrun");
}

std::string spoiled_guest() {
    FakeSystem system;
    install(system);
    system.host = guest_facts();
    system.host.os = "27.0";
    system.host.sip = Tri::no;
    system.host.boot_arguments = {"-v", "amfi_get_out_of_my_way=1"};
    system.add_file("/opt/m/libexec/metalrun/metalrun-probe", "probe");
    system.add_file(system.executable,
                    signed_image({}, macho::kMhExecute, macho::kCsAdhoc | 0x10000), {.mode = 0777});
    system.quarantined_files = {system.executable, kLib + "libmetalrun_shim.dylib"};
    std::string library = thin_library();
    library[0x2000] = 'x';
    system.add_file(kLib + "libmetalrun_shim.dylib", library, {.mode = 0666});
    system.shared_files = {kLib + "libmetalrun_shim.dylib"};
    system.add_file(kLib + "SHA256SUMS", sums_line(thin_library(), "libmetalrun_shim.dylib"));
    system.add_file(kHome + "/.config/metalrun/mine.toml", "schema = 1\n[metal]\nfamily = 7\n");
    system.cache_folder = "/var/folders/ab/C";
    system.add_folder("/var/folders/ab/C/metalrun", {.mode = 0777, .owner = system.user.user});
    spoil_session(system);
    auto facts = gather(system,
                        {"PATH=/opt/m/bin:/home/bin", "DYLD_INSERT_LIBRARIES=/lib/a.dylib",
                         "DYLD_INSERT_LIBRARY=/x", "DYLD_LIBRARY_PATH=/x"},
                        "guest.toml");
    // What only that machine could have been asked.
    facts.device = report::DeviceAnswers{.device = "Apple Paravirtual device",
                                         .apple_family = 1005,
                                         .threadgroup_memory = 32768,
                                         .working_set = 1U << 30U};
    facts.ollama_listens = true;
    facts.session_insertion = kHome + "/shim.dylib";
    return document(std::move(facts));
}

std::string linux_machine() {
    FakeSystem system;
    install(system);
    system.host = {.source = HostFacts::Source::machine,
                   .kernel = HostFacts::Kernel::linux,
                   .architecture = "x86_64",
                   .guest = Tri::no,
                   .translated = Tri::no};
    system.add_program(system.executable, make_elf({.marker = "launcher"}));
    const std::string library = make_elf({.interpreter = "", .marker = "shim"});
    system.add_file(kLib + "libmetalrun_shim.so", library);
    system.add_file(kLib + "SHA256SUMS", sums_line(library, "libmetalrun_shim.so"));
    system.add_file("/etc/profile", "export PATH=/usr/bin\n");
    auto facts = gather(system, {"PATH=/opt/m/bin:/usr/bin"}, {});
    facts.device = report::DeviceAnswers{.device = "AppleParavirtDevice",
                                         .simulated = true,
                                         .apple_family = 1005,
                                         .threadgroup_memory = 32768,
                                         .working_set = 1U << 30U};
    return document(std::move(facts));
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void check_golden(const std::string& name, const std::string& seen) {
    const std::string path = std::string(METALRUN_GOLDEN_DIR) + "/doctor/" + name + ".txt";
    if (std::getenv("METALRUN_UPDATE_GOLDEN") != nullptr) {
        std::ofstream{path, std::ios::binary} << seen;
    }
    CHECK(seen == read_file(path));
}

} // namespace

TEST_SUITE("golden.doctor") {
    TEST_CASE("a guest on which nothing needs mending") {
        check_golden("clean-guest", clean_guest());
    }

    TEST_CASE("a guest on which everything does") {
        check_golden("spoiled-guest", spoiled_guest());
    }

    TEST_CASE("a Linux machine") {
        check_golden("linux", linux_machine());
    }
}
