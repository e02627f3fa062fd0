/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What measurements say of how collectives are best done (--tuner=measured).
 *
 * A formula knows latencies, bytes and rates, not that uplinks are narrow, that flows meet on them,
 * or what congestion control makes of it. So the few ways that are best by formula
 * (coll::Candidates) are simulated, each alone on the run's network, and the fastest is taken. What
 * is measured once for all: an operation of one range of sizes by groups of one shape, all of which
 * enter it at once, as the groups of a step do.
 *
 *     sizes                        measured at    shape: 2 servers of 4 GPUs, ranks in this order
 *     0                            0                servers 0 0 0 0 1 1 1 1, GPUs 0 1 2 3 0 1 2 3
 *     2^k / sqrt 2 .. 2^k sqrt 2   2^k
 *     from 256 MiB / sqrt 2 on     256 MiB: nothing but bytes counts there
 *
 * So a size is no more than 1.41 times what was measured for it, or 1.41 times less: just below a
 * power of two what was measured at half of that may take a third longer.
 *
 * Which sizes a run has besides does not matter, so a choice is the same whatever was measured
 * before, and may be kept (measured-cache.h).
 */
#ifndef SCENARIOS_OPTIONS_COLLECTIVE_MEASURED_CHOICES_H
#define SCENARIOS_OPTIONS_COLLECTIVE_MEASURED_CHOICES_H

#include "collectives/tuner.h"
#include "scenarios/options/collective/collectives-of-run.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

struct ClusterSpec;
struct CollectiveOptions;
class NetworkChoices;

/// Sizes that do a collective in one way.
struct SizeRange
{
    uint64_t from = 0;
    uint64_t below = 1;
    uint64_t at = 0; ///< measured at this one
};

SizeRange RangeOf(uint64_t bytes);

/// A way to do it, and what it took.
struct TriedChoice
{
    coll::Choice choice; ///< with the time by formula
    /// From all ranks' entry to the last one's leaving; -1: not measured; 0: it did not end.
    int64_t ps = -1;
};

/// What is measured, or to be.
struct MeasuredCollective
{
    coll::Collective what; ///< of SizeRange::at
    SizeRange range;
    std::vector<std::vector<coll::Rank>> groups; ///< that do it at once; of no rank two
    std::vector<TriedChoice> tried;              ///< the formula's choice first

    bool IsKnown() const;
    /// The fastest; of several the first, and the formula's where none came to an end.
    const TriedChoice& Best() const;

    /// The formula's choice.
    const TriedChoice& Model() const
    {
        return tried.front();
    }
};

/// What --tuner=network has taken, and what the imitation of NCCL's tuner would have.
struct NetworkChoice
{
    coll::Collective what;
    coll::Choice best;
    coll::Choice model;
    double modelSeconds = 0; ///< on this network, as best.seconds; 0: not known
};

/// Of a run.
class MeasuredChoices
{
  public:
    MeasuredChoices() = default;

    /// --tuner=network: what formulas say of the network stands for measurements, of which there
    /// are none.
    explicit MeasuredChoices(std::shared_ptr<const NetworkChoices> network)
        : m_network(std::move(network))
    {
    }

    /// Null: --tuner=measured.
    const NetworkChoices* Network() const
    {
        return m_network.get();
    }

    /// What the groups of a run leave to the tuner is to be measured; by network: is looked up, of
    /// groups of as many ranks in one server or several that of the first.
    /// \param groups all of the run's; those without ranks are of all
    void Plan(const CollectiveOptions& options,
              const ClusterSpec& cluster,
              const std::vector<UsedBy>& groups);

    /// \return null: it was not measured
    const MeasuredCollective* Find(const coll::Collective& what,
                                   const coll::Placement& placement) const;

    /// In the order in which the run has them.
    std::vector<MeasuredCollective>& All()
    {
        return m_all;
    }

    const std::vector<MeasuredCollective>& All() const
    {
        return m_all;
    }

    /// --tuner=network: in the order in which the run has them.
    const std::vector<NetworkChoice>& ByNetwork() const
    {
        return m_byNetwork;
    }

  private:
    std::shared_ptr<const NetworkChoices> m_network;
    std::vector<NetworkChoice> m_byNetwork;
    std::vector<MeasuredCollective> m_all;
    std::map<std::string, std::size_t> m_index; ///< by operation, range and shape
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_COLLECTIVE_MEASURED_CHOICES_H
