/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * traffic: flows over a network, without training.
 */
#include "scenarios/spec/common-options.h"
#include "scenarios/spec/estimate.h"
#include "scenarios/spec/foreign-names.h"
#include "scenarios/spec/host-memory.h"
#include "scenarios/spec/launcher.h"
#include "scenarios/spec/network-kinds.h"
#include "scenarios/spec/parse-detail.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/validate.h"
#include "scenarios/traffic/arrivals.h"
#include "scenarios/traffic/flow-csv.h"
#include "scenarios/traffic/flow-sizes.h"
#include "scenarios/traffic/hpcc-flows.h"
#include "scenarios/traffic/patterns.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace scenario
{

namespace
{

constexpr uint32_t kDefaultHosts = 16; ///< of networks that have no size of their own
constexpr uint64_t kMostFlows = 20000000;
constexpr double kMostPeriods = 1e8; ///< on and off, of all hosts: some seconds of work

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

bool
HasLoad(const std::string& pattern)
{
    return pattern == "poisson" || pattern == "on-off";
}

/// Options of patterns with a load, of those without, and of all patterns.
const std::vector<std::string> kLoadOptions{"load", "load-of", "cool-down", "incast-load", "incast-fan-in", "incast-bytes", "incast-arrivals"};
const std::vector<std::string> kOnOffOptions{"on-time", "off-time", "on-off-times"};
const std::vector<std::string> kListOptions{"bytes", "start-jitter"};

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

/// "all of a fat-tree or a file, else 16": families that have a size when nobody gives one.
std::string
UsualHosts()
{
    std::vector<std::string> names;
    for (const auto& family : topo::Families())
    {
        const auto& all = family.parameters;
        if (std::any_of(all.begin(), all.end(), [](const topo::Parameter& p) { return !p.usual.empty(); }))
        {
            names.push_back("a " + family.name);
        }
    }
    names.push_back("a file");
    return "all of " + topo::JoinNames(names) + ", else " + std::to_string(kDefaultHosts);
}

/// "one pod of a fat-tree, else half of the hosts"
std::string
UsualOffset()
{
    std::string text;
    for (const auto& family : topo::Families())
    {
        text += family.part.empty() ? "" : "one " + family.part + " of a " + family.name + ", ";
    }
    return text + "else half of the hosts";
}

OptionTable
MakeTable()
{
    OptionTable t;
    t.program = "traffic";
    t.version = kVersion;
    t.description = "flows on a packet-level RDMA network: flow completion times, and frame-hops per second";
    const std::string group = "Traffic";
    const std::string json = "/traffic";
    t.Add({
        Opt("pattern", Kind::kName, json, group, "who sends to whom").Names("pattern", Patterns()).Otherwise("permutation").Example("all-to-all"),
        Opt("offset", Kind::kInteger, json, group, "permutation: host i sends to (i + N) mod hosts")
            .Otherwise(UsualOffset())
            .Range(1, 4294967295.0)
            .Example("3"),
        Opt("fan-in", Kind::kInteger, json, group, "incast: number of senders, the hosts behind the target")
            .Otherwise("16, or all other hosts if fewer")
            .Range(1, 4294967295.0)
            .Example("4"),
        Opt("target", Kind::kInteger, json, group, "incast: the host that receives, from 0").Otherwise("0").Range(0, 4294967295.0).Example("3"),
        Opt("bytes", Kind::kList, json, group, "of every flow; of several sizes, flow i takes the i-th in turn")
            .Shows("SIZE,...")
            .Otherwise("40MB")
            .Example("1MB,64KiB"),
        Opt("sizes", Kind::kNameOrFile, json, group,
            "flow sizes at random from a distribution, instead of --bytes: a name, or a file of lines \"bytes percent\" (of flows of at "
            "most so many bytes; in between linearly)")
            .Names("distribution of flow sizes", FlowSizeItems)
            .Aliases([](const std::string& text) -> std::string { return topo::FoldedName(text) == "fbhdp" ? "fb-hadoop" : ""; })
            .Otherwise("websearch for --pattern=poisson and on-off")
            .Example("fb-hadoop"),
        Opt("start-jitter", Kind::kDuration, json, group, "flows start at random within this time").Otherwise("0, all at once").Range(0, 1e15).Example("10us"),
        Opt("load", Kind::kReal, json, group, "poisson, on-off: average load of each host's links in the direction out, 1 being their rate")
            .Otherwise("0.5")
            .Range(1e-6, 10)
            .Example("0.3"),
        Opt("load-of", Kind::kName, json, group, "the bytes that --load and --incast-load count")
            .Names("layer", {{"payload", "the flows' bytes alone, as HPCC's traffic generator: mean size x 8 / gap"},
                             {"wire", "with all headers, preambles and gaps between frames of the data packets; no ACKs, no repeats"}})
            .Otherwise("payload")
            .Example("wire"),
        Opt("duration", Kind::kDuration, json, group,
            "time after --warm-up in which flows that start are measured; poisson, on-off: flows are made for so long")
            .Otherwise("10ms for poisson and on-off, else all flows")
            .Range(1, 1e15)
            .Example("5ms"),
        Opt("warm-up", Kind::kDuration, json, group, "flows that start before are simulated and in no statistics; all counters begin here")
            .Default("0ns")
            .Range(0, 1e15)
            .Example("1ms"),
        Opt("cool-down", Kind::kDuration, json, group,
            "poisson, on-off: flows are made for this much longer, in no statistics, so that the last measured ones meet the same load; the "
            "run ends with the last measured flow")
            .Otherwise("0")
            .Range(0, 1e15)
            .Example("1ms"),
        Opt("on-time", Kind::kDuration, json, group, "on-off: mean time a host is on").Otherwise("100us").Range(1, 1e15).Example("50us"),
        Opt("off-time", Kind::kDuration, json, group, "on-off: mean time a host is off; while on, its load is higher to make up for it")
            .Otherwise("100us")
            .Range(0, 1e15)
            .Example("50us"),
        Opt("on-off-times", Kind::kName, json, group, "on-off: how those times are distributed")
            .Names("distribution of times", {{"exponential", "without memory"}, {"constant", "all the same"}, {"pareto", "heavy-tailed, of shape 2"}})
            .Otherwise("exponential")
            .Example("pareto"),
        Opt("incast-load", Kind::kReal, json, group,
            "poisson, on-off: mixed in, now and then --incast-fan-in random hosts send to a random one at once; their share of the rate of all "
            "hosts, beside --load")
            .Otherwise("0, none")
            .Range(0, 10)
            .Example("0.02"),
        Opt("incast-fan-in", Kind::kInteger, json, group, "senders of such an incast").Otherwise("60, or all other hosts if fewer").Range(1, 4294967295.0).Example("8"),
        Opt("incast-bytes", Kind::kBytes, json, group, "each of them sends").Otherwise("500kB").Range(1, 1e12).Example("100kB"),
        Opt("incast-arrivals", Kind::kName, json, group, "when these incasts come")
            .Names("kind of arrivals", {{"periodic", "at equal gaps, the first after half of one"}, {"poisson", "at exponential gaps"}})
            .Otherwise("periodic")
            .Example("poisson"),
        Opt("priority", Kind::kInteger, json, group, "of every flow").Otherwise("3").Range(0, 7).Example("5"),
        Opt("flows", Kind::kFile, json, group,
            "instead of a pattern: a flow file of HPCC's ns-3 code (count; then src dst pg dport bytes start_s), or CSV with the columns "
            "start_ns (or start_us, start_s), src, dst, bytes, such as flows.csv of a run"),
        Opt("operation", Kind::kName, json, group, "the verb that moves a flow's bytes")
            .Names("operation", {{"write", "RDMA WRITE"}, {"send", "SEND; of at most 2 GiB"}, {"read", "RDMA READ, posted by who gets the bytes; its time begins with that"}})
            .Default("write")
            .Example("read"),
        Opt("completion", Kind::kName, json, group, "when a flow is complete, for its completion time and slowdown")
            .Names("completion", {{"receiver", "its last byte is at the receiver"}, {"sender", "its last ACK is at the sender, as HPCC's code has it"}})
            .Default("receiver")
            .Example("sender"),
        Opt("queue-pairs", Kind::kName, json, group, "the queue pair that carries a flow")
            .Names("use of queue pairs",
                   {{"per-flow", "a new one for each, all made before the run"},
                    {"reused", "one whose flow has been done for 2 ms, reset, else a new one: every flow starts afresh and memory is bounded"},
                    {"per-pair", "one for each source and destination: flows wait for each other and inherit its rate"}})
            .Otherwise("reused for --pattern=poisson and on-off, else per-flow")
            .Example("per-pair"),
        Opt("size-groups", Kind::kInteger, json, group, "slowdown.csv: flows by size in so many groups of about equal number, as HPCC's figures have them; flows of one size are in one group")
            .Default("20")
            .Range(1, 1000)
            .Example("10"),
        Opt("size-bins", Kind::kList, json, group, "slowdown.csv: classes of flow sizes, by their largest")
            .Shows("SIZE,...")
            .Otherwise("100kB,10MB, as pFabric's")
            .Example("10kB,1MB"),
        Opt("queue-interval", Kind::kDuration, json, group,
            "time between looks at the queues of all switch ports: their distribution, and queues.csv of the longest; 0: no looks")
            .Otherwise("1us for --pattern=poisson and on-off, else 0")
            .Range(0, 1e15)
            .Example("2us"),
        Opt("rate-interval", Kind::kDuration, json, group,
            "time over which each flow's throughput is measured: Jain's index in fairness.csv, and of at most 1000 flows rates.csv; 0: none")
            .Otherwise("100us for --pattern=poisson and on-off, else 0")
            .Range(0, 1e15)
            .Example("50us"),
        Opt("hosts", Kind::kInteger, json, group, "hosts of the network").Otherwise(UsualHosts()).Range(2, 1048576).Example("8"),
        Opt("stop-after", Kind::kDuration, json, group, "end the run at this simulated time; 0: when all flows are done")
            .Default("0ns")
            .Range(0, 9.2e18)
            .Example("5ms"),
    });
    t.Add(NetworkOptionRows("fat-tree", ServerCount::kHosts));
    t.Add(FabricOptionRows(Software::kDrivers));
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

/// Sizes of --bytes.
std::vector<uint64_t>
SizesInTurn(Validation* v)
{
    std::vector<uint64_t> sizes;
    std::vector<std::string> canonical;
    if (!v->values.Given("bytes"))
    {
        v->Decide("bytes", "40MB");
    }
    for (const auto& word : v->values.List("bytes"))
    {
        const auto bytes = rdma::ParseBytes(word);
        if (!bytes || bytes->value == 0 || bytes->value > 1000000000000000ULL)
        {
            v->errors.push_back({v->values.Where("bytes"), word,
                                 std::string("allowed: ") + rdma::kBytesHelp + ", from 1 to 10^15 bytes", ""});
            return {};
        }
        sizes.push_back(bytes->value);
        canonical.push_back(CanonicalBytes(bytes->value));
    }
    if (sizes.empty())
    {
        v->Fail("bytes", std::string("needs a value: ") + rdma::kBytesHelp);
        return {};
    }
    v->Decide("bytes", Join(canonical, ","));
    return sizes;
}

/// The distribution of --sizes.
bool
ReadSizes(Validation* v, FlowSizes* sizes)
{
    const std::string& given = v->values.Text("sizes");
    std::string text;
    for (const auto& published : PublishedFlowSizes())
    {
        if (given == published.name)
        {
            text = published.text;
        }
    }
    if (text.empty())
    {
        std::vector<topo::Error> errors;
        const auto read = topo::ReadWholeFile(given, errors);
        if (!read)
        {
            v->FailFile("sizes", errors);
            return false;
        }
        text = *read;
    }
    std::string error;
    if (!FlowSizes::Parse(text, given, sizes, &error))
    {
        v->errors.push_back({"", "", error, ""});
        return false;
    }
    return true;
}

/// Bits per second that each host can send.
std::vector<uint64_t>
HostRates(const topo::Topology& topology)
{
    std::vector<uint64_t> rates;
    for (const topo::NodeId host : topology.Hosts())
    {
        uint64_t rate = 0;
        for (const topo::LinkId link : topology.Nodes()[host].ports)
        {
            rate += topology.Links()[link].rate.bps;
        }
        rates.push_back(rate);
    }
    return rates;
}

/// A share as a multiple of 10^-9.
uint64_t
Billionths(double share)
{
    return static_cast<uint64_t>(std::llround(share * 1e9));
}

/// Endpoint of a flow at a host: its ports take turns.
topo::EndpointId
EndpointAt(const topo::Topology& topology, uint32_t host, size_t turn)
{
    const size_t ports = topology.Nodes()[topology.Hosts()[host]].ports.size();
    return topology.EndpointOf(host, static_cast<topo::PortId>(turn % ports));
}

/// Making millions of flows takes seconds, so the memory that their run is sure to need is compared before: what
/// EstimateRun says of their messages, and the list itself. \param flows expected
bool
FlowsFit(Validation* v, const TrafficScenario& s, const topo::Topology& topology, double flows)
{
    if (v->values.Flag("dry-run") || v->values.Flag("ignore-host-memory") || !FindLauncher().IsFirst())
    {
        return true; // as ParseProgram, which looks once more when the flows are there
    }
    MemoryNeeds needs;
    needs.links = static_cast<double>(topology.Links().size());
    needs.messages = flows;
    needs.infiniBand = s.fabric.infiniBand;
    if (s.queuePairs != QueuePairUse::kPerPair)
    {
        // A queue pair rests for 2 ms (EstimateRun, with the time under way, takes 4): flows that start within need one each.
        const double made = static_cast<double>(s.measuring.until.ps + v->values.Duration("cool-down").ps);
        const double kept = s.queuePairs == QueuePairUse::kPerFlow ? 1 : std::min(1.0, 2e9 / std::max(1.0, made));
        needs.connections = flows * kept;
        needs.bytesPerConnection = ConnectionBytes(s.fabric, v->values.Flag("attribution"));
    }
    MemoryEstimate memory = EstimateMemory(needs);
    memory.messages += flows * static_cast<double>(sizeof(Flow) + sizeof(Arrival));
    const std::string why = WhyTooLarge(memory, AvailableHostMemory());
    if (!why.empty())
    {
        v->errors.push_back({"", "", "about " + std::to_string(std::llround(flows)) + " flows: " + why, ""});
    }
    return why.empty();
}

/// Flows of --pattern=poisson and on-off.
void
MakeLoadFlows(Validation* v, const Network& network, TrafficScenario* s)
{
    auto& values = v->values;
    const auto decide = [&](const char* name, const std::string& text) {
        if (!values.Given(name))
        {
            v->Decide(name, text);
        }
    };
    const size_t before = v->errors.size();
    v->MustNotBeGiven(kListOptions, "has no meaning with --pattern=" + s->pattern + "; sizes are --sizes, starts follow from --load");
    decide("sizes", "websearch");
    decide("load", "0.5");
    decide("load-of", "payload");
    decide("duration", "10ms");
    decide("cool-down", "0ns");
    decide("incast-load", "0");
    decide("priority", "3");

    ArrivalOptions o;
    o.hostRates = HostRates(network.topology);
    const uint32_t hosts = static_cast<uint32_t>(o.hostRates.size());
    if (s->pattern == "on-off")
    {
        decide("on-time", "100us");
        decide("off-time", "100us");
        decide("on-off-times", "exponential");
        o.meanOn = values.Duration("on-time");
        o.meanOff = values.Duration("off-time");
        const std::string& kind = values.Text("on-off-times");
        o.periods = kind == "constant" ? PeriodKind::kConstant : kind == "pareto" ? PeriodKind::kPareto : PeriodKind::kExponential;
    }
    else
    {
        v->MustNotBeGiven(kOnOffOptions, "has no meaning with --pattern=poisson; it belongs to --pattern=on-off");
    }
    const double incastLoad = values.Real("incast-load");
    if (incastLoad > 0)
    {
        decide("incast-fan-in", std::to_string(std::min(60u, hosts - 1)));
        decide("incast-bytes", "500kB");
        decide("incast-arrivals", "periodic");
        o.incastFanIn = values.U32("incast-fan-in");
        o.incastBytes = values.Integer("incast-bytes");
        o.incastPeriodic = values.Text("incast-arrivals") == "periodic";
        if (o.incastFanIn >= hosts)
        {
            v->Fail("incast-fan-in", "allowed: 1 to " + std::to_string(hosts - 1) + ", the other hosts of the network");
        }
    }
    else
    {
        v->MustNotBeGiven({"incast-fan-in", "incast-bytes", "incast-arrivals"}, "has no meaning without --incast-load");
    }
    FlowSizes sizes;
    if (!ReadSizes(v, &sizes) || v->errors.size() != before)
    {
        return;
    }

    const uint32_t mtu = s->fabric.mtu;
    const rdma::FrameSizes& frames = s->fabric.frames;
    const bool wire = values.Text("load-of") == "wire";
    const uint64_t header = frames.DataWire(rdma::RoceOpcode::kWriteMiddle, mtu) - mtu;
    o.seed = values.Integer("seed");
    o.sizes = &sizes;
    o.load = std::max<uint64_t>(1, Billionths(values.Real("load")));
    o.incastLoad = incastLoad > 0 ? std::max<uint64_t>(1, Billionths(incastLoad)) : 0;
    // One RETH a flow; what pads a packet to four bytes is left out, 1.5 B a flow.
    o.bytesPerFlow1024 =
        sizes.MeanBytes1024() + (wire ? sizes.MeanPackets1024(mtu) * header + uint64_t{1024} * frames.rethBytes : 0);
    o.incastBytesPerFlow1024 =
        1024 * (o.incastBytes + (wire ? (o.incastBytes + mtu - 1) / mtu * header + frames.rethBytes : 0));
    s->measuring.until = s->measuring.from + values.Duration("duration");
    o.until = s->measuring.until + values.Duration("cool-down");
    s->offered = {values.Real("load"), wire, incastLoad, sizes.MeanBytes()};
    if (const double expected = ExpectedArrivals(o); expected > kMostFlows)
    {
        v->Fail("duration", "makes about " + std::to_string(std::llround(expected)) + " flows at this load; allowed: at most " +
                                std::to_string(kMostFlows));
        return;
    }
    if (const double expected = ExpectedPeriods(o); expected > kMostPeriods)
    {
        const double least = (static_cast<double>(o.meanOn.ps) + static_cast<double>(o.meanOff.ps)) * expected / kMostPeriods;
        v->Fail("on-time", "hosts would go on and off about " + std::to_string(std::llround(expected)) + " times in this time; allowed: --on-time and --off-time of together at least " +
                               CanonicalDuration(static_cast<int64_t>(std::ceil(least / 1e3)) * 1000));
        return;
    }
    if (!FlowsFit(v, *s, network.topology, ExpectedArrivals(o)))
    {
        return;
    }
    const std::vector<Arrival> arrivals = MakeArrivals(o);
    s->flows.reserve(arrivals.size());
    for (size_t i = 0; i < arrivals.size(); ++i)
    {
        const Arrival& a = arrivals[i];
        Flow f;
        f.src = EndpointAt(network.topology, a.src, i);
        f.dst = EndpointAt(network.topology, a.dst, i);
        f.bytes = a.bytes;
        f.start = a.start;
        f.priority = static_cast<uint8_t>(values.Integer("priority"));
        f.dport = a.incast ? 200 : 100; // by which HPCC's analysis tells them apart
        f.tag = a.incast ? "incast" : s->pattern;
        s->flows.push_back(std::move(f));
    }
    if (s->flows.empty())
    {
        v->Fail("duration", "is too short: at this load no flow starts within");
    }
}

void
MakePatternFlows(Validation* v, const Network& network, TrafficScenario* s)
{
    const uint32_t hosts = static_cast<uint32_t>(network.topology.Hosts().size());
    auto& values = v->values;
    if (!values.Given("pattern"))
    {
        v->Decide("pattern", "permutation");
    }
    s->pattern = values.Text("pattern");
    const std::string other = "has no meaning with --pattern=" + s->pattern + "; it belongs to ";
    if (HasLoad(s->pattern))
    {
        v->MustNotBeGiven({"offset"}, other + "--pattern=permutation");
        v->MustNotBeGiven({"fan-in", "target"}, other + "--pattern=incast; see --incast-load");
        if (hosts < 2)
        {
            v->errors.push_back({"", "", "the network has " + std::to_string(hosts) + " host; a flow needs two", ""});
            return;
        }
        MakeLoadFlows(v, network, s);
        return;
    }
    v->MustNotBeGiven(kLoadOptions, other + "--pattern=poisson and on-off");
    v->MustNotBeGiven(kOnOffOptions, other + "--pattern=on-off");
    FlowSizes drawn;
    if (values.Given("sizes"))
    {
        v->MustNotBeGiven({"bytes"}, "has no meaning with --sizes");
        if (!ReadSizes(v, &drawn))
        {
            return;
        }
    }
    const std::vector<uint64_t> sizes = values.Given("sizes") ? std::vector<uint64_t>{1} : SizesInTurn(v);
    if (hosts < 2)
    {
        v->errors.push_back({"", "", "the network has " + std::to_string(hosts) + " host; a flow needs two", ""});
        return;
    }
    if (s->pattern != "permutation")
    {
        v->MustNotBeGiven({"offset"}, other + "--pattern=permutation");
    }
    if (s->pattern != "incast")
    {
        v->MustNotBeGiven({"fan-in", "target"}, other + "--pattern=incast");
    }
    if (!values.Given("priority"))
    {
        v->Decide("priority", "3");
    }
    if (!values.Given("start-jitter"))
    {
        v->Decide("start-jitter", "0ns");
    }
    const uint64_t seed = values.Integer("seed");

    std::vector<HostPair> pairs;
    if (s->pattern == "permutation")
    {
        if (!values.Given("offset"))
        {
            uint32_t offset = std::max(1u, hosts / 2);
            const uint64_t part = network.topology.About().partPorts; // hosts have one port each
            offset = part > 0 && part < hosts ? static_cast<uint32_t>(part) : offset;
            v->Decide("offset", std::to_string(offset));
        }
        const uint64_t offset = values.Integer("offset");
        if (offset % hosts == 0 || offset >= hosts)
        {
            v->Fail("offset", "allowed: 1 to " + std::to_string(hosts - 1) + ", for " + std::to_string(hosts) + " hosts");
            return;
        }
        pairs = Permutation(hosts, static_cast<uint32_t>(offset));
    }
    else if (s->pattern == "random-permutation")
    {
        pairs = RandomPermutation(hosts, seed);
    }
    else if (s->pattern == "incast")
    {
        if (!values.Given("fan-in"))
        {
            v->Decide("fan-in", std::to_string(std::min(16u, hosts - 1)));
        }
        if (!values.Given("target"))
        {
            v->Decide("target", "0");
        }
        const uint32_t fanIn = values.U32("fan-in");
        const uint32_t target = values.U32("target");
        if (fanIn >= hosts)
        {
            v->Fail("fan-in", "allowed: 1 to " + std::to_string(hosts - 1) + ", the other hosts of the network");
        }
        if (target >= hosts)
        {
            v->Fail("target", "allowed: 0 to " + std::to_string(hosts - 1));
        }
        if (fanIn >= hosts || target >= hosts)
        {
            return;
        }
        pairs = Incast(hosts, fanIn, target);
    }
    else
    {
        if (static_cast<uint64_t>(hosts) * (hosts - 1) > kMostFlows)
        {
            v->Fail("pattern", std::to_string(hosts) + " hosts make more than the " + std::to_string(kMostFlows) +
                                   " flows that can be simulated");
            return;
        }
        pairs = AllToAll(hosts);
    }
    if (sizes.empty())
    {
        return;
    }

    const auto starts = StartTimes(pairs.size(), values.Duration("start-jitter"), seed);
    Random random(seed, kSizeStream);
    s->flows.reserve(pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i)
    {
        Flow f;
        f.src = EndpointAt(network.topology, pairs[i].first, i);
        f.dst = EndpointAt(network.topology, pairs[i].second, i);
        f.bytes = values.Given("sizes") ? drawn.Draw(&random) : sizes[i % sizes.size()];
        f.start = starts[i];
        f.priority = static_cast<uint8_t>(values.Integer("priority"));
        f.tag = s->pattern;
        s->flows.push_back(std::move(f));
    }
}

/// Hosts of a CSV file: numbers from 0 in every network, or names.
void
ReadCsvFlows(Validation* v, const Network& network, const std::string& text, const std::string& file, TrafficScenario* s)
{
    const auto& topology = network.topology;
    const auto& hosts = topology.Hosts();
    // Name, and name with port, to the endpoint; the former, and numbers, stand for the host, whose ports take turns.
    std::unordered_map<std::string, uint32_t> hostOf;
    std::unordered_map<std::string, topo::EndpointId> endpointOf;
    const uint32_t byPort = static_cast<uint32_t>(hosts.size()); // added to an endpoint
    for (uint32_t h = 0; h < hosts.size(); ++h)
    {
        const topo::Node& node = topology.Nodes()[hosts[h]];
        hostOf.emplace(std::to_string(h), h);
        hostOf[node.name] = h;
        for (uint32_t p = 0; p < node.ports.size(); ++p)
        {
            endpointOf.emplace(node.name + ":" + std::to_string(p), topology.EndpointOf(h, static_cast<topo::PortId>(p)));
        }
    }
    const CsvFlows read = ReadFlowCsv(text, file, [&](const std::string& name, uint32_t* number, std::string* allowed) {
        if (const auto host = hostOf.find(name); host != hostOf.end())
        {
            *number = host->second;
            return true;
        }
        if (const auto endpoint = endpointOf.find(name); endpoint != endpointOf.end())
        {
            *number = byPort + endpoint->second;
            return true;
        }
        *allowed = "the network has hosts 0 to " + std::to_string(hosts.size() - 1) + ", " + topology.Nodes()[hosts.front()].name + " to " +
                   topology.Nodes()[hosts.back()].name;
        return false;
    });
    if (!read.error.empty())
    {
        v->errors.push_back({"", "", read.error, ""});
        return;
    }
    if (read.flows.size() > kMostFlows)
    {
        v->Fail("flows", "has " + std::to_string(read.flows.size()) + " flows; allowed: at most " + std::to_string(kMostFlows));
        return;
    }
    std::map<std::pair<uint32_t, uint32_t>, size_t> turns;
    s->flows.reserve(read.flows.size());
    for (const auto& c : read.flows)
    {
        const size_t turn = turns[{c.src, c.dst}]++;
        Flow f;
        f.src = c.src < byPort ? EndpointAt(topology, c.src, turn) : c.src - byPort;
        f.dst = c.dst < byPort ? EndpointAt(topology, c.dst, turn) : c.dst - byPort;
        if (topology.Endpoints()[f.src].host == topology.Endpoints()[f.dst].host)
        {
            v->errors.push_back({"", "", file + ": a flow from a host to itself: " + topology.Nodes()[topology.Endpoints()[f.src].host].name, ""});
            return;
        }
        f.bytes = c.bytes;
        f.start = c.start;
        f.priority = c.priority;
        f.tag = c.tag.empty() ? "flow-file" : c.tag;
        s->flows.push_back(std::move(f));
    }
}

void
ReadFlowFile(Validation* v, const Network& network, TrafficScenario* s)
{
    s->pattern = "flow file";
    std::vector<topo::Error> errors;
    const std::string& file = v->values.Text("flows");
    const auto text = topo::ReadWholeFile(file, errors);
    if (!text)
    {
        v->FailFile("flows", errors);
        return;
    }
    if (IsFlowCsv(*text))
    {
        ReadCsvFlows(v, network, *text, file, s);
        return;
    }
    const auto& topology = network.topology;
    const auto& hosts = topology.Hosts();

    // In a network whose file numbers its nodes, flows name them so; in any other, hosts from 0.
    std::vector<uint32_t> hostOfNode;
    const bool numbered = topology.About().numberedNodes;
    if (numbered)
    {
        hostOfNode.assign(topology.Nodes().size(), UINT32_MAX);
        for (uint32_t h = 0; h < hosts.size(); ++h)
        {
            hostOfNode[hosts[h]] = h;
        }
    }
    const auto notAHost = [&](uint64_t id) -> std::string {
        if (!numbered)
        {
            return id < hosts.size() ? "" : "the network has hosts 0 to " + std::to_string(hosts.size() - 1);
        }
        if (id >= hostOfNode.size())
        {
            return "the topology has nodes 0 to " + std::to_string(hostOfNode.size() - 1);
        }
        return hostOfNode[id] == UINT32_MAX ? "it is a switch" : "";
    };
    HpccFlows read = ReadHpccFlows(*text, file, notAHost);
    if (!read.error.empty())
    {
        v->errors.push_back({"", "", read.error, ""});
        return;
    }
    std::map<std::pair<uint32_t, uint32_t>, size_t> turns; // flows of the same pair take turns on the ports
    s->flows.reserve(read.flows.size());
    for (const auto& h : read.flows)
    {
        const uint32_t src = numbered ? hostOfNode[h.src] : h.src;
        const uint32_t dst = numbered ? hostOfNode[h.dst] : h.dst;
        const size_t turn = turns[{src, dst}]++;
        Flow f;
        f.src = EndpointAt(topology, src, turn);
        f.dst = EndpointAt(topology, dst, turn);
        f.bytes = h.bytes;
        f.start = h.start;
        f.priority = h.priority;
        f.dport = h.dport;
        f.tag = "flow-file";
        s->flows.push_back(std::move(f));
    }
}

/// What does not depend on the network.
void
ReadMeasuring(Validation* v, TrafficScenario* s)
{
    auto& values = v->values;
    const bool load = !values.Given("flows") && HasLoad(values.Given("pattern") ? values.Text("pattern") : "");
    const auto decide = [&](const char* name, const std::string& text) {
        if (!values.Given(name))
        {
            v->Decide(name, text);
        }
    };
    decide("queue-pairs", load ? "reused" : "per-flow");
    const bool looks = load && HasPackets(s->fabric);
    decide("queue-interval", looks ? "1us" : "0ns");
    decide("rate-interval", looks ? "100us" : "0ns");
    decide("size-bins", "100kB,10MB"); // Alizadeh et al., "pFabric", SIGCOMM 2013
    const std::string& use = values.Text("queue-pairs");
    s->queuePairs = use == "reused" ? QueuePairUse::kReused : use == "per-pair" ? QueuePairUse::kPerPair : QueuePairUse::kPerFlow;
    Measuring& m = s->measuring;
    m.from = values.Duration("warm-up");
    m.until = values.Given("duration") ? m.from + values.Duration("duration") : rdma::Duration();
    m.queueInterval = values.Duration("queue-interval");
    m.rateInterval = values.Duration("rate-interval");
    m.sizeGroups = values.U32("size-groups");
    for (const char* name : {"queue-interval", "rate-interval"})
    {
        if (values.Duration(name).ps > 0 && values.Duration(name).ps < 10000)
        {
            v->Fail(name, "is too short; allowed: 0, or 10ns and more");
        }
    }
    std::vector<std::string> canonical;
    for (const auto& word : values.List("size-bins"))
    {
        const auto bytes = rdma::ParseBytes(word);
        if (!bytes || bytes->value == 0 || (!m.sizeBins.empty() && bytes->value <= m.sizeBins.back()))
        {
            v->errors.push_back({values.Where("size-bins"), word,
                                 std::string("allowed: ") + rdma::kBytesHelp + ", from 1, each larger than the one before", ""});
            return;
        }
        m.sizeBins.push_back(bytes->value);
        canonical.push_back(CanonicalBytes(bytes->value));
    }
    v->Decide("size-bins", Join(canonical, ","));
}

/// A run that ends before the first measured flow starts would measure nothing.
void
CheckStop(Validation* v, const TrafficScenario& s)
{
    int64_t first = INT64_MAX;
    for (const Flow& flow : s.flows)
    {
        first = s.measuring.Covers(flow.start) ? std::min(first, flow.start.ps) : first;
    }
    if (first < s.stopAfter.ps)
    {
        return;
    }
    const bool within = s.stopAfter.ps <= s.measuring.from.ps;
    v->Fail("stop-after",
            within ? "ends the run within --warm-up=" + CanonicalDuration(s.measuring.from.ps) +
                         ", so nothing would be measured; allowed: 0 (when all flows are done), or later"
                   : "ends the run before the first measured flow starts; allowed: 0 (when all flows are done), or more than " +
                         CanonicalDuration(first));
}

} // namespace

const OptionTable&
TrafficOptionTable()
{
    static const OptionTable table = MakeTable();
    return table;
}

ParseResult<TrafficScenario>
ValidateTraffic(const ReadResult& read)
{
    Validation v{TrafficOptionTable(), read.values, {}, {}};
    TrafficScenario s;
    s.fabric = MakeFabric(&v);
    s.stopAfter = v.values.Duration("stop-after");
    s.completionAtSender = v.values.Text("completion") == "sender";
    ReadMeasuring(&v, &s);
    const std::string& operation = v.values.Text("operation");
    s.operation = operation == "read"   ? FlowOperation::kRead
                  : operation == "send" ? FlowOperation::kSend
                                        : FlowOperation::kWrite;
    if (s.completionAtSender && v.values.Given("attribution") && v.values.Flag("attribution"))
    {
        v.Fail("attribution", "takes a flow apart up to its last byte at the receiver; allowed with --completion=sender: 0");
    }
    if (s.completionAtSender && s.operation == FlowOperation::kRead)
    {
        v.Fail("completion", "has no meaning with --operation=read: nobody acknowledges the bytes; allowed: receiver");
    }

    uint32_t hosts = v.values.Given("hosts") ? v.values.U32("hosts") : 0;
    std::vector<std::string> chosen; // as if they had been given
    if (const topo::Family* family = FamilyNamed(v.values.Text("topology")); family && !v.values.Given("hosts"))
    {
        for (const topo::Parameter& p : family->parameters)
        {
            if (!p.usual.empty() && !v.values.Given(p.name))
            {
                v.Decide(p.name, p.usual);
                v.values.Slot(p.name).given = true;
                chosen.push_back(p.name);
            }
        }
        const auto& by = family->sizedBy;
        const bool sized = !by.empty() && std::all_of(by.begin(), by.end(), [&](const std::string& name) { return v.values.Given(name); });
        hosts = sized ? 0 : kDefaultHosts;
    }
    const Network network = MakeNetwork(&v, hosts, 1, "hosts", &s.fabric);
    for (const std::string& name : chosen)
    {
        v.values.Slot(name).given = false;
    }
    if (network.valid)
    {
        if (!network.fromFile)
        {
            v.Decide("hosts", std::to_string(network.topology.Hosts().size()));
        }
        if (v.values.Given("flows"))
        {
            const size_t before = v.errors.size();
            v.MustNotBeGiven({"pattern", "offset", "fan-in", "target", "bytes", "sizes", "start-jitter", "priority"},
                             "has no meaning with --flows; the file says it");
            v.MustNotBeGiven(kLoadOptions, "has no meaning with --flows; it belongs to --pattern=poisson and on-off");
            v.MustNotBeGiven(kOnOffOptions, "has no meaning with --flows; it belongs to --pattern=on-off");
            if (v.errors.size() == before)
            {
                ReadFlowFile(&v, network, &s);
            }
        }
        else
        {
            MakePatternFlows(&v, network, &s);
        }
    }
    if (s.queuePairs == QueuePairUse::kPerPair && s.operation == FlowOperation::kRead)
    {
        v.Fail("queue-pairs", "has no meaning with --operation=read; allowed: per-flow, reused");
    }
    if (!s.flows.empty() && std::none_of(s.flows.begin(), s.flows.end(), [&](const Flow& f) { return s.measuring.Covers(f.start); }))
    {
        v.Fail(s.measuring.from.ps ? "warm-up" : "duration", "no flow starts in the time that is measured");
    }
    else if (s.stopAfter.ps > 0 && !s.flows.empty())
    {
        CheckStop(&v, s);
    }
    for (const Flow& flow : s.flows)
    {
        if (s.operation == FlowOperation::kSend && flow.bytes > 1ULL << 31)
        {
            v.Fail("operation", "a flow of " + std::to_string(flow.bytes) + " B is no SEND; allowed: at most 2^31 B, or write, read");
            break;
        }
    }
    if (s.fabric.timeUnit.ps > 1)
    {
        for (Flow& flow : s.flows) // nothing happens between the units of such a model
        {
            flow.start.ps -= flow.start.ps % s.fabric.timeUnit.ps;
        }
    }
    s.run = MakeRun(&v, read, network.valid ? &network.topology : nullptr);
    s.run.asRun = AsRun(v, s.run, network.fromFile);
    if (s.completionAtSender || FindLauncher().Several())
    {
        s.run.asRun["run"]["attribution"] = false; // so that it can be given to --scenario
    }
    s.topologyName = network.name;
    s.topology = network.topology;
    return Finished(std::move(v), std::move(s));
}

ParseResult<TrafficScenario>
ParseTraffic(int argc, const char* const* argv)
{
    return ParseProgram<TrafficScenario>(TrafficOptionTable(), argc, argv, ValidateTraffic);
}

TrafficScenario
ParseTrafficOrExit(int argc, const char* const* argv)
{
    return OrExit(TrafficOptionTable(), ParseTraffic(argc, argv));
}

} // namespace scenario
