// SPDX-License-Identifier: MIT
//
// See imports.hpp.
#include "imports.hpp"

#include "libsystem.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" void machload_thread_variable(); // entries.S
extern "C" void* machload_find_thread_variable(const std::uint64_t* descriptor);

namespace machload {
namespace {

constexpr int kMissingImport = 121;

[[noreturn]] void missing_import(const char* name) {
    std::fprintf(stderr, "machload: call of '%s', which the tables do not have\n", name);
    _exit(kMissingImport);
}

const LoadedImage* image_with(std::uint64_t place) {
    const auto& images = loaded_images();
    const auto found = std::ranges::find_if(
        images, [place](const LoadedImage* image) { return image->holds(place); });
    return found == images.end() ? nullptr : *found;
}

// --- what asks about images
// -----------------------------------------------------------------------

int darwin_dladdr(const void* address, Dl_info* result) {
    const auto* image = image_with(address_of(address));
    if (image == nullptr) {
        return 0;
    }
    *result = {.dli_fname = image->path.c_str(),
               .dli_fbase = object_at<void>(image->address),
               .dli_sname = nullptr,
               .dli_saddr = nullptr};
    return 1;
}

void* darwin_dlopen(const char*, int) {
    return nullptr;
}

void* darwin_dlsym(void*, const char*) {
    return nullptr;
}

struct UnwindSections { // mach-o/dyld_priv.h
    std::uint64_t header;
    std::uint64_t dwarf;
    std::uint64_t dwarf_size;
    std::uint64_t compact;
    std::uint64_t compact_size;
};

bool darwin_find_unwind_sections(const void* address, UnwindSections* result) {
    const auto* image = image_with(address_of(address));
    if (image == nullptr) {
        return false;
    }
    const auto dwarf = image->section("__eh_frame");
    const auto compact = image->section("__unwind_info");
    *result = {.header = image->address,
               .dwarf = dwarf.size != 0 ? dwarf.offset : 0,
               .dwarf_size = dwarf.size,
               .compact = compact.size != 0 ? compact.offset : 0,
               .compact_size = compact.size};
    return true;
}

void darwin_register_removal(void (*)(const void*, std::intptr_t)) {
    // no image is ever removed
}

[[noreturn]] void lazy_binder() {
    missing_import("dyld_stub_binder"); // lazy pointers are all set at load
}

std::map<std::string, std::uint64_t> all_imports() {
    std::map<std::string, std::uint64_t> imports{
        {"_dladdr", address_of_function(&darwin_dladdr)},
        {"_dlopen", address_of_function(&darwin_dlopen)},
        {"_dlsym", address_of_function(&darwin_dlsym)},
        {"__dyld_find_unwind_sections", address_of_function(&darwin_find_unwind_sections)},
        {"__dyld_register_func_for_remove_image", address_of_function(&darwin_register_removal)},
        {"dyld_stub_binder", address_of_function(&lazy_binder)},
        {"__tlv_bootstrap", address_of_function(&machload_thread_variable)},
    };
    for (const Import* entry : {kPlainImports, kErrorImports, kFileImports, kProcessImports,
                                kSignalImports, kFormatImports, kLocaleImports, kThreadImports,
                                kKernelImports, kDigestImports, kObjectiveCImports}) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic): ends with a null name
        for (; entry->name != nullptr; ++entry) {
            imports.emplace(entry->name, entry->datum != nullptr
                                             ? address_of(entry->datum)
                                             : address_of_function(entry->function));
        }
    }
    return imports;
}

// --- thread-local variables
// -----------------------------------------------------------------------

/// What every thread's variables of one image begin as.
struct Template {
    std::uint64_t start = 0;
    std::uint64_t size = 0;   ///< of all variables
    std::uint64_t filled = 0; ///< of which the rest is zero
};

constexpr std::size_t kMaxTemplates = 16;
std::array<Template, kMaxTemplates> templates;
std::size_t template_count = 0;
thread_local std::array<std::byte*, kMaxTemplates> thread_blocks{};

Template template_of(const LoadedImage& loaded) {
    constexpr std::uint8_t kThreadLocalRegular = 0x11;
    constexpr std::uint8_t kThreadLocalZeroFill = 0x12;
    std::optional<std::uint64_t> first;
    std::uint64_t end = 0;
    std::uint64_t filled_end = 0;
    for (const auto& section : loaded.image.sections) {
        if (section.type == kThreadLocalRegular || section.type == kThreadLocalZeroFill) {
            first = std::min(first.value_or(section.offset), section.offset);
            end = std::max(end, section.offset + section.size);
            filled_end = section.type == kThreadLocalRegular ? end : filled_end;
        }
    }
    const auto start = first.value_or(0);
    return {.start = loaded.address + start,
            .size = end - std::min(start, end),
            .filled = filled_end > start ? filled_end - start : 0};
}

} // namespace

std::uint64_t find_import(const std::string& name) {
    static const std::map<std::string, std::uint64_t> imports = all_imports();
    const auto found = imports.find(name);
    return found == imports.end() ? 0 : found->second;
}

std::uint64_t stand_in(const std::string& name) {
    static std::map<std::string, std::uint64_t> made;
    if (const auto found = made.find(name); found != made.end()) {
        return found->second;
    }
    constexpr std::size_t kSize = 4096;
    void* page = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return 0;
    }
    const auto entry = made.emplace(name, address_of(page)).first; // keeps the name alive
    const auto text = address_of(entry->first.c_str());
    const auto target = address_of_function(&missing_import);
#if defined(__x86_64__)
    // mov $text, %rdi; mov $target, %rax; jmp *%rax
    std::array<unsigned char, 22> code{0x48, 0xbf};
    code[10] = 0x48;
    code[11] = 0xb8;
    code[20] = 0xff;
    code[21] = 0xe0;
    std::memcpy(std::span(code).subspan(2, 8).data(), &text, sizeof text);
    std::memcpy(std::span(code).subspan(12, 8).data(), &target, sizeof target);
#else
    // ldr x0, text; ldr x16, target; br x16; nop
    std::array<std::uint64_t, 4> code{0x580000b058000080, 0xd503201fd61f0200, text, target};
#endif
    std::memcpy(page, code.data(), sizeof code);
    mprotect(page, kSize, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(static_cast<char*>(page),
                            std::span(static_cast<char*>(page), kSize).last(1).data());
    return entry->second;
}

void claim_thread_variables(std::span<std::byte> descriptors, const LoadedImage& image) {
    if (template_count == kMaxTemplates) {
        std::fprintf(stderr, "machload: more than %zu images with thread-local variables\n",
                     kMaxTemplates);
        _exit(kMissingImport);
    }
    templates.at(template_count) = template_of(image);
    constexpr std::size_t kDescriptor = 24; // thunk, key, offset
    for (std::size_t at = 0; at + kDescriptor <= descriptors.size(); at += kDescriptor) {
        const std::uint64_t key = template_count;
        std::memcpy(descriptors.subspan(at + 8, sizeof key).data(), &key, sizeof key);
    }
    ++template_count;
}

} // namespace machload

/// The address of the calling thread's variable.
void* machload_find_thread_variable(const std::uint64_t* descriptor) {
    using namespace machload;
    const std::span words(descriptor, 3);
    const auto& wanted = templates.at(words[1]);
    std::byte*& block = thread_blocks.at(words[1]);
    if (block == nullptr) {
        constexpr std::uint64_t kAlignment = 64;
        const auto size = (wanted.size + kAlignment) / kAlignment * kAlignment;
        void* memory = std::aligned_alloc(kAlignment, size);
        if (memory == nullptr || words[2] >= wanted.size) {
            std::abort();
        }
        std::memset(memory, 0, size);
        std::memcpy(memory, object_at<void>(wanted.start), wanted.filled);
        block = static_cast<std::byte*>(memory);
    }
    return std::span(block, wanted.size).subspan(words[2]).data();
}
