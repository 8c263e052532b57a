// SPDX-License-Identifier: MIT
//
// metalrun-probe: what the default Metal device answers, asked as any program would ask it. Text or
// one JSON object on stdout. Status 0 with a device, 1 without one, 125 when it is used wrongly.
#include "runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

namespace {

using metalrun::shim::Family;
using metalrun::shim::send;
using metalrun::shim::Size;

constexpr int kNoDevice = 1;
constexpr int kOwnFailure = 125;

struct Options {
    bool json = false;
    const char* late_load = nullptr;
    bool valid = true;
};

struct Answers {
    bool simulated = false;
    bool has_device = false;
    std::string name;
    std::vector<Family> apple_families; // those of 1001 to 1010 it says yes to
    Family common_family = 0;           // the highest of its kind, 0 for none
    Family mac_family = 0;
    bool metal3 = false;
    bool metal4 = false;
    Size max_threadgroup_memory_length = 0;
    Size recommended_max_working_set_size = 0;
    Size max_buffer_length = 0; // 0: the device was not asked, for it has no such method
    bool has_unified_memory = false;
};

// By name, so that a program without the simulated Metal says that there is no device.
id create_default_device() {
    using Create = id (*)();
    void* const found = ::dlsym(RTLD_DEFAULT, "MTLCreateSystemDefaultDevice");
    const auto create = reinterpret_cast<Create>(found); // NOLINT(*-reinterpret-cast): dlsym(3)
    return create == nullptr ? nullptr : create();
}

bool answers(id device, const char* selector) {
    return class_getInstanceMethod(object_getClass(device), sel_registerName(selector)) != nullptr;
}

Size size_answer(id device, const char* selector) {
    return answers(device, selector) ? send<Size>(device, selector) : 0;
}

bool supports(id device, Family family) {
    return send<BOOL>(device, "supportsFamily:", family) != NO;
}

Family highest(id device, Family first, Family last) {
    for (Family family = last; family >= first; --family) {
        if (supports(device, family)) {
            return family;
        }
    }
    return 0;
}

std::string name_of(id device) {
    const auto name = send<id>(device, "name");
    const char* text = name == nullptr ? nullptr : send<const char*>(name, "UTF8String");
    return text == nullptr ? "" : text;
}

Answers ask() {
    Answers result;
    result.simulated = dlsym(RTLD_DEFAULT, "metalrun_simulated_metal") != nullptr;
    const auto device = create_default_device();
    if (device == nullptr) {
        return result;
    }
    result.has_device = true;
    result.name = name_of(device);
    for (Family family = 1001; family <= 1010; ++family) {
        if (supports(device, family)) {
            result.apple_families.push_back(family);
        }
    }
    result.common_family = highest(device, 3001, 3003);
    result.mac_family = highest(device, 2001, 2002);
    result.metal3 = supports(device, 5001);
    result.metal4 = supports(device, 5002);
    result.max_threadgroup_memory_length = size_answer(device, "maxThreadgroupMemoryLength");
    result.recommended_max_working_set_size = size_answer(device, "recommendedMaxWorkingSetSize");
    result.max_buffer_length = size_answer(device, "maxBufferLength");
    result.has_unified_memory =
        answers(device, "hasUnifiedMemory") && send<BOOL>(device, "hasUnifiedMemory") != NO;
    return result;
}

Family apple_family(const Answers& answers) {
    return answers.apple_families.empty() ? 0 : answers.apple_families.back();
}

const char* json_bool(bool value) {
    return value ? "true" : "false";
}

const char* yes_no(bool value) {
    return value ? "yes" : "no";
}

std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char byte : text) {
        char escaped[8]{};
        if (static_cast<unsigned char>(byte) < 0x20) {
            static_cast<void>(
                std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(byte)));
            quoted += escaped;
            continue;
        }
        if (byte == '"' || byte == '\\') {
            quoted += '\\';
        }
        quoted += byte;
    }
    return quoted + '"';
}

void print_json(const Answers& answers) {
    std::printf("{\"device\":%s,\"simulated\":%s,\"apple_family\":%ld,\"families\":[",
                answers.has_device ? json_string(answers.name).c_str() : "null",
                json_bool(answers.simulated), apple_family(answers));
    const char* separator = "";
    for (const Family family : answers.apple_families) {
        std::printf("%s%ld", separator, family);
        separator = ",";
    }
    std::printf("],\"common_family\":%ld,\"mac_family\":%ld,\"metal3\":%s,\"metal4\":%s,",
                answers.common_family, answers.mac_family, json_bool(answers.metal3),
                json_bool(answers.metal4));
    std::printf("\"max_threadgroup_memory_length\":%lu,\"recommended_max_working_set_size\":%lu,"
                "\"max_buffer_length\":%lu,\"has_unified_memory\":%s}\n",
                answers.max_threadgroup_memory_length, answers.recommended_max_working_set_size,
                answers.max_buffer_length, json_bool(answers.has_unified_memory));
}

void print_line(const char* key, const char* value) {
    std::printf("%-33s %s\n", (std::string(key) + ":").c_str(), value);
}

void print_number(const char* key, unsigned long value) {
    print_line(key, std::to_string(value).c_str());
}

void print_text(const Answers& answers) {
    print_line("device", answers.has_device ? answers.name.c_str() : "none");
    print_line("simulated", yes_no(answers.simulated));
    if (!answers.has_device) {
        return;
    }
    print_number("apple family", static_cast<unsigned long>(apple_family(answers)));
    for (Family family = 1001; family <= 1010; ++family) {
        const bool found = std::ranges::count(answers.apple_families, family) != 0;
        print_line(("family " + std::to_string(family)).c_str(), yes_no(found));
    }
    print_number("common family", static_cast<unsigned long>(answers.common_family));
    print_number("mac family", static_cast<unsigned long>(answers.mac_family));
    print_line("metal 3", yes_no(answers.metal3));
    print_line("metal 4", yes_no(answers.metal4));
    print_number("max threadgroup memory length", answers.max_threadgroup_memory_length);
    print_number("recommended max working set size", answers.recommended_max_working_set_size);
    if (answers.max_buffer_length != 0) {
        print_number("max buffer length", answers.max_buffer_length);
    }
    print_line("has unified memory", yes_no(answers.has_unified_memory));
}

Options parse_options(const std::vector<const char*>& arguments) {
    Options options;
    for (std::size_t index = 1; index < arguments.size(); ++index) {
        const std::string_view argument = arguments[index];
        if (argument == "--json") {
            options.json = true;
        } else if (argument == "--late-load" && index + 1 < arguments.size()) {
            options.late_load = arguments[++index];
        } else {
            options.valid = false;
        }
    }
    return options;
}

void complain(const char* text) {
    static_cast<void>(std::fprintf(stderr, "metalrun-probe: error: %s\n", text));
}

} // namespace

int main(int argc, char** argv) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-bounds-pointer-arithmetic): the form main is given
    const Options options = parse_options({argv, argv + argc});
    if (!options.valid) {
        complain("usage: metalrun-probe [--json] [--late-load FILE]");
        return kOwnFailure;
    }
    if (options.late_load != nullptr &&
        dlopen(options.late_load, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        complain(dlerror()); // NOLINT(concurrency-mt-unsafe): there is one thread
        return kOwnFailure;
    }
    const Answers answers = ask();
    options.json ? print_json(answers) : print_text(answers);
    return answers.has_device ? 0 : kNoDevice;
}
