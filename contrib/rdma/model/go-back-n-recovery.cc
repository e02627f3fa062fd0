/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "go-back-n-recovery.h"

#include "rdma-requester.h"
#include "rdma-responder.h"

namespace ns3
{

RdmaRecoveryScheme
GoBackNRecovery::GetScheme()
{
    // (RdmaLossRecovery's list begins with it: nobody else registers it.)
    return {"go-back-n", [](const RdmaRecoveryScheme::Setting&) -> Ptr<RdmaLossRecovery> {
                return Create<GoBackNRecovery>();
            }};
}

std::string
GoBackNRecovery::GetName() const
{
    return "go-back-n";
}

// Requester --------------------------------------------------------------------------------------

void
GoBackNRecovery::OnNak(RdmaRequester& requester, uint64_t, int64_t now)
{
    if (requester.GetNextPsn() > requester.GetAckedPsn())
    {
        requester.TellCongestionOfNak(now);
        requester.GoBack(now);
    }
}

void
GoBackNRecovery::OnTimeout(RdmaRequester& requester, int64_t now)
{
    requester.GoBack(now);
}

void
GoBackNRecovery::OnRefused(RdmaRequester& requester, uint64_t, int64_t, int64_t now)
{
    requester.GoBack(now);
}

void
GoBackNRecovery::OnResponseMissing(RdmaRequester& requester, int64_t now)
{
    requester.GoBack(now);
}

// Responder --------------------------------------------------------------------------------------

void
GoBackNRecovery::OnOutOfOrder(RdmaResponder& responder, uint64_t, RdmaFrame& frame, int64_t now)
{
    responder.DropOutOfOrder(frame, now);
}

} // namespace ns3
