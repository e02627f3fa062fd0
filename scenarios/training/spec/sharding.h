/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which states the ranks that hold the same parameters share out among them: the stages of ZeRO
 * (arXiv 1910.02054, section 5).
 */
#ifndef SCENARIOS_TRAINING_SPEC_SHARDING_H
#define SCENARIOS_TRAINING_SPEC_SHARDING_H

#include <cstdint>

namespace training
{

struct Sharding
{
    bool optimizer = false;  ///< from stage 1 on
    bool gradients = false;  ///< from stage 2 on
    bool parameters = false; ///< stage 3

    /// As users count it.
    uint32_t Stage() const
    {
        return uint32_t{optimizer} + uint32_t{gradients} + uint32_t{parameters};
    }

    /// Each stage shares out what the ones below it do.
    bool IsStage() const
    {
        return (optimizer || !gradients) && (gradients || !parameters);
    }
};

/// \param stage 0 to 3
constexpr Sharding
ZeroStage(uint32_t stage)
{
    return {stage >= 1, stage >= 2, stage >= 3};
}

} // namespace training

#endif // SCENARIOS_TRAINING_SPEC_SHARDING_H
