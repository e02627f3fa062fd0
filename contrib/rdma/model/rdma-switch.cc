/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-switch.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/switch-chips.h"
#include "rdma-channel.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdlib>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwitch");

NS_OBJECT_ENSURE_REGISTERED(RdmaSwitch);

namespace
{

/// Of a buffer or a threshold (bytes): such that sums over all ports and priorities fit 64 bits.
constexpr uint64_t MOST_BUFFER = 1000000000000;

} // namespace

TypeId
RdmaSwitch::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaSwitch")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaSwitch>()
            .AddAttribute(
                "PipelineLatency",
                "From a frame's last bit in to its admission to the buffer (assumed 500 ns)",
                TimeValue(NanoSeconds(500)),
                MakeTimeAccessor(&RdmaSwitch::m_pipelineLatency),
                MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute("BufferPer100G",
                          "Shared buffer for each 100 Gb/s of port rate (bytes); HPCC artifact: 32 "
                          "MB over 3.2 Tb/s",
                          UintegerValue(1000000),
                          MakeUintegerAccessor(&RdmaSwitch::m_bufferPer100G),
                          MakeUintegerChecker<uint64_t>(1, MOST_BUFFER))
            .AddAttribute("BufferBytes",
                          "Shared buffer of the whole switch (bytes); 0: by Chip, or else by "
                          "BufferPer100G",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaSwitch::m_bufferBytes),
                          MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("Chip",
                          "Shared buffer of a well-known chip: trident2, trident3, tomahawk, "
                          "tomahawk2, tomahawk3, tomahawk4, spectrum, spectrum2 (their sources: "
                          "core/switch-chips.h); empty: none",
                          StringValue(""),
                          MakeStringAccessor(&RdmaSwitch::m_chip),
                          MakeStringChecker())
            .AddAttribute("BufferPolicy",
                          "Threshold of a queue: dynamic (alpha x what is free), static (alpha x "
                          "the pool) or abm (alpha x what is free, by drain rate and congested "
                          "queues); see core/buffer-policy.h",
                          StringValue(rdma::BufferPolicies().front().name),
                          MakeStringAccessor(&RdmaSwitch::m_policy),
                          MakeStringChecker())
            .AddAttribute(
                "Pfc",
                "Priority flow control on the lossless priorities; off: all priorities are lossy",
                BooleanValue(true),
                MakeBooleanAccessor(&RdmaSwitch::m_pfc),
                MakeBooleanChecker())
            .AddAttribute("LosslessPriorities",
                          "Bit p set: priority p is lossless (mask)",
                          UintegerValue(0x08),
                          MakeUintegerAccessor(&RdmaSwitch::m_losslessMask),
                          MakeUintegerChecker<uint8_t>())
            .AddAttribute("Alpha",
                          "Share of the free pool that a lossless (port, priority) may hold before "
                          "XOFF; HPCC artifact",
                          DoubleValue(1.0 / 8),
                          MakeDoubleAccessor(&RdmaSwitch::m_alpha),
                          MakeDoubleChecker<double>(0.0001, 64))
            .AddAttribute(
                "AlphaLossy",
                "Share of the free pool up to which a lossy egress queue may grow (assumed)",
                DoubleValue(1),
                MakeDoubleAccessor(&RdmaSwitch::m_alphaLossy),
                MakeDoubleChecker<double>(0.0001, 64))
            .AddAttribute("AlphaOfPriority",
                          "Alpha of some priorities instead of Alpha or AlphaLossy: 3:0.25,4:1",
                          StringValue(""),
                          MakeStringAccessor(&RdmaSwitch::m_alphaOfPriority),
                          MakeStringChecker())
            .AddAttribute(
                "GuaranteedBytes",
                "Guaranteed minimum of each lossless (port, priority) (bytes); HPCC artifact",
                UintegerValue(4096),
                MakeUintegerAccessor(&RdmaSwitch::m_guaranteedBytes),
                MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("XonOffset",
                          "XON this far below the XOFF threshold, but at least two of the largest "
                          "frames (bytes); HPCC artifact",
                          UintegerValue(3072),
                          MakeUintegerAccessor(&RdmaSwitch::m_xonOffset),
                          MakeUintegerChecker<uint64_t>(0, MOST_BUFFER))
            .AddAttribute("PauseQuanta",
                          "Length of a pause (512 bit times); refreshed after half of it while the "
                          "cause lasts",
                          UintegerValue(65535),
                          MakeUintegerAccessor(&RdmaSwitch::m_pauseQuanta),
                          MakeUintegerChecker<uint16_t>(64))
            .AddAttribute(
                "PfcWatchdogDetection",
                "A queue whose frames a pause holds for this long has a pause storm; 0: no "
                "watchdog. SONiC: 200 ms",
                TimeValue(Time(0)),
                MakeTimeAccessor(&RdmaSwitch::m_watchdogDetection),
                MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("PfcWatchdogRestoration",
                          "A storm is over this long after its last pause ended; 0: twice the "
                          "detection time, as SONiC has it",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaSwitch::m_watchdogRestoration),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute(
                "PfcWatchdogAction",
                "What becomes of a stormy queue's frames: drop, or forward in spite of "
                "the pause; SONiC: drop",
                EnumValue(PfcWatchdog::DROP),
                MakeEnumAccessor(&RdmaSwitch::m_watchdogAction),
                MakeEnumChecker(PfcWatchdog::DROP, "drop", PfcWatchdog::FORWARD, "forward"))
            .AddAttribute("Ecn",
                          "Mark ECN-capable frames by RED on the egress queue",
                          BooleanValue(true),
                          MakeBooleanAccessor(&RdmaSwitch::m_ecn),
                          MakeBooleanChecker())
            .AddAttribute("EcnMarkOnEnqueue",
                          "Look at the queue when a frame joins it instead of when it leaves",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaSwitch::m_markOnEnqueue),
                          MakeBooleanChecker())
            .AddAttribute("EcnBehind",
                          "At dequeue, look at the queue behind the frame: without its own bytes, "
                          "as HPCC's ns-3 code does",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaSwitch::m_markBehind),
                          MakeBooleanChecker())
            .AddAttribute("EcnBySojourn",
                          "Mark by how long a frame was queued instead of by the queue's bytes; "
                          "EcnKmin and EcnKmax stand for the time they take at 100 Gb/s",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaSwitch::m_markBySojourn),
                          MakeBooleanChecker())
            .AddAttribute("EcnKmin",
                          "Queue from which frames are marked, per 100 Gb/s (bytes); HPCC paper",
                          UintegerValue(rdma::EcnParameters().kmin.value),
                          MakeUintegerAccessor(&RdmaSwitch::m_ecnKmin),
                          MakeUintegerChecker<uint64_t>(0, MAX_THRESHOLD))
            .AddAttribute(
                "EcnKmax",
                "Queue from which all frames are marked, per 100 Gb/s (bytes); HPCC paper",
                UintegerValue(rdma::EcnParameters().kmax.value),
                MakeUintegerAccessor(&RdmaSwitch::m_ecnKmax),
                MakeUintegerChecker<uint64_t>(0, MAX_THRESHOLD))
            .AddAttribute("EcnPmax",
                          "Probability of a mark just below EcnKmax; HPCC artifact",
                          DoubleValue(rdma::EcnParameters().pmax),
                          MakeDoubleAccessor(&RdmaSwitch::m_ecnPmax),
                          MakeDoubleChecker<double>(0, 1))
            .AddTraceSource("Drop",
                            "A frame is dropped",
                            MakeTraceSourceAccessor(&RdmaSwitch::m_dropTrace),
                            "ns3::RdmaSwitch::DropTracedCallback")
            .AddTraceSource("EcnMark",
                            "A frame is marked with CE",
                            MakeTraceSourceAccessor(&RdmaSwitch::m_markTrace),
                            "ns3::RdmaSwitch::MarkTracedCallback")
            .AddTraceSource("Pfc",
                            "A pause or resume is sent upstream",
                            MakeTraceSourceAccessor(&RdmaSwitch::m_pfcTrace),
                            "ns3::RdmaSwitch::PfcTracedCallback")
            .AddTraceSource("PfcStorm",
                            "The PFC watchdog finds a pause storm, or its end",
                            MakeTraceSourceAccessor(&RdmaSwitch::m_stormTrace),
                            "ns3::RdmaSwitch::StormTracedCallback");
    return tid;
}

RdmaSwitch::RdmaSwitch()
    : m_random(CreateObject<UniformRandomVariable>()),
      m_refreshEvent(this)
{
}

RdmaSwitch::~RdmaSwitch() = default;

void
RdmaSwitch::DoDispose()
{
    m_watchdog.reset();
    m_ports.clear();
    m_random = nullptr;
    Object::DoDispose();
}

const char*
RdmaSwitch::GetDropReasonName(DropReason reason)
{
    static const char* names[] =
        {"no_route", "pool_full", "threshold", "headroom_full", "pfc_watchdog", "link_down"};
    return names[reason];
}

void
RdmaSwitch::SetName(std::string name)
{
    m_name = std::move(name);
}

uint16_t
RdmaSwitch::AddPort(Ptr<RdmaPort> port)
{
    const uint16_t index = static_cast<uint16_t>(m_ports.size());
    m_ports.push_back(port);
    port->SetUser(this, index);
    return index;
}

void
RdmaSwitch::SetRoutes(std::vector<uint16_t> groupOfEndpoint,
                      std::vector<std::vector<uint16_t>> groups)
{
    m_groupOfEndpoint = std::move(groupOfEndpoint);
    m_groups.clear();
    m_groupPorts.clear();
    for (const auto& group : groups)
    {
        m_groups.push_back(
            {static_cast<uint32_t>(m_groupPorts.size()), static_cast<uint32_t>(group.size())});
        m_groupPorts.insert(m_groupPorts.end(), group.begin(), group.end());
    }
}

std::string
RdmaSwitch::ConfigureBuffer(rdma::SharedBufferConfig& config) const
{
    config.losslessMask = m_pfc ? m_losslessMask : 0;
    config.guaranteedBytes = m_guaranteedBytes;
    config.alpha = m_alpha;
    config.alphaLossy = m_alphaLossy;
    const auto& policies = rdma::BufferPolicies();
    const auto policy =
        std::find_if(policies.begin(), policies.end(), [this](const rdma::BufferPolicyName& p) {
            return m_policy == p.name;
        });
    if (policy == policies.end())
    {
        std::string names;
        for (const rdma::BufferPolicyName& known : policies)
        {
            names += std::string(names.empty() ? "" : ", ") + known.name;
        }
        return "ns3::RdmaSwitch::BufferPolicy: '" + rdma::Shown(m_policy, 60) +
               "' is unknown; allowed: " + names;
    }
    config.policy = policy->policy;
    config.totalBytes = m_bufferBytes;
    if (m_bufferBytes == 0 && !m_chip.empty())
    {
        const rdma::SwitchChip* chip = rdma::FindSwitchChip(m_chip);
        if (!chip)
        {
            std::string names;
            for (const rdma::SwitchChip& known : rdma::SwitchChips())
            {
                names += std::string(names.empty() ? "" : ", ") + known.name;
            }
            return "ns3::RdmaSwitch::Chip: '" + rdma::Shown(m_chip, 60) +
                   "' is unknown; allowed: " + names;
        }
        config.totalBytes = chip->bufferBytes;
    }
    const char* at = m_alphaOfPriority.c_str();
    while (*at)
    {
        char* end;
        const unsigned long priority = std::strtoul(at, &end, 10);
        const bool colon = end == at + 1 && priority < RdmaPort::PRIORITIES && *end == ':';
        at = end + 1;
        const double alpha = colon ? std::strtod(at, &end) : 0;
        if (!(alpha >= 0.0001 && alpha <= 64) || end == at || (*end && *end != ','))
        {
            return "ns3::RdmaSwitch::AlphaOfPriority: '" + rdma::Shown(m_alphaOfPriority, 60) +
                   "'; allowed: a list of priority:alpha as 3:0.25,4:1, priorities 0 to 7, alphas "
                   "0.0001 to 64";
        }
        config.alphaOf[priority] = alpha;
        at = *end ? end + 1 : end;
    }
    return {};
}

std::string
RdmaSwitch::CheckEcn() const
{
    if (m_ecn && m_ecnKmin > m_ecnKmax)
    {
        return "ns3::RdmaSwitch::EcnKmin: " + std::to_string(m_ecnKmin) + " is above EcnKmax, " +
               std::to_string(m_ecnKmax);
    }
    if (m_ecn && m_markBySojourn && m_markOnEnqueue)
    {
        return "ns3::RdmaSwitch::EcnBySojourn: a frame's time in the queue is not known when it "
               "joins it; allowed: only without EcnMarkOnEnqueue";
    }
    return {};
}

rdma::EcnLaw
RdmaSwitch::MakeEcnLaw(rdma::BitRate rate) const
{
    if (!m_ecn)
    {
        return {};
    }
    // The attributes are for 100 Gb/s, where a byte takes 80 ps.
    if (m_markBySojourn)
    {
        return {rdma::Duration(static_cast<int64_t>(80 * m_ecnKmin)),
                rdma::Duration(static_cast<int64_t>(80 * m_ecnKmax)),
                m_ecnPmax};
    }
    return rdma::EcnLaw({rdma::ScaleToRate(rdma::Bytes(m_ecnKmin), rdma::Gbps(100), rate),
                         rdma::ScaleToRate(rdma::Bytes(m_ecnKmax), rdma::Gbps(100), rate),
                         m_ecnPmax});
}

std::string
RdmaSwitch::Start(uint32_t largestFrameBytes)
{
    const int64_t pipeline = m_pipelineLatency.GetPicoSeconds();
    rdma::SharedBufferConfig config;
    std::string error = ConfigureBuffer(config);
    if (!error.empty())
    {
        return m_name + ": " + error;
    }
    error = CheckEcn();
    if (!error.empty())
    {
        return m_name + ": " + error;
    }
    m_markWithout = m_markBehind ? UINT32_MAX : 0;
    config.xonOffset = std::max<uint64_t>(m_xonOffset, 2 * largestFrameBytes);
    double total = 0;
    m_lineOverhead = m_ports.front()->GetLineOverhead();
    for (const auto& port : m_ports)
    {
        if (port->GetLineOverhead() != m_lineOverhead)
        {
            return m_name + ": ns3::RdmaPort::LineOverhead is not the same at all ports";
        }
        port->SetReceiveLatency(pipeline);
        const double scale = static_cast<double>(port->GetRate()) / 100e9;
        total += scale * static_cast<double>(m_bufferPer100G);
        config.headroomBytes.push_back(
            m_pfc ? rdma::HeadroomBytes(rdma::BitRate(port->GetRate()),
                                        rdma::Duration(port->GetDelayPs()),
                                        rdma::Duration(pipeline),
                                        rdma::Duration(port->GetPeer()->GetPauseResponsePs()),
                                        rdma::Bytes(largestFrameBytes),
                                        rdma::Duration(port->GetTransmitTimeUnitPs()))
                            .value *
                        static_cast<uint64_t>(__builtin_popcount(m_losslessMask))
                  : 0);
        config.portRates.push_back(port->GetRate());
        m_ecnLaws.push_back(MakeEcnLaw(rdma::BitRate(port->GetRate())));
    }
    if (config.totalBytes == 0)
    {
        config.totalBytes = static_cast<uint64_t>(total);
    }
    error = rdma::SharedBuffer::WhyNot(config);
    if (!error.empty())
    {
        return m_name + ": " + error +
               "; what decides: ns3::RdmaSwitch::BufferBytes, BufferPer100G, Chip, "
               "GuaranteedBytes, PipelineLatency, ns3::RdmaPort::PauseResponse, InterfaceDelay "
               "and the delays of its links";
    }
    m_buffer = rdma::SharedBuffer(config);
    if (m_watchdogDetection.IsStrictlyPositive())
    {
        const int64_t detection = m_watchdogDetection.GetPicoSeconds();
        const int64_t restoration = m_watchdogRestoration.GetPicoSeconds();
        m_watchdog = std::make_unique<PfcWatchdog>(
            m_ports,
            PfcWatchdog::Config{detection,
                                restoration ? restoration : 2 * detection,
                                m_watchdogAction},
            [this](RdmaPort* port, uint8_t priority, bool begins, int64_t now) {
                m_stormTrace(port, priority, begins, now);
            },
            [this](RdmaPort* port, RdmaFrame* frame, int64_t now) {
                DropQueued(port, frame, PFC_WATCHDOG, now);
            });
    }
    return {};
}

int64_t
RdmaSwitch::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    // A seed of its own for ECMP, from the same stream, so that two switches do not split the same
    // flows alike.
    m_hashSeed = m_random->GetInteger(0, UINT32_MAX);
    return 1;
}

// Data plane -------------------------------------------------------------------------------------

void
RdmaSwitch::OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now)
{
    ++m_received;
    // A datagram may be for an endpoint that does not exist.
    const uint16_t group = frame->dst < m_groupOfEndpoint.size() ? m_groupOfEndpoint[frame->dst]
                                                                 : rdma::EcmpRoutes::kNoGroup;
    if (group == rdma::EcmpRoutes::kNoGroup)
    {
        Drop(nullptr, frame, NO_ROUTE, now);
        return;
    }
    const Group& choices = m_groups[group];
    const uint16_t index = m_groupPorts
        [choices.first +
         (choices.size == 1 ? 0 : rdma::EcmpPick(frame->flowHash, m_hashSeed, choices.size))];
    RdmaPort* egress = PeekPointer(m_ports[index]);
    if (m_watchdog && m_watchdog->IsDropping(index, frame->priority))
    {
        Drop(egress, frame, PFC_WATCHDOG, now);
        return;
    }
    const uint64_t queueBytes = egress->GetQueueBytes(frame->priority);
    const uint32_t bytes = FrameBytes(frame);
    switch (m_buffer.Admit(port->GetPortIndex(), frame->priority, bytes, queueBytes, index, now))
    {
    case rdma::SharedBuffer::Verdict::kStored:
        break;
    case rdma::SharedBuffer::Verdict::kStoredSendXoff:
        Pause(port, frame->priority, true, now);
        break;
    case rdma::SharedBuffer::Verdict::kDropPoolFull:
        Drop(egress, frame, POOL_FULL, now);
        return;
    case rdma::SharedBuffer::Verdict::kDropThreshold:
        Drop(egress, frame, THRESHOLD, now);
        return;
    case rdma::SharedBuffer::Verdict::kDropHeadroomFull:
        Drop(egress, frame, HEADROOM_FULL, now);
        return;
    }
    frame->inPort = port->GetPortIndex();
    frame->time = now; // queued since
    if (frame->extra && frame->extra->journey)
    {
        frame->extra->journey->Join(egress, *frame, now);
    }
    if (m_markOnEnqueue && (frame->flags & RdmaFrame::ECT) && Marks(index, queueBytes))
    {
        frame->flags |= RdmaFrame::CE;
        ++egress->GetCounters().ecnMarks;
        m_markTrace(egress, frame, queueBytes, now);
    }
    if (!m_watchdog)
    {
        egress->Enqueue(frame, now);
        return;
    }
    const uint8_t priority = frame->priority; // it may be gone at once
    egress->Enqueue(frame, now);
    m_watchdog->OnQueued(egress, priority, now);
}

void
RdmaSwitch::OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now)
{
    if (frame->inPort == UINT16_MAX) // ordinary traffic of this node itself
    {
        return;
    }
    ++m_forwarded;
    const uint16_t index = port->GetPortIndex();
    const uint32_t bytes = FrameBytes(frame);
    uint64_t length = queueBytes - (bytes & m_markWithout);
    if (m_markBySojourn)
    {
        // At a resolution coarser than ps a frame may be sent a moment "before" it came.
        length = static_cast<uint64_t>(std::max<int64_t>(0, now - frame->time));
    }
    if (length >= m_ecnLaws[index].Kmin() && !m_markOnEnqueue && (frame->flags & RdmaFrame::ECT) &&
        Marks(index, length))
    {
        frame->flags |= RdmaFrame::CE;
        ++port->GetCounters().ecnMarks;
        m_markTrace(port, frame, queueBytes, now);
    }
    if (frame->extra)
    {
        NoteLeaving(*port, *frame, now);
    }
    if (m_buffer.Release(frame->inPort, frame->priority, bytes, index, now))
    {
        Pause(PeekPointer(m_ports[frame->inPort]), frame->priority, false, now);
    }
}

RdmaFrame*
RdmaSwitch::Pull(RdmaPort*, uint8_t, int64_t)
{
    return nullptr;
}

void
RdmaSwitch::Drop(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now)
{
    NS_LOG_INFO(m_name << " drops a frame: " << GetDropReasonName(reason));
    ++m_drops[reason];
    m_dropTrace(this, port, frame, reason, now);
    RdmaFramePool::Get().Free(frame);
}

void
RdmaSwitch::DropQueued(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now)
{
    if (frame->inPort == UINT16_MAX) // ordinary traffic of this node itself: not in the buffer
    {
        RdmaFramePool::Get().Free(frame);
        return;
    }
    RdmaPort* ingress = PeekPointer(m_ports[frame->inPort]);
    const uint8_t priority = frame->priority;
    const bool resume =
        m_buffer.Release(frame->inPort, priority, FrameBytes(frame), port->GetPortIndex(), now);
    Drop(port, frame, reason, now);
    if (resume)
    {
        Pause(ingress, priority, false, now);
    }
}

void
RdmaSwitch::OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now)
{
    while (!frames.IsEmpty())
    {
        DropQueued(port, frames.PopFront(), LINK_DOWN, now);
    }
}

uint8_t
RdmaSwitch::GetPausing(const RdmaPort* port) const
{
    uint8_t mask = 0;
    for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
    {
        mask |= m_buffer.IsPaused(port->GetPortIndex(), p) ? 1U << p : 0;
    }
    return mask;
}

void
RdmaSwitch::Pause(RdmaPort* port, uint8_t priority, bool pause, int64_t now)
{
    m_pfcTrace(port, priority, pause, m_buffer.StoredOf(port->GetPortIndex(), priority), now);
    port->SendPause(static_cast<uint8_t>(1U << priority), pause ? m_pauseQuanta : 0, now);
    if (!pause)
    {
        --m_pausedUpstreams;
        return;
    }
    ++m_pausedUpstreams;
    if (!m_refreshPending)
    {
        ScheduleRefresh(now);
    }
}

void
RdmaSwitch::ScheduleRefresh(int64_t now)
{
    // Half of the shortest pause (the fastest port's), so that a refresh is there before any of
    // them runs out.
    uint64_t fastest = 1;
    for (const auto& port : m_ports)
    {
        fastest = std::max(fastest, port->GetRate());
    }
    m_refreshPending = true;
    m_refreshEvent.ScheduleAt(
        now + static_cast<int64_t>(256e12 * m_pauseQuanta / static_cast<double>(fastest)),
        m_ports.front()->GetNode()->GetId());
}

void
RdmaSwitch::OnRefresh()
{
    m_refreshPending = false;
    if (m_pausedUpstreams == 0)
    {
        return; // sleeps until the next pause
    }
    const int64_t now = RdmaClock::Now();
    for (const auto& port : m_ports)
    {
        if (const uint8_t mask = GetPausing(PeekPointer(port)))
        {
            port->SendPause(mask, m_pauseQuanta, now);
        }
    }
    ScheduleRefresh(now);
}

} // namespace ns3
