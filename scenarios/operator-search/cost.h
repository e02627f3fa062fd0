/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a strategy of an operator costs, and two strategies of neighbours on the tensor between
 * them. The sum of all is what searches make least.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_COST_H
#define SCENARIOS_OPERATOR_SEARCH_COST_H

#include "scenarios/operator-search/graph.h"
#include "scenarios/operator-search/layout.h"

#include <algorithm>
#include <cstdint>

namespace sharding
{

struct Cost
{
    double computation = 0;   ///< in the model's own unit
    double communication = 0; ///< forward, and what of backward is not of parameters
    double total = 0;         ///< what is made least: both, less what hides

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

/// Backward of an operator with parameters: exchanges of its input's gradient, and the parameters'
/// gradients, which it computes beside them.
struct Beside
{
    double exchanged = 0;
    double computed = 0;

    /// What is not hidden when so much more is exchanged.
    double Exposed(double more = 0) const
    {
        return std::max(0.0, exchanged + more - computed);
    }
};

class CostModel
{
  public:
    virtual ~CostModel() = default;

    /// \return the cost of one operator; folded ones count once
    virtual Cost OfOperator(const Graph& graph, uint32_t op, const Strategy& strategy) const = 0;

    /// \return the cost of moving a tensor from one layout to another, and its gradient back
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

    /// Whether OfBeside() is ever anything.
    virtual bool Hides() const
    {
        return false;
    }

    /// OfOperator() counts its exposed part alone.
    virtual Beside OfBeside(const Graph& /* graph */,
                            uint32_t /* op */,
                            const Strategy& /* strategy */) const
    {
        return {};
    }

    /// The part of OfMove() that brings the gradient back.
    virtual double OfMoveBack(const Graph& /* graph */,
                              const Edge& /* edge */,
                              const Layout& /* from */,
                              const Layout& /* to */) const
    {
        return 0;
    }

    /// "s", or "" of a cost without a unit.
    virtual const char* Unit() const = 0;
};

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_COST_H
