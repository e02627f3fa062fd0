/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/common-options.h"

#include "contrib/rdma/core/congestion-control.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/network/capture-options.h"
#include "scenarios/network/compat.h"
#include "scenarios/network/ets-options.h"
#include "scenarios/network/fault-options.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/link-options.h"
#include "scenarios/network/load-balancing-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/nic-names.h"
#include "scenarios/network/place-options.h"
#include "scenarios/network/queue-disc-options.h"
#include "scenarios/network/queueing-options.h"
#include "scenarios/network/shaper-options.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/network/transport-options.h"
#include "scenarios/network/watch-options.h"
#include "scenarios/options/member.h"
#include "scenarios/options/options-detail.h"

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cctype>

namespace scenario
{

std::vector<NamedItem>
TopologyItems()
{
    // Families that read a file are meant by naming the file.
    std::vector<NamedItem> items;
    for (const auto& family : topo::Families())
    {
        if (family.file.empty())
        {
            items.push_back({family.name, family.description});
        }
    }
    return items;
}

std::vector<NamedItem>
NicItems()
{
    auto items = EthernetNicItems();
    Append(&items, InfiniBandNicItems());
    return items;
}

std::vector<NamedItem>
CongestionItems()
{
    std::vector<NamedItem> items;
    for (const auto& [name, control] : rdma::CongestionControls())
    {
        items.push_back({name, control.description});
    }
    return items;
}

std::vector<NamedItem>
CongestionPresetItems()
{
    std::vector<NamedItem> items;
    for (const auto& [name, control] : rdma::CongestionControls())
    {
        for (const auto& preset : control.presets)
        {
            const bool known = std::any_of(items.begin(), items.end(), [&](const NamedItem& item) {
                return item.name == preset.name;
            });
            if (!known) // several may have one
            {
                items.push_back({preset.name, preset.description});
            }
        }
    }
    return items;
}

std::vector<NamedItem>
PfcWatchdogActionItems()
{
    return {{"drop", "drop what waits and what comes until the storm is over"},
            {"forward", "send in spite of the pause until the storm is over"}};
}

namespace
{

/// "with --cc=dcqcn: a, b; with --cc=swift: c"
std::string
CongestionPresetsInWords()
{
    std::string text;
    for (const auto& [name, control] : rdma::CongestionControls())
    {
        std::vector<std::string> presets;
        for (const auto& preset : control.presets)
        {
            presets.push_back(preset.name);
        }
        if (!presets.empty())
        {
            text +=
                (text.empty() ? "with --cc=" : "; with --cc=") + name + ": " + Join(presets, ", ");
        }
    }
    return text;
}

std::vector<NamedItem>
LossRecoveryItems()
{
    return {{"go-back-n", "from the first packet lost on all go again"},
            {"selective-repeat",
             "only what is lost, as IRN; one ACK a packet, at most the bandwidth-delay product in "
             "flight"},
            {"out-of-order",
             "packets are taken in any order, as adaptive routing brings them; what is lost goes "
             "again after the time-out"}};
}

} // namespace

std::vector<NamedItem>
EngineItems()
{
    return {{"windows",
             "node by node, in windows of the shortest cable's delay: some times as fast, the more "
             "the larger the network is"},
            {"ns3", "ns-3's own, one event after another"}};
}

std::vector<Option>
RunOptionRows(const std::string& program)
{
    const Section section{"/run", "Run"};
    const Section packets = section.Only(when::Packets());
    std::vector<Option> rows = {
        section.File("scenario", "read options from this JSON file; the command line overrides it")
            .As(&asked::Run::scenario)
            .CommandLineOnly()
            .Shows("FILE.json"),
        section.Text("out", "folder for the results, created if missing, overwritten if not")
            .As(&asked::Run::out)
            .Shows("DIR")
            .Otherwise("results/" + program + "-1, -2, ...: the first number that is free"),
        section.Integer("seed", "of everything random; the same seed gives the same bytes")
            .As(&asked::Run::seed)
            .Default("1")
            .Example("7")
            .To(&RunOptions::seed),
        section
            .Flag("dry-run",
                  "validate, show the plan and estimates of packets and duration, simulate nothing")
            .As(&asked::Run::dryRun)
            .CommandLineOnly()
            .To(&RunOptions::dryRun),
        section
            .Flag("ignore-host-memory",
                  "simulate even if this machine seems to have less memory than the run needs")
            .As(&asked::Run::ignoreHostMemory)
            .CommandLineOnly()
            .Default("0"),
        section.Name("engine", "how events are run, windows or ns3; the results are the same bytes")
            .As(&asked::Run::engine)
            .Names("engine", EngineItems)
            .Default("windows")
            .Example("ns3"),
        section
            .Integer("threads",
                     "that simulate together, where that is faster; the results are the same bytes")
            .As(&asked::Run::threads)
            .Range(1, 64)
            .Otherwise("the idle cores, at most 4; of several processes 1 each")
            .Example("2"),
        section
            .Integer("mpi-ranks",
                     "processes that simulate one network together: for more than 1 the program "
                     "starts mpirun")
            .As(&asked::Run::mpiRanks)
            .Range(1, 64)
            .Default("1")
            .Example("2"),
        section
            .List(
                "mpi-hosts",
                "hosts of these processes, each with its number of them or without; the first one "
                "writes the results (docs/ranks.md)")
            .As(&asked::Run::mpiHosts)
            .Shows("HOST[:N],...")
            .CommandLineOnly()
            .Example("node1:2,node2:2")
            .Otherwise("the nodes of Slurm's allocation, if there are several; this machine"),
        section.Flag("progress", "show how far the run is")
            .As(&asked::Run::progress)
            .Default("1")
            .To(&RunOptions::progress),
        section
            .Flag("attribution",
                  "say where the time of messages went: attribution.csv and the slowest in words")
            .As(&asked::Run::attribution)
            .Default("1")
            .To(&RunOptions::attribution),
        section.Flag("report", "write report.html, the run in pictures, at its end")
            .As(&asked::Run::report)
            .Default("1")
            .To(&RunOptions::report),
        section.Flag("timeline", "write timeline.json, a trace for ui.perfetto.dev, at its end")
            .As(&asked::Run::timeline)
            .Default("1")
            .To(&RunOptions::timeline),
        packets
            .List(
                "trace-qps",
                "write queue_pairs.csv, rate and window over time, of these: all, those of a host "
                "(server-1), or SRC->DST, with * for any text")
            .As(&asked::Run::traceQps)
            .Shows("SRC->DST,...")
            .Distinct()
            .Otherwise("none")
            .Example("server-1->server-0")
            .To(&RunOptions::traceQueuePairs),
        packets
            .List("trace-paths",
                  "write paths.csv, the ways that messages took, of these: as --trace-qps")
            .As(&asked::Run::tracePaths)
            .Shows("SRC->DST,...")
            .Distinct()
            .Otherwise("none")
            .Example("server-1->server-0")
            .To(&RunOptions::tracePaths),
        packets
            .List("pcap",
                  "capture these: all, a host (server-3), a port (edge-0-1:2) or a link "
                  "(edge-0-1-agg-0-0, server-3-edge-0-1)")
            .As(&asked::Run::pcap)
            .Shows("LINK,...")
            .Distinct()
            .Otherwise("none")
            .Example("all")
            .To(&RunOptions::pcap),
    };
    Append(&rows, WatchOptionRows(packets));
    Append(&rows, CaptureOptionRows(section));
    Append(&rows, FaultOptionRows());
    rows.insert(rows.end(),
                {
                    section.Name("list", "describe these names, then stop")
                        .As(&asked::Run::list)
                        .CommandLineOnly()
                        .Shows("WHAT"),
                    section.Name("help", "this text; --help=WHAT is --list=WHAT")
                        .As(&asked::Run::help)
                        .CommandLineOnly()
                        .Letter('h')
                        .Shows("[=WHAT]"),
                    section.Flag("version", "version, commit and release of ns-3, then stop")
                        .As(&asked::Run::version)
                        .CommandLineOnly(),
                });
    return rows;
}

namespace
{

/// "a graph in JSON, or a topology file of HPCC's ns-3 code"
std::string
TopologyFiles()
{
    std::string text;
    for (const auto& family : topo::Families())
    {
        text += family.file.empty() || text.empty() ? family.file : ", or " + family.file;
    }
    return text;
}

Kind
KindOf(topo::ParameterKind kind)
{
    switch (kind)
    {
    case topo::ParameterKind::kCount:
        return Kind::kInteger;
    case topo::ParameterKind::kFactor:
        return Kind::kReal;
    case topo::ParameterKind::kFlag:
        return Kind::kFlag;
    case topo::ParameterKind::kSizes:
    case topo::ParameterKind::kText:
        break;
    }
    return Kind::kText;
}

/// The option of a parameter: all of it is in the families' tables.
/// A file has the rate and the delay of each link.
bool
IsNoTopologyFile(const Values& values)
{
    return topo::FamilyOfParameters(values.Get(&asked::Network::topology)) != nullptr;
}

bool
LeavesDelay(const Values& values)
{
    return IsNoTopologyFile(values) ||
           topo::FamilyOfFile(values.Get(&asked::Network::topology)).leavesDelay;
}

Option
ParameterRow(const topo::SharedParameter& shared, ServerCount servers, const Section& section)
{
    const topo::Parameter& p = shared.parameter;
    Option o = section.Row(KindOf(p.kind), p.name, Join(shared.families, ", ") + ": " + p.help);
    if (p.kind == topo::ParameterKind::kCount || p.kind == topo::ParameterKind::kFactor)
    {
        o.Range(p.min, p.max);
    }
    if (p.ofSharing)
    {
        o.IdleUnless(when::SharedLinks(), "has no effect on how messages share links");
    }
    if (p.always)
    {
        o.Default(p.standard);
    }
    else
    {
        const bool hosts = servers == ServerCount::kHosts;
        std::string note = p.standard.empty() ? p.chosen : p.standard;
        boost::replace_all(note, "{servers}", hosts ? "--hosts" : "the servers");
        o.Otherwise(hosts && !p.usual.empty() ? p.usual + ", or " + note : note);
    }
    return o.Example(p.example);
}

} // namespace

std::vector<Option>
NetworkOptionRows(const std::string& defaultTopology, ServerCount servers)
{
    const Section section{"/network", "Network"};
    const Section packets = section.Only(when::Packets());
    std::vector<Option> rows = {
        section
            .NameOrFile("topology", JoinNames(TopologyItems()) + ", or a file: " + TopologyFiles())
            .As(&asked::Network::topology)
            .Names("topology", TopologyItems)
            .Aliases([](const std::string& text) {
                const topo::Family* family = topo::FamilyOfParameters(text);
                return family && family->answersTo && family->answersTo(text) ? text : "";
            })
            .Default(defaultTopology)
            .Example("leaf-spine"),
    };
    if (servers == ServerCount::kAlways)
    {
        rows.front().Otherwise("rail-optimized where servers have several NICs");
    }
    for (const auto& shared : topo::AllParameters())
    {
        rows.push_back(ParameterRow(shared, servers, section));
    }
    rows.insert(
        rows.end(),
        {
            section.Rate("fabric-rate", "of links between switches")
                .As(&asked::Network::fabricRate)
                .Otherwise("as the NIC")
                .Range(topo::kSlowestLink.bps, topo::kFastestLink.bps)
                .Example("400Gbps"),
            section
                .Duration("link-delay",
                          "propagation of every link, one way; 5 ns a metre. 250ns with "
                          "InfiniBand from NDR "
                          "on")
                .As(&asked::Network::linkDelay)
                .Default("1us")
                .Range(0, static_cast<double>(topo::kLongestDelay.ps))
                .Example("2us")
                .Only(when::If("topology",
                               "a topology by name: a file has the rate and delay of each link",
                               LeavesDelay)
                          .Usual()
                          .Strict())
                .To(&FabricSpec::linkDelay),
            section.Real("bit-error-rate", "of every link, independent errors")
                .As(&asked::Network::bitErrorRate)
                .Default("0")
                .Range(0, topo::kMostBitErrors)
                .Example("1e-12")
                .Only(when::Packets())
                .To(&FabricSpec::bitErrorRate),
        });
    Append(&rows, TierOptionRows());
    return rows;
}

std::vector<Option>
FabricOptionRows(Software software)
{
    const Section section{"/fabric", "Fabric"};
    const Section packets = section.Only(when::Packets());
    const Section queuePairs = packets.IdleUnless(when::Rdma());
    const Section ethernet = packets.Only(when::Ethernet());
    const Section marking = ethernet.IdleUnless(when::On("ecn").Usual());
    const bool nccl = software == Software::kNccl;
    const std::string cc = "dcqcn";
    const rdma::CongestionPreset& preset = rdma::FindCongestionControl(cc)->presets.front();
    const std::string byPreset = " for " + preset.name + ", see --cc-preset";
    std::vector<Option> rows = {
        section
            .Name("compat",
                  "defaults of another model, to replay its inputs and results; what else is given "
                  "wins")
            .As(&asked::Fabric::compat)
            .Names("compatibility", CompatItems)
            .Default("none")
            .To(&FabricSpec::compat),
        section.Name("network", "how the network between servers is simulated")
            .As(&asked::Fabric::network)
            .Names("network", NetworkItems)
            .Default("packet")
            .Example("analytic")
            .To(&FabricSpec::network),
        section.Name("fabric", "link layer of all NICs, links and switches")
            .As(&asked::Fabric::fabric)
            .Names("fabric",
                   {{"roce", "Ethernet: RoCEv2, PFC, ECN"},
                    {"ib", "InfiniBand: credits, virtual lanes, a subnet manager"},
                    {"scale-up",
                     "links between GPUs, as NVLink or a TPU's: ib with --link-frames=flits, fast "
                     "switches, buffers of 1 MiB a lane"}})
            .Otherwise("what --nic is"),
        section.Name("nic", "network interface of a server")
            .As(&asked::Fabric::nic)
            .Names("NIC", NicItems)
            .Default("100GbE")
            .Only(when::If("topology",
                           "a topology by name: a file has the rate and delay of each link",
                           IsNoTopologyFile)
                      .Usual()
                      .Strict())
            .To(&FabricSpec::nic),
        section.Integer("mtu", "payload bytes of a packet")
            .As(&asked::Fabric::mtu)
            .Default("4096")
            .OneOf({256, 512, 1024, 2048, 4096})
            .SetsForAll("ns3::RdmaNic::Mtu")
            .Only(when::Without("payload").Usual().Hides().Strict())
            .To(&FabricSpec::mtu),
        section
            .Integer("ack-every", "packets per ACK; the last of a message is always acknowledged")
            .As(&asked::Fabric::ackEvery)
            .Default("16")
            .Range(1, 65536)
            .Example("1")
            .SetsForAll("ns3::RdmaNic::AckEvery")
            .IdleUnless(when::Packets())
            .IdleUnless(when::Rdma()),
        queuePairs.Name("cc", "congestion control")
            .As(&asked::Fabric::cc)
            .Names("congestion control", CongestionItems)
            .Default(cc)
            .To(&FabricSpec::cc),
        packets.Name("cc-preset", "its parameters, and the switches' ECN thresholds")
            .As(&asked::Fabric::ccPreset)
            .Names("congestion control preset", CongestionPresetItems)
            .Allows(CongestionPresetsInWords)
            .Otherwise("the first of --cc in --list=cc-preset")
            .Example("nvidia-nic"),
        ethernet.Flag("pfc", "priority flow control (lossless)")
            .As(&asked::Fabric::pfc)
            .Default("1")
            .Sets("ns3::RdmaSwitch::Pfc"),
        ethernet
            .Duration("pfc-watchdog",
                      "time after which a paused queue counts as a pause storm, which the switch "
                      "then ends; "
                      "0: never, else at least 100ns")
            .As(&asked::Fabric::pfcWatchdog)
            .Default("0ns")
            .Range(0, 1e13)
            .Example("200ms")
            .Sets("ns3::RdmaSwitch::PfcWatchdogDetection")
            .Only(when::On("pfc").Usual()),
        ethernet.Name("pfc-watchdog-action", "what becomes of the frames of a pause storm")
            .As(&asked::Fabric::pfcWatchdogAction)
            .Names("action", PfcWatchdogActionItems)
            .Default("drop")
            .Example("forward")
            .Sets("ns3::RdmaSwitch::PfcWatchdogAction")
            .Only(when::On("pfc").Usual())
            .Only(when::Above("pfc-watchdog", 0)),
        ethernet
            .Name("arrivals",
                  "which lossy frames are lost that reach a full queue within a frame time")
            .As(&asked::Fabric::arrivals)
            .Names("order",
                   {{"lottery",
                     "drawn by chance, as senders' clocks have it: equal senders share "
                     "losses"},
                    {"fixed", "those that come last, each time the same sender's"}})
            .Default("lottery")
            .Example("fixed")
            .Sets("ns3::RdmaSwitch::Arrivals"),
        ethernet.Flag("ecn", "switches mark packets (RED on the egress queue)")
            .As(&asked::Fabric::ecn)
            .Default("1")
            .Sets("ns3::RdmaSwitch::Ecn"),
        marking.Bytes("ecn-kmin", "queue at which marking begins, per 100 Gb/s of port rate")
            .As(&asked::Fabric::ecnKmin)
            .Otherwise(CanonicalBytes(preset.marking.kmin.value) + byPreset)
            .Range(0, 1e12)
            .Example("100kB")
            .Sets("ns3::RdmaSwitch::EcnKmin"),
        marking.Bytes("ecn-kmax", "queue from which everything is marked, per 100 Gb/s")
            .As(&asked::Fabric::ecnKmax)
            .Otherwise(CanonicalBytes(preset.marking.kmax.value) + byPreset)
            .Range(0, 1e12)
            .Example("2MB")
            .Sets("ns3::RdmaSwitch::EcnKmax"),
        marking.Real("ecn-pmax", "marking probability just below kmax")
            .As(&asked::Fabric::ecnPmax)
            .Otherwise(detail::RealText(preset.marking.pmax) + byPreset)
            .Range(0, 1)
            .Example("0.5")
            .Sets("ns3::RdmaSwitch::EcnPmax"),
        ethernet.Bytes("buffer", "shared buffer of a switch per 100 Gb/s of port rate")
            .As(&asked::Fabric::buffer)
            .Default("1MB")
            .Range(1e4, 1e12)
            .Example("2MB")
            .Sets("ns3::RdmaSwitch::BufferPer100G")
            .To(&FabricSpec::bufferPer100G),
        section.Duration("switch-latency", "pipeline of a switch, per packet")
            .As(&asked::Fabric::switchLatency)
            .Default("500ns")
            .Range(0, 1e9)
            .Example("300ns")
            .Sets("ns3::RdmaSwitch::PipelineLatency")
            .Sets("ns3::IbSwitch::Latency")
            .To(&FabricSpec::switchLatency),
        queuePairs
            .Bytes("window",
                   "unacknowledged bytes at which a queue pair starts no further packet; 0: "
                   "unlimited; "
                   "with --compat=hpcc the largest bandwidth-delay product")
            .As(&asked::Fabric::window)
            .Default("0")
            .Range(0, 9e15)
            .Example("1MB")
            .Sets("ns3::RdmaNic::Window")
            .To(&FabricSpec::windowBytes),
        queuePairs
            .Integer("timeout-exponent",
                     "retransmission after 4.096 us * 2^N without progress" +
                         std::string(nccl ? "; NCCL 2.23: 20, 2.14: 18" : ""))
            .As(&asked::Fabric::timeoutExponent)
            .Default(nccl ? "20" : "14")
            .Range(1, 31)
            .Example("12")
            .Sets("ns3::RdmaNic::TimeoutExponent")
            .To(&FabricSpec::timeoutExponent),
        queuePairs.Name("loss-recovery", "how queue pairs recover from lost packets")
            .As(&asked::Fabric::lossRecovery)
            .Names("loss recovery", LossRecoveryItems)
            .Default("go-back-n")
            .Example("selective-repeat")
            .SetsForAll("ns3::RdmaNic::LossRecovery"),
        queuePairs
            .Integer("retry-count", "time-outs in a row without progress until a queue pair fails")
            .As(&asked::Fabric::retryCount)
            .Default("7")
            .Range(0, 7)
            .Example("3")
            .Sets("ns3::RdmaNic::RetryCount"),
    };
    Append(&rows, TransportOptionRows(section));
    Append(&rows, InfiniBandOptionRows());
    Append(&rows, QueueingOptionRows());
    Append(&rows, LinkOptionRows());
    Append(&rows, LoadBalancingOptionRows());
    Append(&rows, EtsOptionRows());
    Append(&rows, QueueDiscOptionRows());
    Append(&rows, ShaperOptionRows());
    Append(&rows, TrafficClassRows());
    Append(&rows, PlaceOptionRows());
    Append(&rows, FrameOptionRows());
    return rows;
}

std::vector<NameList>
FabricLists()
{
    return {
        {"topologies", "Topologies (--topology), or a file", TopologyItems},
        {"nics", "Network interfaces (--nic)", NicItems},
        {"ib-switches", "InfiniBand switches (--ib-switch)", IbSwitchItems},
        {"ib-routing", "Routing engines of the subnet manager (--ib-routing)", IbRoutingItems},
        {"compat", "Models to be compatible with (--compat)", CompatItems},
        {"load-balancers", "Load balancers (--load-balancer)", LoadBalancerItems},
        {"queue-discs", "Queue disciplines of ports (--queue-disc)", QueueDiscItems},
        {"markers", "Markers of switches (--marker)", MarkerItems},
        {"buffer-policies", "Buffer policies of switches (--buffer-policy)", BufferPolicyItems},
        {"transport", "Transports (--transport)", TransportItems},
        {"cc", "Congestion controls (--cc)", CongestionItems},
        {"cc-preset",
         "Parameters of congestion controls and switches (--cc-preset)",
         CongestionPresetItems},
        {"faults", "What can go wrong (--fault)", FaultItems},
    };
}

} // namespace scenario
