// SPDX-License-Identifier: MIT
//
// Where profiles come from, and which one a start gets (metalrun(1), PROFILES):
// --profile, then $METALRUN_PROFILE, then the first place whose [match] fits, then `default`.
// Places, in order: the user's folder, <prefix>/etc/metalrun, <prefix>/share/metalrun/profiles, the
// copies built into the program.
#pragma once

#include "profile/profile.hpp"
#include "profile/trust.hpp"
#include "result.hpp"
#include "system/system.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::profile {

/// A profile that is compiled into the program, generated from config/NAME.toml at build time.
struct BuiltIn {
    std::string_view name;
    std::string_view toml; ///< the text of config/NAME.toml, byte for byte
    std::span<const std::string_view> match_programs;
    std::span<const std::string_view> match_arguments;
    std::span<const std::string_view> match_libraries;
    WorkloadStatus status;
    Profile (*make)(); ///< the parsed profile without parsing TOML
};

/// All built-in profiles, sorted by name (generated file).
[[nodiscard]] std::span<const BuiltIn> built_ins();

/// The folders a search looks in; an empty string means that the place does not exist here.
struct Places {
    std::string user;  ///< $XDG_CONFIG_HOME/metalrun or ~/.config/metalrun
    std::string etc;   ///< <prefix>/etc/metalrun
    std::string share; ///< <prefix>/share/metalrun/profiles
};

/// The places of this process. HOME and XDG_CONFIG_HOME come from the inherited environment (a
/// relative XDG_CONFIG_HOME is ignored, as the XDG base directory specification says); as root, a
/// user's folder that is not owned by root is left out. `executable` is the real path of metalrun.
[[nodiscard]] Places find_places(System& system, std::span<const std::string> environment,
                                 const std::string& executable);

/// What is known of a target when its profile is chosen.
struct Subject {
    std::vector<std::string> program_names; ///< base names: as typed, and along the chain
    std::vector<std::string> arguments;     ///< the target's arguments, without argv[0]
    std::vector<std::string> libraries;     ///< base names of the libraries the target needs
};

/// A profile, and why it is this one.
struct Chosen {
    Profile profile;
    Choice choice;
};

class Catalogue {
public:
    Catalogue(System& system, Places places, TrustedFolders& trust);

    /// A profile by NAME (no slash, and not ending in .toml) or by FILE. A relative FILE is
    /// relative to the current directory; NAME is never searched there. Errors: Errc::profile.
    [[nodiscard]] Result<Profile> load(const std::string& name_or_file);

    /// The profile whose [match] fits, or nothing. Within a place the most specific match wins
    /// (arguments, libraries, programs), then unsafe before the others; a tie is an error. A
    /// pattern on arguments is compared with the first argument, the first two, … up to eight,
    /// joined by blanks, each also behind a program's name: "-m mlx_lm*", "ollama serve". For a
    /// built-in profile the built-in [match] decides, then share/NAME.toml is used if it was
    /// changed.
    [[nodiscard]] Result<std::optional<Chosen>> find_match(const Subject& subject);

    /// Every profile that can be named, with the place that wins; sorted by name. A file that does
    /// not parse appears with its error.
    struct Entry {
        std::string name;
        std::string origin;
        Result<Profile> profile;
    };
    [[nodiscard]] std::vector<Entry> list();

private:
    System& system_;
    Places places_;
    TrustedFolders& trust_;
};

} // namespace metalrun::profile
