// SPDX-License-Identifier: MIT
//
// Whatever puts a library into more programs than the one that was named: inherited variables,
// launchd, start-up files of shells; and links that stand for a program and lead nowhere.
#include "judge/doctor_parts.hpp"
#include "report/shell_text.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace metalrun::doctor {

using judge::Severity;
using text::format;
using text::quote;

namespace {

constexpr std::string_view kInstead = "start the one program with 'metalrun --' instead";

// What a watched variable is to this kernel's loader.
enum class Meaning : std::uint8_t {
    inserts,        ///< puts libraries into every program
    wrong_name,     ///< looks as if it did, but no loader knows it
    flat_namespace, ///< DYLD_FORCE_FLAT_NAMESPACE, which old recipes set beside the insertion
    shim_setting,   ///< LUME_METAL_*: read by a shim alone
    other,          ///< dyld(1)'s other variables
};

// Nothing: Linux knows no DYLD_* names.
std::optional<Meaning> meaning_of(std::string_view name, HostFacts::Kernel kernel) {
    if (name == launch::insertion_variable(kernel)) {
        return Meaning::inserts;
    }
    if (name.starts_with("LUME_METAL_")) {
        return Meaning::shim_setting;
    }
    if (kernel == HostFacts::Kernel::linux) {
        return std::nullopt;
    }
    // dyld has no further name that begins so (dyld/DyldProcessConfig.cpp).
    if (name == "LD_PRELOAD" || name.starts_with("DYLD_INSERT") || name == "DYLD_PRELOAD") {
        return Meaning::wrong_name;
    }
    return name == "DYLD_FORCE_FLAT_NAMESPACE" ? Meaning::flat_namespace : Meaning::other;
}

struct Told {
    std::string_view id;
    Severity severity = Severity::note;
    std::string_view sentence; ///< begins behind the place that sets it and the name
};

// What a variable that reaches every program of the session comes to.
Told told_of(Meaning meaning) {
    switch (meaning) {
    case Meaning::inserts:
        return {.id = "insertion-for-all",
                .severity = Severity::warning,
                .sentence =
                    "which puts a library into every program of the session, not only the one that "
                    "needs it"};
    case Meaning::wrong_name:
        return {.id = "wrong-variable",
                .severity = Severity::warning,
                .sentence = "which macOS does not know: nothing is inserted by it"};
    case Meaning::flat_namespace:
        return {.id = "flat-namespace",
                .severity = Severity::warning,
                .sentence = "which the shim does not need, and which can break other programs"};
    case Meaning::shim_setting:
        return {
            .id = "shim-setting-for-all",
            .severity = Severity::note,
            .sentence =
                "which metalrun takes out of every start: it is for libraries that are inserted "
                "by hand"};
    case Meaning::other:
        break;
    }
    return {.id = "loader-variable",
            .severity = Severity::note,
            .sentence = "which changes how every program of the session is loaded"};
}

std::string_view insertion_name(const Facts& facts) {
    return launch::insertion_variable(facts.host.kernel);
}

void inherited(const Facts& facts, Findings& into) {
    for (const auto& [name, value] : facts.variables) {
        const auto meaning = meaning_of(name, facts.host.kernel);
        if (!meaning || *meaning == Meaning::inserts) {
            continue; // what is inserted is told apart below
        }
        const Told told = told_of(*meaning);
        into.push_back({.id = std::string(told.id),
                        .severity = told.severity,
                        .message = format("the environment of this shell has {}, {}",
                                          text::escape(name), told.sentence),
                        .help = "unset it here, and take it out of what sets it",
                        .command = text::shell_command({"unset", name})});
    }
    std::vector<std::string> listed;
    std::ranges::transform(facts.insertion.elements, std::back_inserter(listed), text::escape);
    if (facts.insertion.is_session_wide) {
        into.push_back({.id = "insertion-for-all",
                        .severity = Severity::warning,
                        .message = format("the environment of this shell has a Metal shim in {}, "
                                          "which no metalrun set: every program that it starts "
                                          "gets it",
                                          insertion_name(facts)),
                        .help = "unset it here, and take it out of what sets it",
                        .command = text::shell_command({"unset", insertion_name(facts)})});
        for (const std::string& shim : facts.insertion.removed_shims) {
            into.back().facts.push_back(text::escape(shim));
        }
    }
    if (!listed.empty()) {
        into.push_back({.id = "inherited-insertion",
                        .severity = Severity::warning,
                        .message = format("the environment of this shell has libraries in {}, "
                                          "which every program that it starts gets",
                                          insertion_name(facts)),
                        .facts = std::move(listed),
                        .help = "unset it, if it is not meant",
                        .command = text::shell_command({"unset", insertion_name(facts)})});
    }
}

void login_session(const Facts& facts, Findings& into) {
    if (facts.session_insertion && !facts.session_insertion->empty()) {
        into.push_back(
            {.id = "session-insertion",
             .severity = Severity::warning,
             .message = "launchd gives DYLD_INSERT_LIBRARIES to every program of the "
                        "login session",
             .facts = {text::escape(*facts.session_insertion)},
             .help = "unset it, then log out and in: what runs already keeps it",
             .command = text::shell_command({"launchctl", "unsetenv", "DYLD_INSERT_LIBRARIES"})});
    }
}

// The lines of one file that set variables of one meaning.
struct LinesOfFile {
    std::vector<std::size_t> numbers; ///< each once
    std::vector<std::string> seen;    ///< as facts
    std::string names;
    bool continued = false;
    bool exported = false;
};

std::string_view manner(SetBy by) {
    return by == SetBy::assigned    ? ", not exported"
           : by == SetBy::launchctl ? ", by launchctl setenv"
                                    : "";
}

LinesOfFile collect(const std::vector<SetLine>& all, Meaning meaning, HostFacts::Kernel kernel) {
    LinesOfFile lines;
    for (const SetLine& line : all) {
        if (meaning_of(line.name, kernel) != meaning) {
            continue;
        }
        lines.exported = lines.exported || line.by != SetBy::assigned;
        lines.continued = lines.continued || line.continued;
        if (lines.numbers.empty() || lines.numbers.back() != line.line) {
            lines.numbers.push_back(line.line);
        }
        if (lines.names.find(line.name) == std::string::npos) {
            lines.names += text::concat(lines.names.empty() ? "" : ", ", line.name);
        }
        lines.seen.push_back(format("line {}: {}{}", line.line, line.name, manner(line.by)));
    }
    return lines;
}

// Switches the lines off and leaves the rest as it is: `:` does nothing in any of these shells, and
// an `if` keeps its body. A copy of the file stays beside it.
std::string edit_command(const ShellFile& file, const LinesOfFile& lines) {
    const std::string_view rights = file.path.starts_with("/etc/") ? "sudo " : "";
    if (lines.continued) {
        return text::concat(rights, text::shell_command({"vi", format("+{}", lines.numbers.front()),
                                                         file.real_path}));
    }
    std::string script;
    for (const std::size_t number : lines.numbers) {
        script += format("{}{}s/^/: # /", script.empty() ? "" : ";", number);
    }
    return text::concat(rights, text::shell_command({"sed", "-i.bak", script, file.real_path}));
}

void shell_file(const Facts& facts, const ShellFile& file, Meaning meaning, Findings& into) {
    LinesOfFile lines = collect(*file.content, meaning, facts.host.kernel);
    if (lines.numbers.empty()) {
        return;
    }
    const Told told = told_of(meaning);
    into.push_back(
        {.id = std::string(told.id),
         .severity = lines.exported ? told.severity : Severity::note,
         .message = format("{} sets {}, {}", quote(file.path), lines.names, told.sentence),
         .facts = std::move(lines.seen),
         .help = lines.continued ? "take it out of the file"
                                 : "switch the lines off; a copy of the file stays beside it",
         .command = edit_command(file, lines)});
}

void shell_files(const Facts& facts, Findings& into) {
    static constexpr std::array kMeanings{Meaning::inserts, Meaning::wrong_name,
                                          Meaning::flat_namespace, Meaning::shim_setting,
                                          Meaning::other};
    for (const ShellFile& file : facts.shell_files) {
        for (const Meaning meaning : kMeanings) {
            if (file.content) {
                shell_file(facts, file, meaning, into);
            }
        }
    }
}

std::string list(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) {
        out += text::concat(out.empty() ? "" : ", ", text::escape(name));
    }
    return out;
}

bool has_insertion(const Facts& facts, const std::vector<std::string>& names) {
    return std::ranges::find(names, insertion_name(facts)) != names.end();
}

// Ends the job and keeps launchd from loading it again.
std::string unload_command(const JobFile& file, const std::string& home) {
    const std::string off = text::concat(file.path, ".off");
    if (!home.empty() && file.path.starts_with(home + "/")) {
        return text::concat("launchctl bootout gui/$(id -u) ", text::shell_word(file.path), "; ",
                            text::shell_command({"mv", "-i", file.path, off}));
    }
    const std::string domain = file.path.starts_with("/Library/LaunchDaemons/")
                                   ? "sudo launchctl bootout system "
                                   : "launchctl bootout gui/$(id -u) ";
    return text::concat(domain, text::shell_word(file.path), "; ",
                        text::shell_command({"sudo", "mv", "-i", file.path, off}));
}

void job_files(const Facts& facts, Findings& into) {
    for (const JobFile& file : facts.job_files) {
        if (!file.content) {
            continue;
        }
        const LaunchJob& job = *file.content;
        if (!job.session.empty()) {
            const bool inserts = has_insertion(facts, job.session);
            into.push_back(
                {.id = "launch-job-sets-session",
                 .severity = inserts ? Severity::warning : Severity::note,
                 .message = format("the launchd job {} sets {} for every program of the session",
                                   quote(file.path), list(job.session)),
                 .help = "unload the job, and put its file aside",
                 .command = unload_command(file, facts.home)});
        }
        if (has_insertion(facts, job.own)) {
            into.push_back(
                {.id = "launch-job-inserts",
                 .message = format("the launchd job {} inserts libraries into its own program: "
                                   "nothing says whether they were loaded",
                                   quote(file.path)),
                 .facts = {format("its EnvironmentVariables have: {}", list(job.own))},
                 .help = std::string(kInstead)});
        }
    }
}

void links(const Facts& facts, Findings& into) {
    for (const BadLink& link : facts.bad_links) {
        Finding finding{.severity = Severity::warning,
                        .facts = {format("it leads to {}", quote(link.destination))},
                        .command = text::shell_command({"rm", link.path})};
        switch (link.why) {
        case BadLink::Why::dangling:
            finding.id = "link-dangling";
            finding.message =
                format("the link {} leads to a metalrun that is not there", quote(link.path));
            finding.help = "make it anew with 'ln -s', or remove it";
            break;
        case BadLink::Why::last_name:
            finding.id = "link-without-program";
            finding.message = format("the link {} stands for a program of its name, and PATH has "
                                     "none but metalrun",
                                     quote(link.path));
            finding.help = "install the program, or remove the link";
            break;
        }
        into.push_back(std::move(finding));
    }
}

} // namespace

void session(const Facts& facts, Findings& into) {
    inherited(facts, into);
    login_session(facts, into);
    shell_files(facts, into);
    job_files(facts, into);
    links(facts, into);
}

} // namespace metalrun::doctor
