/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner/tuner.h"

#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/bridged-bytes.h"
#include "collectives/tuner/nccl-times.h"
#include "collectives/tuner/possible-choices.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace coll
{

namespace
{

/// NCCL's algorithms for collectives that add up or pass on. (CollNet has to be asked for there,
/// too: NCCL_COLLNET_ENABLE. nvls-tree is left out: no table of a machine says from which size on.)
constexpr const char* kDoubleTree = "double-binary-tree";
/// For all-gather and reduce-scatter by groups with one rank a server, the only groups that can
/// have it (NCCL from 2.23 on, src/graph/tuning.cc, ncclPatEnable: as many nodes as ranks).
constexpr const char* kPat = "pat";
constexpr const char* kCandidates[] = {"ring", kDoubleTree, "nvls", kPat};
/// For broadcast and reduce, which are rings only in NCCL: candidates where there is no library to
/// imitate.
constexpr const char* kWithoutLibrary[] = {"tree", "k-nomial"};

// Choices that are measured beside the formula's: all numbers assumed.
/// Algorithms, each with its best protocol.
constexpr std::size_t kOtherAlgorithms = 4;
/// As many times the time of the first by formula: formulas know nothing of narrow uplinks, which
/// are seldom narrower than 4:1.
constexpr double kWorthMeasuring = 4;
/// Measured choices, from the first on, that are also measured with twice their channels.
constexpr std::size_t kWithMoreChannels = 2;

/// Whether some server has ranks in several islands.
bool
LeavesIslands(const Placement& placement, uint32_t island)
{
    std::map<uint32_t, uint32_t> islandOf; // by server, of its first rank
    for (std::size_t i = 0; i < placement.serverOf.size(); ++i)
    {
        const uint32_t its = placement.gpuOf[i] / island;
        if (islandOf.try_emplace(placement.serverOf[i], its).first->second != its)
        {
            return true;
        }
    }
    return false;
}

/// Whether a user has left NCCL's Simple.
bool
AllowsSimple(const Fixed& fixed)
{
    const auto& protocols = fixed.protocols;
    return fixed.protocol
               ? *fixed.protocol == topo::Protocol::kSimple
               : protocols.empty() ||
                     std::find(protocols.begin(), protocols.end(), topo::Protocol::kSimple) !=
                         protocols.end();
}

/// The candidates that a user has left. If there are none: one that explains why.
std::vector<const Algorithm*>
Allowed(const std::vector<const Algorithm*>& candidates,
        const Collective& what,
        const Placement& placement,
        const AlgorithmOptions& options,
        const Fixed& fixed)
{
    std::vector<const Algorithm*> allowed;
    for (const Algorithm* algorithm : fixed.among.empty() ? candidates : fixed.among)
    {
        // NCCL has PAT, and what adds up in switches, with Simple only, so not where that is left
        // out. (Who names PAT alone gets it.)
        const bool needsSimple = !ProtocolsInSwitches(*algorithm).empty() ||
                                 (fixed.among.empty() && algorithm->Name() == kPat);
        const bool simple = AllowsSimple(fixed);
        const bool except =
            (!simple && needsSimple) ||
            std::find(fixed.except.begin(), fixed.except.end(), algorithm->Name()) !=
                fixed.except.end();
        if (!except && (fixed.among.empty() || algorithm->WhyNot(what, placement, options).empty()))
        {
            allowed.push_back(algorithm);
        }
    }
    if (!allowed.empty())
    {
        return allowed;
    }
    return {fixed.among.empty() ? candidates.front() : fixed.among.front()};
}

} // namespace

bool
IsExchange(Op op)
{
    return IsAllToAll(op) || op == Op::kGather || op == Op::kScatter || op == Op::kSendRecv;
}

std::vector<topo::Protocol>
ProtocolsInSwitches(const Algorithm& algorithm)
{
    // NVLS and NVLSTree are for Simple only; CollNet has LL in NCCL, too, not here
    // (NVIDIA/nccl src/graph/tuning.cc).
    const InNetwork uses = algorithm.Uses();
    return uses.serverSwitch     ? std::vector<topo::Protocol>{topo::Protocol::kNvls}
           : uses.fabricSwitches ? std::vector<topo::Protocol>{topo::Protocol::kSimple}
                                 : std::vector<topo::Protocol>{};
}

std::string
WhyNotProtocol(topo::Protocol protocol, const Placement& placement, const Machine& machine)
{
    if (machine.library.Of(protocol).betweenServers || !HasSeveralServers(placement))
    {
        return {};
    }
    return std::string(topo::ToString(protocol)) +
           " needs stores that arrive whole, which these servers' NICs do not give it; allowed "
           "between such servers: ll, simple";
}

namespace
{

/// \return s, by which the last of a rank's grouped sends to other servers is posted after the
/// first, beside the messages that follow each other anyway
double
PostsOf(const Collective& what,
        const Placement& placement,
        uint64_t inSeries,
        const topo::LibraryModel& library)
{
    if (!IsAllToAll(what.op) && what.op != Op::kScatter)
    {
        return 0;
    }
    const uint64_t others = what.ranks - std::min<uint64_t>(what.ranks, GpusPerServer(placement));
    return static_cast<double>(others - std::min(others, inSeries)) * library.post.Seconds();
}

/// \param imitates with what NCCL expects of trees and of PAT, where there is a library
std::optional<double>
Formula(const Algorithm& algorithm,
        topo::Protocol protocol,
        const Collective& what,
        const Placement& placement,
        const AlgorithmOptions& options,
        const Machine& machine,
        bool imitates)
{
    const std::optional<Cost> cost = algorithm.CostOf(what, placement, options);
    if (!cost)
    {
        return std::nullopt;
    }
    const topo::LibraryModel& library = machine.library;
    const topo::ProtocolTimes& times = library.Of(protocol);
    const bool exchange = protocol == topo::Protocol::kExchange;
    double seconds = 0;
    if (machine.hasLibrary)
    {
        seconds =
            (exchange ? library.exchangeLaunch : library.launch).Seconds() + times.base.Seconds();
    }
    if (cost->chain == 0)
    {
        return seconds;
    }
    const bool outside = HasSeveralServers(placement);
    const double inShare = machine.hasLibrary ? times.insideShare : 1;
    const uint32_t nics = exchange && machine.hasLibrary && library.exchangeNics
                              ? std::min(library.exchangeNics, machine.nics)
                              : std::max<uint32_t>(1, Rails(placement).size());
    // A chain over several islands waits for the slowest links.
    const double ports = machine.island != 0 && LeavesIslands(placement, machine.island)
                             ? std::min(machine.insideRate, machine.betweenRate)
                             : machine.insideRate;
    // So many messages cross the bridge at a time.
    const double bridged = BridgedBytes(algorithm, *cost, what, placement, machine);
    const double abreast = bridged / std::max(1.0, cost->serialBytes);
    const double ofBridge = bridged > 0 ? machine.bridgeRate / std::max(1.0, abreast) : ports;
    const double inRate = ports > 0 ? std::min(ports, ofBridge) * inShare : 1e15;
    const double overBridge = bridged > 0 ? bridged / (machine.bridgeRate * inShare) : 0;
    const auto chain = static_cast<double>(cost->chain);
    const double chainOutside =
        outside ? std::min(chain, static_cast<double>(cost->chainOutside)) : 0;
    const double chainInside = chain - chainOutside;
    double messages = 0;
    const double bytes = cost->serialBytes / chain; // bytes of a message
    const double outShare = !machine.hasLibrary   ? 1
                            : times.bulkFrom == 0 ? times.outsideShare
                                                  : bytes / std::max(1.0, times.OnWire(bytes));
    const double outRate = machine.nicRate * nics * std::max(outShare, 1e-6);
    if (machine.hasLibrary)
    {
        const double post = outside ? library.PostInside(protocol).Seconds() : 0;
        messages =
            chainInside * (times.inside.Seconds() + post) + chainOutside * times.outside.Seconds() +
            (exchange && outside ? PostsOf(what, placement, cost->chainOutside, library) : 0);
    }
    else
    {
        const double packet = std::min<double>(bytes, machine.mtu);
        const double stored = machine.nicRate > 0 ? machine.switches * packet / machine.nicRate : 0;
        messages =
            chainInside * machine.insideLatency + chainOutside * (machine.outsideLatency + stored);
    }
    if (imitates && machine.hasLibrary && algorithm.Name() == kPat)
    {
        // NCCL expects of pat a latency for each doubling, a fraction of its latency for others,
        // 2.8 us for each rank, and 3/4 of the rate (src/graph/tuning.cc). So it has rings for few
        // ranks, and for large sizes.
        const double doublings = std::floor(std::log2(static_cast<double>(what.ranks)));
        return seconds + doublings * times.outside.Seconds() / 3.5 + what.ranks * 2.8e-6 +
               cost->outOfServer / (0.75 * outRate);
    }
    if (imitates && machine.hasLibrary && algorithm.Name() == kDoubleTree)
    {
        // NCCL expects of trees latencies and then bytes: S up and S down at 0.92 of the rate
        // (src/graph/tuning.cc). So it takes rings for large sizes. (Its search may give trees on
        // two servers twice that, src/graph/search.cc. But the only tables of two servers,
        // Polaris', are those of rings from 16 MiB on, to 1%.)
        Collective oneChunk = what; // its latencies are those of up and down, once
        oneChunk.bytes = 1;
        const Cost once = *algorithm.CostOf(oneChunk, placement, options);
        const auto ofNics = outside ? std::min(once.chain, once.chainOutside) : 0;
        const double post = outside ? library.PostInside(protocol).Seconds() : 0;
        const double latencies = (once.chain - ofNics) * (times.inside.Seconds() + post) +
                                 ofNics * times.outside.Seconds();
        const double ofPort = ports > 0 ? ports * inShare : 1e15;
        const double slowest = outside ? std::min(ofPort, outRate) : ofPort;
        return seconds + latencies +
               std::max(2 * static_cast<double>(what.bytes) / (0.92 * slowest), overBridge / 0.92);
    }
    messages += bytes * (chainInside / inRate + (outside ? chainOutside / outRate : 0));
    const double links =
        std::max({chainInside > 0 ? cost->serialBytes / inRate * (chainInside / chain) : 0,
                  outside ? cost->outOfServer / outRate : 0,
                  overBridge});
    return seconds + std::max(messages, links);
}

} // namespace

std::optional<double>
ImitatedSeconds(const Algorithm& algorithm,
                topo::Protocol protocol,
                const Collective& what,
                const Placement& placement,
                const AlgorithmOptions& options,
                const Machine& machine)
{
    return Formula(algorithm, protocol, what, placement, options, machine, true);
}

std::optional<double>
PlainSeconds(const Algorithm& algorithm,
             topo::Protocol protocol,
             const Collective& what,
             const Placement& placement,
             const AlgorithmOptions& options,
             const Machine& machine)
{
    return Formula(algorithm, protocol, what, placement, options, machine, false);
}

namespace
{

/// Among which a collective that adds up or passes on may choose, of a machine with a library.
std::vector<topo::Protocol>
Protocols(Op op, const Placement& placement, const Machine& machine, const Fixed& fixed)
{
    if (IsExchange(op))
    {
        return {topo::Protocol::kExchange};
    }
    if (fixed.protocol)
    {
        return {*fixed.protocol};
    }
    std::vector<topo::Protocol> protocols;
    for (const topo::Protocol protocol : topo::kChoosableProtocols)
    {
        const bool allowed = fixed.protocols.empty() ||
                             std::find(fixed.protocols.begin(), fixed.protocols.end(), protocol) !=
                                 fixed.protocols.end();
        if (allowed && WhyNotProtocol(protocol, placement, machine).empty())
        {
            protocols.push_back(protocol);
        }
    }
    return protocols.empty() ? fixed.protocols : protocols; // which WhyNotProtocol says of them
}

/// Whether a candidate is worth a measurement.
bool
IsWorthAsking(const Algorithm& algorithm,
              const Collective& what,
              const Placement& placement,
              const AlgorithmOptions& options,
              const Fixed& fixed)
{
    const bool between = algorithm.Uses().fabricSwitches && HasSeveralServers(placement);
    const bool except =
        std::find(fixed.except.begin(), fixed.except.end(), algorithm.Name()) != fixed.except.end();
    return !between && !except && algorithm.WhyNot(what, placement, options).empty();
}

/// As long as the machine's library itself reckons it, where that is known.
std::optional<double>
ExpectedSeconds(const Algorithm& algorithm,
                topo::Protocol protocol,
                const Collective& what,
                const Placement& placement,
                const Machine& machine)
{
    const bool ring = algorithm.Name() == std::string("ring");
    const bool tree = algorithm.Name() == std::string(kDoubleTree);
    const auto servers = static_cast<uint32_t>(RanksByServer(placement).size());
    if (machine.library.expects.nicRate.bps == 0 || servers < 2 || (!ring && !tree))
    {
        return std::nullopt;
    }
    const auto nics = std::max<std::size_t>(1, Rails(placement).size());
    topo::LibraryExpectations expects = machine.library.expects;
    if (machine.nicRate > 0) // it knows a NIC's own rate
    {
        expects.nicRate.bps =
            std::min(expects.nicRate.bps, static_cast<uint64_t>(machine.nicRate * 8));
    }
    return NcclSeconds(ring ? NcclAlgorithm::kRing : NcclAlgorithm::kTree,
                       protocol,
                       what.op,
                       what.bytes,
                       {what.ranks, servers, static_cast<uint32_t>(nics)},
                       expects);
}

} // namespace

Choice
Choose(const Collective& what,
       const Placement& placement,
       const AlgorithmOptions& options,
       const Machine& machine,
       const Fixed& fixed)
{
    std::vector<const Algorithm*> algorithms;
    if (fixed.algorithm)
    {
        algorithms = {fixed.algorithm};
    }
    else
    {
        algorithms = {&DefaultAlgorithm(what.op, placement)};
        for (const char* name : kCandidates)
        {
            if (FollowsGrids(*algorithms.front()))
            {
                break; // no formula knows better than the cables
            }
            const Algorithm* algorithm = Find(what.op, name);
            // Switches between servers have to be asked for.
            const bool between =
                algorithm && algorithm->Uses().fabricSwitches && HasSeveralServers(placement);
            // NCCL's expectations of PAT are about software: without a library, the ring stands for
            // both.
            const bool known = machine.hasLibrary || std::string(name) != kPat;
            if (algorithm && algorithm != algorithms.front() && !between && known &&
                algorithm->WhyNot(what, placement, options).empty())
            {
                algorithms.push_back(algorithm);
            }
        }
        const bool ofRoot = what.op == Op::kBroadcast || what.op == Op::kReduce;
        for (const char* name : kWithoutLibrary)
        {
            const Algorithm* algorithm = ofRoot ? Find(what.op, name) : nullptr;
            if (algorithm && !machine.hasLibrary &&
                algorithm->WhyNot(what, placement, options).empty())
            {
                algorithms.push_back(algorithm);
            }
        }
        algorithms = Allowed(algorithms, what, placement, options, fixed);
    }
    Choice best;
    if (!machine.hasLibrary)
    {
        for (const Algorithm* algorithm : algorithms)
        {
            // An algorithm without a formula is taken only where there is no other.
            const bool can = algorithm->WhyNot(what, placement, options).empty();
            const double seconds = can ? ImitatedSeconds(*algorithm,
                                                         topo::Protocol::kSimple,
                                                         what,
                                                         placement,
                                                         options,
                                                         machine)
                                             .value_or(0)
                                       : 0;
            if (!best.algorithm || (seconds > 0 && best.seconds > 0 && seconds < best.seconds))
            {
                best.algorithm = algorithm;
                best.seconds = seconds;
            }
        }
        return best;
    }
    const std::vector<topo::Protocol> protocols = Protocols(what.op, placement, machine, fixed);
    // The library's expectations count where they are known for all candidates.
    const bool expected =
        std::all_of(algorithms.begin(), algorithms.end(), [&](const Algorithm* algorithm) {
            return ExpectedSeconds(*algorithm, protocols.front(), what, placement, machine);
        });
    double least = 0;
    for (const Algorithm* algorithm : algorithms)
    {
        const bool can = algorithm->WhyNot(what, placement, options).empty();
        const bool simple = !fixed.algorithm && fixed.among.empty() && algorithm->Name() == kPat;
        const std::vector<topo::Protocol> inSwitches =
            simple ? std::vector<topo::Protocol>{topo::Protocol::kSimple}
                   : ProtocolsInSwitches(*algorithm);
        for (const topo::Protocol protocol : inSwitches.empty() ? protocols : inSwitches)
        {
            const std::optional<double> seconds =
                can ? ImitatedSeconds(*algorithm, protocol, what, placement, options, machine)
                    : std::nullopt;
            const double asked =
                expected ? *ExpectedSeconds(*algorithm, protocol, what, placement, machine)
                         : seconds.value_or(0);
            const bool first = !best.algorithm;
            if (first || (seconds && (best.seconds == 0 || asked < least)))
            {
                least = asked;
                best.algorithm = algorithm;
                // Without a formula: what large messages take.
                best.protocol = seconds || protocols.size() == 1 || !inSwitches.empty()
                                    ? protocol
                                    : protocols.back();
                best.seconds = seconds.value_or(0);
            }
        }
    }
    return best;
}

namespace
{

/// The protocols an algorithm may be asked with; without a library: nothing, once.
std::vector<std::optional<topo::Protocol>>
ProtocolsOf(const Algorithm& algorithm,
            const Collective& what,
            const Placement& placement,
            const Machine& machine,
            const Fixed& fixed)
{
    if (!machine.hasLibrary)
    {
        return {std::nullopt};
    }
    const auto inSwitches = ProtocolsInSwitches(algorithm);
    const auto some =
        inSwitches.empty() ? Protocols(what.op, placement, machine, fixed) : inSwitches;
    return {some.begin(), some.end()};
}

} // namespace

std::vector<Choice>
AllPossible(const Collective& what,
            const Placement& placement,
            const AlgorithmOptions& options,
            const Machine& machine,
            const Fixed& fixed)
{
    std::vector<Choice> possible;
    for (const Algorithm* algorithm : fixed.among.empty() ? AlgorithmsFor(what.op) : fixed.among)
    {
        const auto inSwitches = ProtocolsInSwitches(*algorithm);
        if (!IsWorthAsking(*algorithm, what, placement, options, fixed) ||
            (!inSwitches.empty() && !AllowsSimple(fixed)))
        {
            continue;
        }
        for (const auto& protocol : ProtocolsOf(*algorithm, what, placement, machine, fixed))
        {
            const std::optional<double> seconds =
                PlainSeconds(*algorithm,
                             protocol.value_or(topo::Protocol::kSimple),
                             what,
                             placement,
                             options,
                             machine);
            possible.push_back({algorithm, protocol, seconds.value_or(0)});
        }
    }
    return possible;
}

std::vector<Choice>
Candidates(const Collective& what,
           const Placement& placement,
           const AlgorithmOptions& options,
           const Machine& machine,
           const Fixed& fixed)
{
    const Choice first = Choose(what, placement, options, machine, fixed);
    std::vector<Choice> candidates;
    const auto add = [&](const Algorithm& algorithm, bool allProtocols) {
        Choice best;
        for (const auto& protocol : ProtocolsOf(algorithm, what, placement, machine, fixed))
        {
            const std::optional<double> seconds =
                ImitatedSeconds(algorithm,
                                protocol.value_or(topo::Protocol::kSimple),
                                what,
                                placement,
                                options,
                                machine);
            if (!seconds)
            {
                continue;
            }
            if (allProtocols)
            {
                candidates.push_back({&algorithm, protocol, *seconds});
            }
            else if (!best.algorithm || *seconds < best.seconds)
            {
                best = {&algorithm, protocol, *seconds};
            }
        }
        if (best.algorithm)
        {
            candidates.push_back(best);
        }
    };
    for (const Algorithm* algorithm : fixed.among.empty() ? AlgorithmsFor(what.op) : fixed.among)
    {
        if (algorithm != first.algorithm &&
            IsWorthAsking(*algorithm, what, placement, options, fixed))
        {
            add(*algorithm, false);
        }
    }
    const auto bySeconds = [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; };
    std::stable_sort(candidates.begin(), candidates.end(), bySeconds);
    const std::vector<Choice> all = candidates;
    candidates.erase(std::remove_if(candidates.begin(),
                                    candidates.end(),
                                    [&first](const Choice& c) {
                                        return c.seconds > kWorthMeasuring * first.seconds;
                                    }),
                     candidates.end());
    candidates.resize(std::min(candidates.size(), kOtherAlgorithms));
    // Formulas know nothing of cables: what follows those of a grid is always among them.
    for (const Choice& one : all)
    {
        if (!placement.at.empty() && FollowsGrids(*one.algorithm) &&
            std::none_of(candidates.begin(), candidates.end(), [&one](const Choice& c) {
                return c.algorithm == one.algorithm;
            }))
        {
            candidates.push_back(one);
        }
    }
    std::vector<Choice> result = {first};
    result.insert(result.end(), candidates.begin(), candidates.end());
    // Its next protocol.
    candidates.clear();
    add(*first.algorithm, true);
    std::stable_sort(candidates.begin(), candidates.end(), bySeconds);
    const auto next = std::find_if(candidates.begin(), candidates.end(), [&first](const Choice& c) {
        return c.protocol != first.protocol && c.seconds <= kWorthMeasuring * first.seconds;
    });
    if (next != candidates.end())
    {
        result.push_back(*next);
    }
    // More flows than NICs spread better over equal ways, which no formula knows.
    const uint32_t own = ChannelCount(placement, options);
    const uint32_t most = options.maxChannels != 0 ? options.maxChannels : kMaxChannels;
    const bool both = HasSeveralServers(placement) && options.channels == 0 &&
                      !IsExchange(what.op) && 2 * own <= most;
    for (std::size_t i = 0, n = std::min(result.size(), kWithMoreChannels); both && i < n; ++i)
    {
        Choice more = result[i];
        more.channels = 2 * own;
        AlgorithmOptions asked = options;
        asked.channels = more.channels;
        if (more.algorithm->Reads(Knob::kChannels) &&
            more.algorithm->WhyNot(what, placement, asked).empty())
        {
            result.push_back(more);
        }
    }
    return result;
}

} // namespace coll
