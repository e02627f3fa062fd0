/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-responder.h"

#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/roce-wire.h"
#include "rdma-nic.h"
#include "rdma-pull-queue.h"
#include "rdma-pull-transport.h"
#include "rdma-queue-pair-verbs.h"

#include "ns3/log.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaResponder");

namespace
{

/// The last packet of a message, which tells where the message's time went.
bool
EndsJourney(const RdmaFrame& frame)
{
    return frame.extra && frame.extra->journey && !frame.extra->journey->wayOnly;
}

} // namespace

RdmaResponder::RdmaResponder(RdmaQueuePair* qp)
    : m_qp(qp)
{
}

void
RdmaResponder::Reset(uint64_t expected)
{
    m_expectedPsn = expected;
    m_messages = m_messageBytes = m_receivedBytes = 0;
    m_msn = 0;
    m_nakSent = m_holds = false;
    m_duplicate = NO_DUPLICATE;
    m_early.reset();
    if (m_qp->m_verbs)
    {
        Verbs& verbs = m_qp->m_verbs->responder;
        verbs.hasCurrent = verbs.rnrSent = false;
        verbs.highestResponse = 0;
        verbs.responses.clear();
        verbs.receives.clear();
    }
}

// Requests ---------------------------------------------------------------------------------------

void
RdmaResponder::Notice(const RdmaFrame& frame, int64_t now)
{
    RdmaNic* nic = m_qp->m_nic;
    if (frame.flags & RdmaFrame::CE)
    {
        ++nic->m_counters.ecnMarkedReceived;
    }
    if ((frame.flags & RdmaFrame::CE) || (m_qp->m_needs & RdmaCongestionOps::EVERY_DATA))
    {
        m_qp->m_requester.OwnCongestionOps();
        if (m_qp->m_requester.m_ops->OnDataReceived(frame, rdma::TimePoint(now)))
        {
            nic->SendCnp(m_qp, frame.GetLabel(), now);
        }
    }
}

void
RdmaResponder::OnData(RdmaFrame* frame, int64_t now)
{
    if (!m_qp->CanReceive())
    {
        ++m_qp->m_nic->m_counters.notReadyDropped;
        return;
    }
    Notice(*frame, now);
    if (frame->extra && frame->extra->journey && frame->extra->journey->counts)
    {
        m_qp->m_nic->m_wayTrace(m_qp, *frame->extra->journey, now);
    }
    const uint64_t psn = rdma::ExtendPsn(frame->psn, m_expectedPsn);
    if (m_pulls && m_qp->GetPullTransport().OnArrival(*this, psn, *frame, rdma::TimePoint(now)))
    {
        return;
    }
    if (psn != m_expectedPsn)
    {
        if (psn > m_expectedPsn)
        {
            OnOutOfOrder(psn, *frame, now);
            NoteReorder(psn);
            if (m_holds && EndsJourney(*frame))
            {
                KeepJourney(psn, *frame, now);
            }
            return;
        }
        CountDuplicate();
        if (frame->opcode == RdmaOpcode::READ_REQUEST)
        {
            OnReadRequest(psn, frame->dmaLength, frame->GetLabel(), now);
            return;
        }
        // The first of a row tells the requester how far this end is, asked or not: between two
        // requested ACKs it might otherwise send the same few packets until it gives up.
        if ((frame->flags & RdmaFrame::ACK_REQUEST) || psn <= m_duplicate)
        {
            SendAck(frame, rdma::TimePoint(now));
        }
        m_duplicate = psn;
        return;
    }
    if (m_holds)
    {
        // Kept too, until ReleaseHeld.
        m_qp->m_transport->GetReorderBuffer()->Keep(psn,
                                                    psn,
                                                    *frame,
                                                    GetPsnCount(frame->opcode, frame->dmaLength));
        ReleaseHeld(frame, now);
        m_qp->m_nic->Activate(m_qp, now); // READs may have been among it
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
        SendAck(frame, rdma::TimePoint(now));
    }
    if (frame->flags & RdmaFrame::END_OF_POST)
    {
        DeliverMessage(HasImmediate(frame->opcode),
                       frame->aux,
                       now,
                       frame->extra ? frame->extra->journey.get() : nullptr);
    }
}

void
RdmaResponder::KeepJourney(uint64_t psn, RdmaFrame& frame, int64_t now)
{
    if (!m_early)
    {
        m_early = std::make_unique<RdmaEarlyJourneys>();
    }
    m_early->Keep(psn, std::move(frame.extra->journey), now);
}

void
RdmaResponder::OnRequestToSend(const RdmaFrame& frame, int64_t now)
{
    if (!m_qp->CanReceive())
    {
        ++m_qp->m_nic->m_counters.notReadyDropped;
        return;
    }
    if (m_pulls)
    {
        m_qp->GetPullTransport().OnRequestToSend(*this, frame, rdma::TimePoint(now));
    }
}

void
RdmaResponder::DeliverMessage(bool hasImmediate,
                              uint32_t immediate,
                              int64_t now,
                              const RdmaJourney* journey)
{
    RdmaNic* nic = m_qp->m_nic;
    RdmaMessage message;
    message.sequence = m_messages++;
    message.bytes = m_messageBytes;
    message.hasImmediate = hasImmediate;
    message.immediate = immediate;
    m_messageBytes = 0;
    ++nic->m_counters.messagesReceived;
    if (journey)
    {
        nic->TellJourney(m_qp, message, *journey, now);
    }
    m_qp->TellMessage(message, now);
    if (m_qp->m_verbs)
    {
        ReportMessage(message, now);
    }
}

// Out of order -----------------------------------------------------------------------------------

bool
RdmaResponder::HasRefused() const
{
    return m_qp->m_verbs && m_qp->m_verbs->responder.rnrSent;
}

bool
RdmaResponder::AnswersAll() const
{
    NS_LOG_FUNCTION(this);
    return m_qp->m_needs & RdmaQueuePair::ENTROPY;
}

void
RdmaResponder::OnOutOfOrder(uint64_t psn, RdmaFrame& frame, int64_t now)
{
    RdmaTransport& transport = *m_qp->m_transport;
    RdmaReorderBuffer* kept = transport.GetReorderBuffer();
    if (!kept)
    {
        transport.OnOutOfOrder(*this, psn, frame, true, rdma::TimePoint(now));
        return;
    }
    if (!HasRefused()) // else all behind the refused packet goes again
    {
        switch (kept->Keep(psn, m_expectedPsn, frame, GetPsnCount(frame.opcode, frame.dmaLength)))
        {
        case RdmaReorderBuffer::Hold::KEPT:
            transport.OnOutOfOrder(*this, psn, frame, true, rdma::TimePoint(now));
            break;
        case RdmaReorderBuffer::Hold::DUPLICATE:
            CountDuplicate();
            transport.OnOutOfOrder(*this, psn, frame, false, rdma::TimePoint(now));
            break;
        case RdmaReorderBuffer::Hold::NO_ROOM: // the sender ignores the BDP cap
            CountDropped();
            break;
        }
    }
    m_holds = !kept->IsEmpty();
}

void
RdmaResponder::NoteReorder(uint64_t psn)
{
    RdmaNicCounters& counters = m_qp->m_nic->m_counters;
    ++counters.outOfOrderReceived;
    counters.largestReorder = std::max(counters.largestReorder, psn - m_expectedPsn);
    if (m_holds)
    {
        counters.largestHeldBytes =
            std::max(counters.largestHeldBytes, m_qp->m_transport->GetReorderBuffer()->GetBytes());
    }
}

void
RdmaResponder::CountDuplicate()
{
    NS_LOG_FUNCTION(this);
    ++m_qp->m_nic->m_counters.duplicatesReceived;
}

void
RdmaResponder::CountTrimmed()
{
    NS_LOG_FUNCTION(this);
    ++m_qp->m_nic->m_counters.trimmedReceived;
}

void
RdmaResponder::CountDropped()
{
    NS_LOG_FUNCTION(this);
    ++m_qp->m_nic->m_counters.outOfOrderDropped;
}

void
RdmaResponder::DropOutOfOrder(RdmaFrame& frame, rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << now.ps);
    CountDropped();
    if (!m_nakSent || now.ps >= m_nakAgain)
    {
        const int64_t interval = m_qp->m_nic->m_nakIntervalPs;
        m_nakSent = true;
        m_nakAgain = interval ? now.ps + interval : NO_NAK;
        SendSequenceNak(m_msn, frame, now);
    }
}

void
RdmaResponder::ReleaseHeld(RdmaFrame* data, int64_t now)
{
    RdmaReorderBuffer& kept = *m_qp->m_transport->GetReorderBuffer();
    const uint64_t first = m_expectedPsn;
    const bool repeats = data && (data->flags & RdmaFrame::RETRANSMITTED);
    if (data && EndsJourney(*data)) // it fills the gap, and ends a message
    {
        KeepJourney(first, *data, now);
    }
    uint64_t end = kept.Release(first);
    bool refused = false;
    bool tooLong = false;
    RdmaArrival last{};
    if (m_qp->m_verbs && m_qp->m_verbs->responder.needsReceives)
    {
        // Only as far as the receive requests reach, in number and length: what is behind is not
        // acknowledged.
        const Verbs& verbs = m_qp->m_verbs->responder;
        size_t taken = 0;
        bool bounded = verbs.hasCurrent;
        uint64_t room = bounded ? verbs.current.bytes : 0;
        uint64_t bytes = m_messageBytes;
        for (uint64_t psn = first; psn < end && !refused && !tooLong; ++psn)
        {
            last = kept.Get(psn);
            if (TakesReceive(last.opcode))
            {
                refused = taken == verbs.receives.size();
                room = refused ? 0 : verbs.receives[taken++].bytes;
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
                kept.Forget(psn);
                end = psn;
            }
        }
    }
    m_holds = !kept.IsEmpty();
    m_expectedPsn = end;
    m_duplicate = NO_DUPLICATE;
    for (uint64_t psn = first; psn < end; ++psn)
    {
        m_msn = (m_msn + IsLast(kept.Get(psn).opcode)) & 0xffffff;
    }
    if (end > first)
    {
        SendAck(data, rdma::TimePoint(now));
    }
    if (refused)
    {
        RefuseReceive(now);
    }
    // Who is told of a message may reset the queue pair, and end the transport.
    const uint32_t resets = m_qp->m_resets;
    const auto goesOn = [&]() { return m_qp->m_resets == resets && m_qp->CanReceive(); };
    for (uint64_t psn = first; psn < end && goesOn(); ++psn)
    {
        const RdmaArrival held = kept.Get(psn);
        if (held.opcode == RdmaOpcode::READ_REQUEST)
        {
            AddResponse(psn,
                        psn + GetPsnCount(held.opcode, held.immediate),
                        held.immediate,
                        held.label);
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
            std::unique_ptr<RdmaJourney> journey =
                m_early ? m_early->Take(psn, repeats, now) : nullptr;
            DeliverMessage(HasImmediate(held.opcode), held.immediate, now, journey.get());
        }
    }
    if (tooLong && goesOn())
    {
        TakeReceive(last.opcode, last.payload, now); // says so, and fails
    }
}

// Answers ----------------------------------------------------------------------------------------

void
RdmaResponder::SendAck(RdmaFrame* data, rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << data << now.ps);
    if (m_pulls)
    {
        m_qp->GetPullTransport().Acknowledge(*this, data, now);
        return;
    }
    ++m_qp->m_nic->m_counters.acksSent;
    m_qp->m_nic->SendControl(m_qp,
                             {RdmaOpcode::ACKNOWLEDGE,
                              0,
                              rdma::WirePsn(m_expectedPsn - 1),
                              m_msn,
                              rdma::AckSyndrome(),
                              data ? data->GetLabel() : RdmaFrame::NO_LABEL},
                             now.ps,
                             data);
}

void
RdmaResponder::SendSequenceNak(uint32_t aux, RdmaFrame& data, rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << aux << now.ps);
    ++m_qp->m_nic->m_counters.naksSent;
    m_qp->m_nic->SendControl(m_qp,
                             {RdmaOpcode::ACKNOWLEDGE,
                              RdmaFrame::NAK,
                              rdma::WirePsn(m_expectedPsn),
                              aux,
                              rdma::NakSyndrome(rdma::kNakPsnSequenceError),
                              data.GetLabel()},
                             now.ps,
                             &data);
}

void
RdmaResponder::SendAnswer(RdmaOpcode opcode,
                          uint32_t psn,
                          uint32_t pulls,
                          RdmaFrame* data,
                          rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << psn << pulls << data << now.ps);
    RdmaNicCounters& counters = m_qp->m_nic->m_counters;
    ++(opcode == RdmaOpcode::NDP_ACK    ? counters.acksSent
       : opcode == RdmaOpcode::NDP_NACK ? counters.naksSent
                                        : counters.pullsSent);
    m_qp->m_nic->SendControl(m_qp,
                             {opcode,
                              0,
                              rdma::WirePsn(m_expectedPsn),
                              psn,
                              pulls,
                              data ? data->GetLabel() : RdmaFrame::NO_LABEL},
                             now.ps,
                             data);
}

void
RdmaResponder::ShareRoute(const RdmaFrame& frame)
{
    NS_LOG_FUNCTION(this);
    m_qp->m_requester.ShareRoute(frame);
}

bool
RdmaResponder::TakePull(rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << now.ps);
    return m_qp->m_nic->GetPulls().Take(now.ps);
}

void
RdmaResponder::QueuePull(bool urgent, rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << urgent << now.ps);
    m_qp->m_nic->GetPulls().Add(m_qp, urgent, now.ps);
}

void
RdmaResponder::SendNak(uint8_t flags, uint8_t syndrome, int64_t now)
{
    ++m_qp->m_nic->m_counters.naksSent;
    m_qp->m_nic->SendControl(m_qp,
                             {RdmaOpcode::ACKNOWLEDGE,
                              flags,
                              rdma::WirePsn(m_expectedPsn),
                              m_msn,
                              syndrome,
                              RdmaFrame::NO_LABEL},
                             now);
}

} // namespace ns3
