// SPDX-License-Identifier: MIT
#include "launch/environment.hpp"

#include "profile/values.hpp"
#include "report/text.hpp"
#include "system/path.hpp"

#include <algorithm>
#include <utility>

namespace metalrun::launch {

namespace {

bool is_entry_of(std::string_view entry, std::string_view name) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

// What only metalrun may tell a shim; anything else is from an outer start, a shell or a script.
bool is_for_shim(std::string_view entry) {
    return entry.starts_with("LUME_METAL_") || entry.starts_with("METALRUN_SHIM_") ||
           is_entry_of(entry, "METALRUN_RECEIPT");
}

std::string join(const std::vector<std::string>& elements) {
    std::string out;
    for (const std::string& element : elements) {
        if (!out.empty()) {
            out += ':';
        }
        out += element;
    }
    return out;
}

std::string absolute(std::string_view element, HostFacts::Kernel kernel,
                     const std::string& folder) {
    // ld.so searches a bare name itself, and replaces $ORIGIN and its like.
    const bool searched = kernel == HostFacts::Kernel::linux &&
                          (element.find('/') == std::string_view::npos || element.starts_with('$'));
    const bool relative_to_nothing = !element.starts_with('/') && folder.empty();
    if (element.starts_with('@') || searched || relative_to_nothing) {
        return std::string(element);
    }
    return absolute_path(folder, element);
}

void add_shim(std::vector<std::string>& environment, const Plan& plan,
              const ShimSettings& settings) {
    const auto set = [&](std::string_view name, std::string_view value) {
        environment.push_back(text::concat(name, "=", value));
    };
    set("LUME_METAL_APPLE_FAMILY_MAX", std::to_string(plan.ceiling));
    set("LUME_METAL_MAX_THREADGROUP_MEMORY", std::to_string(plan.threadgroup_memory.value));
    if (plan.working_set.value != 0) {
        set("LUME_METAL_RECOMMENDED_WORKING_SET_SIZE", std::to_string(plan.working_set.value));
    }
    set("METALRUN_SHIM_HOOK", profile::to_string(plan.hook.value));
    set("METALRUN_SHIM_CHILDREN", settings.children_inherit ? "inherit" : "stock");
    if (!settings.receipt.empty()) {
        set("METALRUN_RECEIPT", settings.receipt);
    }
    if (settings.verbose) {
        set("METALRUN_SHIM_VERBOSE", "1");
    }
}

void apply_env_change(std::vector<std::string>& environment,
                      const target::EnvironmentChange& change) {
    switch (change.kind) {
    case target::EnvironmentChange::Kind::clear:
        environment.clear();
        return;
    case target::EnvironmentChange::Kind::unset:
        apply_change(environment, change.name, std::nullopt);
        return;
    case target::EnvironmentChange::Kind::set:
        if (!is_for_shim(change.name + "=")) {
            apply_change(environment, change.name, change.value);
        }
        return;
    }
}

} // namespace

std::optional<std::string_view> find_variable(std::span<const std::string> environment,
                                              std::string_view name) {
    for (const std::string& entry : environment) {
        if (is_entry_of(entry, name)) {
            return std::string_view(entry).substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

std::optional<std::string_view> find_insertion(std::span<const std::string> environment,
                                               HostFacts::Kernel kernel) {
    const std::string_view name = insertion_variable(kernel);
    std::optional<std::string_view> found;
    for (const std::string& entry : environment) {
        const bool counts = !found || kernel == HostFacts::Kernel::linux;
        if (counts && is_entry_of(entry, name)) {
            found = std::string_view(entry).substr(name.size() + 1);
        }
    }
    return found;
}

void apply_change(std::vector<std::string>& environment, const std::string& name,
                  const std::optional<std::string>& value) {
    bool placed = !value.has_value();
    const auto gone =
        std::remove_if(environment.begin(), environment.end(), [&](std::string& entry) {
            if (!is_entry_of(entry, name)) {
                return false;
            }
            if (placed) {
                return true;
            }
            entry.replace(name.size() + 1, std::string::npos, *value);
            placed = true;
            return false;
        });
    environment.erase(gone, environment.end());
    if (!placed) {
        environment.push_back(name + "=" + *value);
    }
}

std::string_view insertion_variable(HostFacts::Kernel kernel) {
    return kernel == HostFacts::Kernel::linux ? "LD_PRELOAD" : "DYLD_INSERT_LIBRARIES";
}

Insertion read_insertion(std::string_view value, HostFacts::Kernel kernel,
                         const std::string& working_directory,
                         const std::function<bool(const std::string&)>& is_known_shim) {
    const std::string_view separators = kernel == HostFacts::Kernel::linux ? ": " : ":";
    Insertion insertion;
    if (value.empty()) {
        return insertion;
    }
    while (true) {
        const std::size_t end = value.find_first_of(separators);
        const std::string_view element = value.substr(0, end);
        if (element.empty()) {
            insertion.had_empty = true;
        } else {
            std::string path = absolute(element, kernel, working_directory);
            auto& seen = insertion.elements;
            if (is_known_shim(path)) {
                insertion.removed_shims.push_back(std::move(path));
            } else if (std::find(seen.begin(), seen.end(), path) == seen.end()) {
                seen.push_back(std::move(path));
            }
        }
        if (end == std::string_view::npos) {
            return insertion;
        }
        value = value.substr(end + 1);
    }
}

std::vector<std::string> compose_environment(std::span<const std::string> inherited,
                                             const Plan& plan, const Insertion& insertion,
                                             HostFacts::Kernel kernel,
                                             const std::optional<ShimSettings>& settings,
                                             std::span<const target::EnvironmentChange> by_env) {
    std::vector<std::string> environment;
    environment.reserve(inherited.size() + plan.environment.size() + 8);
    const std::string inserting(insertion_variable(kernel));
    const std::string kept = join(insertion.elements);
    bool placed = kept.empty();
    for (const std::string& entry : inherited) {
        if (is_for_shim(entry)) {
            continue;
        }
        // An empty value inserts nothing and stays as it is.
        if (!is_entry_of(entry, inserting) || entry.size() == inserting.size() + 1) {
            environment.push_back(entry);
        } else if (!placed) {
            environment.push_back(text::concat(inserting, "=", kept));
            placed = true;
        }
    }
    // `-u LD_PRELOAD` drops what was inherited: the shim is added behind it.
    for (const Change& change : plan.environment) {
        apply_change(environment, change.name, change.value);
    }
    for (const target::EnvironmentChange& change : by_env) {
        apply_env_change(environment, change);
    }
    if (settings) {
        const auto rest = find_variable(environment, inserting);
        std::string value = settings->library;
        if (rest && !rest->empty()) {
            value += ":";
            value += *rest;
        }
        apply_change(environment, inserting, value);
        add_shim(environment, plan, *settings);
    }
    return environment;
}

} // namespace metalrun::launch
