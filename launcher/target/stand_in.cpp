// SPDX-License-Identifier: MIT
#include "target/stand_in.hpp"

#include "macho/bytes.hpp"
#include "report/text.hpp"
#include "target/chain.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace metalrun::target {

namespace {

constexpr std::string_view kVersions = ".framework/Versions/";

// The folder above, `.` for a bare name, without a slash at its end.
std::string_view folder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view(".") : path.substr(0, slash);
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

struct Framework {
    std::string_view name;
    std::string_view version; ///< path of Versions/X
};

// The framework in whose folder bin a python lies.
std::optional<Framework> framework_of(std::string_view real_path) {
    const std::string_view bin = folder_of(real_path);
    if (!last_part(real_path).starts_with("python") || last_part(bin) != "bin") {
        return std::nullopt;
    }
    const std::string_view version = folder_of(bin);
    const std::size_t versions = version.rfind(kVersions);
    if (versions == std::string_view::npos ||
        version.find('/', versions + kVersions.size()) != std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view name = last_part(version.substr(0, versions));
    return name.starts_with("Python") ? std::optional(Framework{name, version}) : std::nullopt;
}

bool is_program(System& system, const std::string& path) {
    const auto status = system.stat(path);
    return status && status->kind == FileKind::regular;
}

} // namespace

bool is_python_stub(std::string_view real_path) {
    return framework_of(real_path).has_value();
}

std::optional<std::string> find_python_app(System& system, const std::string& real_path) {
    const auto framework = framework_of(real_path);
    if (!framework) {
        return std::nullopt;
    }
    // CPython names it as the framework, Apple's Python3.framework does not.
    for (const std::string_view name : {framework->name, std::string_view("Python")}) {
        std::string path =
            text::concat(framework->version, "/Resources/Python.app/Contents/MacOS/", name);
        if (is_program(system, path)) {
            return path;
        }
    }
    return std::nullopt;
}

std::string launcher_path(System& system, const std::string& path) {
    const std::string folder(folder_of(path));
    return text::concat(system.real_path(folder.empty() ? "/" : folder).value_or(folder), "/",
                        last_part(path));
}

bool is_xcode_stub(std::string_view path) {
    static constexpr std::array<std::string_view, 17> kStubs{
        "ar",   "c++",  "cc",      "clang", "clang++", "g++",   "gcc",    "git",       "ld",
        "lldb", "make", "python3", "pip3",  "strip",   "swift", "swiftc", "xcodebuild"};
    return folder_of(path) == "/usr/bin" &&
           std::ranges::find(kStubs, last_part(path)) != kStubs.end();
}

std::optional<std::string> find_xcode_tool(System& system, const std::string& name,
                                           const VariableLookup& variable) {
    std::vector<std::string> folders;
    if (const auto asked = variable ? variable("DEVELOPER_DIR") : std::nullopt;
        asked && asked->starts_with('/')) {
        folders.push_back(*asked);
        folders.push_back(*asked + "/Contents/Developer"); // the bundle is as good
    }
    if (auto chosen = system.real_path("/var/db/xcode_select_link")) {
        folders.push_back(std::move(*chosen));
    }
    folders.emplace_back("/Library/Developer/CommandLineTools");
    for (const std::string& folder : folders) {
        for (const char* place : {"/usr/bin/", "/Toolchains/XcodeDefault.xctoolchain/usr/bin/"}) {
            std::string path = text::concat(folder, place, name);
            if (is_program(system, path)) {
                return path;
            }
        }
    }
    return std::nullopt;
}

std::optional<ManagedStandIn> find_manager(const std::string& path, const File& file) {
    static constexpr std::array<std::string_view, 6> kManagers{"pyenv", "rbenv", "nodenv",
                                                               "goenv", "jenv",  "asdf"};
    constexpr std::size_t kMostBytes = 4096;
    if (last_part(folder_of(path)) != "shims") {
        return std::nullopt;
    }
    std::vector<std::byte> bytes(kMostBytes);
    bytes.resize(file.read_at(0, bytes).value_or(0));
    const std::string_view content = as_text(bytes);
    if (content.starts_with("#!")) {
        for (const std::string_view manager : kManagers) {
            // `exec "/opt/…/pyenv" exec "$program" "$@"`, `exec /opt/…/asdf exec "python3" "$@"`
            const bool calls =
                content.find(text::concat(manager, "\" exec ")) != std::string_view::npos ||
                content.find(text::concat(manager, " exec ")) != std::string_view::npos;
            if (calls) {
                return ManagedStandIn{.path = path, .manager = std::string(manager)};
            }
        }
        return std::nullopt;
    }
    const std::string real = base_name(file.real_path().value_or(std::string{}));
    return real == "mise" ? std::optional(ManagedStandIn{.path = path, .manager = real})
                          : std::nullopt;
}

} // namespace metalrun::target
