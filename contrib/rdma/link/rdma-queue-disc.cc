/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-queue-disc.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/queue-disc-names.h"
#include "contrib/rdma/core/shown-text.h"
#include "rdma-named-types.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaQueueDisc);

TypeId
RdmaQueueDisc::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaQueueDisc").SetParent<Object>().SetGroupName("Rdma");
    return tid;
}

RdmaQueueDisc::~RdmaQueueDisc() = default;

int64_t
RdmaQueueDisc::NotBefore(uint8_t, int64_t)
{
    return NEVER;
}

RdmaFrame*
RdmaQueueDisc::Evict(const RdmaFrame&, int64_t)
{
    return nullptr;
}

uint16_t
RdmaQueueDisc::GetNeeds() const
{
    return NOTHING;
}

const std::vector<std::pair<std::string, std::string>>&
RdmaQueueDisc::GetNames()
{
    // Once: every port asks.
    static const auto names = RdmaNamedTypes<RdmaQueueDisc>::Get();
    return names;
}

Ptr<RdmaQueueDisc>
RdmaQueueDisc::Make(const std::string& name)
{
    for (const auto& [known, type] : GetNames())
    {
        if (known == name || type == name)
        {
            ObjectFactory factory;
            factory.SetTypeId(type);
            return factory.Create<RdmaQueueDisc>();
        }
    }
    return nullptr;
}

std::string
RdmaQueueDisc::CheckName(const std::string& name)
{
    std::string names = std::string(rdma::kPortDwrr) + ", " + rdma::kPortStrict;
    std::vector<std::string> all{rdma::kPortDwrr, rdma::kPortStrict};
    for (const auto& [known, type] : GetNames())
    {
        if (known == name || type == name)
        {
            return {};
        }
        names += ", " + known;
        all.push_back(known);
    }
    if (rdma::IsPortsOwn(name))
    {
        return {};
    }
    const std::string nearest = rdma::NearestName(name, all);
    return "ns3::RdmaPort::QueueDisc: '" + rdma::Shown(name, 60) +
           "' is unknown; allowed: " + names +
           (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

} // namespace ns3
