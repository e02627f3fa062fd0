/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/dimension-plan.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <queue>
#include <tuple>

namespace coll
{

const std::vector<std::string>&
RowAlgorithmNames()
{
    static const std::vector<std::string> names = {"ring",
                                                   "one-way-ring",
                                                   "direct",
                                                   "halving-doubling"};
    return names;
}

std::optional<RowAlgorithm>
ParseRowAlgorithm(const std::string& name)
{
    const auto& names = RowAlgorithmNames();
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end()
               ? std::nullopt
               : std::optional<RowAlgorithm>(static_cast<RowAlgorithm>(found - names.begin()));
}

const std::vector<std::string>&
DimensionOrderNames()
{
    static const std::vector<std::string> names = {"ascending", "round-robin", "themis"};
    return names;
}

namespace
{

/// The greedy choice of Themis, chunk by chunk.
class Themis
{
  public:
    Themis(Op op, const std::vector<PlanDimension>& dimensions, bool asAstra)
        : m_gathers(op == Op::kAllGather),
          m_asAstra(asAstra),
          m_dimensions(dimensions),
          m_loads(dimensions.size(), 0),
          m_order(dimensions.size())
    {
        std::iota(m_order.begin(), m_order.end(), 0);
    }

    /// \param usual bytes of all chunks but a last, shorter one
    std::vector<uint32_t> Next(uint64_t bytes, uint64_t usual)
    {
        // From the least loaded to the most; an all-gather grows on its way, so the other way.
        std::stable_sort(m_order.begin(), m_order.end(), [this](uint32_t a, uint32_t b) {
            return m_loads[a] < m_loads[b];
        });
        if (m_gathers)
        {
            std::reverse(m_order.begin(), m_order.end());
        }
        if (Difference() >= static_cast<double>(usual / 16))
        {
            AddLoads(m_order, m_order, bytes);
            return m_order;
        }
        std::vector<uint32_t> straight(m_order.size());
        std::iota(straight.begin(), straight.end(), 0);
        if (!m_gathers)
        {
            m_order = straight;
            AddLoads(straight, straight, bytes);
            return straight;
        }
        std::vector<uint32_t> back(straight.rbegin(), straight.rend());
        m_order = back;
        if (m_asAstra)
        {
            AddLoads(straight, back, bytes);
            return straight;
        }
        AddLoads(back, back, bytes);
        return back;
    }

  private:
    /// Bytes of a chunk that would make the least loaded dimension as loaded as the most loaded.
    double Difference() const
    {
        const double most = m_loads[m_order.back()];
        const double difference = std::fabs(most - m_loads[m_order.front()]);
        if (!m_gathers)
        {
            const PlanDimension& first = m_dimensions[m_order.front()];
            return std::floor(difference * first.rate / (first.size - 1) * first.size);
        }
        const PlanDimension& last = m_dimensions[m_order.back()];
        double bytes = std::floor(difference * last.rate / (last.size - 1));
        for (std::size_t i = m_order.size() - 1; i-- > 0;)
        {
            bytes = std::floor(bytes / m_dimensions[m_order[i]].size);
        }
        return bytes;
    }

    /// \param as the order of sizes and rates \param at whose loads grow
    void AddLoads(const std::vector<uint32_t>& as, const std::vector<uint32_t>& at, uint64_t bytes)
    {
        for (std::size_t i = 0; i < as.size(); ++i)
        {
            const PlanDimension& one = m_dimensions[as[i]];
            const auto all = static_cast<double>(bytes);
            const double sent = m_gathers ? all * (one.size - 1) : all * (one.size - 1) / one.size;
            m_loads[at[i]] += sent / one.rate;
            bytes = m_gathers ? bytes * one.size : bytes / one.size;
        }
    }

    bool m_gathers;
    bool m_asAstra;
    const std::vector<PlanDimension>& m_dimensions;
    std::vector<double> m_loads;
    std::vector<uint32_t> m_order;
};

} // namespace

std::vector<ChunkOrder>
OrdersOfChunks(Op op,
               uint64_t bytes,
               uint32_t splits,
               const std::vector<PlanDimension>& dimensions,
               DimensionOrder order,
               bool asAstra)
{
    std::vector<ChunkOrder> chunks;
    const uint64_t usual = std::max<uint64_t>(1, bytes / std::max(splits, 1U));
    std::vector<uint32_t> ascending(dimensions.size());
    std::iota(ascending.begin(), ascending.end(), 0);
    if (op == Op::kAllGather)
    {
        std::reverse(ascending.begin(), ascending.end());
    }
    Themis themis(op, dimensions, asAstra);
    const bool balances =
        order == DimensionOrder::kThemis && !IsAllToAll(op) && dimensions.size() > 1;
    for (uint64_t left = bytes; left > 0;)
    {
        ChunkOrder chunk{std::min(left, usual), ascending};
        left -= chunk.bytes;
        if (balances)
        {
            chunk.dimensions = themis.Next(chunk.bytes, usual);
        }
        else if (order == DimensionOrder::kRoundRobin && !dimensions.empty())
        {
            const auto first = static_cast<long>(chunks.size() % dimensions.size());
            std::rotate(chunk.dimensions.begin(),
                        chunk.dimensions.begin() + first,
                        chunk.dimensions.end());
        }
        chunks.push_back(std::move(chunk));
    }
    return chunks;
}

ChunkPhases
PhasesOf(Op op,
         const ChunkOrder& chunk,
         const std::vector<PlanDimension>& dimensions,
         bool apart,
         bool baseline)
{
    ChunkPhases phases;
    uint64_t bytes = chunk.bytes;
    const auto add = [&](uint32_t d, Op of) {
        DimensionPhase phase;
        phase.dimension = d;
        phase.op = of;
        phase.bytes = bytes;
        phases.push_back(phase);
        bytes = of == Op::kReduceScatter ? bytes / dimensions[d].size
                : of == Op::kAllGather   ? bytes * dimensions[d].size
                                         : bytes;
    };
    const auto& order = chunk.dimensions;
    if (op != Op::kAllReduce || baseline)
    {
        for (const uint32_t d : order)
        {
            add(d, op);
        }
        return phases;
    }
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        add(order[i], apart || i + 1 < order.size() ? Op::kReduceScatter : Op::kAllReduce);
    }
    for (std::size_t i = order.size() - (apart ? 0 : 1); i-- > 0;)
    {
        add(order[i], Op::kAllGather);
    }
    return phases;
}

const std::vector<std::string>&
WaitOrderNames()
{
    static const std::vector<std::string> names = {"fifo", "shortest", "fewest-left"};
    return names;
}

int64_t
TimePhases(std::vector<ChunkPhases>* chunks,
           std::size_t dimensions,
           uint32_t active,
           WaitOrder order)
{
    using Ending = std::tuple<int64_t, uint64_t, std::size_t, std::size_t>; // end, count, chunk
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
    std::vector<std::deque<std::pair<std::size_t, std::size_t>>> waiting(dimensions);
    std::vector<uint32_t> busy(dimensions, 0);
    uint64_t count = 0;
    int64_t now = 0;
    const auto before = [&](const auto& a, const auto& b) {
        const auto key = [&](const auto& one) -> int64_t {
            const ChunkPhases& its = (*chunks)[one.first];
            return order == WaitOrder::kShortest     ? its[one.second].duration
                   : order == WaitOrder::kFewestLeft ? static_cast<int64_t>(its.size() - one.second)
                                                     : 0;
        };
        return key(a) < key(b);
    };
    const auto serve = [&](uint32_t d) {
        while (busy[d] < active && !waiting[d].empty())
        {
            // Of several alike the first that came.
            const auto next = std::min_element(waiting[d].begin(), waiting[d].end(), before);
            const auto [c, p] = *next;
            waiting[d].erase(next);
            DimensionPhase& phase = (*chunks)[c][p];
            phase.begin = now;
            phase.end = now + phase.duration;
            endings.emplace(phase.end, count++, c, p);
            ++busy[d];
        }
    };
    for (std::size_t c = 0; c < chunks->size(); ++c)
    {
        if (!(*chunks)[c].empty())
        {
            const uint32_t d = (*chunks)[c].front().dimension;
            waiting[d].emplace_back(c, 0);
            serve(d);
        }
    }
    while (!endings.empty())
    {
        const auto [end, number, c, p] = endings.top();
        endings.pop();
        now = end;
        const uint32_t from = (*chunks)[c][p].dimension;
        --busy[from];
        const bool more = p + 1 < (*chunks)[c].size();
        if (more)
        {
            waiting[(*chunks)[c][p + 1].dimension].emplace_back(c, p + 1);
        }
        serve(from);
        if (more)
        {
            serve((*chunks)[c][p + 1].dimension);
        }
    }
    return now;
}

} // namespace coll
