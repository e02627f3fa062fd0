/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/plan-lines.h"

#include "collectives/aggregation/aggregators.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/dry-run/host-memory.h"
#include "scenarios/dry-run/plan-events.h"
#include "scenarios/launch/ns3-environment.h"
#include "scenarios/network/background.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/link-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/places-as-run.h"
#include "scenarios/network/processes.h"
#include "scenarios/network/queueing-options.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/options/format.h"
#include "scenarios/options/options.h"
#include "scenarios/placement/placement.h"
#include "topologies/names.h"

#include <set>
#include <utility>

namespace scenario
{

std::string
PlanLine(const std::string& left, const std::string& right)
{
    return Format("  %-16s", left.c_str()) + right + "\n";
}

std::string
PlanLineIf(const std::string& name, const std::string& text)
{
    return text.empty() ? "" : PlanLine(name, text);
}

std::string
AfterWarmup(uint32_t n)
{
    return n ? " after " + std::to_string(n) + " of warm-up" : "";
}

std::string
NetworkText(const topo::Topology& t, const std::string& name, std::size_t units)
{
    std::map<uint8_t, uint32_t> tiers;
    for (const auto& node : t.Nodes())
    {
        tiers[node.tier] += node.kind == topo::NodeKind::kSwitch ? 1 : 0;
    }
    std::string byTier;
    for (const auto& [tier, n] : tiers)
    {
        if (n)
        {
            byTier += (byTier.empty() ? "" : " + ") + std::to_string(n);
        }
    }
    const std::size_t hosts = t.Hosts().size() - units;
    return name + ": " + std::to_string(hosts) + (hosts == 1 ? " host, " : " hosts, ") +
           (byTier.empty() ? "no" : byTier) + (t.SwitchCount() == 1 ? " switch, " : " switches, ") +
           (units ? std::to_string(units) + " of them with a unit that adds up, " : "") +
           topo::Counted(t.Links().size(), "link");
}

namespace
{

/// "ECN K 1MB to 4MB, Pmax 0.2 per 100 Gb/s"
std::string
MarkingText(const SwitchValues& s)
{
    return !s.ecn ? std::string("ECN off")
                  : "ECN K " + ExactBytes(s.kmin) + " to " + ExactBytes(s.kmax) +
                        Format(", Pmax %g", s.pmax) + (s.per100G ? " per 100 Gb/s" : " a port");
}

std::string
TierText(const TierAsRun& tier, bool infiniBand)
{
    std::string text = topo::Counted(tier.switches, "switch", "switches");
    text += tier.rate ? "; links " + rdma::ToString(*tier.rate) : "; links of several rates";
    text += tier.delay ? ", " + rdma::ToString(*tier.delay) : ", of several delays";
    if (!tier.values)
    {
        return text + "; the switches differ";
    }
    const SwitchValues& s = *tier.values;
    text += "; latency " + rdma::ToString(s.latency);
    return infiniBand ? text
                      : text + ", " +
                            (s.ofSwitch ? "buffer " + ExactBytes(s.ofSwitch)
                                        : "buffer " + ExactBytes(s.buffer) + " per 100 Gb/s") +
                            ", PFC " + (s.pfc ? "on" : "off") + ", " + MarkingText(s);
}

/// What tiers and places have of their own.
std::string
PlacesText(const FabricSpec& f, const topo::Topology& topology)
{
    const std::size_t routes = topology.About().routes.size();
    std::string text =
        PlanLineIf("routes", routes ? topo::Counted(routes, "next hop") + " of the file" : "");
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (const rdma::SourceHop& hop : f.paths)
    {
        pairs.emplace(hop.from, hop.to);
    }
    text += PlanLineIf("paths",
                       pairs.empty() ? "" : topo::Counted(pairs.size(), "path") + " by the sender");
    const auto places = MakePlacesAsRun(f, topology);
    if (!places)
    {
        return text;
    }
    for (const TierAsRun& tier : places->tiers)
    {
        text += PlanLine("tier", tier.name + ": " + TierText(tier, f.infiniBand));
    }
    std::string set;
    const PlacedSetting* before = nullptr;
    for (const PlacedSetting& setting : places->set)
    {
        if (!before || before->Said() != setting.Said()) // a key may be several attributes
        {
            set += (set.empty() ? "" : ", ") + rdma::Shown(setting.Said(), 100);
        }
        before = &setting;
    }
    return text + PlanLineIf("set", set);
}

} // namespace

std::string
FabricText(const FabricSpec& f, const topo::Topology& topology, bool rdma)
{
    const bool standard = f.infiniBand || f.frames.AreStandard();
    std::string text = PlanLine(
        "NIC",
        !rdma ? f.nic
              : f.nic +
                    (f.ib.flitBytes ? " scale-up, frames of "
                     : f.infiniBand
                         ? (f.nic.find("InfiniBand") != std::string::npos ? ", MTU "
                                                                          : " InfiniBand, MTU ")
                     : standard ? " RoCEv2, MTU "
                                : ", payload of a packet ") +
                    std::to_string(f.mtu) + " B, an ACK every " + std::to_string(f.ackEvery) +
                    (f.ackEvery == 1 ? " packet" : " packets"));
    if (rdma && (f.compat != "none" || !standard || f.timeUnit.ps > 1))
    {
        const rdma::FrameSizes& s = f.frames;
        text += PlanLine("frames",
                         (f.compat == "none" ? "" : "compatible with " + f.compat + ": ") +
                             std::to_string(s.dataOverhead - s.lineOverhead) + " B of headers, " +
                             (s.HasExtensions() ? "with" : "no") + " extension headers, ACK " +
                             std::to_string(s.ackWire - s.lineOverhead) + " B of " +
                             (f.ackPriority < 8 ? "priority " + std::to_string(f.ackPriority)
                                                : std::string("the data's priority")) +
                             ", preamble and gap " + std::to_string(s.lineOverhead) + " B, times " +
                             (f.timeUnit.ps > 1 ? "cut to " + rdma::ToString(f.timeUnit)
                                                : std::string("exact")));
    }
    if (!HasPackets(f))
    {
        return text + PlanLine("simulation",
                               NetworkLaw(f) + "; switches " + rdma::ToString(f.switchLatency) +
                                   ", links " + rdma::ToString(f.linkDelay));
    }
    if (rdma && f.windowBytes)
    {
        text += PlanLine("window",
                         ExactBytes(f.windowBytes) + " a queue pair" +
                             (f.variableWindow ? " at line rate, in proportion to its rate" : ""));
    }
    if (f.infiniBand)
    {
        text += PlanLine(
            "congestion",
            f.cc + (f.cc == "none" || f.ccPreset.empty() ? "" : " (" + f.ccPreset + ")") +
                ", FECN threshold " +
                (f.ib.fecnThreshold ? std::to_string(f.ib.fecnThreshold) : std::string("off")));
        text +=
            PlanLine("switches",
                     f.ib.switchName + ", " + rdma::ToString(f.switchLatency) + " cut-through, " +
                         topo::Counted(f.ib.lanes, "VL") + " of " +
                         ExactBytes(f.ib.laneBuffer.value) + " at each port" +
                         (f.ib.creditBlock == 64
                              ? std::string()
                              : ", credits of " + std::to_string(f.ib.creditBlock) + " B") +
                         "; links " + rdma::ToString(f.linkDelay) +
                         (f.bitErrorRate > 0 ? Format(", bit error rate %g", f.bitErrorRate) : ""));
        text += PlanLine("credits", CoverOfCredits(f, topology).plan);
        const bool several = f.ib.routing.find(',') != std::string::npos;
        return text +
               PlanLine("routing",
                        (!f.ib.lfts.empty() ? "tables of " + f.ib.lfts
                         : several          ? "the first that can of " + f.ib.routing
                                            : f.ib.routing) +
                            (f.balancing.name == "tables" ? "" : ", " + f.balancing.Text()) +
                            ", LMC " + std::to_string(f.ib.lmc)) +
               PlacesText(f, topology);
    }
    text += PlanLine("congestion",
                     (!rdma            ? ""
                      : f.cc == "none" ? "none, "
                                       : f.cc + " (" + f.ccPreset + "), ") +
                         "PFC " + (f.pfc ? "on" : "off") + ", ECN " + MarkingText(f));
    for (const TrafficClass& of : f.classes)
    {
        text += PlanLine("class", TrafficClassText(of));
    }
    text += PlanLine("switches",
                     "pipeline " + rdma::ToString(f.switchLatency) +
                         (f.cutThrough ? " cut-through, shared buffer " : ", shared buffer ") +
                         ExactBytes(f.bufferPer100G.value) + " per 100 Gb/s" +
                         (f.bufferPolicy == "dynamic" ? "" : " by policy " + f.bufferPolicy) +
                         "; links " + rdma::ToString(f.linkDelay) +
                         (f.bitErrorRate > 0 ? Format(", bit error rate %g", f.bitErrorRate) : ""));
    if (const std::string links = LinksText(f); !links.empty())
    {
        text += PlanLine("link layer", links);
    }
    if (f.cutThrough)
    {
        text += PlanLine("stored before", StoringLinks(topology));
    }
    if (f.balancing.name != "ecmp")
    {
        text += PlanLine("load balancing", f.balancing.Text());
    }
    return text + PlacesText(f, topology);
}

std::string
AttributesText(const RunOptions& run)
{
    std::string text;
    for (const auto& [name, value] : Ns3SettingsOf(run))
    {
        text += (text.empty() ? "" : ", ") + name + "=" + rdma::Shown(value, 60);
    }
    return text;
}

std::string
EventLines(const RunOptions& run, const topo::Topology& topology)
{
    return PlanLineIf("ns-3 attributes", AttributesText(run)) +
           PlanLineIf("background", run.background ? BackgroundText(*run.background) : "") +
           PlanLineIf("faults", FaultsText(run.faults)) +
           PlanLineIf("circuits", CircuitsText(run.faults)) +
           PlanLineIf("recovery", run.recovery ? RecoveryText(*run.recovery, topology) : "");
}

namespace
{

std::string
ServersText(const ClusterSpec& c,
            const topo::ServerSpec& server,
            uint32_t number,
            rdma::BitRate nicRate)
{
    return PlanLine(
        &server == &c.server || &server == &c.kinds.front().server ? "servers" : "",
        std::to_string(number) + " x " + server.name + " with " + std::to_string(server.gpus) +
            " x " + server.gpu + ", " + topo::ToString(server.scaleUp.kind) + " " +
            rdma::ToString(server.scaleUp.perGpu) + " a GPU" +
            (server.scaleUp.efficiency < 1
                 ? Format(" (%.3g%% for messages)", 100 * server.scaleUp.efficiency)
                 : "") +
            ", " + topo::Counted(server.nics, "NIC") + " of " + rdma::ToString(nicRate));
}

std::string
KindsText(const ClusterSpec& c)
{
    std::string text;
    for (const ServerKind& kind : c.kinds)
    {
        text += ServersText(c, kind.server, kind.servers, kind.nicRate);
    }
    return text;
}

} // namespace

std::string
ClusterText(const ClusterSpec& c, const FabricSpec& f, const RunOptions& run)
{
    const std::size_t units = c.aggregators ? c.aggregators->Units().size() : 0;
    // The lines about their purpose mention spares and servers of checkpoints.
    const std::size_t others =
        run.recovery ? run.recovery->spares.size() + run.recovery->checkpointHosts.size() : 0;
    const auto hosts =
        static_cast<uint32_t>(c.topology.Hosts().size() - units - others - c.memoryHosts.size());
    const std::string servers =
        c.kinds.empty() ? ServersText(c, c.server, c.servers, f.nicRate) : KindsText(c);
    if (!UsesNetwork(c, run))
    {
        return servers + PlanLine("network", "none in use: no message leaves the server");
    }
    return servers + PlanLine("network", NetworkText(c.topology, c.topologyName, units)) +
           PlanLine("placement",
                    PlacementName(c.placement) +
                        (c.servers < hosts
                             ? ", " + topo::Counted(hosts - c.servers, "host") + " idle"
                             : ""));
}

namespace
{

/// All of it assumed.
std::string
WallTimeText(const Estimate& e, const Work& work)
{
    constexpr double kWorthTelling = 1e-3; // seconds
    const AssumedSpeed& speed = e.speed;
    std::string text = "about " + SecondsText(speed.Seconds(work)) +
                       ", assumed: " + SecondsText(speed.setUpSeconds) + " of set-up";
    const auto add = [&](WorkOf sort, const char* what) {
        const double seconds = speed.Seconds(work, sort);
        text += seconds >= kWorthTelling ? ", " + SecondsText(seconds) + " of " + what : "";
    };
    add(WorkOf::kPackets, "packets");
    add(WorkOf::kMessages, "messages");
    add(WorkOf::kOutputs, "outputs");
    const Processes& processes = e.speedNeeds.processes;
    if (processes.Several())
    {
        const std::string count = std::to_string(processes.count) + " processes";
        return text + (speed.gain > 1
                           ? Format(", x %.2g as fast in ", speed.gain) + count + " of a core each"
                           : ", as of one core, in " + count);
    }
    return text + (speed.gain > 1 ? Format(", x %.2g as fast by ", speed.gain) +
                                        std::to_string(e.speedNeeds.threads) + " threads"
                                  : std::string(", of one core"));
}

std::string
SimulatedText(const Estimate& e)
{
    if (e.stopSeconds > 0)
    {
        return SecondsText(e.stopSeconds) +
               " (--stop-after): packets and frame-hops are that share of the whole run's, which "
               "takes at least " +
               SecondsText(e.LowerBoundSeconds());
    }
    return "at least " + SecondsText(e.LowerBoundSeconds());
}

} // namespace

std::string
ProcessesLine(const RunOptions& run)
{
    return run.processes.Several() ? PlanLine("processes", ProcessesText(run.processes)) : "";
}

std::string
EstimateText(const Estimate& e, const FabricSpec& fabric, const RunOptions& run)
{
    const bool packets = HasPackets(fabric);
    const BackgroundEstimate& beside = e.background;
    const Work work = RunWork(e);
    std::string text =
        "\nEstimate, whole run" +
        (packets ? " (no retransmission" + LeftOutText(run) + ")\n" : std::string("\n"));
    text += PlanLine("messages",
                     CountText(e.messages) + " between servers, " + SizeText(e.networkBytes) +
                         (e.sampled ? " (sampled)" : ""));
    if (packets)
    {
        const bool detours = fabric.balancing.name == "valiant" || fabric.balancing.name == "ugal";
        text += PlanLine("packets",
                         CountText(e.dataPackets) + " data, " + CountText(e.ackPackets) + " ACK, " +
                             (e.cnps >= 1 ? "about " + CountText(e.cnps) + " CNP, " : "") +
                             Format("%.2f", e.meanHops) + " links each" +
                             (detours ? ", were they on shortest ways" : ""));
        if (const double share = ArrivingShare(e); share < 1)
        {
            text +=
                PlanLine("bit errors",
                         Format(share < 1e-3 ? "%.2g%%" : "%.4g%%", 100 * share) +
                             " of data packets pass their links without one; the others are lost");
        }
    }
    if (run.background)
    {
        text += PlanLine("beside it",
                         "about " + CountText(beside.flows) + " flows of the background, " +
                             SizeText(beside.bytes) + ", if the run takes " +
                             SecondsText(beside.seconds) +
                             (packets ? ": " + CountText(beside.frameHops) + " frame-hops" : ""));
    }
    if (packets)
    {
        text += PlanLine("frame-hops", CountText(e.frameHops + beside.frameHops));
    }
    text += PlanLine("events", "about " + CountText(e.speed.Events(work)));
    text += PlanLine("simulated time", SimulatedText(e));
    text += PlanLine("wall time",
                     WallTimeText(e, work) +
                         (fabric.recalls ? ", if all is sent: --fidelity=fast takes less" : ""));
    text += PlanLine("host memory", HostMemoryText(e.memory, run.processes, AvailableHostMemory()));
    return text + PlanLine("results",
                           rdma::Printable(run.out) +
                               (run.dryRun ? "  (dry run: nothing is simulated or written)" : ""));
}

std::string
AlgorithmText(const CollectiveOptions& options,
              const coll::Placement& placement,
              const std::map<coll::Op, std::vector<coll::Collective>>& whats)
{
    std::string text;
    for (const auto& [op, sizes] : whats)
    {
        text += (text.empty() ? "" : "; ") + coll::OpName(op) + " " +
                ChoicesText(options, sizes, placement);
    }
    if (options.stepLatency.ps > 0)
    {
        text += "; " + rdma::ToString(options.stepLatency) + " before every send";
    }
    return text.empty() ? "none" : text;
}

std::string
NcclLine(const NcclLimits& nccl)
{
    std::string text = nccl.text.empty() ? "" : PlanLine("NCCL variables", rdma::Shown(nccl.text));
    for (const std::string& note : nccl.notes)
    {
        text += PlanLine("", rdma::Shown(note));
    }
    return text;
}

std::string
SlowText(const training::TrainingPlan& plan)
{
    constexpr uint32_t kShown = 8;
    const auto& all = plan.slowness;
    const auto count =
        std::count_if(all.begin(), all.end(), [](double factor) { return factor != 1; });
    if (count > kShown)
    {
        const auto [least, most] = std::minmax_element(all.begin(), all.end());
        return Format("computing takes %.4g (rank %d) to %.4g (rank %d) times as long",
                      *least,
                      static_cast<int>(least - all.begin()),
                      *most,
                      static_cast<int>(most - all.begin()));
    }
    std::string text;
    for (coll::Rank rank = 0; rank < plan.slowness.size(); ++rank)
    {
        if (plan.slowness[rank] != 1)
        {
            text += (text.empty() ? "rank " : ", ") + std::to_string(rank) +
                    Format(" computes %.4g times as long", plan.slowness[rank]);
        }
    }
    return text;
}

} // namespace scenario
