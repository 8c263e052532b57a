// SPDX-License-Identifier: MIT
//
// The scripts of scripts.txt.
#pragma once

#include <map>
#include <string>

namespace metalrun::test {

/// A script whose first line has so many bytes, its newline counted.
inline std::string script_with_line_of(std::size_t bytes) {
    const std::string interpreter = "#!/bin/sh";
    return interpreter + std::string(bytes - interpreter.size() - 1, ' ') + "\ntrue\n";
}

/// Bytes by name.
inline std::map<std::string, std::string> scripts() {
    return {{"sh", "#!/bin/sh\ntrue\n"},
            {"perl", "#!/usr/bin/perl -w\nexit 0;\n"},
            {"blanks", "#!   /bin/bash   -e\ntrue\n"},
            {"tab", "#!\t/bin/zsh\t-f\ntrue\n"},
            {"cut-by-hash", "#!/bin/sh#not-a-part\ntrue\n"},
            {"env-sh", "#!/usr/bin/env /bin/sh\ntrue\n"},
            {"line-of-512", script_with_line_of(512)},
            {"line-of-513", script_with_line_of(513)},
            {"line-of-600", script_with_line_of(600)},
            {"no-newline", "#!/bin/sh"},
            {"homebrew", "#!/opt/homebrew/bin/python3\nprint()\n"},
            {"env-python", "#!/usr/bin/env python3\nprint()\n"},
            {"env-split", "#!/usr/bin/env -S python3 -u\nprint()\n"},
            {"xcode-stub", "#!/usr/bin/python3\nprint()\n"},
            {"crlf", "#!/bin/sh\r\ntrue\r\n"},
            {"no-interpreter", "#!\ntrue\n"}};
}

} // namespace metalrun::test
