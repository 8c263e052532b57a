// SPDX-License-Identifier: MIT
//
// replay PATH...: gives each file, and each file of each folder, to a fuzz target once. This is how
// the seeds and past findings are tried in every build, without a fuzzing engine.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path)) {
        return {path};
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) {
            files.push_back(entry.path());
        }
    }
    return files;
}

} // namespace

int main(int count, char** arguments) {
    std::size_t tried = 0;
    for (const char* argument : std::span(arguments, static_cast<std::size_t>(count)).subspan(1)) {
        for (const std::filesystem::path& file : files_of(argument)) {
            std::ifstream in(file, std::ios::binary);
            const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
            const std::vector<std::uint8_t> bytes(text.begin(), text.end());
            static_cast<void>(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()));
            ++tried;
        }
    }
    std::printf("replayed %zu inputs\n", tried);
    return tried == 0 ? 1 : 0;
}
