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

/// Frames in a message from which on one frame is little. Shorter messages have speeds of their
/// own, each a class of FairLink.
constexpr int64_t FEW = 64;

/// The cookie of a message at a link: its owner, its number, and the link's place on its path.
constexpr uint32_t LEG_BITS = 16;
constexpr uint32_t MESSAGE_BITS = 32;

} // namespace

FluidTransport::FluidTransport(const NetworkParts& parts)
    : FormulaTransport(parts),
      m_links(LinksOf(parts)),
      m_user(m_links->users.size()),
      m_events(this)
{
    m_links->users.push_back(this);
}

std::shared_ptr<FluidTransport::Links>
FluidTransport::LinksOf(const NetworkParts& parts)
{
    if (parts.share && *parts.share)
    {
        return std::static_pointer_cast<Links>(*parts.share);
    }
    const auto links = std::make_shared<Links>();
    links->of.resize(parts.fabric.GetNEnds());
    for (uint32_t end = 0; end < parts.fabric.GetNEnds(); ++end)
    {
        const uint32_t node = parts.fabric.GetNodeOfEnd(end);
        links->of[end].server = topo::FairLink(rdma::BitRate(parts.fabric.GetLink(end).rateBps));
        links->of[end].context = parts.fabric.GetNodes().Get(node)->GetId();
    }
    if (parts.share)
    {
        *parts.share = links;
    }
    return links;
}

std::vector<rdma::PathLink>
FluidTransport::FindPath(uint32_t channel)
{
    const Channel& on = m_channels[channel];
    const uint16_t port = rdma::RoceSourcePortOfName(HashOf(on.name), on.reversed);
    const std::vector<uint32_t> ends =
        m_fabric.GetEndsOfFlow(on.from, on.to, rdma::FlowHash({on.from, on.to, port}));
    Way& way = Reach(m_ways, channel);
    Leave(way.course);
    way.course = NONE;
    ++way.number;
    way.underWay = 0;
    way.blocked = false;
    way.crossings.resize(ends.size());
    for (std::size_t i = 0; i < ends.size(); ++i)
    {
        way.crossings[i].end = ends[i];
        way.crossings[i].lastReach = 0;
    }
    return m_fabric.GetLinksOf(ends);
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
    course.legs.resize(path.size());
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
    const std::vector<rdma::Duration> ends = rdma::IdealEnds(path, frames);
    const Paced paced = PacedOf(on, frames);
    uint64_t speed = on.mostBps ? on.mostBps : UINT64_MAX;
    int64_t offset = 0;
    course.slowest = 0;
    int64_t later = 0; // than on an idle path, as its own rate is lower
    for (std::size_t i = 0; i < path.size(); ++i)
    {
        const rdma::PathLink& link = path[i];
        Leg& leg = course.legs[i];
        leg.offset = offset;
        speed = std::min(speed, link.rate.bps);
        leg.speed = rdma::BitRate(speed);
        leg.alone = std::max(ends[i].ps - offset, paced.lastBegins + takes(last, link));
        later = leg.alone + offset - ends[i].ps; // for the last link, in the end
        course.slowest = std::max(course.slowest, leg.alone);
        if (speed < link.rate.bps)
        {
            SetPace(leg, course.wireBytes, path.front().delay);
        }
        offset += link.delay.ps + link.pipeline.ps +
                  (passesOn(i) ? link.headers.ps : takes(frames.front(), link));
    }
    for (std::size_t i = path.size(); i-- > 0;)
    {
        const rdma::PathLink& link = path[i];
        int64_t tail = link.delay.ps + link.pipeline.ps;
        if (i + 1 < path.size())
        {
            tail += takes(last, path[i + 1]) -
                    (passesOn(i) ? takes(last, link) - link.headers.ps : 0) +
                    course.legs[i + 1].tail;
        }
        course.legs[i].tail = tail;
    }
    course.slowest = std::max(course.slowest, paced.all);
    // So many that the first is acknowledged when the last has been sent, and one.
    const int64_t known = ideal + later + on.times.back + on.times.lead;
    const int64_t window = 1 + (known + course.slowest - 1) / std::max<int64_t>(1, course.slowest);
    course.window = static_cast<uint32_t>(std::min<int64_t>(window, INT32_MAX));
}

void
FluidTransport::SetPace(Leg& leg, uint64_t wireBytes, rdma::Duration nearest)
{
    // The first frame comes in as slowly as all others, before it may be sent. So what the link has
    // to carry takes less time than it takes to come, by most of a frame.
    const int64_t comes =
        rdma::SerializationTime(rdma::Bytes(wireBytes), leg.speed, rdma::Duration(1)).ps;
    const int64_t earlier = comes - leg.alone;
    if (earlier <= std::min(leg.alone / FEW, leg.offset - nearest.ps))
    {
        leg.offset -= earlier; // a long message: it is as if it came with its first bit
        leg.alone = comes;
        return;
    }
    const __int128 bits = static_cast<__int128>(wireBytes) * 8;
    leg.speed = rdma::BitRate(static_cast<uint64_t>(bits * 1000000000000 / leg.alone));
}

void
FluidTransport::OnPosted(uint32_t message)
{
    const uint32_t course = m_ways[m_messages[message].channel].course;
    ++m_courses[course].users;
    Progress& progress = Reach(m_progress, message);
    progress.course = course;
    progress.missing = static_cast<uint32_t>(m_courses[course].legs.size());
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
    const Channel& on = m_channels[channel];
    Way& way = m_ways[channel];
    const uint32_t message = on.head;
    Progress& progress = m_progress[message];
    const Course& course = m_courses[progress.course];
    ++way.underWay;
    progress.begun = now;
    for (uint32_t leg = 1; leg < course.legs.size(); ++leg)
    {
        // None comes before those ahead of it, however short its frames are.
        Crossing& crossing = way.crossings[leg];
        crossing.lastReach = std::max(crossing.lastReach, now + course.legs[leg].offset);
        m_events.Schedule(crossing.lastReach,
                          m_links->of[crossing.end].context,
                          {EventKind::REACH, message, leg});
    }
    OnReach(message, 0, now);
}

void
FluidTransport::OnReach(uint32_t message, uint32_t leg, int64_t now)
{
    Crossing& crossing = m_ways[m_messages[message].channel].crossings[leg];
    if (crossing.busy)
    {
        crossing.waiting.push_back(message);
        return;
    }
    Enter(message, leg, now);
    Wake(crossing.end);
}

void
FluidTransport::Enter(uint32_t message, uint32_t leg, int64_t now)
{
    const Channel& on = m_channels[m_messages[message].channel];
    Crossing& crossing = m_ways[m_messages[message].channel].crossings[leg];
    const Leg& is = m_courses[m_progress[message].course].legs[leg];
    crossing.busy = true;
    m_links->of[crossing.end].server.Add(rdma::Duration(is.alone),
                                         is.speed,
                                         LevelOf(on.name.priority),
                                         (m_user << MESSAGE_BITS | message) << LEG_BITS | leg,
                                         rdma::TimePoint(now));
}

void
FluidTransport::Wake(uint32_t end)
{
    m_links->of[end].Wake([&](int64_t at) {
        m_events.Schedule(at, m_links->of[end].context, {EventKind::WAKE, end, 0});
    });
}

void
FluidTransport::OnEvent(const Event& event, int64_t now)
{
    switch (event.kind)
    {
    case EventKind::REACH:
        OnReach(event.which, event.leg, now);
        return;
    case EventKind::WAKE:
        OnWake(event.which, now);
        return;
    case EventKind::CROSS:
        if (--m_progress[event.which].missing == 0)
        {
            Arrived(event.which, now);
        }
        return;
    case EventKind::CREDIT:
        if (m_ways[event.which].number == event.leg) // else the channel is closed
        {
            OnCredit(event.which, now);
        }
        return;
    }
}

void
FluidTransport::OnWake(uint32_t end, int64_t now)
{
    m_links->of[end].Woken(now, [&](uint64_t cookie) {
        FluidTransport& whose = *m_links->users[cookie >> (MESSAGE_BITS + LEG_BITS)];
        whose.OnCrossed(static_cast<uint32_t>(cookie >> LEG_BITS),
                        static_cast<uint32_t>(cookie & ((1U << LEG_BITS) - 1)),
                        now);
    });
    Wake(end);
}

void
FluidTransport::OnCrossed(uint32_t message, uint32_t leg, int64_t now)
{
    const uint32_t channel = m_messages[message].channel;
    Way& way = m_ways[channel];
    const Course& course = m_courses[m_progress[message].course];
    m_events.Schedule(now + course.legs[leg].tail,
                      ContextOf(m_channels[channel].to),
                      {EventKind::CROSS, message, leg});
    Crossing& crossing = way.crossings[leg];
    m_collector.CountCarried(crossing.end, course.wireBytes);
    crossing.busy = false;
    if (!crossing.waiting.empty())
    {
        const uint32_t waiting = crossing.waiting.front();
        crossing.waiting.pop_front();
        Enter(waiting, leg, now);
    }
    if (leg > 0)
    {
        return;
    }
    // The next one is not to pass the slowest link before this one has.
    const int64_t next = std::max(now, m_progress[message].begun + course.slowest);
    if (way.underWay < course.window)
    {
        Next(channel, next);
        return;
    }
    way.blocked = true;
    way.next = next;
}

void
FluidTransport::OnDelivered(uint32_t message, int64_t now)
{
    const Message& done = m_messages[message];
    const Channel& on = m_channels[done.channel];
    Leave(m_progress[message].course);
    m_events.Schedule(now + done.times.back + done.times.lead,
                      ContextOf(on.from),
                      {EventKind::CREDIT, done.channel, m_ways[done.channel].number});
}

void
FluidTransport::OnCredit(uint32_t channel, int64_t now)
{
    Way& way = m_ways[channel];
    --way.underWay;
    if (way.blocked)
    {
        way.blocked = false;
        Next(channel, std::max(now, way.next));
    }
}

} // namespace dltrain
