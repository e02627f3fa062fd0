/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * traffic: flows over a network, without training.
 */
#include "scenarios/spec/common-options.h"
#include "scenarios/spec/parse-detail.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/validate.h"
#include "scenarios/traffic/hpcc-flows.h"
#include "scenarios/traffic/patterns.h"
#include "topologies/family.h"

#include <algorithm>
#include <map>

namespace scenario
{

namespace
{

constexpr uint32_t kDefaultK = 8;
constexpr uint32_t kDefaultHosts = 16; ///< of networks that have no size of their own
constexpr uint64_t kMostFlows = 20000000;

const std::vector<NamedItem>&
Patterns()
{
    static const std::vector<NamedItem> patterns = {
        {"permutation", "host i to host (i + offset) mod n"},
        {"random-permutation", "every host to another one, a shuffle by --seed"},
        {"incast", "--fan-in hosts to the one --target"},
        {"all-to-all", "every host to every other one"},
    };
    return patterns;
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
            .Otherwise("one pod of a fat-tree, else half of the hosts")
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
        Opt("start-jitter", Kind::kDuration, json, group, "flows start at random within this time").Otherwise("0, all at once").Range(0, 1e15).Example("10us"),
        Opt("priority", Kind::kInteger, json, group, "of every flow").Otherwise("3").Range(0, 7).Example("5"),
        Opt("flows", Kind::kFile, json, group,
            "instead of a pattern: a flow file of HPCC's ns-3 code (count; then src dst pg dport bytes start_s)"),
        Opt("operation", Kind::kName, json, group, "the verb that moves a flow's bytes")
            .Names("operation", {{"write", "RDMA WRITE"}, {"send", "SEND; of at most 2 GiB"}, {"read", "RDMA READ, posted by who gets the bytes; its time begins with that"}})
            .Default("write")
            .Example("read"),
        Opt("completion", Kind::kName, json, group, "when a flow is complete, for its completion time and slowdown")
            .Names("completion", {{"receiver", "its last byte is at the receiver"}, {"sender", "its last ACK is at the sender, as HPCC's code has it"}})
            .Default("receiver")
            .Example("sender"),
        Opt("hosts", Kind::kInteger, json, group, "hosts of the network").Otherwise("all of a fat-tree or a file, else 16").Range(2, 1048576).Example("8"),
        Opt("stop-after", Kind::kDuration, json, group, "end the run at this simulated time; 0: when all flows are done")
            .Default("0ns")
            .Range(0, 9.2e18)
            .Example("5ms"),
    });
    t.Add(NetworkOptionRows("fat-tree", "8, or the smallest that fits --hosts"));
    t.Add(FabricOptionRows());
    t.Add(RunOptionRows("traffic"));
    t.lists = FabricLists();
    t.lists.push_back({"patterns", "Patterns (--pattern)", [] { return Patterns(); }});
    t.Finish();
    t.examples = {
        "traffic --topology=fat-tree --k=8 --pattern=permutation --offset=16 --bytes=40MB",
        "traffic --pattern=incast --topology=single-switch --hosts=65 --fan-in=64 --bytes=1MB",
        "traffic --topology=fat.txt --flows=flow.txt --cc=none --pfc=0",
        "traffic --compat=hpcc --topology=fat.txt --flows=flow.txt --completion=sender",
        "traffic --scenario=scenarios/presets/incast-64.json --dry-run",
    };
    return t;
}

/// Sizes of --bytes.
std::vector<uint64_t>
FlowSizes(Validation* v)
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

/// Endpoint of a flow at a host: its ports take turns.
topo::EndpointId
EndpointAt(const topo::Topology& topology, uint32_t host, size_t turn)
{
    const size_t ports = topology.Nodes()[topology.Hosts()[host]].ports.size();
    return topology.EndpointOf(host, static_cast<topo::PortId>(turn % ports));
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
    const std::vector<uint64_t> sizes = FlowSizes(v);
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
            if (!network.fromFile && values.Text("topology") == "fat-tree")
            {
                const uint32_t pod = values.U32("k") * values.U32("k") / 4;
                offset = pod < hosts ? pod : offset;
            }
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
    s->flows.reserve(pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i)
    {
        Flow f;
        f.src = EndpointAt(network.topology, pairs[i].first, i);
        f.dst = EndpointAt(network.topology, pairs[i].second, i);
        f.bytes = sizes[i % sizes.size()];
        f.start = starts[i];
        f.priority = static_cast<uint8_t>(values.Integer("priority"));
        f.tag = s->pattern;
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
        v->Fail("flows", errors.empty() ? "cannot be read" : errors[0].message);
        return;
    }
    const auto& topology = network.topology;
    const auto& hosts = topology.Hosts();

    // In a network from an HPCC file, flows name nodes as it does; in any other, hosts from 0.
    std::vector<uint32_t> hostOfNode;
    if (network.hpccFile)
    {
        hostOfNode.assign(topology.Nodes().size(), UINT32_MAX);
        for (uint32_t h = 0; h < hosts.size(); ++h)
        {
            hostOfNode[hosts[h]] = h;
        }
    }
    const auto notAHost = [&](uint64_t id) -> std::string {
        if (!network.hpccFile)
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
        const uint32_t src = network.hpccFile ? hostOfNode[h.src] : h.src;
        const uint32_t dst = network.hpccFile ? hostOfNode[h.dst] : h.dst;
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
    const std::string& operation = v.values.Text("operation");
    s.operation = operation == "read"   ? FlowOperation::kRead
                  : operation == "send" ? FlowOperation::kSend
                                        : FlowOperation::kWrite;
    if (s.completionAtSender && s.operation == FlowOperation::kRead)
    {
        v.Fail("completion", "has no meaning with --operation=read: nobody acknowledges the bytes; allowed: receiver");
    }

    const std::string topology = v.values.Text("topology");
    const bool family = !MatchName(topology, TopologyItems()).empty();
    uint32_t hosts = v.values.Given("hosts") ? v.values.U32("hosts") : 0;
    bool choseK = false;
    if (!v.values.Given("hosts") && family)
    {
        if (topology == "fat-tree" && !v.values.Given("k"))
        {
            v.Decide("k", std::to_string(kDefaultK));
            v.values.Slot("k").given = choseK = true;
        }
        else if (topology == "single-switch" || (topology == "torus" && !v.values.Given("torus")) ||
                 (topology == "leaf-spine" && !(v.values.Given("leaves") && v.values.Given("hosts-per-leaf"))))
        {
            hosts = kDefaultHosts;
        }
    }
    const Network network = MakeNetwork(&v, hosts, 1, "hosts", &s.fabric);
    if (choseK)
    {
        v.values.Slot("k").given = false;
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
            v.MustNotBeGiven({"pattern", "offset", "fan-in", "target", "bytes", "start-jitter", "priority"},
                             "has no meaning with --flows; the file says it");
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
