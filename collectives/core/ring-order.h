/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The order in which rings visit ranks, as NCCL lays them over servers.
 *
 *      server 0                server 1                server 2
 *   NIC -> 0 7 6 5 4 3 2 1 -> NIC -> 8 15 14 .. 9 -> NIC -> 16 23 .. 17 -> back to 0   (channel 0)
 *   NIC -> 2 1 0 7 6 5 4 3 -> NIC -> 10 9 8 15 .. -> NIC -> 18 17 .. 19 -> back to 2
 *                                                                       (channel 1 of 4 NICs)
 *
 * Each server is entered and left exactly once, so a channel crosses each NIC once in each
 * direction. A channel enters a server at the GPU next to its NIC and goes round downwards, so that
 * it leaves from the neighbour above, which shares that NIC's PCIe switch when there are more GPUs
 * than NICs; NCCL prints such rings on 8-GPU NVSwitch machines ("Channel 00/02 : 0 7 6 5 4 3 2 1 8
 * 15 ..."). Several channels enter through several NICs. Servers stand in the order of their first
 * rank.
 *
 * NCCL: src/graph/connect.cc (rings joined server by server), src/graph/rings.cc (check after
 * building).
 */
#ifndef COLLECTIVES_CORE_RING_ORDER_H
#define COLLECTIVES_CORE_RING_ORDER_H

#include "collectives/core/schedule.h"

namespace coll
{

class RingOrder
{
  public:
    struct Node
    {
        uint32_t position = 0;
        Rank prev = kNoRank;
        Rank next = kNoRank;
    };

    /// Makes `channels` rings; ChannelCount() gives the number. Throws std::logic_error if a result
    /// is no ring.
    RingOrder(const Placement& placement, uint32_t channels);

    uint32_t Channels() const
    {
        return m_nicOf.size();
    }

    uint32_t Ranks() const
    {
        return m_ranks;
    }

    /// Ranks of server s stand together, servers one after the other: positions from ServerBegin(s)
    /// on.
    uint32_t Servers() const
    {
        return m_serverBegin.size() - 1;
    }

    uint32_t ServerBegin(uint32_t server) const
    {
        return m_serverBegin[server];
    }

    const Node& Of(uint32_t channel, Rank rank) const
    {
        return m_nodes[static_cast<size_t>(channel) * m_ranks + rank];
    }

    Rank At(uint32_t channel, uint32_t position) const
    {
        return m_order[static_cast<size_t>(channel) * m_ranks + position];
    }

    /// A number for the channel such that number mod NICs is the NIC it uses.
    uint32_t ChannelNumber(uint32_t channel) const
    {
        return m_nicOf[channel];
    }

  private:
    void Check(const Placement& placement, uint32_t channel) const;

    uint32_t m_ranks = 0;
    std::vector<uint32_t> m_serverBegin;
    std::vector<uint32_t> m_nicOf;
    std::vector<Rank> m_order; ///< channel by channel
    std::vector<Node> m_nodes; ///< channel by channel
};

} // namespace coll

#endif // COLLECTIVES_CORE_RING_ORDER_H
