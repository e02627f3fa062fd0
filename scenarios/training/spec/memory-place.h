/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which of a job's data lie in which memory tier.
 */
#ifndef SCENARIOS_TRAINING_SPEC_MEMORY_PLACE_H
#define SCENARIOS_TRAINING_SPEC_MEMORY_PLACE_H

#include "scenarios/training/steps/step-graph.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace training
{

enum class Placed : uint8_t
{
    kParameters, ///< all but experts'
    kExperts,    ///< experts' parameters
    kGradients,
    kOptimizer,
    kActivations,
};

constexpr std::size_t kPlaced = 5;
constexpr const char* kPlacedNames[kPlaced] = {"parameters",
                                               "experts",
                                               "gradients",
                                               "optimizer",
                                               "activations"};
constexpr std::size_t kMostTiers = 8;

struct MemoryPlace
{
    std::vector<MemoryTier> tiers;
    std::array<uint8_t, kPlaced> at{kNoTier, kNoTier, kNoTier, kNoTier, kNoTier};
    uint32_t prefetch = 1; ///< layers loaded ahead of the one that computes

    bool Any() const
    {
        for (const uint8_t tier : at)
        {
            if (tier != kNoTier)
            {
                return true;
            }
        }
        return false;
    }

    uint8_t Of(Placed what) const
    {
        return at[static_cast<std::size_t>(what)];
    }

    bool Has(Placed what) const
    {
        return Of(what) != kNoTier;
    }

    /// Whether its tier gathers, or adds up, what ranks share.
    bool Gathers(Placed what) const
    {
        return Has(what) && tiers[Of(what)].reduces;
    }
};

} // namespace training

#endif // SCENARIOS_TRAINING_SPEC_MEMORY_PLACE_H
