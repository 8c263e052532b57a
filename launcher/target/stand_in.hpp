// SPDX-License-Identifier: MIT
//
// Programs that stand for another one, which they start themselves: the stub of a Python framework
// (CPython Mac/Tools/pythonw.c), the tools that xcode-select(1) puts in /usr/bin, and what version
// managers put in their folder `shims`.
#pragma once

#include "system/system.hpp"
#include "target/env_line.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace metalrun::target {

/// True for `…/Python.framework/Versions/X/bin/python…`, of any framework whose name begins with
/// Python. `real_path` has no symbolic links.
[[nodiscard]] bool is_python_stub(std::string_view real_path);

/// The program of Resources/Python.app that the stub starts; nothing: it is no stub, or the program
/// is not there.
[[nodiscard]] std::optional<std::string> find_python_app(System& system,
                                                         const std::string& real_path);

/// What the stub tells Python.app of itself in __PYVENV_LAUNCHER__: its path as it was exec'ed,
/// with the real path of its folder.
[[nodiscard]] std::string launcher_path(System& system, const std::string& path);

/// True for a tool in /usr/bin that asks for the developer folder and starts the real one there.
[[nodiscard]] bool is_xcode_stub(std::string_view path);

/// The real tool behind a stub of this name: in DEVELOPER_DIR, else where xcode-select(1) points,
/// else in the command line tools. `variable` may be empty.
[[nodiscard]] std::optional<std::string> find_xcode_tool(System& system, const std::string& name,
                                                         const VariableLookup& variable);

/// A file in a folder `shims`: pyenv, rbenv and their like write scripts, mise makes links.
struct ManagedStandIn {
    std::string path;
    std::string manager; ///< the name of its command
};

/// Reads at most 4 KiB of the file. Nothing: it is of no manager that is known here.
[[nodiscard]] std::optional<ManagedStandIn> find_manager(const std::string& path, const File& file);

} // namespace metalrun::target
