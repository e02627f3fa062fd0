/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The options that all programs share, and the lists of names they offer.
 */
#ifndef SCENARIOS_NETWORK_COMMON_OPTIONS_H
#define SCENARIOS_NETWORK_COMMON_OPTIONS_H

#include "scenarios/options/options.h"
#include "topologies/family.h"

#include <string>
#include <vector>

namespace scenario
{

/// The version in --version and in stats.json's configuration.
constexpr const char* kVersion = "0.1.0";

std::vector<Option> RunOptionRows(
    const std::string& program); ///< --scenario, --out, --seed, --dry-run, ...

/// How a program knows its number of servers.
enum class ServerCount : uint8_t
{
    kAlways, ///< each has some
    kHosts,  ///< it is --hosts, which may be left out
};

/// Topology and links, with the parameters of all families.
std::vector<Option> NetworkOptionRows(const std::string& defaultTopology, ServerCount servers);

/// The software whose queue pair settings are the defaults.
enum class Software : uint8_t
{
    /// Common to drivers: local ACK time-out 14.
    kDrivers,
    /// NCCL 2.23 and later: NCCL_IB_TIMEOUT 20 (18 from 2.14 on, 14 before), NCCL_IB_RETRY_CNT 7.
    /// NVIDIA's user guide, "Environment Variables"; NVIDIA/nccl, src/transport/net_ib/connect.cc.
    kNccl,
};

std::vector<Option> FabricOptionRows(Software software); ///< NICs, switches, congestion control
std::vector<Option> PlacementOptionRows();               ///< servers on hosts: placement-options.h
std::vector<Option> CollectiveOptionRows();              ///< --algorithm, --channels, ...

// Registries as --help and errors list them.
std::vector<NamedItem> EngineItems();
std::vector<NamedItem> TopologyItems(); ///< families that make networks from parameters
std::vector<NamedItem> NicItems();
std::vector<NamedItem> CongestionItems();
std::vector<NamedItem> CongestionPresetItems();
std::vector<NamedItem> ServerItems();
std::vector<NamedItem> AlgorithmItems(); ///< with their operations in the description

std::vector<NameList> FabricLists(); ///< topologies, nics, cc

} // namespace scenario

#endif // SCENARIOS_NETWORK_COMMON_OPTIONS_H
