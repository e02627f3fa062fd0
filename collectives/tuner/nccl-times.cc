/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner/nccl-times.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace coll
{

namespace
{

/// Latencies of LL, LL128, Simple; us. Inside: over NVLink.
struct Latencies
{
    std::array<double, 3> base;
    std::array<double, 3> inside;
    std::array<double, 3> outside;
};

constexpr Latencies kRing = {{6.6, 14, 8.4}, {0.6, 1.9, 3.4}, {2.7, 4, 14}};
constexpr Latencies kTree = {{6.8, 14, 8.4}, {0.6, 1.25, 4}, {5, 8.5, 14}};

/// treeCorrectionFactor: what a tree has of its rate, by powers of two from 64 B on; then all.
constexpr std::size_t kSizes = 23;
using Factors = std::array<double, kSizes>;
constexpr std::array<Factors, 3> kTreeFactors = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

double
TreeFactor(uint64_t bytes, std::size_t protocol)
{
    std::size_t size = 0;
    while (size < kSizes && (bytes >> 6) >> (size + 1) != 0)
    {
        ++size;
    }
    return size < kSizes ? kTreeFactors[protocol][size] : 1;
}

} // namespace

std::optional<double>
NcclSeconds(NcclAlgorithm algorithm,
            topo::Protocol protocol,
            Op op,
            uint64_t bytes,
            const NcclGroup& group,
            const topo::LibraryExpectations& expects)
{
    const bool ring = algorithm == NcclAlgorithm::kRing;
    const bool reduce = op == Op::kAllReduce;
    const bool half = op == Op::kAllGather || op == Op::kReduceScatter;
    const auto p = static_cast<std::size_t>(protocol);
    if (p > static_cast<std::size_t>(topo::Protocol::kSimple) || !(reduce || (half && ring)) ||
        group.servers < 2)
    {
        return std::nullopt;
    }
    const bool ll = protocol == topo::Protocol::kLl;
    const bool simple = protocol == topo::Protocol::kSimple;
    const Latencies& its = ring ? kRing : kTree;
    const double ranks = group.ranks;
    const double servers = group.servers;
    const double perServer = ranks / servers;
    const double told = expects.netLatency.Seconds() * 1e6 * (simple ? 2 : 1);
    double rate = static_cast<double>(expects.nicRate.bps) / 8 * group.nics; // B/s
    double latency = its.base[p];                                            // us
    if (ring)
    {
        const double steps = (reduce ? 2 : 1) * (ranks - 1);
        const double between = reduce ? 2 * servers : servers - 1;
        const double post = expects.netOverhead.Seconds() * 1e6 * (simple ? 3 : 1);
        latency +=
            (steps - between) * std::max(its.inside[p], post) + between * (its.outside[p] + told);
        const double channels = group.nics;
        if (simple && reduce && static_cast<double>(bytes) / (channels * ranks) >= 64)
        {
            latency *= 1.4;
        }
        rate *= ll ? 0.25 : simple ? 1 : perServer < 2 ? 0.7 : 0.92;
        rate = ll ? std::min(rate, group.servers == 2 ? 22.5e9 : 19e9) : rate;
        rate *= ranks / steps;
    }
    else
    {
        latency += 2 * ((std::floor(perServer) - 1) * its.inside[p] +
                        std::floor(std::log2(servers)) * (its.outside[p] + told));
        rate *= ll ? 0.92 / 3.8 : simple ? 0.92 : 0.92 * 120 / 128;
        rate = ll ? std::min(rate, group.servers == 2 ? 22.5e9 : 19e9) : rate;
        rate *= 0.5 * TreeFactor(bytes, p);
    }
    return latency * 1e-6 + static_cast<double>(bytes) / rate;
}

} // namespace coll
