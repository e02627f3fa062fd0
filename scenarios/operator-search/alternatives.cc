/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/alternatives.h"

#include "scenarios/operator-search/elimination.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace sharding
{

namespace
{

/// More than any step: a strategy that is not to be taken.
constexpr double kNotTaken = 1e15;

/// Sums of an elimination, roughly: of two neighbours' tables, for each strategy between them.
double
WorkOf(const SearchSpace& space)
{
    double work = 0;
    for (std::size_t e = 0; e < space.ofEdge.size(); ++e)
    {
        const Edge& edge = space.graph->edges[e];
        work += static_cast<double>(space.ofEdge[e].size()) *
                std::max(space.Width(edge.from), space.Width(edge.to));
    }
    return work;
}

void
Sort(std::vector<Alternative>* alternatives)
{
    std::sort(alternatives->begin(),
              alternatives->end(),
              [](const Alternative& a, const Alternative& b) {
                  return std::tie(a.total, a.op, a.choice) < std::tie(b.total, b.op, b.choice);
              });
}

} // namespace

std::vector<Alternative>
OfOneOperator(const SearchSpace& space, const Choice& choice, std::size_t most)
{
    const auto beside = EdgesBeside(*space.graph);
    Choice now = choice;
    const auto totalOf = [&](uint32_t op) {
        double total = space.ofOperator[op][now[op]].total;
        for (const uint32_t e : beside[op])
        {
            const Edge& edge = space.graph->edges[e];
            total += space.OfEdge(e, now[edge.from], now[edge.to]).total;
        }
        return total;
    };
    const double all = space.CostOf(choice).total;
    std::vector<std::tuple<double, uint32_t, uint32_t>> changes; // total, operator, strategy
    for (uint32_t i = 0; i < choice.size(); ++i)
    {
        const double before = totalOf(i);
        for (now[i] = 0; now[i] < space.Width(i); ++now[i])
        {
            if (now[i] != choice[i])
            {
                changes.emplace_back(all + totalOf(i) - before, i, now[i]);
            }
        }
        now[i] = choice[i];
    }
    std::sort(changes.begin(), changes.end());
    changes.resize(std::min(most, changes.size()));
    std::vector<Alternative> found;
    for (const auto& [total, op, strategy] : changes)
    {
        found.push_back({total, op, choice});
        found.back().choice[op] = strategy;
    }
    return found;
}

std::vector<Alternative>
AroundOneOperator(SearchSpace space, const Choice& choice, double work)
{
    const auto times = static_cast<std::size_t>(work / std::max(1.0, WorkOf(space)));
    std::vector<Alternative> found;
    std::set<Choice> known = {choice};
    for (const Alternative& one : OfOneOperator(space, choice, times))
    {
        auto& costs = space.ofOperator[one.op];
        const std::vector<Cost> own = costs;
        const uint32_t taken = one.choice[one.op];
        for (uint32_t s = 0; s < costs.size(); ++s)
        {
            costs[s].total += s == taken ? 0 : kNotTaken;
        }
        const auto around = ByElimination(space, nullptr);
        costs = own;
        if (around && known.insert(*around).second)
        {
            found.push_back({space.CostOf(*around).total, one.op, *around});
        }
    }
    Sort(&found);
    return found;
}

} // namespace sharding
