/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requester: READs, whose responses acknowledge, and receivers that are not ready.
 */
#include "contrib/rdma/core/psn.h"
#include "contrib/rdma/core/rnr-timer.h"
#include "rdma-nic.h"
#include "rdma-queue-pair-verbs.h"

#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

RdmaRequester::Verbs&
RdmaRequester::GetVerbs()
{
    return m_qp->GetVerbs().requester;
}

// READs ------------------------------------------------------------------------------------------

void
RdmaRequester::AddRead(const RdmaWorkRequest& request)
{
    if (request.operation != RdmaOperation::READ)
    {
        return;
    }
    Verbs& verbs = GetVerbs();
    if (verbs.reads.empty())
    {
        verbs.cumulative = m_sender->ackedPsn;
        m_sender->readBarrier = request.firstPsn;
    }
    verbs.reads.push_back({request.firstPsn, request.firstPsn + request.packets});
}

bool
RdmaRequester::IsResponse(uint64_t psn) const
{
    if (m_sender->readBarrier == NO_READ)
    {
        return false;
    }
    for (const Verbs::Read& read : m_qp->m_verbs->requester.reads)
    {
        if (psn < read.end)
        {
            return psn >= read.first;
        }
    }
    return false;
}

RdmaFrame*
RdmaRequester::MakeReadRequest(const RdmaWorkRequest& request, int64_t now)
{
    Sender& own = *m_sender;
    RdmaNic* nic = m_qp->m_nic;
    RdmaLossRecovery& recovery = m_qp->GetLossRecovery();
    // As much of the response as may be outstanding; the rest is asked for when some has come.
    const uint32_t mtu = nic->m_mtu;
    const uint64_t requestEnd = request.firstPsn + request.packets;
    uint64_t end = std::min({requestEnd,
                             own.ackedPsn + m_maxOutstanding,
                             own.nextPsn + RdmaQueuePair::MAX_REQUEST_BYTES / mtu});
    const bool again = own.nextPsn < own.highestPsn;
    if (again)
    {
        end = recovery.RepeatUpTo(own.nextPsn, end, own.highestPsn);
    }
    const uint64_t offset = (own.nextPsn - request.firstPsn) * mtu;
    RdmaFrame* frame = m_qp->NewFrame(RdmaOpcode::READ_REQUEST,
                                      own.nextPsn,
                                      m_qp->m_sizes->DataWire(rdma::RoceOpcode::kReadRequest, 0),
                                      0,
                                      request.id);
    frame->dmaLength =
        static_cast<uint32_t>(std::min((end - own.nextPsn) * mtu, request.bytes - offset));

    ++nic->m_counters.readRequests;
    if (again)
    {
        NoteRepeated(frame, end - 1);
    }
    if (own.nextPsn == own.ackedPsn)
    {
        StartTimer(now);
    }
    own.nextPsn = end;
    own.highestPsn = std::max(own.highestPsn, own.nextPsn);
    if (end == requestEnd)
    {
        ++own.cursor;
    }
    if (own.nextPsn < own.highestPsn)
    {
        recovery.ChooseNext(*this);
    }
    Sent(0, frame->wireBytes, now, again);
    return frame;
}

uint64_t
RdmaRequester::HoldBack(uint64_t upTo)
{
    Verbs& verbs = m_qp->m_verbs->requester;
    if (m_hearsAcks)
    {
        // What is not a response needs not be sent again.
        uint64_t psn = std::max(verbs.cumulative, m_sender->readBarrier);
        for (const Verbs::Read& read : verbs.reads)
        {
            m_qp->GetLossRecovery().NoteArrived(psn, std::min(read.first, upTo));
            psn = std::max(psn, read.end);
        }
        m_qp->GetLossRecovery().NoteArrived(psn, upTo);
    }
    verbs.cumulative = std::max(verbs.cumulative, upTo);
    return m_sender->readBarrier;
}

void
RdmaRequester::OnReadResponse(const RdmaFrame& frame, int64_t now)
{
    RdmaNicCounters& counters = m_qp->m_nic->m_counters;
    if (m_qp->m_state < RdmaQueuePair::State::READY_TO_SEND ||
        m_qp->m_state == RdmaQueuePair::State::ERROR)
    {
        ++counters.notReadyDropped;
        return;
    }
    m_qp->m_responder.Notice(frame, now);
    const uint64_t psn = rdma::ExtendPsn(frame.psn, m_sender->ackedPsn);
    const uint64_t missing = m_sender->readBarrier;
    if (psn < missing || psn >= m_sender->highestPsn || !IsResponse(psn))
    {
        ++counters.duplicatesReceived;
        return;
    }
    RdmaLossRecovery& recovery = m_qp->GetLossRecovery();
    Verbs& verbs = m_qp->m_verbs->requester;
    // Its request has been executed: the responder has all before that.
    const auto read = std::find_if(verbs.reads.begin(), verbs.reads.end(), [psn](const auto& r) {
        return psn < r.end;
    });
    HoldBack(read->first);
    switch (recovery.TakeResponse(psn, missing))
    {
    case RdmaLossRecovery::Response::TAKEN:
        break;
    case RdmaLossRecovery::Response::DUPLICATE:
        ++counters.duplicatesReceived;
        return;
    case RdmaLossRecovery::Response::DROPPED:
        ++counters.outOfOrderDropped;
        if (Acknowledge(missing, now) && !verbs.readGap && m_sender->nextPsn > m_sender->ackedPsn)
        {
            verbs.readGap = true;
            recovery.OnResponseMissing(*this, rdma::TimePoint(now));
            m_qp->m_nic->Activate(m_qp, now);
        }
        return;
    }
    verbs.bytesRead += frame.payload;
    if (psn == missing)
    {
        verbs.readGap = false;
        AdvanceReads(psn + 1);
    }
    if (!Acknowledge(std::min(verbs.cumulative, m_sender->readBarrier), now))
    {
        return;
    }
    if (psn != missing && m_sender->highestPsn > m_sender->ackedPsn)
    {
        recovery.OnResponseMissing(*this, rdma::TimePoint(now));
    }
    UpdateRate(now);
    m_qp->m_nic->Activate(m_qp, now);
}

void
RdmaRequester::AdvanceReads(uint64_t arrived)
{
    Verbs& verbs = m_qp->m_verbs->requester;
    verbs.cumulative = std::max(verbs.cumulative, arrived);
    uint64_t& barrier = m_sender->readBarrier;
    barrier = arrived;
    while (!verbs.reads.empty())
    {
        const Verbs::Read& read = verbs.reads.front();
        barrier = m_qp->GetLossRecovery().NextMissing(std::max(barrier, read.first), read.end);
        if (barrier > read.first)
        {
            verbs.cumulative = std::max(verbs.cumulative, barrier);
        }
        if (barrier < read.end)
        {
            return;
        }
        verbs.reads.pop_front();
        UpdateSendEnd(); // one READ more may begin
    }
    barrier = NO_READ;
}

// Receivers that are not ready -------------------------------------------------------------------

void
RdmaRequester::OnRareNak(const RdmaFrame& frame, int64_t now)
{
    const uint64_t named = rdma::ExtendPsn(frame.psn, m_sender->ackedPsn);
    if (named > m_sender->highestPsn || named < m_sender->ackedPsn)
    {
        return;
    }
    if (!Acknowledge(named > m_sender->readBarrier ? HoldBack(named) : named, now))
    {
        return;
    }
    if (frame.flags & RdmaFrame::FATAL_NAK)
    {
        m_qp->Fail(RdmaStatus::REMOTE_INVALID_REQUEST, now);
        return;
    }
    OnReceiverNotReady(std::max(named, m_sender->ackedPsn), frame.dmaLength & 0x1f, now);
}

void
RdmaRequester::OnReceiverNotReady(uint64_t refused, uint8_t timer, int64_t now)
{
    Verbs& verbs = GetVerbs();
    ++m_qp->m_nic->m_counters.rnrNaksReceived;
    if (verbs.rnrRetryCount != rdma::kRnrRetryInfinite && ++verbs.rnrRetries > verbs.rnrRetryCount)
    {
        m_qp->Fail(RdmaStatus::RNR_RETRY_EXCEEDED, now);
        return;
    }
    verbs.holdUntil = now + rdma::RnrDelay(timer).ps;
    if (m_sender->clock)
    {
        m_sender->clock->again += verbs.holdUntil - now;
    }
    m_qp->m_transport->OnRefused(*this,
                                 refused,
                                 rdma::TimePoint(verbs.holdUntil),
                                 rdma::TimePoint(now));
    UpdateSendEnd();
    verbs.timer.ScheduleAt(verbs.holdUntil, m_qp->m_nic->m_port->GetContext());
}

void
RdmaRequester::OnHoldOver()
{
    const int64_t now = RdmaClock::Now();
    Verbs& verbs = GetVerbs();
    if (verbs.holdUntil && verbs.holdUntil <= now) // else it began anew, or a RESET ended it
    {
        verbs.holdUntil = 0;
        UpdateSendEnd();
        m_qp->m_nic->Activate(m_qp, now);
    }
}

} // namespace ns3
