// SPDX-License-Identifier: MIT
//
// An arm64 processor with memory, under Unicorn, in which a Mach-O library runs. Its imports are
// functions of the host: an import's address holds nothing, but reaching it stops the processor,
// the host's function runs, and the guest goes on. So host functions may call the guest in turn,
// and may throw. Convention: Apple's variant of AAPCS64 (variable arguments lie on the stack).
#pragma once

#include "loader.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct uc_struct;

namespace emulation {

/// The guest did what it must not do, or the host cannot go on.
struct MachineError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Machine {
public:
    using HostFunction = std::function<void(Machine&)>;

    Machine();
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Makes a function of the host callable; gives its address.
    std::uint64_t add_function(HostFunction function);
    /// Also lets images import it.
    void export_function(const std::string& name, HostFunction function);
    void export_data(const std::string& name, std::uint64_t address) { exports_[name] = address; }
    /// The address of what was exported; 0 if nothing was.
    [[nodiscard]] std::uint64_t find(const std::string& name) const;

    /// Places the image. An import that nobody exports can be loaded, but not called.
    void load(const Image& image);
    [[nodiscard]] std::uint64_t address_of(std::uint64_t offset_in_image) const;
    [[nodiscard]] bool is_in_image(std::uint64_t address) const;

    /// Calls a function, the guest's or the host's, and gives its result.
    std::uint64_t call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments);

    // In a function of the host:
    [[nodiscard]] std::uint64_t argument(unsigned index) const;
    [[nodiscard]] std::uint64_t variable_argument(unsigned index) const;
    void answer(std::uint64_t result);
    void jump(std::uint64_t function); ///< leaves the arguments and the caller to that function

    // Memory:
    std::uint64_t allocate(Bytes content);
    std::uint64_t allocate(std::string_view text); ///< with a null byte
    std::uint64_t allocate(std::initializer_list<std::uint64_t> words);
    void write(std::uint64_t address, Bytes content);
    void write_word(std::uint64_t address, std::uint64_t word);
    void read(std::uint64_t address, std::span<std::byte> into) const;
    [[nodiscard]] std::uint64_t read_word(std::uint64_t address) const;
    [[nodiscard]] std::string text(std::uint64_t address) const;

private:
    [[nodiscard]] std::uint64_t register_value(int id) const;
    void set_register(int id, std::uint64_t value);
    [[nodiscard]] std::uint64_t serve(std::uint64_t stub);
    static void on_stub(uc_struct* engine, std::uint64_t address, std::uint32_t size, void* self);

    uc_struct* engine_ = nullptr;
    std::vector<HostFunction> functions_;
    std::map<std::string, std::uint64_t> exports_;
    std::uint64_t image_size_ = 0;
    std::uint64_t free_ = 0;
    std::uint64_t reached_stub_ = 0;
    std::uint64_t jump_ = 0;
};

} // namespace emulation
