/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * traffic, flows over a network: its options. What becomes of their values: traffic-scenario.cc.
 */
#include "scenarios/traffic/options/traffic-options.h"

#include "scenarios/asked/foreign-names.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/protocol-options.h"
#include "scenarios/traffic/flow-sizes.h"
#include "topologies/family.h"
#include "topologies/names.h"

namespace scenario
{

namespace
{

const std::vector<NamedItem>&
Patterns()
{
    static const std::vector<NamedItem> patterns = {
        {"permutation", "host i to host (i + offset) mod n"},
        {"random-permutation", "every host to another one, a shuffle by --seed"},
        {"incast", "--fan-in hosts to the one --target"},
        {"all-to-all", "every host to every other one"},
        {"poisson", "random pairs at a --load, sizes of a distribution (--sizes)"},
        {"on-off", "the same from sources that are on and off in turn"},
    };
    return patterns;
}

std::vector<NamedItem>
FlowSizeItems()
{
    std::vector<NamedItem> items;
    for (const auto& sizes : PublishedFlowSizes())
    {
        items.push_back({sizes.name, sizes.description});
    }
    return items;
}

/// "one pod (fat-tree), else half of the hosts"
std::string
UsualOffset()
{
    std::string text;
    for (const auto& family : topo::Families())
    {
        text += family.part.empty() ? "" : "one " + family.part + " (" + family.name + "), ";
    }
    return text + "else half of the hosts";
}

OptionTable
MakeTrafficTable()
{
    OptionTable t;
    t.program = "traffic";
    t.version = kVersion;
    t.description =
        "flows on a packet-level RDMA network: flow completion times, and frame-hops per second";
    const Section section{"/traffic", "Traffic"};
    const Section patterns = section.Only(when::Without("flows").Usual());
    const Section load = patterns.Only(when::Is("pattern", {"poisson", "on-off"}));
    const Section onOff = patterns.Only(when::Is("pattern", {"on-off"}));
    const Section incastLoad = load.Only(when::Above("incast-load", 0));
    t.Add({
        patterns.Name("pattern", "who sends to whom")
            .As(&asked::Traffic::pattern)
            .Names("pattern", Patterns())
            .Aliases([](const std::string& text) -> std::string {
                return topo::FoldedName(text) == "random" ? "poisson" : "";
            })
            .Otherwise("permutation")
            .Example("all-to-all"),
        patterns.Integer("offset", "permutation: host i sends to (i + N) mod hosts")
            .As(&asked::Traffic::offset)
            .Otherwise(UsualOffset())
            .Range(1, 4294967295.0)
            .Example("3")
            .Only(when::Is("pattern", {"permutation"})),
        patterns.Integer("fan-in", "incast: number of senders, the hosts behind the target")
            .As(&asked::Traffic::fanIn)
            .Otherwise("16, or all other hosts if fewer")
            .Range(1, 4294967295.0)
            .Example("4")
            .Only(when::Is("pattern", {"incast"})),
        patterns.Integer("target", "incast: the host that receives, from 0")
            .As(&asked::Traffic::target)
            .Otherwise("0")
            .Range(0, 4294967295.0)
            .Example("3")
            .Only(when::Is("pattern", {"incast"})),
        patterns.List("bytes", "of every flow; of several sizes, flow i takes the i-th in turn")
            .As(&asked::Traffic::bytes)
            .Shows("SIZE,...")
            .Otherwise("40MB")
            .Example("1MB,64KiB")
            .Only(when::IsNot("pattern", {"poisson", "on-off"}).Usual())
            .Only(when::Without("sizes").Usual()),
        patterns
            .NameOrFile("sizes",
                        "flow sizes at random from a distribution, instead of --bytes: a name, or "
                        "a file of "
                        "lines \"bytes percent\" (of flows of at "
                        "most so many bytes; in between linearly)")
            .As(&asked::Traffic::sizes)
            .Names("distribution of flow sizes", FlowSizeItems)
            .Aliases([](const std::string& text) -> std::string {
                return topo::FoldedName(text) == "fbhdp" ? "fb-hadoop" : "";
            })
            .Otherwise("websearch for --pattern=poisson and on-off")
            .Example("fb-hadoop"),
        patterns.Duration("start-jitter", "flows start at random within this time")
            .As(&asked::Traffic::startJitter)
            .Otherwise("0, all at once")
            .Range(0, 1e15)
            .Example("10us")
            .Only(when::IsNot("pattern", {"poisson", "on-off"}).Usual()),
        load.Real(
                "load",
                "poisson, on-off: average load of each host's links in the direction out, 1 being "
                "their rate")
            .As(&asked::Traffic::load)
            .Otherwise("0.5")
            .Range(1e-6, 10)
            .Example("0.3"),
        load.Name("load-of", "the bytes that --load and --incast-load count")
            .As(&asked::Traffic::loadOf)
            .Names("layer",
                   {{"payload",
                     "the flows' bytes alone, as HPCC's traffic generator: mean size x 8 / gap"},
                    {"wire",
                     "with all headers, preambles and gaps between frames of the data packets; no "
                     "ACKs, no repeats"}})
            .Otherwise("payload")
            .Example("wire"),
        section
            .Duration("duration",
                      "time after --warm-up in which flows that start are measured; poisson, "
                      "on-off: flows "
                      "are made for so long")
            .As(&asked::Traffic::duration)
            .Otherwise("10ms for poisson and on-off, else all flows")
            .Range(1, 1e15)
            .Example("5ms"),
        section
            .Duration("warm-up",
                      "flows that start before are simulated and in no statistics; all counters "
                      "begin here")
            .As(&asked::Traffic::warmUp)
            .Default("0ns")
            .Range(0, 1e15)
            .Example("1ms")
            .To(&Measuring::from),
        load.Duration("cool-down",
                      "poisson, on-off: unmeasured flows go on for this long, so that the last "
                      "measured ones "
                      "meet the same load")
            .As(&asked::Traffic::coolDown)
            .Otherwise("0")
            .Range(0, 1e15)
            .Example("1ms"),
        onOff.Duration("on-time", "on-off: mean time a host is on")
            .As(&asked::Traffic::onTime)
            .Otherwise("100us")
            .Range(1, 1e15)
            .Example("50us"),
        onOff
            .Duration(
                "off-time",
                "on-off: mean time a host is off; while on, its load is higher to make up for it")
            .As(&asked::Traffic::offTime)
            .Otherwise("100us")
            .Range(0, 1e15)
            .Example("50us"),
        onOff.Name("on-off-times", "on-off: how those times are distributed")
            .As(&asked::Traffic::onOffTimes)
            .Names("distribution of times",
                   {{"exponential", "without memory"},
                    {"constant", "all the same"},
                    {"pareto", "heavy-tailed, of shape 2"}})
            .Otherwise("exponential")
            .Example("pareto"),
        load.Real("incast-load",
                  "poisson, on-off: extra incasts of --incast-fan-in random hosts to a random one, "
                  "as a "
                  "share of the rate of all hosts")
            .As(&asked::Traffic::incastLoad)
            .Otherwise("0, none")
            .Range(0, 10)
            .Example("0.02"),
        incastLoad.Integer("incast-fan-in", "senders of such an incast")
            .As(&asked::Traffic::incastFanIn)
            .Otherwise("60, or all other hosts if fewer")
            .Range(1, 4294967295.0)
            .Example("8"),
        incastLoad.Bytes("incast-bytes", "each of them sends")
            .As(&asked::Traffic::incastBytes)
            .Otherwise("500kB")
            .Range(1, 1e12)
            .Example("100kB"),
        incastLoad.Name("incast-arrivals", "when these incasts come")
            .As(&asked::Traffic::incastArrivals)
            .Names("kind of arrivals",
                   {{"periodic", "at equal gaps, the first after half of one"},
                    {"poisson", "at exponential gaps"}})
            .Otherwise("periodic")
            .Example("poisson"),
        patterns.Integer("priority", "of every flow")
            .As(&asked::Traffic::priority)
            .Otherwise("3")
            .Range(0, 7)
            .Example("5"),
        patterns.Text("flow-class", "traffic class of every flow, one of --class")
            .As(&asked::Traffic::flowClass)
            .Shows("NAME")
            .Otherwise("none: as --cc and --transport say")
            .Example("bulk")
            .IdleUnless(when::Rdma()),
        section
            .File("flows",
                  "flows from a file instead of a pattern: HPCC's flow format, an htsim connection "
                  "matrix, or CSV (start_ns, start_us or start_s; src, dst, bytes; may have "
                  "priority, tag, class, cc, preset, transport, rate, path)")
            .As(&asked::Traffic::flows),
        section.Name("operation", "the verb that moves a flow's bytes")
            .As(&asked::Traffic::operation)
            .Names("operation",
                   {{"write", "RDMA WRITE"},
                    {"send", "SEND; of at most 2 GiB"},
                    {"read", "RDMA READ, posted by who gets the bytes; its time begins with that"}})
            .Default("write")
            .Example("read"),
        section.Name("completion", "when a flow is complete, for its completion time and slowdown")
            .As(&asked::Traffic::completion)
            .Names("completion",
                   {{"receiver", "its last byte is at the receiver"},
                    {"sender", "its last ACK is at the sender, as HPCC's code has it"}})
            .Default("receiver")
            .Example("sender"),
        section.Name("queue-pairs", "the queue pair that carries a flow")
            .As(&asked::Traffic::queuePairs)
            .Names("use of queue pairs",
                   {{"per-flow", "a new one for each, all made before the run"},
                    {"reused",
                     "one whose flow has been done for --queue-pair-rest, reset, else a new one: "
                     "every flow "
                     "starts afresh and memory is bounded"},
                    {"per-pair",
                     "one for each source and destination: flows wait for each other and inherit "
                     "its rate"}})
            .Otherwise("reused for --pattern=poisson and on-off, and with --outstanding, else "
                       "per-flow")
            .Example("per-pair"),
        section
            .Integer(
                "outstanding",
                "flows of a host that have begun and are not acknowledged, at most; the others "
                "wait in their order; 0: each begins at its start")
            .As(&asked::Traffic::outstanding)
            .Default("0")
            .Range(0, 1000000)
            .Example("8")
            .To(&TrafficScenario::outstanding),
        section
            .Duration("queue-pair-rest",
                      "a reused queue pair rests for so long between two flows, so that nothing of "
                      "the former one is under way")
            .As(&asked::Traffic::queuePairRest)
            .Default("2ms")
            .Range(1000, 1e12)
            .Example("100us")
            .To(&TrafficScenario::queuePairRest),
        section
            .Integer(
                "size-groups",
                "slowdown.csv: groups of flows by size with about equally many flows each, as in "
                "HPCC's figures")
            .As(&asked::Traffic::sizeGroups)
            .Default("20")
            .Range(1, 1000)
            .Example("10")
            .To(&Measuring::sizeGroups),
        section.List("size-bins", "slowdown.csv: classes of flow sizes, by their largest")
            .As(&asked::Traffic::sizeBins)
            .Shows("SIZE,...")
            .Otherwise("100kB,10MB, as pFabric's")
            .Example("10kB,1MB"),
        section
            .Duration(
                "queue-interval",
                "time between looks at the queues of all switch ports: their distribution, and "
                "queues.csv of the longest; 0: no looks")
            .As(&asked::Traffic::queueInterval)
            .Otherwise("1us for --pattern=poisson and on-off, else 0")
            .Range(0, 1e15)
            .Example("2us")
            .Only(when::Packets())
            .To(&Measuring::queueInterval),
        section
            .Duration("rate-interval",
                      "time over which each flow's throughput is measured: Jain's index in "
                      "fairness.csv, and "
                      "of at most 1000 flows rates.csv; 0: none")
            .As(&asked::Traffic::rateInterval)
            .Otherwise("100us for --pattern=poisson and on-off, else 0")
            .Range(0, 1e15)
            .Example("50us")
            .Only(when::Packets())
            .To(&Measuring::rateInterval),
        section.Integer("hosts", "hosts of the network")
            .As(&asked::Traffic::hosts)
            .Otherwise("all that a file or the topology's own options have room for; else " +
                       std::to_string(kDefaultHosts))
            .Range(2, 1048576)
            .Example("8"),
        section
            .Duration("stop-after",
                      "end the run at this simulated time; 0: when all flows are done")
            .As(&asked::Traffic::stopAfter)
            .Default("0ns")
            .Range(0, 9.2e18)
            .Example("5ms")
            .To(&TrafficScenario::stopAfter),
    });
    t.Add(ProtocolOptionRows(section));
    t.Add(NetworkOptionRows("fat-tree", ServerCount::kHosts));
    t.Add(FabricOptionRows(Software::kDrivers));
    t.Add(FidelityOptionRows(false));
    t.Add(RunOptionRows("traffic"));
    t.foreign = ServerNames();
    t.lists = FabricLists();
    t.lists.push_back({"patterns", "Patterns (--pattern)", [] { return Patterns(); }});
    t.lists.push_back({"sizes", "Distributions of flow sizes (--sizes)", FlowSizeItems});
    t.Finish();
    t.examples = {
        "traffic --topology=fat-tree --k=8 --pattern=permutation --offset=16 --bytes=40MB",
        "traffic --pattern=incast --topology=single-switch --hosts=65 --fan-in=64 --bytes=1MB",
        "traffic --topology=fat.txt --flows=flow.txt --cc=none --pfc=0",
        "traffic --compat=hpcc --topology=fat.txt --flows=flow.txt --completion=sender",
        "traffic --pattern=poisson --load=0.5 --sizes=websearch --warm-up=1ms --duration=5ms",
        "traffic --scenario=scenarios/presets/incast-64.json --dry-run",
    };
    return t;
}

} // namespace

const OptionTable&
TrafficOptionTable()
{
    static const OptionTable table = MakeTrafficTable();
    return table;
}

namespace
{

const RegisteredTable g_trafficRows(&TrafficOptionTable);

} // namespace

} // namespace scenario
