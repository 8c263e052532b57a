// SPDX-License-Identifier: MIT
//
// See images.hpp.
#include "images.hpp"

#include "imports.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include <sys/mman.h>

namespace machload {
namespace {

using emulation::Image;
using emulation::Section;
using emulation::Segment;

constexpr std::uint64_t kPage = 0x4000; // of both processors' Mach-O files, or a multiple of it
constexpr std::uint64_t kDescriptor = 24;

std::vector<std::unique_ptr<LoadedImage>>& owned_images() {
    static std::vector<std::unique_ptr<LoadedImage>> images;
    return images;
}

std::vector<const LoadedImage*>& known_images() {
    static std::vector<const LoadedImage*> images;
    return images;
}

std::uint64_t rounded(std::uint64_t size) {
    return (size + kPage - 1) / kPage * kPage;
}

/// Where another image's import is bound to: what an image interposes, then what one exports, then
/// the tables. 0: nowhere.
std::uint64_t find_symbol(const std::string& name, const LoadedImage& importer) {
    for (const auto* loaded : known_images()) {
        const auto& tuples = loaded->image.interposed;
        const auto found = std::ranges::find(tuples, name, &emulation::Interposed::original);
        if (found != tuples.end() && loaded != &importer) {
            return loaded->address + found->replacement_offset;
        }
    }
    for (const auto* loaded : known_images()) {
        const auto found = loaded->image.exports.find(name);
        if (found != loaded->image.exports.end()) {
            return loaded->address + found->second;
        }
    }
    return find_import(name);
}

std::expected<void, std::string> protect(std::span<std::byte> memory, const Segment& segment) {
    if (segment.size == 0) {
        return {};
    }
    const auto has = [&segment](unsigned bit) { return (segment.protection & bit) != 0; };
    const int protection =
        (has(1) ? PROT_READ : 0) | (has(2) ? PROT_WRITE : 0) | (has(4) ? PROT_EXEC : 0);
    constexpr std::uint64_t kHostPage = 0x1000;
    const auto size = (segment.size + kHostPage - 1) / kHostPage * kHostPage;
    if (segment.offset % kHostPage != 0 || segment.offset > memory.size() ||
        size > memory.size() - segment.offset ||
        mprotect(memory.subspan(segment.offset).data(), size, protection) != 0) {
        return std::unexpected("segment '" + segment.name + "' cannot be protected");
    }
    return {};
}

/// Libraries beside the image; those of the system are the tables.
std::expected<void, std::string> load_libraries(const LoadedImage& loaded) {
    constexpr std::string_view kBeside[] = {"@rpath/", "@loader_path/", "@executable_path/"};
    for (const auto& name : loaded.image.libraries) {
        for (const auto prefix : kBeside) {
            if (name.starts_with(prefix)) {
                const auto folder = loaded.path.substr(0, loaded.path.rfind('/') + 1);
                if (const auto library = load_image(folder + name.substr(prefix.size()));
                    !library) {
                    return std::unexpected(library.error());
                }
            }
        }
    }
    return {};
}

std::expected<void, std::string> set_pointers(LoadedImage& loaded, std::span<std::byte> memory) {
    const auto resolve = [&loaded](const std::string& name) -> std::uint64_t {
        const auto found = find_symbol(name, loaded);
        return found != 0 ? found : stand_in(name);
    };
    // A weak import that nobody has is null; of the others, the call is the error.
    Image copy = loaded.image;
    std::erase_if(copy.fixups, [&loaded](const emulation::Fixup& fixup) {
        return fixup.weak && find_symbol(fixup.import, loaded) == 0;
    });
    const auto placed = emulation::place_image(copy, loaded.address, resolve);
    if (!placed) {
        return std::unexpected(placed.error());
    }
    std::ranges::copy(*placed, memory.begin());
    for (const auto& fixup : loaded.image.fixups) {
        if (fixup.weak && find_symbol(fixup.import, loaded) == 0) {
            std::ranges::fill(memory.subspan(fixup.offset, sizeof(std::uint64_t)), std::byte{0});
        }
    }
    return {};
}

} // namespace

bool LoadedImage::holds(std::uint64_t place) const {
    return place >= address && place - address < image.memory.size();
}

Section LoadedImage::section(std::string_view name) const {
    const auto found = std::ranges::find(image.sections, name, &Section::name);
    if (found == image.sections.end()) {
        return {};
    }
    Section here = *found;
    here.offset += address;
    return here;
}

const std::vector<const LoadedImage*>& loaded_images() {
    return known_images();
}

std::expected<const LoadedImage*, std::string> load_image(const std::string& path) {
    // Also one whose libraries are being loaded: they may name each other.
    const auto known = std::ranges::find(owned_images(), path,
                                         [](const auto& owned) -> auto& { return owned->path; });
    if (known != owned_images().end()) {
        return known->get();
    }
    auto image = emulation::read_image(path, kCpu);
    if (!image) {
        return std::unexpected(path + ": " + image.error());
    }
    const auto size = rounded(image->memory.size()) + kPage;
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return std::unexpected(path + ": no memory");
    }
    owned_images().push_back(std::make_unique<LoadedImage>(
        LoadedImage{.path = path, .image = *std::move(image), .address = address_of(mapped)}));
    auto& loaded = *owned_images().back();
    const std::span memory(static_cast<std::byte*>(mapped), size);
    if (auto libraries = load_libraries(loaded); !libraries) {
        return std::unexpected(libraries.error());
    }
    known_images().push_back(&loaded);
    if (auto set = set_pointers(loaded, memory); !set) {
        return std::unexpected(path + ": " + set.error());
    }
    for (const auto& section : loaded.image.sections) {
        constexpr std::uint8_t kThreadLocalVariables = 0x13;
        if (section.type == kThreadLocalVariables) {
            const auto count = section.size / kDescriptor;
            claim_thread_variables(memory.subspan(section.offset, count * kDescriptor), loaded);
        }
    }
    for (const auto& segment : loaded.image.segments) {
        if (auto done = protect(memory, segment); !done) {
            return std::unexpected(path + ": " + done.error());
        }
    }
    return &loaded;
}

} // namespace machload
