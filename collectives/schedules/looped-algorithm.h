/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What algorithms over channels and loops (looped-schedule.h) share: their schedule's class says
 * everything, so that a file holds the schedule, its cost and a line of registration:
 *
 *     class RingAllReduce final : public LoopedSchedule
 *     {
 *         RingAllReduce(const Collective& what, const Placement& placement, const Shape& shape);
 *         Step At(Rank rank, Lane lane, StepIndex k) const override;
 *         static Cost CostOf(const Extent& e);
 *     };
 *     const Registered<LoopedAlgorithm<RingAllReduce>> g_ring{
 *         "ring", Op::kAllReduce, "help", facts};
 *
 * All ranks have as many steps: trees and stars are schedules of their own (schedule.h).
 */
#ifndef COLLECTIVES_SCHEDULES_LOOPED_ALGORITHM_H
#define COLLECTIVES_SCHEDULES_LOOPED_ALGORITHM_H

#include "collectives/core/cost.h"
#include "collectives/core/looped-schedule.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/idle-link.h"

namespace coll
{

/// `S` is the schedule; `Base` refuses unsupported requests. S may have a ShapeOf of its own.
template <class S, class Base = OneOpAlgorithm>
class LoopedAlgorithm final : public Base, public TimedAlgorithm
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
        const Shape shape = S::ShapeOf(what, placement, options);
        return S::CostOf(ExtentOf(what, placement, shape.channels, shape.loops));
    }

    std::optional<double> OwnSeconds(const Collective& what,
                                     const Placement& placement,
                                     const AlgorithmOptions& options,
                                     const IdleLink& link) const override
    {
        if (!S::kAnswered)
        {
            return std::nullopt;
        }
        InSeries series;
        series.answered = true;
        return SecondsOf(*CostOf(what, placement, options), link, series);
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        this->Require(what, placement, options);
        return std::make_unique<S>(what, placement, S::ShapeOf(what, placement, options));
    }
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_LOOPED_ALGORITHM_H
