/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "go-back-n-recovery.h"

#include "rdma-requester.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("GoBackNRecovery");

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

void
GoBackNRecovery::OnNak(RdmaRequester& requester, uint64_t, int64_t now)
{
    if (requester.GetNextPsn() > requester.GetAckedPsn())
    {
        NS_LOG_LOGIC("NAK at " << now << " ps: all from PSN " << requester.GetAckedPsn()
                               << " on goes again");
        requester.TellCongestionOfNak(now);
        requester.GoBack(now);
    }
}

void
GoBackNRecovery::OnTimeout(RdmaRequester& requester, int64_t now)
{
    NS_LOG_LOGIC("time-out at " << now << " ps: all from PSN " << requester.GetAckedPsn()
                                << " on goes again");
    requester.GoBack(now);
}

void
GoBackNRecovery::OnResponseMissing(RdmaRequester& requester, int64_t now)
{
    requester.GoBack(now);
}

} // namespace ns3
