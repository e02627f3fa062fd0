/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-base-rtt.h"

#include "rdma-port.h"
#include "rdma-switch-base.h"

#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/nstime.h"

#include <algorithm>
#include <map>
#include <vector>

namespace ns3
{

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
RdmaBaseRtt::Compute(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes)
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
RdmaBaseRtt::ComputeBdpCap(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes)
{
    if (!port->GetPeer())
    {
        return 1;
    }
    // 0 where times are cut to units that are longer (RdmaPort::TransmitTimeUnit).
    const int64_t packet = std::max<int64_t>(1, port->GetSerialization(sizes.dataOverhead + mtu));
    return static_cast<uint64_t>((Compute(port, mtu, sizes) + packet - 1) / packet);
}

} // namespace ns3
