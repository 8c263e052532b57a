// SPDX-License-Identifier: MIT
#include "commands/verify.hpp"

#include "judge/judge.hpp"

#include <algorithm>
#include <thread>

namespace metalrun::commands {

namespace {

// Starting a thread costs as much as hashing some tens of KiB.
constexpr std::uint64_t kWorthThreads = std::uint64_t{4} << 20U;

unsigned worker_count(std::uint64_t size_bytes, Hashing hashing) {
    constexpr unsigned kMostWorkers = 8;
    return hashing == Hashing::in_this_thread || size_bytes < kWorthThreads
               ? 1
               : std::clamp(std::thread::hardware_concurrency(), 1U, kMostWorkers);
}

} // namespace

void verify_image(System& system, target::Image& image, std::optional<cli::Arch> asked,
                  Slices slices, Hashing hashing) {
    const auto opened = system.open(image.path);
    if (!opened || !image.content.is_macho()) {
        return;
    }
    image.content = target::read_content(**opened, macho::Depth::verify);
    const macho::FileFacts* file = image.content.macho();
    if (file == nullptr) {
        return;
    }
    const macho::SliceFacts* running = judge::running_slice(*file, asked);
    for (const macho::SliceFacts& slice : file->slices) {
        const bool wanted = (slices == Slices::all || &slice == running) && slice.signature &&
                            slice.signature->has_value();
        image.pages.push_back(wanted ? std::optional(macho::check_pages(
                                           **opened, slice, worker_count(slice.size, hashing)))
                                     : std::nullopt);
    }
}

} // namespace metalrun::commands
