/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of programs whose ranks are GPUs in servers (dltrain, collperf), and what they make
 * together.
 */
#include "scenarios/network/cluster-options.h"

#include "collectives/aggregation/aggregators.h"
#include "collectives/core/placement.h"
#include "contrib/rdma/core/ib/ib-link.h"
#include "contrib/rdma/core/nearest-name.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/network.h"
#include "scenarios/job/job-seat.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/nic-names.h"
#include "scenarios/network/placement-options.h"
#include "scenarios/network/queue-pair-options.h"
#include "scenarios/network/rail-options.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/scale-up-options.h"
#include "scenarios/network/validate.h"
#include "scenarios/placement/placement.h"
#include "scenarios/placement/switch-groups.h"
#include "topologies/family.h"
#include "topologies/formats/simai-format.h"
#include "topologies/names.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace scenario
{

namespace
{

constexpr uint64_t kMostRanks = 1000000;

} // namespace

std::vector<NamedItem>
ServerItems()
{
    std::vector<NamedItem> items;
    for (const auto& s : topo::ServerPresets())
    {
        items.push_back({s.name,
                         std::to_string(s.gpus) + " x " + s.gpu + ", " +
                             topo::ToString(s.scaleUp.kind) + " " +
                             rdma::ToString(s.scaleUp.perGpu) + " a GPU, " +
                             topo::Counted(s.nics, "NIC") + " of " + rdma::ToString(s.nicRate)});
    }
    return items;
}

std::vector<Option>
ClusterOptionRows(const ClusterDefaults& d)
{
    const Section section{"/cluster", "Cluster"};
    const std::string own = ", or as a --server that is named has";
    std::vector<Option> rows = {
        section.Integer("servers", "servers of the network")
            .As(&asked::Cluster::servers)
            .Otherwise(d.serversNote)
            .Range(1, static_cast<double>(kMostRanks))
            .Example("8"),
        section.Integer(d.total, d.totalHelp)
            .As(d.counts)
            .Otherwise(d.totalNote)
            .Range(1, static_cast<double>(kMostRanks))
            .Example("32"),
        section
            .NameOrFile("server",
                        "what a server is made of: a preset, a JSON file or a topology file of "
                        "SimAI; sets GPUs, NICs and their rate, unless these are given")
            .As(&asked::Cluster::server)
            .Names("server", ServerItems)
            .Default("dgx-a100")
            .Example("dgx-h100"),
        section.Integer("gpus-per-server", "GPUs of a server")
            .As(&asked::Cluster::gpusPerServer)
            .Otherwise(d.gpusPerServer ? std::to_string(d.gpusPerServer) + own
                                       : "8, or as the server has")
            .Range(1, topo::kMostGpus)
            .Example("4"),
        section.Integer("nics-per-server", "network interfaces of a server")
            .As(&asked::Cluster::nicsPerServer)
            .Otherwise("1" + own)
            .Range(1, topo::kMostNics)
            .Example("2"),
    };
    Append(&rows, PlacementOptionRows());
    Append(&rows, QueuePairOptionRows());
    Append(&rows, RailOptionRows());
    return rows;
}

bool
TopologyHasServer(const Values& values)
{
    const std::string& topology = values.Get(&asked::Network::topology);
    return !topo::FamilyOfParameters(topology) && topo::IsSimaiTopology(topology) &&
           (!values.Given(&asked::Cluster::server) ||
            values.Get(&asked::Cluster::server) == topology);
}

std::optional<topo::ServerSpec>
ChosenServer(Validation* v)
{
    if (TopologyHasServer(v->values))
    {
        v->Decide(&asked::Cluster::server, v->values.Get(&asked::Network::topology));
    }
    const bool ofKinds = v->values.Given(&asked::Cluster::serverKinds);
    return ServerNamed(v,
                       ofKinds ? Member(&asked::Cluster::serverKinds)
                               : Member(&asked::Cluster::server),
                       v->values.Get(&asked::Cluster::server));
}

std::optional<topo::ServerSpec>
ServerNamed(Validation* v, Member option, const std::string& name)
{
    if (const topo::ServerSpec* preset = topo::FindServer(topo::ServerPresets(), name))
    {
        return *preset;
    }
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(name, errors);
    if (!text)
    {
        if (option == Member(&asked::Cluster::server))
        {
            v->FailFile(option, errors);
        }
        else
        {
            v->errors.push_back({v->values.Where(option),
                                 name,
                                 errors.empty() ? "cannot be read" : errors[0].problem,
                                 NearestName(name, ServerItems())});
        }
        return std::nullopt;
    }
    std::optional<std::vector<topo::ServerSpec>> servers;
    if (!topo::IsSimaiTopology(name))
    {
        servers = topo::ReadServers(*text, name, errors);
    }
    else if (auto server = topo::ReadSimaiServer(*text, name, errors))
    {
        servers = {std::move(*server)};
    }
    for (const auto& e : errors)
    {
        v->errors.push_back({"", "", e.Sentence(), ""});
    }
    if (!servers)
    {
        return std::nullopt;
    }
    if (servers->size() != 1)
    {
        v->Fail(option,
                (option == Member(&asked::Cluster::server) ? "" : name + " ") + "has " +
                    std::to_string(servers->size()) + " servers; allowed: a file with one");
        return std::nullopt;
    }
    return servers->front();
}

namespace
{

/// The network that servers of several NICs are sold with: a rail for each NIC (topologies/rails.h
/// has the reference architecture). A parameter that rails do not have asks for another family.
void
ChooseTopology(Validation* v)
{
    const Values& values = v->values;
    const topo::Family& rails = *topo::FindFamily("rail-optimized");
    const auto hasNot = [&](const topo::SharedParameter& shared) {
        const auto& families = shared.families;
        return v->table.Find(shared.parameter.name) && values.Given(shared.parameter.name) &&
               std::find(families.begin(), families.end(), rails.name) == families.end();
    };
    const auto parameters = topo::AllParameters();
    if (values.Has(&asked::Cluster::nicsPerServer) &&
        values.Get(&asked::Cluster::nicsPerServer) > 1 &&
        std::none_of(parameters.begin(), parameters.end(), hasNot))
    {
        v->DecideUnlessGiven(&asked::Network::topology, rails.name);
    }
}

/// Hosts as the network has them. \return whether it says so
bool
TakeHosts(Validation* v)
{
    const auto& values = v->values;
    ChooseDimensions(v);
    const std::optional<uint32_t> ports = PortsOfHost(v);
    if (!ports)
    {
        return false;
    }
    const auto demand = [&](auto member, uint32_t must) {
        if (values.Given(member) && values.Get(member) != must)
        {
            v->Fail(member,
                    "each host of --topology=" + values.Get(&asked::Network::topology) +
                        " is one GPU with a NIC for each of its links; allowed: " +
                        std::to_string(must));
        }
        v->DecideUnlessGiven(member, must);
    };
    demand(&asked::Cluster::gpusPerServer, 1);
    demand(&asked::Cluster::nicsPerServer, *ports);
    if (!values.Given(&asked::Collective::library))
    {
        v->DecideUnlessGiven(&asked::Collective::library, "none");
        v->notes.push_back("--library=none on a network of dimensions: no time of a library is "
                           "known there; --library=nccl adds NCCL's");
    }
    return true;
}

/// What a --server that was named has, unless it is given: GPUs, NICs and their rate.
void
TakeServer(Validation* v, const std::optional<topo::ServerSpec>& server)
{
    const auto& values = v->values;
    if (TakeHosts(v))
    {
        return;
    }
    const bool ofTopology = TopologyHasServer(values);
    if (!server || !(values.Given(&asked::Cluster::server) || ofTopology))
    {
        return;
    }
    v->DecideUnlessGiven(&asked::Cluster::gpusPerServer, server->gpus);
    v->DecideUnlessGiven(&asked::Cluster::nicsPerServer, server->nics);
    if (values.Given(&asked::Fabric::nic) || server->nicRate.bps == 0 || ofTopology)
    {
        return;
    }
    const bool infiniBand =
        values.Has(&asked::Fabric::fabric) && values.Get(&asked::Fabric::fabric) == "ib";
    std::string nic;
    for (const auto& candidate : NicNames())
    {
        nic = !infiniBand && candidate.rate == server->nicRate ? candidate.name : nic;
    }
    for (const auto& item : InfiniBandNicItems())
    {
        const auto link = rdma::ParseIbLink(item.name);
        // Four lanes if several have the rate: HDR, not NDR200.
        if (infiniBand && link->Rate() == server->nicRate && (nic.empty() || link->width == 4))
        {
            nic = item.name;
        }
    }
    if (nic.empty())
    {
        v->Fail(&asked::Cluster::server,
                "has NICs of " + rdma::ToString(server->nicRate) +
                    ", of which there is none; give --nic, allowed: " +
                    JoinNames(infiniBand ? InfiniBandNicItems() : EthernetNicItems()));
        return;
    }
    v->Decide(&asked::Fabric::nic, nic);
}

} // namespace

void
ApplyServer(Validation* v, const std::optional<topo::ServerSpec>& server)
{
    TakeServer(v, server);
    ChooseTopology(v);
}

std::string
NicsText(const ClusterSpec& cluster, const FabricSpec& fabric)
{
    return (cluster.server.nics == 1 ? "" : std::to_string(cluster.server.nics) + " x ") +
           fabric.nic;
}

namespace
{

/// The same network with a server at each port for one, if its family has a size by itself.
void
TakeAllHosts(Validation* v, uint32_t nics, Member blamed, FabricSpec* fabric, Network* network)
{
    const topo::Family* family = topo::FamilyOfParameters(v->values.Get(&asked::Network::topology));
    const bool sized =
        family && !family->sizedBy.empty() &&
        std::all_of(family->sizedBy.begin(), family->sizedBy.end(), [v](const std::string& name) {
            return v->table.Find(name) && v->values.Present(name);
        });
    if (!sized)
    {
        return;
    }
    std::vector<std::string> chosen; // as if they had been given
    for (const std::string& name : family->sizedBy)
    {
        if (!v->values.Given(name))
        {
            v->values.Slot(name).given = true;
            chosen.push_back(name);
        }
    }
    const std::vector<std::string> notes = v->notes;
    const std::vector<Error> errors = v->errors;
    FabricSpec same = *fabric;
    Network all = MakeNetwork(v, 0, nics, blamed, &same);
    for (const std::string& name : chosen)
    {
        v->values.Slot(name).given = false;
    }
    v->notes = notes;
    if (!all.valid)
    {
        v->errors = errors; // it has no such size: it stays as it is
        return;
    }
    *fabric = same;
    *network = std::move(all);
}

/// Notes unused links of hosts in a file, whose links the user has drawn.
void
NoteUnusedLinks(Validation* v, const topo::Topology& topology, uint32_t nics)
{
    std::size_t least = SIZE_MAX;
    for (const topo::NodeId host : topology.Hosts())
    {
        least = std::min(least, topology.Nodes()[host].ports.size());
    }
    if (!topology.Hosts().empty() && least > nics)
    {
        const std::string links = std::to_string(least);
        v->notes.push_back("hosts have " + links + " links or more in this topology, and servers " +
                           topo::Counted(nics, "NIC") + ": --nics-per-server=" + links +
                           " uses them");
    }
}

} // namespace

Cluster
MakeCluster(Validation* v,
            const ClusterDefaults& d,
            const std::optional<topo::ServerSpec>& server,
            FabricSpec* fabric)
{
    Cluster result;
    auto& values = v->values;
    ClusterSpec& c = result.spec;
    if (!server)
    {
        return result;
    }
    c.server = *server;
    if (!values.Given(&asked::Cluster::gpusPerServer))
    {
        uint32_t gpus = values.Has(&asked::Cluster::gpusPerServer)
                            ? values.Get(&asked::Cluster::gpusPerServer)
                        : d.gpusPerServer ? d.gpusPerServer
                                          : c.server.gpus;
        // Some of one server's.
        if (values.Given(d.counts) && values.Get(d.counts) < gpus &&
            !values.Given(&asked::Cluster::servers))
        {
            gpus = values.Get(d.counts);
            v->notes.push_back(topo::Counted(gpus, "GPU") + " of the " +
                               std::to_string(c.server.gpus) + " of one " + c.server.name);
        }
        v->Decide(&asked::Cluster::gpusPerServer, gpus);
    }
    if (!values.Has(&asked::Cluster::nicsPerServer))
    {
        v->Decide(&asked::Cluster::nicsPerServer, 1);
    }
    c.server.gpus = values.Get(&asked::Cluster::gpusPerServer);
    c.server.nics = values.Get(&asked::Cluster::nicsPerServer);
    if (values.Given(&asked::Cluster::server) && !values.Given(&asked::Cluster::nicsPerServer) &&
        c.server.nics > 1 && c.server.gpus < server->gpus)
    {
        v->notes.push_back("a " + server->name + " with " + std::to_string(c.server.gpus) +
                           " of its " + topo::Counted(server->gpus, "GPU") + " keeps its " +
                           topo::Counted(c.server.nics, "NIC") +
                           "; --nics-per-server says otherwise");
    }
    if (values.Given(&asked::Cluster::server) && c.server.gpus > server->gpus)
    {
        v->notes.push_back("a " + server->name + " has " + topo::Counted(server->gpus, "GPU") +
                           ", not " + std::to_string(c.server.gpus) +
                           ": here all of a server are linked as those are");
    }
    const uint32_t perServer = c.server.gpus;

    // How many servers there are, and how many of them work.
    const bool fromFile = !topo::FamilyOfParameters(values.Get(&asked::Network::topology)) ||
                          PortsOfHost(v); // it says how many there are
    const bool haveServers = values.Given(&asked::Cluster::servers);
    const bool haveTotal = values.Given(d.counts) && !v->seat;
    uint32_t installed =
        haveServers ? values.Get(&asked::Cluster::servers) : 0; // 0: all hosts of a file
    uint32_t used = 0;                                          // 0: all
    if (v->seat)
    {
        used = v->seat->servers;
        installed = haveServers || fromFile ? installed : v->seat->together;
    }
    else if (haveTotal || (d.defaultTotal && !haveServers && !fromFile))
    {
        const uint32_t total = haveTotal ? values.Get(d.counts) : d.defaultTotal;
        if (total % perServer != 0)
        {
            const uint32_t below = total / perServer * perServer;
            const std::string multiples =
                "multiples of " + std::to_string(perServer) + ", such as " +
                (below ? std::to_string(below) + " or " : "") + std::to_string(below + perServer);
            if (haveTotal)
            {
                uint32_t fits = perServer - 1;
                while (total % fits != 0)
                {
                    --fits;
                }
                v->Fail(d.counts,
                        "does not fill servers of " + topo::Counted(perServer, "GPU") +
                            ", and a job takes whole servers, which all have as many GPUs; "
                            "allowed: " +
                            multiples + ", or --gpus-per-server=" + std::to_string(fits),
                        std::to_string(
                            below && total - below <= perServer / 2 ? below : below + perServer));
            }
            else
            {
                v->Fail(&asked::Cluster::gpusPerServer,
                        std::to_string(total) + " ranks (the default of --" + d.total +
                            ") do not fill such servers; give --" + d.total +
                            ", allowed: " + multiples);
            }
            return result;
        }
        used = total / perServer;
        if (haveServers && used > installed)
        {
            v->Fail(d.counts,
                    topo::Counted(installed, "server") + (installed == 1 ? " has " : " have ") +
                        topo::Counted(uint64_t(installed) * perServer, "GPU") +
                        "; allowed: at most that, or --servers=" + std::to_string(used));
            return result;
        }
        installed = haveServers || fromFile ? installed : used;
    }
    else if (!haveServers && !fromFile)
    {
        installed = d.defaultServers;
    }
    if (uint64_t(installed) * perServer > kMostRanks)
    {
        v->Fail(haveServers ? Member(&asked::Cluster::servers) : Member(d.counts),
                "makes " + std::to_string(uint64_t(installed) * perServer) +
                    " GPUs; allowed: at most " + std::to_string(kMostRanks));
        return result;
    }

    if (ReservedOf(*v) > 0 && !fromFile && !(haveServers && haveTotal))
    {
        used = used ? used : installed;
        installed += ReservedOf(*v);
    }

    const Member blamed =
        haveTotal && !haveServers ? Member(d.counts) : Member(&asked::Cluster::servers);
    Network network = MakeNetwork(v, installed, c.server.nics, blamed, fabric);
    const bool whole =
        !haveServers && !fromFile &&
        (v->seat || ChoosesAmongAll(ParsePlacement(values.Get(&asked::Cluster::placement))));
    if (network.valid && whole)
    {
        TakeAllHosts(v, c.server.nics, blamed, fabric, &network);
    }
    if (!network.valid)
    {
        return result;
    }
    if (network.fromFile && !values.Given(&asked::Cluster::nicsPerServer))
    {
        NoteUnusedLinks(v, network.topology, c.server.nics);
    }
    const uint32_t hosts = static_cast<uint32_t>(network.topology.Hosts().size());
    installed = installed ? installed : hosts;
    // A file's hosts are all there are.
    used = used ? used : installed - std::min(ReservedOf(*v), installed - 1);
    if (used > hosts)
    {
        v->Fail(d.counts,
                "needs " + topo::Counted(used, "server") + ", the network has " +
                    std::to_string(hosts) + "; allowed: at most " +
                    std::to_string(uint64_t(hosts) * perServer));
        return result;
    }
    installed = whole ? hosts : installed;
    v->Decide(&asked::Cluster::servers, installed);
    v->Decide(d.counts, used * perServer);
    c.servers = used;
    c.topology = network.topology;
    c.topologyName = network.name;
    MakePlacement(v, d.total, std::max(installed, used), &c);
    if (c.hostOfServer.empty())
    {
        return result;
    }
    c.connections = MakeConnections(v);
    ApplyScaleUp(v, &c);
    c.aggregationBytes = values.Get(&asked::Collective::aggregationMemory).value;
    c.aggregationGroups = values.Get(&asked::Collective::aggregationGroups);
    result.fromFile = network.fromFile;
    result.valid = true;
    return result;
}

coll::Placement
PlacementOf(const ClusterSpec& cluster, const std::vector<coll::Rank>& ranks)
{
    coll::Placement placement;
    for (const coll::Rank rank : ranks)
    {
        placement.serverOf.push_back(rank / cluster.server.gpus);
        placement.gpuOf.push_back(rank % cluster.server.gpus);
    }
    placement.nicsPerServer = cluster.server.nics;
    placement.gpusPerServer = cluster.server.gpus;
    placement.serverSwitchAdds =
        cluster.server.scaleUp.adds &&
        std::all_of(placement.serverOf.begin(), placement.serverOf.end(), [&](uint32_t server) {
            return cluster.ServerOf(server).scaleUp.adds;
        });
    if (cluster.aggregators)
    {
        placement.aggregation = cluster.aggregators->Trees();
        placement.aggregationBytes = cluster.aggregationBytes;
    }
    placement.groupOf = SwitchGroups(cluster, ranks);
    placement.at = GridPlaces(cluster, ranks);
    placement.along = GridDimensions(cluster);
    return placement;
}

coll::Placement
RankPlacement(const ClusterSpec& cluster)
{
    std::vector<coll::Rank> ranks(static_cast<std::size_t>(cluster.servers) * cluster.server.gpus);
    std::iota(ranks.begin(), ranks.end(), 0);
    return PlacementOf(cluster, ranks);
}

NameList
ServerList()
{
    return {"servers", "Servers (--server)", ServerItems};
}

} // namespace scenario
