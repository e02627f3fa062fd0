/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "no-recovery.h"

#include "ns3/assert.h"
#include "ns3/rdma-recovery-schemes.h"
#include "ns3/rdma-requester.h"

namespace ns3
{

namespace
{

const RdmaRecoverySchemes::Registered g_none{
    {"none", [](const RdmaRecoveryScheme::Setting&) -> Ptr<RdmaLossRecovery> {
         return Create<NoRecovery>();
     }}};

} // namespace

std::string
NoRecovery::GetName() const
{
    return "none";
}

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

} // namespace ns3
