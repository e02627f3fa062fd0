/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What interrupts a training job, and how often.
 */
#ifndef SCENARIOS_GOODPUT_FAILURE_CAUSES_H
#define SCENARIOS_GOODPUT_FAILURE_CAUSES_H

#include <array>
#include <cstdint>
#include <limits>

namespace goodput
{

enum class Cause : uint8_t
{
    kGpu,
    kNic,
    kSwitch, ///< a switch, or a cable at it
    kServer, ///< its CPUs, memory, disks, power; maintenance that cannot wait
    kSoftware,
    kJob, ///< anything: only the rate of the whole job is known
};

constexpr std::size_t CAUSES = 6;
constexpr std::array<Cause, CAUSES> ALL_CAUSES =
    {Cause::kGpu, Cause::kNic, Cause::kSwitch, Cause::kServer, Cause::kSoftware, Cause::kJob};

/// "gpu", "nic", "switch", "server", "software", "job".
const char* CauseName(Cause cause);

constexpr double NEVER = std::numeric_limits<double>::infinity();

/// Mean time between failures of one part, s: the interruptions of Llama 3's training, 54 days on
/// 16,384 GPUs (failure-causes.cc). NEVER for kJob.
double PublishedMtbf(Cause cause);

/// Rates of failures in published jobs over those of Llama 3's training, which PublishedMtbf() has:
/// the least and the most (failure-causes.cc).
struct RateSpread
{
    double least;
    double most;
    const char* jobs; ///< which ones, in words
};

RateSpread PublishedSpread();

/// Parts that fail for one cause.
struct Source
{
    Cause cause = Cause::kJob;
    double mtbf = NEVER; ///< s, of one part
    uint64_t parts = 1;
    double detection = 0;     ///< s, from the failure until the job knows
    bool takesServer = false; ///< a server leaves for repair

    /// It fails as published, not as somebody said of his own cluster.
    bool IsPublished() const
    {
        return cause != Cause::kJob && mtbf == PublishedMtbf(cause);
    }

    /// Failures a second of all parts.
    double Rate() const
    {
        return parts > 0 ? static_cast<double>(parts) / mtbf : 0;
    }
};

} // namespace goodput

#endif // SCENARIOS_GOODPUT_FAILURE_CAUSES_H
