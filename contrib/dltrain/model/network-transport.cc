/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network-transport.h"

#include "contrib/rdma/core/flow-hash.h"
#include "trace-collector.h"

#include <tuple>

namespace dltrain
{

namespace
{

NetworkKind g_kind("packet", [](const NetworkParts& parts) -> std::unique_ptr<Transport> {
    return std::make_unique<NetworkTransport>(parts);
});

std::size_t
RestingPlace(uint32_t endpoint, uint8_t priority)
{
    return ns3::RdmaPort::PRIORITIES * static_cast<std::size_t>(endpoint) + priority;
}

} // namespace

NetworkTransport::NetworkTransport(const NetworkParts& parts)
    : m_fabric(parts.fabric),
      m_collector(parts.collector),
      m_places(parts.places)
{
}

ns3::RdmaQueuePair*
NetworkTransport::TakeEnd(uint32_t endpoint, uint8_t priority, int64_t now)
{
    std::deque<Resting>& resting = m_resting[RestingPlace(endpoint, priority)];
    if (resting.empty() || resting.front().since + REUSE_AFTER_PS > now)
    {
        ++m_queuePairs;
        return m_fabric.GetNic(endpoint)->CreateQueuePair(priority);
    }
    ns3::RdmaQueuePair* qp = resting.front().queuePair;
    resting.pop_front();
    qp->Modify(ns3::RdmaQueuePair::State::RESET);
    return qp;
}

ChannelId
NetworkTransport::Open(const ChannelName& name, TransportUser& user, uint64_t cookie)
{
    // Queue pairs are numbered as they are made: the sender's before the receiver's.
    const uint32_t from = m_places.EndpointOf(name.from, name.rail);
    const uint32_t to = m_places.EndpointOf(name.to, name.rail);
    Channel channel{nullptr, nullptr, &user, cookie, name};
    if (m_resting.empty())
    {
        m_queuePairs += 2;
        std::tie(channel.sender, channel.receiver) =
            m_fabric.ConnectQueuePairs(from, to, name.priority);
    }
    else
    {
        const int64_t now = ns3::RdmaClock::Now();
        channel.sender = TakeEnd(from, name.priority, now);
        channel.receiver = TakeEnd(to, name.priority, now);
        ns3::RdmaNic::Connect(channel.sender, channel.receiver);
    }
    if (m_freeChannels.empty())
    {
        m_freeChannels.push_back(static_cast<uint32_t>(m_channels.size()));
        m_channels.emplace_back();
    }
    const uint32_t number = m_freeChannels.back();
    m_freeChannels.pop_back();
    m_channels[number] = channel;
    for (ns3::RdmaQueuePair* end : {channel.sender, channel.receiver})
    {
        if (end)
        {
            end->cookie = number;
            end->SetUser(this);
        }
    }
    if (channel.sender && m_places.AreGpus())
    {
        m_collector.NameGpus(*channel.sender, name.from, name.to);
    }
    return number;
}

void
NetworkTransport::Post(ChannelId channel, const TransportPost& post)
{
    ns3::RdmaSendRequest request;
    request.id = post.id;
    request.operation = post.operation;
    request.bytes = post.bytes;
    request.hasImmediate = post.hasImmediate;
    request.immediate = post.immediate;
    m_channels[channel].sender->Post(request);
}

void
NetworkTransport::Close(ChannelId channel)
{
    if (m_resting.empty())
    {
        m_resting.resize(RestingPlace(m_fabric.GetNEndpoints(), 0));
    }
    const int64_t now = ns3::RdmaClock::Now();
    for (ns3::RdmaQueuePair* end : {m_channels[channel].sender, m_channels[channel].receiver})
    {
        m_resting[RestingPlace(end->GetNic()->GetEndpoint(), end->GetPriority())].push_back(
            {end, now});
    }
    m_channels[channel] = {};
    m_freeChannels.push_back(channel);
}

void
NetworkTransport::Expect(const ChannelName& name,
                         TransportUser& user,
                         uint64_t cookie,
                         const TransportPost& post,
                         int64_t at)
{
    const auto [known, isNew] =
        m_expected.try_emplace(std::make_tuple(name.from, name.to, name.lane, name.priority), 0);
    if (isNew)
    {
        known->second = Open(name, user, cookie);
    }
    const Channel& on = m_channels[known->second];
    if (on.receiver && post.operation != ns3::RdmaOperation::READ)
    {
        m_collector.ExpectMessage(*on.receiver, at, post.id, post.operation);
    }
}

uint16_t
NetworkTransport::GetSourcePort(ChannelId channel) const
{
    const Channel& on = m_channels[channel];
    return on.sender ? rdma::RoceSourcePort(on.sender->GetNumber(), on.sender->GetPeerNumber())
           : on.receiver
               ? rdma::RoceSourcePort(on.receiver->GetPeerNumber(), on.receiver->GetNumber())
               : 0;
}

std::string
NetworkTransport::Describe(ChannelId channel) const
{
    const Channel& on = m_channels[channel];
    if (!on.sender)
    {
        return "a queue pair of another process";
    }
    const std::vector<std::string>& names = m_collector.GetEndpointNames();
    return names[on.sender->GetNic()->GetEndpoint()] + "->" + names[on.sender->GetPeerEndpoint()] +
           " qp " + std::to_string(on.sender->GetNumber());
}

uint64_t
NetworkTransport::GetBytesArrived() const
{
    uint64_t bytes = 0;
    for (const Channel& channel : m_channels)
    {
        if (channel.receiver)
        {
            bytes += channel.receiver->GetBytesReceived() + channel.receiver->GetBytesRead();
        }
    }
    return bytes;
}

void
NetworkTransport::OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now)
{
    const auto number = static_cast<uint32_t>(qp->cookie);
    const Channel& on = m_channels[number];
    on.user->OnDelivered({on.name, number, on.cookie, message.immediate}, now);
}

void
NetworkTransport::OnCompletion(ns3::RdmaQueuePair* qp,
                               const ns3::RdmaWorkRequest& request,
                               ns3::RdmaStatus status,
                               int64_t now)
{
    const bool failed = status != ns3::RdmaStatus::SUCCESS;
    const auto number = static_cast<uint32_t>(qp->cookie);
    TransportUser* user = m_channels[number].user;
    const uint64_t cookie = m_channels[number].cookie;
    const ChannelName name = m_channels[number].name;
    const uint64_t id = request.id;
    if (request.operation == ns3::RdmaOperation::READ && !failed)
    {
        user->OnDelivered({name, number, cookie, 0}, now); // its data is here, and nobody else is told
    }
    user->OnSent(number, cookie, id, failed, now);
}

} // namespace dltrain
