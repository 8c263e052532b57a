// SPDX-License-Identifier: MIT
#include "macho/facts.hpp"
#include "profile/values.hpp"
#include "report/doctor_report.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <utility>

namespace metalrun::report {

namespace {

using doctor::Known;
using Lines = std::vector<DoctorLine>;

constexpr std::string_view kNotSaid = "nothing here says it";

Known<std::string> unknown(std::string_view why) {
    return std::unexpected(std::string(why));
}

Known<std::string> text_or_unknown(const std::string& value, std::string_view why = kNotSaid) {
    return value.empty() ? unknown(why) : Known<std::string>(value);
}

Known<std::string> tri(Tri value, std::string_view yes, std::string_view no) {
    return value == Tri::unknown ? unknown(kNotSaid)
                                 : Known<std::string>(value == Tri::yes ? yes : no);
}

std::string join(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) {
        out += text::concat(out.empty() ? "" : ", ", part);
    }
    return out;
}

DoctorSection host_section(const doctor::Facts& facts) {
    const HostFacts& host = facts.host;
    const bool is_macos = host.kernel == HostFacts::Kernel::darwin;
    std::string system = is_macos ? "macOS" : "Linux";
    if (!host.os.empty()) {
        system += text::concat(" ", host.os);
    }
    if (!host.build.empty()) {
        system += text::concat(" (", host.build, ")");
    }
    const doctor::Shown shown = doctor::shown_for(host);
    const std::string boot = join(doctor::telling_boot_arguments(host));
    Lines lines{{"system", "system", system},
                {"architecture", "architecture", text_or_unknown(host.architecture)},
                {"chip", "chip", text_or_unknown(host.chip)},
                {"guest", "guest", tri(host.guest, "yes", "no")}};
    if (is_macos) {
        lines.push_back({"sip", "System Integrity Protection", tri(host.sip, "on", "off")});
        lines.push_back({"boot_arguments", "boot arguments that matter",
                         boot.empty() ? std::string("none") : boot});
        lines.push_back({"translated", "translated by Rosetta", tri(host.translated, "yes", "no")});
    }
    lines.push_back({"shown", "shown to work here",
                     shown.rung == 0 ? text::format("not at all: {}", shown.how)
                                     : text::format("rung {} of 6: {}", shown.rung, shown.how)});
    return {"host",
            facts.facts_file.empty()
                ? std::string("host")
                : text::format("host (simulated: facts from {})", text::escape(facts.facts_file)),
            std::move(lines)};
}

DoctorSection device_section(const doctor::Facts& facts) {
    Lines lines;
    if (!facts.device) {
        lines.push_back({"name", "device", std::unexpected(facts.device.error())});
    } else if (const std::optional<std::string>& name = facts.device->device; !name) {
        lines.push_back({"name", "device", std::string("none")});
    } else {
        const DeviceAnswers& answers = *facts.device;
        lines.push_back(
            {"name", "device", text::concat(*name, answers.simulated ? " (simulated)" : "")});
        lines.push_back({"apple_family", "highest Apple family",
                         answers.apple_family == 0 ? std::string("none")
                                                   : std::to_string(answers.apple_family)});
        lines.push_back({"threadgroup_memory", "threadgroup memory (bytes)",
                         std::to_string(answers.threadgroup_memory)});
        lines.push_back({"working_set", "recommended working set (bytes)",
                         std::to_string(answers.working_set)});
    }
    Known<std::string> port =
        facts.ollama_listens
            ? Known<std::string>(*facts.ollama_listens ? "a server listens" : "nothing listens")
            : unknown(facts.ollama_listens.error());
    lines.push_back(
        {"ollama_port", text::format("127.0.0.1:{}", doctor::kOllamaPort), std::move(port)});
    return {"device", "device", std::move(lines)};
}

Known<std::string> signature_of(const macho::SliceFacts& slice) {
    if (!slice.signature) {
        return "not signed";
    }
    if (!*slice.signature) {
        return "broken";
    }
    const macho::CodeSignature& signature = **slice.signature;
    const std::string flags = join(macho::flag_names(signature.best().flags));
    return text::concat(signature.kind == macho::SignatureKind::cms ? "signed" : "ad hoc",
                        flags.empty() ? "" : text::concat(" (", flags, ")"));
}

// The slices, with the kind of their signatures.
Known<std::string> content_of(const target::Content& content) {
    if (const std::string* damage = content.damage(); damage != nullptr) {
        return text::concat("damaged: ", *damage);
    }
    if (const elf::Facts* facts = content.elf(); facts != nullptr) {
        return text::concat("ELF, ", elf::machine_name(facts->machine));
    }
    const macho::FileFacts* file = content.macho();
    if (file == nullptr) {
        return "neither ELF nor Mach-O";
    }
    std::vector<std::string> slices;
    slices.reserve(file->slices.size());
    for (const macho::SliceFacts& slice : file->slices) {
        slices.push_back(text::format("{} {}", slice.name, signature_of(slice).value()));
    }
    return join(slices);
}

Known<std::string> pages_of(const judge::ShimFacts& shim) {
    std::uint64_t checked = 0;
    std::uint64_t bad = 0;
    for (const macho::PageCheck& pages : shim.pages) {
        checked += pages.checked;
        bad += pages.bad;
    }
    return bad == 0 ? text::format("{} agree", checked)
                    : text::format("{} of {} differ", bad, checked);
}

Known<std::string> checksum_of(const doctor::InstalledShim& shim) {
    if (shim.facts.sha256.empty()) {
        return unknown("the library was not read");
    }
    if (!shim.expected_sha256) {
        return unknown(shim.expected_sha256.error());
    }
    return *shim.expected_sha256 == shim.facts.sha256 ? "as SHA256SUMS says"
                                                      : "not as SHA256SUMS says";
}

DoctorSection shim_section(const doctor::Facts& facts, const doctor::InstalledShim& shim) {
    const bool is_macos = facts.host.kernel == HostFacts::Kernel::darwin;
    const std::string_view kind = !is_macos        ? "shim"
                                  : shim.universal ? "universal shim"
                                                   : "thin shim";
    Lines lines{{"path", "path", shim.facts.path}};
    if (shim.facts.open_error != 0) {
        lines.push_back({"content", "content", unknown("it cannot be read")});
    } else {
        lines.push_back({"content", "content", content_of(shim.facts.content)});
        if (!shim.facts.pages.empty()) {
            lines.push_back({"pages", "page hashes", pages_of(shim.facts)});
        }
        lines.push_back({"sha256", "SHA-256", text_or_unknown(shim.facts.sha256)});
        lines.push_back({"checksum", "checksum", checksum_of(shim)});
        lines.push_back({"writable", "who may write",
                         std::string(shim.facts.distrust ? "others, too" : "nobody else")});
        if (is_macos) {
            lines.push_back({"quarantined", "quarantine mark",
                             std::string(shim.facts.quarantined ? "yes" : "no")});
            lines.push_back({"shared", "on a folder of the host",
                             std::string(shim.facts.on_shared_folder ? "yes" : "no")});
        }
    }
    return {shim.universal ? "universal_shim" : "shim", std::string(kind), std::move(lines)};
}

Known<std::string> sees_text(const doctor::Facts& facts) {
    if (facts.host.kernel == HostFacts::Kernel::linux) {
        return "not applicable: this is Linux";
    }
    const auto sees = doctor::sees_variables(facts);
    if (!sees) {
        return std::unexpected(sees.error());
    }
    switch (*sees) {
    case doctor::SeesVariables::always:
        return "yes: it is not hardened";
    case doctor::SeesVariables::by_entitlement:
        return "yes: it is hardened, with the entitlement";
    case doctor::SeesVariables::never:
        return "no: it is hardened, without the entitlement";
    }
    return std::unexpected(std::string(kNotSaid));
}

DoctorSection own_section(const doctor::Facts& facts) {
    return {"metalrun",
            "metalrun",
            {{"path", "path", facts.own.path},
             {"content", "content", content_of(facts.own.content)},
             {"sees_dyld_variables", "sees DYLD variables", sees_text(facts)},
             {"probe", "probe",
              facts.probe_error == 0 ? Known<std::string>(facts.probe)
                                     : unknown("it cannot be looked at")}}};
}

// The good ones of a place in one line, the others in one each.
DoctorSection profiles_section(const doctor::Facts& facts) {
    Lines lines;
    Lines flawed;
    std::vector<std::string> good;
    for (std::size_t at = 0; at < facts.profiles.size(); ++at) {
        const doctor::FoundProfile& profile = facts.profiles[at];
        if (profile.unread) {
            flawed.push_back({profile.origin, profile.origin, unknown("it cannot be looked at")});
        } else if (!profile.flaws.empty()) {
            flawed.push_back(
                {profile.origin, profile.origin, text::format("flaws: {}", profile.flaws.size())});
        } else {
            good.push_back(profile.name);
        }
        const bool ends_place =
            at + 1 == facts.profiles.size() || facts.profiles[at + 1].place != profile.place;
        if (ends_place && !good.empty()) {
            const std::string where = profile.place.empty() ? "built in" : profile.place;
            lines.push_back({where, where, text::concat("good: ", join(good))});
            good.clear();
        }
    }
    lines.insert(lines.end(), flawed.begin(), flawed.end());
    return {"profiles", "profiles", std::move(lines)};
}

// What was read in one line; files that could not be read have a line each.
template <class T>
void add_files(const std::vector<doctor::SessionFile<T>>& files, std::string_view key,
               std::string_view label, Lines& lines) {
    std::vector<std::string> read;
    for (const auto& file : files) {
        if (file.content) {
            read.push_back(file.path);
        }
    }
    lines.push_back({std::string(key), std::string(label), read.empty() ? "none" : join(read)});
    for (const auto& file : files) {
        if (!file.content) {
            lines.push_back({file.path, file.path, std::unexpected(file.content.error())});
        }
    }
}

Known<std::string> state_text(const doctor::StateFolder& folder) {
    using State = doctor::StateFolder::State;
    switch (folder.state) {
    case State::usable:
        return folder.path;
    case State::not_made:
        return text::concat(folder.path, " (not made yet)");
    case State::no_place:
        return "none";
    case State::not_a_folder:
    case State::of_another:
    case State::open_to_others:
        return text::concat("not usable: ", folder.path);
    case State::unseen:
        break;
    }
    return unknown(text::concat(folder.path, ": ", folder.detail));
}

DoctorSection session_section(const doctor::Facts& facts) {
    Lines lines;
    std::vector<std::string> names;
    names.reserve(facts.variables.size());
    for (const auto& [name, value] : facts.variables) {
        names.push_back(name);
    }
    lines.push_back({"variables", "inherited variables", names.empty() ? "none" : join(names)});
    if (facts.host.kernel == HostFacts::Kernel::darwin) {
        lines.push_back({"launchd", "DYLD_INSERT_LIBRARIES of launchd",
                         !facts.session_insertion
                             ? unknown(facts.session_insertion.error())
                             : Known<std::string>(facts.session_insertion->empty()
                                                      ? std::string("not set")
                                                      : *facts.session_insertion)});
    }
    if (facts.home.empty()) {
        lines.push_back(
            {"home", "start-up files of the user", unknown("HOME is not set to an absolute path")});
    }
    add_files(facts.shell_files, "shell_files", "start-up files read", lines);
    if (facts.host.kernel == HostFacts::Kernel::darwin) {
        add_files(facts.job_files, "launchd_jobs", "launchd jobs read", lines);
    }
    for (const auto& [path, reason] : facts.unread_folders) {
        lines.push_back({path, path, unknown(reason)});
    }
    lines.push_back(
        {"bad_links", "links in PATH that lead nowhere", std::to_string(facts.bad_links.size())});
    lines.push_back({"state", "folder for receipts", state_text(facts.state)});
    return {"session", "session", std::move(lines)};
}

} // namespace

std::vector<DoctorSection> doctor_sections(const doctor::Facts& facts) {
    std::vector<DoctorSection> sections{host_section(facts), device_section(facts)};
    for (const doctor::InstalledShim& shim : facts.shims) {
        sections.push_back(shim_section(facts, shim));
    }
    sections.push_back(own_section(facts));
    sections.push_back(profiles_section(facts));
    sections.push_back(session_section(facts));
    return sections;
}

} // namespace metalrun::report
