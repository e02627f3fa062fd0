/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-queue-pair.h"

#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic-scan.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"
#include "rdma-selective-repeat.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaQueuePair");

RdmaQueuePair::RdmaQueuePair(RdmaNic* nic, uint32_t number)
    : m_nic(nic),
      m_number(number),
      m_timer(this)
{
}

RdmaQueuePair::~RdmaQueuePair()
{
    if (m_profile && IsSending())
    {
        delete m_sender;
    }
}

RdmaNicUser*
RdmaQueuePair::GetUser() const
{
    return m_user ? m_user : m_nic->m_user;
}

// Rest -------------------------------------------------------------------------------------------

void
RdmaQueuePair::Sender::Begin(const SenderNumbers& idle)
{
    static_cast<SenderNumbers&>(*this) = idle;
    requests.clear();
    if (clock) // its sums count from anywhere
    {
        std::vector<RdmaSenderClock::Base> bases = std::move(clock->bases);
        bases.clear();
        *clock = RdmaSenderClock();
        clock->bases = std::move(bases);
    }
}

void
RdmaQueuePair::BeginSending()
{
    auto& resting = m_nic->m_restingSenders;
    if (resting.empty())
    {
        resting.push_back(std::make_unique<Sender>());
    }
    m_sender = resting.back().release();
    resting.pop_back();
    Sender& s = *m_sender;
    s.Begin(m_profile->idle);
    // All that was ever posted is acknowledged.
    s.nextPsn = s.sendEnd = s.ackedPsn = s.highestPsn = m_endPsn;
    s.sentBytes = s.ackedBytes = m_postedBytes;
    s.cc.bytesSent = s.cc.sentPosition = s.cc.ackedPosition = m_postedBytes;
    if (!m_profile->quiet)
    {
        OwnCongestionOps();
    }
}

void
RdmaQueuePair::RestIfDone()
{
    const Sender& s = *m_sender;
    const Sender& idle = m_profile->idle;
    if (s.ackedPsn != m_endPsn || m_sender == &idle || m_ops != m_profile->ops || m_verbs ||
        m_respond || m_state == State::ERROR || m_schedule != Schedule::IDLE || m_nic->m_scan)
    {
        return;
    }
    // Nothing but what has been posted may have to be remembered.
    if (s.nextPsn != m_endPsn || s.highestPsn != m_endPsn || s.first != s.requests.size() ||
        s.nextSend || s.lastWire || s.ratePaced != idle.ratePaced ||
        s.windowTold != idle.windowTold || s.cc.rateBps != idle.cc.rateBps ||
        s.cc.windowBytes != idle.cc.windowBytes || s.cc.bytesSent != m_postedBytes)
    {
        return;
    }
    if (s.clock && (s.clock->windowSince >= 0 || s.clock->first < s.clock->bases.size()))
    {
        return;
    }
    m_nic->m_restingSenders.emplace_back(m_sender);
    m_sender = &m_profile->idle;
}

void
RdmaQueuePair::OwnCongestionOps()
{
    if (m_ops == m_profile->ops)
    {
        m_ops = m_nic->m_prototype->Fork();
        RdmaCongestionState state = m_profile->before;
        m_ops->Init(state); // what it sets of the state is in the sender
    }
}

Ptr<RdmaCongestionOps>
RdmaQueuePair::GetCongestionOps()
{
    OwnCongestionOps();
    return m_ops;
}

// Requester --------------------------------------------------------------------------------------

RdmaPostResult
RdmaQueuePair::PostWrite(uint64_t bytes, uint64_t id)
{
    RdmaSendRequest request;
    request.id = id;
    request.bytes = bytes;
    return Post(request);
}

RdmaPostResult
RdmaQueuePair::PostWriteWithImmediate(uint64_t bytes, uint64_t id, uint32_t immediate)
{
    RdmaSendRequest request;
    request.id = id;
    request.bytes = bytes;
    request.hasImmediate = true;
    request.immediate = immediate;
    return Post(request);
}

RdmaPostResult
RdmaQueuePair::PostSend(uint64_t bytes, uint64_t id)
{
    RdmaSendRequest request;
    request.id = id;
    request.operation = RdmaOperation::SEND;
    request.bytes = bytes;
    return Post(request);
}

RdmaPostResult
RdmaQueuePair::PostRead(uint64_t bytes, uint64_t id)
{
    RdmaSendRequest request;
    request.id = id;
    request.operation = RdmaOperation::READ;
    request.bytes = bytes;
    return Post(request);
}

RdmaPostResult
RdmaQueuePair::Post(const RdmaSendRequest& posted)
{
    if (m_verbs || posted.operation != RdmaOperation::WRITE ||
        m_state < State::READY_TO_SEND) // a plain WRITE has nothing to check
    {
        const RdmaPostResult result = CheckPost(posted);
        if (result != RdmaPostResult::POSTED)
        {
            return result;
        }
        if (GetTransport() == RdmaTransport::UD)
        {
            return PostDatagram(posted);
        }
    }
    const uint32_t mtu = m_nic->m_mtu;
    RdmaWorkRequest request(posted, RdmaClock::Now());
    request.firstPsn = m_endPsn;
    request.packets = std::max<uint64_t>(1, (posted.bytes + mtu - 1) / mtu);
    request.firstByte = m_postedBytes;
    m_nic->m_postTrace(this, request);
    if (m_state == State::ERROR)
    {
        Complete(request, RdmaStatus::FLUSHED, request.posted);
        return RdmaPostResult::POSTED;
    }
    Send();
    if (m_nic->m_journeys && request.operation != RdmaOperation::READ)
    {
        StartClock(request.posted);
    }
    m_sender->requests.push_back(request);
    m_endPsn += request.packets;
    m_postedBytes += request.BytesIn(request.packets, mtu);
    if (m_verbs || request.operation == RdmaOperation::READ)
    {
        AddRead(request);
        UpdateSendEnd();
    }
    else
    {
        m_sender->sendEnd = m_endPsn;
    }
    m_nic->Activate(this, request.posted);
    return RdmaPostResult::POSTED;
}

RdmaFrame*
RdmaQueuePair::NewFrame(RdmaOpcode opcode, uint64_t psn, uint32_t wireBytes, uint8_t flags)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes = wireBytes;
    frame->src = m_nic->m_endpoint;
    frame->dst = m_peerEndpoint;
    frame->flowHash = m_flowHash;
    frame->destQp = m_peerNumber;
    frame->psn = rdma::WirePsn(psn);
    frame->aux = 0;
    frame->dmaLength = 0;
    frame->payload = 0;
    frame->inPort = 0;
    frame->opcode = opcode;
    frame->priority = m_priority;
    frame->flags = flags;
    frame->dscp = m_dscp;
    return frame;
}

RdmaFrame*
RdmaQueuePair::MakeFrame(int64_t now)
{
    Sender& own = *m_sender;
    UpdateIfDue(now);
    if (m_respond && (!CanSendRequest() || m_verbs->responseNext))
    {
        return MakeResponse(now);
    }
    if (m_verbs)
    {
        m_verbs->responseNext = true;
        if (m_verbs->transport == RdmaTransport::UD)
        {
            return MakeDatagram(now);
        }
    }
    const RdmaWorkRequest& request = own.requests[own.cursor];
    if (request.operation == RdmaOperation::READ)
    {
        return MakeReadRequest(request, now);
    }
    const uint32_t mtu = m_nic->m_mtu;
    const uint64_t index = own.nextPsn - request.firstPsn;
    const uint64_t offset = index * mtu;
    const uint32_t payload = static_cast<uint32_t>(std::min<uint64_t>(mtu, request.bytes - offset));
    const rdma::FrameSizes& sizes = m_nic->m_sizes;
    const uint64_t inRequest = offset & (sizes.requestBytes - 1);
    const bool endOfPost = index + 1 == request.packets;
    const bool first = inRequest == 0;
    const bool last = endOfPost || inRequest + mtu == sizes.requestBytes;
    const bool immediate = endOfPost && request.hasImmediate;
    const bool send = request.operation == RdmaOperation::SEND;
    const auto opcode = static_cast<RdmaOpcode>(send ? rdma::SendOpcode(first, last, immediate)
                                                     : rdma::WriteOpcode(first, last, immediate));

    // Padded to 4 bytes (BTH PadCnt).
    uint32_t wire = sizes.dataOverhead + ((payload + sizes.padMask) & ~sizes.padMask) +
                    (first && !send ? sizes.rethBytes : 0) + (immediate ? sizes.immediateBytes : 0);
    if (send) // an empty one is shorter than Ethernet's least frame
    {
        wire = std::max(wire, sizes.leastWire);
    }
    RdmaFrame* frame = NewFrame(opcode, own.nextPsn, wire, RdmaFrame::ECT);
    frame->payload = static_cast<uint16_t>(payload);
    if (m_needs & (RdmaCongestionOps::TIME_STAMP | RdmaCongestionOps::TELEMETRY))
    {
        frame->extra = RdmaFramePool::Get().AllocateExtra();
        frame->extra->hasTelemetry = true;
        frame->extra->telemetry.Start(now, m_needs & RdmaCongestionOps::TELEMETRY);
    }
    if (first && !send)
    {
        frame->dmaLength =
            static_cast<uint32_t>(std::min(MAX_REQUEST_BYTES, request.bytes - offset));
    }
    if (immediate)
    {
        frame->aux = request.immediate;
    }

    RdmaNicCounters& counters = m_nic->m_counters;
    ++counters.dataPackets;
    counters.dataBytes += payload;
    if (own.nextPsn < own.highestPsn)
    {
        frame->flags |= RdmaFrame::RETRANSMITTED;
        ++counters.retransmittedPackets;
        if (own.clock)
        {
            ++own.clock->retransmitted;
        }
        if (m_selective)
        {
            m_selective->OnRetransmitted(own.nextPsn);
        }
    }
    if (own.nextPsn == own.ackedPsn) // nothing was outstanding
    {
        ArmTimer(now);
    }
    ++own.nextPsn;
    own.highestPsn = std::max(own.highestPsn, own.nextPsn);
    own.sentBytes += payload;
    if (endOfPost)
    {
        if (own.clock)
        {
            StartJourney(*frame, request, now);
        }
        ++own.cursor;
        frame->flags |= RdmaFrame::END_OF_POST;
    }
    if (own.nextPsn < own.highestPsn && m_selective)
    {
        SeekToLost();
    }
    // The last packet that window or PSN space allow must ask for an ACK too, or the queue pair
    // would wait for its time-out.
    const uint32_t ackEvery = (m_needs & RdmaCongestionOps::ACK_PER_PACKET) ? 1 : m_nic->m_ackEvery;
    own.cc.bytesSent += payload;
    if (endOfPost || own.nextPsn % ackEvery == 0 || !CanSendRequest())
    {
        frame->flags |= RdmaFrame::ACK_REQUEST;
    }
    Sent(payload, wire, now);
    return frame;
}

void
RdmaQueuePair::Sent(uint32_t payload, uint32_t wireBytes, int64_t now)
{
    Sender& own = *m_sender;
    if (m_needs & RdmaCongestionOps::ON_SEND)
    {
        own.cc.bytesInFlight = own.sentBytes - own.ackedBytes;
        own.cc.sentPosition = own.sentBytes;
        m_ops->OnSend(own.cc, payload, now);
        UpdateRate(now);
    }
    if (own.psPerByte > 0)
    {
        own.nextSend = now + (m_nic->m_timeUnit > 1
                                  ? GetGap(wireBytes, own.ratePaced) // as the port cuts its times
                                  : static_cast<int64_t>(own.psPerByte * wireBytes + 0.5));
        own.lastWire = wireBytes;
    }
    if (own.clock)
    {
        const int64_t line = m_nic->m_port->GetSerialization(wireBytes);
        own.clock->line += line;
        own.clock->throttled += std::max<int64_t>(0, own.nextSend - now - line);
    }
}

int64_t
RdmaQueuePair::GetGap(uint32_t wireBytes, uint64_t rateBps) const
{
    return rdma::SerializationTime(rdma::Bytes(wireBytes),
                                   rdma::BitRate(rateBps),
                                   rdma::Duration(m_nic->m_timeUnit))
        .ps;
}

// Journeys ---------------------------------------------------------------------------------------

RdmaSenderClock::Base
RdmaQueuePair::ReadClock(int64_t now) const
{
    RdmaSenderClock::Base base;
    base.line = m_sender->clock->line;
    base.paused = m_nic->m_port->GetPausedPs(m_priority, now);
    base.throttled = m_sender->clock->throttled;
    base.window = m_sender->clock->window;
    base.retransmitted = m_sender->clock->retransmitted;
    return base;
}

void
RdmaQueuePair::StartClock(int64_t now)
{
    Sender& own = *m_sender;
    if (!own.clock)
    {
        own.clock = std::make_unique<RdmaSenderClock>();
    }
    own.clock->bases.push_back(ReadClock(now));
    if (own.nextSend > now) // the pace of what was sent before is still to be waited for
    {
        own.clock->bases.back().throttled -= own.nextSend - now;
    }
}

void
RdmaQueuePair::NoteWindow(int64_t now)
{
    Sender& own = *m_sender;
    const bool closed = own.nextPsn < own.sendEnd && !CanSendRequest();
    if (closed && own.clock->windowSince < 0)
    {
        own.clock->windowSince = now;
    }
    else if (!closed && own.clock->windowSince >= 0)
    {
        own.clock->window += std::max<int64_t>(0, now - own.clock->windowSince);
        own.clock->windowSince = -1;
    }
}

void
RdmaQueuePair::StartJourney(RdmaFrame& frame, const RdmaWorkRequest& request, int64_t now)
{
    const RdmaSenderClock::Base here = ReadClock(now);
    RdmaSenderClock::Base base;
    if (!(frame.flags & RdmaFrame::RETRANSMITTED) &&
        m_sender->clock->first < m_sender->clock->bases.size())
    {
        base = m_sender->clock->lastBase = m_sender->clock->bases[m_sender->clock->first++];
        if (m_sender->clock->first * 2 > m_sender->clock->bases.size())
        {
            m_sender->clock->bases.erase(m_sender->clock->bases.begin(),
                                         m_sender->clock->bases.begin() +
                                             static_cast<std::ptrdiff_t>(m_sender->clock->first));
            m_sender->clock->first = 0;
        }
        m_sender->clock->lastPsn = request.firstPsn;
    }
    else
    {
        // One goes again: of those before the last how it began is forgotten.
        base = request.firstPsn == m_sender->clock->lastPsn ? m_sender->clock->lastBase : here;
    }
    auto journey = std::make_unique<RdmaJourney>();
    journey->resolver = m_nic->m_journeys;
    journey->nic = PeekPointer(m_nic->m_port);
    journey->posted = request.posted;
    journey->started = now;
    journey->wireBytes = frame.wireBytes;
    int64_t left = now - request.posted;
    const auto take = [&left](int64_t share) {
        share = std::min(std::max<int64_t>(share, 0), left);
        left -= share;
        return share;
    };
    // All packets but the last are full, and the first is longer by an RETH.
    const rdma::FrameSizes& sizes = m_nic->m_sizes;
    const uint64_t others = request.packets - 1;
    const int64_t full = m_nic->m_port->GetSerialization(
        sizes.DataWire(rdma::RoceOpcode::kWriteMiddle, m_nic->m_mtu));
    const int64_t first = m_nic->m_port->GetSerialization(
        sizes.DataWire(request.operation == RdmaOperation::SEND ? rdma::RoceOpcode::kSendFirst
                                                                : rdma::RoceOpcode::kWriteFirst,
                       m_nic->m_mtu));
    const int64_t own = others ? first + full * static_cast<int64_t>(others - 1) : 0;
    journey->ownPackets = take(own);
    journey->backlog = take(here.line - base.line - own);
    journey->nicPaused = take(here.paused - base.paused);
    journey->throttled = take(here.throttled - base.throttled);
    journey->window = take(here.window - base.window);
    (here.retransmitted > base.retransmitted ? journey->repeating : journey->others) = left;
    if (!frame.extra)
    {
        frame.extra = RdmaFramePool::Get().AllocateExtra();
    }
    frame.extra->journey = std::move(journey);
}

double
RdmaQueuePair::GetPace(const RdmaNic& nic, const RdmaCongestionState& cc)
{
    return cc.rateBps == 0 || (cc.rateBps >= cc.port.bps && !nic.m_scan)
               ? 0
               : 8e12 / static_cast<double>(cc.rateBps);
}

void
RdmaQueuePair::ChangeRate(int64_t now)
{
    const uint64_t rateBefore = m_sender->ratePaced;
    m_sender->ratePaced = m_sender->cc.rateBps;
    const double before = m_sender->psPerByte;
    m_sender->psPerByte = GetPace(*m_nic, m_sender->cc);
    int64_t next = m_sender->nextSend;
    switch (m_sender->cc.repace)
    {
    case RdmaCongestionState::Repace::SHORTEN:
        // Not lengthened by a cut: the packet before went at the rate that held then.
        if (m_sender->nextSend > now && m_sender->psPerByte < before)
        {
            next = now + static_cast<int64_t>(static_cast<double>(m_sender->nextSend - now) *
                                              (m_sender->psPerByte / before));
        }
        break;
    case RdmaCongestionState::Repace::KEEP:
        break;
    case RdmaCongestionState::Repace::SHIFT:
        if (m_sender->lastWire)
        {
            next += GetGap(m_sender->lastWire, m_sender->ratePaced) -
                    GetGap(m_sender->lastWire, rateBefore);
        }
        break;
    }
    const bool sooner = next < m_sender->nextSend;
    m_sender->nextSend = next;
    if (m_nic->m_scan && m_sender->cc.repace == RdmaCongestionState::Repace::SHIFT)
    {
        m_nic->m_scan->OnShift(next, now);
    }
    else if (sooner && m_schedule == Schedule::THROTTLED)
    {
        m_nic->Rethrottle(this, now);
    }
    if (m_nic->m_variableWindow && m_nic->m_windowBytes)
    {
        m_sender->cc.windowBytes = m_nic->GetWindowAt(m_sender->cc.rateBps);
    }
    m_nic->m_rateTrace(this, m_sender->cc.rateBps, now);
}

void
RdmaQueuePair::TellWindow(int64_t now)
{
    m_sender->windowTold = m_sender->cc.windowBytes;
    m_nic->m_windowTrace(this, m_sender->windowTold, now);
}

void
RdmaQueuePair::OnAcknowledge(RdmaFrame* frame, int64_t now)
{
    if (m_state == State::ERROR || m_state < State::READY_TO_SEND)
    {
        return;
    }
    Send();
    // An ACK names the last packet received, a NAK the one expected: both acknowledge all before.
    const bool nak = frame->flags & RdmaFrame::NAK;
    uint64_t psn = rdma::ExtendPsn(frame->psn, m_sender->ackedPsn) + (nak ? 0 : 1);
    if (frame->flags & (RdmaFrame::RNR_NAK | RdmaFrame::FATAL_NAK))
    {
        OnRareNak(*frame, now);
        return;
    }
    if (psn > m_sender->highestPsn || psn < m_sender->ackedPsn)
    {
        return; // of a packet already acknowledged, overtaken by a later ACK
    }
    const uint64_t expected = psn; // by the responder
    if (psn > m_sender->readBarrier)
    {
        psn = HoldBack(psn);
    }
    if (m_selective)
    {
        if (nak) // its MSN field is the PSN that came out of order
        {
            const uint64_t came = rdma::ExtendPsn(frame->aux, m_sender->ackedPsn);
            if (came >= m_sender->highestPsn)
            {
                // Never sent: a NAK to a former connection of this queue pair.
            }
            else if (m_sender->readBarrier != NO_READ && IsOfRead(came))
            {
                m_selective->OnLostBefore(came); // its response may still be to come
            }
            else
            {
                m_selective->OnSack(came);
            }
        }
        if (!Acknowledge(psn, now, frame))
        {
            return;
        }
        if (nak && m_sender->highestPsn > m_sender->ackedPsn)
        {
            if (m_selective->IsRecovering())
            {
                SeekToLost();
            }
            else
            {
                OwnCongestionOps();
                m_ops->OnNack(m_sender->cc, now);
                Recover(false, std::max(m_sender->ackedPsn, expected), now);
            }
        }
        UpdateRate(now);
        m_nic->Activate(this, now);
        return;
    }
    if (!Acknowledge(psn, now, frame))
    {
        return;
    }
    if (nak && m_sender->nextPsn > m_sender->ackedPsn)
    {
        OwnCongestionOps();
        m_ops->OnNack(m_sender->cc, now);
        GoBack(now);
    }
    UpdateRate(now);
    m_nic->Activate(this, now);
}

bool
RdmaQueuePair::Acknowledge(uint64_t upTo, int64_t now, const RdmaFrame* ack)
{
    Sender& own = *m_sender;
    if (upTo == own.ackedPsn)
    {
        return true;
    }
    own.ackedPsn = upTo;
    own.retries = 0;
    if (m_verbs)
    {
        m_verbs->rnrRetries = 0;
    }
    own.timerStart = now;
    const uint64_t before = own.ackedBytes;
    // The requests this completes; the position in the byte stream comes from the one it stops in.
    own.ackedBytes = m_postedBytes;
    while (own.first < own.requests.size())
    {
        const RdmaWorkRequest& request = own.requests[own.first];
        if (request.firstPsn + request.packets > upTo)
        {
            own.ackedBytes =
                request.firstByte + request.BytesIn(upTo - request.firstPsn, m_nic->m_mtu);
            break;
        }
        ++own.first;
    }
    if (own.nextPsn < upTo) // went back, and the ACK was for what had been sent before
    {
        own.nextPsn = upTo;
        own.sentBytes = own.ackedBytes;
        own.cursor = own.first;
    }
    if (m_selective)
    {
        m_selective->OnCumulative(upTo, now);
        SeekToLost();
        if (own.highestPsn > own.ackedPsn)
        {
            ArmTimer(now);
        }
    }
    own.cc.bytesInFlight = own.sentBytes - own.ackedBytes;
    own.cc.sentPosition = own.sentBytes;
    own.cc.ackedPosition = own.ackedBytes;
    RdmaAckInfo info;
    info.bytesAcked = own.ackedBytes - before;
    if (ack && (m_needs & ECHOES))
    {
        info.ecnEcho = ack->flags & RdmaFrame::ECN_ECHO;
        if (ack->extra && ack->extra->hasTelemetry)
        {
            info.rtt = now - ack->extra->telemetry.sent;
            info.telemetry = &ack->extra->telemetry;
        }
    }
    if (info.ecnEcho)
    {
        OwnCongestionOps();
    }
    m_ops->OnAck(own.cc, info, now);
    // Told last: whoever hears of it may post again, which appends to the requests.
    const uint32_t resets = m_resets;
    TellCompleted(now);
    if (m_resets != resets)
    {
        return false;
    }
    if (own.first == own.requests.size())
    {
        own.requests.clear();
        own.first = own.told = own.cursor = 0;
    }
    else if (own.first >= 64 && own.first * 2 >= own.requests.size())
    {
        own.requests.erase(own.requests.begin(),
                           own.requests.begin() + static_cast<std::ptrdiff_t>(own.first));
        own.cursor -= own.first;
        own.first = own.told = 0;
    }
    return m_state != State::ERROR;
}

void
RdmaQueuePair::TellCompleted(int64_t now)
{
    // A RESET clears the requests, and both indices with them.
    const uint32_t resets = m_resets;
    while (m_resets == resets && m_sender->told < m_sender->first)
    {
        const RdmaWorkRequest request = m_sender->requests[m_sender->told++];
        Complete(request, RdmaStatus::SUCCESS, now);
    }
}

void
RdmaQueuePair::Complete(const RdmaWorkRequest& request, RdmaStatus status, int64_t now)
{
    m_nic->m_completionTrace(this, request, status, now);
    if (RdmaNicUser* user = GetUser())
    {
        user->OnCompletion(this, request, status, now);
    }
    if (m_verbs)
    {
        Report(request, status, now);
    }
}

void
RdmaQueuePair::GoBack(int64_t now)
{
    m_nic->m_goBackTrace(this, m_sender->ackedPsn, now);
    m_sender->nextPsn = m_sender->ackedPsn;
    m_sender->sentBytes = m_sender->ackedBytes;
    m_sender->cursor = m_sender->first;
}

void
RdmaQueuePair::OnCnp(int64_t now)
{
    ++m_nic->m_counters.cnpsReceived;
    Send();
    m_nic->m_cnpTrace(this, m_sender->nextPsn, now);
    if (!CanReceive())
    {
        return;
    }
    OwnCongestionOps();
    m_ops->OnCnp(m_sender->cc, now);
    UpdateRate(now);
}

void
RdmaQueuePair::ArmTimer(int64_t now)
{
    m_sender->timerStart = now;
    int64_t timeout = m_timeoutPs;
    if (m_selective)
    {
        timeout = m_selective->GetLeastTimeout();
        if (m_sender->highestPsn == m_sender->ackedPsn) // the first packet after idling
        {
            m_selective->lastProgress = now;
        }
    }
    if (!m_timerPending && timeout)
    {
        m_timerPending = true;
        m_timer.ScheduleAt(now + timeout, m_nic->m_port->GetNode()->GetId());
    }
}

void
RdmaQueuePair::OnTimer()
{
    m_timerPending = false;
    if (!IsSending() || m_sender->nextPsn == m_sender->ackedPsn || m_state == State::ERROR)
    {
        return; // sleeps until something is outstanding again
    }
    const int64_t now = RdmaClock::Now();
    // Under selective repeat the time-out may become the shorter one while the event is pending;
    // never less than the least from then on, though.
    const int64_t due =
        m_sender->timerStart +
        (m_selective ? m_selective->GetTimeout(m_sender->highestPsn - m_sender->ackedPsn)
                     : m_timeoutPs);
    if (now < due)
    {
        m_timerPending = true;
        m_timer.ScheduleAt(m_selective ? std::min(due, now + m_selective->GetLeastTimeout()) : due,
                           m_nic->m_port->GetNode()->GetId());
        return;
    }
    ++m_nic->m_counters.timeouts;
    m_nic->m_timeoutTrace(this, m_sender->ackedPsn, now);
    if (RetriesExceeded(now))
    {
        Fail(RdmaStatus::RETRY_EXCEEDED, now);
        return;
    }
    OwnCongestionOps();
    m_ops->OnTimeout(m_sender->cc, now);
    UpdateRate(now);
    if (m_selective)
    {
        Recover(true, m_sender->ackedPsn, now);
    }
    else
    {
        GoBack(now);
    }
    m_nic->Activate(this, now);
}

bool
RdmaQueuePair::RetriesExceeded(int64_t now)
{
    if (!m_selective)
    {
        return ++m_sender->retries > m_retryCount;
    }
    // RtoLow and RtoHigh are estimates of a round trip, not the local ACK time-out: that one is
    // counted in time, so that both recoveries give up equally late.
    const int64_t patience = m_timeoutPs * (m_retryCount + 1);
    return patience && now - m_selective->lastProgress >= patience;
}

// Selective repeat -------------------------------------------------------------------------------

void
RdmaQueuePair::Recover(bool afterTimeout, uint64_t from, int64_t now)
{
    m_nic->m_goBackTrace(this, from, now);
    m_selective->Begin(from, m_sender->highestPsn, afterTimeout);
    SeekTo(from);
}

void
RdmaQueuePair::SeekToLost()
{
    SeekTo(m_selective->NextLost(m_sender->highestPsn));
}

void
RdmaQueuePair::SeekTo(uint64_t psn)
{
    if (psn == m_sender->nextPsn)
    {
        return;
    }
    m_sender->nextPsn = psn;
    if (psn == m_endPsn)
    {
        m_sender->cursor = m_sender->requests.size();
        m_sender->sentBytes = m_postedBytes;
        return;
    }
    const auto behind = std::upper_bound(
        m_sender->requests.begin() + static_cast<std::ptrdiff_t>(m_sender->first),
        m_sender->requests.end(),
        psn,
        [](uint64_t value, const RdmaWorkRequest& request) { return value < request.firstPsn; });
    const RdmaWorkRequest& request = *(behind - 1);
    m_sender->cursor = static_cast<size_t>(behind - m_sender->requests.begin()) - 1;
    m_sender->sentBytes = request.firstByte + request.BytesIn(psn - request.firstPsn, m_nic->m_mtu);
}

void
RdmaQueuePair::Fail(RdmaStatus first, int64_t now)
{
    NS_LOG_WARN("queue pair " << m_number << " of endpoint " << m_nic->m_endpoint << " fails");
    Send();
    m_state = State::ERROR;
    ++m_nic->m_counters.failedQps;
    m_nic->m_errorTrace(this, m_sender->ackedPsn, now);
    m_endPsn = m_sender->nextPsn; // nothing more to send
    m_sender->sendEnd = 0;
    m_respond = false;
    const uint32_t resets = m_resets;
    TellCompleted(now); // an ACK may have done more than what went wrong among it
    RdmaStatus status = first;
    while (m_resets == resets && m_sender->first < m_sender->requests.size())
    {
        const RdmaWorkRequest request = m_sender->requests[m_sender->first++];
        m_sender->told = m_sender->first;
        Complete(request, status, now);
        status = RdmaStatus::FLUSHED;
    }
    if (m_verbs && m_resets == resets && FlushReceives(now))
    {
        FlushDatagrams(now);
    }
}

// Responder --------------------------------------------------------------------------------------

void
RdmaQueuePair::Notice(const RdmaFrame& frame, int64_t now)
{
    if (frame.flags & RdmaFrame::CE)
    {
        ++m_nic->m_counters.ecnMarkedReceived;
    }
    if ((frame.flags & RdmaFrame::CE) || (m_needs & RdmaCongestionOps::EVERY_DATA))
    {
        OwnCongestionOps();
        if (m_ops->OnDataReceived(frame, now))
        {
            ++m_nic->m_counters.cnpsSent;
            m_nic->SendControl(this, RdmaOpcode::CNP, 0, 0, 0, 0, now);
        }
    }
}

void
RdmaQueuePair::OnData(RdmaFrame* frame, int64_t now)
{
    if (!CanReceive())
    {
        ++m_nic->m_counters.notReadyDropped;
        return;
    }
    Notice(*frame, now);
    const uint64_t psn = rdma::ExtendPsn(frame->psn, m_expectedPsn);
    if (psn != m_expectedPsn)
    {
        if (psn < m_expectedPsn)
        {
            ++m_nic->m_counters.duplicatesReceived;
            if (frame->opcode == RdmaOpcode::READ_REQUEST)
            {
                OnReadRequest(psn, frame->dmaLength, now);
                return;
            }
            // The first of a row tells the requester how far this end is, asked or not: between two
            // requested ACKs it might otherwise send the same few packets until it gives up.
            if ((frame->flags & RdmaFrame::ACK_REQUEST) || psn <= m_duplicate)
            {
                SendAck(false, frame, now);
            }
            m_duplicate = psn;
        }
        else if (m_selective)
        {
            OnOutOfOrder(psn, *frame, now);
        }
        else
        {
            ++m_nic->m_counters.outOfOrderDropped;
            if (!m_nakSent || now >= m_nakAgain)
            {
                m_nakSent = true;
                m_nakAgain = m_nic->m_nakIntervalPs ? now + m_nic->m_nakIntervalPs : NO_NAK;
                SendAck(true, frame, now);
            }
        }
        return;
    }
    if (m_selective && m_selective->HasHeld())
    {
        FillGap(*frame, now);
        return;
    }
    if (!IsPlainWrite(frame->opcode) && !Admit(*frame, now))
    {
        return;
    }
    ++m_expectedPsn;
    m_nakSent = false;
    m_duplicate = NO_DUPLICATE;
    m_messageBytes += frame->payload;
    m_receivedBytes += frame->payload;
    if (IsLast(frame->opcode))
    {
        m_msn = (m_msn + 1) & 0xffffff;
    }
    if (frame->flags & RdmaFrame::ACK_REQUEST)
    {
        SendAck(false, frame, now);
    }
    if (frame->flags & RdmaFrame::END_OF_POST)
    {
        DeliverMessage(HasImmediate(frame->opcode), frame->aux, now, frame);
    }
}

void
RdmaQueuePair::DeliverMessage(bool hasImmediate,
                              uint32_t immediate,
                              int64_t now,
                              const RdmaFrame* last)
{
    RdmaMessage message;
    message.sequence = m_messages++;
    message.bytes = m_messageBytes;
    message.hasImmediate = hasImmediate;
    message.immediate = immediate;
    m_messageBytes = 0;
    ++m_nic->m_counters.messagesReceived;
    if (last && last->extra && last->extra->journey)
    {
        m_nic->m_journeyTrace(this, message, *last->extra->journey, now);
    }
    m_nic->m_messageTrace(this, message, now);
    if (RdmaNicUser* user = GetUser())
    {
        user->OnMessage(this, message, now);
    }
    if (m_verbs)
    {
        ReportMessage(message, now);
    }
}

void
RdmaQueuePair::OnOutOfOrder(uint64_t psn, RdmaFrame& frame, int64_t now)
{
    if (m_verbs && m_verbs->rnrSent)
    {
        return; // all behind the refused packet goes again
    }
    switch (
        m_selective->Keep(psn, m_expectedPsn, frame, GetPsnCount(frame.opcode, frame.dmaLength)))
    {
    case RdmaSelectiveRepeat::Hold::KEPT:
        if (m_nic->m_lossRecovery == RdmaNic::OUT_OF_ORDER)
        {
            return; // what is missing took another way
        }
        break;
    case RdmaSelectiveRepeat::Hold::DUPLICATE:
        ++m_nic->m_counters.duplicatesReceived;
        if (m_nic->m_lossRecovery == RdmaNic::OUT_OF_ORDER)
        {
            SendAck(false, nullptr, now); // sent after a time-out: how far this end is
            return;
        }
        break;
    case RdmaSelectiveRepeat::Hold::NO_ROOM: // the sender ignores the BDP cap
        ++m_nic->m_counters.outOfOrderDropped;
        return;
    }
    ++m_nic->m_counters.naksSent;
    m_nic->SendControl(this,
                       RdmaOpcode::ACKNOWLEDGE,
                       RdmaFrame::NAK,
                       rdma::WirePsn(m_expectedPsn),
                       rdma::WirePsn(psn), // where an ACK has the MSN
                       rdma::NakSyndrome(rdma::kNakPsnSequenceError),
                       now,
                       &frame);
}

void
RdmaQueuePair::FillGap(RdmaFrame& frame, int64_t now)
{
    m_selective->Keep(m_expectedPsn,
                      m_expectedPsn,
                      frame,
                      GetPsnCount(frame.opcode, frame.dmaLength));
    ReleaseHeld(&frame, now);
    m_nic->Activate(this, now); // READs may have been among it
}

void
RdmaQueuePair::ReleaseHeld(RdmaFrame* data, int64_t now)
{
    const uint64_t first = m_expectedPsn;
    uint64_t end = m_selective->Release(first);
    bool refused = false;
    bool tooLong = false;
    RdmaSelectiveRepeat::Held last{};
    if (m_verbs && m_verbs->needsReceives)
    {
        // Only as far as the receive requests reach, in number and length: what is behind is not
        // acknowledged.
        size_t taken = 0;
        bool bounded = m_verbs->hasCurrent;
        uint64_t room = bounded ? m_verbs->current.bytes : 0;
        uint64_t bytes = m_messageBytes;
        for (uint64_t psn = first; psn < end && !refused && !tooLong; ++psn)
        {
            last = m_selective->Get(psn);
            if (TakesReceive(last.opcode))
            {
                refused = taken == m_verbs->receives.size();
                room = refused ? 0 : m_verbs->receives[taken++].bytes;
                bounded = true;
            }
            bytes += last.payload;
            tooLong = !refused && bounded && IsSend(last.opcode) && bytes > room;
            if (last.flags & RdmaFrame::END_OF_POST)
            {
                bounded = false;
                bytes = 0;
            }
            if (refused || tooLong)
            {
                m_selective->Forget(psn);
                end = psn;
            }
        }
    }
    m_expectedPsn = end;
    m_duplicate = NO_DUPLICATE;
    for (uint64_t psn = first; psn < end; ++psn)
    {
        m_msn = (m_msn + IsLast(m_selective->Get(psn).opcode)) & 0xffffff;
    }
    if (end > first)
    {
        SendAck(false, data, now);
    }
    if (refused)
    {
        RefuseReceive(now);
    }
    const uint32_t resets = m_resets;
    const auto goesOn = [&]() { return m_resets == resets && CanReceive(); };
    for (uint64_t psn = first; psn < end && goesOn(); ++psn)
    {
        const RdmaSelectiveRepeat::Held held = m_selective->Get(psn);
        if (held.opcode == RdmaOpcode::READ_REQUEST)
        {
            AddResponse(psn, psn + GetPsnCount(held.opcode, held.immediate), held.immediate);
            continue;
        }
        if (!IsPlainWrite(held.opcode) && !TakeReceive(held.opcode, held.payload, now))
        {
            return;
        }
        m_messageBytes += held.payload;
        m_receivedBytes += held.payload;
        if (held.flags & RdmaFrame::END_OF_POST)
        {
            DeliverMessage(HasImmediate(held.opcode), held.immediate, now);
        }
    }
    if (tooLong && goesOn())
    {
        TakeReceive(last.opcode, last.payload, now); // says so, and fails
    }
}

void
RdmaQueuePair::SendAck(bool nak, RdmaFrame* data, int64_t now)
{
    if (nak)
    {
        SendNak(RdmaFrame::NAK, rdma::NakSyndrome(rdma::kNakPsnSequenceError), now, data);
        return;
    }
    ++m_nic->m_counters.acksSent;
    m_nic->SendControl(this,
                       RdmaOpcode::ACKNOWLEDGE,
                       0,
                       rdma::WirePsn(m_expectedPsn - 1),
                       m_msn,
                       rdma::AckSyndrome(),
                       now,
                       data);
}

void
RdmaQueuePair::SendNak(uint8_t flags, uint8_t syndrome, int64_t now, RdmaFrame* data)
{
    ++m_nic->m_counters.naksSent;
    m_nic->SendControl(this,
                       RdmaOpcode::ACKNOWLEDGE,
                       flags,
                       rdma::WirePsn(m_expectedPsn),
                       m_msn,
                       syndrome,
                       now,
                       data);
}

} // namespace ns3
