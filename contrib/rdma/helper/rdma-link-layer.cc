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

std::vector<std::string>
RdmaLinkLayer::GetNotes() const
{
    return {};
}

} // namespace ns3
