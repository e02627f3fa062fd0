/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NVIDIA MPS by default: all models at once, with no limit but one that the mix gives
 * (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, NVIDIA Multi-Process Service, section 2.3.5.2). What several
 * want is shared out in equal parts: assumed.
 */
#include "scenarios/multiplex/policy.h"

#include <algorithm>
#include <memory>

namespace multiplex
{

namespace
{

class Mps : public Policy
{
  public:
    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        plan.gpus = gpus;
        std::vector<double> loads;
        for (const ModelLoad& load : mix.models)
        {
            const double whole = load.served.curve->Seconds(
                std::max(1U, LeastKnownBatch(*load.served.curve, load.mostBatch)),
                kWholeGpu);
            loads.push_back(load.rate * whole);
        }
        const auto where = SpreadOver(gpus, mix, loads);
        for (std::size_t i = 0; i < where.size(); ++i)
        {
            const ModelLoad& load = mix.models[i];
            const auto together = std::count(where.begin(), where.end(), where[i]);
            const ShareCurve& curve = *load.served.curve;
            Place place;
            place.gpu = where[i];
            place.percent = load.percent > 0 ? load.percent : kWholeGpu;
            const double usual = std::min(place.percent, kWholeGpu / static_cast<double>(together));
            place.batch =
                load.batch > 0
                    ? load.batch
                    : LargestInTime(curve, KnownShare(curve, load.mostBatch, usual), NeedOf(load));
            plan.places.push_back(place);
        }
        m_places = plan.places;
        return plan;
    }

    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        StartEach(view, m_places, starts);
    }

    Sharing GetSharing() const override
    {
        return Sharing::kEqual;
    }

  private:
    std::vector<Place> m_places;
};

const RegisteredPolicy g_mps({"mps",
                              2,
                              "all at once without limits; equal parts of what several want",
                              [](const PolicySettings&) { return std::make_unique<Mps>(); }});

} // namespace

} // namespace multiplex
