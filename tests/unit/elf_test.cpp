// SPDX-License-Identifier: MIT
#include "elf/elf.hpp"
#include "elf_builder.hpp"
#include "system/fake.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using tests::make_elf;

namespace {

std::expected<elf::Facts, elf::Malformed> read(const std::string& content) {
    return elf::read_facts(
        FakeFile({.kind = FileKind::regular, .size_bytes = content.size()}, content));
}

} // namespace

TEST_SUITE("elf") {
    TEST_CASE("a dynamic program names its loader and its libraries") {
        const auto facts = read(make_elf({.needed = {"libmetal.so", "libc.so.6"}}));
        REQUIRE(facts.has_value());
        CHECK(facts->machine == 62);
        CHECK(facts->type == elf::Type::shared);
        CHECK(facts->interpreter == "/lib64/ld-linux-x86-64.so.2");
        CHECK(facts->needed == std::vector<std::string>{"libmetal.so", "libc.so.6"});
        CHECK(facts->marker.empty());
    }

    TEST_CASE("a static program names none") {
        const auto facts = read(make_elf({.type = 2, .interpreter = ""}));
        REQUIRE(facts.has_value());
        CHECK(facts->interpreter.empty());
        CHECK(facts->type == elf::Type::executable);
    }

    TEST_CASE("the marker is read from the note of that owner") {
        CHECK(read(make_elf({.marker = "shim"}))->marker == "shim");
        CHECK(read(make_elf({.marker = "launcher"}))->marker == "launcher");
    }

    TEST_CASE("a file of another class or byte order is told apart, not misread") {
        std::string small = make_elf();
        small[4] = 1;
        CHECK_FALSE(read(small)->is_64_bit);
        std::string big = make_elf();
        big[5] = 2;
        big[18] = 0;
        big[19] = 21;
        const auto facts = read(big);
        CHECK_FALSE(facts->is_little_endian);
        CHECK(facts->machine == 21);
    }

    TEST_CASE("a segment beyond the end of the file is damage, with the numbers") {
        const auto facts = read(make_elf({.extra_load_size = 0x1000}));
        REQUIRE_FALSE(facts.has_value());
        CHECK(facts.error().message.find("beyond the end of the file") != std::string::npos);
    }

    TEST_CASE("counts and sizes from the file are not believed") {
        std::string many = make_elf();
        many[56] = '\xff';
        many[57] = '\xff';
        CHECK_FALSE(read(many).has_value());
        std::string odd = make_elf();
        odd[54] = 1;
        CHECK_FALSE(read(odd).has_value());
        std::string far = make_elf();
        far.replace(32, 8, std::string(8, '\xff'));
        CHECK_FALSE(read(far).has_value());
    }

    TEST_CASE("names that lie in each other cost no more memory than they are long") {
        // The second name is the end of the first, which is longer than names are believed to be.
        const std::string tail = "lib.so";
        std::string file = make_elf({.needed = {std::string(300, 'x') + tail, tail}});
        CHECK(read(file)->needed == std::vector<std::string>{tail});
    }

    TEST_CASE("of two interpreters the first counts, as for the kernel") {
        // The header of the needed libraries is made one more PT_INTERP: its name is no name.
        std::string file = make_elf({.needed = {"liba.so"}});
        file[64 + 56] = 3;
        const auto facts = read(file);
        REQUIRE(facts.has_value());
        CHECK(facts->interpreter == "/lib64/ld-linux-x86-64.so.2");
    }

    TEST_CASE("every prefix is answered, and only the whole file is a program") {
        const std::string whole = make_elf({.needed = {"liba.so"}, .marker = "shim"});
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CHECK_FALSE(read(whole.substr(0, length)).has_value());
        }
        CHECK(read(whole).has_value());
    }

    TEST_CASE("every single-byte change is answered") {
        const std::string whole = make_elf({.needed = {"liba.so"}, .marker = "shim"});
        std::size_t accepted = 0;
        for (std::size_t at = 0; at < whole.size(); ++at) {
            for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
                std::string changed = whole;
                changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ change);
                accepted += read(changed).has_value() ? 1U : 0U;
            }
        }
        CHECK(accepted > 0);
    }

    TEST_CASE("machines have names") {
        CHECK(elf::machine_name(183) == "AArch64");
        CHECK(elf::machine_name(9999) == "machine 9999");
        CHECK(elf::machine_of("arm64") == 183);
        CHECK(elf::machine_of("vax") == 0);
    }
}
