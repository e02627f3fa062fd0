/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/placement-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/run.h"
#include "scenarios/job/job-seat.h"
#include "scenarios/network/common-options.h"
#include "scenarios/placement/placement.h"
#include "topologies/names.h"

#include <algorithm>

namespace scenario
{

std::vector<Option>
PlacementOptionRows()
{
    return {
        Section{"/cluster", "Cluster"}
            .Name("placement",
                  "which host a server stands at; those that look at where hosts are choose among "
                  "the "
                  "--servers, if not given among all hosts of the network")
            .As(&asked::Cluster::placement)
            .Names(
                "placement",
                {{"linear", "server i at host i"},
                 {"packed", "edge switches are filled one after the other, pod by pod"},
                 {"spread", "edge switches take turns, those of other pods first"},
                 {"random", "a shuffle by --seed"},
                 {"rail",
                  "the smallest group with room, of hosts whose NICs hang on the same switches, "
                  "else a pod, else the network"},
                 {"fragmented", "packed into what a seeded share of others (--occupied) leaves"}})
            .Default("linear"),
        Section{"/cluster", "Cluster"}
            .Real("occupied",
                  "placement=fragmented: the share of hosts where others stand, chosen by --seed")
            .As(&asked::Cluster::occupied)
            .Otherwise("0.5")
            .Range(0, 1)
            .Example("0.25")
            .Only(when::Is("placement", {"fragmented"})),
    };
}

void
MakePlacement(Validation* v, const std::string& total, uint32_t installed, ClusterSpec* cluster)
{
    auto& values = v->values;
    v->Settle(&asked::Cluster::placement);
    PlacementRequest request;
    request.policy = ParsePlacement(values.Get(&asked::Cluster::placement));
    request.servers = cluster->servers;
    request.hosts = installed ? installed : static_cast<uint32_t>(cluster->topology.Hosts().size());
    request.seed = values.Get(&asked::Run::seed);
    if (request.policy == PlacementPolicy::kFragmented)
    {
        v->DecideTextUnlessGiven(&asked::Cluster::occupied, "0.5");
        request.occupied = values.Get(&asked::Cluster::occupied);
    }
    cluster->placement = request.policy;
    if (v->seat)
    {
        request.taken = v->seat->taken;
        for (const uint32_t host : v->seat->hosts)
        {
            if (host >= request.hosts)
            {
                v->errors.push_back({"hosts",
                                     std::to_string(host),
                                     "the network has " + topo::Counted(request.hosts, "host") +
                                         "; allowed: 0 to " + std::to_string(request.hosts - 1),
                                     ""});
                return;
            }
        }
        if (!v->seat->hosts.empty())
        {
            cluster->hostOfServer = v->seat->hosts;
            return;
        }
    }
    const uint32_t free = FreeHosts(request);
    if (free < request.servers)
    {
        const std::string have = "others have " + std::to_string(request.hosts - free) + " of " +
                                 topo::Counted(request.hosts, "host") + ", and the job needs " +
                                 topo::Counted(request.servers, "server");
        const bool some = request.policy == PlacementPolicy::kFragmented;
        v->Fail(&asked::Cluster::placement,
                have + "; allowed: " + (some ? "a smaller --occupied, " : "") +
                    (v->seat ? "a larger network, or jobs of fewer servers"
                             : "more --servers, or --" + total + " of at most " +
                                   std::to_string(uint64_t{free} * cluster->server.gpus)));
        return;
    }
    cluster->hostOfServer = PlaceServers(request, cluster->topology);
}

} // namespace scenario
