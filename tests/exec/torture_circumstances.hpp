// SPDX-License-Identifier: MIT
//
// The circumstances of one start of the torture run: drawn from a seed, so that a plain start and
// one by metalrun find the same ones, and so that a failure can be repeated.
#pragma once

#include "harness.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

namespace metalrun::test {

/// Descriptors of the parent: the observer reports to kReport; kReady closes at exec.
constexpr int kReport = 200;
constexpr int kReady = 201;
constexpr int kObjects = 210; ///< the first of the files that a start may have open

/// How the observer is named.
enum class Naming : std::uint8_t { by_path, in_path, script, env_script };

/// A signal that comes from outside, between fork and the end.
struct InFlight {
    int number = 0;            ///< 0: none
    int count = 0;             ///< how often; more than one for a queued signal only
    bool from_fork_on = false; ///< may come before the circumstances are arranged
    unsigned delay_us = 0;
    bool ends = false; ///< its default action ends the process
};

/// The new number of a file of the parent.
struct OpenFile {
    int object = 0;
    int number = 0;
    bool close_on_exec = false;
};

struct Circumstances {
    Naming naming = Naming::by_path;
    Strings arguments;
    Strings environment;
    std::string action; ///< OBSERVE
    std::vector<OpenFile> files;
    std::vector<int> closed; ///< of 0, 1 and 2
    std::vector<int> blocked;
    std::vector<int> ignored;
    std::vector<int> pending; ///< raised while blocked
    std::vector<std::pair<int, rlimit>> limits;
    InFlight signal;
    unsigned umask = 022;
    unsigned folder = 0; ///< index into the folders; past them: one that is removed
    int zombies = 0;
    int nice = 0;
    bool own_group = false;
    bool own_session = false;
    bool no_new_rights = false;
    bool timer = false;
};

/// Draws everything but the action's meaning, which depends on the signals.
[[nodiscard]] Circumstances draw(std::uint64_t seed, std::uint64_t index);

/// How many files of the parent a start can have open (from kObjects on).
constexpr int kObjectCount = 7;

/// Makes the files; throws std::runtime_error. They stay open.
void open_objects(const TempFolder& folder);

/// In the child, before exec. Async-signal-safe but for what the one thread of the parent allows.
void arrange(const Circumstances& circumstances, const Strings& folders);

} // namespace metalrun::test
