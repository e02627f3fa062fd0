/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * MIG: instances of 1, 2, 3, 4 or 7 of the seven slices, with memory and bandwidth of their own, so
 * nobody slows another down. An instance of 3 takes 4 of 8 parts of the memory (NVIDIA
 * Multi-Instance GPU User Guide, "Supported MIG Profiles").
 *
 * Each model has the smallest instance that meets half of its SLO and its rate; then the one that
 * is short of most grows.
 */
#include "scenarios/multiplex/policy.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace multiplex
{

namespace
{

constexpr std::size_t MIG_SIZES = std::size(kMigSizes);
constexpr uint32_t SLICES = 7;
constexpr uint32_t MEMORY_PARTS = 8;

uint32_t
MemoryOf(uint32_t slices)
{
    return slices == 3 ? 4 : slices == 7 ? 8 : slices;
}

class Mig : public Policy
{
  public:
    Plan Prepare(const Mix& mix, uint32_t gpus) override
    {
        Plan plan;
        plan.gpus = gpus;
        const std::size_t n = mix.models.size();
        std::vector<std::size_t> size(n, 0);
        std::vector<double> loads;
        for (std::size_t i = 0; i < n; ++i)
        {
            const ModelLoad& load = mix.models[i];
            if (load.percent > 0 && !FindSize(load.percent, &size[i]))
            {
                plan.why = "is no MIG instance; allowed: 1/7, 2/7, 3/7, 4/7 or 7/7";
                plan.model = static_cast<int32_t>(i);
                plan.key = "share";
                plan.nearest = std::to_string(kMigSizes[size[i]]) + "/7";
                return plan;
            }
            if (load.percent <= 0)
            {
                size[i] = SmallestFor(load);
            }
            loads.push_back(kMigSizes[size[i]]);
        }
        const auto where = SpreadOver(gpus, mix, loads);
        for (uint32_t gpu = 0; gpu < gpus; ++gpu)
        {
            std::vector<std::size_t> here;
            for (std::size_t i = 0; i < n; ++i)
            {
                if (where[i] == gpu)
                {
                    here.push_back(i);
                }
            }
            if (!Fit(mix, here, &size))
            {
                plan.why = "GPU " + std::to_string(gpu) + " has 7 slices and 8 parts of memory, " +
                           std::to_string(here.size()) +
                           " models do not fit; allowed: more --gpus, or smaller shares";
                return plan;
            }
            Grow(mix, here, &size);
        }
        for (std::size_t i = 0; i < n; ++i)
        {
            const ModelLoad& load = mix.models[i];
            Place place;
            place.gpu = where[i];
            place.percent = PercentOf(size[i]);
            place.batch = BatchAt(load, place.percent);
            plan.places.push_back(place);
        }
        m_places = plan.places;
        return plan;
    }

    void Choose(const GpuView& view, std::vector<Start>* starts) override
    {
        StartEach(view, m_places, starts);
    }

    bool Interferes() const override
    {
        return false;
    }

  private:
    static double PercentOf(std::size_t size)
    {
        return std::min(kWholeGpu, kMigSizes[size] * kMigSlice);
    }

    /// \return false: the nearest is in *size
    static bool FindSize(double percent, std::size_t* size)
    {
        for (std::size_t i = 0; i < MIG_SIZES; ++i)
        {
            if (std::abs(PercentOf(i) - percent) < std::abs(PercentOf(*size) - percent))
            {
                *size = i;
            }
        }
        return std::abs(PercentOf(*size) - percent) <= 0.05;
    }

    static uint32_t BatchAt(const ModelLoad& load, double percent)
    {
        const ShareCurve& curve = *load.served.curve;
        return load.batch > 0
                   ? load.batch
                   : LargestInTime(curve, KnownShare(curve, load.mostBatch, percent), NeedOf(load));
    }

    /// Share of its time that it runs; above 1: it cannot keep up. By its latency if that is late.
    static double LoadAt(const ModelLoad& load, std::size_t size)
    {
        const double percent = PercentOf(size);
        const uint32_t batch = BatchAt(load, percent);
        const ShareCurve& curve = *load.served.curve;
        const double share = KnownShare(curve, batch, percent);
        const double seconds = curve.Seconds(batch, share) * share / percent;
        return std::max(load.rate * seconds / batch, seconds / (load.slo / 2));
    }

    static std::size_t SmallestFor(const ModelLoad& load)
    {
        for (std::size_t i = 0; i < MIG_SIZES; ++i)
        {
            if (LoadAt(load, i) <= 1)
            {
                return i;
            }
        }
        return MIG_SIZES - 1;
    }

    static bool Fits(const std::vector<std::size_t>& here, const std::vector<std::size_t>& size)
    {
        uint32_t slices = 0;
        uint32_t memory = 0;
        for (const std::size_t i : here)
        {
            slices += kMigSizes[size[i]];
            memory += MemoryOf(kMigSizes[size[i]]);
        }
        return slices <= SLICES && memory <= MEMORY_PARTS;
    }

    /// The largest of those that a policy may choose becomes smaller, until all fit.
    static bool Fit(const Mix& mix,
                    const std::vector<std::size_t>& here,
                    std::vector<std::size_t>* size)
    {
        while (!Fits(here, *size))
        {
            std::size_t* largest = nullptr;
            for (const std::size_t i : here)
            {
                std::size_t& one = (*size)[i];
                if (mix.models[i].percent <= 0 && one > 0 && (!largest || one > *largest))
                {
                    largest = &one;
                }
            }
            if (!largest)
            {
                return false;
            }
            --*largest;
        }
        return true;
    }

    static void Grow(const Mix& mix,
                     const std::vector<std::size_t>& here,
                     std::vector<std::size_t>* size)
    {
        for (;;)
        {
            double most = 0;
            std::size_t best = SIZE_MAX;
            for (const std::size_t i : here)
            {
                if (mix.models[i].percent > 0 || (*size)[i] + 1 >= MIG_SIZES)
                {
                    continue;
                }
                ++(*size)[i];
                const bool fits = Fits(here, *size);
                --(*size)[i];
                const double load = LoadAt(mix.models[i], (*size)[i]);
                if (fits && load > most)
                {
                    most = load;
                    best = i;
                }
            }
            if (best == SIZE_MAX)
            {
                return;
            }
            ++(*size)[best];
        }
    }

    std::vector<Place> m_places;
};

const RegisteredPolicy g_mig({"mig",
                              3,
                              "instances of 1, 2, 3, 4 or 7 of seven slices, isolated",
                              [](const PolicySettings&) { return std::make_unique<Mig>(); }});

} // namespace

} // namespace multiplex
