/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "formula-transport.h"

#include "ns3/assert.h"
#include "ns3/node.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace dltrain
{

FormulaTransport::FormulaTransport(const NetworkParts& parts)
    : m_fabric(parts.fabric),
      m_collector(parts.collector),
      m_places(parts.places),
      m_oneLane(parts.fabric.GetLinkLayer().HasCredits()),
      m_mtu(parts.fabric.GetNic(0)->GetMtu()),
      m_sizes(parts.fabric.GetNic(0)->GetFrameSizes()),
      m_events(this)
{
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        m_contexts.push_back(m_fabric.GetNic(e)->GetPort()->GetNode()->GetId());
    }
}

ChannelId
FormulaTransport::Open(const ChannelName& name,
                       TransportUser& user,
                       uint64_t cookie,
                       uint64_t mostBps)
{
    const uint32_t number = m_channels.Take();
    Channel& channel = m_channels[number];
    channel = {};
    channel.name = name;
    channel.user = &user;
    channel.cookie = cookie;
    channel.mostBps = mostBps;
    channel.from = m_places.FromOf(name);
    channel.to = m_places.ToOf(name);
    channel.path = FindPath(number);
    if (channel.path.empty())
    {
        throw std::runtime_error("no path from " + m_collector.GetEndpointNames()[channel.from] +
                                 " to " + m_collector.GetEndpointNames()[channel.to]);
    }
    return number;
}

void
FormulaTransport::Close(ChannelId channel)
{
    m_channels.Give(static_cast<uint32_t>(channel));
}

void
FormulaTransport::Reverse(uint32_t channel)
{
    Channel& on = m_channels[channel];
    NS_ASSERT_MSG(on.head == NONE, "READs and WRITEs do not share a channel");
    on.reversed = !on.reversed;
    std::swap(on.from, on.to);
    on.kind = {};
    on.path = FindPath(channel);
}

std::vector<rdma::FrameRun>
FormulaTransport::FramesOf(const Kind& kind) const
{
    const rdma::Bytes bytes(kind.bytes);
    switch (kind.operation)
    {
    case ns3::RdmaOperation::READ:
        return rdma::RoceReadResponseRuns(bytes, m_mtu, m_sizes);
    case ns3::RdmaOperation::SEND:
        return rdma::RoceSendRuns(bytes, m_mtu, kind.hasImmediate, m_sizes);
    default:
        return rdma::RoceWriteRuns(bytes, m_mtu, kind.hasImmediate, m_sizes);
    }
}

FormulaTransport::Paced
FormulaTransport::PacedOf(const Channel& channel, const std::vector<rdma::FrameRun>& frames)
{
    Paced paced;
    if (!channel.mostBps)
    {
        return paced;
    }
    int64_t apart = 0;
    for (const rdma::FrameRun& run : frames)
    {
        apart = rdma::SerializationTime(run.wireBytes, rdma::BitRate(channel.mostBps)).ps;
        paced.all += apart * static_cast<int64_t>(run.count);
    }
    paced.lastBegins = paced.all - apart;
    return paced;
}

void
FormulaTransport::SetKind(uint32_t channel, const Kind& kind)
{
    Channel& on = m_channels[channel];
    const std::vector<rdma::FrameRun> frames = FramesOf(kind);
    const int64_t ideal = rdma::IdealCompletion(on.path, frames).ps;
    const bool read = kind.operation == ns3::RdmaOperation::READ;
    const auto asked = [&](bool atSender) {
        return m_fabric.GetIdealCompletion(read ? on.to : on.from,
                                           read ? on.from : on.to,
                                           kind.bytes,
                                           kind.hasImmediate,
                                           kind.operation,
                                           atSender);
    };
    on.kind = kind;
    on.times.shown = asked(m_collector.IsCompleteAtSender());
    on.times.lead = read ? on.times.shown - ideal : 0; // the request on its way
    on.times.back = read ? 0 : asked(true) - ideal;
    SetFrames(channel, frames, ideal);
}

void
FormulaTransport::Post(ChannelId id, const TransportPost& post)
{
    const int64_t now = ns3::RdmaClock::Now();
    const auto channel = static_cast<uint32_t>(id);
    const uint32_t index = m_messages.Take();
    if ((post.operation == ns3::RdmaOperation::READ) != m_channels[channel].reversed)
    {
        Reverse(channel);
    }
    const Kind kind{post.bytes, post.operation, post.hasImmediate};
    if (!(m_channels[channel].kind == kind))
    {
        SetKind(channel, kind);
    }
    Channel& on = m_channels[channel];
    Message& message = m_messages[index];
    message = {};
    message.post = post;
    message.noted = m_collector.BeginMessage(post.id, now, post.operation);
    message.times = on.times;
    message.channel = channel;
    message.number = on.posted++;
    OnPosted(index);
    (on.head == NONE ? on.head : m_messages[on.tail].next) = index;
    on.tail = index;
    if (on.busy)
    {
        return;
    }
    on.busy = true;
    if (message.times.lead)
    {
        m_events.Schedule(now + message.times.lead,
                          ContextOf(on.from),
                          {EventKind::BEGIN, channel});
        return;
    }
    Send(channel, now);
}

void
FormulaTransport::Next(uint32_t channel, int64_t at)
{
    Channel& on = m_channels[channel];
    on.head = m_messages[on.head].next;
    on.busy = on.head != NONE;
    if (on.busy)
    {
        const Message& waiting = m_messages[on.head];
        const int64_t asked = waiting.noted.posted + waiting.times.lead;
        m_events.Schedule(std::max(at, asked), ContextOf(on.from), {EventKind::BEGIN, channel});
    }
}

void
FormulaTransport::OnEvent(const Event& event, int64_t now)
{
    event.kind == EventKind::BEGIN ? Send(event.which, now) : OnComplete(event.which, now);
}

void
FormulaTransport::Arrived(uint32_t message, int64_t now)
{
    const uint32_t channel = m_messages[message].channel;
    if (m_messages[message].number != m_channels[channel].delivered)
    {
        m_channels[channel].early.push_back(message);
        return;
    }
    Deliver(message, now);
    for (std::size_t i = 0; i < m_channels[channel].early.size();)
    {
        Channel& on = m_channels[channel];
        const uint32_t waiting = on.early[i];
        if (m_messages[waiting].number != on.delivered)
        {
            ++i;
            continue;
        }
        on.early.erase(on.early.begin() + static_cast<std::ptrdiff_t>(i));
        Deliver(waiting, now);
        i = 0;
    }
}

void
FormulaTransport::Deliver(uint32_t index, int64_t now)
{
    const Message& message = m_messages[index];
    Channel& on = m_channels[message.channel];
    ++on.delivered;
    CountArrived(message.post.bytes);
    const bool read = message.post.operation == ns3::RdmaOperation::READ;
    if (read || !m_collector.IsCompleteAtSender())
    {
        Record(message, now);
    }
    m_events.Schedule(now + message.times.back,
                      ContextOf(read ? on.to : on.from),
                      {EventKind::COMPLETE, index});
    OnDelivered(index, now);
    // Listeners may post, which moves messages and channels in memory.
    const Delivery delivery{on.name,
                            message.channel,
                            on.cookie,
                            message.post.immediate,
                            message.post.cause};
    on.user->OnDelivered(delivery, now);
}

void
FormulaTransport::OnComplete(uint32_t index, int64_t now)
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

void
FormulaTransport::Record(const Message& message, int64_t now)
{
    const Channel& on = m_channels[message.channel];
    reports::FlowRecord record;
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

std::string
FormulaTransport::Describe(ChannelId channel) const
{
    const std::vector<std::string>& names = m_collector.GetEndpointNames();
    return names[m_channels[channel].from] + "->" + names[m_channels[channel].to];
}

} // namespace dltrain
