// SPDX-License-Identifier: MIT
//
// The raw samples of the published measurements: `samples_ts` of llama-bench and the tokens/s of
// MLX-LM, as they stand in the JSON files of trycua/cua (b296ec9),
// evidence/lume-metal-capability-shim; those of MLX-LM are rounded to three digits.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace metalrun::test {

/// The three arms of one test; an empty one was not measured.
struct PublishedSamples {
    std::string_view folder;   ///< last part of a record's source
    std::string_view workload; ///< as a record has it
    std::vector<double> stock, shim, host;
};

inline const std::array kPublishedSamples{
    PublishedSamples{.folder = "2026-08-09-m1-ultra",
                     .workload = "TinyLlama 1.1B Q4_K_M, pp512",
                     .stock = {433.539, 432.314, 429.524, 432.82, 433.785, 432.767, 431.411, 429.43,
                               427.898, 429.738},
                     .shim = {4786, 4787.4, 4791.32, 4831.85, 4762.77, 4766.76, 4807.15, 4809.53,
                              4755.47, 4759.99},
                     .host = {4851.91, 4874.27, 4872.8, 4845.63, 4874.67, 4881.12, 4871.18, 4876.18,
                              4869.85, 4866.88}},
    PublishedSamples{.folder = "2026-08-09-m1-ultra",
                     .workload = "TinyLlama 1.1B Q4_K_M, tg128",
                     .stock = {12.0054, 12.6872, 10.7939, 12.6502, 12.3166, 12.7428, 12.7323,
                               12.6112, 12.7865, 8.63801},
                     .shim = {200.665, 206.681, 208.639, 200.802, 197.968, 206.512, 211.278,
                              191.309, 211.416, 214.089},
                     .host = {285.845, 286.878, 288.155, 287.859, 288.176, 286.411, 284.806,
                              285.074, 286.733, 286.678}},
    PublishedSamples{.folder = "2026-08-10-m1-ultra-gemma4",
                     .workload = "Gemma 4 12B QAT Q4_0, pp512",
                     .stock = {69.9397, 71.098, 72.5601, 72.0384, 72.7693, 72.5395, 70.4377,
                               70.9954, 71.2751, 72.5706},
                     .shim = {514.352, 514.978, 516.163, 515.668, 515.852, 514.137, 515.967,
                              515.674, 516.536, 516.454},
                     .host = {517.857, 517.902, 518.251, 518.17, 517.898, 516.331, 517.613, 517.436,
                              518.291, 517.514}},
    PublishedSamples{.folder = "2026-08-10-m1-ultra-gemma4",
                     .workload = "Gemma 4 12B QAT Q4_0, tg128",
                     .stock = {3.44128, 3.42181, 3.4585, 3.50324, 3.49668, 3.37423, 3.40606,
                               3.39985, 3.38019, 3.40785},
                     .shim = {49.6644, 49.6695, 49.6872, 49.5169, 49.6537, 49.7381, 49.7704,
                              49.5807, 49.591, 49.7903},
                     .host = {52.4602, 51.9151, 52.278, 52.4969, 52.4196, 52.382, 52.3721, 52.517,
                              52.31, 52.3816}},
    PublishedSamples{.folder = "2026-08-11-m1-ultra-muse-glimmer-64g",
                     .workload = "Muse Glimmer 30B Q4_K_M, pp512",
                     .stock = {25.7641, 26.0987, 25.8328},
                     .shim = {194.971, 194.565, 195.331},
                     .host = {}},
    PublishedSamples{.folder = "2026-08-11-m1-ultra-muse-glimmer-64g",
                     .workload = "Muse Glimmer 30B Q4_K_M, tg128",
                     .stock = {2.41391, 2.14729, 2.37551},
                     .shim = {21.0729, 21.0823, 21.0954},
                     .host = {}},
    PublishedSamples{.folder = "2026-08-09-m1-ultra",
                     .workload = "Llama-3.2-3B-Instruct 4 bit, pp512",
                     .stock = {1636.719, 1692.619, 1610.44, 1655.508, 1665.542, 1668.054, 1656.269,
                               1641.624, 1656.839, 1674.752},
                     .shim = {1677.506, 1658.371, 1669.338, 1663.79, 1629.463, 1683.671, 1691.751,
                              1667.144, 1645.11, 1642.892},
                     .host = {}},
    PublishedSamples{.folder = "2026-08-09-m1-ultra",
                     .workload = "Llama-3.2-3B-Instruct 4 bit, tg128",
                     .stock = {172.479, 172.317, 172.177, 172.195, 171.998, 172.026, 171.96,
                               171.131, 172.15, 171.891},
                     .shim = {170.771, 170.642, 170.807, 171.281, 170.714, 171.382, 170.684,
                              170.914, 171.767, 171.956},
                     .host = {}},
};

} // namespace metalrun::test
