/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requests of one model on a MIG instance, event by event: processes under MPS take batches from
 * one queue, or in closed loops.
 *
 * A batch is kRounds rounds of own delay, link and GPU (closed-loop.h), because a host launches and
 * a GPU computes piece by piece. Each piece is exponential: then closed loops have the throughput
 * of mean value analysis, and a batch's time varies by some 1 / sqrt(kRounds).
 */
#ifndef SCENARIOS_MULTIPLEX_SLICE_SIMULATION_H
#define SCENARIOS_MULTIPLEX_SLICE_SIMULATION_H

#include "scenarios/multiplex/simulation.h"

#include <cstdint>

namespace multiplex
{

/// Rounds of a batch: assumed. Throughput of closed loops does not depend on it.
constexpr uint32_t kRounds = 16;

/// What a model on an instance adds to a run.
struct SliceRun
{
    ModelResult result;
    double holds = 0;       ///< s in which a batch was under way, while requests arrived
    double computes = 0;    ///< s of GPU time of finished batches
    double requestTime = 0; ///< as Conservation
    double sojourns = 0;
    bool littleHolds = true;
    double span = 0; ///< s
    bool stopped = false;
    bool ended = false;
};

/// \pre load.OnInstance() \param stream of random numbers: a model's own
SliceRun SimulateSlice(const ModelLoad& load,
                       const Place& place,
                       const RunSettings& settings,
                       uint64_t stream,
                       const GoesOn& goesOn);

/// Runs the models of a mix that are on instances, and adds them to what the others did.
void AddInstances(const Mix& mix,
                  const Plan& plan,
                  const RunSettings& settings,
                  const GoesOn& goesOn,
                  PolicyResult* result);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_SLICE_SIMULATION_H
