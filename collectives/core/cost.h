/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What collectives cost by formula, and the least they could cost.
 *
 * Time is alpha-beta (Hockney; Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005) with the message
 * overhead of LogP apart:
 *
 *     seconds = chain alpha + posts overhead + serialBytes beta + reducedPerRank gamma
 *
 * alpha is a latency, so only messages that wait for one another pay it; what a sender pays for
 * every message, also when it posts them at once, is overhead (a textbook that charges alpha for
 * every message means that one, too). One alpha and one beta: those of the slowest link on the way.
 * Bytes are exact up to rounding S / n.
 */
#ifndef COLLECTIVES_CORE_COST_H
#define COLLECTIVES_CORE_COST_H

#include "collectives/core/schedule.h"

namespace coll
{

struct AlphaBeta
{
    double alpha = 0;    ///< s, latency of a message
    double beta = 0;     ///< s/byte
    double gamma = 0;    ///< s/byte added up
    double overhead = 0; ///< s a message posted
};

double Seconds(const Cost& cost, const AlphaBeta& parameters);

/// The size of a problem as the formulas see it.
struct Extent
{
    uint64_t bytes = 0; ///< S as in Collective
    uint32_t ranks = 1; ///< n
    uint32_t servers = 1;
    /// GPUs of the server that sends most; n / servers when all are equal.
    uint32_t gpusPerServer = 1;
    uint32_t channels = 1;
    uint32_t loops = 1;
};

Extent ExtentOf(const Collective& what,
                const Placement& placement,
                uint32_t channels,
                uint32_t loops);

/// A ring on which every rank sends `rounds` times n-1 chunks of S / n, and adds up in one of the
/// rounds; what algorithms with as many bytes begin with.
Cost RingCost(const Extent& e, uint32_t rounds, bool reduces);

/// (n-1) / n of S.
double AllButOne(double bytes, uint32_t n);

/**
 * busbw = algbw * factor, algbw = S / t, as nccl-tests prints them (NVIDIA/nccl-tests
 * doc/PERFORMANCE.md, and src/gather.cu, scatter.cu, sendrecv.cu): 2 (n-1) / n for all_reduce;
 * (n-1) / n for reduce_scatter, all_gather, gather, scatter and alltoall, and in ROCm/rccl-tests
 * (src/alltoallv.cu) for alltoallv; 1 for broadcast, reduce and sendrecv; 0 for a barrier, which
 * moves nothing. nccl-tests divides by n as it is: a single rank has busbw 0.
 */
double BusBwFactor(Op op, uint32_t ranks);

/// algbw and busbw of a collective in GB/s (10^9), as nccl-tests defines them.
struct Bandwidth
{
    double algbw = 0;
    double busbw = 0;
};

Bandwidth BandwidthOf(Op op, uint64_t bytes, uint32_t ranks, double timeUs);

/// Bytes that must cross the busiest rank's link in one direction, whatever the algorithm (no
/// in-network reduction); alltoallv here and below: with equal blocks.
double LeastBytesPerRank(Op op, uint64_t bytes, uint32_t ranks);

/// The same where switches add up: each rank's vector leaves it once, and the sum comes in once. It
/// holds for servers, too, where switches between them add up.
double LeastBytesWithSwitches(Op op, uint64_t bytes, double least);

/// Messages that must follow one another: one, since a rank may send to all others at once (and
/// pays for it in posts and bytes). Algorithms that send to one rank at a time need ceil(log2 n).
uint32_t LeastChain(Op op, uint32_t ranks);

/// Bytes that must cross the border of the busiest of k equal servers in one direction.
double LeastBytesPerServer(Op op, uint64_t bytes, uint32_t ranks, uint32_t servers);

/// No algorithm with point-to-point messages is faster.
double LeastSeconds(Op op, uint64_t bytes, uint32_t ranks, const AlphaBeta& parameters);

uint32_t CeilLog2(uint32_t x);

/// Why a lane of this algorithm's schedule cannot count its steps in 32 bits; empty: it can. Taken
/// from the formula, so only for collectives that the algorithm can do otherwise.
std::string TooManySteps(const Algorithm& algorithm,
                         const Collective& what,
                         const Placement& placement,
                         const AlgorithmOptions& options);

} // namespace coll

#endif // COLLECTIVES_CORE_COST_H
