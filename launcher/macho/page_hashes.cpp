// SPDX-License-Identifier: MIT
#include "macho/page_hashes.hpp"

#include "macho/code_directory.hpp"
#include "system/digest.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

namespace metalrun::macho {

namespace {

// Small enough to stay in a core's own cache between reading and hashing; a multiple of any page.
constexpr std::uint64_t kPiece = std::uint64_t{256} << 10U;

std::uint64_t divide_up(std::uint64_t size, std::uint64_t by) {
    return size / by + (size % by != 0 ? 1 : 0);
}

std::uint64_t pieces_of(const CodeDirectory& directory) {
    return divide_up(directory.code_limit, kPiece);
}

// The number of a page's hash, or nothing if it has none. As xnu bsd/kern/ubc_subr.c hashes() finds
// it, which counts the page behind a part as one of it.
std::optional<std::uint64_t> hash_number(const CodeDirectory& directory, std::uint64_t page) {
    if (!directory.is_scattered) {
        return page;
    }
    std::uint64_t before = 0; // hashes of earlier parts
    const Scatter* earlier = nullptr;
    for (const Scatter& part : directory.scatter) {
        const bool is_in_order = earlier == nullptr || part.first_page > earlier->first_page;
        if (!is_in_order || part.first_page > page) {
            return std::nullopt;
        }
        if (page - part.first_page <= part.pages) {
            return before + page - part.first_page;
        }
        before += part.pages;
        earlier = &part;
    }
    return std::nullopt;
}

// One worker: its buffers and what it has found.
class Checker {
public:
    explicit Checker(const Source& slice) : slice_(slice), code_(kPiece) {}

    [[nodiscard]] const PageCheck& found() const { return check_; }

    // The last page ends at the code limit; it is not padded.
    void check(const CodeDirectory& directory, std::uint64_t piece) {
        const std::uint64_t begin = piece * kPiece;
        const std::uint64_t size = std::min(kPiece, directory.code_limit - begin);
        const std::span<std::byte> code = std::span(code_).first(static_cast<std::size_t>(size));
        const std::uint64_t page_size = directory.page_size_bytes;
        const std::uint64_t first = begin / page_size;
        const std::uint64_t count = divide_up(size, page_size);
        const bool is_read = slice_.read_into(begin, code) && read_hashes(directory, first, count);
        if (kind_ != digest_kind_of(directory.hash_type)) {
            kind_ = digest_kind_of(directory.hash_type);
            digest_ = Digest(kind_);
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            const Bytes page = Bytes(code).subspan(static_cast<std::size_t>(i * page_size));
            count_page(first + i, is_read && agrees(directory, i, page));
        }
    }

private:
    // The hashes of consecutive pages, one behind the other; of a page without one, none is read.
    [[nodiscard]] bool read_hashes(const CodeDirectory& directory, std::uint64_t first,
                                   std::uint64_t count) {
        const std::uint64_t size = hash_size_of(directory.hash_type);
        const std::uint64_t at = directory.offset_in_slice + directory.hash_offset;
        hashes_.resize(static_cast<std::size_t>(count * size));
        has_hash_.assign(static_cast<std::size_t>(count), true);
        if (!directory.is_scattered) {
            return slice_.read_into(at + first * size, hashes_);
        }
        for (std::size_t i = 0; i < has_hash_.size(); ++i) {
            const auto number = hash_number(directory, first + i);
            const auto into = std::span(hashes_).subspan(i * static_cast<std::size_t>(size),
                                                         static_cast<std::size_t>(size));
            const bool is_inside =
                number && fits(directory.hash_offset + *number * size, size, directory.length);
            has_hash_[i] = is_inside && slice_.read_into(at + *number * size, into);
        }
        return true;
    }

    // `page` begins with the page and goes on to the end of the piece.
    [[nodiscard]] bool agrees(const CodeDirectory& directory, std::uint64_t number, Bytes page) {
        const auto size = static_cast<std::size_t>(hash_size_of(directory.hash_type));
        const auto index = static_cast<std::size_t>(number);
        if (!has_hash_[index]) {
            return false;
        }
        digest_.update(page.first(static_cast<std::size_t>(
            std::min<std::uint64_t>(directory.page_size_bytes, page.size()))));
        const DigestValue value = digest_.finish();
        return std::ranges::equal(Bytes(hashes_).subspan(index * size, size),
                                  value.view().first(size));
    }

    void count_page(std::uint64_t page, bool is_good) {
        ++check_.checked;
        if (!is_good) {
            ++check_.bad;
            check_.first_bad = std::min(check_.first_bad.value_or(page), page);
        }
    }

    const Source& slice_;
    std::vector<std::byte> code_;
    std::vector<std::byte> hashes_;
    std::vector<bool> has_hash_; // by page of the piece
    DigestKind kind_ = DigestKind::sha256;
    Digest digest_{kind_};
    PageCheck check_;
};

// Takes pieces of all directories until none is left.
PageCheck work(const Source& slice, const CodeSignature& signature,
               std::atomic<std::uint64_t>& next) {
    Checker checker(slice);
    while (true) {
        std::uint64_t piece = next.fetch_add(1);
        const auto directory =
            std::ranges::find_if(signature.directories, [&](const CodeDirectory& one) {
                const std::uint64_t pieces = pieces_of(one);
                const bool is_here = piece < pieces;
                piece -= is_here ? 0 : pieces;
                return is_here;
            });
        if (directory == signature.directories.end()) {
            return checker.found();
        }
        checker.check(*directory, piece);
    }
}

// std::jthread, which not every library has.
struct Threads {
    std::vector<std::thread> all;

    Threads() = default;
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    Threads(Threads&&) = delete;
    Threads& operator=(Threads&&) = delete;
    ~Threads() {
        for (std::thread& one : all) {
            one.join();
        }
    }
};

void add(PageCheck& sum, const PageCheck& part) {
    sum.checked += part.checked;
    sum.bad += part.bad;
    if (part.first_bad) {
        sum.first_bad = std::min(sum.first_bad.value_or(*part.first_bad), *part.first_bad);
    }
}

} // namespace

PageCheck check_pages(const Source& slice, const CodeSignature& signature, unsigned workers) {
    std::uint64_t pieces = 0;
    for (const CodeDirectory& directory : signature.directories) {
        pieces += pieces_of(directory);
    }
    const std::uint64_t helpers = std::min<std::uint64_t>(workers, pieces);
    std::atomic<std::uint64_t> next = 0;
    std::vector<PageCheck> parts(static_cast<std::size_t>(std::max<std::uint64_t>(helpers, 1)));
    {
        Threads threads;
        for (std::size_t i = 1; i < parts.size(); ++i) {
            try {
                threads.all.emplace_back([&, i] { parts[i] = work(slice, signature, next); });
            } catch (const std::system_error&) {
                break; // those that there are do it all
            }
        }
        parts[0] = work(slice, signature, next);
    }
    PageCheck sum;
    for (const PageCheck& part : parts) {
        add(sum, part);
    }
    return sum;
}

} // namespace metalrun::macho
