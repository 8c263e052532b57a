// SPDX-License-Identifier: MIT
//
// What `metalrun doctor` found, for people, as one JSON document (metalrun(1), DOCTOR), and as a
// block to paste into a bug report. Readers of the JSON must ignore members that they do not know.
#pragma once

#include "judge/doctor_rules.hpp"
#include "report/diagnostic.hpp"

#include <string>
#include <vector>

namespace metalrun::report {

struct DoctorReport {
    std::string version;
    std::string commit; ///< empty: unknown
    doctor::Facts facts;
    std::vector<doctor::Finding> findings;
};

/// One thing that was looked at.
struct DoctorLine {
    std::string key;   ///< in JSON
    std::string label; ///< for people
    doctor::Known<std::string> value;
};

struct DoctorSection {
    std::string key;
    std::string title;
    std::vector<DoctorLine> lines;
};

/// All that was looked at, whatever was found. File names may hold any bytes.
[[nodiscard]] std::vector<DoctorSection> doctor_sections(const doctor::Facts& facts);

/// Versions, host, hashes, profile names and finding ids: no host name, no user's name, no values
/// of variables; `~` stands for the user's folder.
[[nodiscard]] std::string bug_report(const DoctorReport& report);

[[nodiscard]] std::string render_doctor(const DoctorReport& report, Colour colour);
[[nodiscard]] std::string render_doctor_json(const DoctorReport& report);

} // namespace metalrun::report
