/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner/measured-fall.h"

#include "collectives/core/placement.h"
#include "collectives/tuner/possible-choices.h"
#include "collectives/tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace coll
{

double
SecondsOfFall(const Collective& what, const Placement& placement, const topo::LibraryModel& library)
{
    const auto& fall = library.fall;
    const bool sums = what.op == Op::kAllReduce;
    if (fall.empty() || what.ranks < 2 || !HasSeveralServers(placement) ||
        !(sums || what.op == Op::kAllGather || what.op == Op::kReduceScatter))
    {
        return 0;
    }
    const auto rateOf = [&what](const topo::MeasuredFall& at) {
        return what.op == Op::kAllReduce   ? at.allReduce
               : what.op == Op::kAllGather ? at.allGather
                                           : at.reduceScatter;
    };
    const auto next = std::find_if(fall.begin(), fall.end(), [&what](const auto& at) {
        return at.gpus >= what.ranks;
    });
    double rate = 0;
    if (next == fall.begin() || next == fall.end())
    {
        rate = rateOf(next == fall.end() ? fall.back() : fall.front());
    }
    else
    {
        const topo::MeasuredFall& before = *std::prev(next);
        const double part = std::log(static_cast<double>(what.ranks) / before.gpus) /
                            std::log(static_cast<double>(next->gpus) / before.gpus);
        rate = std::exp(std::log(rateOf(before)) * (1 - part) + std::log(rateOf(*next)) * part);
    }
    if (library.fallAGpu > 0)
    {
        const auto inFirst = std::count(placement.serverOf.begin(),
                                        placement.serverOf.end(),
                                        placement.serverOf.front());
        rate = std::min(rate, library.fallAGpu * static_cast<double>(inFirst));
    }
    const double n = what.ranks;
    return static_cast<double>(what.bytes) * (sums ? 2 : 1) * (n - 1) / n / rate;
}

std::optional<double>
EstimateSeconds(const Algorithm& algorithm,
                topo::Protocol protocol,
                const Collective& what,
                const Placement& placement,
                const AlgorithmOptions& options,
                const Machine& machine)
{
    const auto seconds = ImitatedSeconds(algorithm, protocol, what, placement, options, machine);
    return seconds
               ? std::optional(std::max(*seconds, SecondsOfFall(what, placement, machine.library)))
               : seconds;
}

} // namespace coll
