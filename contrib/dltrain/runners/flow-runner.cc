/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-runner.h"

#include "reports/attribution/message-id.h"

#include "ns3/abort.h"
#include "ns3/node-windows.h"
#include "ns3/rdma-owner.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace dltrain
{

void
FlowListener::OnFlowBegin(uint32_t, ChannelId, int64_t)
{
}

void
FlowListener::OnFlowArrived(uint32_t, ChannelId, int64_t)
{
}

void
FlowListener::OnFlowEnded(uint32_t, ChannelId, bool, int64_t)
{
}

void
FlowListener::OnFlowsDone()
{
}

FlowCounts&
FlowCounts::operator+=(const FlowCounts& other)
{
    posted += other.posted;
    postedBytes += other.postedBytes;
    arrived += other.arrived;
    arrivedBytes += other.arrivedBytes;
    ended += other.ended;
    failed += other.failed;
    measuredArrived += other.measuredArrived;
    measuredEnded += other.measuredEnded;
    lastArrival = std::max(lastArrival, other.lastArrival);
    lastEnd = std::max(lastEnd, other.lastEnd);
    return *this;
}

ns3::RdmaOperation
VerbOf(scenario::FlowOperation operation)
{
    switch (operation)
    {
    case scenario::FlowOperation::kSend:
        return ns3::RdmaOperation::SEND;
    case scenario::FlowOperation::kRead:
        return ns3::RdmaOperation::READ;
    default:
        return ns3::RdmaOperation::WRITE;
    }
}

namespace
{

std::vector<scenario::FlowEnds>
EndsOf(const std::vector<scenario::Flow>& flows)
{
    std::vector<scenario::FlowEnds> ends;
    ends.reserve(flows.size());
    for (const scenario::Flow& flow : flows)
    {
        ends.push_back({flow.src, flow.dst, flow.priority, flow.connection});
    }
    return ends;
}

/// The ends that share channels; none: each flow has its own.
std::vector<scenario::FlowEnds>
SharedEndsOf(const FlowJob& job)
{
    const bool perPair = job.queuePairs == scenario::QueuePairUse::kPerPair;
    uint32_t connections = 0;
    for (const scenario::Flow& flow : job.flows)
    {
        connections = std::max(connections, flow.connection);
    }
    std::vector<scenario::FlowEnds> ends;
    if (perPair || connections > 0)
    {
        ends = EndsOf(job.flows);
    }
    for (scenario::FlowEnds& of : ends)
    {
        of.connection = perPair ? 0 : of.connection > 0 ? of.connection : ++connections;
    }
    return ends;
}

} // namespace

// A host ---------------------------------------------------------------------------------------

FlowRunner::Host::Host(FlowRunner& runner, uint32_t place)
    : m_runner(runner),
      m_context(runner.m_places.ContextOf(place)),
      m_timer(this)
{
}

void
FlowRunner::Host::ScheduleNext()
{
    if (m_next < m_flows.size() && HasRoom() && !m_pending)
    {
        m_pending = true;
        m_timer.ScheduleAt(m_runner.m_job.flows[m_flows[m_next]].start.ps, m_context);
    }
}

void
FlowRunner::Host::OnTimer()
{
    m_pending = false;
    BeginDue(ns3::RdmaClock::Now());
}

void
FlowRunner::Host::BeginDue(int64_t now)
{
    while (m_next < m_flows.size() && HasRoom() &&
           m_runner.m_job.flows[m_flows[m_next]].start.ps <= now)
    {
        m_runner.Begin(m_flows[m_next++], now);
    }
    ScheduleNext();
}

void
FlowRunner::Host::OnEnded(int64_t now)
{
    if (m_runner.m_job.outstanding)
    {
        BeginDue(now);
    }
}

// Set-up -----------------------------------------------------------------------------------------

FlowRunner::FlowRunner(const FlowJob& job,
                       Transport& transport,
                       const Places& places,
                       FlowListener& listener,
                       const std::function<uint32_t(const std::string&)>& tagOf)
    : m_job(job),
      m_read(job.operation == scenario::FlowOperation::kRead),
      m_transport(transport),
      m_places(places),
      m_listener(listener),
      m_pairs(SharedEndsOf(job))
{
    m_channels.resize(m_pairs.first.size(), NO_CHANNEL);
    m_arriving = m_pairs.first;
    if (!IsPerPair())
    {
        NS_ABORT_MSG_IF(job.repeats, "flows that begin again need a channel a pair");
        m_lanes = scenario::LanesOf(EndsOf(job.flows));
    }
    std::optional<scenario::FlowTag> last;
    for (const scenario::Flow& flow : job.flows)
    {
        NS_ABORT_MSG_IF(places.ServerOf(flow.src) == places.ServerOf(flow.dst),
                        "a flow leads from a server to itself");
        while (m_hosts.size() <= std::max(flow.src, flow.dst))
        {
            m_hosts.emplace_back(*this, static_cast<uint32_t>(m_hosts.size()));
        }
        // Get a tag's number now: the listener to messages has one list for all hosts.
        if (!last || *last != flow.tag)
        {
            last = flow.tag;
            m_tags.try_emplace(&flow.tag.Text(), tagOf(flow.tag.Text()));
        }
    }
}

void
FlowRunner::Start()
{
    int64_t before = 0;
    for (uint32_t i = 0; i < m_job.flows.size(); ++i)
    {
        const scenario::Flow& flow = m_job.flows[i];
        NS_ABORT_MSG_IF(flow.start.ps < before, "flow " << i << " starts before the one before it");
        before = flow.start.ps;
        const uint32_t poster = PosterOf(flow);
        if (IsHere(poster))
        {
            m_hosts[poster].Add(i, m_job.measuring.Covers(flow.start));
        }
        else if (IsHere(m_read ? flow.src : flow.dst))
        {
            m_transport.Expect(NameOf(i), *this, CookieOf(i), PostOf(i), flow.start.ps);
        }
    }
    for (Host& host : m_hosts)
    {
        m_hostsBusy += host.GetMeasured() > 0;
        host.ScheduleNext();
    }
}

ChannelName
FlowRunner::NameOf(uint32_t index) const
{
    const scenario::Flow& flow = m_job.flows[index];
    ChannelName name;
    name.job = static_cast<uint16_t>(m_job.number);
    name.from = PosterOf(flow);
    name.to = m_read ? flow.src : flow.dst;
    name.lane = IsPerPair()   ? 0
                : AreShared() ? m_lanes[m_pairs.first[m_pairs.pairOf[index]]]
                              : m_lanes[index];
    name.rail = m_places.GpuOf(name.from);
    name.priority = flow.priority;
    name.trafficClass = flow.trafficClass & 0x7f; // its bits
    name.single = m_job.queuePairs == scenario::QueuePairUse::kReused;
    return name;
}

TransportPost
FlowRunner::PostOf(uint32_t index) const
{
    const scenario::Flow& flow = m_job.flows[index];
    const bool measured =
        m_job.measuring.Covers(flow.start) && !(m_job.isWarmup && *m_job.isWarmup);
    TransportPost post;
    post.id = reports::MessageId::Of(m_tags.at(&flow.tag.Text()) |
                                         (measured ? 0 : reports::MessageId::WARMUP),
                                     m_job.firstFlow + index);
    post.operation = VerbOf(m_job.operation);
    post.bytes = flow.bytes;
    return post;
}

// While it runs ----------------------------------------------------------------------------------

void
FlowRunner::Begin(uint32_t flow, int64_t now)
{
    const uint32_t poster = PosterOf(m_job.flows[flow]);
    ns3::RdmaOwner::Check(m_places.ContextOf(poster), "begins a flow");
    ChannelId channel = AreShared() ? m_channels[m_pairs.pairOf[flow]] : NO_CHANNEL;
    if (channel == NO_CHANNEL)
    {
        channel = m_transport.Open(NameOf(flow), *this, CookieOf(flow));
        if (AreShared())
        {
            m_channels[m_pairs.pairOf[flow]] = channel;
        }
    }
    ++m_hosts[poster].counts.posted;
    m_hosts[poster].counts.postedBytes += m_job.flows[flow].bytes;
    m_listener.OnFlowBegin(flow, channel, now);
    m_transport.Post(channel, PostOf(flow));
}

void
FlowRunner::OnDelivered(const Delivery& delivery, int64_t now)
{
    const uint32_t place = m_read ? delivery.name.from : delivery.name.to;
    ns3::RdmaOwner::Check(m_places.ContextOf(place), "receives a flow");
    auto flow = static_cast<uint32_t>(delivery.cookie);
    if (AreShared())
    {
        // They come in the order of their posts.
        uint32_t& arriving = m_arriving[flow];
        flow = m_job.repeats ? arriving : std::exchange(arriving, m_pairs.next[arriving]);
    }
    const scenario::Flow& of = m_job.flows[flow];
    FlowCounts& counts = m_hosts[place].counts;
    ++counts.arrived;
    counts.arrivedBytes += of.bytes;
    counts.measuredArrived += m_job.measuring.Covers(of.start);
    counts.lastArrival = now;
    m_listener.OnFlowArrived(flow, delivery.channel, now);
}

void
FlowRunner::OnSent(ChannelId channel, uint64_t, uint64_t id, bool failed, int64_t now)
{
    const uint32_t flow = reports::MessageId::Flow(id) - m_job.firstFlow;
    const scenario::Flow& of = m_job.flows[flow];
    const bool measured = m_job.measuring.Covers(of.start);
    Host& host = m_hosts[PosterOf(of)];
    ns3::RdmaOwner::Check(m_places.ContextOf(PosterOf(of)), "ends a flow");
    ++host.counts.ended;
    host.counts.failed += failed;
    host.counts.measuredEnded += measured;
    host.counts.lastEnd = now;
    m_listener.OnFlowEnded(flow, channel, failed, now);
    if (!failed && m_job.queuePairs == scenario::QueuePairUse::kReused)
    {
        m_transport.Close(channel);
    }
    host.OnEnded(now);
    if (!failed && m_job.repeats && !(m_job.isOver && *m_job.isOver))
    {
        Begin(flow, now);
        return;
    }
    if (measured && m_decider && host.counts.measuredEnded == host.GetMeasured())
    {
        // Not a decision of each host's: between windows nothing of the network happens.
        ns3::NodeWindows::NoteCall([this] { OnHostDone(); });
    }
}

void
FlowRunner::OnHostDone()
{
    if (--m_hostsBusy == 0)
    {
        m_decider([this] { m_listener.OnFlowsDone(); });
    }
}

FlowCounts
FlowRunner::GetCounts() const
{
    FlowCounts sum;
    for (const Host& host : m_hosts)
    {
        sum += host.counts;
    }
    return sum;
}

} // namespace dltrain
