/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long the collectives and messages of a step take by formula: the tuner's, on the group's
 * share of the NICs, as with --collective-times=formula.
 */
#ifndef SCENARIOS_COLLECTIVE_COLLECTIVE_TIMES_H
#define SCENARIOS_COLLECTIVE_COLLECTIVE_TIMES_H

#include "collectives/core/schedule.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace scenario
{

/// Remembers what was asked: many layouts have the same groups.
class CollectiveTimes
{
  public:
    explicit CollectiveTimes(const TrainingScenario& on)
        : CollectiveTimes(on.cluster, on.collectives)
    {
    }

    /// \param cluster, options outlive this
    CollectiveTimes(const ClusterSpec& cluster, const CollectiveOptions& options)
        : m_cluster(cluster),
          m_options(options)
    {
    }

    /// A group of ranks, by number: groups that lie alike on servers have one.
    uint32_t GroupOf(const std::vector<coll::Rank>& members);

    /// Whether its ranks are on several servers.
    bool IsBetween(uint32_t group) const
    {
        return m_between[group];
    }

    /// ps \param crossing GPUs of a server whose groups have other servers, too; 0: all of them
    int64_t Collective(uint32_t group,
                       coll::Op op,
                       uint64_t bytes,
                       const std::shared_ptr<const coll::BlockSizes>& blocks,
                       uint32_t crossing = 0);

    /// ps. \param together ranks of the sender's server that send at the same time
    int64_t Message(coll::Rank from, coll::Rank to, uint64_t bytes, uint32_t together);

  private:
    /// The kind of server that all of them are on; UINT32_MAX: of several.
    coll::Rank KindsOf(const std::vector<coll::Rank>& members) const;
    /// ps \param share groups at its NICs \param beside groups in a server, which share its bridge
    int64_t Seconds(const coll::Collective& what,
                    const coll::Placement& placement,
                    double share,
                    double beside);

    const ClusterSpec& m_cluster;
    const CollectiveOptions& m_options;
    std::map<std::vector<coll::Rank>, uint32_t> m_groupOf; ///< by the members less the first server
    std::vector<coll::Placement> m_placements;
    std::vector<bool> m_between;
    std::map<std::tuple<uint32_t, coll::Op, uint64_t, const coll::BlockSizes*, uint32_t>, int64_t>
        m_times;
    std::map<std::tuple<bool, uint32_t, uint32_t, uint64_t>, int64_t> m_messages;
    /// Blocks whose times are remembered: none has the address of another.
    std::vector<std::shared_ptr<const coll::BlockSizes>> m_blocks;
};

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_COLLECTIVE_TIMES_H
