/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-requester.h"

#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaRequester");

RdmaRequester::RdmaRequester(RdmaQueuePair* qp)
    : m_qp(qp),
      m_maxOutstanding(RdmaQueuePair::MAX_OUTSTANDING),
      m_timer(this)
{
}

RdmaRequester::~RdmaRequester()
{
    if (m_sender && IsSending())
    {
        delete m_sender;
    }
}

// Posting ----------------------------------------------------------------------------------------

RdmaPostResult
RdmaRequester::CheckPost(const RdmaSendRequest& request) const
{
    if (m_qp->m_state < RdmaQueuePair::State::READY_TO_SEND)
    {
        return RdmaPostResult::WRONG_STATE;
    }
    const RdmaDatagrams* datagrams = m_qp->m_verbs ? m_qp->m_verbs->datagrams.get() : nullptr;
    if (request.operation == RdmaOperation::RECEIVE ||
        (request.operation == RdmaOperation::READ && (request.hasImmediate || m_pulls)) ||
        (request.operation != RdmaOperation::SEND && datagrams))
    {
        return RdmaPostResult::NOT_SUPPORTED;
    }
    if (request.operation == RdmaOperation::SEND &&
        request.bytes > RdmaQueuePair::MAX_REQUEST_BYTES)
    {
        return RdmaPostResult::TOO_LONG;
    }
    if (m_qp->m_verbs && m_qp->m_verbs->requester.maxRequests)
    {
        const size_t outstanding =
            datagrams ? datagrams->GetOutstanding() : m_sender->requests.size() - m_sender->first;
        if (outstanding >= m_qp->m_verbs->requester.maxRequests)
        {
            return RdmaPostResult::QUEUE_FULL;
        }
    }
    return RdmaPostResult::POSTED;
}

void
RdmaRequester::Post(const RdmaSendRequest& posted)
{
    RdmaNic* nic = m_qp->m_nic;
    const uint32_t mtu = nic->m_mtu;
    RdmaWorkRequest request(posted, RdmaClock::Now());
    request.firstPsn = m_endPsn;
    request.packets = std::max<uint64_t>(1, (posted.bytes + mtu - 1) / mtu);
    request.firstByte = m_postedBytes;
    nic->TellPost(m_qp, request);
    if (m_qp->m_state == RdmaQueuePair::State::ERROR)
    {
        Complete(request, RdmaStatus::FLUSHED, request.posted);
        return;
    }
    Send();
    m_sender->requests.push_back(request);
    if (nic->m_journeys && request.operation != RdmaOperation::READ)
    {
        StartClock(request.posted);
    }
    m_endPsn += request.packets;
    m_postedBytes += request.BytesIn(request.packets, mtu);
    if (m_qp->m_verbs || request.operation == RdmaOperation::READ)
    {
        AddRead(request);
        UpdateSendEnd();
    }
    else
    {
        m_sender->sendEnd = m_endPsn;
    }
    if (m_pulls)
    {
        m_qp->GetPullTransport().OnPosted(*this, rdma::TimePoint(request.posted));
    }
    nic->Activate(m_qp, request.posted);
}

void
RdmaRequester::RequestToSend(uint32_t target, uint32_t again)
{
    NS_LOG_FUNCTION(this << target << again);
    if (m_qp->m_state != RdmaQueuePair::State::READY_TO_SEND || m_sender->sendEnd == 0)
    {
        return; // a time-out will ask
    }
    ++m_qp->m_nic->m_counters.requestsToSend;
    m_qp->m_nic->SendControl(m_qp,
                             {RdmaOpcode::REQUEST_TO_SEND,
                              0,
                              rdma::WirePsn(m_sender->ackedPsn),
                              target,
                              again,
                              RdmaFrame::NO_LABEL},
                             RdmaClock::Now());
}

void
RdmaRequester::ShareRoute(const RdmaFrame& frame)
{
    NS_LOG_FUNCTION(this << frame.route.GetKey());
    if (frame.route.GetKey() < m_qp->m_route.GetKey())
    {
        m_qp->m_route = frame.route;
    }
}

void
RdmaRequester::UpdateSendEnd()
{
    const RdmaQueuePair::State state = m_qp->m_state;
    m_sender->sendEnd = m_endPsn;
    if (state != RdmaQueuePair::State::READY_TO_SEND &&
        state != RdmaQueuePair::State::SEND_QUEUE_DRAINED)
    {
        m_sender->sendEnd = 0;
    }
    else if (m_qp->m_verbs)
    {
        const Verbs& verbs = m_qp->m_verbs->requester;
        if (verbs.holdUntil)
        {
            m_sender->sendEnd = 0;
            return;
        }
        if (verbs.reads.size() > verbs.maxReads)
        {
            m_sender->sendEnd = verbs.reads[verbs.maxReads].first;
        }
        if (state == RdmaQueuePair::State::SEND_QUEUE_DRAINED)
        {
            m_sender->sendEnd = std::min(m_sender->sendEnd, verbs.drainEnd);
        }
    }
}

void
RdmaRequester::Drain()
{
    // The request that the last new packet was of is finished.
    const uint64_t highest = m_sender->highestPsn;
    uint64_t end = highest;
    for (const RdmaWorkRequest& request : m_sender->requests)
    {
        if (request.firstPsn < highest)
        {
            end = std::max(highest, request.firstPsn + request.packets);
        }
    }
    GetVerbs().drainEnd = end;
}

// Sending ----------------------------------------------------------------------------------------

bool
RdmaRequester::StartsMessage() const
{
    const Sender& own = *m_sender;
    return CanSend() && own.nextPsn == own.highestPsn &&
           (m_qp->GetService() == RdmaService::UD ||
            own.nextPsn == own.requests[own.cursor].firstPsn);
}

RdmaFrame*
RdmaRequester::MakeFrame(int64_t now)
{
    Sender& own = *m_sender;
    const RdmaNic* nic = m_qp->m_nic;
    const RdmaWorkRequest& request = own.requests[own.cursor];
    if (request.operation == RdmaOperation::READ)
    {
        return MakeReadRequest(request, now);
    }
    const uint32_t mtu = nic->m_mtu;
    const uint64_t index = own.nextPsn - request.firstPsn;
    const uint64_t offset = index * mtu;
    const uint32_t payload = static_cast<uint32_t>(std::min<uint64_t>(mtu, request.bytes - offset));
    const rdma::FrameSizes& sizes = *m_qp->m_sizes;
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
                    sizes.FlitHeaders(payload) + (first && !send ? sizes.rethBytes : 0) +
                    (immediate ? sizes.immediateBytes : 0);
    wire = std::max(wire, sizes.leastWire); // an empty SEND, or short headers (HeaderBytes)
    RdmaFrame* frame = m_qp->NewFrame(opcode, own.nextPsn, wire, RdmaFrame::ECT, request.id);
    frame->payload = static_cast<uint16_t>(payload);
    const uint16_t needs = m_qp->m_needs;
    if (needs & RdmaQueuePair::ENTROPY)
    {
        SelectPath(*frame, now);
    }
    if (needs & RdmaQueuePair::ATTACHMENTS)
    {
        AddNotes(*frame, request.bytes - offset, now);
    }
    if (first && !send)
    {
        frame->dmaLength = static_cast<uint32_t>(
            std::min(RdmaQueuePair::MAX_REQUEST_BYTES, request.bytes - offset));
    }
    if (immediate)
    {
        frame->aux = request.immediate;
    }

    RdmaNicCounters& counters = m_qp->m_nic->m_counters;
    ++counters.dataPackets;
    counters.dataBytes += payload;
    if (own.nextPsn < own.highestPsn)
    {
        NoteRepeated(frame, own.nextPsn);
    }
    else if (own.clock && own.nextPsn == request.firstPsn)
    {
        own.clock->lineBefore = own.clock->line;
        PrefetchLine(own.clock->times.data() + own.cursor); // its last packet needs it
    }
    if (own.nextPsn == own.ackedPsn) // nothing was outstanding
    {
        StartTimer(now);
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
    else if (own.clock && own.clock->ways)
    {
        StartWay(*frame, request);
    }
    if (m_pulls)
    {
        m_qp->GetPullTransport().OnSent(*this, own.nextPsn - 1, *frame, rdma::TimePoint(now));
    }
    else if (own.nextPsn < own.highestPsn)
    {
        m_qp->m_transport->ChooseNext(*this);
    }
    // The last packet that window or PSN space allow must ask for an ACK too, or the queue pair
    // would wait for its time-out.
    const uint32_t ackEvery = (needs & RdmaCongestionOps::ACK_PER_PACKET) ? 1 : nic->m_ackEvery;
    own.cc.bytesSent += payload;
    if (endOfPost || own.nextPsn % ackEvery == 0 || !CanSend())
    {
        frame->flags |= RdmaFrame::ACK_REQUEST;
    }
    Sent(payload, wire, now, frame->flags & RdmaFrame::RETRANSMITTED);
    return frame;
}

void
RdmaRequester::AddNotes(RdmaFrame& frame, uint64_t left, int64_t now)
{
    const uint16_t needs = m_qp->m_needs;
    RdmaFrameExtra& extra = *RdmaFramePool::Get().AllocateExtra();
    frame.extra = &extra;
    if (needs & (RdmaCongestionOps::TIME_STAMP | RdmaCongestionOps::TELEMETRY))
    {
        extra.hasTelemetry = true;
        extra.telemetry.Start(now, needs & RdmaCongestionOps::TELEMETRY);
        if (needs & RdmaCongestionOps::PINT)
        {
            extra.telemetry.pintPeriod = m_sender->cc.baseRtt;
        }
    }
    if (needs & RdmaQueuePair::RANK)
    {
        extra.rank = static_cast<uint32_t>(std::min<uint64_t>(left, UINT32_MAX));
    }
}

void
RdmaRequester::NoteRepeated(RdmaFrame* frame, uint64_t psn)
{
    frame->flags |= RdmaFrame::RETRANSMITTED;
    ++m_qp->m_nic->m_counters.retransmittedPackets;
    if (!m_pulls)
    {
        m_qp->GetLossRecovery().OnSentAgain(psn);
    }
}

void
RdmaRequester::Sent(uint32_t payload, uint32_t wireBytes, int64_t now, bool again)
{
    Sender& own = *m_sender;
    if (m_qp->m_needs & RdmaCongestionOps::ON_SEND)
    {
        own.cc.bytesInFlight = own.sentBytes - own.ackedBytes;
        own.cc.sentPosition = own.sentBytes;
        m_ops->OnSend(own.cc, payload, rdma::TimePoint(now));
        UpdateRate(now);
    }
    if (own.psPerByte > 0)
    {
        own.nextSend = now + (m_qp->m_nic->m_plainPace
                                  ? static_cast<int64_t>(own.psPerByte * wireBytes + 0.5)
                                  : GetGap(wireBytes, own.ratePaced) // as the port cuts its times
                                        + m_qp->m_nic->DrawJitter());
        own.lastWire = wireBytes;
    }
    if (own.clock)
    {
        const int64_t line = m_qp->m_nic->m_port->GetSerialization(wireBytes);
        (again ? own.clock->again : own.clock->line) += line;
        own.clock->throttled += std::max<int64_t>(0, own.nextSend - now - line);
    }
}

void
RdmaRequester::SetTurn(uint8_t priority)
{
    NS_LOG_FUNCTION(this << uint32_t{priority});
    if (m_schedule != Schedule::READY) // else it is in the list of the priority that it has
    {
        m_qp->m_priority = priority;
    }
}

void
RdmaRequester::SetPriorityOf(RdmaFrame& frame, uint8_t priority) const
{
    NS_LOG_FUNCTION(this << &frame << uint32_t{priority});
    frame.priority = priority;
    frame.dscp = m_qp->m_nic->m_dscpOfPriority[priority];
}

void
RdmaRequester::SeekTo(uint64_t psn)
{
    NS_LOG_FUNCTION(this << psn);
    Sender& own = *m_sender;
    if (psn == own.nextPsn)
    {
        return;
    }
    own.nextPsn = psn;
    if (psn == m_endPsn)
    {
        own.cursor = static_cast<uint32_t>(own.requests.size());
        own.sentBytes = m_postedBytes;
        return;
    }
    const auto behind = std::upper_bound(
        own.requests.begin() + static_cast<std::ptrdiff_t>(own.first),
        own.requests.end(),
        psn,
        [](uint64_t value, const RdmaWorkRequest& request) { return value < request.firstPsn; });
    const RdmaWorkRequest& request = *(behind - 1);
    own.cursor = static_cast<uint32_t>(behind - own.requests.begin()) - 1;
    own.sentBytes = request.firstByte + request.BytesIn(psn - request.firstPsn, m_qp->m_nic->m_mtu);
}

void
RdmaRequester::RepeatFrom(uint64_t psn, rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << psn << now.ps);
    NS_LOG_LOGIC("endpoint " << m_qp->m_nic->m_endpoint << ", queue pair " << m_qp->GetNumber()
                             << ": retransmission from PSN " << psn << " at " << now.ps
                             << " ps; next was " << m_sender->nextPsn);
    m_qp->m_nic->m_goBackTrace(m_qp, psn, now.ps);
    SeekTo(psn);
}

void
RdmaRequester::GoBack(rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << now.ps);
    RepeatFrom(m_sender->ackedPsn, now);
}

// Time-outs --------------------------------------------------------------------------------------

void
RdmaRequester::StartTimer(int64_t now)
{
    if (m_hearsAcks && m_sender->highestPsn == m_sender->ackedPsn)
    {
        m_qp->m_transport->OnFirstSent(rdma::TimePoint(now));
    }
    ArmTimer(rdma::TimePoint(now));
}

void
RdmaRequester::ArmTimer(rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << now.ps);
    m_sender->timerStart = now.ps;
    if (m_timerPending)
    {
        return;
    }
    const rdma::Duration timeout = m_qp->m_transport->GetLeastTimeout(*this);
    if (timeout.ps)
    {
        m_timerPending = true;
        m_timer.ScheduleAt((now + timeout).ps, m_qp->m_nic->m_port->GetContext());
    }
}

void
RdmaRequester::OnTimer()
{
    m_timerPending = false;
    // With credits what is to be sent may have to wait although nothing is outstanding.
    if (!IsSending() || (m_pulls ? m_endPsn : m_sender->nextPsn) == m_sender->ackedPsn ||
        m_qp->m_state == RdmaQueuePair::State::ERROR)
    {
        return; // sleeps until something is outstanding again
    }
    const int64_t now = RdmaClock::Now();
    RdmaTransport& transport = *m_qp->m_transport;
    // The time-out may become a shorter one while the event is pending; never less than the least
    // from then on, though.
    const int64_t due = m_sender->timerStart + transport.GetTimeout(*this).ps;
    if (now < due)
    {
        m_timerPending = true;
        m_timer.ScheduleAt(std::min(due, now + transport.GetLeastTimeout(*this).ps),
                           m_qp->m_nic->m_port->GetContext());
        return;
    }
    NS_LOG_LOGIC("endpoint " << m_qp->m_nic->m_endpoint << ", queue pair " << m_qp->GetNumber()
                             << ": time-out of PSN " << m_sender->ackedPsn << " at " << now
                             << " ps, retry " << m_sender->retries + 1);
    ++m_qp->m_nic->m_counters.timeouts;
    m_qp->m_nic->m_counters.timeoutPs += static_cast<uint64_t>(now - m_sender->timerStart);
    m_qp->m_nic->m_timeoutTrace(m_qp, m_sender->ackedPsn, now);
    ++m_sender->retries;
    if (transport.GivesUp(*this, rdma::TimePoint(now)))
    {
        GiveUp(rdma::TimePoint(now));
        return;
    }
    OwnCongestionOps();
    m_ops->OnTimeout(m_sender->cc, rdma::TimePoint(now));
    if (m_selector)
    {
        m_selector->OnTimeout(rdma::TimePoint(now));
    }
    UpdateRate(now);
    transport.OnTimeout(*this, rdma::TimePoint(now));
    m_qp->m_nic->Activate(m_qp, now);
}

} // namespace ns3
