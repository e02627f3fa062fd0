/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ecmp-load-balancer.h"

#include "ns3/boolean.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaEcmpLoadBalancer);

TypeId
RdmaEcmpLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::EcmpLoadBalancer")
            .SetParent<RdmaLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaEcmpLoadBalancer>()
            .AddAttribute("Resilient",
                          "A port that goes, or comes, moves only the flows that "
                          "it has; HashOffset then has no effect",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaEcmpLoadBalancer::SetResilient,
                                              &RdmaEcmpLoadBalancer::IsResilient),
                          MakeBooleanChecker())
            .AddAttribute("HashSeed",
                          "Seed of the hash; one for all switches: polarization. "
                          "0: each draws its own",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaEcmpLoadBalancer::m_hashSeed),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("HashOffset",
                          "The hash is rotated right by so many bits before a port "
                          "is picked (SAI: ECMP_DEFAULT_HASH_OFFSET)",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaEcmpLoadBalancer::SetHashOffset,
                                               &RdmaEcmpLoadBalancer::GetHashOffset),
                          MakeUintegerChecker<uint8_t>(0, 31));
    return tid;
}

void
RdmaEcmpLoadBalancer::SetResilient(bool resilient)
{
    m_resilient = resilient;
    m_special = m_resilient || m_hashOffset;
}

bool
RdmaEcmpLoadBalancer::IsResilient() const
{
    return m_resilient;
}

void
RdmaEcmpLoadBalancer::SetHashOffset(uint8_t bits)
{
    m_hashOffset = bits;
    m_special = m_resilient || m_hashOffset;
}

uint8_t
RdmaEcmpLoadBalancer::GetHashOffset() const
{
    return m_hashOffset;
}

uint32_t
RdmaEcmpLoadBalancer::PickOfFlow(uint32_t flowHash, const uint16_t* ports, uint32_t n) const
{
    return m_resilient ? rdma::ResilientPick(flowHash, GetSeed(), ports, n)
                       : rdma::RotatedPick(flowHash, GetSeed(), n, m_hashOffset);
}

uint16_t
RdmaEcmpLoadBalancer::Choose(const Candidates& candidates,
                             const RdmaFrame& frame,
                             const RdmaQueues&,
                             rdma::TimePoint)
{
    return PortOfFlow(candidates, frame);
}

} // namespace ns3
