// SPDX-License-Identifier: MIT
#include "commands/status.hpp"

#include "launch/receipt.hpp"
#include "launch/receipt_reader.hpp"
#include "launch/receipt_state.hpp"
#include "report/status_report.hpp"
#include "report/text.hpp"
#include "version.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

namespace metalrun::commands {

namespace {

constexpr std::string_view kSuffix = ".toml";

// A process number as the kernel and the names of receipts spell it.
std::optional<int> parse_process_id(std::string_view word) {
    int number = 0;
    const char* const begin = word.data();
    const char* const end = std::to_address(word.end());
    const auto parsed = std::from_chars(begin, end, number);
    const bool is_whole = parsed.ec == std::errc{} && parsed.ptr == end;
    return is_whole && number > 0 && word.front() != '0' ? std::optional(number) : std::nullopt;
}

std::string name_of(int process_id) {
    return std::to_string(process_id) + std::string(kSuffix);
}

// The receipts of a folder, looked at one by one.
class Receipts {
public:
    Receipts(const Session& session, std::unique_ptr<Folder> folder, report::StatusReport& report)
        : session_(session), folder_(std::move(folder)), report_(report) {}

    // By number; names of another form belong to somebody else.
    [[nodiscard]] SysResult<std::vector<int>> list() const {
        const auto names = folder_->list();
        if (!names) {
            return std::unexpected(names.error());
        }
        std::vector<int> found;
        for (const std::string_view name : *names) {
            if (!name.ends_with(kSuffix)) {
                continue;
            }
            if (const auto number =
                    parse_process_id(name.substr(0, name.size() - kSuffix.size()))) {
                found.push_back(*number);
            }
        }
        std::ranges::sort(found);
        return found;
    }

    // Adds what became of the process to the report, or clears its receipt. False: there is none.
    bool look_at(int process_id) {
        const std::string name = name_of(process_id);
        const auto status = folder_->lstat(name);
        if (!status) {
            return false;
        }
        const auto fault = launch::find_fault(*status, session_.system.identity().effective_user);
        if (fault) {
            ignore(name, *fault);
            return true;
        }
        if (const auto text = read(name, *status)) {
            judge(process_id, *status, *text);
        }
        return true;
    }

private:
    void ignore(const std::string& name, std::string_view problem) {
        report_.ignored.push_back(
            {.path = text::concat(report_.folder, "/", name), .problem = std::string(problem)});
    }

    // The content, if it is still the file of this status; else the file is ignored.
    std::optional<std::string> read(const std::string& name, const FileStatus& status) {
        if (status.size_bytes > launch::kLargestReceipt) {
            ignore(name, "it is too large");
            return std::nullopt;
        }
        const auto file = folder_->open(name);
        if (!file) {
            if (file.error() != ENOENT) { // else another status cleared it
                ignore(name, text::concat("it cannot be read: ", text::error_text(file.error())));
            }
            return std::nullopt;
        }
        const FileStatus& opened = (*file)->status();
        if (opened.device != status.device || opened.inode != status.inode) {
            ignore(name, "it was replaced while it was looked at");
            return std::nullopt;
        }
        std::vector<std::byte> bytes(
            static_cast<std::size_t>(std::min(launch::kLargestReceipt, opened.size_bytes)));
        const auto got = (*file)->read_at(0, bytes);
        if (!got) {
            ignore(name, text::concat("it cannot be read: ", text::error_text(got.error())));
            return std::nullopt;
        }
        return std::string(as_text(Bytes(bytes).first(*got)));
    }

    void judge(int process_id, const FileStatus& status, const std::string& text) {
        const std::string name = name_of(process_id);
        auto receipt = launch::parse_receipt(text, name);
        if (!receipt || receipt->process_id != process_id) {
            const auto found = session_.system.find_process(process_id);
            const bool is_gone = !found && found.error() == ESRCH;
            // Begun and never finished, or damaged: only what metalrun began is removed.
            if (is_gone && launch::looks_like_receipt(text)) {
                clear(name, status);
            } else {
                ignore(name, receipt ? "it names another process" : receipt.error().message);
            }
            return;
        }
        const launch::Judgement judgement =
            launch::judge_process(*receipt, view_of(*receipt, status));
        if (judgement.state == launch::ProcessState::dead) {
            clear(name, status);
            return;
        }
        report::StatusEntry entry{.receipt = std::move(*receipt), .judgement = judgement};
        add_children(entry);
        report_.entries.push_back(std::move(entry));
    }

    // The file may have been removed by another `status`, and a new process of this number may have
    // left its own receipt since. What remains is the time between these two calls: a receipt that
    // is written then is lost, and its process has none.
    void clear(const std::string& name, const FileStatus& status) {
        const auto now = folder_->lstat(name);
        if (now && *now == status && folder_->remove_file(name)) {
            ++report_.cleared;
        }
    }

    launch::ProcessView view_of(const launch::Receipt& receipt, const FileStatus& status) {
        System& system = session_.system;
        const FileStatus& own = session_.executable_status;
        launch::ProcessView view{.facts = {},
                                 .metalrun = {.device = own.device, .inode = own.inode},
                                 .receipt_owner = status.owner,
                                 .receipt_age_ns = system.now_ns() - status.modified_ns};
        const auto found = system.find_process(receipt.process_id);
        if (!found) {
            view.is_gone = found.error() == ESRCH;
            return view;
        }
        view.facts = *found;
        if (!receipt.injects || found->start_time != receipt.start_time) {
            return view;
        }
        view.has_library = has_library(receipt);
        if (view.has_library == Tri::no) {
            // It may have ended or become another program between the two questions.
            const auto again = system.find_process(receipt.process_id);
            view.has_library = again && *again == *found ? Tri::no : Tri::unknown;
        }
        return view;
    }

    // Unknown, too, if there is no such library any more: then nothing can be compared with it.
    Tri has_library(const launch::Receipt& receipt) {
        System& system = session_.system;
        if (receipt.library != library_.named) {
            library_ = {.named = receipt.library};
            const auto path = system.real_path(receipt.library);
            const auto status = system.stat(receipt.library);
            if (path && status) {
                library_.file = MappedFile{
                    .path = *path, .identity = {.device = status->device, .inode = status->inode}};
            }
        }
        return library_.file ? system.has_mapped(receipt.process_id, *library_.file) : Tri::unknown;
    }

    // A number that was given to somebody else since is not told from the child: that one is listed
    // if it is this user's and no older than the process that would be its ancestor.
    void add_children(report::StatusEntry& entry) {
        for (launch::Child& child : launch::children_of(entry.receipt)) {
            const auto found = session_.system.find_process(child.process_id);
            const bool is_alive =
                found && found->start_time >= entry.receipt.start_time &&
                found->effective_user == session_.system.identity().effective_user;
            if (is_alive) {
                entry.children.push_back(std::move(child));
            } else {
                ++entry.ended_children;
            }
        }
    }

    struct Library {
        std::string named;
        std::optional<MappedFile> file;
    };

    const Session& session_;
    std::unique_ptr<Folder> folder_;
    report::StatusReport& report_;
    Library library_;
};

// Nothing: there is no such folder, and so no receipt.
Result<std::unique_ptr<Folder>> open_state_folder(System& system, const std::string& path) {
    auto folder = system.open_folder(path);
    if (!folder && folder.error() == ENOENT) {
        return nullptr;
    }
    std::string problem;
    if (!folder) {
        problem = folder.error() == ELOOP || folder.error() == ENOTDIR
                      ? "it is a symbolic link or no folder"
                      : text::error_text(folder.error());
    } else if (const auto fault = launch::find_folder_fault((*folder)->status(),
                                                            system.identity().effective_user)) {
        problem = launch::to_string(*fault);
    }
    if (!problem.empty()) {
        return fail({.code = Errc::system,
                     .message = text::format("the state folder {} is not used: {}",
                                             text::quote(path), problem),
                     .help = "set METALRUN_STATE_DIR to a folder of your own with mode 0700, for "
                             "'metalrun status' and for each start"});
    }
    return std::move(*folder);
}

Result<std::optional<int>> process_asked_for(const cli::Request& request) {
    if (request.operands.empty()) {
        return std::nullopt;
    }
    const auto number = parse_process_id(request.operands.front());
    if (!number || request.operands.size() > 1) {
        return fail({.code = Errc::usage,
                     .message = text::format("'status' takes one process number, not {}",
                                             text::quote(request.operands.size() > 1
                                                             ? request.operands[1]
                                                             : request.operands.front())),
                     .help = "'metalrun status' alone lists every process that metalrun started"});
    }
    return number;
}

Result<report::StatusReport> make_report(const Session& session, const std::string& path,
                                         std::optional<int> asked) {
    report::StatusReport report{.version = kVersion, .folder = path};
    auto folder = open_state_folder(session.system, path);
    if (!folder) {
        return fail(std::move(folder.error()));
    }
    if (*folder == nullptr) {
        return report;
    }
    Receipts receipts(session, std::move(*folder), report);
    if (asked) {
        receipts.look_at(*asked);
        return report;
    }
    const auto listed = receipts.list();
    if (!listed) {
        return fail({.code = Errc::system,
                     .message = text::format("cannot read the state folder {}: {}",
                                             text::quote(path), text::error_text(listed.error()))});
    }
    for (const int process_id : *listed) {
        receipts.look_at(process_id);
    }
    return report;
}

void print_notes(const Session& session, const report::StatusReport& report) {
    for (const report::IgnoredReceipt& file : report.ignored) {
        session.print_error(report::render_note(
            text::format("{} is not taken for a receipt: {}", text::quote(file.path), file.problem),
            {}, session.colour()));
    }
}

} // namespace

Result<ExitStatus> status(const Session& session, const cli::Request& request) {
    const auto operand = process_asked_for(request);
    if (!operand) {
        return fail(operand.error());
    }
    const std::optional<int> asked = *operand;
    const auto path =
        launch::find_state_folder(session.environment, session.system.user_cache_folder());
    if (!path) {
        return fail({.code = Errc::system,
                     .message = "there is no state folder: METALRUN_STATE_DIR, XDG_RUNTIME_DIR and "
                                "HOME are not set",
                     .help = "set METALRUN_STATE_DIR as it was for the start"});
    }
    const auto report = make_report(session, *path, asked);
    if (!report) {
        return fail(report.error());
    }
    if (!request.quiet) {
        print_notes(session, *report);
    }
    if (request.json) {
        session.print(report::render_status_json(*report));
    } else if (asked && report->entries.empty()) {
        session.print(
            text::format("no live process {} has a receipt in {}\n", *asked, text::quote(*path)));
    } else {
        session.print(report::render_status(*report, session.output_style()));
    }
    const bool is_good = (!asked || !report->entries.empty()) &&
                         std::ranges::all_of(report->entries, [](const report::StatusEntry& entry) {
                             return launch::is_as_predicted(entry.judgement.state);
                         });
    return is_good ? ExitStatus::success : ExitStatus::negative;
}

} // namespace metalrun::commands
