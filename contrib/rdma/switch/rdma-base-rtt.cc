/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-base-rtt.h"

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
#include <vector>

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
          m_ackWire(sizes.ackWire)
    {
        const uint32_t nodes = NodeList::GetNNodes();
        m_channels = ChannelList::GetNChannels();
        m_longest.assign(nodes, UNKNOWN);
        for (uint32_t i = 0; i < nodes; ++i)
        {
            const Ptr<RdmaSwitchBase> device = NodeList::GetNode(i)->GetObject<RdmaSwitchBase>();
            m_pipeline.push_back(device ? device->GetLatencyPs() : NO_SWITCH);
        }
        for (uint32_t i = 0; i < nodes; ++i)
        {
            m_first.push_back(static_cast<uint32_t>(m_links.size()));
            const Ptr<Node> node = NodeList::GetNode(i);
            for (uint32_t d = 0; IsSwitch(i) && d < node->GetNDevices();
                 ++d) // hosts do not forward
            {
                const Ptr<RdmaPort> out = DynamicCast<RdmaPort>(node->GetDevice(d));
                if (out && out->GetPeer())
                {
                    m_links.push_back(
                        {out->GetPeer()->GetNode()->GetId(), OverLink(PeekPointer(out))});
                }
            }
        }
        m_first.push_back(static_cast<uint32_t>(m_links.size()));
    }

    /// \return whether nodes or cables have come since
    bool IsOld() const
    {
        return m_pipeline.size() != NodeList::GetNNodes() ||
               m_channels != ChannelList::GetNChannels();
    }

    bool IsSwitch(uint32_t node) const
    {
        return m_pipeline[node] != NO_SWITCH;
    }

    /// \return over the link out of a port: serializations, delays, and pipelines at its ends, ps
    int64_t OverLink(RdmaPort* out) const
    {
        RdmaPort* back = out->GetPeer();
        return out->GetSerialization(m_dataWire) + out->GetDelayPs() +
               back->GetSerialization(m_ackWire) + back->GetDelayPs() +
               std::max<int64_t>(m_pipeline[back->GetNode()->GetId()], 0) +
               std::max<int64_t>(m_pipeline[out->GetNode()->GetId()], 0);
    }

    /// \return from a switch to the farthest host, along the slowest of the paths with the fewest
    /// links, ps
    int64_t ToFarthestHost(uint32_t from)
    {
        if (m_longest[from] == UNKNOWN)
        {
            m_longest[from] = Find(from);
        }
        return m_longest[from];
    }

  private:
    static constexpr int64_t UNKNOWN = -2;
    static constexpr int64_t NO_SWITCH = -1;

    struct Link
    {
        uint32_t to;
        int64_t time;
    };

    int64_t Find(uint32_t from) const
    {
        // Breadth first: a node's time is final once all nodes nearer by a link have been looked
        // at.
        std::vector<int64_t> time(m_pipeline.size());
        std::vector<uint32_t> depthOf(m_pipeline.size()); // 0: not seen
        std::vector<uint32_t> level{from};
        std::vector<uint32_t> next;
        depthOf[from] = 1;
        int64_t longest = 0;
        for (uint32_t depth = 2; !level.empty(); ++depth)
        {
            next.clear();
            for (const uint32_t node : level)
            {
                longest = IsSwitch(node) ? longest : std::max(longest, time[node]);
                for (uint32_t i = m_first[node]; i < m_first[node + 1]; ++i)
                {
                    const Link& link = m_links[i];
                    if (!depthOf[link.to])
                    {
                        depthOf[link.to] = depth;
                        next.push_back(link.to);
                    }
                    if (depthOf[link.to] == depth)
                    {
                        time[link.to] = std::max(time[link.to], time[node] + link.time);
                    }
                }
            }
            level.swap(next);
        }
        return longest;
    }

    uint32_t m_channels{0};
    uint32_t m_dataWire{0};
    uint32_t m_ackWire{0};
    std::vector<int64_t> m_pipeline; //!< by node, ps
    std::vector<uint32_t> m_first;   //!< of a node's links, in m_links; one more at the end
    std::vector<Link> m_links;       //!< out of switches
    std::vector<int64_t> m_longest;  //!< by node: ToFarthestHost
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
        return port->GetSerialization(sizes.dataOverhead + mtu);
    }
    // Queue pairs are opened by events, which several threads may run.
    static std::mutex one;
    const std::lock_guard<std::mutex> lock(one);
    IdlePaths& paths = SimulationSingleton<KnownPaths>::Get()->byMtu[mtu];
    if (paths.IsOld())
    {
        paths = IdlePaths(mtu, sizes);
    }
    const uint32_t next = port->GetPeer()->GetNode()->GetId();
    return paths.OverLink(port) + (paths.IsSwitch(next) ? paths.ToFarthestHost(next) : 0);
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
