// SPDX-License-Identifier: MIT
//
// From the word that was typed to the image that the kernel runs: PATH search, the way into a
// bundle, and the way through `#!` lines (execve(2)).
#pragma once

#include "judge/finding.hpp"
#include "system/system.hpp"
#include "target/content.hpp"
#include "target/env_line.hpp"
#include "target/stand_in.hpp"

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace metalrun::target {

enum class LinkKind : std::uint8_t { program, script, bundle };

[[nodiscard]] std::string_view to_string(LinkKind kind);

/// One file on the way.
struct Link {
    std::string path; ///< as it is exec'ed
    std::string line; ///< script: what follows the interpreter in the first line
    LinkKind kind = LinkKind::program;
    FileStatus status;
};

/// The file behind the chain's end, as far as it could be read.
struct Image {
    std::string path;
    FileStatus status;
    Content content;
    bool gains_rights = false; ///< set-id for this user, or file capabilities
    std::string rights;        ///< what it gains, in words
    std::vector<std::optional<macho::PageCheck>> pages = {}; ///< per slice; empty: not verified
    bool quarantined = false;                                ///< carries com.apple.quarantine
    bool loader_missing = false; ///< PT_INTERP names a file that is not there
    std::string real_path = {};  ///< without symbolic links; empty: of a file that is no program
    bool elsewhere = false; ///< judged for another machine: the file itself could not be looked at
};

/// Who would start the program: set-id rights are gained by others than the file's owner.
enum class Starter : std::uint8_t { caller, unknown };

/// What the open file at `path` holds, at Depth::decide, and what starting it would come with.
[[nodiscard]] Image read_image(System& system, const std::string& path, const File& file,
                               Starter starter);

struct Chain {
    std::string typed; ///< TARGET as it was typed
    std::string path;  ///< what is handed to execve; empty if there is nothing to start
    /// env or a stub was resolved: argv up to where the caller's own arguments begin, in place of
    /// argv[0].
    std::vector<std::string> arguments;
    std::vector<EnvironmentChange> environment; ///< what they change, in order
    bool resolves_env = false;                  ///< env on the way is not started
    bool passes_env = false;               ///< env stays on the way, because it is not followed
    std::string env_unfollowed;            ///< what is not followed in its line
    std::string python_stub;               ///< the stub whose Python.app is started directly
    std::string xcode_tool;                ///< what a stub in /usr/bin would start, if it is there
    std::optional<ManagedStandIn> managed; ///< a version manager starts the program
    std::vector<Link> links;
    std::vector<std::string> names;        ///< base names: as typed, then along the chain
    std::optional<Image> image;            ///< absent if there is a problem
    std::optional<judge::Finding> problem; ///< why it cannot start

    [[nodiscard]] bool is_bundle() const {
        return !links.empty() && links.front().kind == LinkKind::bundle;
    }
};

/// Where a name was looked for, and whose rules the way from there follows.
struct SearchPath {
    std::string path;                  ///< value of PATH, or confstr(_CS_PATH) when there is none
    bool is_default = false;           ///< there was no PATH
    std::string home;                  ///< for the hint about ~/.local/bin; may be empty
    std::vector<FileStatus> skip = {}; ///< not empty: leave out these files, and every metalrun
    HostFacts::Kernel kernel = HostFacts::Kernel::linux; ///< its rules for `#!` lines
    bool elsewhere = false; ///< interpreters are those of another machine, a Mac: not looked at
    /// The target's variables, for `${NAME}` in a line for env; empty: not known.
    VariableLookup variable = {};
};

/// The candidate files for `name` in PATH, in order, that exist; an empty entry is skipped and a
/// relative one is relative to the current directory.
struct Candidate {
    std::string path;
    FileStatus status;
    bool executable = false;
};
[[nodiscard]] std::vector<Candidate> find_candidates(System& system, const std::string& name,
                                                     const SearchPath& search);

/// Follows `typed` to the image. Never fails: what goes wrong is Chain::problem.
[[nodiscard]] Chain resolve(System& system, const std::string& typed, const SearchPath& search);

/// Looks at one file or bundle as `check` does: it is not searched, and its run bit does not
/// matter. `search` is for what env(1) starts.
[[nodiscard]] Chain inspect(System& system, const std::string& path, const SearchPath& search);

/// The script whose `#!` line leads back to metalrun (`own` is the running one's status), directly
/// or through env(1); null if the chain ends elsewhere. Starting it would start metalrun again for
/// ever.
[[nodiscard]] const Link* find_way_back(System& system, const Chain& chain, const FileStatus& own,
                                        const SearchPath& search);

/// What follows the interpreter in a script's first line, trimmed; nothing if it is no script.
[[nodiscard]] std::optional<std::string> interpreter_arguments(System& system,
                                                               const std::string& path);

/// The base names of the libraries that the image needs (all slices of a universal file).
[[nodiscard]] std::vector<std::string> needed_libraries(const Content& content);

/// The base name of a path.
[[nodiscard]] std::string base_name(const std::string& path);

} // namespace metalrun::target
