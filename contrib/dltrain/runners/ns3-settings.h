/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NS3_SETTINGS_H
#define NS3_SETTINGS_H

#include "scenarios/job/scenario.h"

#include <string>
#include <vector>

namespace dltrain
{

/// Takes NS_ATTRIBUTE_DEFAULT and NS_GLOBAL_VALUE out of the environment, in which ns-3 would let
/// them win over everything else. Before the first object is made: ns-3 reads them once, then.
void TakeNs3Environment();

/// \return the problem with NS_LOG in the environment, or nothing. Before the first event is made:
/// ns-3 ends the program then.
std::string CheckLogging();

/**
 * The attributes and global values of ns-3 that the user gave: NS_ATTRIBUTE_DEFAULT and
 * NS_GLOBAL_VALUE of the environment, then the "ns3" object of the scenario, then
 * --ns3::A::B=value.
 * --PrintAttributes=..., --PrintGroups and their like are handed to ns3::CommandLine, which prints
 * and exits with 0. \return false, and `error` names the argument and what would be right; ns-3
 * itself is never made to abort
 */
bool ApplyNs3Settings(const scenario::RunOptions& run, std::string& error);

/// \param where how the user gave it. \param name "ns3::RdmaNic::Mtu" \return what is wrong with
/// the class, the attribute or its value; or nothing
std::string CheckAttribute(const std::string& where,
                           const std::string& name,
                           const std::string& value);

/// A balancer that is set by its attribute decides on no recovery, as --load-balancer does.
/// \return the warning where packets overtake each other, and it takes those for lost, or nothing
std::string OrderOfBalancer(const scenario::FabricSpec& spec,
                            const scenario::RunOptions& run,
                            const topo::Topology& topology);

/// \return the user's attributes that stand for an option, each with the option's name. Values
/// derived from the option do not know of them.
std::vector<std::string> OverriddenOptions(const scenario::RunOptions& run);

/// \param error of the network's making: "switch-0:0: ns3::RdmaPort::CreditBuffer: 4000: allowed:"
/// \return the same, behind the option that the value is of
std::string WithOption(const scenario::FabricSpec& spec,
                       const scenario::RunOptions& run,
                       const std::string& error);

/// \return of the attributes on the command line those that nothing in a run on this network reads,
/// each with the reason: of parts (UsedParts) and switches that it does not have
std::vector<std::string> UnusedNs3Settings(const scenario::FabricSpec& spec,
                                           const scenario::RunOptions& run);

} // namespace dltrain

#endif /* NS3_SETTINGS_H */
