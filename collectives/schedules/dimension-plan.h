/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How a collective goes through the dimensions of a network: cut into chunks, each with an order of
 * dimensions of its own, and when each chunk has its turn in each dimension.
 *
 *     all-reduce, 3 dimensions, one chunk in ascending order:
 *
 *     reduce-scatter 0 -> reduce-scatter 1 -> all-reduce 2 -> all-gather 1 -> all-gather 0
 *         S                   S / n0            S / n0 n1         S / n0 n1       S / n0
 *
 * A dimension serves one phase of a chunk at a time, in the order in which they come to it; so
 * chunks go through as a pipeline, and the time of all is that of the busiest dimension and of the
 * way to it and from it.
 *
 *     order         dimensions of chunk k
 *     ascending     the nearest first (all-gather: the farthest first)
 *     round-robin   the same, from dimension k mod m on
 *     themis        the least loaded first, as far as loads differ by more than 1/16 of a chunk;
 *                   each phase's bytes by the dimension's rate are its load
 *
 * phase order: of the chunks that wait for a dimension, the one that came first (fifo), whose phase
 * is the shortest, or that has the fewest phases left.
 *
 * S. Rashidi, W. Won, S. Srinivasan, S. Sridharan, T. Krishna, "Themis: A Network Bandwidth-Aware
 * Collective Scheduling Policy for Distributed Training of DL Models", ISCA 2022 (algorithm 1); the
 * threshold is that of astra-sim/astra-sim@12737a6 system/scheduling/OfflineGreedy.cc. W. Won et
 * al., "ASTRA-sim2.0", ISPASS 2023, for the phases.
 */
#ifndef COLLECTIVES_SCHEDULES_DIMENSION_PLAN_H
#define COLLECTIVES_SCHEDULES_DIMENSION_PLAN_H

#include "collectives/core/schedule.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace coll
{

/// How a phase goes within its dimension.
enum class RowAlgorithm : uint8_t
{
    kRing,    ///< to the neighbour, half of the data each way round
    kOneWay,  ///< to the neighbour, all of it the same way round
    kDirect,  ///< to all others at once
    kHalving, ///< recursive halving and doubling
};

/// "ring", "one-way-ring", "direct", "halving-doubling", in the order of RowAlgorithm.
const std::vector<std::string>& RowAlgorithmNames();
std::optional<RowAlgorithm> ParseRowAlgorithm(const std::string& name);

/// "ascending", "round-robin", "themis", in the order of DimensionOrder.
const std::vector<std::string>& DimensionOrderNames();

/// A dimension as a plan sees it.
struct PlanDimension
{
    uint32_t size = 1;
    RowAlgorithm algorithm = RowAlgorithm::kRing;
    double rate = 1;        ///< of a link; only the ratios count for orders
    double latency = 0;     ///< s, of a message between neighbours
    GridDimension link;     ///< a link of it; without a rate: the network does not tell
    std::size_t number = 0; ///< as the network counts, the nearest first
};

/// Bytes of a chunk, and its dimensions in the order of reduce-scatter, or of all-gather alone.
struct ChunkOrder
{
    uint64_t bytes = 0;
    std::vector<uint32_t> dimensions;
};

/// The chunks of a collective. \param bytes of a rank at the begin: of all-gather its own piece
/// \param asAstra with a slip of ASTRA-sim's Themis: where loads of an all-gather are nearly alike
/// it adds a chunk's load to the dimensions in reverse
std::vector<ChunkOrder> OrdersOfChunks(Op op,
                                       uint64_t bytes,
                                       uint32_t splits,
                                       const std::vector<PlanDimension>& dimensions,
                                       DimensionOrder order,
                                       bool asAstra = false);

/// A phase of a chunk.
struct DimensionPhase
{
    uint32_t dimension = 0; ///< index into the plan's
    Op op = Op::kAllReduce;
    uint64_t bytes = 0;   ///< of a rank, before it
    int64_t duration = 0; ///< in the caller's unit; so are the next two
    int64_t begin = 0;
    int64_t end = 0;
};

using ChunkPhases = std::vector<DimensionPhase>;

/// The phases of a chunk, without times.
/// \param apart all-reduce in its last dimension as reduce-scatter and all-gather
/// \param baseline all-reduce is one in every dimension, of all the bytes
ChunkPhases PhasesOf(Op op,
                     const ChunkOrder& chunk,
                     const std::vector<PlanDimension>& dimensions,
                     bool apart,
                     bool baseline = false);

/// "fifo", "shortest", "fewest-left", in the order of WaitOrder.
const std::vector<std::string>& WaitOrderNames();

/// Gives phases with durations their times: each dimension serves `active` phases at once, each as
/// long as alone. \return the end of the last one
int64_t TimePhases(std::vector<ChunkPhases>* chunks,
                   std::size_t dimensions,
                   uint32_t active = 1,
                   WaitOrder order = WaitOrder::kFifo);

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_DIMENSION_PLAN_H
