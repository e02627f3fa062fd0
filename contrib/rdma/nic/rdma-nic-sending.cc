/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A NIC's turns: which queue pair sends next, and what goes out besides.
 */
#include "contrib/rdma/core/flow-hash.h"
#include "rdma-late-cnps.h"
#include "rdma-nic-limits.h"
#include "rdma-nic-scan.h"
#include "rdma-nic.h"
#include "rdma-packets.h"
#include "rdma-pull-queue.h"
#include "rdma-queue-pair-verbs.h"

#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/rng-seed-manager.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNicSending");

void
RdmaNic::UpdatePullMask()
{
    m_port->SetPullMask(m_readyMask | m_preparedMask | m_packetMask | m_sharedMask);
}

void
RdmaNic::SendBy(Ptr<RdmaPort> port, bool shared, std::vector<RdmaPort*> spread)
{
    NS_LOG_FUNCTION(this << port << shared << spread.size());
    m_port = std::move(port);
    m_sharedMask = shared ? 0xff : 0;
    m_spread = std::move(spread);
    m_isOther = m_scan || !m_spread.empty();
    UpdatePullMask();
}

RdmaPort*
RdmaNic::PortOf(const RdmaQueuePair& qp) const
{
    return m_spread[rdma::Mix64(uint64_t{m_endpoint} << 32 | qp.GetNumber()) % m_spread.size()];
}

uint8_t
RdmaNic::BringForward(uint8_t mask)
{
    uint8_t found = 0;
    for (uint8_t left = mask; left; left &= left - 1)
    {
        const auto priority = static_cast<uint8_t>(__builtin_ctz(left));
        Ready& ready = m_ready[priority];
        RdmaQueuePair* before = nullptr;
        RdmaQueuePair* qp = ready.head;
        while (qp && PortOf(*qp) != m_pulling)
        {
            before = std::exchange(qp, qp->m_requester.m_nextReady);
        }
        found |= qp ? 1U << priority : 0;
        if (qp && before)
        {
            before->m_requester.m_nextReady = qp->m_requester.m_nextReady;
            ready.tail = ready.tail == qp ? before : ready.tail;
            qp->m_requester.m_nextReady = std::exchange(ready.head, qp);
        }
    }
    return found;
}

void
RdmaNic::ActivateOther(RdmaQueuePair* qp, int64_t now)
{
    if (m_scan)
    {
        m_scan->Activate(qp, now);
        return;
    }
    if (qp->m_requester.m_schedule == RdmaRequester::Schedule::IDLE && qp->CanSend())
    {
        if (qp->m_requester.m_sender->clock)
        {
            qp->m_requester.NoteWindow(now);
        }
        PushReady(qp);
        PortOf(*qp)->Kick(now);
    }
}

void
RdmaNic::PushReady(RdmaQueuePair* qp)
{
    Ready& ready = m_ready[qp->m_priority];
    qp->m_requester.m_schedule = RdmaRequester::Schedule::READY;
    qp->m_requester.m_nextReady = nullptr;
    if (ready.head)
    {
        ready.tail->m_requester.m_nextReady = qp;
    }
    else
    {
        ready.head = qp;
        m_readyMask |= 1U << qp->m_priority;
        UpdatePullMask();
    }
    ready.tail = qp;
}

RdmaQueuePair*
RdmaNic::PopReady(uint8_t priority)
{
    Ready& ready = m_ready[priority];
    RdmaQueuePair* qp = ready.head;
    ready.head = qp->m_requester.m_nextReady;
    if (!ready.head)
    {
        m_readyMask &= ~(1U << priority);
        UpdatePullMask();
        return qp;
    }
    PrefetchTurns(ready.head); // while this one's packet is made
    return qp;
}

namespace
{

/// The earliest on top; ties by index, so that runs repeat.
constexpr auto THROTTLED_LATER = [](const auto& a, const auto& b) {
    return a.at != b.at ? a.at > b.at : a.index > b.index;
};

} // namespace

void
RdmaNic::Throttle(RdmaQueuePair* qp, int64_t now)
{
    qp->m_requester.m_schedule = RdmaRequester::Schedule::THROTTLED;
    NS_LOG_LOGIC("endpoint " << m_endpoint << ": queue pair " << qp->GetNumber()
                             << " waits for its rate until " << qp->m_requester.m_sender->nextSend
                             << " ps");
    // Its rate may rise by itself before: then the rest of the wait is shorter.
    const int64_t update = qp->m_requester.m_sender->cc.nextUpdate > now
                               ? qp->m_requester.m_sender->cc.nextUpdate
                               : qp->m_requester.m_sender->nextSend;
    m_throttled.push_back({std::min(qp->m_requester.m_sender->nextSend, update),
                           qp->m_index,
                           ++qp->m_requester.m_throttleGeneration,
                           qp});
    std::push_heap(m_throttled.begin(), m_throttled.end(), THROTTLED_LATER);
}

void
RdmaNic::Rethrottle(RdmaQueuePair* qp, int64_t now)
{
    m_throttled.push_back({std::max(qp->m_requester.m_sender->nextSend, now),
                           qp->m_index,
                           ++qp->m_requester.m_throttleGeneration,
                           qp});
    std::push_heap(m_throttled.begin(), m_throttled.end(), THROTTLED_LATER);
    WakeForThrottled(now);
}

void
RdmaNic::ReleaseThrottled(int64_t now)
{
    while (!m_throttled.empty() && m_throttled.front().at <= now)
    {
        RdmaQueuePair* qp = m_throttled.front().qp;
        const bool valid = m_throttled.front().generation == qp->m_requester.m_throttleGeneration;
        std::pop_heap(m_throttled.begin(), m_throttled.end(), THROTTLED_LATER);
        m_throttled.pop_back();
        if (valid)
        {
            PushReady(qp);
        }
    }
}

void
RdmaNic::WakeForThrottled(int64_t now)
{
    if (m_throttled.empty())
    {
        return;
    }
    // While the port is busy an entry may wait for it longer than for its rate.
    const int64_t at = std::max(m_throttled.front().at, now);
    if (at < m_wakeDue)
    {
        m_wakeDue = at;
        m_wakeEvent.ScheduleAt(m_wakeDue, m_port->GetContext());
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
    if (m_scan)
    {
        m_port->Kick(due);
        return;
    }
    // Released here and not left to Pull: the port may be busy, and what stays in the heap would
    // wake us again at once.
    ReleaseThrottled(due);
    if (m_limits)
    {
        m_limits->Prepare(m_port->GetPausedMask(), due);
    }
    m_port->Kick(due);
    for (RdmaPort* port : m_spread)
    {
        port->Kick(due);
    }
    WakeForThrottled(due);
}

void
RdmaNic::Activate(RdmaQueuePair* qp, int64_t now)
{
    if (m_isOther)
    {
        ActivateOther(qp, now);
        return;
    }
    if (qp->m_requester.m_schedule == RdmaRequester::Schedule::IDLE && qp->CanSend())
    {
        if (qp->m_requester.m_sender->clock)
        {
            qp->m_requester.NoteWindow(now);
        }
        PushReady(qp);
        if (m_limits)
        {
            m_limits->Prepare(m_port->GetPausedMask(), now);
        }
        m_port->Kick(now);
    }
}

RdmaFrame*
RdmaNic::PullPairs(uint8_t pausedMask, int64_t now)
{
    NS_LOG_FUNCTION(this << pausedMask << now);
    return m_limits     ? m_limits->Pull(pausedMask, now)
           : !m_isOther ? Choose<false>(pausedMask, now)
           : m_scan     ? m_scan->Pull(pausedMask, now)
                        : Choose<false, true>(pausedMask, now);
}

RdmaFrame*
RdmaNic::Pull(RdmaPort*, uint8_t pausedMask, int64_t now)
{
    NS_LOG_FUNCTION(this << pausedMask << now);
    if (__builtin_expect(m_takesTurns, 0))
    {
        return m_turns ? m_turns->Pull(pausedMask, now) : m_packets->Pull(pausedMask, now);
    }
    return PullPairs(pausedMask, now);
}

std::string
RdmaNic::SetPackets(Ptr<RdmaPackets> packets)
{
    NS_LOG_FUNCTION(this << packets);
    if (m_paths || m_port->GetCredits())
    {
        return m_port->GetName() +
               ": ordinary packets (TCP, UDP) on InfiniBand, where they would be IPoIB's; allowed: "
               "on Ethernet";
    }
    if (m_scan)
    {
        return "ns3::RdmaNic::Scheduling: 'scan' has no ordinary packets beside it; allowed with "
               "these: round-robin";
    }
    if (m_port->GetUser() != this)
    {
        return m_port->GetName() +
               ": ordinary packets (TCP, UDP) do not move to other ports of a bond; allowed: at "
               "ports that are not bonded";
    }
    if (m_packets)
    {
        return m_port->GetName() + ": it has ordinary packets already; allowed: once";
    }
    m_packets = packets;
    return {};
}

Ptr<RdmaPackets>
RdmaNic::GetPackets() const
{
    return m_packets;
}

uint8_t
RdmaNic::GetReadyPairs(int64_t now)
{
    if (m_limits)
    {
        return m_preparedMask;
    }
    if (!m_spread.empty())
    {
        return BringForward(m_readyMask);
    }
    ReleaseThrottled(now);
    return m_readyMask;
}

void
RdmaNic::WakePairs(int64_t now)
{
    NS_LOG_FUNCTION(this << now);
    if (!m_limits)
    {
        WakeForThrottled(now);
    }
}

template <bool Limited, bool Spread>
RdmaFrame*
RdmaNic::Choose(uint8_t pausedMask, int64_t now)
{
    // Of a NIC that is spread some go by ports that nobody asks now: OnWake asks all.
    if (!Spread && !m_throttled.empty())
    {
        ReleaseThrottled(now);
    }
    for (;;)
    {
        uint8_t mask = m_readyMask & ~pausedMask;
        if constexpr (Spread)
        {
            mask = BringForward(mask);
        }
        if (!mask)
        {
            WakeForThrottled(now);
            return nullptr;
        }
        uint8_t priority = 31 - __builtin_clz(mask);
        if constexpr (Limited)
        {
            priority = m_turns ? m_turns->PickPrepared(mask, pausedMask) : priority;
            if (priority == RdmaNicTurns::NOBODY)
            {
                return nullptr;
            }
        }
        RdmaQueuePair* qp = PopReady(priority);
        qp->m_requester.m_schedule = RdmaRequester::Schedule::IDLE;
        if (!qp->CanSend())
        {
            continue;
        }
        if (qp->m_requester.m_sender->nextSend > now)
        {
            qp->m_requester.UpdateIfDue(now);
            if (qp->m_requester.m_sender->nextSend > now)
            {
                Throttle(qp, now);
                continue;
            }
        }
        if constexpr (Limited)
        {
            const int64_t slot =
                qp->m_requester.StartsMessage()
                    ? m_limits->MessageSlot(qp->m_index, qp->m_requester.m_sender->nextPsn, now)
                    : now;
            if (slot > now && qp->m_respond)
            {
                qp->m_verbs->responder.responseNext = true; // READ responses do not wait for it
            }
            else if (slot > now)
            {
                qp->m_requester.m_sender->nextSend = slot;
                Throttle(qp, now);
                continue;
            }
        }
        RdmaFrame* frame = qp->MakeFrame(now);
        if constexpr (Limited)
        {
            frame->time = m_limits->PreparedAt(qp->m_index, frame->payload, now);
            if (m_turns)
            {
                m_turns->Charge(*frame);
            }
        }
        if (qp->CanSend())
        {
            if (qp->m_requester.m_sender->nextSend >
                now + m_port->GetSerialization(frame->wireBytes))
            {
                Throttle(qp, now);
            }
            else
            {
                PushReady(qp);
            }
        }
        else if (qp->m_requester.m_sender->clock)
        {
            qp->m_requester.NoteWindow(now + m_port->GetSerialization(frame->wireBytes));
        }
        if (Spread || !(m_readyMask & ~pausedMask))
        {
            WakeForThrottled(now); // those that are ready may be at another port
        }
        return frame;
    }
}

template RdmaFrame* RdmaNic::Choose<true>(uint8_t pausedMask, int64_t now);

void
RdmaNic::SendControl(RdmaQueuePair* qp, Answer answer, int64_t now, RdmaFrame* data)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes =
        answer.opcode == RdmaOpcode::CNP ? qp->m_sizes->cnpWire : qp->m_sizes->ackWire;
    if (IsNdpAnswer(answer.opcode) || answer.opcode == RdmaOpcode::REQUEST_TO_SEND)
    {
        frame->wireBytes += rdma::kNdpAnswerBytes - rdma::kAethBytes;
    }
    frame->src = m_endpoint;
    frame->dst = qp->m_peerEndpoint;
    frame->destQp = qp->m_peerNumber;
    frame->psn = answer.psn;
    frame->SetLabel(answer.label);
    frame->route = qp->m_route;
    frame->aux = answer.msn;
    frame->dmaLength = answer.syndrome;
    frame->payload = 0;
    frame->inPort = 0;
    frame->opcode = answer.opcode;
    frame->flags = answer.flags;
    if (m_paths) // a response takes the service level of its request (9.6.1.1)
    {
        frame->priority = qp->m_priority;
        frame->serviceLevel = qp->m_dscp;
    }
    else
    {
        const uint8_t own = answer.opcode == RdmaOpcode::CNP        ? m_cnpPriority
                            : answer.opcode == RdmaOpcode::NDP_PULL ? GetPullPriority()
                                                                    : m_ackPriority;
        frame->priority = own == QUEUE_PAIRS ? qp->m_priority : own;
        frame->dscp = m_dscpOfPriority[frame->priority];
    }
    if (data && (qp->m_needs & (RdmaQueuePair::ECHOES | RdmaQueuePair::ENTROPY)))
    {
        Echo(qp, data, frame);
    }
    m_port->Enqueue(frame, now);
}

void
RdmaNic::SendCnp(RdmaQueuePair* qp, uint32_t label, int64_t now)
{
    if (m_lateCnps)
    {
        m_lateCnps->Add(qp->GetNumber(), label, now);
        return;
    }
    ++m_counters.cnpsSent;
    SendControl(qp, {RdmaOpcode::CNP, 0, 0, 0, 0, label}, now);
}

int64_t
RdmaNic::DrawJitter()
{
    const auto most = static_cast<uint64_t>(m_paceJitter.GetPicoSeconds());
    if (most == 0)
    {
        return 0;
    }
    if (m_jitterDraws == 0)
    {
        m_jitterDraws = rdma::Mix64(
            (uint64_t{RngSeedManager::GetSeed()} << 32 ^ RngSeedManager::GetRun()) + m_endpoint);
    }
    m_jitterDraws += 0x9e3779b97f4a7c15ULL;
    return static_cast<int64_t>(rdma::Mix64(m_jitterDraws) % (most + 1));
}

RdmaPullQueue&
RdmaNic::GetPulls()
{
    if (!m_pulls)
    {
        m_pulls = std::make_unique<RdmaPullQueue>(this);
    }
    return *m_pulls;
}

Object*
RdmaNic::GetTransportParameters(const RdmaTransportScheme& scheme)
{
    // Only the scheme of the attribute has any: go-back-N, which others agree on, has none, and
    // those of classes have none (RdmaFabricBuilder::CheckClasses).
    if (!scheme.makeParameters)
    {
        return nullptr;
    }
    if (!m_transportParameters)
    {
        m_transportParameters = scheme.makeParameters();
    }
    return PeekPointer(m_transportParameters);
}

const char*
RdmaNic::GetWaitedFor() const
{
    const RdmaTransportScheme& scheme = GetTransportScheme();
    const Ptr<Object> parameters = scheme.makeParameters ? scheme.makeParameters() : nullptr;
    return scheme.waitsFor ? scheme.waitsFor(PeekPointer(parameters)) : nullptr;
}

void
RdmaNic::Echo(const RdmaQueuePair* qp, RdmaFrame* data, RdmaFrame* ack)
{
    if ((qp->m_needs & (RdmaCongestionOps::ECN_ECHO | RdmaQueuePair::ENTROPY)) &&
        (data->flags & RdmaFrame::CE))
    {
        ack->flags |= RdmaFrame::ECN_ECHO;
    }
    if (qp->m_needs & RdmaQueuePair::ENTROPY)
    {
        // The answer takes the path that it tells of, not the flow's: else a link that fails on the
        // flow's own path loses every ACK of it, and none by the paths that work comes back.
        ack->route = qp->m_route.WithEntropy(static_cast<uint16_t>(data->route.GetKey()));
        ack->dmaLength |=
            RdmaFrame::ECHOES_ENTROPY | (data->route.GetKey() & RdmaRoute::ENTROPY_MASK)
                                            << RdmaFrame::ENTROPY_SHIFT;
    }
    if (!data->extra || !data->extra->hasTelemetry)
    {
        return;
    }
    if (data->extra->journey) // stays with the message
    {
        ack->extra = RdmaFramePool::Get().AllocateExtra();
        ack->extra->hasTelemetry = true;
        ack->extra->telemetry = data->extra->telemetry;
    }
    else
    {
        ack->extra = data->extra;
        ack->extra->rank = 0;
        data->extra = nullptr;
    }
    ack->extra->telemetry.collects = false;
}

} // namespace ns3
