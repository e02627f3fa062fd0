/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * traffic: flows over a network, without training.
 */
#include "contrib/rdma/core/connection-numbers.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/foreign-names.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/ets-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/network/protocol-options.h"
#include "scenarios/network/traffic-flows.h"
#include "scenarios/network/validate.h"
#include "scenarios/traffic/flow-sizes.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace scenario
{

namespace
{

constexpr uint32_t kDefaultHosts = 16; ///< for networks that have no size of their own

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
        section
            .File("flows",
                  "flows from a file instead of a pattern: HPCC's flow format, an htsim connection "
                  "matrix, or CSV (start_ns, start_us or start_s; src, dst, bytes)")
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
                     "one whose flow has been done for 2 ms, reset, else a new one: every flow "
                     "starts afresh and memory is bounded"},
                    {"per-pair",
                     "one for each source and destination: flows wait for each other and inherit "
                     "its rate"}})
            .Otherwise("reused for --pattern=poisson and on-off, else per-flow")
            .Example("per-pair"),
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

/// Reads the options that do not depend on the network.
void
ReadMeasuring(Validation* v, TrafficScenario* s)
{
    auto& values = v->values;
    const bool load =
        !values.Given(&asked::Traffic::flows) &&
        HasLoad(values.Given(&asked::Traffic::pattern) ? values.Get(&asked::Traffic::pattern) : "");
    v->DecideUnlessGiven(&asked::Traffic::queuePairs, load ? "reused" : "per-flow");
    const bool looks = load && HasPackets(s->fabric);
    v->DecideTextUnlessGiven(&asked::Traffic::queueInterval, looks ? "1us" : "0ns");
    const std::string& protocol = values.Get(&asked::Traffic::protocol);
    const bool ordinary = protocol != "rdma";
    v->DecideTextUnlessGiven(&asked::Traffic::rateInterval, looks && !ordinary ? "100us" : "0ns");
    if (ordinary && values.Get(&asked::Traffic::rateInterval).ps > 0)
    {
        v->Fail(&asked::Traffic::rateInterval,
                "looks at queue pairs; allowed with --protocol=" + protocol + ": 0");
    }
    v->DecideTextUnlessGiven(&asked::Traffic::sizeBins,
                             "100kB,10MB"); // Alizadeh et al., "pFabric", SIGCOMM 2013
    const std::string& use = values.Get(&asked::Traffic::queuePairs);
    s->queuePairs = use == "reused"     ? QueuePairUse::kReused
                    : use == "per-pair" ? QueuePairUse::kPerPair
                                        : QueuePairUse::kPerFlow;
    Measuring& m = s->measuring;
    v->Fill(&m);
    m.until = values.Given(&asked::Traffic::duration)
                  ? m.from + values.Get(&asked::Traffic::duration)
                  : rdma::Duration();
    for (const auto name : {&asked::Traffic::queueInterval, &asked::Traffic::rateInterval})
    {
        if (values.Get(name).ps > 0 && values.Get(name).ps < 10000)
        {
            v->Fail(name, "is too short; allowed: 0, or 10ns and more");
        }
    }
    std::vector<std::string> canonical;
    for (const auto& word : values.Get(&asked::Traffic::sizeBins))
    {
        const auto bytes = rdma::ParseBytes(word);
        if (!bytes || bytes->value == 0 ||
            (!m.sizeBins.empty() && bytes->value <= m.sizeBins.back()))
        {
            v->errors.push_back({values.Where(&asked::Traffic::sizeBins),
                                 word,
                                 std::string("allowed: ") + rdma::kBytesHelp +
                                     ", from 1, each larger than the one before",
                                 ""});
            return;
        }
        m.sizeBins.push_back(bytes->value);
        canonical.push_back(CanonicalBytes(bytes->value));
    }
    v->Decide(&asked::Traffic::sizeBins, canonical);
}

/// Numbers of queue pairs have 24 bits (rdma::ConnectionNumbers): with one a flow they can run out.
void
CheckNumbers(Validation* v, const TrafficScenario& s, const topo::Topology& topology)
{
    const auto nics = static_cast<uint32_t>(topology.Endpoints().size());
    const uint32_t most = rdma::ConnectionNumbers(nics).MostSlots();
    std::unordered_map<uint64_t, uint32_t> flowsOf;
    if (s.flows.size() <= most)
    {
        return;
    }
    for (const Flow& flow : s.flows)
    {
        if (++flowsOf[static_cast<uint64_t>(flow.src) << 32 | flow.dst] > most)
        {
            v->Fail(&asked::Traffic::queuePairs,
                    "more than " + std::to_string(most) + " flows from NIC " +
                        std::to_string(flow.src) + " to " + std::to_string(flow.dst) +
                        ", each with a queue pair of its own: their numbers have 24 bits, for " +
                        std::to_string(nics) + " NICs; allowed: per-pair");
            return;
        }
    }
}

/// \return when the first measured flow starts, ps; nothing: there is none
std::optional<int64_t>
FirstMeasured(const TrafficScenario& s)
{
    const auto first = std::find_if(s.flows.begin(), s.flows.end(), [&s](const Flow& flow) {
        return s.measuring.Covers(flow.start);
    });
    return first == s.flows.end() ? std::nullopt : std::optional(first->start.ps);
}

/// \return whether two flows of one sender have different priorities
bool
SharesNics(const TrafficScenario& s)
{
    std::unordered_map<uint32_t, uint8_t> priorityOf;
    return std::any_of(s.flows.begin(), s.flows.end(), [&priorityOf](const Flow& flow) {
        return priorityOf.emplace(flow.src, flow.priority).first->second != flow.priority;
    });
}

/// A run that ends before the first measured flow starts would measure nothing.
void
CheckStop(Validation* v, const TrafficScenario& s, int64_t first)
{
    if (first < s.stopAfter.ps)
    {
        return;
    }
    const bool within = s.stopAfter.ps <= s.measuring.from.ps;
    v->Fail(
        &asked::Traffic::stopAfter,
        within
            ? "ends the run within --warm-up=" + CanonicalDuration(s.measuring.from.ps) +
                  ", so nothing would be measured; allowed: 0 (when all flows are done), or later"
            : "ends the run before the first measured flow starts; allowed: 0 (when all flows are "
              "done), or more than " +
                  CanonicalDuration(first));
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

ParseResult<TrafficScenario>
ValidateTraffic(const ReadResult& read)
{
    Validation v{TrafficOptionTable(), read.values, {}, {}};
    TrafficScenario s;
    s.fabric = MakeFabric(&v);
    v.Fill(&s);
    s.completionAtSender = v.values.Get(&asked::Traffic::completion) == "sender";
    const ProtocolSpec protocol = ApplyProtocol(&v, s.fabric);
    ReadMeasuring(&v, &s);
    const std::string& operation = v.values.Get(&asked::Traffic::operation);
    s.operation = operation == "read"   ? FlowOperation::kRead
                  : operation == "send" ? FlowOperation::kSend
                                        : FlowOperation::kWrite;
    if (s.completionAtSender && !v.values.Get(&asked::Run::tracePaths).empty())
    {
        v.Fail(&asked::Run::tracePaths,
               "follows a flow to its last byte at the receiver; allowed: without "
               "--completion=sender");
    }
    if (s.operation == FlowOperation::kRead && !v.values.Get(&asked::Run::tracePaths).empty())
    {
        v.Fail(
            &asked::Run::tracePaths,
            "follows what a flow's sender posts, and the answers to a READ are posted by nobody; "
            "allowed: with --operation=write or send");
    }
    if (s.completionAtSender && v.values.Given(&asked::Run::attribution) &&
        v.values.Get(&asked::Run::attribution))
    {
        v.Fail(&asked::Run::attribution,
               "takes a flow apart up to its last byte at the receiver; allowed with "
               "--completion=sender: 0");
    }
    if (s.completionAtSender && s.operation == FlowOperation::kRead)
    {
        v.Fail(&asked::Traffic::completion,
               "has no meaning with --operation=read: nobody acknowledges the bytes; allowed: "
               "receiver");
    }

    uint32_t hosts =
        v.values.Given(&asked::Traffic::hosts) ? v.values.Get(&asked::Traffic::hosts) : 0;
    std::vector<std::string> chosen; // as if they had been given
    if (const topo::Family* family =
            topo::FamilyOfParameters(v.values.Get(&asked::Network::topology));
        family && !v.values.Given(&asked::Traffic::hosts))
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
        const bool sized =
            !by.empty() && std::all_of(by.begin(), by.end(), [&](const std::string& name) {
                return v.values.Given(name);
            });
        hosts = sized ? 0 : kDefaultHosts;
    }
    const Network network = MakeNetwork(&v, hosts, 1, &asked::Traffic::hosts, &s.fabric);
    for (const std::string& name : chosen)
    {
        v.values.Slot(name).given = false;
    }
    if (network.valid)
    {
        const std::size_t made = network.topology.Hosts().size();
        if (network.fromFile && v.values.Given(&asked::Traffic::hosts) && hosts != made)
        {
            v.Fail(&asked::Traffic::hosts,
                   "the file has " + topo::Counted(made, "host") +
                       ", and all of them are in the network; allowed: " + std::to_string(made) +
                       ", or without --hosts");
        }
        if (!network.fromFile && made > 1) // the error for a single host comes below
        {
            v.Decide(&asked::Traffic::hosts, made);
        }
        if (v.values.Given(&asked::Traffic::flows))
        {
            ReadFlowFile(&v, network, &s);
        }
        else
        {
            MakePatternFlows(&v, network, &s);
        }
    }
    if (s.queuePairs == QueuePairUse::kPerPair && protocol.IsUdp())
    {
        v.Fail(&asked::Traffic::queuePairs,
               "tells flows by the order in which they come, and UDP loses some; allowed with "
               "--protocol=udp: per-flow, reused");
    }
    CheckConnections(&v, s, protocol);
    if (s.completionAtSender && protocol.IsUdp())
    {
        v.Fail(&asked::Traffic::completion,
               "has no meaning with --protocol=udp, whose senders hear of nothing; allowed: "
               "receiver");
    }
    if (s.queuePairs == QueuePairUse::kPerPair && s.operation == FlowOperation::kRead)
    {
        v.Fail(&asked::Traffic::queuePairs,
               "has no meaning with --operation=read; allowed: per-flow, reused");
    }
    const std::optional<int64_t> first = FirstMeasured(s);
    if (!s.flows.empty() && !first)
    {
        v.Fail(s.measuring.from.ps ? "warm-up" : "duration",
               "no flow starts in the time that is measured");
    }
    else if (s.stopAfter.ps > 0 && first)
    {
        CheckStop(&v, s, *first);
    }
    v.Settle(when::SeveralPriorities(),
             std::any_of(s.flows.begin(), s.flows.end(), [&s](const Flow& flow) {
                 return flow.priority != s.flows.front().priority;
             }));
    if (s.fabric.ets.given && !protocol.IsOrdinary() && SharesNics(s))
    {
        NoteEtsInNics(&v, "two flows of different priorities start");
    }
    for (const Flow& flow : s.flows)
    {
        if (s.operation == FlowOperation::kSend && flow.bytes > 1ULL << 31)
        {
            v.Fail(&asked::Traffic::operation,
                   "a flow of " + std::to_string(flow.bytes) +
                       " B is no SEND; allowed: at most 2^31 B, or write, read");
            break;
        }
    }
    if (network.valid && s.queuePairs != QueuePairUse::kPerPair && !protocol.IsOrdinary())
    {
        CheckNumbers(&v, s, network.topology);
    }
    if (s.fabric.timeUnit.ps > 1)
    {
        for (Flow& flow : s.flows) // nothing happens between the units of such a model
        {
            flow.start.ps -= flow.start.ps % s.fabric.timeUnit.ps;
        }
    }
    s.measuring.begin = s.measuring.from;
    if (const auto begin = FirstMeasured(s); begin && s.offered.load == 0)
    {
        s.measuring.begin = rdma::Duration(*begin);
    }
    s.run = MakeRun(&v, read, network.valid ? &network.topology : nullptr);
    s.run.protocol = protocol;
    SettleThreads(&v, protocol, &s.run);
    s.run.asRun = AsRun(v, s.run, network.fromFile);
    if (s.completionAtSender)
    {
        s.run.asRun["run"]["attribution"] = false; // so that it can be given to --scenario
    }
    s.topologyName = network.name;
    s.topology = network.topology;
    return Finished(std::move(v), std::move(s));
}

} // namespace scenario
