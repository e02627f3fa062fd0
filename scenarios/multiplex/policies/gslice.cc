/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Static shares at each model's knee, made smaller where they do not fit (A. Dhakal, S. Kulkarni,
 * K. K. Ramakrishnan, GSLICE: controlled spatial sharing of GPUs for a scalable inference platform,
 * SoCC 2020).
 */
#include "scenarios/multiplex/policy.h"

#include <memory>

namespace multiplex
{

namespace
{

class Gslice : public Policy
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
            place.batch =
                load.batch > 0 ? load.batch : LargestInTime(curve, kWholeGpu, NeedOf(load));
            place.percent = load.percent > 0 ? load.percent : KneeOf(curve, place.batch);
            loads.push_back(place.percent);
            plan.places.push_back(place);
        }
        const auto where = SpreadOver(gpus, mix, loads);
        for (std::size_t i = 0; i < where.size(); ++i)
        {
            plan.places[i].gpu = where[i];
        }
        plan.why = FitShares(mix, &plan);
        plan.key = "share";
        for (std::size_t i = 0; i < where.size(); ++i)
        {
            const ModelLoad& load = mix.models[i];
            const ShareCurve& curve = *load.served.curve;
            Place& place = plan.places[i];
            if (load.batch == 0)
            {
                place.batch = LargestInTime(curve,
                                            KnownShare(curve, load.mostBatch, place.percent),
                                            NeedOf(load));
            }
        }
        m_places = plan.places;
        return plan;
    }

    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        StartEach(view, m_places, starts);
    }

  private:
    std::vector<Place> m_places;
};

const RegisteredPolicy g_gslice({"gslice",
                                 4,
                                 "static shares at the knees, scaled down where they do not fit",
                                 [](const PolicySettings&) { return std::make_unique<Gslice>(); }});

} // namespace

} // namespace multiplex
