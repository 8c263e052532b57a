// SPDX-License-Identifier: MIT
//
// See machine.hpp. The model must be "max": clang for macOS emits atomic instructions that the
// first arm64 processors do not have.
#include "machine.hpp"

#include <utility>

#include <unicorn/unicorn.h>

namespace emulation {
namespace {

constexpr std::uint64_t kImage = 0x2'0000'0000;
constexpr std::uint64_t kStubs = 0x3'0000'0000; // the first is where calls from the host return to
constexpr std::uint64_t kStubsSize = 0x1'0000;
constexpr std::uint64_t kStack = 0x4'0000'0000;
constexpr std::uint64_t kHeap = 0x5'0000'0000;
constexpr std::uint64_t kMemorySize = 0x10'0000;
constexpr std::uint64_t kPage = 0x4000;
constexpr std::uint64_t kInstruction = 4;
constexpr std::size_t kMaxInstructions = 10'000'000; // of one call: then it hangs
constexpr std::uint64_t kMaxText = 0x1'0000;

void check(uc_err error, const char* what) {
    if (error != UC_ERR_OK) {
        throw MachineError(std::string(what) + ": " + uc_strerror(error));
    }
}

std::uint64_t round_up(std::uint64_t size, std::uint64_t unit) {
    return (size + unit - 1) / unit * unit;
}

} // namespace

Machine::Machine() : free_(kHeap) {
    check(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &engine_), "starting Unicorn");
    check(uc_ctl_set_cpu_model(engine_, UC_CPU_ARM64_MAX), "choosing the processor");
    check(uc_mem_map(engine_, kStubs, kStubsSize, UC_PROT_READ | UC_PROT_EXEC), "the stubs");
    for (const auto memory : {kStack, kHeap}) {
        check(uc_mem_map(engine_, memory, kMemorySize, UC_PROT_READ | UC_PROT_WRITE), "memory");
    }
    constexpr std::uint64_t kAllowVectors = 3U << 20U;
    set_register(UC_ARM64_REG_CPACR_EL1, kAllowVectors);
    set_register(UC_ARM64_REG_SP, kStack + kMemorySize);
    uc_hook hook{};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): Unicorn's interface
    check(uc_hook_add(engine_, &hook, UC_HOOK_CODE, reinterpret_cast<void*>(&on_stub), this, kStubs,
                      kStubs + kStubsSize - 1),
          "the stubs");
    functions_.emplace_back(); // kStubs itself
}

Machine::~Machine() {
    uc_close(engine_);
}

void Machine::on_stub(uc_struct* engine, std::uint64_t address, std::uint32_t, void* self) {
    static_cast<Machine*>(self)->reached_stub_ = address;
    uc_emu_stop(engine);
}

std::uint64_t Machine::register_value(int id) const {
    std::uint64_t value = 0;
    check(uc_reg_read(engine_, id, &value), "reading a register");
    return value;
}

void Machine::set_register(int id, std::uint64_t value) {
    check(uc_reg_write(engine_, id, &value), "writing a register");
}

std::uint64_t Machine::add_function(HostFunction function) {
    if (functions_.size() >= kStubsSize / kInstruction) {
        throw MachineError("too many functions of the host");
    }
    functions_.push_back(std::move(function));
    return kStubs + (functions_.size() - 1) * kInstruction;
}

void Machine::export_function(const std::string& name, HostFunction function) {
    exports_[name] = add_function(std::move(function));
}

std::uint64_t Machine::find(const std::string& name) const {
    const auto found = exports_.find(name);
    return found == exports_.end() ? 0 : found->second;
}

void Machine::load(const Image& image) {
    const auto memory = place_image(image, kImage, [this](const std::string& name) {
        if (find(name) == 0) {
            export_function(name, [name](Machine&) {
                throw MachineError("'" + name + "' was called, which the host does not have");
            });
        }
        return find(name);
    });
    if (!memory) {
        throw MachineError(memory.error());
    }
    image_size_ = round_up(memory->size(), kPage);
    check(uc_mem_map(engine_, kImage, image_size_, UC_PROT_ALL), "the image");
    write(kImage, *memory);
    for (const auto& segment : image.segments) {
        // The numbers are the same: 1 read, 2 write, 4 execute.
        if (segment.size != 0) {
            check(uc_mem_protect(engine_, kImage + segment.offset, round_up(segment.size, kPage),
                                 segment.protection),
                  "protecting a segment");
        }
    }
}

std::uint64_t Machine::address_of(std::uint64_t offset_in_image) const {
    return kImage + offset_in_image;
}

bool Machine::is_in_image(std::uint64_t address) const {
    return address >= kImage && address - kImage < image_size_;
}

std::uint64_t Machine::call(std::uint64_t function,
                            std::initializer_list<std::uint64_t> arguments) {
    int next_register = UC_ARM64_REG_X0;
    for (const auto value : arguments) {
        set_register(next_register++, value);
    }
    set_register(UC_ARM64_REG_X30, kStubs);
    std::uint64_t next = function;
    while (next != kStubs) {
        reached_stub_ = 0;
        const auto error = uc_emu_start(engine_, next, 0, 0, kMaxInstructions);
        if (error != UC_ERR_OK || reached_stub_ == 0) {
            const auto at = register_value(UC_ARM64_REG_PC) - kImage;
            throw MachineError(
                "the guest stopped at offset " + std::to_string(at) +
                " of the image: " + (error == UC_ERR_OK ? "it does not end" : uc_strerror(error)));
        }
        next = reached_stub_ == kStubs ? kStubs : serve(reached_stub_);
    }
    return register_value(UC_ARM64_REG_X0);
}

/// Runs the host's function; gives where the guest goes on.
std::uint64_t Machine::serve(std::uint64_t stub) {
    const auto index = (stub - kStubs) / kInstruction;
    if (index >= functions_.size()) {
        throw MachineError("the guest reached a stub that is not in use");
    }
    const auto caller = register_value(UC_ARM64_REG_X30);
    jump_ = 0;
    functions_[index](*this);
    set_register(UC_ARM64_REG_X30, caller); // the function may have called the guest
    const auto target = std::exchange(jump_, 0);
    return target == 0 ? caller : target;
}

std::uint64_t Machine::argument(unsigned index) const {
    return register_value(UC_ARM64_REG_X0 + static_cast<int>(index));
}

std::uint64_t Machine::variable_argument(unsigned index) const {
    return read_word(register_value(UC_ARM64_REG_SP) + std::uint64_t{index} * 8);
}

void Machine::answer(std::uint64_t result) {
    set_register(UC_ARM64_REG_X0, result);
}

void Machine::jump(std::uint64_t function) {
    jump_ = function;
}

std::uint64_t Machine::allocate(Bytes content) {
    const auto address = free_;
    write(address, content);
    free_ += round_up(content.size(), 16);
    return address;
}

std::uint64_t Machine::allocate(std::string_view text) {
    const std::string terminated(text);
    return allocate(std::as_bytes(std::span(terminated.c_str(), terminated.size() + 1)));
}

std::uint64_t Machine::allocate(std::initializer_list<std::uint64_t> words) {
    return allocate(std::as_bytes(std::span(words)));
}

void Machine::write(std::uint64_t address, Bytes content) {
    check(uc_mem_write(engine_, address, content.data(), content.size()), "writing memory");
}

void Machine::write_word(std::uint64_t address, std::uint64_t word) {
    write(address, std::as_bytes(std::span(&word, 1)));
}

void Machine::read(std::uint64_t address, std::span<std::byte> into) const {
    check(uc_mem_read(engine_, address, into.data(), into.size()), "reading memory");
}

std::uint64_t Machine::read_word(std::uint64_t address) const {
    std::uint64_t word = 0;
    read(address, std::as_writable_bytes(std::span(&word, 1)));
    return word;
}

std::string Machine::text(std::uint64_t address) const {
    std::string result;
    while (result.size() < kMaxText) {
        char next = 0;
        read(address + result.size(), std::as_writable_bytes(std::span(&next, 1)));
        if (next == '\0') {
            return result;
        }
        result.push_back(next);
    }
    throw MachineError("a string without an end");
}

} // namespace emulation
