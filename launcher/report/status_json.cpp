// SPDX-License-Identifier: MIT
#include "report/json_text.hpp"
#include "report/status_report.hpp"

namespace metalrun::report {

namespace {

std::string render_answer(const std::optional<launch::Answer>& answer) {
    if (!answer) {
        return "null";
    }
    return json::Object()
        .add("stock", std::to_string(answer->stock))
        .add("given", std::to_string(answer->given))
        .render();
}

std::string render_device(const std::optional<launch::ReceiptEvent>& device) {
    if (!device) {
        return "null";
    }
    return json::Object()
        .add("name", json::string_or_null(device->device))
        .add("class", json::string_or_null(device->device_class))
        .add("apple_family", render_answer(device->family))
        .add("threadgroup_memory", render_answer(device->threadgroup_memory))
        .add("working_set", render_answer(device->working_set))
        .render();
}

json::Object& add_judgement(json::Object& object, const launch::Judgement& judgement) {
    return object.add("state", json::string(launch::to_string(judgement.state)))
        .add("reason", json::string_or_null(judgement.reason))
        .add("device", render_device(judgement.device));
}

std::string render_child(const launch::Child& child) {
    json::Object object;
    object.add("pid", std::to_string(child.process_id));
    return add_judgement(object, child.judgement).render();
}

std::string render_entry(const StatusEntry& entry) {
    const launch::Receipt& receipt = entry.receipt;
    std::vector<std::string> children;
    children.reserve(entry.children.size());
    for (const launch::Child& child : entry.children) {
        children.push_back(render_child(child));
    }
    json::Object object;
    object.add("pid", std::to_string(receipt.process_id));
    return add_judgement(object, entry.judgement)
        .add("as_predicted", json::boolean(launch::is_as_predicted(entry.judgement.state)))
        .add("target", json::string(receipt.target))
        .add("image", json::string_or_null(receipt.image))
        .add("profile", json::string(receipt.profile))
        .add("profile_origin", json::string(receipt.profile_origin))
        .add("decision", json::string(receipt.injects ? "inject" : "stock"))
        .add("outcome", json::string_or_null(receipt.outcome))
        .add("library", json::string_or_null(receipt.library))
        .add("children", json::array(children))
        .add("ended_children", std::to_string(entry.ended_children))
        .render();
}

} // namespace

std::string render_status_json(const StatusReport& report) {
    std::vector<std::string> processes;
    processes.reserve(report.entries.size());
    for (const StatusEntry& entry : report.entries) {
        processes.push_back("\n  " + render_entry(entry));
    }
    std::vector<std::string> ignored;
    ignored.reserve(report.ignored.size());
    for (const IgnoredReceipt& file : report.ignored) {
        ignored.push_back(json::Object()
                              .add("path", json::string(file.path))
                              .add("problem", json::string(file.problem))
                              .render());
    }
    return json::Object()
               .add("metalrun", json::string(report.version))
               .add("folder", json::string(report.folder))
               .add("cleared", std::to_string(report.cleared))
               .add("ignored", json::array(ignored))
               .add("processes", json::array(processes, ","))
               .render() +
           "\n";
}

} // namespace metalrun::report
