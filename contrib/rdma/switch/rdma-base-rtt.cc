/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-base-rtt.h"

#include "contrib/rdma/core/round-trips.h"
#include "rdma-switch-base.h"

#include "ns3/channel-list.h"
#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/rdma-port.h"
#include "ns3/simulation-singleton.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace ns3
{

namespace
{

/// Round-trip times on idle paths, of the largest packets of an MTU there and their ACKs back: all
/// nodes and links, read once, and what was asked for of a switch.
class IdlePaths
{
  public:
    IdlePaths() = default;

    IdlePaths(uint32_t mtu, const rdma::FrameSizes& sizes)
        : m_dataWire(sizes.DataWire(rdma::RoceOpcode::kWriteOnlyWithImmediate, mtu)),
          m_ackWire(sizes.ackWire),
          m_channels(ChannelList::GetNChannels())
    {
        for (uint32_t i = 0; i < NodeList::GetNNodes(); ++i)
        {
            const Ptr<Node> node = NodeList::GetNode(i);
            const Ptr<RdmaSwitchBase> device = node->GetObject<RdmaSwitchBase>();
            m_graph.AddNode(device != nullptr, device && GetHeaders(*node) > 0);
            for (uint32_t d = 0; device && d < node->GetNDevices(); ++d) // hosts do not forward
            {
                const Ptr<RdmaPort> out = DynamicCast<RdmaPort>(node->GetDevice(d));
                if (out && out->GetPeer())
                {
                    m_graph.AddLink(LinkOf(PeekPointer(out)));
                }
            }
        }
    }

    /// \return whether nodes or cables have come since
    bool IsOld() const
    {
        return m_graph.GetNNodes() != NodeList::GetNNodes() ||
               m_channels != ChannelList::GetNChannels();
    }

    /// \return from a host, out of a port, to the farthest host, ps
    int64_t ToFarthestHost(RdmaPort* out)
    {
        return m_graph.ToFarthestHost(LinkOf(out));
    }

  private:
    static int64_t GetPipeline(const Node& node)
    {
        const Ptr<RdmaSwitchBase> device = node.GetObject<RdmaSwitchBase>();
        return device ? device->GetLatencyPs() : 0;
    }

    /// \return bytes that an Ethernet switch which cuts through has to have; 0: it stores, or is
    /// InfiniBand's, whose laws go by what is stored (assumed)
    static uint32_t GetHeaders(const Node& node)
    {
        const Ptr<RdmaSwitchBase> device = node.GetObject<RdmaSwitchBase>();
        const bool passes = device && device->IsCutThrough() && device->GetNPorts() > 0;
        return passes ? device->GetCutThroughBytes(device->GetPort(0)->GetLineOverhead()) : 0;
    }

    rdma::RoundTripLink LinkOf(RdmaPort* out) const
    {
        RdmaPort* back = out->GetPeer();
        const Node& near = *out->GetNode();
        const Node& far = *back->GetNode();
        rdma::RoundTripLink link;
        link.to = far.GetId();
        link.rate = rdma::BitRate(out->GetRate());
        link.data = out->GetSerialization(m_dataWire);
        link.ack = back->GetSerialization(m_ackWire);
        link.rest = out->GetDelayPs() + back->GetDelayPs() + GetPipeline(near) + GetPipeline(far);
        const uint32_t headers = std::max(GetHeaders(near), GetHeaders(far));
        link.headers = headers ? out->GetSerialization(headers) : 0;
        return link;
    }

    uint32_t m_dataWire{0};
    uint32_t m_ackWire{0};
    uint32_t m_channels{0};
    rdma::RoundTripGraph m_graph;
};

/// Results of a simulation by MTU: what the first NIC has computed, for the others.
struct KnownPaths
{
    std::map<uint32_t, IdlePaths> byMtu;
};

} // namespace

int64_t
RdmaBaseRtt::Compute(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes)
{
    if (!port->GetPeer())
    {
        return port->GetSerialization(sizes.FullWire(mtu));
    }
    // Queue pairs are opened by events, which several threads may run.
    static std::mutex one;
    const std::lock_guard<std::mutex> lock(one);
    IdlePaths& paths = SimulationSingleton<KnownPaths>::Get()->byMtu[mtu];
    if (paths.IsOld())
    {
        paths = IdlePaths(mtu, sizes);
    }
    return paths.ToFarthestHost(port);
}

uint64_t
RdmaBaseRtt::ComputeBdpCap(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes)
{
    if (!port->GetPeer())
    {
        return 1;
    }
    // 0 where times are cut to units that are longer (RdmaPort::TransmitTimeUnit).
    const int64_t packet = std::max<int64_t>(1, port->GetSerialization(sizes.FullWire(mtu)));
    return static_cast<uint64_t>((Compute(port, mtu, sizes) + packet - 1) / packet);
}

} // namespace ns3
