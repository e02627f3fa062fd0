/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scale-up-transport.h"

#include "ns3/assert.h"

namespace dltrain
{

ScaleUpTransport::ScaleUpTransport(const Places& places, const topo::ServerSpec& server)
    : m_places(places),
      m_wakes(places.GetNServers()),
      m_events(this)
{
    for (uint32_t s = 0; s < places.GetNServers(); ++s)
    {
        m_models.emplace_back(server.scaleUp, server.gpus);
    }
}

ChannelId
ScaleUpTransport::Open(const ChannelName& name, TransportUser& user, uint64_t cookie)
{
    const uint32_t channel = m_channels.Take();
    m_channels[channel] = {&user,
                           cookie,
                           name,
                           m_places.ServerOf(name.from),
                           static_cast<uint16_t>(m_places.GpuOf(name.from)),
                           static_cast<uint16_t>(m_places.GpuOf(name.to))};
    return channel;
}

void
ScaleUpTransport::Close(ChannelId channel)
{
    m_channels.Give(channel);
}

void
ScaleUpTransport::Post(ChannelId channel, const TransportPost& post)
{
    const int64_t now = ns3::RdmaClock::Now();
    const uint32_t message = m_messages.Take();
    m_messages[message] =
        {static_cast<uint32_t>(channel), post.immediate, post.bytes, post.id, post.cause, now};
    const Channel& on = m_channels[channel];
    m_models[on.server].Post(on.fromGpu,
                             on.toGpu,
                             rdma::Bytes(post.bytes),
                             rdma::TimePoint(now),
                             message,
                             post.parts);
    if (on.server != m_awake)
    {
        ScheduleWake(on.server);
    }
}

void
ScaleUpTransport::ScheduleWake(uint32_t server)
{
    const rdma::TimePoint at = m_models[server].NextWake();
    std::vector<int64_t>& pending = m_wakes[server];
    // One that comes earlier sees to this one too.
    if (at != topo::ScaleUpModel::kNever && (pending.empty() || at.ps < pending.back()))
    {
        pending.push_back(at.ps);
        m_events.Schedule(at.ps, m_places.ContextOfServer(server), {server});
    }
}

void
ScaleUpTransport::OnEvent(const Wake& wake, int64_t now)
{
    const uint32_t server = wake.server;
    NS_ASSERT(m_wakes[server].back() == now);
    m_wakes[server].pop_back();
    m_awake = server;
    uint64_t index = 0;
    while (m_models[server].Arrived(rdma::TimePoint(now), index))
    {
        const Message message = m_messages[index];
        m_messages.Give(static_cast<uint32_t>(index));
        CountArrived(message.bytes);
        const Channel on = m_channels[message.channel]; // a copy: its user may open others
        on.user->OnDelivered(
            {on.name, message.channel, on.cookie, message.immediate, message.cause, message.posted},
            now);
        // Nothing acknowledges a store: what has arrived is sent.
        on.user->OnSent(message.channel, on.cookie, message.id, false, now);
    }
    m_awake = UINT32_MAX;
    ScheduleWake(server);
}

std::string
ScaleUpTransport::Describe(ChannelId channel) const
{
    const Channel& on = m_channels[channel];
    return "server " + std::to_string(on.server) + ", GPU " + std::to_string(on.fromGpu) +
           " to GPU " + std::to_string(on.toGpu);
}

} // namespace dltrain
