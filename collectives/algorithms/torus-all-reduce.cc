/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Torus (bucket) all-reduce, see torus.h: reduce-scatter along every dimension in turn, then
 * all-gather along them the other way round.
 *
 *     4 x 3, a share that begins along x:
 *     1. along x   3 steps    rank (x, y) has chunk x of 4, the sum of its row
 *     2. along y   2 steps    part y of 3 of chunk x, the sum of all
 *     3. along y   2 steps    chunk x complete
 *     4. along x   3 steps    all complete
 *
 * 2 sum (d_i - 1) messages in series, 2 S (n-1) / n bytes out of a rank as a ring, over twice as
 * many links as there are dimensions at once: on a torus of m equal dimensions with a port for
 * every link 2 sum (d_i - 1) alpha + S (n-1) / (m n) beta.
 */
#include "collectives/schedules/one-port.h"
#include "collectives/schedules/torus.h"

#include <algorithm>
#include <numeric>

namespace coll
{

namespace
{

/// The largest message is the first of a share, a chunk of the shortest dimension.
Shape
AllReduceShape(const Collective& what,
               const Placement& placement,
               const AlgorithmOptions& options,
               const std::vector<uint32_t>& dimensions)
{
    const uint64_t shortest =
        dimensions.empty() ? 1 : *std::min_element(dimensions.begin(), dimensions.end());
    return Shape(what, placement, options, TorusSchedule::SharesOf(dimensions) * shortest);
}

class TorusAllReduce final : public TorusSchedule
{
  public:
    TorusAllReduce(const Collective& what,
                   const Placement& placement,
                   const AlgorithmOptions& options)
        : TorusAllReduce(what, placement, options, TorusDimensions(placement, options))
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto [part, inLoop] = Locate(lane, k);
        // All-gather is reduce-scatter backwards: the same walk from its end.
        const bool gathers = inLoop >= StepsPerLoop(lane) / 2;
        StepIndex j = gathers ? StepsPerLoop(lane) - 1 - inLoop : inLoop;
        // The units, among the n units of a part, that this rank still works on; a dimension leaves
        // it one chunk of them.
        uint64_t first = 0;
        uint64_t units = m_what.ranks;
        uint32_t turn = 0;
        Ring ring = RingOf(rank, lane, turn);
        while (j >= ring.size)
        {
            j -= ring.size;
            units /= ring.size;
            first += Coordinate(lane, ring, ring.place) * units;
            ring = RingOf(rank, lane, ++turn);
        }
        units /= ring.size;
        j = gathers ? ring.size - 1 - j : j;
        const uint32_t back = gathers ? j : j + 1; // whose chunk passes
        const uint32_t chunk =
            Coordinate(lane, ring, Wrap(ring.place + ring.size - back, ring.size));
        const Step step = PassOn(j > 0 ? ring.previous : kNoRank,
                                 j + 1 < ring.size ? ring.next : kNoRank,
                                 m_chunks.Part(part, first + chunk * units, units));
        return gathers ? step : Reducing(step);
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        const std::vector<uint32_t> dimensions = TorusDimensions(placement, options);
        const Shape shape = AllReduceShape(what, placement, options, dimensions);
        Cost cost = CostOfRounds(what, placement, dimensions, shape.loops, 2);
        cost.posts = cost.chain * shape.channels * SharesOf(dimensions);
        cost.reducedPerRank = cost.sentPerRank / 2;
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        return SecondsOfOnePort(TorusAllReduce(what, placement, options), link);
    }

  private:
    TorusAllReduce(const Collective& what,
                   const Placement& placement,
                   const AlgorithmOptions& options,
                   const std::vector<uint32_t>& dimensions)
        : TorusSchedule(
              what,
              placement,
              dimensions,
              AllReduceShape(what, placement, options, dimensions),
              std::vector<uint32_t>(dimensions.size(),
                                    2 * std::accumulate(dimensions.begin(), dimensions.end(), 0U))),
          m_chunks(what.bytes, Parts(), what.ranks)
    {
    }

    Grid m_chunks;
};

const Registered<PlacedAlgorithm<TorusAllReduce, TorusAlgorithm>> g_torusAllReduce{
    "torus",
    Op::kAllReduce,
    "rings along each dimension in turn, shares of the data along all at once",
    AlgorithmFacts{"2 sum(d_i - 1) alpha + S (n-1)/(m n) beta with m dimensions, a port for each "
                   "neighbour",
                   "Sack & Gropp, PPoPP 2012; Jain & Sabharwal, ICS 2010",
                   {Knob::kChannels, Knob::kPipeline, Knob::kDimensions}}};

} // namespace

} // namespace coll
