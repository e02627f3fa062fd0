/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-load-balancer.h"

#include "contrib/rdma/core/flow-hash.h"

#include "ns3/rdma-named-types.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaLoadBalancer);

TypeId
RdmaLoadBalancer::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaLoadBalancer").SetParent<Object>().SetGroupName("Rdma");
    return tid;
}

RdmaLoadBalancer::~RdmaLoadBalancer() = default;

void
RdmaLoadBalancer::OnRoutes(uint32_t)
{
}

bool
RdmaLoadBalancer::KeepsFlows() const
{
    return false;
}

bool
RdmaLoadBalancer::NeedsFeedback() const
{
    return false;
}

bool
RdmaLoadBalancer::NeedsFrames() const
{
    return false;
}

bool
RdmaLoadBalancer::TakesFrames() const
{
    return false;
}

bool
RdmaLoadBalancer::Take(RdmaFrame*, uint16_t, rdma::TimePoint)
{
    return false;
}

uint64_t
RdmaLoadBalancer::GetPathChanges() const
{
    return 0;
}

bool
RdmaLoadBalancer::NeedsCapacity() const
{
    return false;
}

void
RdmaLoadBalancer::OnCapacity(const std::vector<std::vector<rdma::PathCapacity::Way>>&)
{
}

bool
RdmaLoadBalancer::MakesDetours() const
{
    return false;
}

uint32_t
RdmaLoadBalancer::GetTarget(RdmaFrame& frame, const RdmaWays&, const RdmaQueues&, rdma::TimePoint)
{
    return frame.dst;
}

void
RdmaLoadBalancer::OnPlace(RdmaPlace)
{
}

void
RdmaLoadBalancer::OnArrival(RdmaFrame&, uint16_t, rdma::TimePoint)
{
}

void
RdmaLoadBalancer::OnLeaving(RdmaFrame&, const RdmaPort&, rdma::TimePoint)
{
}

void
RdmaLoadBalancer::OnFeedback(const RdmaFrame&, uint16_t, rdma::TimePoint)
{
}

int64_t
RdmaLoadBalancer::AssignStreams(int64_t)
{
    return 0;
}

uint32_t
RdmaLoadBalancer::PickOfFlow(uint32_t flowHash, const uint16_t*, uint32_t n) const
{
    return rdma::EcmpPick(flowHash, GetSeed(), n);
}

const std::vector<std::pair<std::string, std::string>>&
RdmaLoadBalancer::GetNames()
{
    // Once: every switch asks.
    static const auto names = RdmaNamedTypes<RdmaLoadBalancer>::Get();
    return names;
}

Ptr<RdmaLoadBalancer>
RdmaLoadBalancer::Make(const std::string& name)
{
    for (const auto& [known, type] : GetNames())
    {
        if (known == name || type == name)
        {
            ObjectFactory factory;
            factory.SetTypeId(type);
            return factory.Create<RdmaLoadBalancer>();
        }
    }
    return nullptr;
}

} // namespace ns3
