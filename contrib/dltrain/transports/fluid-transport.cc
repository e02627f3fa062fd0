/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fluid-transport.h"

#include "contrib/rdma/core/flow-hash.h"

#include "ns3/node.h"

#include <algorithm>

namespace dltrain
{

namespace
{

NetworkKind g_fluidKind("fluid", [](const NetworkParts& parts) -> std::unique_ptr<Transport> {
    return std::make_unique<FluidTransport>(parts);
});

/// The cookie of a flow: its owner, and its channel.
constexpr uint32_t CHANNEL_BITS = 32;

std::vector<rdma::BitRate>
RatesOf(const ns3::RdmaFabric& fabric)
{
    std::vector<rdma::BitRate> rates;
    for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
    {
        rates.emplace_back(fabric.GetLink(end).rateBps);
    }
    return rates;
}

/// \return the context whose events come last at their time, where there is such an order
uint32_t
LastContext(const NetworkParts& parts)
{
    using Order = ns3::RdmaEventOrder;
    uint32_t last = 0;
    for (uint32_t i = 0; i < parts.fabric.GetNodes().GetN(); ++i)
    {
        last = std::max(last, parts.fabric.GetNodes().Get(i)->GetId());
    }
    if (!parts.places.HasTurns())
    {
        return last;
    }
    // Without packets nothing arrives at a port: its context is free.
    return Order::ArrivalContext(last,
                                 last < Order::MAX_WIDE_NODES ? Order::MAX_WIDE_PORTS - 1
                                                              : Order::MAX_PORTS - 1);
}

} // namespace

FluidTransport::Flows::Flows(const NetworkParts& parts)
    : network(RatesOf(parts.fabric)),
      m_context(parts.fabric.GetNodes().Get(0)->GetId()),
      m_last(LastContext(parts)),
      m_events(this)
{
}

void
FluidTransport::Flows::Changed(int64_t now)
{
    if (!m_settles)
    {
        m_settles = true;
        m_events.Schedule(now, m_last, Event::SETTLE);
    }
}

void
FluidTransport::Flows::Wake()
{
    const rdma::TimePoint at = network.NextEnd();
    // An earlier event also takes care of later ends.
    if (at != topo::FairNetwork::kNever && (m_wakes.empty() || at.ps < m_wakes.back()))
    {
        m_wakes.push_back(at.ps);
        m_events.Schedule(at.ps, m_context, Event::WAKE);
    }
}

void
FluidTransport::Flows::OnEvent(const Event& event, int64_t now)
{
    if (event == Event::SETTLE)
    {
        m_settles = false;
        network.Settle(rdma::TimePoint(now));
        Wake();
        return;
    }
    m_wakes.pop_back();
    topo::FairNetwork::End end;
    while (network.Ended(rdma::TimePoint(now), end))
    {
        users[end.cookie >> CHANNEL_BITS]->OnOut(static_cast<uint32_t>(end.cookie), end.link, now);
    }
    if (network.IsChanged(rdma::TimePoint(now)))
    {
        Changed(now);
        return;
    }
    Wake();
}

FluidTransport::FluidTransport(const NetworkParts& parts)
    : FormulaTransport(parts),
      m_flows(FlowsOf(parts)),
      m_user(m_flows->users.size()),
      m_events(this)
{
    m_flows->users.push_back(this);
}

std::shared_ptr<FluidTransport::Flows>
FluidTransport::FlowsOf(const NetworkParts& parts)
{
    if (parts.share && *parts.share)
    {
        return std::static_pointer_cast<Flows>(*parts.share);
    }
    const auto flows = std::make_shared<Flows>(parts);
    if (parts.share)
    {
        *parts.share = flows;
    }
    return flows;
}

std::vector<rdma::PathLink>
FluidTransport::FindPath(uint32_t channel)
{
    const Channel& on = m_channels[channel];
    const uint16_t port = rdma::RoceSourcePortOfName(HashOf(on.name), on.reversed);
    Way& way = Reach(m_ways, channel);
    Leave(way.course);
    way.course = NONE;
    if (way.flow != NONE)
    {
        m_flows->network.Close(way.flow);
        way.flow = NONE;
    }
    way.lastArrival = 0;
    way.ends = m_fabric.GetEndsOfFlow(on.from, on.to, rdma::FlowHash({on.from, on.to, port}));
    if (!way.ends.empty())
    {
        way.flow = m_flows->network.Open(way.ends,
                                         rdma::BitRate(on.mostBps ? on.mostBps : UINT64_MAX),
                                         LevelOf(on.name.priority),
                                         m_user << CHANNEL_BITS | channel);
    }
    return m_fabric.GetLinksOf(way.ends);
}

void
FluidTransport::SetFrames(uint32_t channel,
                          const std::vector<rdma::FrameRun>& frames,
                          int64_t ideal)
{
    const Channel& on = m_channels[channel];
    const std::vector<rdma::PathLink>& path = on.path;
    Way& way = m_ways[channel];
    Leave(way.course);
    way.course = m_courses.Take();
    Course& course = m_courses[way.course];
    course.users = 1;
    course.wireBytes = 0;
    for (const rdma::FrameRun& run : frames)
    {
        course.wireBytes += run.wireBytes.value * run.count;
    }
    const auto takes = [](const rdma::FrameRun& run, const rdma::PathLink& link) {
        return rdma::SerializationTime(run.wireBytes, link.rate, link.timeUnit).ps;
    };
    // A node sends a frame on while it comes in, if the next link is not faster.
    const auto passesOn = [&path](std::size_t i) {
        return path[i].cutThrough && i + 1 < path.size() &&
               path[i + 1].rate.bps <= path[i].rate.bps;
    };
    const rdma::FrameRun& last = frames.back();
    const Paced paced = PacedOf(on, frames);
    course.held.resize(path.size());
    course.alone = 0;
    int64_t offset = 0; // from its begin until the first frame may be sent here
    int64_t total = ideal;
    for (std::size_t i = 0; i < path.size(); ++i)
    {
        const rdma::PathLink& link = path[i];
        int64_t busy = 0;
        for (const rdma::FrameRun& run : frames)
        {
            busy += takes(run, link) * static_cast<int64_t>(run.count);
        }
        course.alone = std::max(course.alone, busy);
        course.held[i] = offset;
        const int64_t rest = link.delay.ps + link.pipeline.ps;
        if (i + 1 == path.size())
        {
            // By its own rate the last frame may come later than on an idle path.
            total = std::max(total, offset + paced.lastBegins + takes(last, link) + rest);
        }
        offset += rest + (passesOn(i) ? link.headers.ps : takes(frames.front(), link));
    }
    int64_t tail = 0; // from its end here until the last frame is at the receiver
    for (std::size_t i = path.size(); i-- > 0;)
    {
        const rdma::PathLink& link = path[i];
        tail += link.delay.ps + link.pipeline.ps;
        if (i + 1 < path.size())
        {
            tail +=
                takes(last, path[i + 1]) - (passesOn(i) ? takes(last, link) - link.headers.ps : 0);
        }
        course.held[i] += tail;
    }
    // A last frame that its own rate has begin late is there before the next one could begin.
    course.apart = std::max(course.alone, paced.all);
    course.alone = std::min(course.apart, total);
    course.latency = total - course.alone;
}

void
FluidTransport::OnPosted(uint32_t message)
{
    const uint32_t course = m_ways[m_messages[message].channel].course;
    ++m_courses[course].users;
    Reach(m_courseOf, message) = course;
}

void
FluidTransport::Leave(uint32_t course)
{
    if (course != NONE && --m_courses[course].users == 0)
    {
        m_courses.Give(course);
    }
}

void
FluidTransport::Send(uint32_t channel, int64_t now)
{
    Way& way = m_ways[channel];
    way.begun = now;
    m_flows->network.Begin(way.flow,
                           rdma::Duration(m_courses[m_courseOf[m_channels[channel].head]].alone),
                           rdma::TimePoint(now));
    m_flows->Changed(now);
}

void
FluidTransport::OnOut(uint32_t channel, uint32_t link, int64_t now)
{
    const uint32_t message = m_channels[channel].head;
    Way& way = m_ways[channel];
    const Course& course = m_courses[m_courseOf[message]];
    int64_t latency = course.latency;
    for (std::size_t i = 0; i < way.ends.size(); ++i)
    {
        m_collector.CountCarried(way.ends[i], course.wireBytes);
        latency = way.ends[i] == link ? course.held[i] : latency;
    }
    // None comes before those ahead of it, however short its frames are.
    way.lastArrival = std::max(way.lastArrival, now + latency);
    m_events.Schedule(way.lastArrival, ContextOf(m_channels[channel].to), {message});
    Next(channel, std::max(now, way.begun + course.apart));
}

void
FluidTransport::OnEvent(const Event& event, int64_t now)
{
    Arrived(event.message, now);
}

void
FluidTransport::OnDelivered(uint32_t message, int64_t /* now */)
{
    Leave(m_courseOf[message]);
}

} // namespace dltrain
