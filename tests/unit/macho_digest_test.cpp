// SPDX-License-Identifier: MIT
#include "macho_builder.hpp"
#include "system/digest.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::tests;

TEST_SUITE("digest") {
    TEST_CASE("the published values for 'abc' (FIPS 180-4)") {
        CHECK(hex(digest(DigestKind::sha1, bytes_of("abc")).view()) ==
              "a9993e364706816aba3e25717850c26c9cd0d89d");
        CHECK(hex(digest(DigestKind::sha256, bytes_of("abc")).view()) ==
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        CHECK(hex(digest(DigestKind::sha384, bytes_of("abc")).view()) ==
              "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc23"
              "58baeca134c825a7");
        CHECK(hex(digest(DigestKind::sha512, bytes_of("abc")).view()) ==
              "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a8"
              "36ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    }

    TEST_CASE("parts give what the whole gives, and finish begins anew") {
        for (const DigestKind kind : {DigestKind::sha1, DigestKind::sha256, DigestKind::sha384}) {
            Digest parts(kind);
            for (int round = 0; round < 2; ++round) {
                parts.update(bytes_of("a"));
                parts.update({});
                parts.update(bytes_of("bc"));
                CHECK(hex(parts.finish().view()) == hex(digest(kind, bytes_of("abc")).view()));
            }
        }
    }
}
