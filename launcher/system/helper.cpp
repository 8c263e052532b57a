// SPDX-License-Identifier: MIT
//
// Boost.Process v2, one source for Boost 1.81 to 1.90: only the headers that exist in all of them
// are included, and below 1.86 the library is compiled here.
#include "system/helper.hpp"

#include <csignal>

#include <boost/version.hpp>
#if BOOST_VERSION < 108600
#define BOOST_PROCESS_V2_SEPARATE_COMPILATION 1
#include <boost/optional.hpp>
#include <boost/type_traits.hpp>
#endif
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/process/v2/environment.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
#if BOOST_VERSION < 108600
#include <boost/process/v2/src.hpp>
#endif

#include "report/text.hpp"

#include <sys/wait.h>

namespace metalrun {

namespace {

namespace asio = boost::asio;
namespace process = boost::process::v2;

HelperResult run_to_the_end(const HelperRequest& request) {
    asio::io_context context;
    asio::readable_pipe output(context);
    asio::readable_pipe errors(context);
    HelperResult result;
    process::process child(context.get_executor(), request.path, request.arguments,
                           process::process_stdio{nullptr, output, errors},
                           process::process_environment(request.environment));
    asio::steady_timer timer(context, request.limit);
    timer.async_wait([&](boost::system::error_code cancelled) {
        if (cancelled) {
            return;
        }
        result.timed_out = true;
        ::kill(child.id(), SIGKILL);
        boost::system::error_code ignored;
        // A grandchild may hold the pipes open for ever: do not wait for their end.
        ignored = output.close(ignored);
        ignored = errors.close(ignored);
    });
    int open_pipes = 2;
    const auto done = [&](boost::system::error_code, std::size_t) {
        --open_pipes;
        if (open_pipes == 0) {
            timer.cancel();
        }
    };
    asio::async_read(output, asio::dynamic_buffer(result.output, kLargestOutput), done);
    asio::async_read(errors, asio::dynamic_buffer(result.errors, kLargestOutput), done);
    context.run();
    boost::system::error_code ignored;
    child.wait(ignored);
    const int native = child.native_exit_code();
    result.status = WIFEXITED(native) ? WEXITSTATUS(native) : 128 + WTERMSIG(native);
    return result;
}

} // namespace

Result<HelperResult> run_helper(const HelperRequest& request) {
    try {
        return run_to_the_end(request);
    } catch (const boost::system::system_error& error) {
        return fail({.code = Errc::system,
                     .message = text::format("cannot run {}: {}", text::quote(request.path),
                                             error.code().message())});
    }
}

} // namespace metalrun
