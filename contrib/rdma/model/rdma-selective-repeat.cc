/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-selective-repeat.h"

#include "rdma-port.h"
#include "rdma-switch-base.h"

#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/nstime.h"

#include <algorithm>
#include <map>

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
RdmaSelectiveRepeat::SendFrom(uint64_t first)
{
    m_sacked = rdma::ReceiveBitmap(first, m_sacked.Capacity());
}

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
RdmaSelectiveRepeat::OnLostBefore(uint64_t psn)
{
    if (m_sacked.Covers(psn))
    {
        m_lostBefore = std::max(m_lostBefore, psn);
    }
}

void
RdmaSelectiveRepeat::Mark(uint64_t psn)
{
    if (m_sacked.Covers(psn))
    {
        m_sacked.Set(psn);
    }
}

void
RdmaSelectiveRepeat::LoseAll(uint64_t from, uint64_t highest)
{
    rdma::ReceiveBitmap before(m_sacked.Base(), m_sacked.Capacity());
    for (uint64_t psn = m_sacked.Base(); psn < from; ++psn)
    {
        if (m_sacked.Test(psn))
        {
            before.Set(psn);
        }
    }
    m_sacked = before;
    Begin(from, highest, false);
    m_lostBefore = std::max(m_lostBefore, highest);
}

uint64_t
RdmaSelectiveRepeat::NextArrived(uint64_t from, uint64_t limit) const
{
    while (from < limit && !m_sacked.Test(from))
    {
        ++from;
    }
    return from;
}

uint64_t
RdmaSelectiveRepeat::NextMissing(uint64_t from, uint64_t limit) const
{
    return m_sacked.FirstClear(from, limit);
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
RdmaSelectiveRepeat::Keep(uint64_t psn, uint64_t expected, const RdmaFrame& frame, uint32_t count)
{
    m_received.AdvanceTo(expected); // what came in order did not pass here
    if (!m_received.Covers(psn) || !m_received.Covers(psn + count - 1))
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
    Held& first = m_held[psn & (m_held.size() - 1)];
    const bool fresh = m_received.Set(psn);
    if (fresh)
    {
        first = {frame.aux, frame.payload, frame.opcode, frame.flags};
    }
    if (frame.opcode == RdmaOpcode::READ_REQUEST)
    {
        // A repeated READ may ask for more than the one that it repeats.
        first.immediate = fresh ? frame.dmaLength : std::max(first.immediate, frame.dmaLength);
        for (uint64_t more = psn + 1; more < psn + count; ++more)
        {
            if (m_received.Set(more))
            {
                m_held[more & (m_held.size() - 1)] = {0, 0, RdmaOpcode::WRITE_MIDDLE, 0};
            }
        }
    }
    return fresh ? Hold::KEPT : Hold::DUPLICATE;
}

uint64_t
RdmaSelectiveRepeat::Release(uint64_t expected)
{
    m_received.AdvanceTo(expected);
    const uint64_t end = m_received.FirstClear(expected, expected + m_received.Capacity());
    m_received.AdvanceTo(end);
    return end;
}

void
RdmaSelectiveRepeat::Forget(uint64_t psn)
{
    m_received = rdma::ReceiveBitmap(psn, m_received.Capacity());
}

// BDP cap ----------------------------------------------------------------------------------------

namespace
{

/// Round-trip times on idle paths, of the largest packets of an MTU there and their ACKs back.
class IdlePaths
{
  public:
    IdlePaths(uint32_t mtu, const rdma::FrameSizes& sizes)
        : m_dataWire(sizes.DataWire(rdma::RoceOpcode::kWriteOnlyWithImmediate, mtu)),
          m_ackWire(sizes.ackWire),
          m_pipeline(NodeList::GetNNodes(), UNKNOWN)
    {
    }

    bool IsSwitch(const Ptr<Node>& node)
    {
        return Pipeline(node) != NO_SWITCH;
    }

    /// \return over the link out of a port: serializations, delays, and pipelines at its ends, ps
    int64_t OverLink(RdmaPort* out)
    {
        RdmaPort* back = out->GetPeer();
        return out->GetSerialization(m_dataWire) + out->GetDelayPs() +
               back->GetSerialization(m_ackWire) + back->GetDelayPs() +
               std::max<int64_t>(Pipeline(back->GetNode()), 0) +
               std::max<int64_t>(Pipeline(out->GetNode()), 0);
    }

    /// \return from a switch to the farthest host, along the slowest of the paths with the fewest
    /// links, ps
    int64_t ToFarthestHost(const Ptr<Node>& from)
    {
        // Breadth first: a node's time is final once all nodes nearer by a link have been looked
        // at.
        std::vector<int64_t> time(m_pipeline.size());
        std::vector<uint32_t> depthOf(m_pipeline.size()); // 0: not seen
        std::vector<Ptr<Node>> level{from};
        depthOf[from->GetId()] = 1;
        int64_t longest = 0;
        for (uint32_t depth = 2; !level.empty(); ++depth)
        {
            std::vector<Ptr<Node>> next;
            for (const auto& node : level)
            {
                if (!IsSwitch(node)) // hosts do not forward
                {
                    longest = std::max(longest, time[node->GetId()]);
                    continue;
                }
                for (uint32_t i = 0; i < node->GetNDevices(); ++i)
                {
                    const Ptr<RdmaPort> out = DynamicCast<RdmaPort>(node->GetDevice(i));
                    if (!out || !out->GetPeer())
                    {
                        continue;
                    }
                    const Ptr<Node> to = out->GetPeer()->GetNode();
                    const uint32_t id = to->GetId();
                    if (!depthOf[id])
                    {
                        depthOf[id] = depth;
                        next.push_back(to);
                    }
                    if (depthOf[id] == depth)
                    {
                        time[id] =
                            std::max(time[id], time[node->GetId()] + OverLink(PeekPointer(out)));
                    }
                }
            }
            level.swap(next);
        }
        return longest;
    }

  private:
    static constexpr int64_t UNKNOWN = -2;
    static constexpr int64_t NO_SWITCH = -1;

    int64_t Pipeline(const Ptr<Node>& node)
    {
        int64_t& pipeline = m_pipeline[node->GetId()];
        if (pipeline == UNKNOWN)
        {
            pipeline = NO_SWITCH;
            if (const Ptr<RdmaSwitchBase> device = node->GetObject<RdmaSwitchBase>())
            {
                pipeline = device->GetLatencyPs();
            }
        }
        return pipeline;
    }

    uint32_t m_dataWire;
    uint32_t m_ackWire;
    std::vector<int64_t> m_pipeline; //!< by node, ps
};

/// Hangs off a switch's node: what the first NIC behind it has found out, for the others.
class FarthestHost : public Object
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::RdmaFarthestHost").SetParent<Object>().SetGroupName("Rdma");
        return tid;
    }

    std::map<uint32_t, int64_t> psByMtu;
};

} // namespace

int64_t
RdmaSelectiveRepeat::ComputeBaseRtt(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes)
{
    if (!port->GetPeer())
    {
        return port->GetSerialization(sizes.dataOverhead + mtu);
    }
    IdlePaths paths(mtu, sizes);
    int64_t roundTrip = paths.OverLink(port);
    const Ptr<Node> next = port->GetPeer()->GetNode();
    if (paths.IsSwitch(next))
    {
        Ptr<FarthestHost> farthest = next->GetObject<FarthestHost>();
        if (!farthest)
        {
            farthest = CreateObject<FarthestHost>();
            next->AggregateObject(farthest);
        }
        const auto known = farthest->psByMtu.find(mtu);
        roundTrip += known != farthest->psByMtu.end()
                         ? known->second
                         : farthest->psByMtu[mtu] = paths.ToFarthestHost(next);
    }
    return roundTrip;
}

uint64_t
RdmaSelectiveRepeat::ComputeBdpCap(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes)
{
    if (!port->GetPeer())
    {
        return 1;
    }
    // 0 where times are cut to units that are longer (RdmaPort::TransmitTimeUnit).
    const int64_t packet = std::max<int64_t>(1, port->GetSerialization(sizes.dataOverhead + mtu));
    return static_cast<uint64_t>((ComputeBaseRtt(port, mtu, sizes) + packet - 1) / packet);
}

} // namespace ns3
