// SPDX-License-Identifier: MIT
//
// metalrun-embed OUTPUT.cpp PROFILE.toml…: writes built_ins() (catalogue.hpp) as C++, so that the
// usual start parses no TOML and a lone binary has its profiles. It runs at build time; a profile
// that does not load fails the build with the loader's message.
#include "profile/loader.hpp"
#include "report/text.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metalrun::profile {

namespace {

// --- C++ of values ------------------------------------------------------------------------------

std::string escaped(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            out += "\\n";
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte >= 0x7F) {
            out += text::format("\\{:03o}", byte); // an octal escape ends after three digits
        } else {
            out += c;
        }
    }
    return out;
}

std::string literal(std::string_view bytes) {
    return "\"" + escaped(bytes) + "\"";
}

// One literal per line of the text: compilers bound the length of one, not of their sum.
std::string lines_literal(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        out += "\n    " + literal(text.substr(0, end));
        text.remove_prefix(end);
    }
    return out.empty() ? "\"\"" : out;
}

std::string enumerator(std::string_view type, int value) {
    return text::format("static_cast<{}>({})", type, value);
}

template <class E> int number_of(E value) {
    return static_cast<int>(value);
}

std::string strings(const std::vector<std::string>& list) {
    std::string out = "{";
    for (const std::string& item : list) {
        out += literal(item) + ", ";
    }
    return out + "}";
}

std::string variables(const std::vector<Variable>& list) {
    std::string out = "{";
    for (const auto& [name, value] : list) {
        out += text::format("{{{}, {}}}, ", literal(name), literal(value));
    }
    return out + "}";
}

// --- C++ of a profile ---------------------------------------------------------------------------

/// Assignments to the members of `p`, only for what the profile says.
class Writer {
public:
    void set(std::string_view member, const std::string& value) {
        code_ += text::format("    p.{} = {};\n", member, value);
    }
    void set_text(std::string_view member, const std::string& value) {
        if (!value.empty()) {
            set(member, literal(value));
        }
    }
    template <class E>
    void set_enum(std::string_view member, std::string_view type, const std::optional<E>& value) {
        if (value) {
            set(member, enumerator(type, number_of(*value)));
        }
    }
    void set_limit(std::string_view member, const std::optional<Limit>& value) {
        if (value) {
            set(member, text::format("Limit{{{}U}}", value->bytes));
        }
    }
    void set_strings(std::string_view member, const std::vector<std::string>& list) {
        if (!list.empty()) {
            set(member, strings(list));
        }
    }
    void set_variables(std::string_view member, const std::vector<Variable>& list) {
        if (!list.empty()) {
            set(member, variables(list));
        }
    }
    void append(std::string_view member, const std::string& value) {
        code_ += text::format("    p.{}.push_back({});\n", member, value);
    }
    [[nodiscard]] const std::string& code() const { return code_; }

private:
    std::string code_;
};

std::string record_code(const Record& record) {
    return text::format("Record{{.chip = {}, .host_os = {}, .guest_os = {}, .build = {}, "
                        ".workload = {}, .stock = {}, .shim = {}, .host = {}, .speed_up = {}, "
                        ".share_of_host = {}, .source = {}, "
                        ".runs = {}, .apple_family = {}, .threadgroup_memory = {}}}",
                        literal(record.chip), literal(record.host_os), literal(record.guest_os),
                        literal(record.build), literal(record.workload), literal(record.stock),
                        literal(record.shim), literal(record.host), literal(record.speed_up),
                        literal(record.share_of_host), literal(record.source), record.runs,
                        record.apple_family, record.threadgroup_memory);
}

std::string quirk_code(const Quirk& quirk) {
    return text::format("Quirk{{.guest_os = {}, .level = {}, .set = {}, .note = {}}}",
                        literal(quirk.guest_os), enumerator("QuirkLevel", number_of(quirk.level)),
                        variables(quirk.set), literal(quirk.note));
}

std::string profile_code(const Profile& profile) {
    Writer writer;
    writer.set_text("name", profile.name);
    writer.set_text("origin", "built-in");
    writer.set_text("description", profile.description);
    if (const auto& family = profile.metal.apple_family) {
        writer.set("metal.apple_family",
                   text::format("Family{{{}, {}}}",
                                enumerator("Family::Kind", number_of(family->kind)),
                                family->ceiling));
    }
    writer.set_limit("metal.threadgroup_memory", profile.metal.threadgroup_memory);
    writer.set_limit("metal.working_set", profile.metal.working_set);
    if (const auto& never = profile.metal.never_above_host) {
        writer.set("metal.never_above_host", *never ? "true" : "false");
    }
    writer.set_enum("metal.hook", "Hook", profile.metal.hook);
    writer.set_variables("environment.set", profile.environment.set);
    writer.set_strings("environment.unset", profile.environment.unset);
    writer.set_enum("policy.on_refusal", "OnRefusal", profile.policy.on_refusal);
    writer.set_enum("policy.when_uncertain", "WhenUncertain", profile.policy.when_uncertain);
    writer.set_enum("policy.children", "Children", profile.policy.children);
    writer.set_enum("policy.where", "Where", profile.policy.where);
    writer.set_strings("match.programs", profile.match.programs);
    writer.set_strings("match.arguments", profile.match.arguments);
    writer.set_strings("match.libraries", profile.match.libraries);
    writer.set_enum("workload.status", "WorkloadStatus", profile.workload.status);
    writer.set_text("workload.reason", profile.workload.reason);
    for (const Record& record : profile.workload.records) {
        writer.append("workload.records", record_code(record));
    }
    for (const Quirk& quirk : profile.quirks) {
        writer.append("quirks", quirk_code(quirk));
    }
    return writer.code();
}

// --- the file -----------------------------------------------------------------------------------

struct Source {
    std::string text;
    Profile profile;
};

std::string views(std::string_view name, std::size_t index, const std::vector<std::string>& list) {
    std::string items;
    for (const std::string& item : list) {
        items += literal(item) + ", ";
    }
    return text::format("constexpr std::array<std::string_view, {}> {}_{}{{{}}};\n", list.size(),
                        name, index, items);
}

std::string source_code(const Source& source, std::size_t index) {
    const Match& match = source.profile.match;
    return text::format("\n// {}\nconstexpr std::string_view toml_{}({},\n    {});\n",
                        source.profile.name, index, lines_literal(source.text),
                        source.text.size()) +
           views("programs", index, match.programs) + views("arguments", index, match.arguments) +
           views("libraries", index, match.libraries) +
           text::format("Profile make_{}() {{\n    Profile p;\n{}    return p;\n}}\n", index,
                        profile_code(source.profile));
}

std::string table_row(const Source& source, std::size_t index) {
    const WorkloadStatus status = source.profile.workload.status.value_or(WorkloadStatus::untested);
    return text::format("    BuiltIn{{{0}, toml_{1}, programs_{1}, arguments_{1}, libraries_{1},\n"
                        "            {2}, make_{1}}},\n",
                        literal(source.profile.name), index,
                        enumerator("WorkloadStatus", number_of(status)));
}

std::string file_code(const std::vector<Source>& sources) {
    std::string code = "// SPDX-License-Identifier: MIT\n"
                       "//\n"
                       "// Generated by metalrun-embed from config/*.toml.\n"
                       "#include <array>\n"
                       "#include <string_view>\n"
                       "\n"
                       "#include \"profile/catalogue.hpp\"\n"
                       "\n"
                       "namespace metalrun::profile {\n"
                       "\n"
                       "namespace {\n";
    std::string rows;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        code += source_code(sources[i], i);
        rows += table_row(sources[i], i);
    }
    return code +
           text::format("\nconstexpr std::array<BuiltIn, {}> all{{\n{}}};\n", sources.size(),
                        rows) +
           "\n} // namespace\n"
           "\n"
           "std::span<const BuiltIn> built_ins() {\n"
           "    return all;\n"
           "}\n"
           "\n"
           "} // namespace metalrun::profile\n";
}

Result<Source> load_source(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    Source source;
    source.text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
        return fail({.code = Errc::profile, .message = text::format("{}: cannot be read", path)});
    }
    Result<Profile> profile = parse_profile(source.text, path, "/");
    if (!profile) {
        return fail(std::move(profile.error()));
    }
    // Paths mean nothing in a profile that has no folder.
    if (profile->shim != Shim{} || profile->target) {
        return fail({.code = Errc::profile,
                     .message = text::format("{}: a built-in profile has no [shim] and no [target]",
                                             path)});
    }
    source.profile = std::move(*profile);
    return source;
}

int run(std::span<const std::string> arguments) {
    if (arguments.size() < 2) {
        std::cerr << "usage: metalrun-embed OUTPUT.cpp PROFILE.toml...\n";
        return 2;
    }
    std::vector<Source> sources;
    for (const std::string& path : arguments.subspan(1)) {
        Result<Source> source = load_source(path);
        if (!source) {
            std::cerr << "metalrun-embed: error: " << source.error().message << '\n';
            if (!source.error().help.empty()) {
                std::cerr << "help: " << source.error().help << '\n';
            }
            return 1;
        }
        sources.push_back(std::move(*source));
    }
    std::ranges::sort(sources, {}, [](const Source& source) { return source.profile.name; });
    std::ofstream out(arguments[0], std::ios::binary);
    out << file_code(sources);
    if (!out.flush()) {
        std::cerr << "metalrun-embed: error: " << arguments[0] << ": cannot be written\n";
        return 1;
    }
    return 0;
}

} // namespace

} // namespace metalrun::profile

int main(int count, char** arguments) {
    const std::span<char*> all(arguments, static_cast<std::size_t>(count));
    return metalrun::profile::run(std::vector<std::string>(all.begin() + 1, all.end()));
}
