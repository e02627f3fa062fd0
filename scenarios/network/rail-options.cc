/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/rail-options.h"

#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/tuner.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/network.h"

#include <algorithm>
#include <set>

namespace scenario
{

namespace
{

constexpr const char* kPxn = "pxn";

/// Rails that the NICs of these ranks are on: NIC i is on rail i mod rails.
size_t
RailsOf(const coll::Placement& placement, uint32_t rails)
{
    std::set<uint32_t> used;
    for (const uint32_t nic : coll::Rails(placement))
    {
        used.insert(nic % rails);
    }
    return used.size();
}

/// The NIC beside a GPU.
uint32_t
NicOf(coll::Rank rank, const ClusterSpec& cluster)
{
    return coll::NicNearGpu(rank % cluster.server.gpus, cluster.server.gpus, cluster.server.nics);
}

} // namespace

std::vector<Option>
RailOptionRows()
{
    return {
        Section{"/cluster", "Cluster"}
            .Name(
                "peer-nic",
                "NICs of a message from one GPU to another of a different server, as alltoall and "
                "pipelines send them")
            .As(&asked::Cluster::peerNic)
            .Names("peer-nic",
                   {{"same", "the same number at both ends, a piece by each NIC"},
                    {"own", "beside the one GPU and beside the other: crosses rails"},
                    {"pxn",
                     "beside the receiver at both ends; the sender reaches that NIC by NVLink"}})
            .Otherwise("own where servers have several NICs, pxn with NVLink on rails; same with "
                       "one NIC, or where the server's library says which it uses")
            .Example("same"),
    };
}

void
ApplyRails(Validation* v,
           const ClusterSpec& cluster,
           const std::vector<CollectiveOptions*>& choices)
{
    const topo::Description& about = cluster.topology.About();
    // As NCCL chooses it on any wiring: ncclTopoGetLocalNet of its graph/topo.cc takes the NIC of
    // the shortest path to the GPU; with PXN, from 2.12 on, that of the receiver's rail.
    if (cluster.server.nics > 1 && cluster.server.library.exchangeNics == 0)
    {
        const bool nvLink = cluster.server.scaleUp.kind == topo::ScaleUp::kNvSwitch ||
                            cluster.server.scaleUp.kind == topo::ScaleUp::kNvLinkMesh;
        v->DecideUnlessGiven(&asked::Cluster::peerNic, about.rails > 1 && nvLink ? kPxn : "own");
    }
    if (!v->values.Has(&asked::Cluster::peerNic))
    {
        return;
    }
    const bool own = v->values.Get(&asked::Cluster::peerNic) != "same";
    const bool peers = v->values.Get(&asked::Cluster::peerNic) == kPxn;
    for (CollectiveOptions* choice : choices)
    {
        choice->ownNics = own;
        choice->peersRail = peers;
        choice->besideGpu = std::max(1u, cluster.server.nics / std::max(1u, cluster.server.gpus));
        choice->rails = about.rails;
        choice->railsApart = about.railsApart;
    }
    if (own && cluster.server.nics == 1)
    {
        v->Fail(&asked::Cluster::peerNic,
                "has no meaning for servers of one NIC; allowed: same, or more with "
                "--nics-per-server");
    }
}

bool
OwnNics(const CollectiveOptions& options, const coll::Algorithm& algorithm, coll::Op op)
{
    return options.ownNics && coll::IsExchange(op) && algorithm.Name() != kPxn;
}

bool
TakesPxn(const CollectiveOptions& options, coll::Op op, const coll::Placement& placement)
{
    return options.ownNics && options.rails > 1 && op == coll::Op::kAllToAll &&
           coll::HasSeveralServers(placement) && RailsOf(placement, options.rails) > 1;
}

std::string
WhyNotOnRails(const CollectiveOptions& options,
              const coll::Algorithm& algorithm,
              const coll::Placement& placement,
              coll::Op op)
{
    if (!OwnNics(options, algorithm, op) || options.peersRail || !options.railsApart ||
        !coll::HasSeveralServers(placement) || RailsOf(placement, options.rails) < 2)
    {
        return "";
    }
    return std::string("goes from the NIC beside one GPU to the NIC beside another "
                       "(--peer-nic=own), and nothing joins their rails in this network; "
                       "allowed: ") +
           (op == coll::Op::kAllToAll
                ? "--algorithm=alltoall=pxn, which goes to the other rail inside a server, or "
                : "") +
           "--peer-nic=pxn";
}

void
CheckRailMessages(const ReadResult& read, const TrainingScenario& s, std::vector<Error>* errors)
{
    if (!s.collectives.ownNics || s.collectives.peersRail || !s.collectives.railsApart)
    {
        return;
    }
    const uint32_t rails = s.collectives.rails;
    const auto refuse = [&](const std::string& what) {
        errors->push_back({read.values.Where(&asked::Network::topology),
                           read.values.Raw(&asked::Network::topology),
                           what +
                               ", and nothing joins their rails in this network; allowed: "
                               "--peer-nic=pxn, which takes the receiver's rail at both ends, or "
                               "a layout that sends between GPUs of the same place in their "
                               "servers",
                           ""});
    };
    if (s.served)
    {
        refuse("replicas and parameter servers send from the NIC beside one GPU to the NIC beside "
               "another");
        return;
    }
    const uint32_t gpus = s.cluster.server.gpus;
    for (uint32_t kind = 0; kind < s.plan.groupKinds.size(); ++kind)
    {
        for (const auto& group : s.plan.groupKinds[kind].groups)
        {
            for (size_t position = 0; position < group.size(); ++position)
            {
                const coll::Rank from = group[position];
                for (const auto& task : s.plan.roles[s.plan.roleOf[from]].tasks)
                {
                    if (task.kind != training::TaskKind::kSend || task.group != kind)
                    {
                        continue;
                    }
                    const coll::Rank to = group[position + task.peerOffset];
                    if (from / gpus != to / gpus &&
                        NicOf(from, s.cluster) % rails != NicOf(to, s.cluster) % rails)
                    {
                        refuse("the pipeline sends from rank " + std::to_string(from) +
                               " to rank " + std::to_string(to) +
                               ", by the NICs beside these GPUs");
                        return;
                    }
                }
            }
        }
    }
}

} // namespace scenario
