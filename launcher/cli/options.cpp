// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::cli {

namespace {

constexpr std::array kOptions{
    Option{"profile", 'p', "NAME|FILE", "use this profile instead of the one that fits the target",
           kForPolicy | kForProfile},
    Option{"stock", 0, "", "start the same way without the shim", kForPolicy},
    Option{"or-stock", 0, "", "start without the shim instead of refusing", kForPolicy},
    Option{"family", 0, "FAMILY",
           "highest Apple family to answer yes to: stock, host, apple1 … apple10",
           kForPolicy | kForProfile},
    Option{"threadgroup-memory", 0, "SIZE", "threadgroup memory to report: stock, or up to 64KiB",
           kForPolicy | kForProfile},
    Option{"working-set", 0, "SIZE", "recommended working set to report: stock, or a size",
           kForPolicy | kForProfile},
    Option{"shim", 0, "FILE", "insert this library instead of the installed one", kForPolicy},
    Option{"arch", 0, "ARCH", "slice to start: arm64, arm64e or x86_64", kForPolicy},
    Option{"children", 0, "POLICY", "what children get: stock, inherit or inherit-if-safe",
           kForPolicy | kForProfile},
    Option{"anywhere", 0, "", "insert the shim outside a guest, too", kForPolicy},
    Option{"when-uncertain", 0, "POLICY", "if the target might be killed: refuse or inject",
           kForPolicy},
    Option{"verify", 0, "", "check every page hash of the target's signature, too", kForPolicy},
    Option{"env", 'e', "NAME=VALUE", "set a variable for the target",
           kForRun | kForAgent | kForBench, true},
    Option{"unset", 'u', "NAME", "remove a variable for the target",
           kForRun | kForAgent | kForBench, true},
    Option{"chdir", 'C', "DIR", "change to this folder first", kForRun | kForAgent | kForBench},
    Option{"argv0", 0, "NAME", "the name the target sees as its own", kForRun},
    Option{"dry-run", 'n', "", "print the plan, run nothing", kForRun},
    Option{"host-facts", 0, "FILE", "judge for the machine that this file describes",
           kForCheck | kForProfile | kForDoctor},
    Option{"recursive", 0, "", "judge the programs in folders, too", kForCheck},
    Option{"json", 0, "", "print one JSON document",
           kForProbe | kForCheck | kForProfile | kForStatus | kForDoctor},
    Option{"verbose", 'v', "", "say on stderr what is done", kForAll},
    Option{"quiet", 'q', "", "do not print notes and warnings", kForAll},
    Option{"help", 0, "", "print this text", kForAll},
    Option{"version", 0, "", "print the version", kForAll},
};

constexpr std::array<std::pair<std::string_view, Command>, 8> kCommands{{
    {"check", Command::check},
    {"probe", Command::probe},
    {"doctor", Command::doctor},
    {"profile", Command::profile},
    {"status", Command::status},
    {"agent", Command::agent},
    {"host", Command::host},
    {"bench", Command::bench},
}};

constexpr std::string_view kUsage = "usage: metalrun [OPTION...] [--] TARGET [ARGUMENT...]\n"
                                    "       metalrun [OPTION...] SCRIPT [ARGUMENT...]\n"
                                    "       metalrun check [OPTION...] PATH...\n"
                                    "       metalrun probe [OPTION...]\n"
                                    "       metalrun doctor [OPTION...]\n"
                                    "       metalrun profile list|show|lint [NAME|FILE]\n"
                                    "       metalrun status [--json] [PID]\n";

constexpr std::string_view kRunHead = R"(
Starts TARGET with the Metal shim in it, if this target can take it; says why not otherwise.
TARGET is a path, or a name that is searched in PATH. Options end at TARGET or at '--'.

)";

constexpr std::string_view kRunTail = R"(
commands (a program of that name is started by 'metalrun -- NAME'):
  check PATH...                say whether these programs would take the shim, and why not
  probe                        ask the Metal device stock and with the shim
  probe --stock                does this machine's device under-report itself?
  doctor                       what in this machine, its session and the installation needs mending
  profile list                 all profiles and where they come from
  profile show [NAME|FILE]     effective values, each with its origin
  profile lint FILE...         check profiles
  status [PID]                 what became of the processes that metalrun started

exit status: the target's own, or
  125  metalrun itself failed (usage, profile, shim)
  126  the target was found, but cannot be run or cannot take the shim
  127  the target, or the interpreter of a script, was not found
)";

constexpr std::string_view kCheckHead = R"(usage: metalrun check [OPTION...] PATH...

Says for each file whether it would take the shim and, if not, why and what to do. An application
bundle means its main executable and the further programs in it, a folder with '--recursive' the
programs in it. Mach-O programs are judged for the machine that '--host-facts' describes, else for
this one; on Linux for the newest known macOS guest. Nothing is started.

exit status: 0 all would be injected, 1 some would not, 2 some cannot be told, 125 metalrun itself
failed

)";

constexpr std::string_view kProbeHead = R"(usage: metalrun probe [OPTION...]

Asks the Metal device of this machine what it can do, once without and once with the shim, and
compares the answers with what the profile says. With --stock: only without, and says whether the
device under-reports itself.

exit status: 0 as the profile says (--stock: nothing to mend), 1 not, 125 metalrun itself failed

)";

constexpr std::string_view kDoctorHead = R"(usage: metalrun doctor [OPTION...]

Looks at this machine, its Metal device, what is installed, the profiles, and whatever in the login
session puts libraries into programs, and says what needs mending and how. It changes nothing, and
what it cannot know it calls unknown. Ends with a block for a bug report. With '--host-facts': for
the machine that the file describes, with the start-up files in HOME.

exit status: 0 nothing needs mending, 1 something does (errors and warnings), 125 metalrun itself
failed

)";

constexpr std::string_view kProfileHead = R"(usage: metalrun profile list [--json]
       metalrun profile show [OPTION...] [NAME|FILE]
       metalrun profile lint FILE...

Lists the profiles, shows the effective values of one with the origin of each, or checks files.

)";

constexpr std::string_view kStatusHead = R"(usage: metalrun status [--json] [PID]

Says what became of each live process that metalrun started, or of the one with that number, from
the receipt of its start and from what the system tells of it now, and removes the receipts of
processes that are gone.

  active             a Metal device of it gives the raised answers
  loaded             the shim is in it; it has no Metal device yet
  re-executed        the shim was in it; it is another program now, without the shim
  stock-by-decision  metalrun started it without the shim, for the reason that is named
  stock-by-shim      the shim is in it and left it stock, for the reason that is named
  stripped           the shim was to be loaded and is not in it
  unconfirmed        none of these can be proved, for the reason that is named

exit status: 0 each is active, loaded or stock-by-decision, 1 some is not or PID has no receipt,
125 metalrun itself failed

)";

std::string render_option(const Option& option) {
    std::string left = option.letter != 0 ? text::format("  -{}, --{}", option.letter, option.name)
                                          : text::format("      --{}", option.name);
    if (!option.value.empty()) {
        left += text::format(" {}", option.value);
    }
    constexpr std::size_t kColumn = 31;
    if (left.size() + 2 > kColumn) {
        left += "\n" + std::string(kColumn, ' ');
    } else {
        left.append(kColumn - left.size(), ' ');
    }
    return text::format("{}{}\n", left, option.help);
}

std::string render_options(CommandSet commands) {
    std::string out = "options:\n";
    for (const Option& option : kOptions) {
        if ((option.commands & commands) != 0) {
            out += render_option(option);
        }
    }
    return out;
}

} // namespace

std::span<const Option> options() {
    return kOptions;
}

Command command_of(std::string_view word) {
    const auto* const found = std::find_if(kCommands.begin(), kCommands.end(),
                                           [&](const auto& entry) { return entry.first == word; });
    return found == kCommands.end() ? Command::run : found->second;
}

std::string_view to_string(Command command) {
    const auto* const found =
        std::find_if(kCommands.begin(), kCommands.end(),
                     [&](const auto& entry) { return entry.second == command; });
    return found == kCommands.end() ? std::string_view("run") : found->first;
}

CommandSet bit_of(Command command) {
    switch (command) {
    case Command::run:
    case Command::help:
    case Command::version:
        return kForRun;
    case Command::check:
        return kForCheck;
    case Command::probe:
        return kForProbe;
    case Command::profile:
        return kForProfile;
    case Command::agent:
        return kForAgent;
    case Command::bench:
        return kForBench;
    case Command::doctor:
        return kForDoctor;
    case Command::status:
        return kForStatus;
    case Command::host:
        return 0;
    }
    return 0;
}

std::string render_help(Command command) {
    switch (command) {
    case Command::check:
        return std::string(kCheckHead) + render_options(kForCheck);
    case Command::probe:
        return std::string(kProbeHead) + render_options(kForProbe);
    case Command::profile:
        return std::string(kProfileHead) + render_options(kForProfile);
    case Command::status:
        return std::string(kStatusHead) + render_options(kForStatus);
    case Command::doctor:
        return std::string(kDoctorHead) + render_options(kForDoctor);
    case Command::run:
    case Command::agent:
    case Command::host:
    case Command::bench:
    case Command::help:
    case Command::version:
        break;
    }
    return std::string(kUsage) + std::string(kRunHead) + render_options(kForRun) +
           std::string(kRunTail);
}

std::string render_usage() {
    return std::string(kUsage) + "'metalrun --help' explains the options\n";
}

} // namespace metalrun::cli
