// SPDX-License-Identifier: MIT
#include "target/walk.hpp"

#include "report/text.hpp"

#include <algorithm>
#include <utility>

namespace metalrun::target {

namespace {

// Fewer bytes hold no magic number. What the kernel makes up (/proc) has no size at all.
constexpr std::uint64_t kSmallestProgram = 4;

std::string path_below(const std::string& folder, const std::string& name) {
    return text::concat(folder, folder.ends_with('/') ? "" : "/", name);
}

class Walker {
public:
    Walker(System& system, Wanted wanted, const Progress& progress)
        : system_(system), wanted_(wanted), progress_(progress) {}

    void enter(const std::string& folder, std::size_t depth) {
        if (depth > kDeepestFolder) {
            walk_.unread.push_back(
                {folder, text::format("more than {} folders deep", kDeepestFolder)});
            return;
        }
        const auto names = system_.list(folder);
        if (!names) {
            walk_.unread.push_back({folder, text::error_text(names.error())});
            return;
        }
        for (const std::string& name : *names) {
            meet(path_below(folder, name), depth);
        }
    }

    [[nodiscard]] Walk take() {
        walk_.skipped = walk_.files - walk_.programs.size();
        std::ranges::sort(walk_.programs);
        std::ranges::sort(walk_.unread, {}, &Unread::path);
        return std::move(walk_);
    }

private:
    void meet(const std::string& path, std::size_t depth) {
        const auto status = system_.lstat(path);
        if (!status) {
            walk_.unread.push_back({path, text::error_text(status.error())});
        } else if (status->kind == FileKind::directory) {
            enter(path, depth + 1);
        } else if (status->kind == FileKind::symbolic_link) {
            ++walk_.links;
        } else if (status->kind == FileKind::regular) {
            ++walk_.files;
            if (progress_) {
                progress_(walk_.files);
            }
            if (status->size_bytes >= kSmallestProgram) {
                look_at(path);
            }
        }
    }

    void look_at(const std::string& path) {
        const auto file = system_.open(path);
        if (!file) {
            walk_.unread.push_back({path, text::error_text(file.error())});
            return;
        }
        const Content content = read_content(**file, macho::Depth::decide);
        if (is_program(content) && (wanted_ == Wanted::programs || content.is_macho())) {
            walk_.programs.push_back(path);
        }
    }

    System& system_;
    Wanted wanted_;
    const Progress& progress_;
    Walk walk_;
};

} // namespace

bool is_program(const Content& content) {
    if (const macho::FileFacts* file = content.macho(); file != nullptr) {
        return std::ranges::any_of(file->slices, [](const macho::SliceFacts& slice) {
            return !slice.image || slice.image->is_executable();
        });
    }
    if (const elf::Facts* facts = content.elf(); facts != nullptr) {
        return facts->type == elf::Type::executable || !facts->interpreter.empty();
    }
    return content.is_known();
}

Walk walk(System& system, const std::string& folder, Wanted wanted, const Progress& progress) {
    Walker walker(system, wanted, progress);
    walker.enter(folder, 1);
    return walker.take();
}

} // namespace metalrun::target
