/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The least shares that meet half of each SLO and each rate, interference counted; GPUs are added
 * where they do not fit (F. Xu et al., iGniter, IEEE TPDS 34(3), 2023, algorithms 1 and 2):
 *
 *   1  a batch as large as the requests that arrive in half of the SLO
 *   2  for each model the least share that is fast enough alone
 *   3  the largest share first: to the GPU where all that are there grow least until all are fast
 *      enough together; to a new one if there is none
 */
#include "scenarios/multiplex/interference.h"
#include "scenarios/multiplex/policy.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace multiplex
{

namespace
{

/// GPUs that it may add up to: assumed.
constexpr uint32_t MOST_GPUS = 1000;

class Igniter : public Policy
{
  public:
    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        const std::size_t n = mix.models.size();
        plan.places.resize(n);
        m_bounds.assign(n, 0);
        for (std::size_t i = 0; i < n; ++i)
        {
            Size(mix.models[i], &plan.places[i], &m_bounds[i]);
        }
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const bool first = mix.models[a].gpu.has_value();
            const bool second = mix.models[b].gpu.has_value();
            return first != second ? first : plan.places[a].percent > plan.places[b].percent;
        });
        std::vector<std::vector<std::size_t>> groups(gpus);
        for (const std::size_t i : order)
        {
            if (!Put(mix, i, &groups, &plan))
            {
                return plan;
            }
        }
        plan.gpus = static_cast<uint32_t>(groups.size());
        if (plan.gpus > gpus)
        {
            plan.notes.push_back("the SLOs need " + topo::Counted(plan.gpus, "GPU") + ", " +
                                 std::to_string(gpus) + (gpus == 1 ? " is" : " are") + " there");
        }
        m_places = plan.places;
        return plan;
    }

    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        StartEach(view, m_places, starts);
    }

  private:
    static double SecondsAt(const ModelLoad& load, uint32_t batch, double percent)
    {
        const ShareCurve& curve = *load.served.curve;
        const double share = KnownShare(curve, batch, percent);
        return curve.Seconds(batch, share) * share / percent;
    }

    /// Batch, share alone, and the latency that it has to have, s.
    static void Size(const ModelLoad& load, Place* place, double* bound)
    {
        const ShareCurve& curve = *load.served.curve;
        const double half = load.slo / 2;
        const auto arriving = static_cast<uint32_t>(
            std::clamp(std::ceil(half * load.rate), 1.0, double(load.mostBatch)));
        uint32_t batch = load.batch > 0 ? load.batch : arriving;
        while (load.batch == 0 && batch < load.mostBatch && !curve.WhyNot(batch, 100).empty())
        {
            ++batch;
        }
        // A smaller one is faster, if half of the SLO asks for that.
        while (load.batch == 0 && batch > 1 && SecondsAt(load, batch, kWholeGpu) > half &&
               curve.WhyNot(batch - 1, kWholeGpu).empty())
        {
            --batch;
        }
        place->batch = batch;
        *bound = std::min(half, batch / load.rate);
        place->percent = load.percent > 0 ? load.percent : kShareUnit;
        while (load.percent <= 0 && place->percent < kWholeGpu &&
               SecondsAt(load, batch, place->percent) > *bound)
        {
            place->percent += kShareUnit;
        }
    }

    /// Grows the shares of a group until all are fast enough. \return their sum; above 100: they
    /// are not
    double GrowGroup(const Mix& mix, const std::vector<std::size_t>& group, Plan* plan) const
    {
        double sum = 0;
        for (const std::size_t i : group)
        {
            sum += plan->places[i].percent;
        }
        for (bool grown = true; grown && sum <= kWholeGpu + 1e-9;)
        {
            grown = false;
            std::vector<Running> running;
            for (const std::size_t i : group)
            {
                const ModelLoad& load = mix.models[i];
                const Place& place = plan->places[i];
                const ShareCurve& curve = *load.served.curve;
                running.push_back(RunningOf(curve,
                                            load.served.profile,
                                            place.batch,
                                            KnownShare(curve, place.batch, place.percent)));
            }
            std::vector<const Running*> all;
            for (const Running& one : running)
            {
                all.push_back(&one);
            }
            std::vector<double> seconds;
            Together(all, &seconds);
            for (std::size_t at = 0; at < group.size(); ++at)
            {
                Place& place = plan->places[group[at]];
                if (seconds[at] > m_bounds[group[at]] && mix.models[group[at]].percent <= 0)
                {
                    place.percent += kShareUnit;
                    sum += kShareUnit;
                    grown = true;
                }
            }
        }
        return sum;
    }

    bool Put(const Mix& mix,
             std::size_t model,
             std::vector<std::vector<std::size_t>>* groups,
             Plan* plan)
    {
        const auto wanted = mix.models[model].gpu;
        std::size_t best = SIZE_MAX;
        double leastGrowth = INFINITY;
        Plan bestPlan;
        for (std::size_t gpu = 0; gpu < groups->size(); ++gpu)
        {
            if (wanted && *wanted != gpu)
            {
                continue;
            }
            double before = 0;
            for (const std::size_t i : (*groups)[gpu])
            {
                before += plan->places[i].percent;
            }
            Plan tried = *plan;
            auto group = (*groups)[gpu];
            group.push_back(model);
            const double sum = GrowGroup(mix, group, &tried);
            // Alone it has the whole GPU, even if that is too slow.
            const bool fits = sum <= kWholeGpu + 1e-9 || group.size() == 1;
            if (fits && sum - before < leastGrowth)
            {
                leastGrowth = sum - before;
                best = gpu;
                bestPlan = tried;
            }
        }
        if (best == SIZE_MAX && (wanted || groups->size() >= MOST_GPUS))
        {
            plan->why = wanted ? "GPU " + std::to_string(*wanted) +
                                     " has no share left that meets all SLOs there"
                               : "more than 1000 GPUs would be needed";
            plan->model = static_cast<int32_t>(model);
            plan->key = "gpu";
            return false;
        }
        if (best == SIZE_MAX)
        {
            groups->emplace_back();
            best = groups->size() - 1;
            bestPlan = *plan;
        }
        *plan = bestPlan;
        Place& place = plan->places[model];
        place.percent = std::min(place.percent, kWholeGpu);
        (*groups)[best].push_back(model);
        place.gpu = static_cast<uint32_t>(best);
        return true;
    }

    std::vector<double> m_bounds; ///< latency, s, by model
    std::vector<Place> m_places;
};

const RegisteredPolicy g_igniter({"igniter",
                                  5,
                                  "least shares that meet the SLOs; GPUs are added as needed",
                                  [](const PolicySettings&) {
                                      return std::make_unique<Igniter>();
                                  }});

} // namespace

} // namespace multiplex
