/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scale-up-transport.h"

#include "ns3/assert.h"

namespace dltrain
{

ScaleUpTransport::Server::Server(ScaleUpTransport& transport, const topo::ServerSpec& server)
    : model(server.scaleUp, server.gpus),
      events(&transport)
{
}

ScaleUpTransport::ScaleUpTransport(const Places& places, const topo::ServerSpec& server)
    : m_places(places)
{
    for (uint32_t s = 0; s < places.GetNServers(); ++s)
    {
        m_servers.emplace_back(*this, server);
    }
}

ChannelId
ScaleUpTransport::Open(const ChannelName& name, TransportUser& user, uint64_t cookie)
{
    const uint32_t server = m_places.ServerOf(name.from);
    Slots<Channel>& channels = m_servers[server].channels;
    const uint32_t channel = channels.Take();
    channels[channel] = {&user,
                         cookie,
                         name,
                         static_cast<uint16_t>(m_places.GpuOf(name.from)),
                         static_cast<uint16_t>(m_places.GpuOf(name.to))};
    return MakeChannel(server, channel);
}

void
ScaleUpTransport::Close(ChannelId channel)
{
    m_servers[ServerOf(channel)].channels.Give(IndexOf(channel));
}

void
ScaleUpTransport::Post(ChannelId channel, const TransportPost& post)
{
    const int64_t now = ns3::RdmaClock::Now();
    Server& server = m_servers[ServerOf(channel)];
    const uint32_t message = server.messages.Take();
    server.messages[message] =
        {IndexOf(channel), post.immediate, post.bytes, post.id, post.cause, now};
    const Channel& on = server.channels[IndexOf(channel)];
    server.model.Post(on.fromGpu,
                      on.toGpu,
                      rdma::Bytes(post.bytes),
                      rdma::TimePoint(now),
                      message,
                      post.parts);
    if (!server.awake)
    {
        ScheduleWake(ServerOf(channel));
    }
}

void
ScaleUpTransport::ScheduleWake(uint32_t number)
{
    Server& server = m_servers[number];
    const rdma::TimePoint at = server.model.NextWake();
    // One that comes earlier sees to this one too.
    if (at != topo::ScaleUpModel::kNever && (server.wakes.empty() || at.ps < server.wakes.back()))
    {
        server.wakes.push_back(at.ps);
        server.events.Schedule(at.ps, m_places.ContextOfServer(number), {number});
    }
}

void
ScaleUpTransport::OnEvent(const Wake& wake, int64_t now)
{
    Server& server = m_servers[wake.server];
    NS_ASSERT(server.wakes.back() == now);
    server.wakes.pop_back();
    server.awake = true;
    uint64_t index = 0;
    while (server.model.Arrived(rdma::TimePoint(now), index))
    {
        const Message message = server.messages[index];
        server.messages.Give(static_cast<uint32_t>(index));
        server.bytesArrived += message.bytes;
        const Channel on = server.channels[message.channel]; // a copy: its user may open others
        const ChannelId channel = MakeChannel(wake.server, message.channel);
        on.user->OnDelivered(
            {on.name, channel, on.cookie, message.immediate, message.cause, message.posted},
            now);
        // Nothing acknowledges a store: what has arrived is sent.
        on.user->OnSent(channel, on.cookie, message.id, false, now);
    }
    server.awake = false;
    ScheduleWake(wake.server);
}

std::string
ScaleUpTransport::Describe(ChannelId channel) const
{
    const Channel& on = m_servers[ServerOf(channel)].channels[IndexOf(channel)];
    return "server " + std::to_string(ServerOf(channel)) + ", GPU " + std::to_string(on.fromGpu) +
           " to GPU " + std::to_string(on.toGpu);
}

uint64_t
ScaleUpTransport::GetBytesArrived() const
{
    uint64_t bytes = 0;
    for (const Server& server : m_servers)
    {
        bytes += server.bytesArrived;
    }
    return bytes;
}

} // namespace dltrain
