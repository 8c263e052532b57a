// SPDX-License-Identifier: MIT
//
// The records of config/*.toml: every number recomputes, from the raw samples where they were
// published, and no profile claims more than its records.
#include "profile/catalogue.hpp"
#include "profile_records_samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::profile;

namespace {

// What a written number can stand for: half a unit of its last digit to both sides.
struct Interval {
    double low = 0;
    double high = 0;
};

bool overlap(Interval a, Interval b) {
    constexpr double kSlack = 1e-9;
    return a.low <= b.high + kSlack && b.low <= a.high + kSlack;
}

Interval written(const std::string& digits) {
    const std::size_t point = digits.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point - 1;
    const double value = std::stod(digits);
    const double half = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
    return {value - half, value + half};
}

struct Quantity {
    Interval value;
    std::string unit;
};

// "431.863 tokens/s", "about 60 s", "0.74 to 0.89 s"; nothing for words.
std::optional<Quantity> quantity(const std::string& text) {
    static const std::regex form(R"((?:about )?([0-9.]+)(?: to ([0-9.]+))? ([a-z]+(?:/s)?))");
    std::smatch parts;
    if (!std::regex_match(text, parts, form)) {
        CHECK(text.find_first_of("0123456789") == std::string::npos);
        return std::nullopt;
    }
    const Interval first = written(parts[1]);
    const Interval last = parts[2].matched ? written(parts[2]) : first;
    return Quantity{{first.low, last.high}, parts[3]};
}

Interval ratio(Interval above, Interval below) {
    return {above.low / below.high, above.high / below.low};
}

// How much faster `first` is than `second`: rates count up, times down.
Interval speed(const Quantity& first, const Quantity& second) {
    REQUIRE(first.unit == second.unit);
    REQUIRE((first.unit == "s" || first.unit.ends_with("/s")));
    return first.unit == "s" ? ratio(second.value, first.value) : ratio(first.value, second.value);
}

struct Case {
    std::string profile;
    Record record;
    [[nodiscard]] std::string name() const { return profile + ": " + record.workload; }
};

std::vector<Case> all_records() {
    std::vector<Case> cases;
    for (const BuiltIn& built_in : built_ins()) {
        for (const Record& record : built_in.make().workload.records) {
            cases.push_back({std::string(built_in.name), record});
        }
    }
    return cases;
}

Profile shipped(std::string_view name) {
    const auto found = std::ranges::find(built_ins(), name, &BuiltIn::name);
    REQUIRE(found != built_ins().end());
    return found->make();
}

// The speed-up that the numbers of a record give; nothing where one of them is words.
std::optional<Interval> speed_up(const Record& record) {
    const auto stock = quantity(record.stock);
    const auto shim = quantity(record.shim);
    return stock && shim ? std::optional(speed(*shim, *stock)) : std::nullopt;
}

double median(std::vector<double> samples) {
    std::ranges::sort(samples);
    const std::size_t middle = samples.size() / 2;
    return samples.size() % 2 == 1 ? samples.at(middle)
                                   : (samples.at(middle - 1) + samples.at(middle)) / 2;
}

void check_median(const std::string& text, const std::vector<double>& samples) {
    CAPTURE(text);
    if (samples.empty()) {
        CHECK(text.empty());
        return;
    }
    const auto told = quantity(text);
    REQUIRE(told.has_value());
    const double middle = median(samples);
    CHECK(overlap(told->value, {middle, middle}));
}

// The numbers with a unit in a profile's reason: "16.357 times stock", "14 to 17 tokens/s".
std::vector<std::string> claimed_numbers(const std::string& reason) {
    static const std::regex form(
        R"(\b([0-9.]+)(?: to ([0-9.]+))? (?:times|tokens/s|samples/s|s|%)(?![a-z/]))");
    std::vector<std::string> numbers;
    for (std::sregex_iterator at(reason.begin(), reason.end(), form), end; at != end; ++at) {
        numbers.push_back((*at)[1]);
        if ((*at)[2].matched) {
            numbers.push_back((*at)[2]);
        }
    }
    return numbers;
}

bool tells(const Record& record, const std::string& number) {
    const std::regex form("(^|[^0-9.])" + std::regex_replace(number, std::regex(R"(\.)"), R"(\.)") +
                          "([^0-9.]|$)");
    const std::array texts{record.stock, record.shim, record.host, record.speed_up,
                           record.share_of_host};
    return std::ranges::any_of(
        texts, [&](const std::string& text) { return std::regex_search(text, form); });
}

} // namespace

TEST_SUITE("profile.records") {

    TEST_CASE("every record says what was measured, where, and where that was published") {
        REQUIRE(all_records().size() > 20);
        for (const Case& each : all_records()) {
            CAPTURE(each.name());
            const Record& record = each.record;
            CHECK_FALSE(record.chip.empty());
            CHECK_FALSE(record.guest_os.empty());
            CHECK_FALSE(record.build.empty());
            CHECK_FALSE(record.stock.empty());
            CHECK(quantity(record.shim).has_value());
            CHECK(record.source.find('/') != std::string::npos);
            CHECK(record.apple_family == 1009);
            CHECK(record.threadgroup_memory == 65536);
        }
    }

    TEST_CASE("a speed-up is the shim's result against the stock one") {
        for (const Case& each : all_records()) {
            CAPTURE(each.name());
            const std::string& told = each.record.speed_up;
            const auto computed = speed_up(each.record);
            // One run, or an unknown number of them, gives no factor.
            const bool enough = each.record.runs >= 3 && computed.has_value();
            CHECK(told.empty() == !enough);
            if (!told.empty() && computed) {
                CHECK(overlap(written(told), *computed));
            }
        }
    }

    TEST_CASE("a share of the host is the shim's result against the host's") {
        for (const Case& each : all_records()) {
            CAPTURE(each.name());
            const std::string& told = each.record.share_of_host;
            CHECK(told.empty() == each.record.host.empty());
            if (told.empty()) {
                continue;
            }
            REQUIRE(told.ends_with(" %"));
            const auto shim = quantity(each.record.shim);
            const auto host = quantity(each.record.host);
            REQUIRE((shim && host));
            const Interval share = speed(*shim, *host);
            CHECK(overlap(written(told.substr(0, told.size() - 2)),
                          {100 * share.low, 100 * share.high}));
        }
    }

    TEST_CASE("the published numbers are the medians of the published samples") {
        std::size_t found = 0;
        for (const Case& each : all_records()) {
            CAPTURE(each.name());
            const Record& record = each.record;
            if (!record.source.starts_with("trycua/cua, ")) {
                continue;
            }
            const auto samples =
                std::ranges::find_if(test::kPublishedSamples, [&](const auto& published) {
                    return record.workload == published.workload &&
                           record.source.ends_with("/" + std::string(published.folder));
                });
            REQUIRE(samples != test::kPublishedSamples.end());
            ++found;
            CHECK(record.runs == samples->stock.size());
            CHECK(record.runs == samples->shim.size());
            check_median(record.stock, samples->stock);
            check_median(record.shim, samples->shim);
            check_median(record.host, samples->host);
        }
        // Six in llama.cpp, the same six in published, two in mlx.
        CHECK(found == 14);
    }

    TEST_CASE("a beneficial profile has a record with a gain, and none with a loss") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            if (profile.workload.status != WorkloadStatus::beneficial) {
                continue;
            }
            CHECK_FALSE(profile.workload.records.empty());
            for (const Record& record : profile.workload.records) {
                CAPTURE(record.workload);
                const auto gain = speed_up(record);
                // Words instead of a stock result: it did not work at all.
                CHECK((gain ? gain->low > 1.1 : quantity(record.shim).has_value()));
            }
        }
    }

    TEST_CASE("a no-benefit profile has no record with a gain or loss above the noise") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            if (profile.workload.status != WorkloadStatus::no_benefit) {
                continue;
            }
            for (const Record& record : profile.workload.records) {
                CAPTURE(record.workload);
                const auto gain = speed_up(record);
                REQUIRE(gain.has_value());
                CHECK(gain->low > 0.95);
                CHECK(gain->high < 1.05);
            }
        }
    }

    TEST_CASE("an unsafe or untested profile has no records") {
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            CAPTURE(profile.name);
            if (profile.workload.status == WorkloadStatus::unsafe ||
                profile.workload.status == WorkloadStatus::untested) {
                CHECK(profile.workload.records.empty());
            }
        }
    }

    TEST_CASE("a reason says what record the status rests on, and each of its numbers is in one") {
        std::size_t claims = 0;
        for (const BuiltIn& built_in : built_ins()) {
            const Profile profile = built_in.make();
            const std::string& reason = profile.workload.reason;
            CAPTURE(profile.name);
            CHECK(reason.find("record") != std::string::npos);
            for (const std::string& number : claimed_numbers(reason)) {
                CAPTURE(number);
                ++claims;
                CHECK(std::ranges::any_of(profile.workload.records, [&](const Record& record) {
                    return tells(record, number);
                }));
            }
        }
        CHECK(claims > 10);
    }

    TEST_CASE("a range of speed-ups in a reason is that of all records") {
        for (const std::string_view name : {"llama.cpp", "published", "pytorch"}) {
            const Profile profile = shipped(name);
            CAPTURE(profile.name);
            std::vector<double> factors;
            for (const Record& record : profile.workload.records) {
                if (!record.speed_up.empty()) {
                    factors.push_back(std::stod(record.speed_up));
                }
            }
            const auto [least, most] = std::ranges::minmax(factors);
            const auto claimed = claimed_numbers(profile.workload.reason);
            REQUIRE(claimed.size() == 2);
            CHECK(std::stod(claimed.at(0)) == least);
            CHECK(std::stod(claimed.at(1)) == most);
        }
    }

    TEST_CASE("published replays the published records of llama.cpp, with their values") {
        const Profile published = shipped("published");
        const Profile llama = shipped("llama.cpp");
        CHECK(published.workload.records.size() == 6);
        for (const Record& record : published.workload.records) {
            CAPTURE(record.workload);
            CHECK(std::ranges::find(llama.workload.records, record) !=
                  llama.workload.records.end());
            CHECK(published.metal.apple_family ==
                  Family{Family::Kind::ceiling, record.apple_family});
            CHECK(published.metal.threadgroup_memory == Limit{record.threadgroup_memory});
        }
    }
}
