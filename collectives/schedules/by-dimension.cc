/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/by-dimension.h"

#include "collectives/core/placement.h"
#include "collectives/schedules/all-ports.h"
#include "collectives/schedules/torus.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

namespace coll
{

namespace
{

/// Lanes that fill each other's waits; measured as SplitsOr's numbers.
constexpr uint32_t kLanesAbreast = 8;
constexpr uint32_t kLanesOfPieces = 4;

bool
IsPowerOfTwo(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/// As the rows of a dimension are linked.
RowAlgorithm
UsualRow(const GridDimension& along, uint32_t size)
{
    switch (along.kind)
    {
    case GridDimension::kRing:
    case GridDimension::kLine:
        return RowAlgorithm::kRing;
    case GridDimension::kFull:
        return RowAlgorithm::kDirect;
    case GridDimension::kSwitch:
        break;
    }
    return IsPowerOfTwo(size) ? RowAlgorithm::kHalving : RowAlgorithm::kDirect;
}

/// Links of a GPU that a phase in this dimension uses at once.
uint32_t
LinksAtOnce(const PlanDimension& one)
{
    if (one.algorithm == RowAlgorithm::kRing)
    {
        return one.size > 2 && one.link.kind != GridDimension::kSwitch ? 2 : 1;
    }
    return one.algorithm == RowAlgorithm::kDirect && one.link.kind == GridDimension::kFull
               ? one.size - 1
               : 1;
}

} // namespace

std::vector<PlanDimension>
PlanDimensions(const Placement& placement, const AlgorithmOptions& options)
{
    std::vector<PlanDimension> all;
    std::vector<uint32_t> box =
        options.dimensions.empty() ? TorusBox(placement) : std::vector<uint32_t>();
    const bool told = !box.empty() && placement.along.size() + 1 == box.size();
    if (box.empty())
    {
        box = TorusDimensions(placement, options);
    }
    for (std::size_t i = 0; i < box.size(); ++i)
    {
        PlanDimension one;
        one.size = box[i];
        one.number = told ? i - 1 : i; // box[0]: ranks at one switch
        if (told && i > 0)
        {
            const GridDimension& along = placement.along[placement.along.size() - i];
            one.link = along;
            one.algorithm = UsualRow(along, one.size);
            one.latency = along.latency * (along.kind == GridDimension::kSwitch ? 2 : 1);
        }
        if (one.number < options.rows.size())
        {
            one.algorithm = ParseRowAlgorithm(options.rows[one.number]).value_or(one.algorithm);
        }
        if (told && i > 0)
        {
            one.rate = one.link.rate * LinksAtOnce(one);
        }
        if (one.size > 1)
        {
            all.push_back(one);
        }
    }
    return all;
}

uint32_t
SplitsOr(const AlgorithmOptions& options,
         uint64_t bytes,
         uint32_t ranks,
         const std::vector<PlanDimension>& dimensions)
{
    if (options.splits != 0)
    {
        return options.splits;
    }
    // Measured on tori of 400 Gb/s: more chunks fill the pipeline better, and smaller ones wait for
    // latencies.
    constexpr uint64_t kLeast = 16384;
    constexpr uint64_t kMost = 64;
    const uint64_t room = bytes / ranks / kLeast;
    return dimensions.size() < 2 ? 1 : static_cast<uint32_t>(std::clamp<uint64_t>(room, 1, kMost));
}

ByDimensionSchedule::ByDimensionSchedule(const Collective& what,
                                         const Placement& placement,
                                         const AlgorithmOptions& options)
    : Schedule(what),
      m_dimensions(PlanDimensions(placement, options)),
      m_positionOf(what.ranks),
      m_rankAt(TorusPositions(placement)),
      m_ways(what.op != Op::kAllToAll &&
                     std::any_of(m_dimensions.begin(),
                                 m_dimensions.end(),
                                 [](const PlanDimension& one) {
                                     return one.algorithm == RowAlgorithm::kRing && one.size > 2;
                                 })
                 ? 2
                 : 1),
      m_channels(ChannelsOr(what.op == Op::kAllReduce ? kLanesAbreast : kLanesOfPieces, options)),
      m_splits(0),
      m_units(0, 1, 1),
      m_pieces(0, 1, 1)
{
    // Pieces that lie apart are messages of their own: few chunks, or there are too many.
    constexpr uint32_t kSplitsOfPieces = 16;
    constexpr uint32_t kSplitsOfBlocks = 4;
    const uint32_t most = options.splits != 0 || Packs() ? UINT32_MAX
                          : Exchanges()                  ? kSplitsOfBlocks
                                                         : kSplitsOfPieces;
    const uint32_t splits = std::min(SplitsOr(options, what.bytes, what.ranks, m_dimensions), most);
    m_channels = std::min(m_channels, splits);
    m_splits = (splits + m_channels - 1) / m_channels;
    m_units = Grid(what.bytes, Parts(), what.ranks);
    m_pieces = Grid(what.bytes, what.ranks, Parts());
    for (PlanDimension& one : m_dimensions)
    {
        one.algorithm = Exchanges() ? RowAlgorithm::kDirect : one.algorithm;
    }
    uint32_t stride = 1;
    for (const PlanDimension& one : m_dimensions)
    {
        m_strides.push_back(stride);
        stride *= one.size;
    }
    for (uint32_t position = 0; position < m_rankAt.size(); ++position)
    {
        m_positionOf[m_rankAt[position]] = position;
    }
    // Of times only the ratios count: one chunk of so many units.
    constexpr uint64_t kUnits = 1u << 20;
    const uint64_t own = what.op == Op::kAllGather ? 1 : what.ranks;
    const uint32_t all = m_channels * m_splits;
    const std::vector<ChunkOrder> orders =
        OrdersOfChunks(what.op,
                       kUnits * own * all,
                       all,
                       m_dimensions,
                       options.order.value_or(DimensionOrder::kThemis));
    m_chunks.resize(m_channels);
    m_steps.resize(m_channels);
    std::vector<std::vector<ChunkPhases>> times(m_channels);
    for (uint32_t i = 0; i < all && !m_dimensions.empty(); ++i)
    {
        Chunk chunk;
        chunk.order = orders[i].dimensions;
        ChunkPhases phases = PhasesOf(what.op, orders[i], m_dimensions, true);
        for (std::size_t p = 0; p < phases.size(); ++p)
        {
            Phase phase;
            phase.dimension = phases[p].dimension;
            phase.gathers = phases[p].op == Op::kAllGather;
            // Reduce-scatter takes the order's dimensions in turn; all-gather behind it comes back.
            const std::size_t turns = chunk.order.size();
            phase.turn = static_cast<uint32_t>(p < turns && what.op != Op::kAllGather ? p
                                               : what.op == Op::kAllGather ? turns - 1 - p
                                                                           : 2 * turns - 1 - p);
            phase.passes = Exchanges();
            chunk.phases.push_back(phase);
            const PlanDimension& one = m_dimensions[phase.dimension];
            const double sent =
                phase.gathers ? static_cast<double>(phases[p].bytes) * (one.size - 1)
                              : static_cast<double>(phases[p].bytes) * (one.size - 1) / one.size;
            const double fastest =
                std::max_element(m_dimensions.begin(),
                                 m_dimensions.end(),
                                 [](const auto& a, const auto& b) { return a.rate < b.rate; })
                    ->rate;
            phases[p].duration = std::max<int64_t>(1, std::llround(sent * fastest / one.rate));
        }
        if (what.op == Op::kAllGather)
        {
            // As the way back of a reduce-scatter: the last dimension has the nearest units.
            std::reverse(chunk.order.begin(), chunk.order.end());
        }
        for (Phase& phase : chunk.phases)
        {
            for (std::size_t t = phase.turn + 1; t < chunk.order.size(); ++t)
            {
                phase.below *= m_dimensions[chunk.order[t]].size;
            }
            phase.steps = StepsOf(phase);
        }
        const uint32_t channel = i % m_channels;
        m_chunks[channel].push_back(std::move(chunk));
        times[channel].push_back(std::move(phases));
    }
    for (uint32_t channel = 0; channel < m_channels; ++channel)
    {
        Merge(std::move(times[channel]), options.phases, channel);
    }
}

uint32_t
ByDimensionSchedule::StepsOf(const Phase& phase) const
{
    const PlanDimension& one = m_dimensions[phase.dimension];
    const uint32_t pieces = PiecesOf(phase);
    switch (one.algorithm)
    {
    case RowAlgorithm::kRing:
    case RowAlgorithm::kOneWay:
        return one.size * pieces;
    case RowAlgorithm::kDirect:
        break;
    case RowAlgorithm::kHalving:
        return Packs() ? 2 * CeilLog2(one.size) : 2 * (one.size - 1) * pieces;
    }
    return 2 * (one.size - 1) * pieces;
}

void
ByDimensionSchedule::Merge(std::vector<ChunkPhases> times, WaitOrder order, uint32_t channel)
{
    TimePhases(&times, m_dimensions.size(), 1, order);

    struct Timed
    {
        double at;
        Due due;
    };

    std::vector<Timed> all;
    for (uint32_t c = 0; c < times.size(); ++c)
    {
        for (uint32_t p = 0; p < times[c].size(); ++p)
        {
            const DimensionPhase& phase = times[c][p];
            const uint32_t steps = m_chunks[channel][c].phases[p].steps;
            for (uint32_t step = 0; step < steps; ++step)
            {
                const double share = static_cast<double>(step) / steps;
                all.push_back({static_cast<double>(phase.begin) +
                                   share * static_cast<double>(phase.end - phase.begin),
                               {c, p, step}});
            }
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Timed& a, const Timed& b) {
        return a.at < b.at;
    });
    for (const Timed& one : all)
    {
        m_steps[channel].push_back(one.due);
    }
}

ByDimensionSchedule::Move
ByDimensionSchedule::MoveOf(const Phase& phase, uint32_t own, uint32_t step, bool down) const
{
    const PlanDimension& one = m_dimensions[phase.dimension];
    const uint32_t n = one.size;
    const uint32_t pieces = PiecesOf(phase);
    Move move;
    if (one.algorithm == RowAlgorithm::kRing || one.algorithm == RowAlgorithm::kOneWay)
    {
        const bool mirrored = down && one.algorithm == RowAlgorithm::kRing;
        const auto as = [&](uint32_t place) { return mirrored ? n - 1 - place : place; };
        const uint32_t place = as(own);
        const uint32_t hop = step / pieces;
        move.piece = step % pieces;
        const uint32_t back = phase.gathers ? hop : hop + 1; // whose data pass
        move.sends = move.receives = as(Wrap(place + n - back % n, n));
        move.from = hop > 0 ? as(Wrap(place + n - 1, n)) : UINT32_MAX;
        move.to = hop + 1 < n ? as(Wrap(place + 1, n)) : UINT32_MAX;
        return move;
    }
    if (one.algorithm == RowAlgorithm::kHalving && IsPowerOfTwo(n))
    {
        // Rounds: what a rank keeps is halved, or doubled the same way back.
        uint32_t rounds = CeilLog2(n);
        uint32_t round = 0;
        uint32_t width = 0;
        for (; round < rounds; ++round)
        {
            width = phase.gathers ? 1U << round : n >> (round + 1);
            const uint32_t messages = Packs() ? 1 : width * pieces;
            if (step < 2 * messages)
            {
                break;
            }
            step -= 2 * messages;
        }
        const uint32_t messages = Packs() ? 1 : width * pieces;
        const uint32_t partner = own ^ width;
        const uint32_t mine = own & ~(width - 1);
        const uint32_t its = partner & ~(width - 1);
        const bool receives = step >= messages;
        const uint32_t which = receives ? step - messages : step;
        const uint32_t further = Packs() ? 0 : which / pieces;
        move.piece = which % pieces;
        move.width = Packs() ? width : 1;
        (receives ? move.from : move.to) = partner;
        // Reduce-scatter sends the partner's half, all-gather the own.
        move.sends = (phase.gathers ? mine : its) + further;
        move.receives = (phase.gathers ? its : mine) + further;
        return move;
    }
    const bool receives = step >= (n - 1) * pieces;
    const uint32_t which = receives ? step - (n - 1) * pieces : step;
    const uint32_t offset = which / pieces + 1;
    move.piece = which % pieces;
    const uint32_t other = receives ? Wrap(own + n - offset, n) : Wrap(own + offset, n);
    (receives ? move.from : move.to) = other;
    move.sends = phase.gathers ? own : other;
    move.receives = phase.gathers ? other : own;
    return move;
}

Range
ByDimensionSchedule::Data(Rank rank,
                          const Chunk& chunk,
                          const Phase& phase,
                          uint64_t part,
                          uint32_t coordinate,
                          const Move& move) const
{
    const uint32_t position = m_positionOf[rank];
    if (Packs())
    {
        uint64_t units = m_what.ranks;
        uint64_t first = 0;
        for (uint32_t t = 0; t < phase.turn; ++t)
        {
            units /= m_dimensions[chunk.order[t]].size;
            first += Coordinate(position, chunk.order[t]) * units;
        }
        return m_units.Part(part,
                            first + uint64_t{coordinate} * phase.below,
                            uint64_t{move.width} * phase.below);
    }
    uint32_t of = coordinate * m_strides[phase.dimension];
    for (uint32_t t = 0; t < phase.turn; ++t)
    {
        of += Coordinate(position, chunk.order[t]) * m_strides[chunk.order[t]];
    }
    uint32_t which = move.piece;
    for (std::size_t t = phase.turn + 1; t < chunk.order.size(); ++t)
    {
        const uint32_t size = m_dimensions[chunk.order[t]].size;
        of += which % size * m_strides[chunk.order[t]];
        which /= size;
    }
    return m_pieces.Part(m_rankAt[of], part);
}

uint64_t
ByDimensionSchedule::ScratchBytes(Rank /* rank */) const
{
    // A place for each block and dimension but the last: what the last one moves has arrived.
    return Exchanges() && m_dimensions.size() > 1
               ? (m_dimensions.size() - 1) * m_what.ranks * Parts() * LongestPart()
               : 0;
}

ByDimensionSchedule::Block
ByDimensionSchedule::BlockOf(Rank rank,
                             const Chunk& chunk,
                             const Phase& phase,
                             uint64_t part,
                             uint32_t coordinate,
                             uint32_t piece,
                             bool received) const
{
    Block block;
    const uint32_t position = m_positionOf[rank];
    uint32_t source = position;
    uint32_t destination = position;
    uint32_t moved = UINT32_MAX; // turn of the last dimension in which it came to this rank
    bool arrived = true;
    for (uint32_t t = 0; t < chunk.order.size(); ++t)
    {
        const uint32_t d = chunk.order[t];
        const uint32_t own = Coordinate(position, d);
        uint32_t at = coordinate;
        if (t != phase.turn)
        {
            at = piece % m_dimensions[d].size;
            piece /= m_dimensions[d].size;
        }
        block.number += at * m_strides[d];
        const bool done = received ? t <= phase.turn : t < phase.turn;
        if (done)
        {
            source += at * m_strides[d] - own * m_strides[d];
            moved = at != own ? t : moved;
        }
        else
        {
            destination += at * m_strides[d] - own * m_strides[d];
            arrived = arrived && at == own;
        }
    }
    block.source = m_rankAt[source];
    block.destination = m_rankAt[destination];
    const Range whole = m_pieces.Part(block.destination, 0, Parts());
    const Range its = m_pieces.Part(block.destination, part);
    block.part = {its.offset - whole.offset, its.bytes};
    block.fromInput = moved == UINT32_MAX;
    if (block.fromInput)
    {
        block.where = its.offset;
        return block;
    }
    if (arrived)
    {
        block.where = block.source * whole.bytes + block.part.offset;
        return block;
    }
    // Chunks of other orders have blocks of other lengths at the same number.
    const uint64_t result = m_what.ranks * m_pieces.Part(rank, 0, Parts()).bytes;
    const uint64_t place = (uint64_t{moved} * m_what.ranks + block.number) * Parts() + part;
    block.where = result + place * LongestPart();
    return block;
}

Step
ByDimensionSchedule::At(Rank rank, Lane lane, StepIndex k) const
{
    const uint32_t channel = lane / m_ways;
    const Due& due = m_steps[channel][k];
    const Chunk& chunk = m_chunks[channel][due.chunk];
    const Phase& phase = chunk.phases[due.phase];
    const uint64_t part = uint64_t{lane} * m_splits + due.chunk;
    const uint32_t position = m_positionOf[rank];
    const uint32_t own = Coordinate(position, phase.dimension);
    const uint32_t row = position - own * m_strides[phase.dimension];
    const auto rankAt = [&](uint32_t coordinate) {
        return m_rankAt[row + coordinate * m_strides[phase.dimension]];
    };
    const Move move = MoveOf(phase, own, due.step, lane % m_ways == 1);
    Step step;
    if (phase.passes)
    {
        const bool receives = move.from != UINT32_MAX;
        const uint32_t other = receives ? move.from : move.to;
        const Block block = BlockOf(rank, chunk, phase, part, other, move.piece, receives);
        (receives ? step.recvPeer : step.sendPeer) = rankAt(other);
        (receives ? step.recvOffset : step.sendOffset) = block.where;
        (receives ? step.recvBytes : step.sendBytes) = block.part.bytes;
        step.fromResult = !receives && !block.fromInput;
        return step;
    }
    if (move.from != UINT32_MAX)
    {
        const Range range = Data(rank, chunk, phase, part, move.receives, move);
        step.recvPeer = rankAt(move.from);
        step.recvOffset = range.offset;
        step.recvBytes = range.bytes;
        step.reduce = !phase.gathers;
    }
    if (move.to != UINT32_MAX)
    {
        const Range range = Data(rank, chunk, phase, part, move.sends, move);
        step.sendPeer = rankAt(move.to);
        step.sendOffset = range.offset;
        step.sendBytes = range.bytes;
    }
    return step;
}

uint32_t
ByDimensionSchedule::SendOf(const Phase& phase, uint32_t step) const
{
    const PlanDimension& one = m_dimensions[phase.dimension];
    const uint32_t pieces = PiecesOf(phase);
    if (one.algorithm == RowAlgorithm::kRing || one.algorithm == RowAlgorithm::kOneWay)
    {
        return step - pieces; // a hop before
    }
    if (one.algorithm == RowAlgorithm::kHalving && IsPowerOfTwo(one.size))
    {
        if (Packs())
        {
            return step - 1;
        }
        uint32_t left = step;
        for (uint32_t round = 0;; ++round)
        {
            const uint32_t width = phase.gathers ? 1U << round : one.size >> (round + 1);
            if (left < 2 * width * pieces)
            {
                return step - width * pieces;
            }
            left -= 2 * width * pieces;
        }
    }
    return step - (one.size - 1) * pieces;
}

uint64_t
ByDimensionSchedule::LongestChain() const
{
    uint64_t longest = 0;
    for (uint32_t channel = 0; channel < m_channels; ++channel)
    {
        // Every rank has the same steps at the same depth.
        std::vector<std::vector<std::vector<uint64_t>>> sentAt(m_chunks[channel].size());
        for (std::size_t c = 0; c < sentAt.size(); ++c)
        {
            for (const Phase& phase : m_chunks[channel][c].phases)
            {
                sentAt[c].emplace_back(phase.steps, 0);
            }
        }
        uint64_t depth = 0;
        for (const Due& due : m_steps[channel])
        {
            const Phase& phase = m_chunks[channel][due.chunk].phases[due.phase];
            const Move move = MoveOf(phase, 0, due.step, false);
            auto& sent = sentAt[due.chunk][due.phase];
            if (move.from != UINT32_MAX)
            {
                depth = std::max(depth, sent[SendOf(phase, due.step)] + 1);
            }
            sent[due.step] = depth;
        }
        longest = std::max(longest, depth);
    }
    return longest;
}

Cost
ByDimensionSchedule::CostOf(const Collective& what,
                            const Placement& placement,
                            const AlgorithmOptions& options)
{
    Cost cost;
    if (what.ranks <= 1)
    {
        return cost;
    }
    const ByDimensionSchedule schedule(what, placement, options);
    const uint32_t rounds = what.op == Op::kAllReduce ? 2 : 1;
    cost.chain = schedule.LongestChain();
    if (what.op == Op::kAllToAll)
    {
        for (const PlanDimension& one : schedule.m_dimensions)
        {
            // Of each dimension's row all blocks but those for the own coordinate.
            cost.sentPerRank += AllButOne(static_cast<double>(what.bytes), one.size);
            cost.totalBytes += what.bytes * (what.ranks - what.ranks / one.size);
        }
    }
    else
    {
        cost.sentPerRank = rounds * AllButOne(static_cast<double>(what.bytes), what.ranks);
        cost.totalBytes = rounds * (what.ranks - 1ULL) * what.bytes;
        cost.reducedPerRank = what.op == Op::kAllGather ? 0 : cost.sentPerRank / rounds;
    }
    cost.serialBytes = cost.sentPerRank;
    // Where the first rank sends to, by its place in the row, says it of all, but for rounding.
    using Relation = std::tuple<uint32_t, bool, uint32_t>; // dimension, halving, how far
    std::map<Relation, double> sentTo;
    for (Lane lane = 0; lane < schedule.Lanes(0); ++lane)
    {
        for (StepIndex k = 0; k < schedule.Steps(0, lane); ++k)
        {
            const Due& due = schedule.m_steps[lane / schedule.m_ways][k];
            const Chunk& chunk = schedule.m_chunks[lane / schedule.m_ways][due.chunk];
            const Phase& phase = chunk.phases[due.phase];
            const Move move = schedule.MoveOf(phase, 0, due.step, lane % schedule.m_ways == 1);
            if (move.to == UINT32_MAX)
            {
                continue;
            }
            ++cost.posts;
            const bool halves =
                schedule.m_dimensions[phase.dimension].algorithm == RowAlgorithm::kHalving;
            // Without rounding: so many of the units that S is cut into.
            const double units =
                schedule.Packs() ? static_cast<double>(move.width) * phase.below : 1;
            sentTo[{phase.dimension, halves, move.to}] += units;
        }
    }
    if (!HasSeveralServers(placement))
    {
        cost.chainOutside = 0;
        return cost;
    }
    const double unit =
        static_cast<double>(what.bytes) / what.ranks / static_cast<double>(schedule.Parts());
    std::unordered_map<uint32_t, double> outOf;
    for (uint32_t position = 0; position < what.ranks; ++position)
    {
        const uint32_t server = placement.serverOf[schedule.m_rankAt[position]];
        for (const auto& [relation, units] : sentTo)
        {
            const auto [dimension, halves, far] = relation;
            const uint32_t size = schedule.m_dimensions[dimension].size;
            const uint32_t own = schedule.Coordinate(position, dimension);
            const uint32_t to = halves ? own ^ far : Wrap(own + far, size);
            const uint32_t stride = schedule.m_strides[dimension];
            const Rank peer = schedule.m_rankAt[position - own * stride + to * stride];
            outOf[server] += placement.serverOf[peer] != server ? units * unit : 0;
        }
    }
    for (const auto& [server, sent] : outOf)
    {
        cost.outOfServer = std::max(cost.outOfServer, sent);
    }
    return cost;
}

std::optional<double>
ByDimensionSchedule::OwnSeconds(const Collective& what,
                                const Placement& placement,
                                const AlgorithmOptions& options,
                                const IdleLink& link)
{
    return SecondsOfAllPorts(ByDimensionSchedule(what, placement, options), what.ranks, link);
}

} // namespace coll
