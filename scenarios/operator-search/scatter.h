/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Partial sums whose reader wants them cut along the devices that have them: a reduce-scatter in
 * place of an all-reduce and a slice. It sends half as much, as Megatron-LM's sequence parallelism
 * does (Korthikanti et al. 2022, section 4.2.2).
 *
 *   y = x W, inner cut into 4, rows whole       partial sums over digit d of 4
 *   z = y + b, rows cut along d                 reduce-scatter over d, no slice
 *
 * Forward: where the reader is the only one. Backward: the gradient of each edge by itself.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SCATTER_H
#define SCENARIOS_OPERATOR_SEARCH_SCATTER_H

#include "scenarios/operator-search/simulator-cost.h"

#include <cstdint>
#include <vector>

namespace sharding
{

/// \param partial digits of the devices with partial sums
/// \return their digits along which `to` cuts what `from` leaves whole; none: an all-reduce it is
Digits ScatteredDigits(const Digits& partial, const Layout& from, const Layout& to);

/// The collectives that add partial sums up. \param bytes of a device's slice
/// \param scattered of ScatteredDigits
std::vector<MoveCollective> SumsOf(const Digits& partial,
                                   const Digits& scattered,
                                   double bytes,
                                   uint32_t devices);

/// By edge, whether it alone takes an operator's output, as often as the operator stands there.
std::vector<bool> SoleEdges(const Graph& graph);

/// Digits along which an operator's partial sums are scattered. \param into EdgesInto, by operator
class Scatters
{
  public:
    Scatters(const Graph& graph, const std::vector<Strategy>& strategies);

    /// \return the digits of an operator's output
    const Digits& Forward(uint32_t op) const
    {
        return m_forward[op];
    }

    /// \return the digits of an edge's gradient
    const Digits& Backward(uint32_t edge) const
    {
        return m_backward[edge];
    }

  private:
    std::vector<Digits> m_forward;
    std::vector<Digits> m_backward;
};

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SCATTER_H
