/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Trees of stations: which member adds up the data of which others, and where the sum goes. A
 * station belongs to a member: a rank or a network node (schedule.h). A rank may have two in a
 * tree. With NVLS the owner of a piece is a leaf below its server's switch, as all others, and also
 * the station above the switch.
 *
 *     a tree of `nvls`, 4 ranks, the piece of rank 1       of `sharp`, 4 servers, radix 2
 *
 *                  (1)          a head: adds nothing                [s2]
 *                   |                                              /    \
 *                 [node 4]      the server's switch             [s0]    [s1]      switches
 *               /  |   |  \                                     /  \    /  \
 *             (0) (1) (2) (3)   contribute                    (0)  (1) (2)  (3)   contribute
 *
 * The tree carries a piece of the data, in chunks; station-schedule.h has the order.
 */
#ifndef COLLECTIVES_SCHEDULES_STATION_PLAN_H
#define COLLECTIVES_SCHEDULES_STATION_PLAN_H

#include "collectives/core/schedule.h"

#include <map>
#include <utility>

namespace coll
{

struct Station
{
    static constexpr uint32_t kNone = UINT32_MAX;

    Rank member = kNoRank;
    Rank copier = kNoRank;    ///< member that does the way down in its place; kNoRank: itself
    uint32_t parent = kNone;  ///< a station of the tree that stands before it; kNone: the root
    bool contributes = false; ///< its member's bytes count here: sums are added to them

    /// The member that does the way down.
    Rank Down() const
    {
        return copier == kNoRank ? member : copier;
    }
};

struct StationTree
{
    uint32_t channel = 0; ///< Schedule::Channel
    uint32_t piece = 0;   ///< index of the piece, below StationPlan::pieces
    std::vector<Station> stations;

    /// The number of the new station.
    uint32_t Add(Rank member, uint32_t parent, bool contributes)
    {
        stations.push_back({member, kNoRank, parent, contributes});
        return static_cast<uint32_t>(stations.size()) - 1;
    }
};

/// All trees of a collective, a lane each.
struct StationPlan
{
    explicit StationPlan(const Collective& collective)
        : what(collective)
    {
    }

    Collective what;
    std::string problem; ///< why there is no plan, in a sentence; empty: there is one
    std::vector<NetworkNode> nodes;
    std::vector<StationTree> trees;
    uint32_t pieces = 1; ///< number of pieces that the data are cut into, as in partition.h
    uint32_t chunks = 1; ///< number of chunks of a piece

    /// The member that a switch is; a new one when it is asked for first.
    Rank Member(const NetworkNode& node);

    Rank Members() const
    {
        return what.ranks + static_cast<Rank>(nodes.size());
    }

    uint64_t BytesOf(const StationTree& tree) const;
    /// The largest chunk of a tree, in bytes.
    uint64_t LargestChunk(const StationTree& tree) const;

    /// Cuts into chunks of at most `largest` bytes each, with `trees` as they are then; says so in
    /// `problem` where these make more steps than can be counted.
    void Cut(uint64_t largest);

  private:
    std::map<std::pair<uint32_t, uint32_t>, Rank> m_members; ///< by kind and where
};

/// A NIC of every server that a channel uses.
struct Rail
{
    uint32_t nic = 0;
    uint32_t channel = 0; ///< a number of which that modulo the NICs is `nic`
};

/// One for each channel, over the NICs of Rails() in turn, as rings use them.
std::vector<Rail> ChannelRails(const Placement& placement, uint32_t channels);

/// Where in a server's ranks (RanksByServer) the one next to a NIC is: on its GPU, or the first
/// above it that is in the group.
uint32_t PlaceNear(const std::vector<Rank>& ranks, const Placement& placement, uint32_t nic);

/// The server's switch below a head, and the server's ranks below that; a rank alone needs none,
/// and is itself the head. \return the head's station
uint32_t AddServerBySwitch(StationPlan& plan,
                           StationTree& tree,
                           const std::vector<Rank>& ranks,
                           uint32_t server,
                           Rank head,
                           uint32_t parent);

/// Why the servers' switches cannot do it; empty: they can.
std::string WhyNoServerSwitch(const Placement& placement);

/// Trees of switches between the servers of a group, one a rail.
class Aggregation
{
  public:
    Aggregation(const Placement& placement, const std::vector<Rail>& rails);

    /// Why there are no such trees for these rails, in a sentence; empty: there are.
    const std::string& Problem() const
    {
        return m_problem;
    }

    /// Adds a rail's switches. \return by server, as RanksByServer(): the station above it
    std::vector<uint32_t> AddTo(StationPlan& plan, StationTree& tree, const Rail& rail) const;

    /**
     * Cuts a plan whose lane i uses rail i into chunks of at most `largest` bytes. Chunks are
     * smaller where switches lack the room (Placement::aggregationBytes). Lanes that share a tree
     * share its room. `asked`: the size is the user's, and the plan has a problem if there is no
     * room for it.
     */
    void Cut(StationPlan& plan, uint64_t largest, bool asked) const;

  private:
    std::string m_problem;
    std::vector<Rail> m_rails;
    std::map<uint32_t, AggregationTree> m_trees; ///< pruned, by NIC
    uint64_t m_room;                             ///< 0: any
};

/// Puts a server's ranks, whose head stands at `place`, below station `above` of a tree.
using AddServer = void (*)(StationTree& tree,
                           const std::vector<Rank>& ranks,
                           uint32_t place,
                           uint32_t above);

/// The plan of algorithms that add up inside servers by themselves, and between servers in
/// switches: one tree per channel, with a head for its NIC in each server. Messages are `largest`
/// bytes, or the user's size, and fit into the switches' room (Aggregation::Cut).
StationPlan AggregatedPlan(const Collective& what,
                           const Placement& placement,
                           const AlgorithmOptions& options,
                           uint64_t largest,
                           AddServer addServer);

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_STATION_PLAN_H
