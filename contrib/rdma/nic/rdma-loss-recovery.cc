/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-loss-recovery.h"

#include "rdma-requester.h"
#include "rdma-responder.h"

#include "ns3/abort.h"

namespace ns3
{

// What is the same for all who keep nothing.

RdmaLossRecovery::~RdmaLossRecovery() = default;

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
RdmaLossRecovery::OnFirstSent(int64_t)
{
}

void
RdmaLossRecovery::OnAcknowledged(RdmaRequester&, int64_t)
{
}

void
RdmaLossRecovery::OnNakAux(RdmaRequester&, uint32_t)
{
}

void
RdmaLossRecovery::OnRefused(RdmaRequester& requester, uint64_t, int64_t, int64_t now)
{
    requester.GoBack(now);
}

void
RdmaLossRecovery::OnSentAgain(uint64_t)
{
}

void
RdmaLossRecovery::ChooseNext(RdmaRequester&)
{
}

int64_t
RdmaLossRecovery::GetTimeout(const RdmaRequester& requester) const
{
    return requester.GetAckTimeout();
}

int64_t
RdmaLossRecovery::GetLeastTimeout(const RdmaRequester& requester) const
{
    return GetTimeout(requester);
}

bool
RdmaLossRecovery::GivesUp(const RdmaRequester& requester, int64_t) const
{
    return requester.GetTimeoutsInRow() > requester.GetRetryCount();
}

bool
RdmaLossRecovery::HearsAll() const
{
    return false;
}

void
RdmaLossRecovery::OnSent(RdmaRequester&, uint64_t, RdmaFrame&, int64_t)
{
}

void
RdmaLossRecovery::OnAnswer(RdmaRequester&, const RdmaFrame&, int64_t)
{
}

void
RdmaLossRecovery::OnReturned(RdmaRequester&, uint64_t, int64_t)
{
}

bool
RdmaLossRecovery::OnArrival(RdmaResponder&, uint64_t, RdmaFrame&, int64_t)
{
    return false;
}

void
RdmaLossRecovery::Acknowledge(RdmaResponder&, RdmaFrame*, int64_t)
{
}

RdmaLossRecovery::Pull
RdmaLossRecovery::GivePull(RdmaResponder&, bool, int64_t)
{
    return {0, false};
}

void
RdmaLossRecovery::OnPosted(RdmaRequester&, int64_t)
{
}

void
RdmaLossRecovery::OnRequestToSend(RdmaResponder&, const RdmaFrame&, int64_t)
{
}

RdmaLossRecovery::Response
RdmaLossRecovery::OnResponse(uint64_t psn, uint64_t missing)
{
    return psn == missing ? Response::TAKEN : Response::DROPPED;
}

void
RdmaLossRecovery::OnArrived(uint64_t, uint64_t)
{
}

uint64_t
RdmaLossRecovery::NextMissing(uint64_t from, uint64_t) const
{
    return from;
}

uint64_t
RdmaLossRecovery::RepeatUpTo(uint64_t, uint64_t limit, uint64_t) const
{
    return limit;
}

void
RdmaLossRecovery::OnOutOfOrder(RdmaResponder& responder, uint64_t, RdmaFrame& frame, int64_t now)
{
    responder.DropOutOfOrder(frame, now);
}

bool
RdmaLossRecovery::HasHeld() const
{
    return false;
}

uint64_t
RdmaLossRecovery::GetHeldBytes() const
{
    return 0;
}

void
RdmaLossRecovery::FillGap(uint64_t, const RdmaFrame&, uint32_t)
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

uint64_t
RdmaLossRecovery::Release(uint64_t)
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

void
RdmaLossRecovery::Forget(uint64_t)
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

const RdmaArrival&
RdmaLossRecovery::GetHeld(uint64_t) const
{
    NS_ABORT_MSG(GetName() << " keeps no packets");
}

} // namespace ns3
