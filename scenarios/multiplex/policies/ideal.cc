/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The bound that D-STACK compares itself with: each kernel has the share that it can use, what it
 * cannot use others have at once, and nothing costs a switch or slows another down. It bounds the
 * useful work of all models together (PolicyResult::effective), not the requests of one model.
 */
#include "scenarios/multiplex/policy.h"

#include <algorithm>
#include <memory>

namespace multiplex
{

namespace
{

class Ideal : public Policy
{
  public:
    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        plan.gpus = gpus;
        std::vector<double> loads;
        for (const ModelLoad& load : mix.models)
        {
            const ShareCurve& curve = *load.served.curve;
            Place place;
            place.percent = load.percent > 0 ? load.percent : kWholeGpu;
            place.batch =
                load.batch > 0 ? load.batch : LargestInTime(curve, place.percent, NeedOf(load));
            loads.push_back(load.rate * LeastWork(curve, place.batch) / place.batch);
            plan.places.push_back(place);
            m_patience.push_back(static_cast<Time>(load.slo / 2 * kPsPerSecond));
        }
        const auto where = SpreadOver(gpus, mix, loads);
        for (std::size_t i = 0; i < where.size(); ++i)
        {
            plan.places[i].gpu = where[i];
        }
        m_places = plan.places;
        return plan;
    }

    /// While a part of the GPU is free, what waits starts. Else a batch fills, at most until half
    /// of the SLO has passed.
    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        const bool isFull = view.used > kWholeGpu - FREE;
        for (const Seat& seat : view.seats)
        {
            const Place& place = m_places[seat.model];
            const bool isDue =
                seat.waiting >= place.batch || view.now - seat.oldest >= m_patience[seat.model];
            if (seat.waiting > 0 && !seat.running && (!isFull || isDue))
            {
                const auto batch =
                    static_cast<uint32_t>(std::min<uint64_t>(seat.waiting, place.batch));
                starts->push_back({seat.model, batch, place.percent});
                return; // the others: asked again, with this one's use
            }
        }
    }

    Sharing GetSharing() const override
    {
        return Sharing::kFluid;
    }

    bool Interferes() const override
    {
        return false;
    }

  private:
    /// Per cent that is as good as none.
    static constexpr double FREE = 0.01;

    std::vector<Place> m_places;
    std::vector<Time> m_patience; ///< ps, by model
};

const RegisteredPolicy g_ideal({"ideal",
                                8,
                                "a bound: each kernel has the share that it can use, at no cost",
                                [](const PolicySettings&) { return std::make_unique<Ideal>(); }});

} // namespace

} // namespace multiplex
