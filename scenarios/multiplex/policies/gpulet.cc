/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * At most two partitions a GPU, of sizes that were profiled; models take turns in one (S. Choi et
 * al., Serving Heterogeneous Machine Learning Models on Multi-GPU Servers with Spatio-Temporal
 * Sharing, USENIX ATC 2022). Sizes: those of its table in iGniter's repository
 * (i-Gniter/Profile/tools/gpulet.config): 20, 40, 50, 60, 80 and 100%.
 *
 * Of the ways to cut a GPU that is taken whose busiest partition has least to do, the models put in
 * greedily, the one with most work first.
 */
#include "scenarios/multiplex/policies/turns.h"
#include "scenarios/multiplex/policy.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace multiplex
{

namespace
{

constexpr double GPULET_SIZES[] = {20, 40, 50, 60, 80, 100};
constexpr std::size_t MOST_PARTS = 2;

class Gpulet : public Policy
{
  public:
    explicit Gpulet(const PolicySettings& settings)
        : m_switch(settings.switchTime)
    {
    }

    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        plan.gpus = gpus;
        plan.places.resize(mix.models.size());
        std::vector<double> loads;
        for (std::size_t i = 0; i < mix.models.size(); ++i)
        {
            const ModelLoad& load = mix.models[i];
            if (load.percent > 0 &&
                std::find(std::begin(GPULET_SIZES), std::end(GPULET_SIZES), load.percent) ==
                    std::end(GPULET_SIZES))
            {
                plan.why = "is no size of a partition; allowed: 20%, 40%, 50%, 60%, 80% or 100%";
                plan.model = static_cast<int32_t>(i);
                plan.key = "share";
                plan.nearest = ShareText(*std::min_element(std::begin(GPULET_SIZES),
                                                           std::end(GPULET_SIZES),
                                                           [&](double a, double b) {
                                                               return std::abs(a - load.percent) <
                                                                      std::abs(b - load.percent);
                                                           }));
                return plan;
            }
            loads.push_back(BusyAt(load, kWholeGpu));
        }
        const auto where = SpreadOver(gpus, mix, loads);
        for (uint32_t gpu = 0; gpu < gpus; ++gpu)
        {
            std::vector<std::size_t> here;
            for (std::size_t i = 0; i < where.size(); ++i)
            {
                if (where[i] == gpu)
                {
                    here.push_back(i);
                }
            }
            if (!Cut(mix, here, gpu, &plan))
            {
                plan.why = "the shares on GPU " + std::to_string(gpu) +
                           " need more than two partitions, or more than 100%";
                plan.key = "share";
                return plan;
            }
        }
        m_turns = std::make_unique<Turns>(plan.places, mix, m_switch);
        return plan;
    }

    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        for (uint32_t part = 0; part < MOST_PARTS; ++part)
        {
            m_turns->Choose(view, part, starts);
        }
    }

  private:
    static uint32_t BatchIn(const ModelLoad& load, double percent)
    {
        const ShareCurve& curve = *load.served.curve;
        return load.batch > 0
                   ? load.batch
                   : LargestInTime(curve, KnownShare(curve, load.mostBatch, percent), NeedOf(load));
    }

    /// Share of the time that it runs in such a partition; more by as much as it is too late.
    static double BusyAt(const ModelLoad& load, double percent)
    {
        const ShareCurve& curve = *load.served.curve;
        const uint32_t batch = BatchIn(load, percent);
        const double share = KnownShare(curve, batch, percent);
        const double seconds = curve.Seconds(batch, share) * share / percent;
        return load.rate * seconds / batch * std::max(1.0, seconds / load.slo);
    }

    /// The part of each model, and how busy the busiest part is; infinite: a share is not there.
    static double Assign(const Mix& mix,
                         const std::vector<std::size_t>& here,
                         const std::vector<double>& sizes,
                         std::vector<uint32_t>* parts)
    {
        std::vector<double> busy(sizes.size(), 0);
        parts->assign(here.size(), 0);
        std::vector<std::size_t> order(here.size());
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            order[i] = i;
        }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return BusyAt(mix.models[here[a]], kWholeGpu) > BusyAt(mix.models[here[b]], kWholeGpu);
        });
        for (const std::size_t at : order)
        {
            const ModelLoad& load = mix.models[here[at]];
            double least = INFINITY;
            for (uint32_t part = 0; part < sizes.size(); ++part)
            {
                if (load.percent > 0 && load.percent != sizes[part])
                {
                    continue;
                }
                const double then = busy[part] + BusyAt(load, sizes[part]);
                if (then < least)
                {
                    least = then;
                    (*parts)[at] = part;
                }
            }
            if (std::isinf(least))
            {
                return INFINITY;
            }
            busy[(*parts)[at]] = least;
        }
        return *std::max_element(busy.begin(), busy.end());
    }

    static bool Cut(const Mix& mix, const std::vector<std::size_t>& here, uint32_t gpu, Plan* plan)
    {
        double least = INFINITY;
        std::vector<double> best;
        std::vector<uint32_t> bestParts;
        for (const double size : GPULET_SIZES)
        {
            const double rest = kWholeGpu - size;
            const std::vector<double> sizes =
                rest > 0 ? std::vector<double>{size, rest} : std::vector<double>{size};
            std::vector<uint32_t> parts;
            const double busiest = Assign(mix, here, sizes, &parts);
            if (busiest < least)
            {
                least = busiest;
                best = sizes;
                bestParts = parts;
            }
        }
        for (std::size_t i = 0; i < here.size() && !best.empty(); ++i)
        {
            Place& place = plan->places[here[i]];
            place.gpu = gpu;
            place.part = bestParts[i];
            place.percent = best[bestParts[i]];
            place.batch = BatchIn(mix.models[here[i]], place.percent);
        }
        return here.empty() || !best.empty();
    }

    double m_switch;
    std::unique_ptr<Turns> m_turns;
};

const RegisteredPolicy g_gpulet({"gpulet",
                                 6,
                                 "two partitions a GPU at most, models take turns in one",
                                 [](const PolicySettings& settings) {
                                     return std::make_unique<Gpulet>(settings);
                                 }});

} // namespace

} // namespace multiplex
