// SPDX-License-Identifier: MIT
//
// What the shim asks of the C library for a record: no memory, and one write(2). malloc(3) and its
// kin, and write(2), are this program's own, which count.
#include "receipt.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include <sys/syscall.h>

// NOLINTBEGIN(*-reserved-identifier,*-identifier-naming): the names of the C library
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* memory, std::size_t size);
// NOLINTEND(*-reserved-identifier,*-identifier-naming)

namespace {

int allocations = 0;
int writes = 0;

} // namespace

extern "C" void* malloc(std::size_t size) {
    ++allocations;
    return __libc_malloc(size);
}

extern "C" void* calloc(std::size_t count, std::size_t size) {
    ++allocations;
    return __libc_calloc(count, size);
}

extern "C" void* realloc(void* memory, std::size_t size) {
    ++allocations;
    return __libc_realloc(memory, size);
}

extern "C" ssize_t write(int file, const void* bytes, std::size_t size) {
    ++writes;
    return syscall(SYS_write, file, bytes, size); // NOLINT(*-vararg): syscall(2)
}

TEST_SUITE("shim.receipt_calls") {

    TEST_CASE("a record is one write and takes no memory, in whatever state the receipt is") {
        std::string path = "/tmp/metalrun-receipt-XXXXXX";
        const int file = mkstemp(path.data());
        REQUIRE(file >= 0);
        close(file);
        const std::string absent = path + ".absent";
        const auto append = [](const char* to) {
            metalrun::shim::Record record("active");
            record.text("device", "a name with \"quotes\" and \xff bytes");
            record.number("family_stock", 1005);
            metalrun::shim::append_record(to, record);
        };
        append(path.c_str()); // whatever the C library makes once
        allocations = 0;
        writes = 0;
        append(path.c_str());
        const int writes_of_one = writes;
        append(absent.c_str());
        chmod(path.c_str(), 0644);
        append(path.c_str());
        const int allocated = allocations;
        const int written = writes;
        CHECK(writes_of_one == 1);
        CHECK(written == 1);
        CHECK(allocated == 0);
        // The counters count.
        std::free(std::malloc(1)); // NOLINT(*-no-malloc,*-owning-memory)
        CHECK(allocations > allocated);
        unlink(path.c_str());
    }

} // TEST_SUITE
