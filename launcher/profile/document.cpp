// SPDX-License-Identifier: MIT
#include "profile/document.hpp"

#include "profile/loader.hpp"
#include "report/text.hpp"
#include "system/read.hpp"

#include <utility>

namespace metalrun::profile {

std::string parent_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::unexpected<Error> cannot(std::string_view verb, const std::string& path,
                              const std::string& reason) {
    return fail(
        {.code = Errc::profile,
         .message = text::format("cannot {} the profile {}: {}", verb, text::quote(path), reason)});
}

std::unexpected<Error> cannot(std::string_view verb, const std::string& path, int number) {
    return cannot(verb, path, text::error_text(number));
}

Result<void> check_size(const FileStatus& status, const std::string& path) {
    if (status.kind != FileKind::regular) {
        return cannot("read", path,
                      status.kind == FileKind::directory ? std::string("it is a directory")
                                                         : std::string("it is not a regular file"));
    }
    if (status.size_bytes > kLargestProfileFile) {
        return cannot("read", path,
                      text::format("it has {} bytes, the limit is {}", status.size_bytes,
                                   kLargestProfileFile));
    }
    return {};
}

Result<std::string> read_all(const File& file, const std::string& path) {
    SysResult<std::string> content = metalrun::read_all(file);
    if (!content) {
        return cannot("read", path, content.error());
    }
    return std::move(*content);
}

Result<Document> read_document(TrustedFolders& trust, const File& file, const std::string& path) {
    if (Result<void> small = check_size(file.status(), path); !small) {
        return fail(std::move(small.error()));
    }
    SysResult<std::string> real = file.real_path();
    if (!real) {
        return cannot("find", path, real.error());
    }
    if (Result<void> trusted = trust.check(*real, file.status(), Errc::profile); !trusted) {
        return fail(std::move(trusted.error()));
    }
    Result<std::string> content = read_all(file, path);
    if (!content) {
        return fail(std::move(content.error()));
    }
    return Document{.text = std::move(*content), .real_path = std::move(*real)};
}

} // namespace metalrun::profile
