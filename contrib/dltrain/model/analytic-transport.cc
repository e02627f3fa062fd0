/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytic-transport.h"

#include "ns3/assert.h"
#include "ns3/node.h"

#include <algorithm>
#include <stdexcept>

namespace dltrain
{

namespace
{

NetworkKind g_kind("analytic", [](const NetworkParts& parts) -> std::unique_ptr<Transport> {
    return std::make_unique<AnalyticTransport>(parts);
});

} // namespace

AnalyticTransport::AnalyticTransport(const NetworkParts& parts)
    : m_fabric(parts.fabric),
      m_collector(parts.collector),
      m_places(parts.places),
      m_mtu(parts.fabric.GetNic(0)->GetMtu()),
      m_sizes(parts.fabric.GetNic(0)->GetFrameSizes()),
      m_out(parts.fabric.GetNEndpoints()),
      m_in(parts.fabric.GetNEndpoints()),
      m_events(this)
{
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        m_contexts.push_back(m_fabric.GetNic(e)->GetPort()->GetNode()->GetId());
    }
}

ChannelId
AnalyticTransport::Open(const ChannelName& name,
                        TransportUser& user,
                        uint64_t cookie,
                        uint64_t mostBps)
{
    const uint32_t number = m_channels.Take();
    Channel& channel = m_channels[number];
    channel.name = name;
    channel.user = &user;
    channel.cookie = cookie;
    channel.from = m_places.FromOf(name);
    channel.to = m_places.ToOf(name);
    channel.head = channel.tail = NONE;
    channel.mostBps = mostBps;
    channel.busy = false;
    channel.reversed = false;
    channel.times = Times();
    channel.path = m_fabric.GetPath(channel.from, channel.to);
    if (channel.path.empty())
    {
        throw std::runtime_error("no path from " + m_collector.GetEndpointNames()[channel.from] +
                                 " to " + m_collector.GetEndpointNames()[channel.to]);
    }
    return number;
}

void
AnalyticTransport::Close(ChannelId channel)
{
    m_channels.Give(channel);
}

void
AnalyticTransport::Reverse(Channel& channel)
{
    NS_ASSERT_MSG(channel.head == NONE, "READs and WRITEs do not share a channel");
    channel.reversed = !channel.reversed;
    std::swap(channel.from, channel.to);
    channel.times = Times();
    channel.path = m_fabric.GetPath(channel.from, channel.to);
}

const AnalyticTransport::Times&
AnalyticTransport::TimesOf(Channel& channel, const TransportPost& post)
{
    Times& t = channel.times;
    if (t.bytes == post.bytes && t.operation == post.operation &&
        t.hasImmediate == post.hasImmediate)
    {
        return t;
    }
    t.bytes = post.bytes;
    t.operation = post.operation;
    t.hasImmediate = post.hasImmediate;
    const bool read = post.operation == ns3::RdmaOperation::READ;
    const rdma::Bytes bytes(post.bytes);
    const std::vector<rdma::FrameRun> runs =
        read ? rdma::RoceReadResponseRuns(bytes, m_mtu, m_sizes)
        : post.operation == ns3::RdmaOperation::SEND
            ? rdma::RoceSendRuns(bytes, m_mtu, post.hasImmediate, m_sizes)
            : rdma::RoceWriteRuns(bytes, m_mtu, post.hasImmediate, m_sizes);
    const auto workOn = [&runs](const rdma::PathLink& link) {
        return rdma::IdealCompletion(
                   {{link.rate, rdma::Duration(0), rdma::Duration(0), link.timeUnit}},
                   runs)
            .ps;
    };
    t.out = workOn(channel.path.front());
    t.in = workOn(channel.path.back());
    t.slowest = 0;
    for (const rdma::PathLink& link : channel.path)
    {
        t.slowest = std::max(t.slowest, workOn(link));
    }
    t.ideal = rdma::IdealCompletion(channel.path, runs).ps;
    const auto asked = [&](bool atSender) {
        return m_fabric.GetIdealCompletion(read ? channel.to : channel.from,
                                           read ? channel.from : channel.to,
                                           post.bytes,
                                           post.hasImmediate,
                                           post.operation,
                                           atSender);
    };
    t.shown = asked(m_collector.IsCompleteAtSender());
    t.lead = read ? t.shown - t.ideal : 0; // the request on its way
    t.back = read ? 0 : asked(true) - t.ideal;
    if (channel.mostBps)
    {
        // Its frames begin that far apart; the last one then goes as fast as all others do.
        const auto apart = [&](rdma::Bytes wireBytes) {
            return rdma::SerializationTime(wireBytes, rdma::BitRate(channel.mostBps)).ps;
        };
        int64_t paced = 0;
        rdma::Bytes last;
        for (const rdma::FrameRun& run : runs)
        {
            paced += apart(run.wireBytes) * static_cast<int64_t>(run.count);
            last = run.count ? run.wireBytes : last;
        }
        const int64_t onLink =
            rdma::SerializationTime(last, channel.path.front().rate).ps; // at the slowest, or less
        t.ideal += std::max<int64_t>(0, paced - apart(last) + onLink - t.slowest);
        t.slowest = std::max(t.slowest, paced);
    }
    return t;
}

void
AnalyticTransport::Post(ChannelId channel, const TransportPost& post)
{
    const int64_t now = ns3::RdmaClock::Now();
    const uint32_t index = m_messages.Take();
    Channel& on = m_channels[channel];
    if ((post.operation == ns3::RdmaOperation::READ) != on.reversed)
    {
        Reverse(on);
    }
    Message& message = m_messages[index];
    message = {};
    message.post = post;
    message.noted = m_collector.BeginMessage(post.id, now, post.operation);
    message.times = TimesOf(on, post);
    message.channel = channel;
    message.next = NONE;
    (on.head == NONE ? on.head : m_messages[on.tail].next) = index;
    on.tail = index;
    if (!on.busy)
    {
        on.busy = true;
        if (message.times.lead)
        {
            m_events.Schedule(now + message.times.lead,
                              ContextOf(on.from),
                              {EventKind::BEGIN, static_cast<uint32_t>(channel)});
            return;
        }
        Begin(channel, now);
    }
}

void
AnalyticTransport::Begin(uint32_t channel, int64_t now)
{
    const Channel& on = m_channels[channel];
    const uint32_t index = on.head;
    Message& message = m_messages[index];
    message.begun = now;
    m_out[on.from].server.Add(rdma::Duration(message.times.out),
                              on.name.priority,
                              index,
                              rdma::TimePoint(now));
    Wake(m_out, EventKind::OUT, on.from);
    m_events.Schedule(now + message.times.ideal - message.times.in,
                      ContextOf(on.to),
                      {EventKind::REACH, index});
}

void
AnalyticTransport::Wake(std::vector<Side>& sides, EventKind kind, uint32_t endpoint)
{
    Side& side = sides[endpoint];
    const rdma::TimePoint at = side.server.NextEnd();
    // One that comes earlier sees to this one too.
    if (at != topo::NicServer::kNever && (side.wakes.empty() || at.ps < side.wakes.back()))
    {
        side.wakes.push_back(at.ps);
        m_events.Schedule(at.ps, ContextOf(endpoint), {kind, endpoint});
    }
}

void
AnalyticTransport::OnEvent(const Event& event, int64_t now)
{
    switch (event.kind)
    {
    case EventKind::BEGIN:
        Begin(event.which, now);
        return;
    case EventKind::REACH: {
        const Message& message = m_messages[event.which];
        const Channel& on = m_channels[message.channel];
        m_in[on.to].server.Add(rdma::Duration(message.times.in),
                               on.name.priority,
                               event.which,
                               rdma::TimePoint(now));
        Wake(m_in, EventKind::IN, on.to);
        return;
    }
    case EventKind::ARRIVE:
        m_messages[event.which].arrived = true;
        DeliverIfThere(event.which, now);
        return;
    case EventKind::COMPLETE:
        OnComplete(event.which, now);
        return;
    case EventKind::OUT:
    case EventKind::IN:
        break;
    }
    const bool out = event.kind == EventKind::OUT;
    std::vector<Side>& sides = out ? m_out : m_in;
    sides[event.which].wakes.pop_back();
    uint64_t message = 0;
    while (sides[event.which].server.Ended(rdma::TimePoint(now), message))
    {
        out ? OnOut(static_cast<uint32_t>(message), now)
            : OnIn(static_cast<uint32_t>(message), now);
    }
    Wake(sides, event.kind, event.which);
}

void
AnalyticTransport::OnOut(uint32_t index, int64_t now)
{
    const Message& message = m_messages[index];
    const uint32_t channel = message.channel;
    Channel& on = m_channels[channel];
    m_events.Schedule(now + message.times.ideal - message.times.out,
                      ContextOf(on.to),
                      {EventKind::ARRIVE, index});
    // The next one cannot pass the slowest link before this one has.
    const int64_t next = std::max(now, message.begun + message.times.slowest);
    on.head = message.next;
    on.busy = on.head != NONE;
    if (on.busy)
    {
        const Message& waiting = m_messages[on.head];
        const int64_t asked = waiting.noted.posted + waiting.times.lead;
        m_events.Schedule(std::max(next, asked), ContextOf(on.from), {EventKind::BEGIN, channel});
    }
}

void
AnalyticTransport::OnIn(uint32_t index, int64_t now)
{
    m_messages[index].served = true;
    DeliverIfThere(index, now);
}

void
AnalyticTransport::Record(const Message& message, int64_t now)
{
    const Channel& on = m_channels[message.channel];
    results::FlowRecord record;
    record.bytes = message.post.bytes;
    record.end = now;
    record.ideal = message.times.shown;
    record.src = on.from;
    record.dst = on.to;
    if (m_places.IsGpu(on.name.from))
    {
        record.fromGpu = on.name.from;
    }
    if (m_places.IsGpu(on.name.to))
    {
        record.toGpu = on.name.to;
    }
    m_collector.EndMessage(message.noted, record);
}

void
AnalyticTransport::DeliverIfThere(uint32_t index, int64_t now)
{
    const Message& message = m_messages[index];
    if (!message.served || !message.arrived)
    {
        return;
    }
    const Channel& on = m_channels[message.channel];
    CountArrived(message.post.bytes);
    const bool read = message.post.operation == ns3::RdmaOperation::READ;
    if (read || !m_collector.IsCompleteAtSender())
    {
        Record(message, now);
    }
    m_events.Schedule(now + message.times.back,
                      ContextOf(read ? on.to : on.from),
                      {EventKind::COMPLETE, index});
    on.user->OnDelivered(
        {on.name, message.channel, on.cookie, message.post.immediate, message.post.cause},
        now);
}

void
AnalyticTransport::OnComplete(uint32_t index, int64_t now)
{
    const Message message = m_messages[index];
    if (message.post.operation != ns3::RdmaOperation::READ && m_collector.IsCompleteAtSender())
    {
        Record(message, now);
    }
    m_messages.Give(index);
    const Channel& on = m_channels[message.channel];
    on.user->OnSent(message.channel, on.cookie, message.post.id, false, now);
}

std::string
AnalyticTransport::Describe(ChannelId channel) const
{
    const std::vector<std::string>& names = m_collector.GetEndpointNames();
    return names[m_channels[channel].from] + "->" + names[m_channels[channel].to];
}

} // namespace dltrain
