/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-switch-base.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwitchBase");

NS_OBJECT_ENSURE_REGISTERED(RdmaSwitchBase);

TypeId
RdmaSwitchBase::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaSwitchBase")
                            .SetParent<Object>()
                            .SetGroupName("Rdma")
                            .AddTraceSource("Drop",
                                            "A frame is dropped",
                                            MakeTraceSourceAccessor(&RdmaSwitchBase::m_dropTrace),
                                            "ns3::RdmaSwitchBase::DropTracedCallback")
                            .AddTraceSource("EcnMark",
                                            "A frame is marked: CE, or InfiniBand's FECN",
                                            MakeTraceSourceAccessor(&RdmaSwitchBase::m_markTrace),
                                            "ns3::RdmaSwitchBase::MarkTracedCallback");
    return tid;
}

RdmaSwitchBase::RdmaSwitchBase()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

RdmaSwitchBase::~RdmaSwitchBase() = default;

void
RdmaSwitchBase::DoDispose()
{
    m_ports.clear();
    m_random = nullptr;
    m_balancer = nullptr;
    m_hears = 0;
    Object::DoDispose();
}

const char*
RdmaSwitchBase::GetDropReasonName(DropReason reason)
{
    static const char* names[] = {"no_route",
                                  "pool_full",
                                  "threshold",
                                  "headroom_full",
                                  "pfc_watchdog",
                                  "link_down",
                                  "header_queue_full",
                                  "dead_next_hop"};
    return names[reason];
}

void
RdmaSwitchBase::SetName(std::string name)
{
    NS_LOG_FUNCTION(this << name);
    m_name = std::move(name);
}

uint16_t
RdmaSwitchBase::AddPort(Ptr<RdmaPort> port, bool ofUnit)
{
    NS_LOG_FUNCTION(this << port << ofUnit);
    const uint16_t index = static_cast<uint16_t>(m_ports.size());
    m_ports.push_back(port);
    m_isOfUnit.push_back(ofUnit);
    port->SetUser(this, index);
    return index;
}

int64_t
RdmaSwitchBase::CountStreams() const
{
    return 1 + (m_balancer ? m_balancer->AssignStreams(0) : 0);
}

void
RdmaSwitchBase::AssignStreams(int64_t stream)
{
    NS_LOG_FUNCTION(this << stream);
    m_stream = stream;
    m_random->SetStream(stream);
    // A seed of its own from the same stream, so that two switches do not split the same flows
    // alike.
    const uint32_t seed = m_random->GetInteger(0, UINT32_MAX);
    if (m_balancer)
    {
        m_balancer->Attach(m_ports.empty() ? 0 : m_ports.front()->GetNode()->GetId(), seed, this);
        m_balancer->AssignStreams(stream + 1);
    }
}

void
RdmaSwitchBase::RestartDraws()
{
    if (m_balancer)
    {
        m_balancer->AssignStreams(m_stream + 1);
    }
}

void
RdmaSwitchBase::SetRoutes(std::vector<uint16_t> setOf,
                          const std::vector<std::vector<uint16_t>>& sets)
{
    NS_LOG_FUNCTION(this);
    m_setOf = rdma::RangeTable(std::move(setOf));
    m_sets.clear();
    m_portsOfSets.clear();
    for (const auto& set : sets)
    {
        m_sets.push_back(
            {static_cast<uint32_t>(m_portsOfSets.size()), static_cast<uint32_t>(set.size())});
        m_portsOfSets.insert(m_portsOfSets.end(), set.begin(), set.end());
    }
    m_portsOfSets.push_back(NO_PORT); // where an empty set at the end begins
    if (m_balancer)
    {
        m_balancer->OnRoutes(static_cast<uint32_t>(sets.size()));
    }
}

void
RdmaSwitchBase::SetBroadcastPorts(std::vector<uint16_t> ports)
{
    NS_LOG_FUNCTION(this);
    m_broadcastPorts = std::move(ports);
}

std::vector<std::pair<uint16_t, RdmaFrame*>>
RdmaSwitchBase::Multiply(const RdmaPort& port, RdmaFrame* frame, int64_t now)
{
    const auto& ports = m_broadcastPorts;
    std::vector<std::pair<uint16_t, RdmaFrame*>> copies;
    // What comes from outside the tree has been there before the tree was another one.
    if (std::find(ports.begin(), ports.end(), port.GetPortIndex()) != ports.end())
    {
        for (const uint16_t way : ports)
        {
            if (way != port.GetPortIndex())
            {
                copies.emplace_back(way, frame);
            }
        }
    }
    if (copies.empty())
    {
        Drop(nullptr, frame, NO_ROUTE, now);
        return copies;
    }
    for (std::size_t i = 1; i < copies.size(); ++i)
    {
        RdmaFramePool& pool = RdmaFramePool::Get();
        RdmaFrame* copy = pool.Allocate();
        *copy = *frame;
        copy->extra = pool.AllocateExtra();
        copy->extra->packet = frame->extra->packet;
        copy->extra->protocol = frame->extra->protocol;
        copy->extra->source = frame->extra->source;
        copy->extra->destination = frame->extra->destination;
        copies[i].second = copy;
        ++m_received; // so that what is received is what is forwarded, dropped and queued
    }
    return copies;
}

void
RdmaSwitchBase::Prefetch(const NodeWindowBin&, uint32_t depth) const
{
    if (depth == 0)
    {
        m_setOf.Prefetch(PrefetchLines);
        PrefetchLines(m_sets.data(), m_sets.data() + m_sets.size());
        PrefetchLines(m_ports.data(), m_ports.data() + m_ports.size());
    }
}

void
RdmaSwitchBase::SetLoadBalancer(std::string name)
{
    m_balancer = name.empty() ? nullptr : RdmaLoadBalancer::Make(name);
    m_unknown = m_balancer ? "" : std::move(name);
    m_hears = m_balancer ? (m_balancer->NeedsFeedback() ? FEEDBACK : 0) |
                               (m_balancer->NeedsFrames() ? FRAMES : 0) |
                               (m_balancer->MakesDetours() ? DETOURS : 0) |
                               (m_balancer->TakesFrames() ? TAKES : 0)
                         : 0;
    m_hears |= m_paths ? PATHS : 0;
}

void
RdmaSwitchBase::SetSourceRoutes(std::unique_ptr<const rdma::SourceRoutes> paths)
{
    NS_LOG_FUNCTION(this);
    m_paths = std::move(paths);
    m_hears = static_cast<uint8_t>((m_hears & ~PATHS) | (m_paths ? PATHS : 0));
}

void
RdmaSwitchBase::SendAlong(uint16_t, const RdmaPort&, RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    Drop(nullptr, frame, NO_ROUTE, now);
}

bool
RdmaSwitchBase::TellArrival(const RdmaPort& port, RdmaFrame& frame, int64_t now)
{
    if (m_hears & PATHS)
    {
        const uint16_t way = m_paths->Find(frame.src, frame.dst);
        if (way != rdma::SourceRoutes::kNone)
        {
            SendAlong(way, port, &frame, now);
            return true;
        }
    }
    if (m_hears & FRAMES)
    {
        m_balancer->OnArrival(frame, port.GetPortIndex(), rdma::TimePoint(now));
    }
    if ((m_hears & FEEDBACK) && IsFeedback(frame.opcode))
    {
        m_balancer->OnFeedback(frame, port.GetPortIndex(), rdma::TimePoint(now));
    }
    return (m_hears & TAKES) && m_balancer->Take(&frame, port.GetPortIndex(), rdma::TimePoint(now));
}

bool
RdmaSwitchBase::Store(RdmaFrame* frame, uint16_t, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    Drop(nullptr, frame, NO_ROUTE, now);
    return false;
}

void
RdmaSwitchBase::Resume(RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    Drop(nullptr, frame, NO_ROUTE, now);
}

void
RdmaSwitchBase::PutBack(RdmaFrame* frame, uint16_t, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    Drop(nullptr, frame, NO_ROUTE, now);
}

void
RdmaSwitchBase::Originate(RdmaFrame* frame, uint16_t inPort, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << inPort << now);
    ++m_received; // so that what is received is what is forwarded, dropped and queued
    PutBack(frame, inPort, now);
}

void
RdmaSwitchBase::Consume(RdmaFrame* frame)
{
    NS_LOG_FUNCTION(this << frame);
    --m_received;
    RdmaFramePool::Get().Free(frame);
}

void
RdmaSwitchBase::SetPlace(RdmaPlace place)
{
    NS_LOG_FUNCTION(this);
    if (m_balancer)
    {
        m_balancer->OnPlace(std::move(place));
    }
}

std::string
RdmaSwitchBase::GetLoadBalancerName() const
{
    return m_balancer ? m_balancer->GetName() : m_unknown;
}

std::string
RdmaSwitchBase::CheckLoadBalancer(bool needed) const
{
    if (m_balancer || (m_unknown.empty() && !needed))
    {
        return {};
    }
    std::string names;
    std::vector<std::string> all;
    for (const auto& [known, type] : RdmaLoadBalancer::GetNames())
    {
        names += (names.empty() ? "" : ", ") + known;
        all.push_back(known);
    }
    const std::string nearest = rdma::NearestName(m_unknown, all);
    return GetInstanceTypeId().GetName() + "::LoadBalancer: '" + rdma::Shown(m_unknown, 60) +
           "' is unknown; allowed: " + names +
           (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

void
RdmaSwitchBase::OnRateChange(uint16_t)
{
    NS_LOG_FUNCTION(this);
}

RdmaFrame*
RdmaSwitchBase::Pull(RdmaPort*, uint8_t, int64_t)
{
    NS_LOG_FUNCTION(this);
    return nullptr;
}

void
RdmaSwitchBase::Mark(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now)
{
    frame->flags |= RdmaFrame::CE;
    ++port->Count().ecnMarks;
    m_markTrace(port, frame, queueBytes, now);
}

void
RdmaSwitchBase::Drop(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now)
{
    NS_LOG_INFO(m_name << " drops a frame: " << GetDropReasonName(reason));
    ++m_drops[reason];
    m_dropTrace(this, port, frame, reason, now);
    RdmaFramePool::Get().Free(frame);
}

RdmaLoadBalancer::Candidates
RdmaWays::Find(uint32_t endpoint) const
{
    return m_device.FindCandidates(endpoint);
}

} // namespace ns3
