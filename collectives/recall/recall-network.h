/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_RECALL_RECALL_NETWORK_H
#define COLLECTIVES_RECALL_RECALL_NETWORK_H

#include "collectives/recall/recall-doubt.h"
#include "collectives/recall/recall-flows.h"
#include "collectives/recall/recall-rounds.h"

#include <cstdint>

namespace coll
{

struct RecallSettings
{
    double error = 0.01; ///< a check that misses by more does not agree
    uint32_t checks = 4; ///< at most 2^checks are recalled between two checks
    int64_t delay = 0;   ///< ps from a call to what follows from it, at least
};

/// What all who recall messages of a network share.
struct RecallNetwork
{
    explicit RecallNetwork(const RecallSettings& settings)
        : flows(settings.delay, doubt),
          rounds(settings.error, settings.checks)
    {
    }

    RecallDoubt doubt;
    RecallFlows flows;
    RecallRounds rounds;
    /// Some groups meet between switches, or no two collectives are alike: messages of two ranks
    /// are recalled by rounds, too.
    bool meet = false;
    bool pipelines = false; ///< there are messages of two ranks
    /// Somebody sends what nobody follows: nothing is recalled.
    bool isOpaque = false;
};

} // namespace coll

#endif // COLLECTIVES_RECALL_RECALL_NETWORK_H
