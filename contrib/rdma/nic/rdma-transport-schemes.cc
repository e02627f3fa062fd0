/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-transport-schemes.h"

#include "go-back-n-recovery.h"

#include "ns3/abort.h"
#include "ns3/ns3-compat.h"

#include <deque>

namespace ns3
{

namespace
{

/// Schemes by the value of the attribute; made by the first who asks, as objects with static
/// storage come in any order.
struct Registry
{
    Registry()
        : checker(Create<EnumCheckerOf<int>>())
    {
        const RdmaTransportScheme goBackN = RdmaGoBackNRecovery::GetScheme();
        checker->AddDefault(0, goBackN.name);
        schemes.push_back(goBackN);
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
    NS_ABORT_MSG_IF(Find(scheme.name), "two ways to recover from loss are named " << scheme.name);
    Registry& registry = Registry::Get();
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
