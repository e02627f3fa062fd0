/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives that go through the dimensions of a network one after the other, in chunks
 * (dimension-plan.h), within each dimension as its links suggest:
 *
 *     ring, line      round the ring, half of the data each way (ring; one-way-ring: all one way)
 *     fully connected each sends to all others of its row at once (direct)
 *     switch          recursive halving and doubling; direct if the row is no power of two
 *
 * Lanes. Each way round has lanes of its own, as many as there are channels. A lane has the steps
 * of all phases of its chunks, in the order in which the plan expects them to be due; so chunks are
 * in several dimensions at once:
 *
 *     dimension 0   [chunk 0 ][chunk 1 ][chunk 2 ]          [0, back][1, back]
 *     dimension 1             [chunk 0 ][chunk 1 ][chunk 2 ]
 *     the lane       0 0 0 0   1 0 1 0   2 1 2 1    ...
 *
 * All ranks have the same steps in the same order, each with its own row. A message always is of an
 * earlier step of its sender, so no lane waits for ever.
 *
 * Data. All-reduce cuts a chunk into a unit for each rank, numbered by coordinates in the chunk's
 * own order of dimensions, so that what a phase moves lies together. Reduce-scatter and all-gather
 * have the pieces of ranks, which lie apart: a message each.
 *
 * All-to-all: in a dimension a block goes to the rank of its row that has its destination's
 * coordinate, straight, a message for each block. It waits there in scratch for the next dimension,
 * if that is not its destination yet. What goes through m dimensions is sent up to m times.
 */
#ifndef COLLECTIVES_SCHEDULES_BY_DIMENSION_H
#define COLLECTIVES_SCHEDULES_BY_DIMENSION_H

#include "collectives/core/cost.h"
#include "collectives/core/looped-schedule.h"
#include "collectives/core/partition.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/dimension-plan.h"
#include "collectives/tuner/idle-link.h"

#include <cstdint>
#include <string>
#include <vector>

namespace coll
{

/// The dimensions of a group of ranks, all of more than one rank, the nearest first: those of the
/// network, or AlgorithmOptions::dimensions, or those of TorusDimensions().
std::vector<PlanDimension> PlanDimensions(const Placement& placement,
                                          const AlgorithmOptions& options);

/// The chunks that an algorithm takes by itself.
uint32_t SplitsOr(const AlgorithmOptions& options,
                  uint64_t bytes,
                  uint32_t ranks,
                  const std::vector<PlanDimension>& dimensions);

class ByDimensionSchedule final : public Schedule
{
  public:
    /// \param what all-reduce, reduce-scatter, all-gather or all-to-all
    ByDimensionSchedule(const Collective& what,
                        const Placement& placement,
                        const AlgorithmOptions& options);

    Lane Lanes(Rank /* rank */) const override
    {
        return static_cast<Lane>(m_channels * m_ways);
    }

    StepIndex Steps(Rank /* rank */, Lane lane) const override
    {
        return static_cast<StepIndex>(m_steps[lane / m_ways].size());
    }

    uint32_t Channel(Lane lane) const override
    {
        return lane / m_ways;
    }

    uint64_t PartsOfMessage() const override
    {
        return Parts();
    }

    uint64_t ScratchBytes(Rank rank) const override;

    Step At(Rank rank, Lane lane, StepIndex k) const override;

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options);

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link);

  private:
    /// A phase of a chunk as steps.
    struct Phase
    {
        uint32_t dimension = 0;
        uint32_t turn = 0; ///< of the dimension in the chunk's order
        bool gathers = false;
        bool passes = false; ///< blocks of an all-to-all
        uint32_t below = 1;  ///< units of a coordinate: the product of the dimensions that follow
        uint32_t steps = 0;
    };

    struct Chunk
    {
        std::vector<uint32_t> order;
        std::vector<Phase> phases;
    };

    /// A step of a channel's lanes.
    struct Due
    {
        uint32_t chunk = 0; ///< of the channel
        uint32_t phase = 0;
        uint32_t step = 0; ///< within the phase
    };

    /// What a step sends and receives within its row: coordinates, of whom and of what.
    struct Move
    {
        uint32_t to = UINT32_MAX; ///< UINT32_MAX: it does not send
        uint32_t sends = 0;       ///< the first coordinate whose data it sends
        uint32_t from = UINT32_MAX;
        uint32_t receives = 0;
        uint32_t width = 1; ///< coordinates together
        uint32_t piece = 0; ///< which of the pieces that lie apart
    };

    uint32_t Parts() const
    {
        return m_channels * m_ways * m_splits;
    }

    bool Packs() const
    {
        return m_what.op == Op::kAllReduce;
    }

    bool Exchanges() const
    {
        return m_what.op == Op::kAllToAll;
    }

    /// Messages of a transfer, where what it moves lies apart.
    uint32_t PiecesOf(const Phase& phase) const
    {
        return Packs()       ? 1
               : Exchanges() ? m_what.ranks / m_dimensions[phase.dimension].size
                             : phase.below;
    }

    /// Of a piece, cut into parts.
    uint64_t LongestPart() const
    {
        return m_what.bytes / m_what.ranks / Parts() + 1;
    }

    /// A block of an all-to-all on its way, as a rank has it: by coordinates, those of its source
    /// in dimensions that are done, those of its destination in others.
    struct Block
    {
        uint32_t number = 0; ///< these coordinates as a position
        Rank source = 0;
        Rank destination = 0;
        Range part;         ///< of the destination's piece, from its begin
        uint64_t where = 0; ///< in the input, or behind it (Step::fromResult)
        bool fromInput = true;
    };

    /// The block that a step moves, where a rank has it before the phase (or, received, after it).
    Block BlockOf(Rank rank,
                  const Chunk& chunk,
                  const Phase& phase,
                  uint64_t part,
                  uint32_t coordinate,
                  uint32_t piece,
                  bool received) const;

    uint32_t StepsOf(const Phase& phase) const;
    Move MoveOf(const Phase& phase, uint32_t own, uint32_t step, bool down) const;
    Range Data(Rank rank,
               const Chunk& chunk,
               const Phase& phase,
               uint64_t part,
               uint32_t coordinate,
               const Move& move) const;

    uint32_t Coordinate(uint32_t position, uint32_t dimension) const
    {
        return position / m_strides[dimension] % m_dimensions[dimension].size;
    }

    /// Puts the steps of a channel's chunks in order.
    void Merge(std::vector<ChunkPhases> times, WaitOrder order, uint32_t channel);
    /// The message that a receiving step waits for: the step of its sender.
    uint32_t SendOf(const Phase& phase, uint32_t step) const;
    uint64_t LongestChain() const;

    std::vector<PlanDimension> m_dimensions;
    std::vector<uint32_t> m_strides;
    std::vector<uint32_t> m_positionOf;
    std::vector<Rank> m_rankAt;
    uint32_t m_ways;
    uint32_t m_channels;
    uint32_t m_splits;                        ///< of a channel
    std::vector<std::vector<Chunk>> m_chunks; ///< by channel
    std::vector<std::vector<Due>> m_steps;    ///< by channel
    Grid m_units;                             ///< parts of S, units of each
    Grid m_pieces;                            ///< pieces of S, parts of each
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_BY_DIMENSION_H
