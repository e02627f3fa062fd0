/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "none-congestion-ops.h"
#include "rdma-selective-repeat.h"

#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNic");

NS_OBJECT_ENSURE_REGISTERED(RdmaNic);

namespace
{

constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

constexpr uint32_t ACK_WIRE_BYTES = RdmaFrame::DATA_OVERHEAD_BYTES + rdma::kAethBytes;
constexpr uint32_t CNP_WIRE_BYTES = RdmaFrame::DATA_OVERHEAD_BYTES + rdma::kCnpReservedBytes;

} // namespace

TypeId
RdmaNic::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaNic")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaNic>()
            .AddAttribute("Mtu",
                          "Payload of a full packet: 256, 512, 1024, 2048 or 4096 (bytes)",
                          UintegerValue(4096),
                          MakeUintegerAccessor(&RdmaNic::m_mtu),
                          MakeUintegerChecker<uint32_t>(256, 4096))
            .AddAttribute(
                "AckEvery",
                "Request an ACK with every n-th packet, besides the last of each message (packets)",
                UintegerValue(16),
                MakeUintegerAccessor(&RdmaNic::m_ackEvery),
                MakeUintegerChecker<uint32_t>(1, 1 << 20))
            .AddAttribute("ControlPriority",
                          "Priority of ACKs, NAKs and CNPs (0 to 7)",
                          UintegerValue(6),
                          MakeUintegerAccessor(&RdmaNic::m_controlPriority),
                          MakeUintegerChecker<uint8_t>(0, 7))
            .AddAttribute("TimeoutExponent",
                          "Local ACK time-out 4.096 us x 2^n; 0: none (InfiniBand Architecture 1, "
                          "9.7.6.1.3); 14: a common default "
                          "of drivers",
                          UintegerValue(14),
                          MakeUintegerAccessor(&RdmaNic::m_timeoutExponent),
                          MakeUintegerChecker<uint32_t>(0, 31))
            .AddAttribute("RetryCount",
                          "Time-outs in a row without progress before the queue pair fails",
                          UintegerValue(7),
                          MakeUintegerAccessor(&RdmaNic::m_retryCount),
                          MakeUintegerChecker<uint32_t>(0, 7))
            .AddAttribute("Window",
                          "Most unacknowledged payload of a queue pair, whatever its congestion "
                          "control says (bytes); 0: no limit",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_windowBytes),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("InitialPsn",
                          "First PSN of every queue pair (24 bits)",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_initialPsn),
                          MakeUintegerChecker<uint32_t>(0, 0xffffff))
            .AddAttribute(
                "LossRecovery",
                "How queue pairs recover from loss; selective repeat as IRN (Mittal et "
                "al., SIGCOMM 2018), of connections whose both ends have it",
                EnumValue(GO_BACK_N),
                MakeEnumAccessor(&RdmaNic::m_lossRecovery),
                MakeEnumChecker(GO_BACK_N, "go-back-n", SELECTIVE_REPEAT, "selective-repeat"))
            .AddAttribute("BdpCap",
                          "Selective repeat: most packets in flight of a queue pair (IRN's "
                          "BDP-FC); 0: line rate times the base round-trip time to the farthest "
                          "host, over a full packet",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNic::m_bdpCap),
                          MakeUintegerChecker<uint64_t>(0, RdmaQueuePair::MAX_OUTSTANDING))
            .AddAttribute("RtoLow",
                          "Selective repeat: time-out while at most RtoLowPackets are in flight "
                          "(IRN, 4.1: 100 us)",
                          TimeValue(MicroSeconds(100)),
                          MakeTimeAccessor(&RdmaNic::m_rtoLow),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddAttribute("RtoHigh",
                          "Selective repeat: time-out otherwise (IRN, 4.1: 320 us, its longest "
                          "round trip with one full switch buffer on the way)",
                          TimeValue(MicroSeconds(320)),
                          MakeTimeAccessor(&RdmaNic::m_rtoHigh),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddAttribute("RtoLowPackets",
                          "Selective repeat: most packets in flight for RtoLow (IRN, 4.1: N = 3)",
                          UintegerValue(3),
                          MakeUintegerAccessor(&RdmaNic::m_rtoLowPackets),
                          MakeUintegerChecker<uint32_t>())
            .AddTraceSource("Post",
                            "A work request is posted",
                            MakeTraceSourceAccessor(&RdmaNic::m_postTrace),
                            "ns3::RdmaNic::PostTracedCallback")
            .AddTraceSource("Completion",
                            "A work request is acknowledged whole, or failed",
                            MakeTraceSourceAccessor(&RdmaNic::m_completionTrace),
                            "ns3::RdmaNic::CompletionTracedCallback")
            .AddTraceSource("Message",
                            "A message has arrived whole, at the receiver",
                            MakeTraceSourceAccessor(&RdmaNic::m_messageTrace),
                            "ns3::RdmaNic::MessageTracedCallback")
            .AddTraceSource(
                "GoBack",
                "The sender goes back to this PSN after a NAK or a time-out: all behind "
                "it goes again, or under selective repeat what is lost",
                MakeTraceSourceAccessor(&RdmaNic::m_goBackTrace),
                "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("Timeout",
                            "The oldest unacknowledged packet, this PSN, timed out",
                            MakeTraceSourceAccessor(&RdmaNic::m_timeoutTrace),
                            "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("Error",
                            "The queue pair fails: the packet of this PSN was retried in vain",
                            MakeTraceSourceAccessor(&RdmaNic::m_errorTrace),
                            "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("CnpReceived",
                            "A CNP arrived at the sender of data; its next PSN",
                            MakeTraceSourceAccessor(&RdmaNic::m_cnpTrace),
                            "ns3::RdmaNic::PsnTracedCallback")
            .AddTraceSource("Rate",
                            "The congestion control's sending rate changed (bit/s on the wire)",
                            MakeTraceSourceAccessor(&RdmaNic::m_rateTrace),
                            "ns3::RdmaNic::RateTracedCallback");
    return tid;
}

RdmaNic::RdmaNic()
    : m_wakeDue(NEVER),
      m_wakeEvent(this)
{
}

RdmaNic::~RdmaNic() = default;

void
RdmaNic::DoDispose()
{
    m_qps.clear();
    m_throttled.clear();
    m_port = nullptr;
    m_prototype = nullptr;
    Object::DoDispose();
}

void
RdmaNic::Attach(Ptr<RdmaPort> port, uint32_t endpoint)
{
    NS_ABORT_MSG_IF(m_mtu & (m_mtu - 1), "RdmaNic::Mtu is not 256, 512, 1024, 2048 or 4096");
    m_port = port;
    m_endpoint = endpoint;
    port->SetUser(this, 0);
    m_timeoutPs = m_timeoutExponent ? 4096000LL << m_timeoutExponent : 0;
    if (!m_prototype)
    {
        m_prototype = CreateObject<NoneCongestionOps>();
    }
}

void
RdmaNic::SetUser(RdmaNicUser* user)
{
    m_user = user;
}

void
RdmaNic::SetCongestionOps(Ptr<RdmaCongestionOps> prototype)
{
    m_prototype = prototype;
}

RdmaQueuePair*
RdmaNic::CreateQueuePair(uint8_t priority)
{
    NS_ABORT_MSG_IF(priority >= RdmaPort::PRIORITIES, "no such priority");
    // QP 0 and 1 are special (InfiniBand Architecture 1, 3.9); ours start at 2.
    const uint32_t number = static_cast<uint32_t>(m_qps.size()) + 2;
    NS_ABORT_MSG_IF(number > 0xffffff, "a NIC has at most 2^24 queue pairs");
    Ptr<RdmaQueuePair> qp(new RdmaQueuePair(this, number, m_prototype->Fork()), false);
    qp->m_priority = priority;
    qp->m_nextPsn = qp->m_endPsn = qp->m_ackedPsn = qp->m_highestPsn = qp->m_expectedPsn =
        m_initialPsn;
    qp->m_cc.line = rdma::BitRate(m_port->GetRate());
    qp->m_cc.mtu = m_mtu;
    qp->m_ops->Init(qp->m_cc);
    if (m_windowBytes)
    {
        qp->m_cc.windowBytes = std::min(qp->m_cc.windowBytes, m_windowBytes);
    }
    qp->m_needs = qp->m_ops->GetNeeds();
    qp->UpdateRate(RdmaClock::Now()); // the first packet is paced too
    m_qps.push_back(qp);
    return PeekPointer(qp);
}

void
RdmaNic::Connect(RdmaQueuePair* a, RdmaQueuePair* b)
{
    const auto connect = [](RdmaQueuePair* from, RdmaQueuePair* to) {
        from->m_peerNumber = to->m_number;
        from->m_peerEndpoint = to->m_nic->m_endpoint;
        // The same addresses and ports as in captures; see rdma-pcap.
        from->m_flowHash = rdma::FlowHash({from->m_nic->m_endpoint,
                                           to->m_nic->m_endpoint,
                                           rdma::RoceSourcePort(from->m_number, to->m_number)});
        from->m_expectedPsn = to->m_nextPsn;
    };
    connect(a, b);
    connect(b, a);
    if (a->m_nic->m_lossRecovery != SELECTIVE_REPEAT ||
        b->m_nic->m_lossRecovery != SELECTIVE_REPEAT)
    {
        return;
    }
    const auto select = [](RdmaQueuePair* qp, RdmaQueuePair* peer) {
        RdmaNic* nic = qp->m_nic;
        qp->m_maxOutstanding = nic->GetBdpCap();
        qp->m_needs |= RdmaCongestionOps::ACK_PER_PACKET; // the cap has no room for waiting ACKs
        qp->m_selective = std::make_unique<RdmaSelectiveRepeat>(
            qp->m_nextPsn,
            nic->GetBdpCap(),
            qp->m_expectedPsn,
            peer->m_nic->GetBdpCap(),
            RdmaSelectiveRepeat::Timeouts{nic->m_rtoLow.GetPicoSeconds(),
                                          nic->m_rtoHigh.GetPicoSeconds(),
                                          nic->m_rtoLowPackets});
    };
    select(a, b);
    select(b, a);
}

void
RdmaNic::ConnectRemote(RdmaQueuePair* qp, const RdmaRemoteQueuePair& peer)
{
    RdmaNic* nic = qp->m_nic;
    qp->m_peerNumber = peer.number;
    qp->m_peerEndpoint = peer.endpoint;
    qp->m_flowHash = rdma::FlowHash(
        {nic->m_endpoint, peer.endpoint, rdma::RoceSourcePort(qp->m_number, peer.number)});
    qp->m_expectedPsn = peer.initialPsn;
    if (nic->m_lossRecovery != SELECTIVE_REPEAT || !peer.selectiveRepeat)
    {
        return;
    }
    qp->m_maxOutstanding = nic->GetBdpCap();
    qp->m_needs |= RdmaCongestionOps::ACK_PER_PACKET;
    qp->m_selective = std::make_unique<RdmaSelectiveRepeat>(
        qp->m_nextPsn,
        nic->GetBdpCap(),
        qp->m_expectedPsn,
        peer.bdpCap,
        RdmaSelectiveRepeat::Timeouts{nic->m_rtoLow.GetPicoSeconds(),
                                      nic->m_rtoHigh.GetPicoSeconds(),
                                      nic->m_rtoLowPackets});
}

uint64_t
RdmaNic::GetBdpCap()
{
    if (!m_bdpCap)
    {
        m_bdpCap = std::min(RdmaSelectiveRepeat::ComputeBdpCap(PeekPointer(m_port), m_mtu),
                            RdmaQueuePair::MAX_OUTSTANDING);
    }
    return m_bdpCap;
}

// Sending ----------------------------------------------------------------------------------------

void
RdmaNic::PushReady(RdmaQueuePair* qp)
{
    Ready& ready = m_ready[qp->m_priority];
    qp->m_schedule = RdmaQueuePair::Schedule::READY;
    qp->m_nextReady = nullptr;
    if (ready.head)
    {
        ready.tail->m_nextReady = qp;
    }
    else
    {
        ready.head = qp;
        m_readyMask |= 1U << qp->m_priority;
        m_port->SetPullMask(m_readyMask);
    }
    ready.tail = qp;
}

RdmaQueuePair*
RdmaNic::PopReady(uint8_t priority)
{
    Ready& ready = m_ready[priority];
    RdmaQueuePair* qp = ready.head;
    ready.head = qp->m_nextReady;
    if (!ready.head)
    {
        m_readyMask &= ~(1U << priority);
        m_port->SetPullMask(m_readyMask);
    }
    return qp;
}

namespace
{

/// The earliest on top; ties by number, so that runs repeat.
constexpr auto LATER = [](const auto& a, const auto& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
};

} // namespace

void
RdmaNic::Throttle(RdmaQueuePair* qp, int64_t now)
{
    qp->m_schedule = RdmaQueuePair::Schedule::THROTTLED;
    // Its rate may rise by itself before: then the rest of the wait is shorter.
    const int64_t update = qp->m_cc.nextUpdate > now ? qp->m_cc.nextUpdate : qp->m_nextSend;
    m_throttled.push_back({std::min(qp->m_nextSend, update), qp->m_number, qp});
    std::push_heap(m_throttled.begin(), m_throttled.end(), LATER);
}

void
RdmaNic::ReleaseThrottled(int64_t now)
{
    while (!m_throttled.empty() && m_throttled.front().at <= now)
    {
        RdmaQueuePair* qp = m_throttled.front().qp;
        std::pop_heap(m_throttled.begin(), m_throttled.end(), LATER);
        m_throttled.pop_back();
        PushReady(qp);
    }
}

void
RdmaNic::WakeForThrottled()
{
    if (!m_throttled.empty() && m_throttled.front().at < m_wakeDue)
    {
        m_wakeDue = m_throttled.front().at;
        m_wakeEvent.ScheduleAt(m_wakeDue, m_port->GetNode()->GetId());
    }
}

void
RdmaNic::OnWake()
{
    const int64_t due = m_wakeDue;
    if (due > RdmaClock::Now())
    {
        return; // an event for a later wake-up than the one that overtook it
    }
    m_wakeDue = NEVER;
    // Released here and not left to Pull: the port may be busy, and what stays in the heap would
    // wake us again at once.
    ReleaseThrottled(due);
    m_port->Kick(due);
    WakeForThrottled();
}

void
RdmaNic::Activate(RdmaQueuePair* qp, int64_t now)
{
    if (qp->m_schedule == RdmaQueuePair::Schedule::IDLE && qp->CanSend())
    {
        PushReady(qp);
        m_port->Kick(now);
    }
}

RdmaFrame*
RdmaNic::Pull(RdmaPort* port, uint8_t pausedMask, int64_t now)
{
    if (!m_throttled.empty())
    {
        ReleaseThrottled(now);
    }
    for (;;)
    {
        const uint8_t mask = m_readyMask & ~pausedMask;
        if (!mask)
        {
            WakeForThrottled();
            return nullptr;
        }
        RdmaQueuePair* qp = PopReady(31 - __builtin_clz(mask));
        qp->m_schedule = RdmaQueuePair::Schedule::IDLE;
        if (!qp->CanSend())
        {
            continue;
        }
        if (qp->m_nextSend > now)
        {
            qp->UpdateIfDue(now);
            if (qp->m_nextSend > now)
            {
                Throttle(qp, now);
                continue;
            }
        }
        RdmaFrame* frame = qp->MakeFrame(now);
        if (qp->CanSend())
        {
            if (qp->m_nextSend > now + port->GetSerialization(frame->wireBytes))
            {
                Throttle(qp, now);
            }
            else
            {
                PushReady(qp);
            }
        }
        if (!(m_readyMask & ~pausedMask))
        {
            WakeForThrottled();
        }
        return frame;
    }
}

void
RdmaNic::SendControl(RdmaQueuePair* qp,
                     RdmaOpcode opcode,
                     uint8_t flags,
                     uint32_t psn,
                     uint32_t msn,
                     int64_t now)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes = opcode == RdmaOpcode::CNP ? CNP_WIRE_BYTES : ACK_WIRE_BYTES;
    frame->src = m_endpoint;
    frame->dst = qp->m_peerEndpoint;
    frame->flowHash = qp->m_flowHash;
    frame->destQp = qp->m_peerNumber;
    frame->psn = psn;
    frame->aux = msn;
    frame->dmaLength = 0;
    frame->payload = 0;
    frame->inPort = 0;
    frame->opcode = opcode;
    frame->priority = m_controlPriority;
    frame->flags = flags;
    frame->classEnable = 0;
    m_port->Enqueue(frame, now);
}

// Receiving --------------------------------------------------------------------------------------

void
RdmaNic::OnFrame(RdmaPort*, RdmaFrame* frame, int64_t now)
{
    const uint32_t index = frame->destQp - 2;
    NS_ASSERT_MSG(index < m_qps.size() && frame->dst == m_endpoint, "a frame for nobody");
    RdmaQueuePair* qp = PeekPointer(m_qps[index]);
    if (IsData(frame->opcode))
    {
        qp->OnData(frame, now);
    }
    else if (frame->opcode == RdmaOpcode::ACKNOWLEDGE)
    {
        qp->OnAcknowledge(frame, now);
    }
    else
    {
        qp->OnCnp(now);
    }
    RdmaFramePool::Get().Free(frame);
}

void
RdmaNic::OnDequeue(RdmaPort*, RdmaFrame*, uint64_t, int64_t)
{
    // Control frames of a NIC wait in host memory: there is no buffer to account for.
}

} // namespace ns3
