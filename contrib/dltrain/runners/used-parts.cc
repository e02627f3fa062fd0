/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "used-parts.h"

#include "contrib/rdma/core/queue-disc-names.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/options/member.h"

#include "ns3/boolean.h"
#include "ns3/rdma-buffer-policy.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-load-balancer.h"
#include "ns3/rdma-marker.h"
#include "ns3/rdma-named-types.h"
#include "ns3/rdma-path-selector.h"
#include "ns3/rdma-queue-disc.h"
#include "ns3/rdma-transport-schemes.h"

#include <algorithm>
#include <functional>

namespace dltrain
{

using scenario::asked::Fabric;

namespace
{

bool
HasClass(ns3::TypeId type, ns3::TypeId of)
{
    return type == of || type.IsChildOf(of);
}

/// \return the attribute's default as options, scenario and command line have set it
std::string
ValueOf(const std::string& attribute)
{
    const std::size_t colons = attribute.rfind("::");
    ns3::TypeId::AttributeInformation info;
    const bool known = ns3::TypeId::LookupByName(attribute.substr(0, colons))
                           .LookupAttributeByName(attribute.substr(colons + 2), &info);
    return known ? info.initialValue->SerializeToString(info.checker) : "";
}

/// \return the values of an attribute in a run: for all, and at places
std::vector<std::string>
NamesOf(const scenario::FabricSpec& spec, const std::string& attribute)
{
    std::vector<std::string> names{ValueOf(attribute)};
    for (const scenario::PlacedSetting& setting : spec.places)
    {
        if (setting.attribute == attribute)
        {
            names.push_back(setting.value);
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

/// As ns-3 reads a boolean.
bool
IsTrue(const std::string& value)
{
    ns3::BooleanValue read;
    return read.DeserializeFromString(value, ns3::MakeBooleanChecker()) && read.Get();
}

/// \return "the marker is pie (--marker)"
std::string
Reason(const char* noun, const std::vector<std::string>& names, scenario::Member option)
{
    std::string all;
    for (const std::string& name : names)
    {
        all += (all.empty() || name.empty() ? "" : ", ") + name;
    }
    return (all.empty() ? std::string("there is no ") + noun
                        : std::string("the ") + noun + " is " + all) +
           " (" + scenario::Spell(option) + ")";
}

template <class Base>
std::vector<ns3::TypeId>
TypesOf(const std::vector<std::string>& names)
{
    std::vector<ns3::TypeId> types;
    for (const std::string& name : names)
    {
        bool known = false;
        const ns3::TypeId type = ns3::RdmaNamedTypes<Base>::Lookup(name, known);
        if (known)
        {
            types.push_back(type);
        }
    }
    return types;
}

/// \return the class of a transport's own attributes; false: it has none
bool
FindParameters(const std::string& transport, ns3::TypeId& type)
{
    const ns3::RdmaTransportScheme* scheme = ns3::RdmaTransportSchemes::Find(transport);
    const auto parameters =
        scheme && scheme->makeParameters ? scheme->makeParameters() : ns3::Ptr<ns3::Object>();
    type = parameters ? parameters->GetInstanceTypeId() : type;
    return parameters != nullptr;
}

std::vector<ns3::TypeId>
ParametersOf(const std::vector<std::string>& transports)
{
    std::vector<ns3::TypeId> types;
    for (const std::string& name : transports)
    {
        ns3::TypeId type;
        if (FindParameters(name, type))
        {
            types.push_back(type);
        }
    }
    return types;
}

} // namespace

bool
IsOfTransport(ns3::TypeId type)
{
    const auto all = ParametersOf(ns3::RdmaTransportSchemes::GetNames());
    return std::any_of(all.begin(), all.end(), [type](ns3::TypeId of) {
        return HasClass(of, type);
    });
}

UsedParts::UsedParts(const scenario::FabricSpec& spec)
{
    std::vector<std::string> laws{spec.cc};
    std::vector<std::string> transports{ValueOf("ns3::RdmaNic::LossRecovery")};
    for (const scenario::TrafficClass& of : spec.classes)
    {
        laws.push_back(of.cc);
        transports.push_back(of.lossRecovery);
    }
    m_kinds.push_back({{ns3::RdmaCongestionOps::GetTypeId()},
                       TypesOf<ns3::RdmaCongestionOps>(laws),
                       Reason("congestion control", {spec.cc}, &Fabric::cc)});
    m_kinds.push_back({ParametersOf(ns3::RdmaTransportSchemes::GetNames()),
                       ParametersOf(transports),
                       Reason("transport", {spec.transport.name}, &Fabric::transport)});
    const auto balancers =
        NamesOf(spec,
                spec.infiniBand ? "ns3::IbSwitch::LoadBalancer" : "ns3::RdmaSwitch::LoadBalancer");
    m_kinds.push_back({{ns3::RdmaLoadBalancer::GetTypeId()},
                       TypesOf<ns3::RdmaLoadBalancer>(balancers),
                       Reason("load balancer", balancers, &Fabric::loadBalancer)});
    const auto selectors = NamesOf(spec, "ns3::RdmaNic::PathSelector");
    m_kinds.push_back({{ns3::RdmaPathSelector::GetTypeId()},
                       TypesOf<ns3::RdmaPathSelector>(selectors),
                       Reason("load balancer", {spec.balancing.name}, &Fabric::loadBalancer)});
    auto discs = NamesOf(spec, "ns3::RdmaPort::QueueDisc");
    std::replace(discs.begin(), discs.end(), std::string(), std::string(rdma::kPortDwrr));
    m_kinds.push_back({{ns3::RdmaQueueDisc::GetTypeId()},
                       TypesOf<ns3::RdmaQueueDisc>(discs),
                       Reason("queue discipline", discs, &Fabric::queueDisc)});
    const auto markers = NamesOf(spec, "ns3::RdmaSwitch::Marker");
    m_kinds.push_back({{ns3::RdmaMarker::GetTypeId()},
                       TypesOf<ns3::RdmaMarker>(markers),
                       Reason("marker", markers, &Fabric::marker)});
    const auto policies = NamesOf(spec, "ns3::RdmaSwitch::BufferPolicy");
    m_kinds.push_back({{ns3::RdmaBufferPolicy::GetTypeId()},
                       TypesOf<ns3::RdmaBufferPolicy>(policies),
                       Reason("buffer policy", policies, &Fabric::bufferPolicy)});
    const std::string port = "ns3::RdmaPort::";
    const auto controls = NamesOf(spec, port + "FlowControl");
    if (std::find(controls.begin(), controls.end(), "cbfc") == controls.end())
    {
        for (const char* name : {"CreditBuffer", "CreditUpdateSpacing"})
        {
            m_idle[port + name] = Reason("flow control", controls, &Fabric::flowControl);
        }
    }
    const auto retries = NamesOf(spec, port + "LinkRetry");
    if (std::none_of(retries.begin(), retries.end(), IsTrue))
    {
        for (const char* name : {"ReplayBuffer", "ReplayLimit", "ReplayTimer", "RetryAckSpacing"})
        {
            m_idle[port + name] = Reason("link-level retry", {}, &Fabric::linkRetry);
        }
    }
}

std::string
UsedParts::WhyUnused(const std::string& attribute) const
{
    const auto idle = m_idle.find(attribute);
    return idle == m_idle.end() ? "" : idle->second;
}

std::string
UsedParts::WhyUnused(ns3::TypeId type) const
{
    for (const Kind& kind : m_kinds)
    {
        const bool isOne = std::any_of(kind.all.begin(), kind.all.end(), [type](ns3::TypeId of) {
            return HasClass(type, of);
        });
        const bool isUsed = std::any_of(kind.used.begin(), kind.used.end(), [type](ns3::TypeId of) {
            return HasClass(of, type);
        });
        if (isOne && !isUsed)
        {
            return kind.why;
        }
    }
    return {};
}

} // namespace dltrain
