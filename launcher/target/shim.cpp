// SPDX-License-Identifier: MIT
#include "target/shim.hpp"

#include "system/digest.hpp"

#include <utility>

namespace metalrun::target {

namespace {

// The published libraries have one size, so that nothing else has to be hashed to be told from
// them.
constexpr std::uint64_t kPublishedSize = 69'456;

} // namespace

std::string_view published_shim(std::string_view sha256) {
    if (sha256 == "515b9d84ab67e86d959282e95c194a5ad8a947261514b947d6f7483c57797b31") {
        return "LumeMetalCapabilities-arm64.dylib";
    }
    if (sha256 == "62504be341ed74191eab22f19e21d99b2afbe6cc029902c760578ffbbd0588cb") {
        return "LumeMetalCapabilities-arm64e.dylib";
    }
    return {};
}

namespace {

// The first library that an installed macOS would not find: an absolute path, not weak, outside of
// the folders whose libraries lie in the shared cache only.
std::string missing_dependency(System& system, const macho::FileFacts& library) {
    for (const macho::SliceFacts& slice : library.slices) {
        if (!slice.image) {
            continue;
        }
        for (const macho::Dependency& needed : slice.image->dependencies) {
            const bool in_cache =
                needed.path.starts_with("/usr/lib/") || needed.path.starts_with("/System/");
            if (!needed.weak && needed.path.starts_with('/') && !in_cache &&
                !system.stat(needed.path)) {
                return needed.path;
            }
        }
    }
    return {};
}

} // namespace

judge::ShimFacts inspect_shim(System& system, const std::string& path, Digest digest,
                              profile::TrustedFolders& trust) {
    judge::ShimFacts facts{.path = path};
    auto file = system.open(path);
    if (!file) {
        facts.open_error = file.error();
        return facts;
    }
    facts.status = (*file)->status();
    if (facts.status.kind != FileKind::regular) {
        return facts;
    }
    facts.content = read_content(**file, macho::Depth::verify);
    const auto real = (*file)->real_path();
    if (!real) {
        facts.open_error = real.error();
        return facts;
    }
    if (auto trusted = trust.check(*real, facts.status, Errc::shim); !trusted) {
        facts.distrust = std::move(trusted.error());
    }
    facts.no_execution = system.forbids_execution(path);
    facts.quarantined = system.is_quarantined(path);
    facts.on_shared_folder = system.is_shared_folder(path);
    if (const macho::FileFacts* library = facts.content.macho(); library != nullptr) {
        facts.missing_dependency = missing_dependency(system, *library);
        for (const macho::SliceFacts& slice : library->slices) {
            if (slice.signature && *slice.signature) {
                facts.pages.push_back(macho::check_pages(**file, slice));
            }
        }
    }
    if (digest == Digest::needed || facts.status.size_bytes == kPublishedSize) {
        facts.sha256 = sha256_hex(**file, kLargestShim).value_or(std::string{});
        facts.published = published_shim(facts.sha256);
    }
    return facts;
}

bool is_known_shim(System& system, const std::string& path, const FileStatus* own) {
    if (path.find('/') == std::string::npos) {
        return false;
    }
    const auto status = system.stat(path);
    if (!status || status->kind != FileKind::regular) {
        return false;
    }
    if (own != nullptr && status->device == own->device && status->inode == own->inode) {
        return true;
    }
    const auto file = system.open(path);
    if (!file) {
        return false;
    }
    if (marker_of(read_content(**file, macho::Depth::decide)) == "shim") {
        return true;
    }
    return status->size_bytes == kPublishedSize &&
           !published_shim(sha256_hex(**file, kPublishedSize).value_or(std::string{})).empty();
}

} // namespace metalrun::target
