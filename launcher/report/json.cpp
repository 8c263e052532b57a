// SPDX-License-Identifier: MIT
#include "report/json.hpp"

#include "report/text.hpp"

#include <boost/json/src.hpp>

namespace metalrun::report {

namespace {

namespace json = boost::json;

std::uint64_t number_of(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    boost::system::error_code wrong;
    const auto number = value != nullptr ? value->to_number<std::uint64_t>(wrong) : 0;
    return wrong ? 0 : number;
}

} // namespace

Result<DeviceAnswers> parse_device_answers(std::string_view printed) {
    boost::system::error_code wrong;
    const json::value document = json::parse(printed, wrong);
    const json::object* object = wrong ? nullptr : document.if_object();
    if (object == nullptr) {
        return fail({.code = Errc::system,
                     .message = text::format("the probe's answer is not a JSON object: {}",
                                             text::quote(printed.substr(0, 80)))});
    }
    DeviceAnswers answers;
    if (const json::value* device = object->if_contains("device"); device != nullptr) {
        if (const json::string* name = device->if_string(); name != nullptr) {
            answers.device = std::string(name->data(), name->size());
        }
    }
    if (const json::value* simulated = object->if_contains("simulated"); simulated != nullptr) {
        const bool* flag = simulated->if_bool();
        answers.simulated = flag != nullptr && *flag;
    }
    answers.apple_family = static_cast<std::uint16_t>(number_of(*object, "apple_family"));
    answers.threadgroup_memory = number_of(*object, "max_threadgroup_memory_length");
    answers.working_set = number_of(*object, "recommended_max_working_set_size");
    answers.raw = std::string(printed.substr(0, printed.find_last_not_of(" \n") + 1));
    return answers;
}

} // namespace metalrun::report
