/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Weight-only formats: weights of fewer bits than what products compute with.
 */
#ifndef SCENARIOS_INFERENCE_QUANTIZATION_H
#define SCENARIOS_INFERENCE_QUANTIZATION_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace serving
{

/// How the weights of a model's products lie in memory. Products compute in the datatype of their
/// inputs, whose rate they reach but for unpacking.
struct Quantization
{
    std::string name;          ///< empty: weights are of the inputs' datatype
    double weightBytes = 0;    ///< of a weight, with its share of scales
    bool expertsAlone = false; ///< routed experts; all else has the inputs' datatype
    std::string help;

    bool IsOn() const
    {
        return !name.empty();
    }

    bool Holds(bool expert) const
    {
        return IsOn() && (expert || !expertsAlone);
    }
};

/// Products with 16-bit inputs unpack their weights: rate over that without (assumed; up to 32 rows
/// weights are read as fast as others: IST-DASLab/marlin README, 3.87 times fp16 to batch 16 to
/// 32).
constexpr double kUnpackedRate = 0.8;

/// All formats.
const std::vector<Quantization>& Quantizations();
std::optional<Quantization> FindQuantization(std::string_view name);

} // namespace serving

#endif // SCENARIOS_INFERENCE_QUANTIZATION_H
