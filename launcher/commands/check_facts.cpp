// SPDX-License-Identifier: MIT
#include "commands/check_facts.hpp"

#include "profile/host_facts.hpp"
#include "report/text.hpp"
#include "system/read.hpp"

namespace metalrun::commands {

namespace {

constexpr std::uint64_t kLargestFactsFile = 1U << 16U;

// The newest guest that the rules are known for, when nothing else is.
HostFacts assumed_guest() {
    return {.source = HostFacts::Source::assumed,
            .kernel = HostFacts::Kernel::darwin,
            .os = "26.5",
            .build = {},
            .architecture = "arm64",
            .chip = {},
            .guest = Tri::yes,
            .sip = Tri::yes};
}

Result<HostFacts> read_host_facts(System& system, const std::string& path) {
    const auto cannot = [&](int number) {
        return fail({.code = Errc::usage,
                     .message = text::format("cannot read the host facts {}: {}", text::quote(path),
                                             text::error_text(number))});
    };
    const auto file = system.open(path);
    if (!file) {
        return cannot(file.error());
    }
    const FileStatus& status = (*file)->status();
    if (status.kind != FileKind::regular || status.size_bytes > kLargestFactsFile) {
        return fail(
            {.code = Errc::usage,
             .message = text::format("cannot read the host facts {}: it is no regular file of at "
                                     "most {} bytes",
                                     text::quote(path), kLargestFactsFile)});
    }
    const auto content = read_all(**file);
    if (!content) {
        return cannot(content.error());
    }
    return profile::parse_host_facts(*content, path);
}

} // namespace

Result<HostFacts> facts_for_check(const Session& session, const cli::Request& request) {
    if (request.host_facts) {
        return read_host_facts(session.system, *request.host_facts);
    }
    return session.host.kernel == HostFacts::Kernel::darwin ? session.host : assumed_guest();
}

} // namespace metalrun::commands
