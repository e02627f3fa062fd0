/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A step of a deep model from steps of shallower ones. Blocks are alike, so a step's time is nearly
 * a straight line over their number: simulated are N blocks and fewer, and
 *
 *   T(L) = T(N) + (L - N) (T(N) - T(M)) / (N - M)
 *
 * A third, smaller number tells how straight the line is: what it and M predict for N, compared
 * with what N took.
 */
#ifndef SCENARIOS_TRAINING_FEWER_LAYERS_H
#define SCENARIOS_TRAINING_FEWER_LAYERS_H

#include "scenarios/training/plan-options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// \return layers of the model that are repeated
uint32_t BlocksOf(const ModelSpec& model);

/// Whether a stage of a pipeline counts it as one of its blocks: a repeated one or, of models whose
/// first blocks have an MLP where later ones have experts, one of those (DeepSeek's configurations
/// count them in num_hidden_layers, and so does Megatron-LM's --num-layers).
bool IsBlock(const ModelSpec& model, const LayerSpec& layer);

/// \return layers for which IsBlock holds
uint32_t StageBlocksOf(const ModelSpec& model);

/// \return numbers of blocks to simulate, descending: all of them without --layers, else up to
/// three
std::vector<uint32_t> SizesToSimulate(const TrainingOptions& options);

/// Why a step cannot be extrapolated from so few blocks; nothing if it can.
std::optional<std::string> WhyNotFewer(const TrainingOptions& options);

/// The same with fewer blocks: the first ones. \param blocks at most those of the model
TrainingOptions WithBlocks(TrainingOptions options, uint32_t blocks);

/// The value of L blocks on the line through the two largest sizes. \param values by size, as many
/// as sizes, at least one
double Extrapolated(const std::vector<uint32_t>& sizes,
                    const std::vector<double>& values,
                    uint32_t blocks);

/// How far the line through the two smaller of three sizes misses the largest, relative to it.
/// Nothing: there are fewer.
std::optional<double> ExtrapolationError(const std::vector<uint32_t>& sizes,
                                         const std::vector<double>& values);

/// How far the line misses the whole if what bends it between three sizes goes on: the difference
/// to the parabola through them (Newton's remainder), relative to the parabola. The error above is
/// that of a step of the line between neighbours; the whole is many such steps away, and a bend
/// grows with the square of their number. A law that begins beyond the sizes is in neither.
/// Nothing: there are fewer sizes, or the parabola comes to nothing.
std::optional<double> WholeError(const std::vector<uint32_t>& sizes,
                                 const std::vector<double>& values,
                                 uint32_t blocks);

} // namespace training

#endif // SCENARIOS_TRAINING_FEWER_LAYERS_H
