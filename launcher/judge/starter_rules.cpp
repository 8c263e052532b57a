// SPDX-License-Identifier: MIT
//
// Programs that become or start another one: with stock children the shim stays behind in them, and
// those of macOS drop the variable before they do (injection-rules 4.1). The remedy is the right
// way round.
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::judge::rule {

namespace {

// How the child comes to be, for the message.
enum class Way : std::uint8_t { itself, session, machine, service };

struct Starter {
    std::string_view name;
    /// Words in capital letters stand for the starter's operands, in their order.
    std::string_view help;
    Way way = Way::itself;
};

constexpr std::array<Starter, 29> kStarters{{
    {"arch", "metalrun --arch ARCH -- PROGRAM"},
    {"caffeinate", "caffeinate metalrun -- PROGRAM"},
    {"chroot", "chroot FOLDER metalrun -- PROGRAM"},
    {"doas", "doas metalrun -- PROGRAM"},
    {"env", "env metalrun -- PROGRAM"},
    {"ionice", "ionice metalrun -- PROGRAM"},
    {"launchctl", "put metalrun and '--' in front of the program in the job's ProgramArguments",
     Way::service},
    {"login", "log in, then: metalrun -- PROGRAM", Way::session},
    {"nice", "nice metalrun -- PROGRAM"},
    {"nohup", "nohup metalrun -- PROGRAM"},
    {"open", "metalrun -- NAME.app", Way::service},
    {"sandbox-exec", "sandbox-exec -f FILE metalrun -- PROGRAM"},
    {"screen", "start it inside the session: metalrun -- PROGRAM", Way::session},
    {"script", "start it inside the session: metalrun -- PROGRAM", Way::session},
    {"setpriv", "setpriv metalrun -- PROGRAM"},
    {"setsid", "setsid metalrun -- PROGRAM"},
    {"ssh", "ssh HOST metalrun -- PROGRAM", Way::machine},
    {"stdbuf", "stdbuf -oL metalrun -- PROGRAM"},
    {"su", "su USER -c 'metalrun -- PROGRAM'", Way::session},
    {"sudo", "sudo metalrun -- PROGRAM"},
    {"systemd-run", "systemd-run metalrun -- PROGRAM", Way::service},
    {"taskset", "taskset MASK metalrun -- PROGRAM"},
    {"time", "time metalrun -- PROGRAM"},
    {"timeout", "timeout DURATION metalrun -- PROGRAM"},
    {"tmux", "start it inside the session: metalrun -- PROGRAM", Way::session},
    {"unbuffer", "unbuffer metalrun -- PROGRAM"},
    {"watch", "watch metalrun -- PROGRAM"},
    {"xargs", "xargs metalrun -- PROGRAM"},
    {"xcrun", "metalrun -- \"$(xcrun --find TOOL)\""},
}};

constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string sentence(const Question& q, Way way) {
    switch (way) {
    case Way::itself:
        break;
    case Way::session:
        return format("{} starts programs in a session of its own, where the shim does not come",
                      target_name(q));
    case Way::machine:
        return format("{} starts programs on another machine, where the shim does not come",
                      target_name(q));
    case Way::service:
        return format("{} has programs started by a service, which does not hand the shim on",
                      target_name(q));
    }
    return format("{} starts another program, and the shim would stay behind in it",
                  target_name(q));
}

// True if it can be told what the word is, and a shell takes it as it is.
bool is_plain(std::string_view word) {
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@%+:,-";
    return !word.empty() && !word.starts_with('-') &&
           word.find_first_not_of(kPlain) == std::string_view::npos;
}

// The starter's operands as far as they can be told: those before the first option. What a session
// is given first is a command of its own.
std::vector<std::string> plain_operands(const Question& q, const Starter& starter) {
    std::vector<std::string> operands;
    if (!q.arguments || starter.way == Way::session) {
        return operands;
    }
    operands.assign(q.arguments->begin(), q.arguments->end());
    if (starter.name == "arch" && !operands.empty() && operands.front().starts_with('-')) {
        operands.front().erase(0, 1); // its first option names what its operand would
    }
    if (starter.name == "open" && !operands.empty()) {
        constexpr std::string_view kEnding = ".app";
        std::string& first = operands.front();
        first.resize(first.ends_with(kEnding) ? first.size() - kEnding.size() : 0);
    }
    operands.erase(std::ranges::find_if_not(operands, is_plain), operands.end());
    return operands;
}

// The remedy with the operands in the place of the words in capitals, if there is one for each.
std::string remedy(const Starter& starter, const std::vector<std::string>& operands) {
    std::string filled;
    std::string_view rest = starter.help;
    std::size_t used = 0;
    while (!rest.empty()) {
        const std::size_t begin = std::min(rest.find_first_of(kCapitals), rest.size());
        const std::size_t end = std::min(rest.find_first_not_of(kCapitals, begin), rest.size());
        filled += rest.substr(0, begin);
        if (end - begin > 1) {
            if (used == operands.size()) {
                return std::string(starter.help);
            }
            filled += operands[used++];
        } else {
            filled += rest.substr(begin, end - begin);
        }
        rest.remove_prefix(end);
    }
    return filled;
}

Found starter(const Question& q) {
    const target::Image* image = image_of(q);
    const std::string name = image != nullptr ? target::base_name(image->path) : std::string{};
    const auto* known = std::ranges::find(kStarters, name, &Starter::name);
    if (known == kStarters.end() || starts_as_script(q)) {
        return std::nullopt;
    }
    Finding finding = error_at(Step::target, Outcome::stripped, FindingId::starts_elsewhere,
                               sentence(q, known->way));
    finding.help = remedy(*known, plain_operands(q, *known));
    return finding;
}

// A version manager's command tells which program it would start.
Finding managed(const Question& q, const target::ManagedStandIn& found) {
    const std::string name = target::base_name(found.path);
    Finding finding = error_at(
        Step::target, Outcome::stripped, FindingId::starts_elsewhere,
        format("{} is a stand-in of {}, which starts the chosen {}: the shim would stay behind",
               quote(found.path), found.manager, quote(name)));
    const std::string& first = q.chain.links.front().path;
    finding.help = format("metalrun -- \"$({} which {})\"{}", found.manager, text::escape(name),
                          first == found.path ? std::string{} : " " + text::escape(first));
    return finding;
}

Finding unfollowed_env(const Question& q) {
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::starts_elsewhere,
                 format("{} starts its interpreter through env with options that are not followed: "
                        "the shim would stay behind in env",
                        quote(q.chain.path)));
    if (!q.chain.env_unfollowed.empty()) {
        finding.facts.push_back(format("not followed: {}", q.chain.env_unfollowed));
    }
    finding.help = is_system_program(q)
                       ? "start the interpreter itself: metalrun -- INTERPRETER SCRIPT"
                       : "use '--children inherit', or start the interpreter itself";
    return finding;
}

} // namespace

Found starts_elsewhere(const Question& q) {
    const bool inherits = q.plan.children.value != profile::Children::stock;
    if (inherits && !is_system_program(q)) {
        return std::nullopt;
    }
    if (q.chain.managed && !q.chain.links.empty()) {
        return managed(q, *q.chain.managed);
    }
    return q.chain.passes_env ? Found(unfollowed_env(q)) : starter(q);
}

} // namespace metalrun::judge::rule
