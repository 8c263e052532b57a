// SPDX-License-Identifier: MIT
#include "commands/session.hpp"

#include "report/text.hpp"
#include "system/path.hpp"
#include "target/shim.hpp"

#include <utility>

namespace metalrun::commands {

namespace {

constexpr int kStandardOutput = 1;
constexpr int kStandardError = 2;

std::string folder_above(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

report::Colour colour_of(const Session& session, int descriptor) {
    const auto& environment = session.environment;
    const bool plain = !launch::find_variable(environment, "NO_COLOR").value_or("").empty() ||
                       launch::find_variable(environment, "TERM") == "dumb";
    return !plain && session.system.is_terminal(descriptor) ? report::Colour::on
                                                            : report::Colour::off;
}

} // namespace

report::Colour Session::colour() const {
    return colour_of(*this, kStandardError);
}

report::OutputStyle Session::output_style() const {
    if (!system.is_terminal(kStandardOutput)) {
        return {};
    }
    return {.colour = colour_of(*this, kStandardOutput),
            .columns = system.terminal_columns(kStandardOutput)};
}

std::string Session::installed_shim(HostFacts::Kernel kernel, Library library) const {
    const std::string_view name = kernel == HostFacts::Kernel::linux ? "libmetalrun_shim.so"
                                  : library == Library::thin         ? "libmetalrun_shim.dylib"
                                                             : "libmetalrun_shim_universal.dylib";
    return text::concat(prefix, "/lib/metalrun/", name);
}

std::string Session::probe() const {
    return prefix + "/libexec/metalrun/metalrun-probe";
}

void Session::print(std::string_view text) const {
    if (!system.write(kStandardOutput, text)) {
        output_failed = true;
    }
}

void Session::print_error(std::string_view text) const {
    system.write(kStandardError, text);
}

Result<Session> open_session(System& system, std::vector<std::string> environment) {
    Session session{.system = system, .environment = std::move(environment)};
    auto executable = system.executable_path();
    if (!executable) {
        return fail({.code = Errc::system,
                     .message = text::format("cannot tell where metalrun is installed: {}",
                                             text::error_text(executable.error()))});
    }
    session.executable = std::move(*executable);
    session.executable_status = system.stat(session.executable).value_or(FileStatus{});
    session.prefix = folder_above(folder_above(session.executable));
    session.host = system.host_facts();
    return session;
}

Result<std::optional<profile::Chosen>> load_explicit_profile(const Session& session,
                                                             const cli::Request& request,
                                                             profile::Catalogue& catalogue) {
    std::optional<std::string> named = request.policy.profile;
    if (!named) {
        if (const auto value = launch::find_variable(session.environment, "METALRUN_PROFILE");
            value && !value->empty()) {
            named = std::string(*value);
        }
    }
    if (!named) {
        return std::nullopt;
    }
    auto loaded = catalogue.load(*named);
    if (!loaded) {
        if (!request.policy.profile) {
            loaded.error().notes.emplace_back("the profile is named by METALRUN_PROFILE");
        }
        return fail(std::move(loaded.error()));
    }
    const auto by =
        request.policy.profile ? profile::Choice::By::option : profile::Choice::By::variable;
    return profile::Chosen{.profile = std::move(*loaded), .choice = {.by = by}};
}

Result<std::string> make_absolute(System& system, const std::string& path) {
    if (path.starts_with('/')) {
        return absolute_path({}, path);
    }
    const auto folder = system.working_directory();
    if (!folder) {
        return fail({.code = Errc::system,
                     .message = text::format(
                         "cannot tell what {} is relative to: the current directory: {}",
                         text::quote(path), text::error_text(folder.error())),
                     .help = "give an absolute path"});
    }
    return absolute_path(*folder, path);
}

launch::Insertion read_inherited_insertion(const Session& session,
                                           const std::string& working_directory,
                                           const FileStatus* chosen_shim) {
    const auto kernel = session.host.kernel;
    launch::Insertion insertion;
    if (const auto value = launch::find_insertion(session.environment, kernel)) {
        insertion =
            launch::read_insertion(*value, kernel, working_directory, [&](const std::string& path) {
                return target::is_known_shim(session.system, path, chosen_shim);
            });
    }
    insertion.has_ld_preload = kernel == HostFacts::Kernel::darwin &&
                               launch::find_variable(session.environment, "LD_PRELOAD").has_value();
    // metalrun always tells its shim of the children.
    const bool is_ours =
        launch::find_variable(session.environment, "METALRUN_SHIM_CHILDREN").has_value();
    insertion.is_session_wide = !insertion.removed_shims.empty() && !is_ours;
    insertion.is_from_metalrun = !insertion.removed_shims.empty() && is_ours;
    return insertion;
}

} // namespace metalrun::commands
