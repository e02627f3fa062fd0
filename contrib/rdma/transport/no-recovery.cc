/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "no-recovery.h"

#include "ns3/assert.h"
#include "ns3/rdma-requester.h"
#include "ns3/rdma-transport-schemes.h"

namespace ns3
{

namespace
{

const RdmaTransportSchemes::Registered g_none{
    {"none", [](const RdmaTransportScheme::Setting&) -> Ptr<RdmaTransport> {
         return Create<RdmaNoRecovery>();
     }}};

} // namespace

std::string
RdmaNoRecovery::GetName() const
{
    return "none";
}

void
RdmaNoRecovery::OnNak(RdmaRequester& requester, uint64_t, rdma::TimePoint now)
{
    if (requester.GetNextPsn() > requester.GetAckedPsn())
    {
        requester.GiveUp(now);
    }
}

void
RdmaNoRecovery::OnTimeout(RdmaRequester&, rdma::TimePoint)
{
    NS_ASSERT_MSG(false, "it has given up");
}

bool
RdmaNoRecovery::GivesUp(const RdmaRequester&, rdma::TimePoint) const
{
    return true;
}

void
RdmaNoRecovery::OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now)
{
    requester.GiveUp(now);
}

} // namespace ns3
