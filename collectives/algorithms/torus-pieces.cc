/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Torus (bucket) reduce-scatter and all-gather, see torus.h. S is n pieces, piece r belongs to rank
 * r wherever it stands.
 *
 *     4 x 3, reduce-scatter, a share that begins along x:
 *     1. along x   3 hops of 3 messages    rank (x, y) has the pieces of column x, sums of its row
 *     2. along y   2 hops of 1 message     its own piece, the sum of all
 *
 * The pieces of a column lie apart in S, so a hop passes them as messages of their own, which do
 * not wait for each other. All-gather is that backwards. sum (d_i - 1) messages in series, n-1
 * messages of S / n a rank and share in all.
 */
#include "collectives/schedules/one-port.h"
#include "collectives/schedules/torus.h"

namespace coll
{

namespace
{

Shape
PiecesShape(const Collective& what,
            const Placement& placement,
            const AlgorithmOptions& options,
            const std::vector<uint32_t>& dimensions)
{
    return Shape(what,
                 placement,
                 options,
                 uint64_t{TorusSchedule::SharesOf(dimensions)} * what.ranks);
}

template <Op OP>
class TorusPieces final : public TorusSchedule
{
  public:
    TorusPieces(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
        : TorusPieces(what, placement, options, TorusDimensions(placement, options))
    {
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto [part, inLoop] = Locate(lane, k);
        StepIndex j = REDUCES ? inLoop : StepsPerLoop(lane) - 1 - inLoop;
        // A dimension leaves this rank the pieces of those at its own coordinate.
        uint32_t pieces = m_what.ranks;
        uint32_t turn = 0;
        uint32_t position = 0;
        Ring ring = RingOf(rank, lane, turn);
        while (j >= pieces)
        {
            j -= pieces;
            pieces /= ring.size;
            position += Coordinate(lane, ring, ring.place) * m_strides[ring.dimension];
            ring = RingOf(rank, lane, ++turn);
        }
        pieces /= ring.size; // pieces of a hop
        const uint32_t walked = j / pieces;
        const uint32_t hop = REDUCES ? walked : ring.size - 1 - walked;
        const uint32_t back = REDUCES ? hop + 1 : hop;
        position += Coordinate(lane, ring, Wrap(ring.place + ring.size - back, ring.size)) *
                    m_strides[ring.dimension];
        uint32_t which = j - walked * pieces; // a digit for each dimension to come
        for (uint32_t later = turn + 1; later < Dimensions(); later++)
        {
            const uint32_t dimension = DimensionOf(lane, later);
            const uint32_t digit = which % m_dimensions[dimension];
            which /= m_dimensions[dimension];
            position += digit * m_strides[dimension];
        }
        const Step step = PassOn(hop > 0 ? ring.previous : kNoRank,
                                 hop + 1 < ring.size ? ring.next : kNoRank,
                                 m_pieces.Part(m_rankAt[position], part));
        return REDUCES ? Reducing(step) : step;
    }

    static Cost CostOf(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options)
    {
        const std::vector<uint32_t> dimensions = TorusDimensions(placement, options);
        const Shape shape = PiecesShape(what, placement, options, dimensions);
        Cost cost = CostOfRounds(what, placement, dimensions, shape.loops, 1);
        cost.posts = (what.ranks - 1UL) * shape.Parts() * SharesOf(dimensions);
        cost.reducedPerRank = REDUCES ? cost.sentPerRank : 0;
        return cost;
    }

    static std::optional<double> OwnSeconds(const Collective& what,
                                            const Placement& placement,
                                            const AlgorithmOptions& options,
                                            const IdleLink& link)
    {
        return SecondsOfOnePort(TorusPieces(what, placement, options), link);
    }

  private:
    static constexpr bool REDUCES = OP == Op::kReduceScatter;

    TorusPieces(const Collective& what,
                const Placement& placement,
                const AlgorithmOptions& options,
                const std::vector<uint32_t>& dimensions)
        : TorusSchedule(what,
                        placement,
                        dimensions,
                        PiecesShape(what, placement, options, dimensions),
                        StepsOfShares(what.ranks, dimensions)),
          m_pieces(what.bytes, what.ranks, Parts())
    {
    }

    /// Along a dimension all the pieces that are still to be done are passed once.
    static std::vector<uint32_t> StepsOfShares(uint32_t ranks,
                                               const std::vector<uint32_t>& dimensions)
    {
        std::vector<uint32_t> steps;
        for (size_t first = 0; first < dimensions.size(); first++)
        {
            uint32_t pieces = ranks;
            steps.push_back(0);
            for (size_t turn = 0; turn < dimensions.size(); turn++)
            {
                steps.back() += pieces;
                pieces /= dimensions[(first + turn) % dimensions.size()];
            }
        }
        return steps;
    }

    Grid m_pieces;
};

const Registered<PlacedAlgorithm<TorusPieces<Op::kReduceScatter>, TorusAlgorithm>>
    g_torusReduceScatter{
        "torus",
        Op::kReduceScatter,
        "rings along each dimension in turn, shares of the data along all at once",
        AlgorithmFacts{
            "sum(d_i - 1) alpha + S (n-1)/(2 m n) beta with m dimensions, a port for each "
            "neighbour",
            "Sack & Gropp, PPoPP 2012; Jain & Sabharwal, ICS 2010",
            {Knob::kChannels, Knob::kPipeline, Knob::kDimensions}}};
const Registered<PlacedAlgorithm<TorusPieces<Op::kAllGather>, TorusAlgorithm>> g_torusAllGather{
    "torus",
    Op::kAllGather,
    "rings along each dimension in turn, shares of the data along all at once",
    AlgorithmFacts{"sum(d_i - 1) alpha + S (n-1)/(2 m n) beta with m dimensions, a port for each "
                   "neighbour",
                   "Sack & Gropp, PPoPP 2012; Jain & Sabharwal, ICS 2010",
                   {Knob::kChannels, Knob::kPipeline, Knob::kDimensions}}};

} // namespace

} // namespace coll
