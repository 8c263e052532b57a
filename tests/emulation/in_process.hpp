// SPDX-License-Identifier: MIT
//
// A Mach-O library for x86-64 macOS in this Linux process: mapped, its imports bound to glibc, to
// GNU's Objective-C runtime and to what else is loaded, with the few functions in between that
// differ. It is never unloaded, for the methods of living classes lie in it. One in a process.
#pragma once

#include "loader.hpp"
#include "runtime.hpp"

#include <expected>
#include <string>

namespace emulation {

class LoadedLibrary {
public:
    [[nodiscard]] static std::expected<LoadedLibrary, std::string> load(const std::string& path);

    void run_initialisers() const;

    /// Calls a function of Metal as dyld binds it for every image but this one.
    [[nodiscard]] id call(const std::string& function) const;

private:
    Image image_;
    std::uint64_t address_ = 0;
};

} // namespace emulation
