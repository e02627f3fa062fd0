/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a strategy of an operator costs, and two strategies of neighbours on the tensor between
 * them. The sum of all is what searches make least.
 */
#ifndef SCENARIOS_SHARDING_COST_H
#define SCENARIOS_SHARDING_COST_H

#include "scenarios/sharding/graph.h"
#include "scenarios/sharding/layout.h"

namespace sharding
{

struct Cost
{
    double computation = 0;   ///< in the model's own unit
    double communication = 0; ///< forward, and what of backward is not of parameters
    double total = 0;         ///< what is made least

    Cost& operator+=(const Cost& o)
    {
        computation += o.computation;
        communication += o.communication;
        total += o.total;
        return *this;
    }

    Cost operator*(double times) const
    {
        return {computation * times, communication * times, total * times};
    }
};

class CostModel
{
  public:
    virtual ~CostModel() = default;

    /// Of one operator, folded ones once.
    virtual Cost OfOperator(const Graph& graph, uint32_t op, const Strategy& strategy) const = 0;

    /// Of getting a tensor from one layout to another, and its gradient back.
    virtual Cost OfMove(const Graph& graph,
                        const Edge& edge,
                        const Layout& from,
                        const Layout& to) const = 0;

    /// Whether OfScatter() is ever anything.
    virtual bool Scatters() const
    {
        return false;
    }

    /// What a reduce-scatter saves where partial sums go to a layout that is cut along their
    /// devices, as a cost that is not above nothing. \param bytes of a device's slice
    virtual Cost OfScatter(const Digits& /* partial */,
                           const Layout& /* from */,
                           const Layout& /* to */,
                           double /* bytes */) const
    {
        return {};
    }

    /// "s", or "" of a cost without a unit.
    virtual const char* Unit() const = 0;
};

} // namespace sharding

#endif // SCENARIOS_SHARDING_COST_H
