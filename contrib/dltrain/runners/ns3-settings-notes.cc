/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run's attributes do beside its options: nothing, or more than their own part.
 */
#include "contrib/rdma/core/shown-text.h"
#include "ns3-settings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/job/background.h"
#include "scenarios/launch/ns3-environment.h"
#include "scenarios/options/member.h"
#include "scenarios/startup/parse.h"
#include "used-parts.h"

#include "ns3/type-id.h"

#include <algorithm>
#include <map>
#include <utility>
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

namespace
{

/// \return names of options, by attribute
std::map<std::string, std::string>
OptionsOfAttributes()
{
    std::map<std::string, std::string> optionOf;
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
    return optionOf;
}

} // namespace

std::string
WithOption(const scenario::FabricSpec& spec,
           const scenario::RunOptions& run,
           const std::string& error)
{
    const auto optionOf = OptionsOfAttributes();
    const auto settings = scenario::Ns3SettingsOf(run);
    for (const auto& [attribute, value] : run.optionAttributes)
    {
        const auto option = optionOf.find(attribute);
        const bool atPlace = std::any_of(
            spec.places.begin(),
            spec.places.end(),
            [&name = attribute](const auto& setting) { return setting.attribute == name; });
        if (option != optionOf.end() && !atPlace && !settings.count(attribute) &&
            error.find(": " + attribute + ": " + value + ":") != std::string::npos)
        {
            return "--" + option->second + ": " + error;
        }
    }
    return error;
}

std::vector<std::string>
OverriddenOptions(const scenario::RunOptions& run)
{
    const auto optionOf = OptionsOfAttributes();
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
    std::vector<std::pair<std::string, std::string>> given; // as it was said, the attribute
    for (const std::string& argument : run.ns3Arguments)
    {
        const std::string option = argument.substr(0, argument.find('='));
        given.emplace_back(option, option.substr(2));
    }
    for (const scenario::PlacedSetting& setting : spec.places)
    {
        const bool ofCommandLine = setting.where.rfind("--", 0) == 0;
        if (ofCommandLine && setting.key == setting.attribute)
        {
            given.emplace_back(setting.where + "=" + setting.Said(), setting.attribute);
        }
    }
    const UsedParts parts(spec);
    const bool tcp = run.protocol.IsTcp() || (run.background && run.background->protocol.IsTcp());
    std::vector<std::string> unused;
    for (const auto& [said, name] : given)
    {
        const std::size_t colons = name.rfind("::");
        ns3::TypeId type;
        if (colons == std::string::npos ||
            !ns3::TypeId::LookupByNameFailSafe(name.substr(0, colons), &type))
        {
            continue; // a global value
        }
        const bool ofOthers =
            type.GetName() == (spec.infiniBand ? "ns3::RdmaSwitch" : "ns3::IbSwitch");
        std::string why = ofOthers ? scenario::Spell(&scenario::asked::Fabric::fabric) + "=" +
                                         (spec.infiniBand ? "ib" : "roce") + " has no such switches"
                                   : parts.WhyUnused(type);
        why = why.empty() ? parts.WhyUnused(name) : why;
        why = why.empty() && !tcp && type.GetGroupName() == "Internet" &&
                      type.GetName().rfind("ns3::Tcp", 0) == 0
                  ? "nothing is sent by TCP (" +
                        scenario::Spell(&scenario::asked::Traffic::protocol) + ")"
                  : why;
        if (!why.empty())
        {
            unused.push_back(rdma::Shown(said, 100) + " has no effect: " + why);
        }
    }
    return unused;
}

} // namespace dltrain
