/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_ORDINARY_CHANNELS_H
#define DLTRAIN_ORDINARY_CHANNELS_H

#include "contrib/dltrain/base/slots.h"
#include "contrib/dltrain/base/transport.h"
#include "contrib/rdma/core/ideal-completion.h"
#include "reports/tables/flow-table.h"
#include "scenarios/job/protocol.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ordinary-stack.h"
#include "ns3/rdma-fabric.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace dltrain
{

/// \return the DSCP of packets of this priority: its class selector (RFC 2474, 4.2.2), which
/// RdmaPackets::DscpPriorities is told of
inline uint8_t
OrdinaryDscp(uint8_t priority)
{
    return static_cast<uint8_t>(priority << 3);
}

/// \return an address of UDP whose packets have this priority (TCP: OrdinaryStack::SetDscpOfPort)
inline ns3::InetSocketAddress
OrdinaryAddress(const ns3::OrdinaryStack& stack, uint32_t endpoint, uint16_t port, uint8_t priority)
{
    ns3::InetSocketAddress address(stack.GetAddress(endpoint), port);
    address.SetTos(static_cast<uint8_t>(OrdinaryDscp(priority) << 2));
    return address;
}

/// \return wire bytes of an IP packet
inline rdma::Bytes
OrdinaryWire(uint32_t ipBytes)
{
    const rdma::Bytes frame(ipBytes + rdma::kEthernetHeaderBytes + rdma::kFcsBytes);
    return rdma::WireBytes(std::max(frame, rdma::Bytes(rdma::kMinimumFrameBytes)));
}

/// \param acknowledged whether the message ends with an ACK of its last packet \return a message's
/// packets, each as large as may be but for the last one
inline std::vector<rdma::FrameRun>
OrdinaryRuns(const scenario::ProtocolSpec& protocol, uint64_t bytes, bool acknowledged)
{
    const uint32_t headers = protocol.HeaderBytes();
    const uint64_t payload = protocol.packetMtu - headers;
    const uint64_t full = bytes == 0 ? 0 : (bytes - 1) / payload;
    std::vector<rdma::FrameRun> runs;
    if (full > 0)
    {
        runs.push_back({OrdinaryWire(protocol.packetMtu), full, rdma::Bytes(0)});
    }
    const auto last = static_cast<uint32_t>(bytes - full * payload);
    runs.push_back({OrdinaryWire(last + headers), 1, rdma::Bytes(0)});
    if (acknowledged)
    {
        rdma::AddAcks(runs, OrdinaryWire(headers), false);
    }
    return runs;
}

/// \param atSender whether a message ends with the sender's acknowledgement \return of a message of
/// ns-3's sockets that has arrived. Its ideal is of back-to-back packets on an idle network,
/// without handshake and window.
inline reports::FlowRecord
OrdinaryRecord(ns3::RdmaFabric& fabric,
               const scenario::ProtocolSpec& protocol,
               const Places& places,
               const ChannelName& name,
               uint64_t bytes,
               bool atSender,
               int64_t now)
{
    reports::FlowRecord record;
    record.bytes = bytes;
    record.end = now;
    record.src = places.FromOf(name);
    record.dst = places.ToOf(name);
    record.ideal = fabric.GetIdealCompletion(record.src,
                                             record.dst,
                                             OrdinaryRuns(protocol, bytes, atSender),
                                             atSender);
    if (places.IsGpu(name.from))
    {
        record.fromGpu = name.from;
    }
    if (places.IsGpu(name.to))
    {
        record.toGpu = name.to;
    }
    return record;
}

/**
 * Channels over ns-3's sockets. The connections of closed ones stay, and serve the next channel
 * between the same two NICs and of the same priority.
 *
 * \tparam Connection has `from`, `to` (endpoints) and `priority`; kept by whoever makes them
 */
template <class Connection>
class OrdinaryChannels
{
  public:
    struct Channel
    {
        ChannelName name;
        TransportUser* user = nullptr;
        uint64_t cookie = 0;
        Connection* connection = nullptr;
    };

    /// \param isOver of a connection that has served a channel: it serves no other one
    /// \param connect \return a new connection of (from, to, priority)
    template <class IsOver, class Connect>
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   const Places& places,
                   IsOver isOver,
                   Connect connect)
    {
        const uint32_t number = m_channels.Take();
        Channel& channel = m_channels[number];
        channel.name = name;
        channel.user = &user;
        channel.cookie = cookie;
        const uint32_t from = places.FromOf(name);
        const uint32_t to = places.ToOf(name);
        std::vector<Connection*>& idle = m_idle[{from, to, name.priority}];
        while (!idle.empty() && isOver(*idle.back()))
        {
            idle.pop_back();
        }
        if (idle.empty())
        {
            channel.connection = &connect(from, to, name.priority);
        }
        else
        {
            channel.connection = idle.back();
            idle.pop_back();
        }
        return number;
    }

    void Close(ChannelId channel)
    {
        Connection* of = m_channels[channel].connection;
        m_idle[{of->from, of->to, of->priority}].push_back(of);
        m_channels.Give(static_cast<uint32_t>(channel));
    }

    /// \param endpoints their names \return "server-0->server-1"
    std::string Describe(ChannelId channel, const std::vector<std::string>& endpoints) const
    {
        const Connection& of = *m_channels[channel].connection;
        return endpoints[of.from] + "->" + endpoints[of.to];
    }

    const Channel& operator[](ChannelId channel) const
    {
        return m_channels[channel];
    }

  private:
    using Key = std::tuple<uint32_t, uint32_t, uint8_t>; ///< from, to, priority

    Slots<Channel, std::deque<Channel>> m_channels;
    std::map<Key, std::vector<Connection*>> m_idle;
};

} // namespace dltrain

#endif // DLTRAIN_ORDINARY_CHANNELS_H
