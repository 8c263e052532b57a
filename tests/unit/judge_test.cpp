// SPDX-License-Identifier: MIT
//
// The decision order and every rule on both sides. A question starts as one that injects; each case
// changes one thing.
#include "judge/judge.hpp"
#include "judge/rules.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using judge::Decision;
using judge::FindingId;
using judge::Outcome;
using judge::Severity;

namespace {

struct Case {
    target::Chain chain{.typed = "prog", .path = "/prog"};
    judge::ShimFacts shim{.path = "/shim.so"};
    HostFacts host{.kernel = HostFacts::Kernel::linux, .architecture = "x86_64", .guest = Tri::yes};
    launch::Plan plan{.profile = "p"};
    launch::Insertion insertion;

    Case() {
        chain.image = target::Image{.path = "/prog"};
        chain.image->content.parsed = target::ElfResult(
            elf::Facts{.machine = 62, .type = elf::Type::shared, .interpreter = "/ld.so"});
        shim.status.kind = FileKind::regular;
        shim.content.parsed = target::ElfResult(
            elf::Facts{.machine = 62, .type = elf::Type::shared, .marker = "shim"});
        plan.ceiling = 1007;
        plan.status = profile::WorkloadStatus::beneficial;
    }
    elf::Facts& target_elf() { return *std::get<target::ElfResult>(chain.image->content.parsed); }
    elf::Facts& shim_elf() { return *std::get<target::ElfResult>(shim.content.parsed); }
    [[nodiscard]] judge::Question question() const {
        return {.chain = chain, .shim = &shim, .host = host, .plan = plan, .insertion = &insertion};
    }
    [[nodiscard]] judge::Verdict verdict() const { return judge::judge(question()); }
    [[nodiscard]] bool has(FindingId id) const {
        for (const auto& finding : verdict().findings) {
            if (finding.id == id) {
                return true;
            }
        }
        return false;
    }
};

void check_refused(const Case& changed, FindingId id, Errc code) {
    const auto verdict = changed.verdict();
    CHECK(verdict.decision == Decision::refuse);
    REQUIRE(verdict.reason.has_value());
    CHECK(judge::to_string(*verdict.reason) == judge::to_string(id));
    CHECK(judge::errc_of(*verdict.deciding()) == code);
    CHECK_FALSE(verdict.deciding()->message.empty());
}

} // namespace

TEST_SUITE("judge") {
    TEST_CASE("a plain program takes a sound shim") {
        const Case plain;
        const auto verdict = plain.verdict();
        CHECK(verdict.decision == Decision::inject);
        CHECK(verdict.outcome == Outcome::loads);
        CHECK_FALSE(verdict.reason.has_value());
        CHECK(verdict.findings.empty());
        CHECK(judge::needs_shim(plain.question()));
    }

    TEST_CASE("a target that cannot start is refused, stock or not") {
        Case changed;
        changed.chain.problem = judge::Finding{.id = FindingId::target_not_found,
                                               .severity = Severity::error,
                                               .step = judge::Step::launch,
                                               .outcome = Outcome::no_start,
                                               .message = "m"};
        changed.plan.stock_asked = true;
        changed.plan.on_refusal.value = profile::OnRefusal::stock;
        check_refused(changed, FindingId::target_not_found, Errc::not_found);
        CHECK(changed.verdict().outcome == Outcome::no_start);
    }

    TEST_CASE("a damaged program and one without a loader cannot start") {
        Case damaged;
        damaged.chain.image->content.parsed =
            target::ElfResult(std::unexpected(elf::Malformed{"cut"}));
        check_refused(damaged, FindingId::malformed, Errc::refused);
        Case object;
        object.target_elf().type = elf::Type::other;
        check_refused(object, FindingId::not_executable, Errc::refused);
        Case foreign;
        foreign.chain.image->loader_missing = true;
        check_refused(foreign, FindingId::loader_missing, Errc::refused);
    }

    TEST_CASE("--stock, an unknown machine, no benefit and a stock profile start stock") {
        Case asked;
        asked.plan.stock_asked = true;
        CHECK(asked.verdict().reason == FindingId::stock_asked);
        Case outside;
        outside.host.guest = Tri::no;
        CHECK(outside.verdict().reason == FindingId::not_a_guest);
        outside.host.guest = Tri::unknown;
        CHECK(outside.verdict().decision == Decision::stock);
        outside.plan.where.value = profile::Where::anywhere;
        CHECK(outside.verdict().decision == Decision::inject);
        Case useless;
        useless.plan.status = profile::WorkloadStatus::no_benefit;
        CHECK(useless.verdict().reason == FindingId::no_benefit);
        useless.plan.family_asked = true;
        CHECK(useless.verdict().decision == Decision::inject);
        Case stock;
        stock.plan.ceiling = 0;
        CHECK(stock.verdict().reason == FindingId::profile_stock);
        CHECK(stock.verdict().decision == Decision::stock);
        CHECK_FALSE(judge::needs_shim(stock.question()));
    }

    TEST_CASE("an unsafe or blocked workload is refused, also when it names no family") {
        Case changed;
        changed.plan.status = profile::WorkloadStatus::unsafe;
        check_refused(changed, FindingId::unsafe, Errc::refused);
        changed.plan.ceiling = 0;
        check_refused(changed, FindingId::unsafe, Errc::refused);
        changed.plan.status = profile::WorkloadStatus::blocked;
        check_refused(changed, FindingId::blocked, Errc::refused);
        CHECK_FALSE(judge::needs_shim(changed.question()));
    }

    TEST_CASE("--family lifts an unsafe status, with a warning") {
        Case changed;
        changed.plan.status = profile::WorkloadStatus::unsafe;
        changed.plan.family_asked = true;
        const auto verdict = changed.verdict();
        CHECK(verdict.decision == Decision::inject);
        REQUIRE(verdict.findings.size() == 1);
        CHECK(verdict.findings[0].severity == Severity::warning);
    }

    TEST_CASE("an unsafe workload outside a guest runs stock") {
        Case changed;
        changed.plan.status = profile::WorkloadStatus::unsafe;
        changed.host.guest = Tri::no;
        CHECK(changed.verdict().decision == Decision::stock);
    }

    TEST_CASE("errors of the shim are metalrun's own") {
        Case missing;
        missing.shim.open_error = 2;
        check_refused(missing, FindingId::shim_missing, Errc::shim);
        Case colon;
        colon.shim.path = "/a:b.so";
        check_refused(colon, FindingId::shim_path, Errc::shim);
        Case newline;
        newline.shim.path = "/a\nb.so";
        check_refused(newline, FindingId::shim_path, Errc::shim);
        Case folder;
        folder.shim.status.kind = FileKind::directory;
        check_refused(folder, FindingId::shim_not_a_library, Errc::shim);
        Case damaged;
        damaged.shim.content.parsed = target::ElfResult(std::unexpected(elf::Malformed{"cut"}));
        check_refused(damaged, FindingId::shim_not_a_library, Errc::shim);
        Case program;
        program.shim_elf().interpreter = "/ld.so";
        check_refused(program, FindingId::shim_not_a_library, Errc::shim);
        Case other;
        other.shim_elf().machine = 183;
        check_refused(other, FindingId::shim_architecture, Errc::shim);
        Case writable;
        writable.shim.distrust = Error{.code = Errc::shim, .message = "others may write"};
        check_refused(writable, FindingId::shim_writable_by_others, Errc::shim);
        Case checksum;
        checksum.plan.shim_sha256 = "aa";
        checksum.shim.sha256 = "bb";
        check_refused(checksum, FindingId::shim_checksum, Errc::shim);
        checksum.shim.sha256 = "aa";
        CHECK(checksum.verdict().decision == Decision::inject);
    }

    TEST_CASE("a blank in the shim's path matters to ld.so only") {
        Case changed;
        changed.shim.path = "/a b.so";
        check_refused(changed, FindingId::shim_path, Errc::shim);
        changed.host.kernel = HostFacts::Kernel::darwin;
        CHECK_FALSE(changed.has(FindingId::shim_path));
    }

    TEST_CASE("errors of the target: another machine, set-id, static") {
        Case machine;
        machine.target_elf().machine = 183;
        check_refused(machine, FindingId::wrong_architecture, Errc::refused);
        machine.plan.stock_asked = true;
        CHECK(machine.verdict().decision == Decision::refuse);
        auto question = machine.question();
        question.runs_foreign_programs = true;
        CHECK(judge::judge(question).decision == Decision::stock);
        Case narrow;
        narrow.target_elf().is_64_bit = false;
        narrow.target_elf().machine = 3;
        check_refused(narrow, FindingId::wrong_architecture, Errc::refused);
        Case rights;
        rights.chain.image->gains_rights = true;
        check_refused(rights, FindingId::set_id, Errc::refused);
        Case fixed;
        fixed.target_elf().interpreter.clear();
        check_refused(fixed, FindingId::static_program, Errc::refused);
        CHECK(fixed.verdict().outcome == Outcome::stripped);
    }

    TEST_CASE("env on the way keeps the shim, unless children inherit it") {
        Case changed;
        changed.chain.passes_env = true;
        check_refused(changed, FindingId::starts_elsewhere, Errc::refused);
        changed.plan.children.value = profile::Children::inherit;
        CHECK(changed.verdict().decision == Decision::inject);
    }

    TEST_CASE("the shim is asked before the target, and all findings are shown") {
        Case changed;
        changed.shim.open_error = 2;
        changed.chain.image->gains_rights = true;
        check_refused(changed, FindingId::shim_missing, Errc::shim);
        CHECK(changed.has(FindingId::set_id));
    }

    TEST_CASE("--or-stock turns refusals of workload, shim and target into stock") {
        Case changed;
        changed.plan.on_refusal.value = profile::OnRefusal::stock;
        changed.shim.open_error = 2;
        CHECK(changed.verdict().decision == Decision::stock);
        CHECK(changed.verdict().reason == FindingId::shim_missing);
        changed.shim.open_error = 0;
        changed.chain.image->gains_rights = true;
        CHECK(changed.verdict().decision == Decision::stock);
        changed.plan.status = profile::WorkloadStatus::unsafe;
        CHECK(changed.verdict().reason == FindingId::unsafe);
        CHECK(changed.verdict().decision == Decision::stock);
    }

    TEST_CASE("a foreign library is used, with a warning") {
        Case changed;
        changed.shim_elf().marker.clear();
        CHECK(changed.verdict().decision == Decision::inject);
        CHECK(changed.has(FindingId::shim_foreign));
    }

    TEST_CASE("inherited libraries, an untested workload and quirks are told") {
        Case changed;
        changed.insertion.elements = {"/x.so"};
        changed.insertion.had_empty = true;
        changed.plan.status = profile::WorkloadStatus::untested;
        changed.plan.quirks.push_back(
            {.guest_os = "14", .level = profile::QuirkLevel::warn, .note = "n"});
        CHECK(changed.has(FindingId::inherited_insertion));
        CHECK(changed.has(FindingId::inherited_empty_element));
        CHECK(changed.has(FindingId::untested));
        CHECK(changed.has(FindingId::quirk_applied));
        CHECK(changed.verdict().decision == Decision::inject);
    }

    TEST_CASE("a quirk of level refuse refuses") {
        Case changed;
        changed.plan.quirks.push_back(
            {.guest_os = "14", .level = profile::QuirkLevel::refuse, .note = "n"});
        check_refused(changed, FindingId::quirk_applied, Errc::refused);
        changed.plan.family_asked = true;
        CHECK(changed.verdict().decision == Decision::inject);
    }
}
