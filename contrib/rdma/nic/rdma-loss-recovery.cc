/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-loss-recovery.h"

#include "rdma-requester.h"
#include "rdma-responder.h"

#include <algorithm>

namespace ns3
{

void
RdmaLossRecovery::OnArrivedEarly(uint64_t, bool)
{
}

void
RdmaLossRecovery::OnSentAgain(uint64_t)
{
}

bool
RdmaLossRecovery::HearsAcks() const
{
    return false;
}

void
RdmaLossRecovery::SendFrom(uint64_t)
{
}

void
RdmaLossRecovery::OnFirstSent(rdma::TimePoint)
{
}

void
RdmaLossRecovery::OnAcknowledged(RdmaRequester&, rdma::TimePoint)
{
}

void
RdmaLossRecovery::OnRefused(RdmaRequester& requester,
                            uint64_t,
                            rdma::TimePoint,
                            rdma::TimePoint now)
{
    requester.GoBack(now);
}

void
RdmaLossRecovery::ChooseNext(RdmaRequester&)
{
}

rdma::Duration
RdmaLossRecovery::GetTimeout(const RdmaRequester& requester) const
{
    return requester.GetAckTimeout();
}

rdma::Duration
RdmaLossRecovery::GetLeastTimeout(const RdmaRequester& requester) const
{
    return GetTimeout(requester);
}

bool
RdmaLossRecovery::GivesUp(const RdmaRequester& requester, rdma::TimePoint) const
{
    return requester.GetTimeoutsInRow() > requester.GetRetryCount();
}

void
RdmaLossRecovery::OnOutOfOrder(RdmaResponder& responder,
                               uint64_t,
                               RdmaFrame& frame,
                               bool,
                               rdma::TimePoint now)
{
    responder.DropOutOfOrder(frame, now);
}

// READs ------------------------------------------------------------------------------------------

RdmaLossRecovery::Response
RdmaLossRecovery::TakeResponse(uint64_t psn, uint64_t missing)
{
    if (!m_sacked)
    {
        return psn == missing ? Response::TAKEN : Response::DROPPED;
    }
    if (m_sacked->Test(psn))
    {
        return Response::DUPLICATE;
    }
    OnArrivedEarly(psn, true);
    return Response::TAKEN;
}

void
RdmaLossRecovery::NoteArrived(uint64_t from, uint64_t to)
{
    for (uint64_t psn = from; m_sacked && psn < to; ++psn)
    {
        if (m_sacked->Covers(psn))
        {
            m_sacked->Set(psn);
        }
    }
}

uint64_t
RdmaLossRecovery::NextMissing(uint64_t from, uint64_t limit) const
{
    return m_sacked ? m_sacked->FirstClear(from, limit) : from;
}

uint64_t
RdmaLossRecovery::RepeatUpTo(uint64_t from, uint64_t limit, uint64_t highest) const
{
    if (!m_sacked)
    {
        return limit;
    }
    // Up to what has arrived; what has never been asked for waits for its turn.
    limit = std::min(limit, highest);
    while (from < limit && !m_sacked->Test(from))
    {
        ++from;
    }
    return from;
}

} // namespace ns3
