/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-link-layer.h"

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

std::string
RdmaLinkLayer::GetNote() const
{
    return {};
}

std::vector<std::vector<uint16_t>>
RdmaLinkLayer::SetsOf(const rdma::EcmpRoutes& routes, uint32_t node)
{
    std::vector<std::vector<uint16_t>> sets;
    for (uint32_t g = 0; g < routes.GroupCount(node); ++g)
    {
        const auto ports = routes.Group(node, static_cast<uint16_t>(g));
        sets.emplace_back(ports.begin(), ports.end());
    }
    return sets;
}

} // namespace ns3
