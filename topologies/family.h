/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The families of networks by name, and the one way to get a Topology from a user's wishes.
 *
 * A family is one file with its drawing, its arithmetic and the table of its parameters, which ends
 * in a line that registers it; no other file changes. From the table come the options of the
 * programs, their JSON keys, checks, messages and help.
 */
#ifndef TOPOLOGIES_FAMILY_H
#define TOPOLOGIES_FAMILY_H

#include "contrib/rdma/core/units.h"
#include "topologies/error.h"
#include "topologies/limits.h"
#include "topologies/parameter.h"
#include "topologies/topology.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace topo
{

/// A user's request for a network. The family chooses fields left at their default. A field that
/// the family has no use for is an error (nothing is ignored), except linkRate and linkDelay, which
/// always have a value and which files override.
struct TopologyRequest
{
    std::string family;
    uint32_t hosts = 0;                               ///< servers needed; 0: as many as fit
    uint32_t nicsPerServer = 1;                       ///< ports of every server
    uint32_t bond = 1;                                ///< neighbouring ones that are one NIC's
    rdma::BitRate linkRate = rdma::Gbps(100);         ///< server to switch
    rdma::BitRate fabricRate;                         ///< switch to switch; 0: as linkRate
    rdma::Duration linkDelay = rdma::Microseconds(1); ///< propagation of every link, one way
    double bitErrorRate = 0;                          ///< error rate of every link
    std::string file;      ///< path of the file, for families that read one
    Parameters parameters; ///< parameters of the family's table; it chooses those that are missing
};

/// Either a topology and no errors, or errors and no topology.
struct TopologyResult
{
    std::optional<Topology> topology;
    std::vector<Error> errors;
    /// Decisions and conversions that deserve a line to the user, such as the k that was chosen.
    /// They may also come with errors.
    std::vector<std::string> notes;
};

/// Family::routing of networks that have tiers, or may have.
constexpr const char* kUsualRouting = "ftree,updn";

struct Family
{
    Family(std::string itsName, std::string itsDescription)
        : name(std::move(itsName)),
          description(std::move(itsDescription))
    {
    }

    std::string name;
    std::string description; ///< one line, for --help
    /// In the order of --help. Several families may have the same parameter, by the same line.
    std::vector<Parameter> parameters;
    /// Parameters that give the number of servers together. Empty: only the number of servers
    /// itself does.
    std::vector<std::string> sizedBy;
    bool fabricLinks = true; ///< there are links between switches, which have a rate of their own
    std::string part;        ///< Description::part of its networks
    std::vector<std::string> tiers; ///< Description::tiers of its networks
    /// Engines of an InfiniBand subnet manager to try in turn (rdma::IbRoutingEngines).
    std::string routing = kUsualRouting;
    uint8_t lanes = 1; ///< data VLs that the first routing engine needs to be free of deadlock
    /// Shortest paths of whole networks of this family never wait in a circle (route-cycles.h).
    bool noCycles = false;
    /// The default number of planes. The family must have Planes() in its table; MakeTopology does
    /// the rest.
    uint32_t planes = 1;
    /// For a family that reads its networks from files, and so has no parameters: the kind of file,
    /// "a graph in JSON".
    std::string file;
    bool leavesDelay = false; ///< a file may leave the delay of links to the request
    /// Whether a name that is not the family's asks for it: by another convention, of which `make`
    /// knows (TopologyRequest::family is as typed).
    std::function<bool(const std::string& name)> answersTo;
    /// NICs of a host, of a network that says how its hosts are: each is one GPU. Nothing if the
    /// request is wrong. Without this function hosts are as the user says.
    std::function<std::optional<uint32_t>(const TopologyRequest& r)> portsOfHost;
    /// Whether a file is of this kind. A family without this function takes the files that no other
    /// family reads.
    std::function<bool(const std::string& path)> reads;
    /// Makes the network. It may rely on the checks of MakeTopology, and on all parameters with a
    /// standard value being present. It describes the network (Topology::Describe), with the
    /// parameters that it chose; the rest of the Description follows.
    std::function<TopologyResult(const TopologyRequest& r)> make;
};

/// A family as long as this object lives: of a file's own namespace, for the whole program.
/// Throws std::logic_error if the name is taken, or a parameter is another one elsewhere.
class RegisteredFamily
{
  public:
    explicit RegisteredFamily(Family family);
    ~RegisteredFamily();
    RegisteredFamily(const RegisteredFamily&) = delete;
    RegisteredFamily& operator=(const RegisteredFamily&) = delete;

  private:
    std::string m_name;
};

/// By name; those that read files come last.
const std::list<Family>& Families();
std::vector<std::string> FamilyNames();
/// \return null if there is no family of this name
const Family* FindFamily(const std::string& name);
/// The same among families that make networks from parameters, and read no file.
const Family* FamilyOfParameters(const std::string& name);
/// The family that reads this file, whether or not it is there.
const Family& FamilyOfFile(const std::string& path);

/// A parameter, and the families that have it.
struct SharedParameter
{
    Parameter parameter;
    std::vector<std::string> families;
};

/// Every parameter once: family by family, in the order of their tables.
std::vector<SharedParameter> AllParameters();

/// Never throws on bad input, whatever the request or the file holds. All problems found are
/// reported, at most some twenty.
TopologyResult MakeTopology(const TopologyRequest& request);

/// The whole file, or an error with field "file". At most 256 MiB.
std::optional<std::string> ReadWholeFile(const std::string& path, std::vector<Error>& errors);

/// The first 4 KiB of a file, for those who only want to know its kind; empty if it cannot be read.
std::string BeginOfFile(const std::string& path);

namespace detail
{
/// No network simulated here is larger; keeps a typing error from eating all memory.
constexpr uint32_t kMostNodes = 1u << 20;
constexpr uint32_t kMostLinks = 1u << 23;

/// "1048576 nodes or 8388608 links".
std::string LargestNetwork();
/// "3 servers need 24": ports, with all their NICs.
std::string ServersNeed(const TopologyRequest& request);

constexpr uint64_t
CeilDiv(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/// "oversubscription", which fat-tree and leaf-spine share: it divides the capacity of the uplinks
/// of an edge switch.
Parameter Oversubscription();
/// "planes": the number of copies of the family's network. Each has a port of every NIC and its
/// share of the rates (planes.h).
Parameter Planes();

/// "bond": ports of each NIC, at as many neighbouring switches (MakePlanes).
Parameter Bond();
/// ", oversubscription 4", behind a network's name; "" if it is 1.
std::string OversubscriptionText(double oversubscription);
/// "1.5"
std::string RatioText(double ratio);

/// `rate` x `factor`, to the nearest bit per second.
rdma::BitRate Scaled(rdma::BitRate rate, double factor);

/// server-0, server-1, ...
void AddServers(Topology* topology, uint64_t servers);

/// A link from each server's ports to the switch that has server port p, in the order of the ports:
/// server s, NIC n takes server port s x nicsPerServer + n. \param topology with servers \param
/// switchOfPort p -> node
template <class F>
void
ConnectServers(Topology* topology, const TopologyRequest& request, const F& switchOfPort)
{
    uint64_t port = 0;
    const uint64_t all = uint64_t{request.nicsPerServer} * topology->Hosts().size();
    uint64_t atFirst = 0; // server ports of a switch
    while (request.bond > 1 && atFirst < all && switchOfPort(atFirst) == switchOfPort(0))
    {
        ++atFirst;
    }
    const auto placeOf = [&](uint64_t p) {
        // Ports of a bond are so far apart that each is at a switch of its own; of the last
        // switches that are not full, they are not.
        const uint64_t nic = p / request.bond;
        const uint64_t first = nic / std::max<uint64_t>(atFirst, 1) * atFirst * request.bond;
        return first + atFirst * request.bond > all
                   ? p
                   : first + p % request.bond * atFirst + nic % atFirst;
    };
    for (const NodeId server : topology->Hosts())
    {
        for (uint32_t nic = 0; nic < request.nicsPerServer; ++nic)
        {
            topology->Connect(server,
                              switchOfPort(request.bond > 1 ? placeOf(port) : port),
                              request.linkRate,
                              request.linkDelay,
                              request.bitErrorRate);
            ++port;
        }
    }
}

/// Completes a network and its description. \param result with notes
TopologyResult Made(TopologyResult result, Topology topology, Description about);

/// A topology from request.file, read by `read` (its text, its name). Checked: every host has a
/// link, there are enough hosts, and they have enough ports. Reachability is left to callers that
/// know which hosts communicate (topologies/routes.h).
TopologyResult MakeFromFile(
    const TopologyRequest& request,
    const std::function<TopologyResult(const std::string& text, const std::string& name)>& read);
} // namespace detail

} // namespace topo

#endif // TOPOLOGIES_FAMILY_H
