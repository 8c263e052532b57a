// SPDX-License-Identifier: MIT
//
// As much of macOS's libSystem as the shim imports, for the emulated processor: strings and memory
// in the guest, files of the host with Darwin's numbers, one environment.
#pragma once

#include "machine.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace emulation {

class LibSystem {
public:
    /// Exports its functions from the machine. `library_path` is what dladdr answers for the image.
    LibSystem(Machine& machine, const std::vector<std::string>& environment,
              std::string library_path);
    LibSystem(const LibSystem&) = delete;
    LibSystem& operator=(const LibSystem&) = delete;

    /// The vector that the constructors are called with; its entries may change.
    [[nodiscard]] std::uint64_t environment_vector() const { return environment_; }
    [[nodiscard]] std::vector<std::string> environment() const;
    [[nodiscard]] int guest_errno() const;
    void set_guest_errno(int value);
    /// What was written to the standard error.
    [[nodiscard]] const std::string& errors() const { return errors_; }

private:
    void export_strings();
    void export_memory();
    void export_environment();
    void export_files();
    void export_process();
    [[nodiscard]] std::string format(std::uint64_t text, unsigned first_argument) const;
    void answer_or_errno(long result);

    Machine& machine_;
    std::string library_path_;
    std::string errors_;
    std::uint64_t environment_ = 0; ///< the vector of the start
    std::uint64_t environ_ = 0;     ///< where the pointer to the present one is
    std::uint64_t errno_ = 0;
};

} // namespace emulation
