/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-pair-log.h"

#include <utility>

namespace dltrain
{

using results::QueuePairTable;

static_assert(QueuePairTable::NO_WINDOW == ns3::RdmaCongestionState::UNLIMITED);

QueuePairLog::QueuePairLog(ns3::RdmaFabric& fabric,
                           const std::vector<std::string>& names,
                           const std::vector<std::string>& patterns,
                           std::function<uint64_t(const ns3::RdmaQueuePair&)> flowOf)
    : m_table(names, patterns),
      m_flowOf(std::move(flowOf)),
      m_listens(names.size())
{
    for (uint32_t e = 0; e < names.size(); ++e)
    {
        m_listens[e] = m_table.ChoosesFrom(e);
        if (m_listens[e])
        {
            for (const char* source : {"Rate", "Window"})
            {
                fabric.GetNic(e)->TraceConnectWithoutContext(
                    source,
                    ns3::MakeCallback(&QueuePairLog::OnChange, this));
            }
        }
    }
}

void
QueuePairLog::Begin(ns3::RdmaQueuePair* sender, int64_t now)
{
    const uint32_t src = sender->GetNic()->GetEndpoint();
    const uint32_t dst = sender->GetPeerEndpoint();
    if (!m_listens[src])
    {
        return;
    }
    // One that was left out stays so, whoever its peer is.
    const auto at = m_connections.find(sender);
    if (at != m_connections.end() &&
        (at->second.index == QueuePairTable::LEFT_OUT || at->second.IsTo(*sender)))
    {
        return;
    }
    if (!m_table.Chooses(src, dst))
    {
        m_connections.erase(sender); // another peer may be
        return;
    }
    const uint32_t index = m_table.AddQueuePair(src, dst, sender->GetNumber());
    m_connections[sender] = {dst, sender->GetPeerNumber(), index};
    if (index != QueuePairTable::LEFT_OUT)
    {
        Add(*sender, index, now);
    }
}

void
QueuePairLog::OnChange(ns3::RdmaQueuePair* qp, uint64_t, int64_t now)
{
    const auto at = m_connections.find(qp);
    if (at != m_connections.end() && at->second.index != QueuePairTable::LEFT_OUT &&
        at->second.IsTo(*qp))
    {
        Add(*qp, at->second.index, now);
    }
}

void
QueuePairLog::Add(const ns3::RdmaQueuePair& qp, uint32_t index, int64_t now)
{
    const ns3::RdmaCongestionState& state = qp.GetCongestionState();
    m_table.Add({now, m_flowOf(qp), state.rateBps, state.windowBytes, index});
}

} // namespace dltrain
