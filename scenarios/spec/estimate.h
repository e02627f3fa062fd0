/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How much a run will simulate, before it is simulated: packets and frame-hops are counted over the messages themselves
 * (the schedules' own, and the flows), with the routes' own hops; no congestion, no retransmission, no CNP.
 * Schedules of more than some million steps are sampled evenly.
 *
 *   frame-hops = sum over messages of  hops x (ceil(bytes / mtu) + ceil(packets / ackEvery))
 *
 * The lower bound of the simulated time is what the busiest network interface needs for its wire bytes, or the GPU for its
 * computing: no run can be shorter.
 */
#ifndef SCENARIOS_SPEC_ESTIMATE_H
#define SCENARIOS_SPEC_ESTIMATE_H

#include "scenarios/spec/scenario.h"

#include <string>
#include <vector>

namespace scenario
{

/// Frame-hops a second assumed for the wall time of an estimate: what one core of the machines this was developed on does
/// on small networks when other work goes on beside it; half of that with thousands of GPUs.
constexpr double kAssumedFrameHopsPerSecond = 6e6;

struct Estimate
{
    double messages = 0;
    double networkBytes = 0;     ///< payload that crosses the network between servers
    double dataPackets = 0;
    double ackPackets = 0;
    double frameHops = 0;        ///< of data and ACK frames
    double meanHops = 0;         ///< links a data packet crosses
    double busiestPortSeconds = 0; ///< wire time of the network interface that carries most, in its busier direction
    double computeSeconds = 0;
    bool sampled = false;

    double LowerBoundSeconds() const { return busiestPortSeconds > computeSeconds ? busiestPortSeconds : computeSeconds; }
    double AssumedWallSeconds() const { return frameHops / kAssumedFrameHopsPerSecond; }
};

/// Of one step.
Estimate EstimateStep(const TrainingScenario& scenario);
/// Of the whole run, all sizes and repetitions.
Estimate EstimateRun(const CollperfScenario& scenario);
Estimate EstimateRun(const TrafficScenario& scenario);
/// Of the whole run: EstimateStep x (steps + warm-up steps).
Estimate EstimateRun(const TrainingScenario& scenario);

} // namespace scenario

#endif // SCENARIOS_SPEC_ESTIMATE_H
