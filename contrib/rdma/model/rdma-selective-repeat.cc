/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-selective-repeat.h"

#include "rdma-port.h"
#include "rdma-switch.h"

#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/nstime.h"

#include <algorithm>

namespace ns3
{

RdmaSelectiveRepeat::RdmaSelectiveRepeat(uint64_t firstSent,
                                         uint64_t sendCap,
                                         uint64_t firstExpected,
                                         uint64_t receiveCap,
                                         const Timeouts& timeouts)
    : m_timeouts(timeouts),
      m_sacked(firstSent, sendCap),
      m_received(firstExpected, receiveCap)
{
}

// Sender -----------------------------------------------------------------------------------------

void
RdmaSelectiveRepeat::OnSack(uint64_t psn)
{
    if (m_sacked.Covers(psn))
    {
        m_sacked.Set(psn);
        m_lostBefore = std::max(m_lostBefore, psn);
    }
}

void
RdmaSelectiveRepeat::OnCumulative(uint64_t acked, int64_t now)
{
    m_sacked.AdvanceTo(acked);
    lastProgress = now;
    if (!m_recovering)
    {
        return;
    }
    if (acked >= m_end)
    {
        m_recovering = false;
    }
    else if (m_afterTimeout)
    {
        m_lostBefore = std::max(m_lostBefore, acked + 1);
    }
}

void
RdmaSelectiveRepeat::Begin(uint64_t acked, uint64_t highest, bool afterTimeout)
{
    m_recovering = true;
    m_afterTimeout = afterTimeout;
    m_cursor = acked;
    m_end = highest;
    m_lostBefore = std::max(m_lostBefore, acked + 1);
}

void
RdmaSelectiveRepeat::OnRetransmitted(uint64_t psn)
{
    m_cursor = std::max(m_cursor, psn + 1);
    m_end = std::max(m_end, psn + 1);
}

uint64_t
RdmaSelectiveRepeat::NextLost(uint64_t highest) const
{
    if (!m_recovering)
    {
        return highest;
    }
    const uint64_t limit = std::min(m_lostBefore, highest);
    const uint64_t lost = m_sacked.FirstClear(std::max(m_cursor, m_sacked.Base()), limit);
    return lost < limit ? lost : highest;
}

// Receiver ---------------------------------------------------------------------------------------

RdmaSelectiveRepeat::Hold
RdmaSelectiveRepeat::Keep(uint64_t psn, uint64_t expected, const RdmaFrame& frame)
{
    m_received.AdvanceTo(expected); // what came in order did not pass here
    if (!m_received.Covers(psn))
    {
        return Hold::NO_ROOM;
    }
    if (m_held.empty())
    {
        size_t size = 1;
        while (size < m_received.Capacity())
        {
            size *= 2;
        }
        m_held.resize(size);
    }
    if (!m_received.Set(psn))
    {
        return Hold::DUPLICATE;
    }
    m_held[psn & (m_held.size() - 1)] = {frame.aux, frame.payload, frame.opcode, frame.flags};
    return Hold::KEPT;
}

uint64_t
RdmaSelectiveRepeat::Release()
{
    const uint64_t first = m_received.Base();
    const uint64_t end = m_received.FirstClear(first, first + m_received.Capacity());
    m_received.AdvanceTo(end);
    return end;
}

// BDP cap ----------------------------------------------------------------------------------------

uint64_t
RdmaSelectiveRepeat::ComputeBdpCap(RdmaPort* port, uint32_t mtu)
{
    const uint32_t fullWire = RdmaFrame::DATA_OVERHEAD_BYTES + mtu;
    const uint32_t largestWire = fullWire + rdma::kRethBytes + rdma::kImmDtBytes;
    const uint32_t ackWire = RdmaFrame::DATA_OVERHEAD_BYTES + rdma::kAethBytes;
    const auto pipeline = [](const Ptr<Node>& node) {
        const Ptr<RdmaSwitch> device = node->GetObject<RdmaSwitch>();
        if (!device)
        {
            return int64_t{0};
        }
        TimeValue latency;
        device->GetAttribute("PipelineLatency", latency);
        return latency.Get().GetPicoSeconds();
    };
    const auto roundTrip = [&](RdmaPort* out) {
        RdmaPort* back = out->GetPeer();
        return out->GetSerialization(largestWire) + out->GetDelayPs() + pipeline(back->GetNode()) +
               back->GetSerialization(ackWire) + back->GetDelayPs() + pipeline(out->GetNode());
    };

    // Breadth first. A node's time is final when all nodes nearer by one link have been looked at.
    constexpr int64_t UNSEEN = -1;
    std::vector<int64_t> time(NodeList::GetNNodes(), UNSEEN);
    std::vector<bool> settled(time.size());
    std::vector<Ptr<Node>> level{port->GetNode()};
    time[level[0]->GetId()] = 0;
    int64_t longest = 0;
    for (bool first = true; !level.empty(); first = false)
    {
        std::vector<Ptr<Node>> next;
        for (const auto& node : level)
        {
            settled[node->GetId()] = true;
        }
        for (const auto& node : level)
        {
            const bool isSwitch = node->GetObject<RdmaSwitch>() != nullptr;
            if (!first && !isSwitch)
            {
                longest = std::max(longest, time[node->GetId()]);
                continue; // hosts do not forward
            }
            for (uint32_t i = 0; i < node->GetNDevices(); ++i)
            {
                const Ptr<RdmaPort> out = DynamicCast<RdmaPort>(node->GetDevice(i));
                if (!out || !out->GetPeer() || (first && PeekPointer(out) != port))
                {
                    continue;
                }
                const Ptr<Node> to = out->GetPeer()->GetNode();
                int64_t& known = time[to->GetId()];
                if (settled[to->GetId()])
                {
                    continue;
                }
                if (known == UNSEEN)
                {
                    next.push_back(to);
                }
                known = std::max(known, time[node->GetId()] + roundTrip(PeekPointer(out)));
            }
        }
        level.swap(next);
    }
    const int64_t packet = port->GetSerialization(fullWire);
    return std::max<int64_t>(1, (longest + packet - 1) / packet);
}

} // namespace ns3
