/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/ring-order.h"

#include "collectives/core/placement.h"

#include <stdexcept>
#include <unordered_set>

namespace coll
{

RingOrder::RingOrder(const Placement& placement, uint32_t channels)
    : m_ranks(placement.serverOf.size())
{
    const auto servers = RanksByServer(placement);
    const auto rails = Rails(placement);
    const uint32_t gpus = GpusPerServer(placement);
    const uint32_t nics = NicsPerServer(placement);

    m_serverBegin.push_back(0);
    for (const auto& ranks : servers)
    {
        m_serverBegin.push_back(m_serverBegin.back() + ranks.size());
    }

    m_order.reserve(static_cast<size_t>(channels) * m_ranks);
    m_nodes.resize(static_cast<size_t>(channels) * m_ranks);
    for (uint32_t c = 0; c < channels; c++)
    {
        const uint32_t nic = rails.empty() ? 0 : rails[c % rails.size()];
        m_nicOf.push_back(nic +
                          nics * (rails.empty() ? c : c / static_cast<uint32_t>(rails.size())));

        const uint32_t near = GpuNearNic(nic, gpus, nics);
        for (const auto& ranks : servers)
        {
            // The GPU next to the NIC, or the first above it that is in this group.
            size_t entry = 0;
            while (entry < ranks.size() && placement.gpuOf[ranks[entry]] < near)
            {
                entry++;
            }
            for (size_t i = 0; i < ranks.size(); i++)
            {
                m_order.push_back(ranks[(entry + ranks.size() - i) % ranks.size()]);
            }
        }

        const Rank* ring = m_order.data() + static_cast<size_t>(c) * m_ranks;
        Node* nodes = m_nodes.data() + static_cast<size_t>(c) * m_ranks;
        for (uint32_t i = 0; i < m_ranks; i++)
        {
            nodes[ring[i]] = {i,
                              ring[i == 0 ? m_ranks - 1 : i - 1],
                              ring[i + 1 == m_ranks ? 0 : i + 1]};
        }
        Check(placement, c);
    }
}

void
RingOrder::Check(const Placement& placement, uint32_t channel) const
{
    const std::string ring = "ring of channel " + std::to_string(channel);
    std::vector<bool> seen(m_ranks, false);
    std::unordered_set<uint32_t> entered;
    uint32_t crossings = 0;
    Rank rank = m_ranks > 0 ? At(channel, 0) : 0;
    for (uint32_t i = 0; i < m_ranks; i++)
    {
        const Node& node = Of(channel, rank);
        if (seen[rank] || node.position != i || Of(channel, node.next).prev != rank)
        {
            throw std::logic_error(ring + " is not a ring at rank " + std::to_string(rank));
        }
        seen[rank] = true;
        entered.insert(placement.serverOf[rank]);
        crossings += placement.serverOf[rank] != placement.serverOf[node.next] ? 1 : 0;
        rank = node.next;
    }
    if (m_ranks > 0 && rank != At(channel, 0))
    {
        throw std::logic_error(ring + " does not loop back to its start");
    }
    // Every server is in it, so as many crossings as servers means each is left, and entered, once.
    if (entered.size() != Servers() || crossings != (Servers() > 1 ? Servers() : 0))
    {
        throw std::logic_error(ring + " enters a server more than once");
    }
}

} // namespace coll
