/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/server-kinds.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/network/cluster-options.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace scenario
{

namespace
{

/// As --servers.
constexpr uint32_t kMostServersOfKind = 1000000;

/// What a run on unequal servers does not have: plans that move ranks between servers, recorded
/// steps, and searches that count on equal GPUs.
const std::set<std::string> kWithEqualServers = {"server",
                                                 "jobs",
                                                 "trace",
                                                 "launch",
                                                 "profile",
                                                 "offload",
                                                 "recovery",
                                                 "strategy",
                                                 "replicas",
                                                 "tuner",
                                                 "auto-parallel"};

/// The rate of a kind's NICs: --nic, or the server's own.
rdma::BitRate
NicRateOf(const Validation& v, const FabricSpec& fabric, const topo::ServerSpec& server)
{
    return v.values.Given(&asked::Fabric::nic) || server.nicRate.bps == 0 ? fabric.nicRate
                                                                          : server.nicRate;
}

/// Cables of the hosts of slower servers, as a share of what they would be.
void
SlowDownCables(const FabricSpec& fabric, ClusterSpec* cluster)
{
    topo::Topology& topology = cluster->topology;
    const std::vector<topo::NodeId> hosts = topology.Hosts();
    std::vector<double> share(topology.Links().size(), 1);
    for (uint32_t server = 0; server < cluster->servers; ++server)
    {
        const double of = static_cast<double>(cluster->KindOf(server)->nicRate.bps) /
                          static_cast<double>(fabric.nicRate.bps);
        for (const topo::LinkId link : topology.Nodes()[hosts[cluster->hostOfServer[server]]].ports)
        {
            share[link] = std::min(share[link], of);
        }
    }
    for (topo::LinkId link = 0; link < share.size(); ++link)
    {
        if (share[link] < 1)
        {
            const auto rate = static_cast<double>(topology.Links()[link].rate.bps);
            topology.SetRate(link, rdma::BitRate(static_cast<uint64_t>(rate * share[link] + 0.5)));
        }
    }
}

} // namespace

std::vector<Option>
ServerKindsRows()
{
    const Section section{"/cluster", "Cluster"};
    return {section
                .List("server-kinds",
                      "servers that are not alike, in the order of ranks: numbers, and presets or "
                      "JSON files as of --server")
                .As(&asked::Cluster::serverKinds)
                .Shows("NxSERVER,...")
                .Otherwise("all as --server")
                .Example("4xdgx-a100,4xdgx-h100")};
}

void
RefuseWithServerKinds(std::vector<Option>* options)
{
    for (Option& option : *options)
    {
        if (kWithEqualServers.count(option.name) > 0)
        {
            When without =
                when::Without("server-kinds").Hides().Because("whose servers are not alike");
            // A configuration as run has the defaults of all others.
            option.Only(option.name == "server" ? without.Strict() : without.Usual());
        }
    }
}

std::vector<std::pair<uint32_t, std::string>>
NamedServerKinds(Validation* v)
{
    std::vector<std::pair<uint32_t, std::string>> kinds;
    for (const std::string& word : v->values.Get(&asked::Cluster::serverKinds))
    {
        uint32_t count = 0;
        const char* const end = word.data() + word.size();
        const auto [after, bad] = std::from_chars(word.data(), end, count);
        if (bad != std::errc() || after + 1 >= end || *after != 'x' || count == 0 ||
            count > kMostServersOfKind)
        {
            v->errors.push_back({v->values.Where(&asked::Cluster::serverKinds),
                                 word,
                                 "allowed: a number from 1 to 1000000, x and a server, as "
                                 "4xdgx-a100",
                                 ""});
            return {};
        }
        const std::string name(after + 1, end);
        Value server;
        Error error;
        if (!ParseValue(*v->table.Find(&asked::Cluster::server),
                        name,
                        v->values.Where(&asked::Cluster::serverKinds),
                        &server,
                        &error))
        {
            v->errors.push_back(error);
            return {};
        }
        if (!kinds.empty() && kinds.back().second == name)
        {
            kinds.back().first += count;
        }
        else
        {
            kinds.emplace_back(count, name);
        }
    }
    return kinds;
}

void
DecideServerKinds(Validation* v)
{
    v->Settle(&asked::Cluster::serverKinds);
    const auto kinds = NamedServerKinds(v);
    if (kinds.empty())
    {
        return;
    }
    uint64_t servers = 0;
    for (const auto& [count, name] : kinds)
    {
        servers += count;
    }
    const auto decide = [v](Member option, const std::string& text) {
        const std::string where = v->values.Where(&asked::Cluster::serverKinds);
        v->DecideText(option, text);
        Value& value = v->values.Slot(option);
        value.given = true; // what follows from a server that is named, follows from these
        value.where = where;
    };
    // A configuration as run has the number.
    if (v->values.Given(&asked::Cluster::servers) &&
        v->values.Get(&asked::Cluster::servers) != servers)
    {
        v->Fail(&asked::Cluster::servers,
                "and --server-kinds has " + std::to_string(servers) + "; allowed: without it",
                std::to_string(servers));
        return;
    }
    decide(&asked::Cluster::servers, std::to_string(servers));
    decide(&asked::Cluster::server, kinds.front().second);
}

std::vector<ServerKind>
ChosenServerKinds(Validation* v)
{
    const auto named = NamedServerKinds(v);
    if (named.size() < 2)
    {
        return {};
    }
    const std::size_t before = v->errors.size();
    std::vector<ServerKind> kinds;
    for (const auto& [count, name] : named)
    {
        const auto server = ServerNamed(v, &asked::Cluster::serverKinds, name);
        if (!server || v->errors.size() != before)
        {
            return {};
        }
        const ServerKind& first = kinds.empty() ? ServerKind{*server, count, {}} : kinds.front();
        for (const auto& [option, its, other, noun] :
             {std::tuple{Member(&asked::Cluster::gpusPerServer),
                         server->gpus,
                         first.server.gpus,
                         "GPU"},
              std::tuple{Member(&asked::Cluster::nicsPerServer),
                         server->nics,
                         first.server.nics,
                         "NIC"}})
        {
            if (its != other && !v->values.Given(option))
            {
                v->Fail(&asked::Cluster::serverKinds,
                        first.server.name + " has " + topo::Counted(other, noun) + " and " +
                            server->name + " has " + std::to_string(its) +
                            "; allowed: servers with as many, or " + Spell(option) + "=" +
                            std::to_string(std::min(its, other)));
                return {};
            }
        }
        kinds.push_back({*server, count, {}});
    }
    return kinds;
}

topo::ServerSpec
ServerOfNics(const topo::ServerSpec& first, const std::vector<ServerKind>& kinds)
{
    topo::ServerSpec server = first;
    for (const ServerKind& kind : kinds)
    {
        server.nicRate = std::max(server.nicRate, kind.server.nicRate);
    }
    return server;
}

void
SetServerKinds(Validation* v,
               const std::vector<ServerKind>& kinds,
               const FabricSpec& fabric,
               bool fromFile,
               ClusterSpec* cluster)
{
    uint64_t servers = 0;
    bool slower = false;
    cluster->kinds = kinds;
    for (const auto& [count, name] : NamedServerKinds(v))
    {
        cluster->kindWords +=
            (cluster->kindWords.empty() ? "" : ",") + std::to_string(count) + "x" + name;
    }
    for (ServerKind& kind : cluster->kinds)
    {
        kind.server.gpus = cluster->server.gpus;
        kind.server.nics = cluster->server.nics;
        kind.nicRate = NicRateOf(*v, fabric, kind.server);
        slower = slower || kind.nicRate < fabric.nicRate;
        servers += kind.servers;
    }
    if (servers != cluster->servers)
    {
        v->Fail(&asked::Cluster::serverKinds,
                "has " + topo::Counted(servers, "server") + ", and " +
                    std::to_string(cluster->servers) +
                    " of them work here, as --gpus says; allowed: without it");
        return;
    }
    if (slower && fabric.infiniBand)
    {
        v->Fail(&asked::Cluster::serverKinds,
                "has NICs of several rates, and links of --fabric=ib have one; allowed: --nic for "
                "all of them");
        return;
    }
    if (slower && !fromFile) // a file has the rates of its links
    {
        SlowDownCables(fabric, cluster);
    }
}

std::string
ServerKindsText(const ClusterSpec& cluster)
{
    std::string text;
    for (const ServerKind& kind : cluster.kinds)
    {
        text +=
            (text.empty() ? "" : " and ") + std::to_string(kind.servers) + " x " + kind.server.name;
    }
    return text;
}

} // namespace scenario
