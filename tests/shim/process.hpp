// SPDX-License-Identifier: MIT
//
// Starts a program with exactly the given environment and the shim preloaded, and keeps what it
// said.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shim_test {

using Strings = std::vector<std::string>;

struct Command {
    Strings arguments;
    Strings environment;
    Strings preload;                     ///< besides what a sanitizer needs
    std::function<void()> before_exec{}; ///< runs in the child
};

struct Outcome {
    int status = -1; ///< as the shell has it: 128 + signal when one ended it
    std::string out;
    std::string err;
    long pid = 0;
};

[[nodiscard]] Outcome run(const Command& command);

[[nodiscard]] std::string read_file(const std::string& path);

/// The value of LD_PRELOAD for these libraries, a sanitizer's first.
[[nodiscard]] std::string preload_value(const Strings& libraries);

/// The state and reason of each event in the text of a receipt: "loaded, stock: …, active".
[[nodiscard]] std::string events_in(const std::string& receipt);

/// A folder of its own that is removed at the end of the case.
class Folder {
public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string operator/(const std::string& name) const {
        return path_ + "/" + name;
    }
    /// An empty receipt as the launcher makes it.
    [[nodiscard]] std::string make_receipt() const;

private:
    std::string path_;
};

} // namespace shim_test
