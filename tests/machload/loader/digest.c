/* SPDX-License-Identifier: MIT
 *
 * CommonCrypto's digests: SHA-1, SHA-256, SHA-384 and SHA-512 by FIPS 180-4. The contexts fit into
 * those of CommonDigest.h. Own code, since no such library is at hand for every processor here; the
 * tests compare with the launcher's own results from another one.
 */
#include "libsystem.h"

#include <string.h>

/* The first 64 bits of the fractional parts of the cube roots of the first 80 primes; SHA-256 takes
 * the upper half of the first 64. */
static const uint64_t kRoots[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static uint32_t rotate_32(uint32_t value, unsigned by) {
    return value >> by | value << (32 - by);
}

static uint64_t rotate_64(uint64_t value, unsigned by) {
    return value >> by | value << (64 - by);
}

static uint64_t big_endian(const unsigned char* bytes, size_t size) {
    uint64_t value = 0;
    for (size_t index = 0; index < size; ++index) {
        value = value << 8 | bytes[index];
    }
    return value;
}

static void put_big_endian(uint64_t value, unsigned char* bytes, size_t size) {
    for (size_t index = size; index-- > 0; value >>= 8) {
        bytes[index] = (unsigned char)value;
    }
}

struct Sha1 {
    uint32_t state[5];
    uint64_t length;
    unsigned char block[64];
};

struct Sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
};

struct Sha512 {
    uint64_t state[8];
    uint64_t length;
    unsigned char block[128];
};
_Static_assert(sizeof(struct Sha1) <= 96, "fits into CC_SHA1_CTX");
_Static_assert(sizeof(struct Sha256) <= 104, "fits into CC_SHA256_CTX");
_Static_assert(sizeof(struct Sha512) <= 208, "fits into CC_SHA512_CTX");

static void sha1_block(struct Sha1* context) {
    uint32_t words[80];
    for (size_t index = 0; index < 80; ++index) {
        words[index] = index < 16 ? (uint32_t)big_endian(context->block + index * 4, 4)
                                  : rotate_32(words[index - 3] ^ words[index - 8] ^
                                                  words[index - 14] ^ words[index - 16],
                                              31);
    }
    uint32_t a = context->state[0];
    uint32_t b = context->state[1];
    uint32_t c = context->state[2];
    uint32_t d = context->state[3];
    uint32_t e = context->state[4];
    for (size_t index = 0; index < 80; ++index) {
        const uint32_t mixed = index < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                               : index < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                               : index < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                            : (b ^ c ^ d) + 0xca62c1d6;
        const uint32_t next = rotate_32(a, 27) + mixed + e + words[index];
        e = d;
        d = c;
        c = rotate_32(b, 2);
        b = a;
        a = next;
    }
    context->state[0] += a;
    context->state[1] += b;
    context->state[2] += c;
    context->state[3] += d;
    context->state[4] += e;
}

/* SHA-256 and SHA-512 differ in the width of a word, the number of rounds and the rotations. */
#define SHA2_BLOCK(name, Context, Word, kRounds, rotate, root, s0, s1, s2, s3, s4, s5, s6, s7, s8,  \
                   s9, s10, s11)                                                                   \
    static void name(struct Context* context) {                                                    \
        Word words[kRounds];                                                                       \
        Word v[8];                                                                                 \
        memcpy(v, context->state, sizeof v);                                                       \
        for (size_t index = 0; index < kRounds; ++index) {                                         \
            if (index < 16) {                                                                      \
                words[index] =                                                                     \
                    (Word)big_endian(context->block + index * sizeof(Word), sizeof(Word));         \
            } else {                                                                               \
                const Word early = words[index - 15];                                              \
                const Word late = words[index - 2];                                                \
                words[index] = words[index - 16] + words[index - 7] +                              \
                               (rotate(early, s0) ^ rotate(early, s1) ^ early >> s2) +             \
                               (rotate(late, s3) ^ rotate(late, s4) ^ late >> s5);                 \
            }                                                                                      \
            const Word first = v[7] + (rotate(v[4], s6) ^ rotate(v[4], s7) ^ rotate(v[4], s8)) +   \
                               ((v[4] & v[5]) ^ (~v[4] & v[6])) + root(index) + words[index];      \
            const Word second = (rotate(v[0], s9) ^ rotate(v[0], s10) ^ rotate(v[0], s11)) +       \
                                ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));                   \
            memmove(v + 1, v, 7 * sizeof *v);                                                      \
            v[4] += first;                                                                         \
            v[0] = first + second;                                                                 \
        }                                                                                          \
        for (size_t index = 0; index < 8; ++index) {                                               \
            context->state[index] += v[index];                                                     \
        }                                                                                          \
    }
#define ROOT_32(index) ((uint32_t)(kRoots[index] >> 32))
#define ROOT_64(index) kRoots[index]
SHA2_BLOCK(sha256_block, Sha256, uint32_t, 64, rotate_32, ROOT_32, 7, 18, 3, 17, 19, 10, 6, 11, 25, 2,
           13, 22)
SHA2_BLOCK(sha512_block, Sha512, uint64_t, 80, rotate_64, ROOT_64, 1, 8, 7, 19, 61, 6, 14, 18, 41, 28,
           34, 39)

/* The four functions of a digest: CommonDigest.h. The bytes of a length of 128 bits that are not
 * counted are zero. */
#define DIGEST(prefix, Context, block_function, Word, result_size, ...)                            \
    static int prefix##_init(struct Context* context) {                                            \
        static const Word kStart[] = {__VA_ARGS__};                                                \
        memcpy(context->state, kStart, sizeof context->state);                                     \
        context->length = 0;                                                                       \
        return 1;                                                                                  \
    }                                                                                              \
    static int prefix##_update(struct Context* context, const void* data, uint32_t size) {         \
        const unsigned char* bytes = data;                                                         \
        while (size != 0) {                                                                        \
            const size_t used = context->length % sizeof context->block;                           \
            const size_t room = sizeof context->block - used;                                      \
            const size_t part = size < room ? size : room;                                         \
            memcpy(context->block + used, bytes, part);                                            \
            context->length += part;                                                               \
            bytes += part;                                                                         \
            size -= (uint32_t)part;                                                                \
            if (part == room) {                                                                    \
                block_function(context);                                                           \
            }                                                                                      \
        }                                                                                          \
        return 1;                                                                                  \
    }                                                                                              \
    static int prefix##_final(unsigned char* result, struct Context* context) {                    \
        enum { kLength = sizeof(Word) * 2 };                                                       \
        static const unsigned char kPadding[128] = {0x80};                                         \
        unsigned char length[kLength] = {0};                                                       \
        put_big_endian(context->length * 8, length + kLength - 8, 8);                              \
        const size_t size = sizeof context->block;                                                 \
        const size_t used = context->length % size;                                                \
        const size_t end = used < size - kLength ? size : 2 * size;                                \
        prefix##_update(context, kPadding, (uint32_t)(end - kLength - used));                      \
        prefix##_update(context, length, kLength);                                                 \
        for (size_t at = 0; at < result_size; at += sizeof(Word)) {                                \
            put_big_endian(context->state[at / sizeof(Word)], result + at, sizeof(Word));          \
        }                                                                                          \
        return 1;                                                                                  \
    }

DIGEST(sha1, Sha1, sha1_block, uint32_t, 20, 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
       0xc3d2e1f0)
DIGEST(sha256, Sha256, sha256_block, uint32_t, 32, 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19)
DIGEST(sha384, Sha512, sha512_block, uint64_t, 48, 0xcbbb9d5dc1059ed8, 0x629a292a367cd507,
       0x9159015a3070dd17, 0x152fecd8f70e5939, 0x67332667ffc00b31, 0x8eb44a8768581511,
       0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4)
DIGEST(sha512, Sha512, sha512_block, uint64_t, 64, 0x6a09e667f3bcc908, 0xbb67ae8584caa73b,
       0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
       0x1f83d9abfb41bd6b, 0x5be0cd19137e2179)

#define IMPORTS_OF(NAME, prefix)                                                                   \
    FUNCTION("_CC_" NAME "_Init", prefix##_init), FUNCTION("_CC_" NAME "_Update", prefix##_update), \
        FUNCTION("_CC_" NAME "_Final", prefix##_final)

const struct Import kDigestImports[] = {
    IMPORTS_OF("SHA1", sha1),
    IMPORTS_OF("SHA256", sha256),
    IMPORTS_OF("SHA384", sha384),
    IMPORTS_OF("SHA512", sha512),
    END_OF_IMPORTS,
};
