/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "go-back-n-recovery.h"

#include "ns3/log.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-transport-schemes.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("GoBackNRecovery");

namespace
{

const RdmaTransportSchemes::Registered g_goBackN{
    {"go-back-n", [](const RdmaTransportScheme::Setting&) -> Ptr<RdmaTransport> {
         return Create<RdmaGoBackNRecovery>();
     }}};

} // namespace

std::string
RdmaGoBackNRecovery::GetName() const
{
    return "go-back-n";
}

void
RdmaGoBackNRecovery::OnNak(RdmaRequester& requester, uint64_t, rdma::TimePoint now)
{
    if (requester.GetNextPsn() > requester.GetAckedPsn())
    {
        NS_LOG_LOGIC("NAK at " << now.ps << " ps: all from PSN " << requester.GetAckedPsn()
                               << " on goes again");
        requester.TellCongestionOfNak(now);
        requester.GoBack(now);
    }
}

void
RdmaGoBackNRecovery::OnTimeout(RdmaRequester& requester, rdma::TimePoint now)
{
    NS_LOG_LOGIC("time-out at " << now.ps << " ps: all from PSN " << requester.GetAckedPsn()
                                << " on goes again");
    requester.GoBack(now);
}

void
RdmaGoBackNRecovery::OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now)
{
    requester.GoBack(now);
}

} // namespace ns3
