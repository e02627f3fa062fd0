/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The families of networks by name, and the one way to get a Topology from a user's wishes.
 *
 * A new family is a header and a .cc with its drawing and arithmetic, one line in the table of
 * family.cc, and its test.
 */
#ifndef TOPOLOGIES_FAMILY_H
#define TOPOLOGIES_FAMILY_H

#include "contrib/rdma/core/units.h"
#include "topologies/error.h"
#include "topologies/limits.h"
#include "topologies/topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace topo
{

/// What a user asks for. A field left at its default is chosen by the family; a field set although
/// the family has no use for it is an error (nothing is ignored), except linkRate and linkDelay,
/// which always have a value and which files override.
struct TopologyRequest
{
    std::string family = "fat-tree";
    uint32_t hosts = 0;                               ///< servers needed; 0: as many as fit
    uint32_t nicsPerServer = 1;                       ///< ports of every server
    rdma::BitRate linkRate = rdma::Gbps(100);         ///< server to switch
    rdma::BitRate fabricRate;                         ///< switch to switch; 0: as linkRate
    rdma::Duration linkDelay = rdma::Microseconds(1); ///< propagation of every link, one way
    uint32_t k = 0;                                   ///< fat-tree; 0: the smallest that fits
    double oversubscription = 1; ///< fat-tree, leaf-spine: at least 1; see there
    uint32_t leaves = 0;         ///< leaf-spine; 0: chosen
    uint32_t spines = 0;         ///< leaf-spine; 0: chosen
    uint32_t hostsPerLeaf = 0;   ///< leaf-spine, in server ports; 0: chosen
    std::vector<uint32_t> torus; ///< torus: switches of every dimension; empty: chosen
    uint32_t hostsPerSwitch = 0; ///< torus, in server ports; 0: chosen
    bool wrap = true;            ///< torus: rings; false: lines, so that it is a mesh
    double bitErrorRate = 0;     ///< of every link
    std::string file;            ///< graph, hpcc: path of the file
};

/// Either a topology and no errors, or errors and no topology.
struct TopologyResult
{
    std::optional<Topology> topology;
    std::vector<Error> errors;
    /// What was decided or converted and is worth a line to the user, such as the k that was
    /// chosen. May be there in both cases.
    std::vector<std::string> notes;
};

struct Family
{
    const char* name;
    const char* description;         ///< one line, for --help
    std::vector<std::string> fields; ///< of TopologyRequest, beyond those every family uses
    TopologyResult (*make)(const TopologyRequest& r); ///< may rely on what MakeTopology has checked
};

const std::vector<Family>& Families();
std::vector<std::string> FamilyNames();

/// Never throws on bad input, whatever the request or the file holds. All problems found are
/// reported, at most some twenty.
TopologyResult MakeTopology(const TopologyRequest& request);

/// The whole file, or an error with field "file". At most 256 MiB.
std::optional<std::string> ReadWholeFile(const std::string& path, std::vector<Error>& errors);

namespace detail
{
/// No network simulated here is larger; keeps a typing error from eating all memory.
constexpr uint32_t kMostNodes = 1u << 20;
constexpr uint32_t kMostLinks = 1u << 23;

/// `rate` x `factor`, to the nearest bit per second.
rdma::BitRate Scaled(rdma::BitRate rate, double factor);

/// For topologies from files: every host has a link, there are enough hosts and they have enough
/// ports. Who must reach whom is for those to check who know who talks to whom
/// (topologies/routes.h).
void CheckFromFile(const Topology& topology,
                   const TopologyRequest& request,
                   std::vector<Error>& errors);
} // namespace detail

} // namespace topo

#endif // TOPOLOGIES_FAMILY_H
