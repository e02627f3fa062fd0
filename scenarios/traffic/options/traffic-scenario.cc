/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * traffic: from values of its options to flows over a network.
 */
#include "contrib/rdma/core/connection-numbers.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/parse-detail.h"
#include "scenarios/network/protocol-options.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/network/traffic-flows.h"
#include "scenarios/network/validate.h"
#include "scenarios/traffic/options/traffic-options.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace scenario
{

namespace
{

/// Reads the options that do not depend on the network.
void
ReadMeasuring(Validation* v, TrafficScenario* s)
{
    auto& values = v->values;
    const bool load =
        !values.Given(&asked::Traffic::flows) &&
        HasLoad(values.Given(&asked::Traffic::pattern) ? values.Get(&asked::Traffic::pattern) : "");
    const bool window = values.Get(&asked::Traffic::outstanding) > 0;
    v->DecideUnlessGiven(&asked::Traffic::queuePairs, load || window ? "reused" : "per-flow");
    if (window && values.Get(&asked::Traffic::protocol) == "udp")
    {
        v->Fail(&asked::Traffic::outstanding,
                "waits for acknowledgements, which UDP does not have; allowed with "
                "--protocol=udp: 0");
    }
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
    if (values.Given(&asked::Traffic::queuePairRest) && use != "reused")
    {
        v->notes.push_back(values.Where(&asked::Traffic::queuePairRest) +
                           " has no effect: queue pairs are " + use + ", not reused");
    }
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
    if (s.flows.size() <= most || (s.pattern == "all-to-all" && most > 0)) // one for each pair
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

/// What follows from the classes of flows.
void
CheckClasses(Validation* v, TrafficScenario* s, const ProtocolSpec& protocol)
{
    ClassUses uses;
    for (const Flow& flow : s->flows)
    {
        uses.emplace(flow.trafficClass, flow.priority);
    }
    const bool any =
        std::any_of(uses.begin(), uses.end(), [](const auto& use) { return use.first > 0; });
    if (any && (!HasPackets(s->fabric) || s->fabric.infiniBand))
    {
        // Only a flow file can: --class is refused there.
        v->Fail(&asked::Traffic::flows,
                "has classes, congestion controls, transports or rates of flows, which are of "
                "packets on Ethernet; allowed with --network=packet and --fabric=roce");
        return;
    }
    if (any && protocol.IsOrdinary())
    {
        v->Fail(&asked::Traffic::protocol,
                "has no queue pairs, which traffic classes are of; allowed with class, cc, "
                "transport or rate of flows: rdma");
        return;
    }
    if (protocol.IsOrdinary())
    {
        s->fabric.classes.clear(); // nothing is of --class, which a note says
    }
    if (any && s->queuePairs == QueuePairUse::kPerPair)
    {
        std::map<std::tuple<uint32_t, uint32_t, uint8_t>, uint8_t> classOf;
        for (const Flow& flow : s->flows)
        {
            const auto pair = std::make_tuple(flow.src, flow.dst, flow.priority);
            if (classOf.emplace(pair, flow.trafficClass).first->second != flow.trafficClass)
            {
                v->Fail(&asked::Traffic::queuePairs,
                        "has one queue pair for flows of two classes from NIC " +
                            std::to_string(flow.src) + " to " + std::to_string(flow.dst) +
                            " in one priority; allowed: per-flow, reused");
                return;
            }
        }
    }
    if (!s->flows.empty() && !protocol.IsOrdinary())
    {
        SettleTrafficClasses(v, s->fabric, uses, &s->run);
    }
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
        hosts = sized || PortsOfHost(&v) ? 0 : kDefaultHosts;
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
    CheckClasses(&v, &s, protocol);
    SettleThreads(&v, protocol, &s.run);
    s.run.asRun = AsRun(v, s.run, network.fromFile);
    s.run.places = MakePlacesAsRun(s.fabric, network.topology);
    if (s.completionAtSender)
    {
        s.run.asRun["run"]["attribution"] = false; // so that it can be given to --scenario
    }
    s.topologyName = network.name;
    s.topology = network.topology;
    return Finished(std::move(v), std::move(s));
}

} // namespace scenario
