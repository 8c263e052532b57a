// SPDX-License-Identifier: MIT
//
// Nothing here is slowed down on purpose: the fallback is the plain loop, the others use the vector
// extension of GCC and clang, which compiles to whatever vector unit the processor has.
#include "kernels.hpp"

#include <algorithm>
#include <cstring>

namespace standin {
namespace {

constexpr std::size_t kLanes = 4; // the vectors that every 64-bit processor has
constexpr std::size_t kTile = 8;  // tokens that share an unpacked block

using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Unpacked = std::array<Vector, kBlock / kLanes>;

int value_at(const Block& block, std::size_t index) {
    const std::size_t half = kBlock / 2;
    const unsigned byte = block.values[index % half];
    return static_cast<int>(index < half ? byte & 15U : byte >> 4U) - 8;
}

/// The values without their scale, which is applied to each block's sum.
void unpack(const Block& block, Unpacked& unpacked) {
    std::array<float, kBlock> values{};
    for (std::size_t index = 0; index < kBlock / 2; ++index) {
        values[index] = static_cast<float>((block.values[index] & 15) - 8);
        values[index + kBlock / 2] = static_cast<float>((block.values[index] >> 4) - 8);
    }
    std::memcpy(unpacked.data(), values.data(), sizeof values);
}

Vector load(std::span<const float> from, std::size_t offset) {
    Vector vector;
    std::memcpy(&vector, &from[offset], sizeof vector);
    return vector;
}

float sum_of(Vector vector) {
    float sum = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sum += vector[lane];
    }
    return sum;
}

/// The dot products of one row with `count` tokens from `first` on.
template <std::size_t count>
void multiply_tile(const Job& job, std::size_t row, std::size_t first) {
    const std::size_t blocks = job.weights.columns / kBlock;
    std::array<Vector, count> sums{};
    for (std::size_t index = 0; index < blocks; ++index) {
        const Block& block = job.weights.blocks[row * blocks + index];
        Unpacked unpacked;
        unpack(block, unpacked);
        for (std::size_t token = 0; token < count; ++token) {
            const std::size_t offset = (first + token) * job.weights.columns + index * kBlock;
            Vector even{};
            Vector odd{};
            for (std::size_t part = 0; part < unpacked.size(); part += 2) {
                even += unpacked[part] * load(job.input, offset + part * kLanes);
                odd += unpacked[part + 1] * load(job.input, offset + (part + 1) * kLanes);
            }
            sums[token] += (even + odd) * block.scale;
        }
    }
    for (std::size_t token = 0; token < count; ++token) {
        job.output[(first + token) * job.weights.rows + row] = sum_of(sums[token]);
    }
}

} // namespace

Weights make_weights(std::size_t rows, std::size_t columns, std::uint32_t seed) {
    Weights weights{.rows = rows, .columns = columns, .blocks = {}};
    weights.blocks.resize(rows * columns / kBlock);
    std::uint32_t state = seed;
    const auto next = [&state] {
        state = state * 1664525U + 1013904223U;
        return state >> 24U;
    };
    for (Block& block : weights.blocks) {
        block.scale = (1.0F + static_cast<float>(next()) / 256.0F) / 128.0F;
        std::ranges::generate(block.values, [&next] { return static_cast<std::uint8_t>(next()); });
    }
    return weights;
}

void Fallback::multiply(const Job& job) {
    input_.assign(job.input.begin(), job.input.end());
    output_.resize(job.output.size());
    const std::size_t columns = job.weights.columns;
    for (std::size_t token = 0; token < job.tokens; ++token) {
        for (std::size_t row = 0; row < job.weights.rows; ++row) {
            float sum = 0;
            for (std::size_t column = 0; column < columns; ++column) {
                const Block& block = job.weights.blocks[(row * columns + column) / kBlock];
                const auto weight = static_cast<float>(value_at(block, column % kBlock));
                sum += weight * block.scale * input_[token * columns + column];
            }
            output_[token * job.weights.rows + row] = sum;
        }
    }
    std::ranges::copy(output_, job.output.begin());
}

void multiply_vector(const Job& job) {
    for (std::size_t token = 0; token < job.tokens; ++token) {
        for (std::size_t row = 0; row < job.weights.rows; ++row) {
            multiply_tile<1>(job, row, token);
        }
    }
}

void multiply_blocked(const Job& job) {
    for (std::size_t row = 0; row < job.weights.rows; ++row) {
        std::size_t token = 0;
        for (; token + kTile <= job.tokens; token += kTile) {
            multiply_tile<kTile>(job, row, token);
        }
        for (; token < job.tokens; ++token) {
            multiply_tile<1>(job, row, token);
        }
    }
}

} // namespace standin
