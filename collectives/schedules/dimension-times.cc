/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/dimension-times.h"

#include "collectives/core/cost.h"
#include "collectives/schedules/by-dimension.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace coll
{

namespace
{

constexpr int64_t kPsOfNs = 1000;

/// Links on the way to one so many places further in a row.
uint32_t
HopsOf(const PlanDimension& one, uint32_t further)
{
    switch (one.link.kind)
    {
    case GridDimension::kRing:
        return std::min(further, one.size - further);
    case GridDimension::kLine:
        return further;
    case GridDimension::kFull:
        return 1;
    case GridDimension::kSwitch:
        break;
    }
    return 2;
}

/// ns
int64_t
MessageTime(const PlanDimension& one, uint32_t hops, double bytes)
{
    return static_cast<int64_t>(hops * (one.link.latency * 1e9) + bytes / one.link.rate * 1e9);
}

} // namespace

int64_t
PhaseTime(const PlanDimension& one, const DimensionPhase& phase, const DimensionTimes& times)
{
    const uint32_t n = one.size;
    const auto endpoint = static_cast<int64_t>(std::llround(times.endpointDelay * 1e9));
    const auto add = [&](double bytes) {
        return 3 * static_cast<int64_t>(bytes / times.memoryRate * 1e9);
    };
    const bool gathers = phase.op == Op::kAllGather;
    const bool both = phase.op == Op::kAllReduce;
    const bool adds = both || phase.op == Op::kReduceScatter;
    const double piece =
        gathers ? static_cast<double>(phase.bytes) : static_cast<double>(phase.bytes / n);
    const bool ring =
        one.algorithm == RowAlgorithm::kRing || one.algorithm == RowAlgorithm::kOneWay;
    int64_t ns = endpoint;
    if (ring)
    {
        const bool halves = one.algorithm == RowAlgorithm::kRing && n > 2;
        const double bytes = halves ? piece / 2 : piece;
        const int64_t step = MessageTime(one, HopsOf(one, 1), bytes) + endpoint;
        const int64_t steps = phase.op == Op::kAllToAll ? int64_t{n} * (n - 1) / 2 : n - 1;
        ns += (both ? 2 : 1) * steps * step + (adds ? (n - 1) * add(bytes) : 0);
        // A line has no link from its last to its first: what goes round passes all the others.
        ns += one.link.kind == GridDimension::kLine
                  ? (both ? 2 : 1) * MessageTime(one, HopsOf(one, n - 1) - 1, 0)
                  : 0;
    }
    else if (one.algorithm == RowAlgorithm::kDirect || phase.op == Op::kAllToAll)
    {
        uint32_t hops = 0;
        for (uint32_t further = 1; further < n; ++further)
        {
            hops = std::max(hops, HopsOf(one, further));
        }
        ns += (both ? 2 : 1) * (MessageTime(one, hops, piece) + endpoint) + (adds ? add(piece) : 0);
    }
    else
    {
        for (uint32_t round = 0; round < CeilLog2(n); ++round)
        {
            const uint32_t further = gathers ? n >> (round + 1) : 1U << round;
            const double bytes =
                gathers ? piece * (1U << round) : static_cast<double>(phase.bytes >> (round + 1));
            ns += (both ? 2 : 1) * (MessageTime(one, HopsOf(one, further), bytes) + endpoint);
            ns += adds && round > 0 ? add(bytes) : 0;
        }
    }
    return ns * kPsOfNs;
}

DimensionTimetable
TimetableOf(const Collective& what,
            const Placement& placement,
            const AlgorithmOptions& options,
            const DimensionTimes& times)
{
    DimensionTimetable table;
    std::vector<PlanDimension> dimensions = PlanDimensions(placement, options);
    for (PlanDimension& one : dimensions)
    {
        one.rate = one.link.rate; // as ASTRA-sim's orders have it
        table.numbers.push_back(static_cast<uint32_t>(one.number));
    }
    const DimensionOrder order = options.order.value_or(DimensionOrder::kAscending);
    const uint64_t bytes = what.op == Op::kAllGather ? what.bytes / what.ranks : what.bytes;
    const uint32_t splits = SplitsOr(options, what.bytes, what.ranks, dimensions);
    if (dimensions.empty())
    {
        return table;
    }
    for (const ChunkOrder& chunk : OrdersOfChunks(what.op, bytes, splits, dimensions, order, true))
    {
        const bool apart = order == DimensionOrder::kThemis && !times.baseline;
        table.chunks.push_back(PhasesOf(what.op, chunk, dimensions, apart, times.baseline));
        for (DimensionPhase& phase : table.chunks.back())
        {
            phase.duration = PhaseTime(dimensions[phase.dimension], phase, times);
        }
    }
    table.end = TimePhases(&table.chunks, dimensions.size(), times.active, options.phases);
    return table;
}

std::vector<DimensionTurns::Turn>&
DimensionTurns::TurnsOf(uint32_t rank, uint32_t dimension, int64_t now)
{
    std::vector<Turn>& turns = m_turns[uint64_t{rank} << 8 | dimension];
    const auto past = std::find_if(turns.begin(), turns.end(), [now](const Turn& turn) {
        return turn.second > now;
    });
    turns.erase(turns.begin(), past);
    return turns;
}

int64_t
DimensionTurns::FirstFree(const std::vector<Turn>& turns, int64_t from, int64_t length)
{
    for (const Turn& turn : turns)
    {
        if (turn.second <= from)
        {
            continue;
        }
        if (from + length <= turn.first)
        {
            break;
        }
        from = turn.second;
    }
    return from;
}

void
DimensionTurns::Add(std::vector<Turn>* turns, const Turn& turn)
{
    const auto at = std::upper_bound(turns->begin(), turns->end(), turn);
    const auto index = static_cast<std::size_t>(at - turns->begin());
    turns->insert(at, turn);
    // Turns that touch are one.
    std::size_t first = index > 0 ? index - 1 : 0;
    while (first + 1 < turns->size() && first <= index)
    {
        Turn& here = (*turns)[first];
        const Turn& next = (*turns)[first + 1];
        if (next.first > here.second)
        {
            ++first;
            continue;
        }
        here.second = std::max(here.second, next.second);
        turns->erase(turns->begin() + static_cast<long>(first) + 1);
    }
}

int64_t
DimensionTurns::Take(const std::vector<uint32_t>& ranks,
                     const DimensionTimetable& table,
                     int64_t now)
{
    bool free = true;
    for (const uint32_t rank : ranks)
    {
        for (const uint32_t number : table.numbers)
        {
            free = TurnsOf(rank, number, now).empty() && free;
        }
    }
    using Place = std::tuple<int64_t, std::size_t, std::size_t>; // begin, chunk, phase
    std::vector<Place> places;
    for (std::size_t c = 0; c < table.chunks.size(); ++c)
    {
        for (std::size_t p = 0; p < table.chunks[c].size(); ++p)
        {
            places.emplace_back(table.chunks[c][p].begin, c, p);
        }
    }
    std::sort(places.begin(), places.end());
    std::vector<int64_t> ready(table.chunks.size(), now);
    int64_t end = now;
    for (const auto& [begin, c, p] : places)
    {
        const DimensionPhase& phase = table.chunks[c][p];
        const uint32_t number = table.numbers[phase.dimension];
        int64_t at = free ? now + begin : ready[c];
        for (int64_t before = -1; !free && before != at;)
        {
            before = at;
            for (const uint32_t rank : ranks)
            {
                at = FirstFree(m_turns[uint64_t{rank} << 8 | number], at, phase.duration);
            }
        }
        for (const uint32_t rank : ranks)
        {
            Add(&m_turns[uint64_t{rank} << 8 | number], {at, at + phase.duration});
        }
        ready[c] = at + phase.duration;
        end = std::max(end, ready[c]);
    }
    return end;
}

} // namespace coll
