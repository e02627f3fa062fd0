/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One model at a time has the whole GPU, in turns that follow the rates: temporal sharing, the
 * baseline of gpulets, GSLICE and D-STACK.
 */
#include "scenarios/multiplex/policies/turns.h"
#include "scenarios/multiplex/policy.h"

#include <memory>

namespace multiplex
{

namespace
{

class Temporal : public Policy
{
  public:
    explicit Temporal(const PolicySettings& settings)
        : m_switch(settings.switchTime)
    {
    }

    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        plan.gpus = gpus;
        std::vector<double> loads;
        for (const ModelLoad& load : mix.models)
        {
            Place place;
            place.batch = load.batch > 0
                              ? load.batch
                              : LargestInTime(*load.served.curve, kWholeGpu, NeedOf(load));
            loads.push_back(load.rate * load.served.curve->Seconds(place.batch, kWholeGpu) /
                            place.batch);
            plan.places.push_back(place);
        }
        const auto where = SpreadOver(gpus, mix, loads);
        for (std::size_t i = 0; i < where.size(); ++i)
        {
            plan.places[i].gpu = where[i];
        }
        m_turns = std::make_unique<Turns>(plan.places, mix, m_switch);
        return plan;
    }

    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        m_turns->Choose(view, 0, starts);
    }

    bool Interferes() const override
    {
        return false;
    }

  private:
    double m_switch;
    std::unique_ptr<Turns> m_turns;
};

const RegisteredPolicy g_temporal({"temporal",
                                   1,
                                   "one model at a time on the whole GPU, in turns",
                                   [](const PolicySettings& settings) {
                                       return std::make_unique<Temporal>(settings);
                                   }});

} // namespace

} // namespace multiplex
