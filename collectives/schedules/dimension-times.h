/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time of collectives by dimension without messages, by the formulas of ASTRA-sim 2's
 * congestion-unaware network, and who has a dimension's links when.
 *
 *     a message          floor(hops L + bytes / B) ns, to a switch and from it 2 hops
 *     a phase begins     e behind its turn, and e behind each message that a rank gets
 *     adding up          3 floor(bytes / M) ns for each message: two reads and a write of memory
 *
 * with L and B of the dimension's links, e the endpoint delay, M the memory's rate. n ranks, c
 * bytes of a rank before the phase; all-reduce is twice reduce-scatter's messages, and adding up
 * once:
 *
 *     ring       reduce-scatter: n-1 messages of c / n one after the other; all-gather: of c
 *     direct     the same messages at once, each at the full rate
 *     halving    log2 n messages, c / 2, c / 4, ... c / n; the last is not waited for to add up
 *     all-to-all ring: n (n-1) / 2 messages of c / n one after the other; else all at once
 *
 * A dimension serves so many phases of a rank at a time, each at the full rate.
 *
 * Source: astra-sim/astra-sim@6c41279, system/astraccl/native_collectives/collective_algorithm
 * (Ring.cc, AllToAll.cc, HalvingDoubling.cc), system/PacketBundle.cc (adding up), and
 * astra-sim/astra-network-analytical's congestion-unaware topologies (messages). W. Won, T. Heo, S.
 * Rashidi, S. Sridharan, S. Srinivasan, T. Krishna, "ASTRA-sim2.0", ISPASS 2023.
 */
#ifndef COLLECTIVES_SCHEDULES_DIMENSION_TIMES_H
#define COLLECTIVES_SCHEDULES_DIMENSION_TIMES_H

#include "collectives/schedules/dimension-plan.h"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coll
{

/// Its defaults are those of ASTRA-sim's example systems (inputs/system: endpoint-delay 10,
/// local-mem-bw 1600, active-chunks-per-dimension 1).
struct DimensionTimes
{
    double endpointDelay = 10e-9; ///< s
    double memoryRate = 1600e9;   ///< bytes/s
    uint32_t active = 1;          ///< phases at once in a dimension of a rank
    bool baseline = false;        ///< all-reduce in every dimension of all the bytes
};

/// How long a phase takes alone, ps. \param one with its link
int64_t PhaseTime(const PlanDimension& one,
                  const DimensionPhase& phase,
                  const DimensionTimes& times);

/// A collective by dimension, and when its phases begin and end if nothing else is there, in ps
/// from its begin.
struct DimensionTimetable
{
    std::vector<ChunkPhases> chunks;
    std::vector<uint32_t> numbers; ///< the network's of the plan's dimensions
    int64_t end = 0;
};

/// \param what all-reduce, reduce-scatter, all-gather or all-to-all \param options with splits
DimensionTimetable TimetableOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options,
                               const DimensionTimes& times);

/// The dimensions of ranks, and until when they are taken. What has begun first keeps its turns;
/// what comes later takes what is left between them.
class DimensionTurns
{
  public:
    /// A collective of these ranks begins. \return its end, ps
    int64_t Take(const std::vector<uint32_t>& ranks, const DimensionTimetable& table, int64_t now);

  private:
    using Turn = std::pair<int64_t, int64_t>; ///< begin, end

    std::vector<Turn>& TurnsOf(uint32_t rank, uint32_t dimension, int64_t now);
    static int64_t FirstFree(const std::vector<Turn>& turns, int64_t from, int64_t length);
    static void Add(std::vector<Turn>* turns, const Turn& turn);

    std::unordered_map<uint64_t, std::vector<Turn>> m_turns; ///< by rank and dimension; in order
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_DIMENSION_TIMES_H
