/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a run is said to take before it runs. All of it is assumed: that this machine is as fast
 * as the one that docs/speed.md was measured on, with a core for each process.
 */
#ifndef SCENARIOS_PLAN_ASSUMED_SPEED_H
#define SCENARIOS_PLAN_ASSUMED_SPEED_H

#include "scenarios/run/scenario.h"

#include <string>

namespace scenario
{

/// What the speed depends on.
struct SpeedNeeds
{
    double hosts = 0; ///< network interfaces that send or receive
    double links = 0; ///< of the network
    bool infiniBand = false;
    bool windows = true; ///< the engine; else ns-3's
    Processes processes;
};

struct AssumedSpeed
{
    double setUpSeconds = 0;
    double frameHopsPerSecond = 0; ///< of one core
    double gain = 1;               ///< of several processes

    /// \param inside messages inside servers
    double Seconds(double frameHops, double inside) const
    {
        return setUpSeconds + (frameHops + kInside * inside) / (frameHopsPerSecond * gain);
    }

    /// Frame-hops that a message inside a server takes as long as: of 25,400 samples of a step of
    /// 3,072 GPUs without attribution, 37% were in what moves its 91 million of these, and the rest
    /// in 176 million frame-hops (November 2026, the machine of docs/speed.md).
    static constexpr double kInside = 1.1;
};

/// A pure function. It does not know of small messages, which take up to three times as long a
/// frame-hop (docs/speed.md: all-to-all-128), nor of attribution.
AssumedSpeed AssumeSpeed(const SpeedNeeds& needs);

} // namespace scenario

#endif // SCENARIOS_PLAN_ASSUMED_SPEED_H
