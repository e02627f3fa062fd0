/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows of --pattern.
 */
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/host-memory.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/network/traffic-flows.h"
#include "scenarios/traffic/arrivals.h"
#include "scenarios/traffic/flow-sizes.h"
#include "scenarios/traffic/patterns.h"
#include "scenarios/traffic/random.h"
#include "topologies/family.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace scenario
{

namespace
{

constexpr double kMostPeriods = 1e8; ///< on and off, of all hosts: some seconds of work

/// Sizes of --bytes.
std::vector<uint64_t>
SizesInTurn(Validation* v)
{
    std::vector<uint64_t> sizes;
    std::vector<std::string> canonical;
    v->DecideTextUnlessGiven(&asked::Traffic::bytes, "40MB");
    for (const auto& word : v->values.Get(&asked::Traffic::bytes))
    {
        const auto bytes = rdma::ParseBytes(word);
        if (!bytes || bytes->value == 0 || bytes->value > 1000000000000000ULL)
        {
            v->errors.push_back(
                {v->values.Where(&asked::Traffic::bytes),
                 word,
                 std::string("allowed: ") + rdma::kBytesHelp + ", from 1 to 10^15 bytes",
                 ""});
            return {};
        }
        sizes.push_back(bytes->value);
        canonical.push_back(CanonicalBytes(bytes->value));
    }
    if (sizes.empty())
    {
        v->Fail(&asked::Traffic::bytes, std::string("needs a value: ") + rdma::kBytesHelp);
        return {};
    }
    v->Decide(&asked::Traffic::bytes, canonical);
    return sizes;
}

/// The distribution of --sizes.
bool
ReadSizes(Validation* v, FlowSizes* sizes)
{
    const std::string& given = v->values.Get(&asked::Traffic::sizes);
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
            v->FailFile(&asked::Traffic::sizes, errors);
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
    if (!sizes->GetNote().empty())
    {
        v->notes.push_back(sizes->GetNote());
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

/// Making millions of flows takes seconds, so the memory that their run is sure to need is compared
/// before: what EstimateRun says of their messages, and the list itself. \param flows expected
bool
FlowsFit(Validation* v, const TrafficScenario& s, const topo::Topology& topology, double flows)
{
    if (v->values.Get(&asked::Run::dryRun) || v->values.Get(&asked::Run::ignoreHostMemory) ||
        !FindLauncher().IsFirst())
    {
        return true; // as ParseProgram, which looks once more when the flows are there
    }
    MemoryNeeds needs;
    needs.links = static_cast<double>(topology.Links().size());
    needs.messages = flows;
    needs.infiniBand = s.fabric.infiniBand;
    if (s.queuePairs != QueuePairUse::kPerPair)
    {
        // A queue pair rests for 2 ms (EstimateRun, with the time under way, takes up to 4): flows
        // that start within need one each.
        const double made =
            static_cast<double>(s.measuring.until.ps + v->values.Get(&asked::Traffic::coolDown).ps);
        const double kept =
            s.queuePairs == QueuePairUse::kPerFlow ? 1 : std::min(1.0, 2e9 / std::max(1.0, made));
        needs.connections = flows * kept;
        needs.bytesPerConnection =
            ConnectionBytes(s.fabric, v->values.Get(&asked::Run::attribution));
    }
    MemoryEstimate memory = EstimateMemory(needs);
    memory.messages += flows * static_cast<double>(sizeof(Flow) + sizeof(Arrival));
    const std::string why = WhyTooLarge(memory, AvailableHostMemory());
    if (!why.empty())
    {
        v->errors.push_back(
            {"", "", "about " + std::to_string(std::llround(flows)) + " flows: " + why, ""});
    }
    return why.empty();
}

/// \param load of the hosts' links out, headers included
void
NoteOverload(Validation* v, double load)
{
    if (load > 1)
    {
        v->notes.push_back(
            "warning: with headers flows come at " + std::to_string(std::llround(100 * load)) +
            "% of the rate of the hosts' links: what waits grows until --duration ends, and "
            "completion times with it");
    }
}

/// What --flow-class says.
ChannelClass
ClassOfFlows(Validation* v, TrafficScenario* s)
{
    if (!v->values.Given(&asked::Traffic::flowClass) || !v->errors.empty()) // --class may be wrong
    {
        return {};
    }
    ClassWish wish;
    wish.name = v->values.Get(&asked::Traffic::flowClass);
    ClassProblem problem;
    const auto found = FindTrafficClass(&s->fabric, wish, &problem);
    if (!found)
    {
        v->Fail(&asked::Traffic::flowClass, problem.problem, problem.nearest);
    }
    return found.value_or(ChannelClass());
}

/// Flows of --pattern=poisson and on-off.
void
MakeLoadFlows(Validation* v, const Network& network, TrafficScenario* s)
{
    auto& values = v->values;
    const size_t before = v->errors.size();
    v->DecideUnlessGiven(&asked::Traffic::sizes, "websearch");
    v->DecideTextUnlessGiven(&asked::Traffic::load, "0.5");
    v->DecideUnlessGiven(&asked::Traffic::loadOf, "payload");
    v->DecideTextUnlessGiven(&asked::Traffic::duration, "10ms");
    v->DecideTextUnlessGiven(&asked::Traffic::coolDown, "0ns");
    v->DecideTextUnlessGiven(&asked::Traffic::incastLoad, "0");
    const ChannelClass of = ClassOfFlows(v, s);
    v->DecideUnlessGiven(&asked::Traffic::priority, of.priority.value_or(UsualPriority(*v)));

    ArrivalOptions o;
    o.hostRates = HostRates(network.topology);
    const uint32_t hosts = static_cast<uint32_t>(o.hostRates.size());
    if (s->pattern == "on-off")
    {
        v->DecideTextUnlessGiven(&asked::Traffic::onTime, "100us");
        v->DecideTextUnlessGiven(&asked::Traffic::offTime, "100us");
        v->DecideUnlessGiven(&asked::Traffic::onOffTimes, "exponential");
        o.meanOn = values.Get(&asked::Traffic::onTime);
        o.meanOff = values.Get(&asked::Traffic::offTime);
        const std::string& kind = values.Get(&asked::Traffic::onOffTimes);
        o.periods = kind == "constant" ? PeriodKind::kConstant
                    : kind == "pareto" ? PeriodKind::kPareto
                                       : PeriodKind::kExponential;
    }
    const double incastLoad = values.Get(&asked::Traffic::incastLoad);
    if (incastLoad > 0)
    {
        v->DecideUnlessGiven(&asked::Traffic::incastFanIn, std::min(60u, hosts - 1));
        v->DecideTextUnlessGiven(&asked::Traffic::incastBytes, "500kB");
        v->DecideUnlessGiven(&asked::Traffic::incastArrivals, "periodic");
        o.incastFanIn = values.Get(&asked::Traffic::incastFanIn);
        o.incastBytes = values.Get(&asked::Traffic::incastBytes).value;
        o.incastPeriodic = values.Get(&asked::Traffic::incastArrivals) == "periodic";
        if (o.incastFanIn >= hosts)
        {
            v->Fail(&asked::Traffic::incastFanIn,
                    "allowed: 1 to " + std::to_string(hosts - 1) +
                        ", the other hosts of the network");
        }
    }
    else
    {
        v->Settle(&asked::Traffic::incastLoad);
    }
    FlowSizes sizes;
    if (!ReadSizes(v, &sizes) || v->errors.size() != before)
    {
        return;
    }

    const uint32_t mtu = s->fabric.mtu;
    const rdma::FrameSizes& frames = s->fabric.frames;
    const bool wire = values.Get(&asked::Traffic::loadOf) == "wire";
    const uint64_t header = frames.DataWire(rdma::RoceOpcode::kWriteMiddle, mtu) - mtu;
    o.seed = values.Get(&asked::Run::seed);
    o.sizes = &sizes;
    o.load = std::max<uint64_t>(1, Billionths(values.Get(&asked::Traffic::load)));
    o.incastLoad = incastLoad > 0 ? std::max<uint64_t>(1, Billionths(incastLoad)) : 0;
    // One RETH a flow; what pads a packet to four bytes is left out, 1.5 B a flow.
    const uint64_t headers1024 =
        sizes.MeanPackets1024(mtu) * header + uint64_t{1024} * frames.rethBytes;
    const uint64_t incastHeaders = (o.incastBytes + mtu - 1) / mtu * header + frames.rethBytes;
    o.bytesPerFlow1024 = sizes.MeanBytes1024() + (wire ? headers1024 : 0);
    o.incastBytesPerFlow1024 = 1024 * (o.incastBytes + (wire ? incastHeaders : 0));
    s->measuring.until = s->measuring.from + values.Get(&asked::Traffic::duration);
    o.until = s->measuring.until + values.Get(&asked::Traffic::coolDown);
    s->offered = {values.Get(&asked::Traffic::load), wire, incastLoad, sizes.MeanBytes()};
    const auto withHeaders = [](double load, uint64_t bytes, uint64_t headers, uint64_t loadBytes) {
        return load > 0
                   ? load * static_cast<double>(bytes + headers) / static_cast<double>(loadBytes)
                   : 0;
    };
    NoteOverload(v,
                 withHeaders(values.Get(&asked::Traffic::load),
                             sizes.MeanBytes1024(),
                             headers1024,
                             o.bytesPerFlow1024) +
                     withHeaders(incastLoad,
                                 1024 * o.incastBytes,
                                 1024 * incastHeaders,
                                 o.incastBytesPerFlow1024));
    if (const double expected = ExpectedArrivals(o); expected > kMostFlows)
    {
        v->Fail(&asked::Traffic::duration,
                "makes about " + std::to_string(std::llround(expected)) +
                    " flows at this load; allowed: at most " + std::to_string(kMostFlows));
        return;
    }
    if (const double expected = ExpectedPeriods(o); expected > kMostPeriods)
    {
        const double least =
            (static_cast<double>(o.meanOn.ps) + static_cast<double>(o.meanOff.ps)) * expected /
            kMostPeriods;
        v->Fail(&asked::Traffic::onTime,
                "hosts would go on and off about " + std::to_string(std::llround(expected)) +
                    " times in this time; allowed: --on-time and --off-time of together at least " +
                    CanonicalDuration(static_cast<int64_t>(std::ceil(least / 1e3)) * 1000));
        return;
    }
    if (!FlowsFit(v, *s, network.topology, ExpectedArrivals(o)))
    {
        return;
    }
    const std::vector<Arrival> arrivals = MakeArrivals(o);
    s->flows.reserve(arrivals.size());
    PortTurns turns(network.topology);
    for (const Arrival& a : arrivals)
    {
        Flow f;
        std::tie(f.src, f.dst) = turns.Next({a.src, {}}, {a.dst, {}});
        f.bytes = a.bytes;
        f.start = a.start;
        f.priority = static_cast<uint8_t>(values.Get(&asked::Traffic::priority));
        f.trafficClass = of.trafficClass;
        f.dport = a.incast ? 200 : 100; // by which HPCC's analysis tells them apart
        f.tag = a.incast ? "incast" : s->pattern;
        s->flows.push_back(std::move(f));
    }
    if (s->flows.empty())
    {
        v->Fail(&asked::Traffic::duration,
                "is too short: at this load no flow starts in this time; allowed: a longer one, or "
                "more --load");
    }
}

} // namespace

uint8_t
UsualPriority(const Validation& v)
{
    return v.values.Get(&asked::Traffic::protocol) == "rdma" ? 3 : 0;
}

bool
HasLoad(const std::string& pattern)
{
    return pattern == "poisson" || pattern == "on-off";
}

PortTurns::PortTurns(const topo::Topology& topology)
    : m_topology(topology),
      m_counts(topology.Hosts().size())
{
}

PortTurns::Counts&
PortTurns::Of(uint32_t host)
{
    Counts& counts = m_counts[host];
    if (counts.sent.empty())
    {
        const size_t ports = m_topology.Nodes()[m_topology.Hosts()[host]].ports.size();
        counts.sent.resize(ports);
        counts.received.resize(ports);
    }
    return counts;
}

std::pair<topo::EndpointId, topo::EndpointId>
PortTurns::Next(const Side& src, const Side& dst)
{
    std::vector<uint32_t>& sent = Of(src.host).sent;
    std::vector<uint32_t>& received = Of(dst.host).received;
    const size_t lanes = std::max(sent.size(), received.size());
    size_t from = 0;
    size_t to = 0;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < lanes; ++i)
    {
        const size_t lane = (m_turn + i) % lanes;
        const size_t out = src.port ? *src.port : lane % sent.size();
        const size_t in = dst.port ? *dst.port : lane % received.size();
        const uint64_t flows = uint64_t{sent[out]} + received[in];
        if (flows < least)
        {
            least = flows;
            from = out;
            to = in;
        }
    }
    ++m_turn;
    ++sent[from];
    ++received[to];
    return {m_topology.EndpointOf(src.host, static_cast<topo::PortId>(from)),
            m_topology.EndpointOf(dst.host, static_cast<topo::PortId>(to))};
}

void
MakePatternFlows(Validation* v, const Network& network, TrafficScenario* s)
{
    const uint32_t hosts = static_cast<uint32_t>(network.topology.Hosts().size());
    auto& values = v->values;
    v->DecideUnlessGiven(&asked::Traffic::pattern, "permutation");
    s->pattern = values.Get(&asked::Traffic::pattern);
    v->Settle(&asked::Traffic::pattern);
    if (HasLoad(s->pattern))
    {
        if (hosts < 2)
        {
            v->errors.push_back(
                {"",
                 "",
                 "the network has " + std::to_string(hosts) + " host; a flow needs two",
                 ""});
            return;
        }
        MakeLoadFlows(v, network, s);
        return;
    }
    FlowSizes drawn;
    if (values.Given(&asked::Traffic::sizes))
    {
        v->Settle(&asked::Traffic::sizes);
        if (!ReadSizes(v, &drawn))
        {
            return;
        }
    }
    const std::vector<uint64_t> sizes =
        values.Given(&asked::Traffic::sizes) ? std::vector<uint64_t>{1} : SizesInTurn(v);
    if (hosts < 2)
    {
        v->errors.push_back(
            {"", "", "the network has " + std::to_string(hosts) + " host; a flow needs two", ""});
        return;
    }
    const ChannelClass of = ClassOfFlows(v, s);
    v->DecideUnlessGiven(&asked::Traffic::priority, of.priority.value_or(UsualPriority(*v)));
    v->DecideTextUnlessGiven(&asked::Traffic::startJitter, "0ns");
    const uint64_t seed = values.Get(&asked::Run::seed);

    std::vector<HostPair> pairs;
    if (s->pattern == "permutation")
    {
        if (!values.Given(&asked::Traffic::offset))
        {
            uint32_t offset = std::max(1u, hosts / 2);
            const uint64_t part = network.topology.About().partPorts; // hosts have one port each
            offset = part > 0 && part < hosts ? static_cast<uint32_t>(part) : offset;
            v->Decide(&asked::Traffic::offset, offset);
        }
        const uint64_t offset = values.Get(&asked::Traffic::offset);
        if (offset % hosts == 0 || offset >= hosts)
        {
            v->Fail(&asked::Traffic::offset,
                    "allowed: 1 to " + std::to_string(hosts - 1) + ", for " +
                        std::to_string(hosts) + " hosts");
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
        v->DecideUnlessGiven(&asked::Traffic::fanIn, std::min(16u, hosts - 1));
        v->DecideUnlessGiven(&asked::Traffic::target, 0);
        const uint32_t fanIn = values.Get(&asked::Traffic::fanIn);
        const uint32_t target = values.Get(&asked::Traffic::target);
        if (fanIn >= hosts)
        {
            v->Fail(&asked::Traffic::fanIn,
                    "allowed: 1 to " + std::to_string(hosts - 1) +
                        ", the other hosts of the network");
        }
        if (target >= hosts)
        {
            v->Fail(&asked::Traffic::target, "allowed: 0 to " + std::to_string(hosts - 1));
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
            v->Fail(&asked::Traffic::pattern,
                    std::to_string(hosts) + " hosts make more than the " +
                        std::to_string(kMostFlows) + " flows that can be simulated");
            return;
        }
        pairs = AllToAll(hosts);
    }
    if (sizes.empty())
    {
        return;
    }

    const auto starts = StartTimes(pairs.size(), values.Get(&asked::Traffic::startJitter), seed);
    Random random(seed, kSizeStream);
    s->flows.reserve(pairs.size());
    PortTurns turns(network.topology);
    for (size_t i = 0; i < pairs.size(); ++i)
    {
        Flow f;
        std::tie(f.src, f.dst) = turns.Next({pairs[i].first, {}}, {pairs[i].second, {}});
        f.bytes =
            values.Given(&asked::Traffic::sizes) ? drawn.Draw(&random) : sizes[i % sizes.size()];
        f.start = starts[i];
        f.priority = static_cast<uint8_t>(values.Get(&asked::Traffic::priority));
        f.trafficClass = of.trafficClass;
        f.tag = s->pattern;
        s->flows.push_back(std::move(f));
    }
}

} // namespace scenario
