/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ranks as a torus of any number of dimensions, and the bucket algorithm on it: rings along one
 * dimension after the other.
 *
 *     3 x 4:   0 - 1 - 2 - 3 -     position p = x + 4 y; without a grid of switches positions go
 *              |   |   |   |       server by server, in a server by GPU; on one, coordinate by
 *              4 - 5 - 6 - 7 -     coordinate, at a switch server by server
 *              |   |   |   |
 *              8 - 9 -10 -11 -
 *
 * So that all links work all the time, S is cut into as many shares as there are dimensions and
 * directions: share 0 begins along x, share 1 along y, ..., and half of the shares go round the
 * other way. Reduce-scatter goes along its share's dimensions in turn; all-gather the same way
 * back.
 *
 *     share      dimensions in turn     direction            (two dimensions)
 *     0          x, y                   up
 *     1          y, x                   up
 *     2          x, y                   down
 *     3          y, x                   down
 *
 * N. Jain & Y. Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus
 * interconnects", ICS 2010 (optimal in bandwidth for equal dimensions); P. Sack & W. Gropp, "Faster
 * topology-aware collective algorithms through non-minimal communication", PPoPP 2012, for buckets.
 *
 * With one port a rank, and not one for each neighbour, shares hide each other's latencies: all
 * ranks do the same at the same time, so one port's turns say how long that takes (one-port.h).
 *
 * Dimensions are AlgorithmOptions::dimensions, the last the closest. Without them they are those of
 * the network where the ranks fill a box of a grid of switches (Placement::at), with the ranks at a
 * switch as one more, the closest. Elsewhere (assumed): servers by GPUs of a server where servers
 * are even and both are more than one, else the two factors of n that are closest.
 */
#ifndef COLLECTIVES_SCHEDULES_TORUS_H
#define COLLECTIVES_SCHEDULES_TORUS_H

#include "collectives/core/looped-schedule.h"
#include "collectives/schedules/placed-algorithm.h"

#include <string>
#include <vector>

namespace coll
{

/// Sizes of the dimensions, all above one, the closest first; none for a single rank.
std::vector<uint32_t> TorusDimensions(const Placement& placement, const AlgorithmOptions& options);

/// Ranks by coordinate of their switch, at a switch by server, in a server by GPU: positions in the
/// torus.
std::vector<Rank> TorusPositions(const Placement& placement);

/// Sizes of the box of a grid of switches that the ranks fill, with as many ranks at each, the
/// closest first: the ranks at a switch, then dimension by dimension, 1 included. Empty: they fill
/// none.
std::vector<uint32_t> TorusBox(const Placement& placement);

class TorusSchedule : public Schedule
{
  public:
    Lane Lanes(Rank /* rank */) const final
    {
        return m_channels.Channels() * m_shares;
    }

    StepIndex Steps(Rank /* rank */, Lane lane) const final
    {
        return m_loops * StepsPerLoop(lane);
    }

    uint32_t Channel(Lane lane) const final
    {
        return m_channels.ChannelNumber(lane / m_shares);
    }

    uint64_t PartsOfMessage() const override
    {
        return uint64_t{m_channels.Channels()} * m_shares * m_loops;
    }

    /// Shares of S: dimensions times directions.
    static uint32_t SharesOf(const std::vector<uint32_t>& dimensions);

  protected:
    TorusSchedule(const Collective& what,
                  const Placement& placement,
                  const std::vector<uint32_t>& dimensions,
                  const Shape& shape,
                  const std::vector<uint32_t>& stepsPerLoop);

    /// Parts of S: one for each lane and loop.
    uint32_t Parts() const
    {
        return m_channels.Channels() * m_shares * m_loops;
    }

    /// Where a rank stands in the ring along a dimension of a share, mirrored where the share goes
    /// down, so that all go up.
    struct Ring
    {
        uint32_t dimension;
        uint32_t size;
        uint32_t place;
        Rank previous;
        Rank next;
    };

    /// \param turn the how manieth dimension of the lane's share
    Ring RingOf(Rank rank, Lane lane, uint32_t turn) const;

    /// The coordinate along a dimension of a place in a lane's ring.
    uint32_t Coordinate(Lane lane, const Ring& ring, uint32_t place) const
    {
        return GoesDown(lane) ? ring.size - 1 - place : place;
    }

    uint32_t Dimensions() const
    {
        return static_cast<uint32_t>(m_dimensions.size());
    }

    uint32_t DimensionOf(Lane lane, uint32_t turn) const
    {
        return (lane % m_shares + turn) % Dimensions();
    }

    uint32_t StepsPerLoop(Lane lane) const
    {
        return m_stepsPerLoop.empty() ? 0 : m_stepsPerLoop[lane % m_stepsPerLoop.size()];
    }

    /// Part of channels * shares * loops, and the step within the loop.
    struct Place
    {
        uint64_t part;
        StepIndex step;
    };

    Place Locate(Lane lane, StepIndex k) const
    {
        const uint32_t steps = StepsPerLoop(lane);
        const uint32_t loop = k / steps;
        return {uint64_t{lane} * m_loops + loop, k - loop * steps};
    }

    /// The common cost of the operations. `rounds`: 2 for reduce-scatter and all-gather, 1 for one
    /// of them.
    static Cost CostOfRounds(const Collective& what,
                             const Placement& placement,
                             const std::vector<uint32_t>& dimensions,
                             uint32_t loops,
                             uint32_t rounds);

    bool GoesDown(Lane lane) const
    {
        return lane % m_shares >= Dimensions();
    }

    RingOrder m_channels; ///< for their numbers alone
    std::vector<uint32_t> m_dimensions;
    std::vector<uint32_t> m_strides;
    std::vector<uint32_t> m_positionOf; ///< by rank
    std::vector<Rank> m_rankAt;         ///< by position
    uint32_t m_shares;
    uint32_t m_loops;
    std::vector<uint32_t> m_stepsPerLoop; ///< by the dimension a share begins along
};

/// Refuses dimensions that do not make as many ranks.
class TorusAlgorithm : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_TORUS_H
