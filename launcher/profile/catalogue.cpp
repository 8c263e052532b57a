// SPDX-License-Identifier: MIT
//
// The search for a profile (metalrun(1), PROFILES). The usual start ends in the static tables of
// the built-in profiles: no folder of the user's, no TOML, a few comparisons.
#include "profile/catalogue.hpp"

#include "profile/document.hpp"
#include "profile/loader.hpp"
#include "profile/match.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

namespace metalrun::profile {

namespace {

std::string file_in(const std::string& folder, std::string_view name) {
    return text::concat(folder, "/", name, kProfileEnding);
}

const BuiltIn* find_built_in(std::string_view name) {
    const std::span<const BuiltIn> all = built_ins();
    const auto found = std::ranges::lower_bound(all, name, {}, &BuiltIn::name);
    return found != all.end() && found->name == name ? &*found : nullptr;
}

// --- reading a file -----------------------------------------------------------------------------

// A place that this user may not look into has nothing for this user (HOME of another, kept by
// sudo); a file that is there and cannot be read is an error.
bool is_absent(System& system, const std::string& path, int number) {
    return number == ENOENT || number == ENOTDIR ||
           (number == EACCES && !system.lstat(path).has_value());
}

Result<std::optional<Document>> find_document(System& system, TrustedFolders& trust,
                                              const std::string& path) {
    const SysResult<std::unique_ptr<File>> file = system.open(path);
    if (!file) {
        if (is_absent(system, path, file.error())) {
            return std::nullopt;
        }
        return cannot("open", path, file.error());
    }
    Result<Document> document = read_document(trust, **file, path);
    if (!document) {
        return fail(std::move(document.error()));
    }
    return std::optional(std::move(*document));
}

Result<std::optional<Profile>> find_profile(System& system, TrustedFolders& trust,
                                            const std::string& path) {
    Result<std::optional<Document>> found = find_document(system, trust, path);
    if (!found) {
        return fail(std::move(found.error()));
    }
    const std::optional<Document> document = std::move(*found);
    if (!document) {
        return std::nullopt;
    }
    Result<Profile> profile = parse_profile(document->text, path, parent_of(document->real_path));
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    return std::optional(std::move(*profile));
}

// True if the file says what is built in. Who may write to it does not matter then.
bool is_copy_of(const File& file, const std::string& path, const BuiltIn& built_in) {
    if (file.status().size_bytes != built_in.toml.size()) {
        return false;
    }
    const Result<std::string> content = read_all(file, path);
    return content && *content == built_in.toml;
}

// A built-in profile, or its file in the share folder if somebody changed that.
Result<Profile> load_built_in(System& system, TrustedFolders& trust, const std::string& share,
                              const BuiltIn& built_in) {
    if (share.empty()) {
        return built_in.make();
    }
    const std::string path = file_in(share, built_in.name);
    const SysResult<std::unique_ptr<File>> file = system.open(path);
    if (!file && is_absent(system, path, file.error())) {
        return built_in.make();
    }
    if (!file) {
        return cannot("open", path, file.error());
    }
    if (is_copy_of(**file, path, built_in)) {
        Profile profile = built_in.make();
        profile.origin = path;
        return profile;
    }
    const Result<Document> document = read_document(trust, **file, path);
    if (!document) {
        return fail(document.error());
    }
    return parse_profile(document->text, path, parent_of(document->real_path));
}

Result<Profile> load_file(System& system, TrustedFolders& trust, const std::string& path) {
    const SysResult<std::unique_ptr<File>> file = system.open(path);
    if (!file) {
        return cannot("open", path, file.error());
    }
    Result<Document> document = read_document(trust, **file, path);
    if (!document) {
        return fail(std::move(document.error()));
    }
    Result<Profile> profile = parse_profile(document->text, path, parent_of(document->real_path));
    if (profile && !path.starts_with('/')) {
        const SysResult<std::string> folder = system.working_directory();
        profile->origin =
            folder ? text::format("{}{}{}", *folder, folder->ends_with('/') ? "" : "/", path)
                   : document->real_path;
    }
    return profile;
}

/// The names of the profiles in a folder, sorted; nothing if there is no such folder.
Result<std::vector<std::string>> names_in(System& system, const std::string& folder) {
    std::vector<std::string> names;
    if (folder.empty()) {
        return names;
    }
    SysResult<std::vector<std::string>> entries = system.list(folder);
    if (!entries) {
        if (entries.error() == ENOENT || entries.error() == ENOTDIR || entries.error() == EACCES) {
            return names;
        }
        return fail({.code = Errc::profile,
                     .message = text::format("cannot list {}: {}", text::quote(folder),
                                             text::error_text(entries.error()))});
    }
    for (std::string& entry : *entries) {
        // Editors leave '.x.toml.swp', '.#x.toml' and 'x.toml~' beside the file.
        if (entry.ends_with(kProfileEnding) && entry.size() > kProfileEnding.size() &&
            !entry.starts_with('.')) {
            entry.resize(entry.size() - kProfileEnding.size());
            names.push_back(std::move(entry));
        }
    }
    std::ranges::sort(names);
    return names;
}

std::unexpected<Error> unknown_name(System& system, const Places& places, const std::string& name) {
    std::vector<std::string> known;
    for (const BuiltIn& built_in : built_ins()) {
        known.emplace_back(built_in.name);
    }
    std::vector<std::string> notes;
    for (const std::string& folder : {places.user, places.etc, places.share}) {
        if (const auto names = names_in(system, folder)) {
            known.insert(known.end(), names->begin(), names->end());
        }
        if (!folder.empty()) {
            notes.push_back(text::format("searched {}", text::quote(file_in(folder, name))));
        }
    }
    // 'llama' means 'llama.cpp' rather than 'ollama'.
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    const auto longer = std::ranges::find_if(candidates, [&](std::string_view candidate) {
        return !name.empty() && candidate.starts_with(name);
    });
    const std::string_view similar =
        longer != candidates.end() ? *longer : text::nearest(name, candidates);
    return fail({.code = Errc::profile,
                 .message = text::format("there is no profile named {}", text::quote(name)),
                 .notes = std::move(notes),
                 .help = similar.empty()
                             ? text::format("'metalrun profile list' shows the profiles; a file in "
                                            "the current folder is written './{}'",
                                            text::escape(name))
                             : text::format("a profile with a similar name exists: {}",
                                            text::quote(similar))});
}

// --- matching -----------------------------------------------------------------------------------

/// The best match of one place so far.
struct Best {
    unsigned rank = 0;
    std::optional<Profile> profile;    ///< one of a file, or
    const BuiltIn* built_in = nullptr; ///< a built-in one
    std::string origin;
    std::string rival; ///< origin of another with the same rank

    // True if an entry of this rank is the new best.
    bool consider(unsigned other_rank, std::string_view other_origin) {
        if (other_rank == 0 || other_rank < rank) {
            return false;
        }
        if (other_rank == rank) {
            rival = other_origin;
            return false;
        }
        rank = other_rank;
        origin = other_origin;
        rival.clear();
        profile.reset();
        built_in = nullptr;
        return true;
    }
};

std::optional<Chosen> chosen_of(Best best, const Candidates& candidates) {
    if (!best.profile) {
        return std::nullopt;
    }
    Choice choice = choice_of(*best.profile, candidates);
    return Chosen{.profile = std::move(*best.profile), .choice = std::move(choice)};
}

std::unexpected<Error> tie(const Best& best) {
    return fail({.code = Errc::profile,
                 .message = text::format("the profiles {} and {} match this target alike",
                                         text::quote(best.origin), text::quote(best.rival)),
                 .help = "choose one with '--profile'"});
}

enum class Skip : std::uint8_t { nothing, built_in_names };

Result<void> consider_folder(System& system, TrustedFolders& trust, const std::string& folder,
                             Skip skip, std::pair<const Candidates&, Best&> search) {
    const Result<std::vector<std::string>> names = names_in(system, folder);
    if (!names) {
        return fail(names.error());
    }
    for (const std::string& name : *names) {
        if (skip == Skip::built_in_names && find_built_in(name) != nullptr) {
            continue;
        }
        Result<std::optional<Profile>> found = find_profile(system, trust, file_in(folder, name));
        if (!found) {
            return fail(std::move(found.error()));
        }
        auto& [candidates, best] = search;
        std::optional<Profile> profile = std::move(*found);
        if (profile && best.consider(rank_of(*profile, candidates), profile->origin)) {
            best.profile = std::move(profile);
        }
    }
    return {};
}

} // namespace

Places find_places(System& system, std::span<const std::string> environment,
                   const std::string& executable) {
    // The first definition counts, as for getenv(3); an empty or relative value means nothing.
    const auto folder_in = [&](std::string_view name) -> std::string_view {
        const auto found = std::ranges::find_if(
            environment, [&](std::string_view entry) { return entry.starts_with(name); });
        const std::string_view value = found == environment.end()
                                           ? std::string_view{}
                                           : std::string_view(*found).substr(name.size());
        return value.starts_with('/') ? value : std::string_view{};
    };
    Places places;
    const std::string_view home = folder_in("HOME=");
    const std::string_view config = folder_in("XDG_CONFIG_HOME=");
    if (!config.empty()) {
        places.user = text::concat(config, "/metalrun");
    } else if (!home.empty()) {
        places.user = text::concat(home, "/.config/metalrun");
    }
    if (!places.user.empty() && system.identity().effective_user == 0) {
        const SysResult<FileStatus> status = system.stat(places.user);
        if (!status || status->owner != 0) {
            places.user.clear();
        }
    }
    if (executable.starts_with('/')) {
        std::string prefix = parent_of(parent_of(executable));
        prefix = prefix == "/" ? "" : prefix;
        places.etc = prefix + "/etc/metalrun";
        places.share = prefix + "/share/metalrun/profiles";
    }
    return places;
}

Catalogue::Catalogue(System& system, Places places, TrustedFolders& trust)
    : system_(system), places_(std::move(places)), trust_(trust) {}

Result<Profile> Catalogue::load(const std::string& name_or_file) {
    if (name_or_file.find('/') != std::string::npos || name_or_file.ends_with(kProfileEnding)) {
        return load_file(system_, trust_, name_or_file);
    }
    const BuiltIn* const built_in = find_built_in(name_or_file);
    for (const std::string& folder : {places_.user, places_.etc, places_.share}) {
        // The file of a built-in profile in share is read by load_built_in().
        if (folder.empty() || (folder == places_.share && built_in != nullptr)) {
            continue;
        }
        Result<std::optional<Profile>> found =
            find_profile(system_, trust_, file_in(folder, name_or_file));
        if (!found) {
            return fail(std::move(found.error()));
        }
        if (std::optional<Profile> profile = std::move(*found)) {
            return std::move(*profile);
        }
    }
    if (built_in != nullptr) {
        return load_built_in(system_, trust_, places_.share, *built_in);
    }
    return unknown_name(system_, places_, name_or_file);
}

Result<std::optional<Chosen>> Catalogue::find_match(const Subject& subject) {
    const Candidates candidates = candidates_of(subject);
    for (const std::string& folder : {places_.user, places_.etc}) {
        Best best;
        Result<void> done =
            consider_folder(system_, trust_, folder, Skip::nothing, {candidates, best});
        if (!done) {
            return fail(std::move(done.error()));
        }
        if (!best.rival.empty()) {
            return tie(best);
        }
        if (best.profile) {
            return chosen_of(std::move(best), candidates);
        }
    }
    Best best;
    for (const BuiltIn& built_in : built_ins()) {
        if (best.consider(rank_of(built_in, candidates), built_in.name)) {
            best.built_in = &built_in;
        }
    }
    Result<void> done =
        consider_folder(system_, trust_, places_.share, Skip::built_in_names, {candidates, best});
    if (!done) {
        return fail(std::move(done.error()));
    }
    if (!best.rival.empty()) {
        return tie(best);
    }
    if (best.built_in == nullptr) {
        return chosen_of(std::move(best), candidates);
    }
    Result<Profile> profile = load_built_in(system_, trust_, places_.share, *best.built_in);
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    return Chosen{.profile = std::move(*profile), .choice = choice_of(*best.built_in, candidates)};
}

std::vector<Catalogue::Entry> Catalogue::list() {
    std::map<std::string, Entry> found;
    const auto add = [&](const std::string& name, const std::string& origin,
                         Result<Profile> profile) {
        if (profile) {
            const std::string from = profile->origin;
            found.try_emplace(name, name, from, std::move(profile));
        } else {
            found.try_emplace(name, name, origin, std::move(profile));
        }
    };
    for (const std::string& folder : {places_.user, places_.etc, places_.share}) {
        const Result<std::vector<std::string>> names = names_in(system_, folder);
        for (std::size_t i = 0; names && i < names->size(); ++i) {
            const std::string& name = (*names)[i];
            if (!found.contains(name) &&
                (folder != places_.share || find_built_in(name) == nullptr)) {
                const std::string path = file_in(folder, name);
                add(name, path, load_file(system_, trust_, path));
            }
        }
    }
    for (const BuiltIn& built_in : built_ins()) {
        const std::string name(built_in.name);
        if (!found.contains(name)) {
            add(name, file_in(places_.share, name),
                load_built_in(system_, trust_, places_.share, built_in));
        }
    }
    std::vector<Entry> entries;
    entries.reserve(found.size());
    for (auto& [name, entry] : found) {
        entries.push_back(std::move(entry));
    }
    return entries;
}

} // namespace metalrun::profile
