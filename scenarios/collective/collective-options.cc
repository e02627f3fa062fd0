/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of collectives: which algorithm and which protocol, and what a library takes of time.
 */
#include "scenarios/collective/collective-options.h"

#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/dimension-plan.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/collperf.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/scale-up.h"
#include "scenarios/collective/algorithm-rules.h"
#include "scenarios/collective/collective-checks.h"
#include "scenarios/collective/idle-rules.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/rail-options.h"
#include "scenarios/network/switch-values.h"
#include "topologies/error.h"
#include "topologies/hop-counter.h"
#include "topologies/names.h"
#include "topologies/reach.h"

#include <algorithm>
#include <set>

namespace scenario
{

namespace
{

/// --dimensions.
void
ReadDimensions(Validation* v, std::vector<uint32_t>* dimensions)
{
    const std::string& text = v->values.Get(&asked::Collective::dimensions);
    std::string rest = text;
    while (true)
    {
        const auto end = rest.find('x');
        const std::string one = rest.substr(0, end);
        // Seven digits are more than there can be ranks.
        if (one.empty() || one.size() > 7 ||
            one.find_first_not_of("0123456789") != std::string::npos || std::stoul(one) == 0)
        {
            v->Fail(&asked::Collective::dimensions,
                    "allowed: whole numbers from 1 on with x between them, as 4x4x8");
            dimensions->clear();
            return;
        }
        dimensions->push_back(static_cast<uint32_t>(std::stoul(one)));
        if (end == std::string::npos)
        {
            return;
        }
        rest = rest.substr(end + 1);
    }
}

/// The latency of a message between servers, where no library has it: the path from the first
/// server to the last one stands for all.
void
TakeWay(const ClusterSpec& cluster, const FabricSpec& fabric, coll::Machine* machine)
{
    const topo::Topology& topology = cluster.topology;
    if (cluster.hostOfServer.size() < 2)
    {
        return;
    }
    const topo::EndpointId first = topology.EndpointOf(cluster.hostOfServer.front(), 0);
    const topo::EndpointId last = topology.EndpointOf(cluster.hostOfServer.back(), 0);
    // Two searches at most; without an answer there is no way, which others say.
    const uint32_t links = topo::HopCounter(topology).Hops(first, last).value_or(0);
    if (links == 0)
    {
        return;
    }
    const double cable = fabric.linkDelay.Seconds() + FecDelay(fabric, fabric.nicRate).Seconds();
    machine->switches = links - 1;
    machine->outsideLatency = links * cable + machine->switches * fabric.switchLatency.Seconds();
    if (!fabric.tierLinks && fabric.places.empty())
    {
        return;
    }
    const SwitchesOf switches(fabric, topology);
    machine->outsideLatency = 0;
    for (const auto& [node, port] : topo::ShortestPath(topology, first, last))
    {
        const topo::Link& link = topology.Links()[topology.Nodes()[node].ports[port]];
        machine->outsideLatency += link.delay.Seconds() + FecDelay(fabric, link.rate).Seconds() +
                                   (topology.Nodes()[node].kind == topo::NodeKind::kSwitch
                                        ? switches.Of(node).latency.Seconds()
                                        : 0);
    }
}

/// The machine as the tuner sees it.
coll::Machine
MachineOf(const ClusterSpec& cluster, const FabricSpec& fabric, bool hasLibrary)
{
    coll::Machine machine;
    const topo::ScaleUp& links = cluster.server.scaleUp;
    machine.insideRate = static_cast<double>(links.perGpu.bps) / 8 * links.efficiency;
    const topo::ScaleUp& bridged = links.between ? *links.between : links;
    machine.bridgeRate = static_cast<double>(bridged.hostBridge.bps) / 8 * bridged.efficiency;
    if (links.between)
    {
        machine.island = links.island;
        machine.betweenRate =
            static_cast<double>(links.between->perGpu.bps) / 8 * links.between->efficiency;
    }
    machine.nicRate = static_cast<double>(fabric.nicRate.bps) / 8;
    const auto& dimensions = cluster.topology.About().dimensions;
    if (!dimensions.empty())
    {
        double all = 0;
        for (const topo::Dimension& one : dimensions)
        {
            all += static_cast<double>(one.rate.bps) / 8 * one.Ports();
        }
        machine.nicRate = all / cluster.server.nics; // each has its own
    }
    machine.nics = std::max(1u, cluster.server.nics);
    machine.hasLibrary = hasLibrary;
    machine.library = cluster.server.library;
    if (!hasLibrary)
    {
        machine.insideLatency = links.latency.Seconds();
        machine.mtu = fabric.infiniBand ? 0 : fabric.mtu; // whose switches let frames through
        TakeWay(cluster, fabric, &machine);
    }
    return machine;
}

/// The machines of unequal servers; the one of all has the slowest links inside a server, with
/// their library, and the slowest NICs.
void
SetMachinesOfKinds(const ClusterSpec& cluster,
                   const FabricSpec& fabric,
                   bool hasLibrary,
                   CollectiveOptions* c)
{
    for (const ServerKind& kind : cluster.kinds)
    {
        ClusterSpec alike = cluster;
        alike.server = kind.server;
        FabricSpec its = fabric;
        its.nicRate = kind.nicRate;
        c->machineOfServer.insert(c->machineOfServer.end(),
                                  kind.servers,
                                  static_cast<uint32_t>(c->machines.size()));
        c->machines.push_back(MachineOf(alike, its, hasLibrary));
    }
    if (c->machines.empty())
    {
        return;
    }
    c->machine = *std::min_element(
        c->machines.begin(),
        c->machines.end(),
        [](const coll::Machine& a, const coll::Machine& b) { return a.insideRate < b.insideRate; });
    for (const coll::Machine& machine : c->machines)
    {
        c->machine.nicRate = std::min(c->machine.nicRate, machine.nicRate);
        c->machine.insideLatency = std::max(c->machine.insideLatency, machine.insideLatency);
    }
}

/// --tuner.
void
ReadTuner(Validation* v, CollectiveOptions* c)
{
    auto& values = v->values;
    if (values.Get(&asked::Collective::tuner) != kMeasuredTuner)
    {
        v->Settle(&asked::Collective::tuner);
        return;
    }
    if (v->seat)
    {
        v->Fail(&asked::Collective::tuner,
                "jobs that share a network do not have it alone, as a measurement has; allowed "
                "with --jobs: model");
        return;
    }
    c->measured = std::make_shared<MeasuredChoices>();
    const bool apart = values.Has(&asked::Run::out) && !values.Get(&asked::Run::out).empty();
    c->measuredFolder = values.Has(&asked::Collective::tunerCache)
                            ? values.Get(&asked::Collective::tunerCache)
                        : apart ? values.Get(&asked::Run::out) + "/tuner-cache"
                                : "results/tuner-cache";
    if (c->measuredFolder.empty())
    {
        v->Fail(&asked::Collective::tunerCache, "allowed: a folder");
    }
}

/// --tuner=measured or network for nothing is a mistake.
void
CheckTuner(Validation* v,
           const std::vector<CollectiveOptions*>& choices,
           const std::vector<UsedBy>& groups,
           const std::vector<coll::Placement>& placements)
{
    for (const CollectiveOptions* choice : choices)
    {
        if (choice->measured->Network() && choice->machine.hasLibrary && !choice->protocol)
        {
            return; // protocols are
        }
        for (std::size_t g = 0; g < groups.size(); ++g)
        {
            for (const auto& what : groups[g].collectives)
            {
                if (IsLeftToTuner(*choice, what, placements[g]) &&
                    CandidatesOf(*choice, what, placements[g]).size() > 1)
                {
                    return;
                }
            }
        }
    }
    v->Fail(&asked::Collective::tuner,
            "nothing of this run is left to it: algorithms are named, or there is one only; "
            "allowed: model");
}

/// --splits, --dimension-order, --dimension-algorithms.
void
ReadByDimension(Validation* v, coll::AlgorithmOptions* options)
{
    const auto& values = v->values;
    options->splits =
        values.Has(&asked::Collective::splits) ? values.Get(&asked::Collective::splits) : 0;
    const auto indexOf = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) - names.begin();
    };
    if (values.Has(&asked::Collective::dimensionOrder))
    {
        options->order = static_cast<coll::DimensionOrder>(
            indexOf(coll::DimensionOrderNames(), values.Get(&asked::Collective::dimensionOrder)));
    }
    if (values.Has(&asked::Collective::phaseOrder))
    {
        options->phases = static_cast<coll::WaitOrder>(
            indexOf(coll::WaitOrderNames(), values.Get(&asked::Collective::phaseOrder)));
    }
    if (!values.Has(&asked::Collective::dimensionAlgorithms))
    {
        return;
    }
    options->rows = values.Get(&asked::Collective::dimensionAlgorithms);
    for (const std::string& row : options->rows)
    {
        if (!coll::ParseRowAlgorithm(row))
        {
            v->Fail(&asked::Collective::dimensionAlgorithms,
                    "has " + topo::Quoted(row) + topo::DidYouMean(row, coll::RowAlgorithmNames()) +
                        "; allowed: " + topo::JoinNames(coll::RowAlgorithmNames()));
        }
    }
}

/// --network=dims: as ASTRA-sim, where nothing else is asked for.
void
ApplyDimensionTimes(Validation* v,
                    const topo::Topology& topology,
                    const std::set<coll::Op>& ops,
                    CollectiveOptions* c)
{
    const auto& values = v->values;
    coll::DimensionTimes& times = c->byDimension.emplace();
    if (values.Has(&asked::Collective::endpointDelay))
    {
        times.endpointDelay = values.Get(&asked::Collective::endpointDelay).Seconds();
    }
    if (values.Has(&asked::Collective::localMemoryRate))
    {
        times.memoryRate =
            static_cast<double>(values.Get(&asked::Collective::localMemoryRate).bps) / 8;
    }
    if (values.Has(&asked::Collective::activeChunks))
    {
        times.active = values.Get(&asked::Collective::activeChunks);
    }
    times.baseline = values.Has(&asked::Collective::collectiveOptimization) &&
                     values.Get(&asked::Collective::collectiveOptimization) == "baseline";
    constexpr uint32_t kSplits = 4; // preferred-dataset-splits of ASTRA-sim's example systems
    c->options.splits = c->options.splits ? c->options.splits : kSplits;
    c->options.order = c->options.order.value_or(coll::DimensionOrder::kAscending);
    const auto& dimensions = topology.About().dimensions;
    for (std::size_t d = c->options.rows.size(); d < dimensions.size(); ++d)
    {
        // "": as its links are.
        c->options.rows.push_back(dimensions[d].kind == topo::DimensionKind::kRing ? "one-way-ring"
                                                                                   : "");
    }
    std::vector<std::string> there;
    if (!values.Given(&asked::Collective::splits))
    {
        there.push_back(Spell(&asked::Collective::splits) + "=" + std::to_string(kSplits));
    }
    if (!values.Given(&asked::Collective::dimensionOrder))
    {
        there.push_back(Spell(&asked::Collective::dimensionOrder) + "=ascending");
    }
    if (!values.Given(&asked::Collective::dimensionAlgorithms))
    {
        there.push_back(Spell(&asked::Collective::dimensionAlgorithms) +
                        "=one-way-ring, all data of a ring goes one way round");
    }
    if (!there.empty())
    {
        v->notes.push_back("--network=dims is ASTRA-sim's: what is not given is as there, " +
                           Join(there, ", "));
    }
    for (const coll::Op op : ops)
    {
        if (coll::Find(op, "by-dimension"))
        {
            c->algorithms.push_back({op, "by-dimension"}); // what the user names comes later
        }
    }
}

/// The choices of --compare: as the table's, but for the algorithm. \return whether there is no
/// error
bool
ReadCompared(Validation* v,
             const CollectiveOptions& table,
             const std::vector<coll::Collective>& used,
             std::vector<Compared>* compared)
{
    for (Compared& other : *compared)
    {
        if (other.name.find_first_of("=@;") != std::string::npos)
        {
            v->errors.push_back({v->values.Where(&asked::Collperf::compare),
                                 other.name,
                                 "is no algorithm; allowed: " + coll::AlgorithmNames(used[0].op) +
                                     ", auto, or a schedule's FILE.xml",
                                 ""});
            return false;
        }
        other.collectives = table;
        other.collectives.algorithms.clear();
        AlgorithmRules names(v, used, "compare");
        other.name = names.Read(other.name, &other.collectives.algorithms);
        if (other.name.empty())
        {
            return false;
        }
    }
    return true;
}

} // namespace

CollectiveOptions
MakeCollectives(Validation* v,
                ClusterSpec* cluster,
                const FabricSpec& fabric,
                const NcclLimits& nccl,
                const CollectivesOfRun& run,
                std::vector<Compared>* compared)
{
    const std::vector<UsedBy>& groups = run.groups;
    std::vector<coll::Collective> used;
    for (const UsedBy& group : groups)
    {
        used.insert(used.end(), group.collectives.begin(), group.collectives.end());
    }
    CollectiveOptions c;
    c.nccl = nccl;
    auto& values = v->values;
    c.options.channels =
        values.Has(&asked::Collective::channels) ? values.Get(&asked::Collective::channels) : 0;
    c.options.pipelineBytes = values.Has(&asked::Collective::pipeline)
                                  ? values.Get(&asked::Collective::pipeline).value
                                  : 0;
    c.options.radix =
        values.Has(&asked::Collective::radix) ? values.Get(&asked::Collective::radix) : 0;
    c.options.levels = values.Get(&asked::Collective::levels);
    c.options.parameterServers = values.Has(&asked::Collective::parameterServers)
                                     ? values.Get(&asked::Collective::parameterServers)
                                     : 0;
    if (values.Has(&asked::Collective::dimensions))
    {
        ReadDimensions(v, &c.options.dimensions);
    }
    ReadByDimension(v, &c.options);
    if (cluster && values.Has(&asked::Fabric::network) &&
        values.Get(&asked::Fabric::network) == "dims")
    {
        std::set<coll::Op> ops;
        for (const coll::Collective& one : used)
        {
            ops.insert(one.op);
        }
        ApplyDimensionTimes(v, cluster->topology, ops, &c);
    }
    c.stepLatency = values.Get(&asked::Collective::stepLatency);
    if (cluster && cluster->servers > 1 && !cluster->server.library.fall.empty() &&
        values.Has(&asked::Fabric::network) && values.Get(&asked::Fabric::network) == "analytic")
    {
        v->DecideUnlessGiven(&asked::Collective::collectiveTimes, "formula");
    }
    c.allByFormula = values.Has(&asked::Collective::collectiveTimes) &&
                     values.Get(&asked::Collective::collectiveTimes) == "formula";
    c.insideByFormula = c.allByFormula || values.Get(&asked::Collective::inServer) == "formula";
    c.recall = RecallOf(v);
    const bool inFrames = cluster && cluster->scaleUpFrames;
    c.insideOneByOne = inFrames || values.Get(&asked::Collective::inServer) == "one-by-one";
    if (inFrames && c.insideByFormula)
    {
        v->Fail(&asked::ScaleUp::as,
                std::string("is of messages, and collectives by formula have none; allowed: "
                            "messages, or ") +
                    (c.allByFormula ? Spell(&asked::Collective::collectiveTimes)
                                    : Spell(&asked::Collective::inServer)) +
                    "=messages");
    }
    if (cluster && !c.allByFormula && !cluster->server.library.fall.empty() && cluster->servers > 1)
    {
        v->notes.push_back(cluster->server.name +
                           ": the measured fall of collectives between servers is in estimates and "
                           "in --network=analytic --collective-times=formula, not in messages");
    }
    if (c.insideByFormula && c.stepLatency.ps > 0)
    {
        v->Fail(&asked::Collective::stepLatency,
                std::string("is of messages; allowed with --") +
                    (c.allByFormula ? "collective-times" : "in-server") + "=formula: 0");
    }
    ReadTuner(v, &c);
    const bool hasLibrary = values.Get(&asked::Collective::library) != "none";
    const std::string& protocol = values.Get(&asked::Collective::protocol);
    if (protocol != kAutoAlgorithm)
    {
        if (!hasLibrary)
        {
            v->Fail(&asked::Collective::protocol,
                    "has no meaning with --library=none, where nothing takes time but "
                    "links; allowed there: auto");
        }
        for (const topo::Protocol one : topo::kChoosableProtocols)
        {
            if (protocol == topo::ToString(one))
            {
                c.protocol = one;
            }
        }
    }
    const size_t before = v->errors.size();
    AlgorithmRules reader(v, used);
    std::vector<std::string> canonical;
    for (const auto& word : values.Get(&asked::Collective::algorithm))
    {
        canonical.push_back(reader.Read(word, &c.algorithms));
    }
    // A rule for an operation wins over rules for all, wherever it stands.
    std::stable_sort(
        c.algorithms.begin(),
        c.algorithms.end(),
        [](const AlgorithmRule& a, const AlgorithmRule& b) { return a.ofAll && !b.ofAll; });
    if (v->errors.size() != before || !cluster)
    {
        return c;
    }
    if (!canonical.empty())
    {
        v->Decide(&asked::Collective::algorithm, canonical);
    }
    c.machine = MachineOf(*cluster, fabric, hasLibrary);
    SetMachinesOfKinds(*cluster, fabric, hasLibrary, &c);
    if (!hasLibrary)
    {
        const auto add = [&c](coll::Machine* machine) {
            machine->insideLatency += c.stepLatency.Seconds();
            machine->outsideLatency += c.stepLatency.Seconds();
        };
        add(&c.machine);
        for (coll::Machine& machine : c.machines)
        {
            add(&machine);
        }
    }
    std::vector<CollectiveOptions*> choices = {&c};
    if (compared && !used.empty())
    {
        if (!ReadCompared(v, c, used, compared))
        {
            return c;
        }
        for (Compared& other : *compared)
        {
            choices.push_back(&other.collectives);
        }
    }
    ApplyRails(v, *cluster, choices);
    // A list of NCCL's may name switches, and the tuner take something else of it for all that the
    // run does: then there are none.
    const topo::Topology without = c.nccl.ofOp.empty() ? topo::Topology() : cluster->topology;
    AddFabricSwitches(v, cluster, choices, run);
    coll::Placement all;
    std::vector<coll::Placement> placements;
    const auto place = [&] {
        all = RankPlacement(*cluster);
        placements.clear();
        for (const UsedBy& group : groups)
        {
            placements.push_back(group.ranks.empty() ? all : PlacementOf(*cluster, group.ranks));
        }
    };
    place();
    if (cluster->aggregators && !c.nccl.ofOp.empty() && !run.andOthers &&
        !AnySwitches(choices, groups, placements))
    {
        cluster->topology = without;
        cluster->aggregators = nullptr;
        place();
    }
    if (values.Get(&asked::Collective::tuner) == kNetworkTuner)
    {
        const auto network = std::make_shared<MeasuredChoices>(
            std::make_shared<const NetworkChoices>(*cluster, fabric));
        for (CollectiveOptions* choice : choices)
        {
            choice->measured = network;
        }
    }
    for (std::size_t g = 0; g < groups.size() && v->errors.size() == before; ++g)
    {
        CheckNcclLimits(v, c, groups[g].collectives, placements[g]);
    }
    if (v->errors.size() != before)
    {
        return c;
    }
    const auto checkChoices = [&](const CollectiveOptions& options, const char* option) {
        CheckForOthers(v, options, groups, placements, option);
        for (std::size_t g = 0; g < groups.size() && v->errors.size() == before; ++g)
        {
            CheckChoices(v,
                         options,
                         groups[g].collectives,
                         *cluster,
                         placements[g],
                         option,
                         run.elementBytes);
            CheckFormulas(v, options, groups[g].collectives, placements[g]);
        }
    };
    checkChoices(c, "algorithm");
    const std::string why = c.protocol ? coll::WhyNotProtocol(*c.protocol, all, c.machine) : "";
    if (!why.empty())
    {
        v->Fail(&asked::Collective::protocol, why);
    }
    for (std::size_t g = 0; g < groups.size() && v->errors.size() == before; ++g)
    {
        CheckNcclProtocols(v, c, groups[g].collectives, placements[g]);
    }
    for (std::size_t i = 1; i < choices.size(); ++i)
    {
        checkChoices(*choices[i], "compare");
    }
    if (v->errors.size() == before)
    {
        CheckKnobs(v, choices, groups, placements);
        CheckProtocolUse(v, used);
        // Where sizes are wrong there are no collectives to look at, and that is said already.
        const bool isKnown = !used.empty() || v->errors.empty();
        if (c.measured && !run.andOthers && isKnown)
        {
            CheckTuner(v, choices, groups, placements);
        }
        if (!used.empty() && !run.andOthers)
        {
            NoteIdleRules(v, c, used);
        }
    }
    return c;
}

} // namespace scenario
