/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-pair-log.h"

#include "ns3/node-windows.h"

#include <utility>

namespace dltrain
{

using reports::QueuePairTable;

static_assert(QueuePairTable::NO_WINDOW == ns3::RdmaCongestionState::UNLIMITED);

QueuePairLog::QueuePairLog(ns3::RdmaFabric& fabric,
                           const std::vector<std::string>& names,
                           const std::vector<std::string>& patterns,
                           FlowOf flowOf)
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

QueuePairLog::Sight
QueuePairLog::Sight::Of(const ns3::RdmaQueuePair& queuePair, int64_t now)
{
    const ns3::RdmaCongestionState& state = queuePair.GetCongestionState();
    return {&queuePair,
            queuePair.GetNic()->GetEndpoint(),
            queuePair.GetPeerEndpoint(),
            queuePair.GetNumber(),
            queuePair.GetPeerNumber(),
            state.rateBps,
            state.windowBytes,
            now};
}

void
QueuePairLog::Begin(const Sight& sender)
{
    if (!m_listens[sender.src])
    {
        return;
    }
    // One that was left out stays so, whoever its peer is.
    const auto at = m_connections.find(sender.queuePair);
    if (at != m_connections.end() &&
        (at->second.index == QueuePairTable::LEFT_OUT || at->second.IsTo(sender)))
    {
        return;
    }
    if (!m_table.Chooses(sender.src, sender.dst))
    {
        m_connections.erase(sender.queuePair); // another peer may be
        return;
    }
    const uint32_t index = m_table.AddQueuePair(sender.src, sender.dst, sender.number);
    m_connections[sender.queuePair] = {sender.dst, sender.peerNumber, index};
    if (index != QueuePairTable::LEFT_OUT)
    {
        Add(sender, index);
    }
}

void
QueuePairLog::OnChange(ns3::RdmaQueuePair* qp, uint64_t, int64_t now)
{
    ns3::NodeWindows::Note<&QueuePairLog::TellChange>(this, Sight::Of(*qp, now));
}

void
QueuePairLog::TellChange(const Sight& changed)
{
    const auto at = m_connections.find(changed.queuePair);
    if (at != m_connections.end() && at->second.index != QueuePairTable::LEFT_OUT &&
        at->second.IsTo(changed))
    {
        Add(changed, at->second.index);
    }
}

void
QueuePairLog::Add(const Sight& queuePair, uint32_t index)
{
    m_table.Add({queuePair.time,
                 m_flowOf(queuePair.src, queuePair.number),
                 queuePair.rateBps,
                 queuePair.windowBytes,
                 index});
}

} // namespace dltrain
