// SPDX-License-Identifier: MIT
//
// What the way to the image says: stand-ins of macOS, shells, and what was resolved
// (injection-rules 4.1 and table 6.2).
#include "judge/rule_parts.hpp"
#include "judge/rules.hpp"
#include "judge/shells.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace metalrun::judge {

namespace rule {

namespace {

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string image_name(const Question& q) {
    const target::Image* image = image_of(q);
    return image != nullptr ? target::base_name(image->path) : std::string{};
}

} // namespace

Found chain_problem(const Question& q) {
    return q.chain.problem;
}

// The tools that xcode-select(1) puts in /usr/bin: each asks for the developer folder and starts
// the real one, without the variable.
Found xcode_stub(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || !is_system_program(q) || !target::is_xcode_stub(image->path)) {
        return std::nullopt;
    }
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::xcode_stub,
                 format("{} is a stand-in of macOS that starts the real tool without the shim",
                        target_name(q)));
    finding.help = q.chain.xcode_tool.empty()
                       ? format("'xcrun --find {}' names the real one; start that", image_name(q))
                       : format("start the real one: {}", text::escape(q.chain.xcode_tool));
    return finding;
}

// The program of a Python framework starts Resources/Python.app in its place (CPython
// Mac/Tools/pythonw.c): with stock children the shim has left the environment by then. Followed
// where Python.app is there.
Found python_stub(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || q.host.kernel != HostFacts::Kernel::darwin) {
        return std::nullopt;
    }
    if (!q.chain.python_stub.empty()) {
        return remark(FindingId::python_stub, Severity::note,
                      format("{} starts Python.app of its framework in its place; {} is started "
                             "directly",
                             quote(q.chain.python_stub), target_name(q)));
    }
    const std::string& path = image->real_path.empty() ? image->path : image->real_path;
    if (!target::is_python_stub(path)) {
        return std::nullopt;
    }
    const std::string sentence =
        format("{} starts Python.app of its framework in its place", target_name(q));
    if (q.plan.children.value != profile::Children::stock) {
        return remark(FindingId::python_stub, Severity::note, sentence);
    }
    Finding finding = error_at(Step::target, Outcome::stripped, FindingId::python_stub,
                               format("{}, which is not there", sentence));
    finding.facts.push_back(format("it lies at {}", quote(path)));
    finding.help = "install this Python again, with its Resources/Python.app";
    return finding;
}

namespace {

// The script that is started, or null: not a launcher script, whose target has taken its place.
const target::Link* started_script(const Question& q) {
    const auto& links = q.chain.links;
    if (starts_as_script(q) && !q.chain.arguments.empty()) { // its interpreter, by way of env
        return &links.front();
    }
    const auto started = std::ranges::find(links, q.chain.path, &target::Link::path);
    return started != links.end() && started->kind == target::LinkKind::script ? &*started
                                                                               : nullptr;
}

// The names by which the program may be a shell: a link's and its file's own, and the argv[0] by
// which a program of many names knows what to be. A script is one by its own name, not by that of
// its interpreter.
std::vector<std::string> names_of(const Question& q) {
    if (const target::Link* script = started_script(q); script != nullptr) {
        return {target::base_name(script->path)};
    }
    const target::Image* image = image_of(q);
    return {target::base_name(std::string(q.argv0)), image_name(q),
            image != nullptr ? target::base_name(image->real_path) : std::string{}};
}

} // namespace

// The shim is for one program; in a shell it would go to every program of a session.
Found login_shell(const Question& q) {
    const bool inherits = q.plan.children.value != profile::Children::stock;
    const bool by_command_line = q.plan.children.origin == "command line";
    if (!q.arguments || (inherits && by_command_line)) {
        return std::nullopt;
    }
    const auto names = names_of(q);
    const auto shell = std::ranges::find_if(names, &is_shell);
    const bool waits = shell != names.end() && !has_commands(*shell, *q.arguments);
    const bool opens = inherits && std::ranges::any_of(names, &opens_session);
    if (!waits && !opens) {
        return std::nullopt;
    }
    const target::Link* script = started_script(q);
    const std::string subject = script != nullptr ? quote(script->path) : target_name(q);
    Finding finding =
        error_at(Step::target, Outcome::stripped, FindingId::login_shell,
                 format("{} {}", subject,
                        waits ? "is a shell for people: a session keeps running stock"
                              : "opens a session of shells for people, which keeps running stock"));
    if (waits && *shell != image_name(q)) {
        finding.facts.push_back(format("it is known as {}", quote(*shell)));
    }
    if (inherits) {
        finding.facts.push_back(format("children inherit by {}; for a session the command line "
                                       "must say so",
                                       q.plan.children.origin));
    }
    finding.help = "start the program that computes, or ask for it with '--children inherit' on "
                   "the command line";
    return finding;
}

// --- information --------------------------------------------------------------------------------

Found env_resolved(const Question& q) {
    if (!q.chain.resolves_env || q.chain.links.empty()) {
        return std::nullopt;
    }
    return remark(FindingId::env_resolved, Severity::note,
                  format("{} names its interpreter through env; {} is started directly",
                         quote(q.chain.links.front().path), quote(q.chain.path)));
}

// Judged for another machine: only there it can be told what the interpreter is.
Found interpreter_unseen(const Question& q) {
    const target::Image* image = image_of(q);
    if (image == nullptr || !image->elsewhere || is_system_program(q)) {
        return std::nullopt;
    }
    Finding finding = uncertain(Outcome::killed, FindingId::script_interpreter_missing,
                                format("{}, which {} starts, cannot be looked at from this machine",
                                       target_name(q), quote(q.chain.typed)));
    finding.help =
        format("run 'metalrun check {}' on the guest itself", text::escape(q.chain.typed));
    return finding;
}

// `check` does not ask for it; a start would be refused before it is judged.
Found no_run_bit(const Question& q) {
    constexpr std::uint32_t kRun = 0111;
    if (q.chain.links.empty() || q.chain.links.front().status.kind != FileKind::regular ||
        (q.chain.links.front().status.mode & kRun) != 0) {
        return std::nullopt;
    }
    Finding finding =
        remark(FindingId::target_not_executable, Severity::note,
               format("{} may be executed by nobody yet", quote(q.chain.links.front().path)));
    finding.help = format("chmod +x {}", text::escape(q.chain.links.front().path));
    return finding;
}

Found bundle_resolved(const Question& q) {
    if (q.chain.links.empty() || q.chain.links.front().kind != target::LinkKind::bundle) {
        return std::nullopt;
    }
    return remark(FindingId::bundle_resolved, Severity::note,
                  format("{} is a bundle; its main executable is {}",
                         quote(q.chain.links.front().path), target_name(q)));
}

} // namespace rule

} // namespace metalrun::judge
