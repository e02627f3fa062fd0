/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "no-recovery.h"

#include "rdma-requester.h"
#include "rdma-responder.h"

#include "ns3/assert.h"

namespace ns3
{

namespace
{

const RdmaLossRecovery::Registered g_none{
    {"none", [](const RdmaRecoveryScheme::Setting&) -> Ptr<RdmaLossRecovery> {
         return Create<NoRecovery>();
     }}};

} // namespace

std::string
NoRecovery::GetName() const
{
    return "none";
}

// Requester --------------------------------------------------------------------------------------

void
NoRecovery::OnNak(RdmaRequester& requester, uint64_t, int64_t now)
{
    if (requester.GetNextPsn() > requester.GetAckedPsn())
    {
        requester.GiveUp(now);
    }
}

void
NoRecovery::OnTimeout(RdmaRequester&, int64_t)
{
    NS_ASSERT_MSG(false, "it has given up");
}

void
NoRecovery::OnRefused(RdmaRequester& requester, uint64_t, int64_t, int64_t now)
{
    requester.GoBack(now);
}

bool
NoRecovery::GivesUp(const RdmaRequester&, int64_t) const
{
    return true;
}

void
NoRecovery::OnResponseMissing(RdmaRequester& requester, int64_t now)
{
    requester.GiveUp(now);
}

// Responder --------------------------------------------------------------------------------------

void
NoRecovery::OnOutOfOrder(RdmaResponder& responder, uint64_t, RdmaFrame& frame, int64_t now)
{
    responder.DropOutOfOrder(frame, now);
}

} // namespace ns3
