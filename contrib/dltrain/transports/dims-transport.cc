/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "dims-transport.h"

#include <algorithm>

namespace dltrain
{

namespace
{

NetworkKind g_dimsKind("dims", [](const NetworkParts& parts) -> std::unique_ptr<Transport> {
    return std::make_unique<DimsTransport>(parts);
});

} // namespace

DimsTransport::DimsTransport(const NetworkParts& parts)
    : FormulaTransport(parts),
      m_freeFrom(parts.fabric.GetNEndpoints(), 0),
      m_events(this)
{
}

std::vector<rdma::PathLink>
DimsTransport::FindPath(uint32_t channel)
{
    const std::vector<rdma::PathLink> path =
        m_fabric.GetPath(m_channels[channel].from, m_channels[channel].to);
    Way& way = Reach(m_wayOf, channel);
    way = {};
    for (const rdma::PathLink& link : path)
    {
        way.rate = way.rate.bps == 0 ? link.rate : std::min(way.rate, link.rate);
        way.latency += link.delay.ps;
    }
    return path;
}

void
DimsTransport::SetFrames(uint32_t /* channel */,
                         const std::vector<rdma::FrameRun>& /* frames */,
                         int64_t /* ideal */)
{
}

void
DimsTransport::OnPosted(uint32_t /* message */)
{
}

void
DimsTransport::Send(uint32_t channel, int64_t now)
{
    const Channel& on = m_channels[channel];
    const Way& way = m_wayOf[channel];
    const uint32_t index = on.head;
    int64_t work = rdma::SerializationTime(rdma::Bytes(m_messages[index].post.bytes), way.rate).ps;
    if (on.mostBps && on.mostBps < way.rate.bps)
    {
        work = rdma::SerializationTime(rdma::Bytes(m_messages[index].post.bytes),
                                       rdma::BitRate(on.mostBps))
                   .ps;
    }
    int64_t& free = m_freeFrom[on.from];
    const int64_t begin = std::max(now, free);
    free = begin + work;
    m_events.Schedule(free, ContextOf(on.from), {EventKind::SENT, channel});
    m_events.Schedule(free + way.latency, ContextOf(on.to), {EventKind::ARRIVE, index});
}

void
DimsTransport::OnEvent(const Event& event, int64_t now)
{
    if (event.kind == EventKind::SENT)
    {
        Next(event.which, now);
        return;
    }
    Arrived(event.which, now);
}

} // namespace dltrain
