// SPDX-License-Identifier: MIT
//
// The one error value of the launcher, and the statuses it can end with
// (man page metalrun(1), EXIT STATUS).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace metalrun {

/// What went wrong, as far as the exit status depends on it.
enum class Errc : std::uint8_t {
    usage,     ///< the command line cannot be understood: 125
    profile,   ///< a profile cannot be found, read, trusted or believed: 125
    shim,      ///< the shim is missing or unusable: 125
    system,    ///< a system call failed on metalrun's own business: 125
    refused,   ///< the target was found, but cannot be run or cannot take the shim: 126
    not_found, ///< the target, or the interpreter of a script, was not found: 127
};

/// Statuses of metalrun itself; any other status is the target's own.
enum class ExitStatus : std::uint8_t {
    success = 0,
    negative = 1,  ///< `status`, `probe`, `doctor`, `check`: the answer is no
    uncertain = 2, ///< `check`: it cannot be told
    own_failure = 125,
    cannot_run = 126,
    not_found = 127,
};

[[nodiscard]] constexpr ExitStatus exit_status_of(Errc code) {
    switch (code) {
    case Errc::usage:
    case Errc::profile:
    case Errc::shim:
    case Errc::system:
        return ExitStatus::own_failure;
    case Errc::refused:
        return ExitStatus::cannot_run;
    case Errc::not_found:
        return ExitStatus::not_found;
    }
    return ExitStatus::own_failure;
}

/// An expected failure. `message` is one line in lower case without a final period; it names the
/// file and the place. `notes` carry the facts seen, `help` is one action that mends it.
struct Error {
    Errc code = Errc::system;
    std::string message;
    std::vector<std::string> notes = {};
    std::string help = {};
    std::string finding = {}; ///< id of the finding that decided, if one did
};

template <class T> using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
    return std::unexpected<Error>(std::move(error));
}

} // namespace metalrun
