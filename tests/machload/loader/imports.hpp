// SPDX-License-Identifier: MIT
//
// Where an import is when no image has it: the tables of libsystem.h, what must ask about images
// (dladdr, the unwinder, thread-local variables), and for the rest a stand-in that names itself.
#pragma once

#include "images.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace machload {

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): addresses of mapped machine code are
// numbers until they are called
template <class F> F* function_at(std::uint64_t address) {
    return reinterpret_cast<F*>(address);
}

template <class F> std::uint64_t address_of_function(F* function) {
    return reinterpret_cast<std::uint64_t>(function);
}

inline std::uint64_t address_of(const void* data) {
    return reinterpret_cast<std::uint64_t>(data);
}

template <class T> T* object_at(std::uint64_t address) {
    return reinterpret_cast<T*>(address);
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

/// 0: there is none.
[[nodiscard]] std::uint64_t find_import(const std::string& name);

/// Code that says which import was missing and ends the process with status 121.
[[nodiscard]] std::uint64_t stand_in(const std::string& name);

/// Makes the descriptors of an image's thread-local variables ours: each names its image.
void claim_thread_variables(std::span<std::byte> descriptors, const LoadedImage& image);

} // namespace machload
