/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/elimination.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
/// Sums of a search: some minutes of a core (2e7 to 5e7 a second measured, two busy cores, 2026).
constexpr double kMostAddedUp = 5e9;
/// Combinations beyond which they are not counted on.
constexpr double kTooMany = 1e18;

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

/// Which operator goes next: that with the fewest combinations of neighbours and its own
/// strategies.
class EliminationOrder
{
  public:
    explicit EliminationOrder(const SearchSpace& space)
        : m_space(space),
          m_beside(space.strategies.size()),
          m_sizes(space.strategies.size(), 1)
    {
        for (const Edge& edge : space.graph->edges)
        {
            if (edge.from != edge.to)
            {
                m_beside[edge.from].insert(edge.to);
                m_beside[edge.to].insert(edge.from);
            }
        }
        for (uint32_t i = 0; i < space.strategies.size(); ++i)
        {
            Measure(i);
        }
    }

    bool IsEmpty() const
    {
        return m_left.empty();
    }

    /// Combinations of the next one.
    double Sums() const
    {
        return m_left.begin()->first;
    }

    /// Takes the next one out; its neighbours become each other's.
    Elimination Next()
    {
        const uint32_t op = m_left.begin()->second;
        m_left.erase(m_left.begin());
        const std::vector<uint32_t> neighbours(m_beside[op].begin(), m_beside[op].end());
        for (const uint32_t n : neighbours)
        {
            m_beside[n].insert(neighbours.begin(), neighbours.end());
            m_beside[n].erase(n);
            m_beside[n].erase(op);
        }
        for (const uint32_t n : neighbours)
        {
            Measure(n);
        }
        return {op, neighbours};
    }

  private:
    /// Counts an operator's combinations with its neighbours anew.
    void Measure(uint32_t op)
    {
        m_left.erase({m_sizes[op], op});
        double size = m_space.Width(op);
        for (const uint32_t n : m_beside[op])
        {
            size *= m_space.Width(n);
            if (size > kTooMany)
            {
                break;
            }
        }
        m_sizes[op] = size;
        m_left.insert({size, op});
    }

    const SearchSpace& m_space;
    std::vector<std::set<uint32_t>> m_beside; ///< neighbours
    std::vector<double> m_sizes;
    std::set<std::pair<double, uint32_t>> m_left; ///< by size
};

class Eliminator
{
  public:
    Eliminator(const SearchSpace& space, const std::function<void(double)>& tell)
        : m_space(space),
          m_tell(tell),
          m_tablesOf(space.strategies.size())
    {
        for (uint32_t i = 0; i < space.strategies.size(); ++i)
        {
            Table table{{i}, {}};
            for (const Cost& cost : space.ofOperator[i])
            {
                table.values.push_back(cost.total);
            }
            AddTable(std::move(table));
        }
        for (uint32_t e = 0; e < space.ofEdge.size(); ++e)
        {
            AddEdge(e);
        }
    }

    Choice Run(std::vector<Elimination>* order)
    {
        for (EliminationOrder left(m_space); !left.IsEmpty();)
        {
            const double sums = left.Sums();
            const Elimination next = left.Next();
            if (order != nullptr)
            {
                order->push_back(next);
            }
            Eliminate(next.op, next.neighbours);
            m_sums += sums;
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
    void AddTable(Table table)
    {
        for (const uint32_t op : table.operators)
        {
            m_tablesOf[op].push_back(static_cast<uint32_t>(m_tables.size()));
        }
        m_tables.push_back(std::move(table));
    }

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
        const auto [same, isNew] =
            m_between.try_emplace(std::pair(table.operators[0], table.operators[1]),
                                  static_cast<uint32_t>(m_tables.size()));
        if (isNew)
        {
            AddTable(std::move(table));
            return;
        }
        for (std::size_t i = 0; i < table.values.size(); ++i) // edge elimination
        {
            m_tables[same->second].values[i] += table.values[i];
        }
    }

    void Eliminate(uint32_t op, const std::vector<uint32_t>& neighbours)
    {
        std::vector<Table> with;
        for (const uint32_t t : m_tablesOf[op])
        {
            if (!m_tables[t].operators.empty()) // not yet taken by another operator
            {
                with.push_back(std::exchange(m_tables[t], {}));
            }
        }
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
            if (m_tell && i % kToldEvery == 0)
            {
                m_tell(m_sums + static_cast<double>(i) * wide);
            }
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
            AddTable(std::move(rest));
        }
    }

    static constexpr std::size_t kToldEvery = 1 << 14;

    const SearchSpace& m_space;
    const std::function<void(double)>& m_tell;
    double m_sums = 0;           ///< done
    std::vector<Table> m_tables; ///< taken ones are empty
    std::vector<std::vector<uint32_t>> m_tablesOf;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> m_between; ///< edges' tables
    std::vector<Best> m_best;
};

} // namespace

std::optional<double>
EliminationSums(const SearchSpace& space)
{
    double sums = 0;
    for (EliminationOrder left(space); !left.IsEmpty(); left.Next())
    {
        sums += left.Sums();
        if (left.Sums() > kMostEntries || sums > kMostAddedUp)
        {
            return std::nullopt;
        }
    }
    return sums;
}

std::optional<Choice>
ByElimination(const SearchSpace& space,
              std::vector<Elimination>* order,
              const std::function<void(double)>& tell)
{
    if (!EliminationSums(space))
    {
        return std::nullopt;
    }
    return Eliminator(space, tell).Run(order);
}

} // namespace sharding
