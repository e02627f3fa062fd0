/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a requester that hears answers: what is acknowledged, completed or given up.
 */
#include "contrib/rdma/core/psn.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"

#include "ns3/log.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaRequesterAnswers");

void
RdmaRequester::OnAcknowledge(RdmaFrame* frame, int64_t now)
{
    if (m_qp->m_state == RdmaQueuePair::State::ERROR ||
        m_qp->m_state < RdmaQueuePair::State::READY_TO_SEND)
    {
        return;
    }
    Send();
    if (frame->flags & (RdmaFrame::RNR_NAK | RdmaFrame::FATAL_NAK))
    {
        OnRareNak(*frame, now);
        return;
    }
    // An ACK names the last packet received, a NAK the one expected: both acknowledge all before.
    const bool nak = frame->flags & RdmaFrame::NAK;
    const uint64_t expected = rdma::ExtendPsn(frame->psn, m_sender->ackedPsn) + (nak ? 0 : 1);
    if ((m_qp->m_needs & RdmaQueuePair::ENTROPY) && expected <= m_sender->highestPsn)
    {
        TellPathSelector(*frame, expected, now);
    }
    if (expected > m_sender->highestPsn || expected < m_sender->ackedPsn)
    {
        return; // of a packet already acknowledged, overtaken by a later ACK
    }
    const uint64_t upTo = expected > m_sender->readBarrier ? HoldBack(expected) : expected;
    const bool lost = nak && !m_pulls; // pulls know no NAKs but of receive requests
    if (lost)
    {
        TellArrivedEarly(frame->aux);
    }
    if (!Acknowledge(upTo, now, frame))
    {
        return;
    }
    if (lost)
    {
        m_qp->GetLossRecovery().OnNak(*this, expected, rdma::TimePoint(now));
    }
    UpdateRate(now);
    m_qp->m_nic->Activate(m_qp, now);
}

void
RdmaRequester::TellArrivedEarly(uint32_t named)
{
    const uint64_t psn = rdma::ExtendPsn(named, m_sender->ackedPsn);
    if (psn < m_sender->highestPsn) // else it was never sent: a NAK to a former connection
    {
        m_qp->GetLossRecovery().OnArrivedEarly(psn, !IsResponse(psn));
    }
}

void
RdmaRequester::OnAnswer(RdmaFrame* frame, int64_t now)
{
    if (m_qp->m_state == RdmaQueuePair::State::ERROR ||
        m_qp->m_state < RdmaQueuePair::State::READY_TO_SEND || !m_pulls)
    {
        return;
    }
    Send();
    const uint64_t expected = rdma::ExtendPsn(frame->psn, m_sender->ackedPsn);
    if (expected > m_sender->highestPsn)
    {
        return; // to a former connection
    }
    if ((m_qp->m_needs & RdmaQueuePair::ENTROPY) && frame->opcode != RdmaOpcode::NDP_PULL)
    {
        TellPathSelector(*frame, expected, now);
    }
    m_qp->GetPullTransport().OnAnswer(*this, *frame, rdma::TimePoint(now));
    if (expected > m_sender->ackedPsn && !Acknowledge(expected, now, frame))
    {
        return;
    }
    m_qp->m_transport->ChooseNext(*this);
    UpdateRate(now);
    m_qp->m_nic->Activate(m_qp, now);
}

void
RdmaRequester::OnReturned(const RdmaFrame& frame, int64_t now)
{
    if (m_qp->m_state == RdmaQueuePair::State::ERROR ||
        m_qp->m_state < RdmaQueuePair::State::READY_TO_SEND || !m_pulls)
    {
        return;
    }
    Send();
    ++m_qp->m_nic->m_counters.returnedReceived;
    m_qp->GetPullTransport().OnReturned(*this,
                                        rdma::ExtendPsn(frame.psn, m_sender->ackedPsn),
                                        rdma::TimePoint(now));
    m_qp->m_nic->Activate(m_qp, now);
}

bool
RdmaRequester::Acknowledge(uint64_t upTo, int64_t now, const RdmaFrame* ack)
{
    Sender& own = *m_sender;
    if (upTo == own.ackedPsn)
    {
        return true;
    }
    own.ackedPsn = upTo;
    own.retries = 0;
    if (m_qp->m_verbs)
    {
        m_qp->m_verbs->requester.rnrRetries = 0;
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
                request.firstByte + request.BytesIn(upTo - request.firstPsn, m_qp->m_nic->m_mtu);
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
    if (m_hearsAcks)
    {
        m_qp->m_transport->OnAcknowledged(*this, rdma::TimePoint(now));
    }
    own.cc.bytesInFlight = own.sentBytes - own.ackedBytes;
    own.cc.sentPosition = own.sentBytes;
    own.cc.ackedPosition = own.ackedBytes;
    RdmaAckInfo info;
    info.bytesAcked = own.ackedBytes - before;
    if (ack && (m_qp->m_needs & RdmaQueuePair::ECHOES))
    {
        info.ecnEcho =
            (m_qp->m_needs & RdmaCongestionOps::ECN_ECHO) && (ack->flags & RdmaFrame::ECN_ECHO);
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
    m_ops->OnAck(own.cc, info, rdma::TimePoint(now));
    // Told last: whoever hears of it may post again, which appends to the requests.
    const uint32_t resets = m_qp->m_resets;
    TellCompleted(now);
    if (m_qp->m_resets != resets)
    {
        return false;
    }
    if (own.first == own.requests.size())
    {
        own.requests.clear();
        own.first = own.told = own.cursor = 0;
    }
    else if (own.first >= FEW_GONE && own.first * 2 >= own.requests.size())
    {
        // Soon, such that the next ones are posted into the same few cache lines: with thousands of
        // queue pairs each line more is a miss. One is moved for one that is gone, at most.
        own.requests.erase(own.requests.begin(),
                           own.requests.begin() + static_cast<std::ptrdiff_t>(own.first));
        if (own.clock)
        {
            own.clock->Forget(own.first);
        }
        own.cursor -= own.first;
        own.first = own.told = 0;
    }
    return m_qp->m_state != RdmaQueuePair::State::ERROR;
}

void
RdmaRequester::TellCompleted(int64_t now)
{
    // A RESET clears the requests, and both indices with them.
    const uint32_t resets = m_qp->m_resets;
    while (m_qp->m_resets == resets && m_sender->told < m_sender->first)
    {
        const RdmaWorkRequest request = m_sender->requests[m_sender->told++];
        Complete(request, RdmaStatus::SUCCESS, now);
    }
}

void
RdmaRequester::Complete(const RdmaWorkRequest& request, RdmaStatus status, int64_t now)
{
    m_qp->m_nic->TellCompletion(m_qp, request, status, now);
    if (RdmaNicUser* user = m_qp->GetUser())
    {
        user->OnCompletion(m_qp, request, status, now);
    }
    if (m_qp->m_verbs)
    {
        Report(request, status, now);
    }
}

void
RdmaRequester::Report(const RdmaWorkRequest& request, RdmaStatus status, int64_t now)
{
    const Verbs& verbs = m_qp->m_verbs->requester;
    if (!verbs.queue || (status == RdmaStatus::SUCCESS && !request.signaled && !verbs.signalAll))
    {
        return;
    }
    RdmaWorkCompletion completion = m_qp->MakeCompletion(request.id, request.operation, now);
    completion.status = status;
    completion.bytes = status == RdmaStatus::SUCCESS ? request.bytes : 0;
    if (!verbs.queue->Push(completion) && m_qp->m_state != RdmaQueuePair::State::ERROR)
    {
        m_qp->Fail(RdmaStatus::FLUSHED, now);
    }
}

void
RdmaRequester::Flush(RdmaStatus first, int64_t now)
{
    m_endPsn = m_sender->nextPsn; // nothing more to send
    m_sender->sendEnd = 0;
    const uint32_t resets = m_qp->m_resets;
    TellCompleted(now); // an ACK may have done more than what went wrong among it
    RdmaStatus status = first;
    while (m_qp->m_resets == resets && m_sender->first < m_sender->requests.size())
    {
        const RdmaWorkRequest request = m_sender->requests[m_sender->first++];
        m_sender->told = m_sender->first;
        Complete(request, status, now);
        status = RdmaStatus::FLUSHED;
    }
}

void
RdmaRequester::GiveUp(rdma::TimePoint now)
{
    NS_LOG_FUNCTION(this << now.ps);
    NS_LOG_LOGIC("endpoint " << m_qp->m_nic->m_endpoint << ", queue pair " << m_qp->GetNumber()
                             << " gives up at " << now.ps << " ps: retries exceeded");
    m_qp->Fail(RdmaStatus::RETRY_EXCEEDED, now.ps);
}

} // namespace ns3
