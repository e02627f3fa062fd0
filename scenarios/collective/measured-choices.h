/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The choice of algorithms by measurement (--tuner=measured).
 *
 * A formula knows latencies, bytes and rates. It does not know narrow uplinks, flows that meet on
 * them, or congestion control. So the few choices that are best by formula (coll::Candidates) are
 * simulated, each alone on the run's network, and the fastest is taken. One measurement covers an
 * operation with one range of sizes by groups of one shape. All groups enter it at once, as the
 * groups of a step do.
 *
 *     sizes                        measured at    shape: 2 servers of 4 GPUs, ranks in this order
 *     0                            0                servers 0 0 0 0 1 1 1 1, GPUs 0 1 2 3 0 1 2 3
 *     2^k / sqrt 2 .. 2^k sqrt 2   2^k
 *     from 256 MiB / sqrt 2 on     256 MiB: nothing but bytes counts there
 *
 * So a size differs from the measured one by a factor of 1.41 at most. Just below a power of two, a
 * choice measured at half of that power may take a third longer.
 *
 * The other sizes of a run do not matter. So a choice does not depend on earlier measurements, and
 * may be kept (measured-cache.h).
 */
#ifndef SCENARIOS_COLLECTIVE_MEASURED_CHOICES_H
#define SCENARIOS_COLLECTIVE_MEASURED_CHOICES_H

#include "collectives/tuner/tuner.h"
#include "scenarios/collective/collectives-of-run.h"

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

/// A choice that was tried, with its times.
struct TriedChoice
{
    coll::Choice choice; ///< with the time by formula
    /// From all ranks' entry to the last one's leaving; -1: not measured; 0: it did not end.
    int64_t ps = -1;
};

/// A collective that is measured, or will be.
struct MeasuredCollective
{
    coll::Collective what; ///< its bytes are SizeRange::at
    SizeRange range;
    std::vector<std::vector<coll::Rank>> groups; ///< groups that do it at once; no rank is in two
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

/// The choice of --tuner=network, beside the one of the imitation of NCCL's tuner.
struct NetworkChoice
{
    coll::Collective what;
    coll::Choice best;
    coll::Choice model;
    double modelSeconds = 0; ///< on this network, as best.seconds; 0: not known
};

/// The measured choices of a run.
class MeasuredChoices
{
  public:
    MeasuredChoices() = default;

    /// --tuner=network: formulas on the network stand in for measurements, which do not take place.
    explicit MeasuredChoices(std::shared_ptr<const NetworkChoices> network)
        : m_network(std::move(network))
    {
    }

    /// Null: --tuner=measured.
    const NetworkChoices* Network() const
    {
        return m_network.get();
    }

    /// Finds the collectives of the run's groups that are left to the tuner, for measurement. By
    /// network: looks the choices up; the first group stands for all groups with as many ranks, in
    /// one server or in several.
    /// \param groups all groups of the run; a group without ranks has all ranks
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

#endif // SCENARIOS_COLLECTIVE_MEASURED_CHOICES_H
