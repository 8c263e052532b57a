// SPDX-License-Identifier: MIT
//
// Multiplication with quantised weights, in the two ways that a workload chooses between when it
// has asked the device what it can do. The weights are like ggml's Q4_0: blocks of 32 four-bit
// values with one scale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace standin {

inline constexpr std::size_t kBlock = 32;

struct Block {
    float scale = 0;
    std::array<std::uint8_t, kBlock / 2> values{}; // low half of the byte: first half of the block
};

/// A matrix of quantised rows; `columns` is a multiple of kBlock.
struct Weights {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<Block> blocks;
};

/// Repeatable pseudo-random weights, small enough that a chain of layers stays finite.
[[nodiscard]] Weights make_weights(std::size_t rows, std::size_t columns, std::uint32_t seed);

/// One multiplication: `output[token][row] = weights[row] . input[token]`.
struct Job {
    const Weights& weights;
    std::span<const float> input;
    std::span<float> output;
    std::size_t tokens;
};

/// What happens when the device refuses the operation: input handed over to the other backend's
/// buffer, one value at a time in the order of the sum, and the result handed back.
class Fallback {
public:
    void multiply(const Job& job);

private:
    std::vector<float> input_;
    std::vector<float> output_;
};

/// Vectors along the row: one token at a time (mat-vec), or several that share each unpacked block
/// (mat-mul).
void multiply_vector(const Job& job);
void multiply_blocked(const Job& job);

} // namespace standin
