/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run's attributes do beside its options: nothing, or more than their own part.
 */
#include "contrib/rdma/core/shown-text.h"
#include "ns3-settings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/launch/ns3-environment.h"
#include "scenarios/options/member.h"
#include "scenarios/startup/parse.h"

#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-load-balancer.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <map>
#include <vector>

namespace dltrain
{

std::string
OrderOfBalancer(const scenario::FabricSpec& spec,
                const scenario::RunOptions& run,
                const topo::Topology& topology)
{
    const std::string attribute =
        spec.infiniBand ? "ns3::IbSwitch::LoadBalancer" : "ns3::RdmaSwitch::LoadBalancer";
    const auto settings = scenario::Ns3SettingsOf(run);
    const auto own = settings.find(attribute);
    const auto recovery = std::find_if(
        run.optionAttributes.begin(),
        run.optionAttributes.end(),
        [](const auto& option) { return option.first == "ns3::RdmaNic::LossRecovery"; });
    if (own == settings.end() || recovery == run.optionAttributes.end() ||
        recovery->second == "out-of-order" || settings.count(recovery->first) ||
        topology.SwitchCount() == 1)
    {
        return {};
    }
    const scenario::LoadBalancer* scheme = scenario::FindLoadBalancer(own->second);
    if (scheme && scheme->order != scenario::LoadBalancer::Order::kLost)
    {
        return {};
    }
    return attribute + "=" + own->second + " with " +
           scenario::Spell(&scenario::asked::Fabric::lossRecovery) + "=" + recovery->second +
           ": packets that " + (scheme ? "" : "it sends by several ways ") +
           "overtake each other are taken for lost; " +
           scenario::Spell(&scenario::asked::Fabric::lossRecovery) +
           "=out-of-order "
           "takes any order" +
           (scheme ? ", and " + scenario::Spell(&scenario::asked::Fabric::loadBalancer) + "=" +
                         own->second + " decides on it"
                   : "");
}

std::vector<std::string>
OverriddenOptions(const scenario::RunOptions& run)
{
    std::map<std::string, std::string> optionOf; // by attribute
    for (const scenario::OptionTable* table : {&scenario::TrainingOptionTable(),
                                               &scenario::CollperfOptionTable(),
                                               &scenario::TrafficOptionTable(),
                                               &scenario::ServingOptionTable()})
    {
        for (const scenario::Option& option : table->options)
        {
            for (const std::string& attribute : option.attributes)
            {
                optionOf.emplace(attribute, option.name);
            }
        }
    }
    const auto settings = scenario::Ns3SettingsOf(run);
    std::vector<std::string> overridden;
    for (const auto& [attribute, value] : run.optionAttributes)
    {
        const auto set = settings.find(attribute);
        const auto option = optionOf.find(attribute);
        if (set != settings.end() && option != optionOf.end())
        {
            overridden.push_back(attribute + "=" + rdma::Shown(set->second, 60) + " overrides --" +
                                 option->second +
                                 ", by which plans go and what is told of the configuration");
        }
    }
    return overridden;
}

std::vector<std::string>
UnusedNs3Settings(const scenario::FabricSpec& spec, const scenario::RunOptions& run)
{
    // (A scenario and the environment may serve runs with one control after another.)
    const bool chosen = scenario::Ns3SettingsOf(run).count("ns3::RdmaSwitch::LoadBalancer") > 0;
    std::vector<std::string> names; // "ns3::RdmaNic::Mtu"
    for (const std::string& argument : run.ns3Arguments)
    {
        const std::string option = argument.substr(0, argument.find('='));
        names.push_back(option.substr(2));
    }
    // Whether the run's object has the class whose default is set.
    const auto isA = [](ns3::TypeId type, ns3::TypeId of) {
        return type == of || type.IsChildOf(of);
    };
    bool known = false;
    const ns3::TypeId control = ns3::RdmaCongestionOps::LookupByName(spec.cc, known);
    const auto balancer = ns3::RdmaLoadBalancer::Make(spec.balancing.name); // null: not one class
    const bool balances = balancer && !spec.infiniBand && !chosen;
    std::vector<std::string> unused;
    for (const std::string& name : names)
    {
        const std::size_t colons = name.rfind("::");
        ns3::TypeId type;
        if (colons == std::string::npos ||
            !ns3::TypeId::LookupByNameFailSafe(name.substr(0, colons), &type))
        {
            continue; // a global value
        }
        std::string why;
        const bool ofClass =
            std::any_of(spec.classes.begin(), spec.classes.end(), [&](const auto& of) {
                bool there = false;
                const ns3::TypeId law = ns3::RdmaCongestionOps::LookupByName(of.cc, there);
                return there && isA(law, type);
            });
        if (known && type.IsChildOf(ns3::RdmaCongestionOps::GetTypeId()) && !isA(control, type) &&
            !ofClass)
        {
            why = "the congestion control is " + spec.cc + " (" +
                  scenario::Spell(&scenario::asked::Fabric::cc) + ")";
        }
        else if (balances && type.IsChildOf(ns3::RdmaLoadBalancer::GetTypeId()) &&
                 !isA(balancer->GetInstanceTypeId(), type))
        {
            why = "the load balancer is " + spec.balancing.name + " (" +
                  scenario::Spell(&scenario::asked::Fabric::loadBalancer) + ")";
        }
        else if (type.GetName() == (spec.infiniBand ? "ns3::RdmaSwitch" : "ns3::IbSwitch"))
        {
            why = scenario::Spell(&scenario::asked::Fabric::fabric) + "=" +
                  (spec.infiniBand ? "ib" : "roce") + " has no such switches";
        }
        if (!why.empty())
        {
            unused.push_back("--" + rdma::Shown(name, 100) + " has no effect: " + why);
        }
    }
    return unused;
}

} // namespace dltrain
