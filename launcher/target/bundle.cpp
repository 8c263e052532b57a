// SPDX-License-Identifier: MIT
#include "target/bundle.hpp"

#include "macho/bytes.hpp"
#include "macho/property_list.hpp"
#include "report/text.hpp"
#include "target/chain.hpp"
#include "target/problem.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace metalrun::target {

namespace {

using judge::Finding;
using judge::FindingId;

constexpr std::uint64_t kLargestInfo = std::uint64_t{1} << 20U; // real ones: below 64 KiB
constexpr std::array<std::string_view, 3> kEndings{".app", ".appex", ".xpc"};

bool is_kind(System& system, const std::string& path, FileKind kind) {
    const auto status = system.stat(path);
    return status && status->kind == kind;
}

// CFBundleExecutable of an XML Info.plist; nothing if the file cannot tell.
std::optional<std::string> named_executable(System& system, const std::string& info) {
    const auto file = system.open(info);
    if (!file || (*file)->status().kind != FileKind::regular ||
        (*file)->status().size_bytes > kLargestInfo) {
        return std::nullopt;
    }
    std::vector<std::byte> content((*file)->status().size_bytes);
    const auto got = (*file)->read_at(0, content);
    const auto entries =
        macho::parse_property_list(Bytes(content).first(got.value_or(0)), "the properties");
    if (!entries) {
        return std::nullopt;
    }
    const auto entry =
        std::ranges::find(*entries, "CFBundleExecutable", &macho::PropertyEntry::key);
    const bool is_name = entry != entries->end() &&
                         entry->kind == macho::PropertyEntry::Kind::text && !entry->text.empty();
    return is_name ? std::optional(entry->text) : std::nullopt;
}

std::string name_without_ending(const std::string& bundle) {
    const std::string name = base_name(bundle);
    return name.substr(0, name.find_last_of('.'));
}

// The file of the bundle's own name, or the only one in the folder; empty: neither is there.
std::string likely_executable(System& system, const std::string& bundle,
                              const std::string& programs) {
    std::string own = text::concat(programs, "/", name_without_ending(bundle));
    if (is_kind(system, own, FileKind::regular)) {
        return own;
    }
    if (programs == bundle) {
        return {}; // everything lies there
    }
    std::string only;
    for (const std::string& name : system.list(programs).value_or(std::vector<std::string>{})) {
        const std::string path = text::concat(programs, "/", name);
        if (!name.starts_with('.') && is_kind(system, path, FileKind::regular)) {
            if (!only.empty()) {
                return {};
            }
            only = path;
        }
    }
    return only;
}

std::string without_trailing_slashes(const std::string& path) {
    const std::size_t last = path.find_last_not_of('/');
    return last == std::string::npos ? path : path.substr(0, last + 1);
}

Finding leads_outside(const std::string& bundle, const std::string& name) {
    return problem(FindingId::target_not_executable,
                   text::format("bundle {} names {} as its main executable, which is no plain file "
                                "name",
                                text::quote(bundle), text::quote(name)),
                   {"CFBundleExecutable of Info.plist"},
                   "name the program inside the bundle by its path");
}

Finding is_missing(const std::string& bundle, const std::string& path) {
    return problem(
        FindingId::target_not_found,
        text::format("bundle {} has no main executable {}", text::quote(bundle), text::quote(path)),
        {"CFBundleExecutable of Info.plist"}, "install it again: the bundle is not complete");
}

Finding cannot_tell(const std::string& bundle, const std::string& programs) {
    return problem(
        FindingId::target_not_found,
        text::format("cannot tell the main executable of bundle {}", text::quote(bundle)),
        {"there is no Info.plist in XML that names it",
         text::format("{} holds neither a file of the bundle's name nor a single one",
                      text::quote(programs))},
        "name the program inside the bundle by its path");
}

} // namespace

bool is_bundle(System& system, const std::string& path) {
    const std::string name = without_trailing_slashes(path);
    return std::any_of(kEndings.begin(), kEndings.end(),
                       [&](std::string_view ending) { return name.ends_with(ending); }) &&
           is_kind(system, name, FileKind::directory);
}

std::expected<std::string, Finding> find_bundle_executable(System& system,
                                                           const std::string& bundle) {
    const std::string folder = without_trailing_slashes(bundle);
    const std::string contents = folder + "/Contents";
    const bool is_flat = !is_kind(system, contents, FileKind::directory);
    const std::string programs = is_flat ? folder : contents + "/MacOS";
    if (const auto name = named_executable(system, (is_flat ? folder : contents) + "/Info.plist")) {
        if (name->find('/') != std::string::npos || *name == "." || *name == "..") {
            return std::unexpected(leads_outside(folder, *name));
        }
        std::string path = text::concat(programs, "/", *name);
        if (!system.stat(path)) {
            return std::unexpected(is_missing(folder, path));
        }
        return path;
    }
    std::string path = likely_executable(system, folder, programs);
    if (path.empty()) {
        return std::unexpected(cannot_tell(folder, programs));
    }
    return path;
}

} // namespace metalrun::target
