/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner.h"

#include "collectives/placement.h"
#include "collectives/registry.h"

#include <algorithm>
#include <map>

namespace coll
{

namespace
{

/// What NCCL has for collectives that add up or pass on. (CollNet has to be asked for there, too:
/// NCCL_COLLNET_ENABLE. nvls-tree is left out: no table of a machine says from where on.)
constexpr const char* kTrees = "double-binary-tree";
constexpr const char* kCandidates[] = {"ring", kTrees, "nvls"};

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

/// Of the candidates, what a user has left. If that is nothing: something that says why not.
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
        // NCCL has what adds up in switches with Simple only, so not where that is left out.
        const auto& protocols = fixed.protocols;
        const bool simple =
            fixed.protocol
                ? *fixed.protocol == topo::Protocol::kSimple
                : protocols.empty() ||
                      std::find(protocols.begin(), protocols.end(), topo::Protocol::kSimple) !=
                          protocols.end();
        const bool except =
            (!simple && !ProtocolsInSwitches(*algorithm).empty()) ||
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

std::optional<double>
EstimateSeconds(const Algorithm& algorithm,
                topo::Protocol protocol,
                const Collective& what,
                const Placement& placement,
                const AlgorithmOptions& options,
                const Machine& machine)
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
    const double outShare = machine.hasLibrary ? times.outsideShare : 1;
    const uint32_t nics = exchange && machine.hasLibrary && library.exchangeNics
                              ? std::min(library.exchangeNics, machine.nics)
                              : std::max<uint32_t>(1, Rails(placement).size());
    // A chain over several islands waits for the slowest links.
    const double ports = machine.island != 0 && LeavesIslands(placement, machine.island)
                             ? std::min(machine.insideRate, machine.betweenRate)
                             : machine.insideRate;
    const double inRate = ports > 0 ? ports * inShare : 1e15;
    const double outRate = machine.nicRate * nics * outShare;
    const auto chain = static_cast<double>(cost->chain);
    const double chainOutside =
        outside ? std::min(chain, static_cast<double>(cost->chainOutside)) : 0;
    const double chainInside = chain - chainOutside;
    double messages = 0;
    if (machine.hasLibrary)
    {
        messages = chainInside * times.inside.Seconds() + chainOutside * times.outside.Seconds();
    }
    const double bytes = cost->serialBytes / chain; // of a message
    messages += bytes * (chainInside / inRate + (outside ? chainOutside / outRate : 0));
    double links =
        std::max(chainInside > 0 ? cost->serialBytes / inRate * (chainInside / chain) : 0,
                 outside ? cost->outOfServer / outRate : 0);
    if (algorithm.Name() == kTrees)
    {
        // Between two servers trees send fewer bytes than rings, but NCCL expects all of them to
        // carry S up and S down at 0.92 of the rate (src/graph/tuning.cc), and so takes rings.
        const double slowest = outside ? std::min(inRate, outRate) : inRate;
        links = std::max(links, 2 * static_cast<double>(what.bytes) / (0.92 * slowest));
    }
    return seconds + std::max(messages, links);
}

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
            const Algorithm* algorithm = Find(what.op, name);
            // Switches between servers are for those who ask for them.
            const bool between =
                algorithm && algorithm->Uses().fabricSwitches && HasSeveralServers(placement);
            if (machine.hasLibrary && algorithm && algorithm != algorithms.front() && !between &&
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
        best.algorithm = algorithms.front();
        return best;
    }
    std::vector<topo::Protocol> protocols;
    if (IsExchange(what.op))
    {
        protocols = {topo::Protocol::kExchange};
    }
    else if (fixed.protocol)
    {
        protocols = {*fixed.protocol};
    }
    else
    {
        for (const topo::Protocol protocol : topo::kChoosableProtocols)
        {
            const bool allowed =
                fixed.protocols.empty() ||
                std::find(fixed.protocols.begin(), fixed.protocols.end(), protocol) !=
                    fixed.protocols.end();
            if (allowed && WhyNotProtocol(protocol, placement, machine).empty())
            {
                protocols.push_back(protocol);
            }
        }
        if (protocols.empty()) // which WhyNotProtocol says of them
        {
            protocols = fixed.protocols;
        }
    }
    for (const Algorithm* algorithm : algorithms)
    {
        const bool can = algorithm->WhyNot(what, placement, options).empty();
        const std::vector<topo::Protocol> inSwitches = ProtocolsInSwitches(*algorithm);
        for (const topo::Protocol protocol : inSwitches.empty() ? protocols : inSwitches)
        {
            const std::optional<double> seconds =
                can ? EstimateSeconds(*algorithm, protocol, what, placement, options, machine)
                    : std::nullopt;
            const bool first = !best.algorithm;
            if (first || (seconds && (best.seconds == 0 || *seconds < best.seconds)))
            {
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

} // namespace coll
