/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Algorithms whose cost depends on the placement of ranks, or on the root. As with LoopedAlgorithm
 * the schedule's class says everything:
 *
 *     class DirectGather final : public Schedule
 *     {
 *         DirectGather(const Collective& what, const Placement&, const AlgorithmOptions&);
 *         ...
 *         static Cost CostOf(const Collective& what, const Placement&, const AlgorithmOptions&);
 *         // Where a sum of latencies and bytes is not all there is to time (idle-link.h):
 *         static std::optional<double> OwnSeconds(..., const IdleLink&);
 *     };
 *     const Registered<PlacedAlgorithm<DirectGather>> g_direct{"direct", Op::kGather,
 *                                                            "help", facts};
 */
#ifndef COLLECTIVES_SCHEDULES_PLACED_ALGORITHM_H
#define COLLECTIVES_SCHEDULES_PLACED_ALGORITHM_H

#include "collectives/core/cost.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/idle-link.h"

#include <type_traits>

namespace coll
{

namespace detail
{

/// Whether S has OwnSeconds.
template <class S, class = void>
struct HasOwnSeconds : std::false_type
{
};

template <class S>
struct HasOwnSeconds<S, std::void_t<decltype(&S::OwnSeconds)>> : std::true_type
{
};

} // namespace detail

/// `S` is the schedule; `Base` refuses unsupported requests. S may have an OwnSeconds as in
/// TimedAlgorithm.
template <class S, class Base = OneOpAlgorithm>
class PlacedAlgorithm final : public Base, public TimedAlgorithm
{
  public:
    using Base::Base;

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        const std::string why = Base::WhyNot(what, placement, options);
        return why.empty() ? TooManySteps(*this, what, placement, options) : why;
    }

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        return S::CostOf(what, placement, options);
    }

    std::optional<double> OwnSeconds(const Collective& what,
                                     const Placement& placement,
                                     const AlgorithmOptions& options,
                                     const IdleLink& link) const override
    {
        if constexpr (detail::HasOwnSeconds<S>::value)
        {
            return S::OwnSeconds(what, placement, options, link);
        }
        else
        {
            return std::nullopt;
        }
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        this->Require(what, placement, options);
        return std::make_unique<S>(what, placement, options);
    }
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_PLACED_ALGORITHM_H
