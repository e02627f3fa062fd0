/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-path-selector.h"

#include "ns3/rdma-named-types.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaPathSelector);

TypeId
RdmaPathSelector::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaPathSelector").SetParent<Object>().SetGroupName("Rdma");
    return tid;
}

RdmaPathSelector::~RdmaPathSelector() = default;

const std::vector<std::pair<std::string, std::string>>&
RdmaPathSelector::GetNames()
{
    // Once: every NIC asks.
    static const auto names = RdmaNamedTypes<RdmaPathSelector>::Get();
    return names;
}

Ptr<RdmaPathSelector>
RdmaPathSelector::Make(const std::string& name)
{
    for (const auto& [known, type] : GetNames())
    {
        if (known == name || type == name)
        {
            ObjectFactory factory;
            factory.SetTypeId(type);
            return factory.Create<RdmaPathSelector>();
        }
    }
    return nullptr;
}

} // namespace ns3
