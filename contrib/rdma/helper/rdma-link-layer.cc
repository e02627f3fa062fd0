/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-link-layer.h"

#include "rdma-fabric.h"

namespace ns3
{

void
RdmaLinkLayer::SetFrameSizes(ObjectFactory&, ObjectFactory&) const
{
}

void
RdmaLinkLayer::SetEcn(const RdmaCongestionOps&, const std::set<std::string>&, ObjectFactory&) const
{
}

std::vector<std::string>
RdmaLinkLayer::GetNotes() const
{
    return {};
}

std::vector<std::vector<uint16_t>>
RdmaLinkLayer::SetsOf(const RdmaFabric& fabric, uint32_t node)
{
    const rdma::EcmpRoutes& routes = fabric.GetRoutes();
    std::vector<std::vector<uint16_t>> sets;
    for (uint32_t g = 0; g < routes.GroupCount(node); ++g)
    {
        sets.emplace_back();
        for (const uint16_t port : routes.Group(node, static_cast<uint16_t>(g)))
        {
            if (!fabric.IsPortDead(node, port))
            {
                sets.back().push_back(port);
            }
        }
    }
    return sets;
}

} // namespace ns3
