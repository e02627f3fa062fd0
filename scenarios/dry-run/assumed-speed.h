/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * An estimate of a run's time before it runs. It assumes that this machine is as fast as the one of
 * docs/measured.md, with a core for each process.
 */
#ifndef SCENARIOS_DRY_RUN_ASSUMED_SPEED_H
#define SCENARIOS_DRY_RUN_ASSUMED_SPEED_H

#include "scenarios/job/scenario.h"

#include <string>

namespace scenario
{

/// The quantities that the speed depends on.
struct SpeedNeeds
{
    double hosts = 0; ///< network interfaces that send or receive
    double links = 0; ///< links of the network
    bool infiniBand = false;
    bool windows = true; ///< the engine; else ns-3's
    Processes processes;
};

struct AssumedSpeed
{
    double setUpSeconds = 0;
    double frameHopsPerSecond = 0; ///< frame-hops per second of one core
    double gain = 1;               ///< speed-up by several processes

    /// \param inside messages inside servers
    double Seconds(double frameHops, double inside) const
    {
        return setUpSeconds + (frameHops + kInside * inside) / (frameHopsPerSecond * gain);
    }

    /// Frame-hops that take as long as one message inside a server. Measured with 25,400 samples of
    /// a step of 3,072 GPUs without attribution: 37% were in the code that moves its 91 million
    /// such messages, the rest in 176 million frame-hops (November 2026, the machine of
    /// docs/measured.md).
    static constexpr double kInside = 1.1;
};

/// A pure function. It does not know of small messages, which take up to three times as long a
/// frame-hop (docs/measured.md: all-to-all-128), nor of attribution.
AssumedSpeed AssumeSpeed(const SpeedNeeds& needs);

/// The time of messages on a network without packets, seconds of one core.
struct AssumedMessages
{
    double between = 0; ///< of a message between servers
    double inside = 0;  ///< of one inside
    double channel = 0; ///< of opening a channel, with its path

    double Seconds(double messages, double messagesInside, double channels) const
    {
        return messages * between + messagesInside * inside + channels * channel;
    }
};

/// \param network "analytic", "fluid". It does not know of messages that share links, each of which
/// takes the fluid network up to three times as long.
AssumedMessages AssumeMessages(const std::string& network);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_ASSUMED_SPEED_H
