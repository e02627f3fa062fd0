/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-transport-schemes.h"

#include "ns3/abort.h"
#include "ns3/ns3-compat.h"

#include <deque>

namespace ns3
{

namespace
{

constexpr const char* GO_BACK_N = "go-back-n";

/// Schemes by the value of the attribute; made by the first who asks, as objects with static
/// storage come in any order.
struct Registry
{
    Registry()
        : checker(Create<EnumCheckerOf<int>>())
    {
        // The default's place: it registers when its turn comes, as all do.
        checker->AddDefault(0, GO_BACK_N);
        schemes.push_back({GO_BACK_N, nullptr});
    }

    static Registry& Get()
    {
        static Registry registry;
        return registry;
    }

    std::deque<RdmaTransportScheme> schemes; //!< they stay where they are
    Ptr<EnumCheckerOf<int>> checker;
};

} // namespace

RdmaTransportSchemes::Registered::Registered(RdmaTransportScheme scheme)
{
    Registry& registry = Registry::Get();
    if (scheme.name == GO_BACK_N && !registry.schemes.front().make)
    {
        registry.schemes.front() = std::move(scheme);
        return;
    }
    NS_ABORT_MSG_IF(Find(scheme.name), "two ways to recover from loss are named " << scheme.name);
    registry.checker->Add(static_cast<int>(registry.schemes.size()), scheme.name);
    registry.schemes.push_back(std::move(scheme));
}

const RdmaTransportScheme*
RdmaTransportSchemes::Find(const std::string& name)
{
    for (const RdmaTransportScheme& scheme : Registry::Get().schemes)
    {
        if (scheme.name == name)
        {
            return &scheme;
        }
    }
    return nullptr;
}

const RdmaTransportScheme&
RdmaTransportSchemes::GoBackN()
{
    return At(0);
}

const RdmaTransportScheme&
RdmaTransportSchemes::At(int index)
{
    return Registry::Get().schemes[static_cast<size_t>(index)];
}

std::vector<std::string>
RdmaTransportSchemes::GetNames()
{
    std::vector<std::string> names;
    for (const RdmaTransportScheme& scheme : Registry::Get().schemes)
    {
        names.push_back(scheme.name);
    }
    return names;
}

Ptr<const AttributeChecker>
RdmaTransportSchemes::GetChecker()
{
    return Registry::Get().checker;
}

} // namespace ns3
