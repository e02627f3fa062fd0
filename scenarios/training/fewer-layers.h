/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A step of a deep model from steps of shallower ones. Blocks are alike, so a step's time is nearly
 * a straight line over their number: simulated are N blocks and fewer, and
 *
 *   T(L) = T(N) + (L - N) (T(N) - T(M)) / (N - M)
 *
 * A third, smaller number tests the line: the prediction for N by it and M is compared with the
 * time of N.
 *
 * Every piece of a pipeline loses as many blocks as the others, so that pieces that have more than
 * others keep having more, and keeps one of its own. Pieces without blocks are kept.
 */
#ifndef SCENARIOS_TRAINING_FEWER_LAYERS_H
#define SCENARIOS_TRAINING_FEWER_LAYERS_H

#include "scenarios/training/piece-layers.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// \return numbers of blocks to simulate, descending. Without --layers: all blocks; else up to
/// three numbers
std::vector<uint32_t> SizesToSimulate(const TrainingOptions& options);

/// Why a step cannot be extrapolated from so few blocks; nothing if it can.
std::optional<std::string> WhyNotFewer(const TrainingOptions& options);

/// The same with fewer blocks: the first ones of the model or, in a pipeline whose pieces have
/// different numbers of them, of each piece. \param blocks at most those of the model
TrainingOptions WithBlocks(TrainingOptions options, uint32_t blocks);

/// The value of L blocks on the line through the two largest sizes. \param values by size, as many
/// as sizes, at least one
double Extrapolated(const std::vector<uint32_t>& sizes,
                    const std::vector<double>& values,
                    uint32_t blocks);

/// The error of the line through the two smaller of three sizes at the largest one, relative to it.
/// Nothing if there are fewer sizes.
std::optional<double> ExtrapolationError(const std::vector<uint32_t>& sizes,
                                         const std::vector<double>& values);

/// The error of the line for the whole model if its curvature between three sizes goes on. It is
/// the difference to the parabola through them (Newton's remainder), relative to the parabola. The
/// error above is for one step of the line between neighbours. The whole model is many such steps
/// away, and a curvature's effect grows with the square of their number. Neither has effects that
/// begin beyond the sizes. Nothing if there are fewer sizes, or the parabola is 0.
std::optional<double> WholeError(const std::vector<uint32_t>& sizes,
                                 const std::vector<double>& values,
                                 uint32_t blocks);

} // namespace training

#endif // SCENARIOS_TRAINING_FEWER_LAYERS_H
