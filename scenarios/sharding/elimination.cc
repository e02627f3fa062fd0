/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/sharding/elimination.h"

#include <algorithm>
#include <limits>
#include <set>

namespace sharding
{

const char*
EliminationName(const Elimination& elimination)
{
    switch (elimination.neighbours.size())
    {
    case 0:
        return "the last of its part";
    case 1:
        return "merge";
    case 2:
        return "operator";
    default:
        return "star";
    }
}

namespace
{

/// Entries of a table: assumed to be what a machine computes in some seconds.
constexpr double kMostEntries = 6e7;

/// What strategies of some operators cost together, the last operator's fastest.
struct Table
{
    std::vector<uint32_t> operators; ///< ascending
    std::vector<double> values;
};

/// The best strategy of an eliminated operator.
struct Best
{
    Table of; ///< values: index of the strategy
    uint32_t op = 0;
};

class Eliminator
{
  public:
    explicit Eliminator(const SearchSpace& space)
        : m_space(space)
    {
        for (uint32_t i = 0; i < space.strategies.size(); ++i)
        {
            Table table{{i}, {}};
            for (const Cost& cost : space.ofOperator[i])
            {
                table.values.push_back(cost.total);
            }
            m_tables.push_back(std::move(table));
            m_left.insert(i);
        }
        for (uint32_t e = 0; e < space.ofEdge.size(); ++e)
        {
            AddEdge(e);
        }
    }

    std::optional<Choice> Run(std::vector<Elimination>* order)
    {
        while (!m_left.empty())
        {
            const auto [op, size] = Next();
            if (size * m_space.Width(op) > kMostEntries)
            {
                return std::nullopt;
            }
            const std::vector<uint32_t> neighbours = NeighboursOf(op);
            if (order != nullptr)
            {
                order->push_back({op, neighbours});
            }
            Eliminate(op, neighbours);
            m_left.erase(op);
        }
        Choice choice(m_space.strategies.size(), 0);
        for (auto best = m_best.rbegin(); best != m_best.rend(); ++best)
        {
            std::size_t at = 0;
            for (const uint32_t o : best->of.operators)
            {
                at = at * m_space.Width(o) + choice[o];
            }
            choice[best->op] = static_cast<uint32_t>(best->of.values[at]);
        }
        return choice;
    }

  private:
    void AddEdge(uint32_t e)
    {
        const Edge& edge = m_space.graph->edges[e];
        const uint32_t wide = m_space.Width(edge.to);
        if (edge.from == edge.to) // a folded block of one operator
        {
            for (uint32_t s = 0; s < wide; ++s)
            {
                m_tables[edge.from].values[s] += m_space.OfEdge(e, s, s).total;
            }
            return;
        }
        const bool turned = edge.from > edge.to;
        Table table{{std::min(edge.from, edge.to), std::max(edge.from, edge.to)}, {}};
        const uint32_t rows = m_space.Width(table.operators[0]);
        const uint32_t columns = m_space.Width(table.operators[1]);
        for (uint32_t a = 0; a < rows; ++a)
        {
            for (uint32_t b = 0; b < columns; ++b)
            {
                table.values.push_back(m_space.OfEdge(e, turned ? b : a, turned ? a : b).total);
            }
        }
        const auto same = std::find_if(m_tables.begin(), m_tables.end(), [&](const Table& t) {
            return t.operators == table.operators;
        });
        if (same == m_tables.end())
        {
            m_tables.push_back(std::move(table));
            return;
        }
        for (std::size_t i = 0; i < table.values.size(); ++i) // edge elimination
        {
            same->values[i] += table.values[i];
        }
    }

    std::vector<uint32_t> NeighboursOf(uint32_t op) const
    {
        std::set<uint32_t> neighbours;
        for (const Table& table : m_tables)
        {
            if (std::find(table.operators.begin(), table.operators.end(), op) !=
                table.operators.end())
            {
                neighbours.insert(table.operators.begin(), table.operators.end());
            }
        }
        neighbours.erase(op);
        return {neighbours.begin(), neighbours.end()};
    }

    /// The operator with the fewest combinations of neighbours, and their number.
    std::pair<uint32_t, double> Next() const
    {
        std::pair<uint32_t, double> next{0, std::numeric_limits<double>::infinity()};
        for (const uint32_t op : m_left)
        {
            double size = 1;
            for (const uint32_t n : NeighboursOf(op))
            {
                size *= m_space.Width(n);
            }
            if (size * m_space.Width(op) < next.second)
            {
                next = {op, size * m_space.Width(op)};
            }
        }
        next.second /= m_space.Width(next.first);
        return next;
    }

    void Eliminate(uint32_t op, const std::vector<uint32_t>& neighbours)
    {
        std::vector<Table> with;
        std::vector<Table> without;
        for (Table& table : m_tables)
        {
            const bool has = std::find(table.operators.begin(), table.operators.end(), op) !=
                             table.operators.end();
            (has ? with : without).push_back(std::move(table));
        }
        m_tables = std::move(without);
        std::size_t size = 1;
        for (const uint32_t n : neighbours)
        {
            size *= m_space.Width(n);
        }
        const uint32_t wide = m_space.Width(op);
        Best best{{neighbours, std::vector<double>(size)}, op};
        Table rest{neighbours, std::vector<double>(size)};
        std::vector<uint32_t> at(neighbours.size(), 0);
        std::vector<double> sum(wide);
        for (std::size_t i = 0; i < size; ++i)
        {
            std::fill(sum.begin(), sum.end(), 0);
            for (const Table& table : with)
            {
                std::size_t base = 0;
                std::size_t step = 0;
                for (const uint32_t o : table.operators)
                {
                    base *= m_space.Width(o);
                    step *= m_space.Width(o);
                    if (o == op)
                    {
                        step = 1;
                    }
                    else
                    {
                        base += at[std::lower_bound(neighbours.begin(), neighbours.end(), o) -
                                   neighbours.begin()];
                    }
                }
                const double* values = table.values.data() + base;
                for (uint32_t s = 0; s < wide; ++s)
                {
                    sum[s] += values[s * step];
                }
            }
            // Strategies ascend by their cuts: of equal ones the last.
            uint32_t least = wide - 1;
            for (uint32_t s = wide - 1; s-- > 0;)
            {
                least = sum[s] < sum[least] ? s : least;
            }
            best.of.values[i] = least;
            rest.values[i] = sum[least];
            for (std::size_t n = neighbours.size(); n-- > 0;)
            {
                if (++at[n] < m_space.Width(neighbours[n]))
                {
                    break;
                }
                at[n] = 0;
            }
        }
        m_best.push_back(std::move(best));
        if (!neighbours.empty())
        {
            m_tables.push_back(std::move(rest));
        }
    }

    const SearchSpace& m_space;
    std::vector<Table> m_tables;
    std::set<uint32_t> m_left;
    std::vector<Best> m_best;
};

} // namespace

std::optional<Choice>
ByElimination(const SearchSpace& space, std::vector<Elimination>* order)
{
    return Eliminator(space).Run(order);
}

} // namespace sharding
