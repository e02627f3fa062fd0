/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/policy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace multiplex
{

Need
NeedOf(const ModelLoad& load)
{
    return {load.slo, load.rate, load.batch, load.percent, load.mostBatch};
}

std::vector<uint32_t>
SpreadOver(uint32_t gpus, const Mix& mix, const std::vector<double>& loads)
{
    std::vector<double> used(gpus, 0.0);
    std::vector<uint32_t> gpu(mix.models.size(), 0);
    std::vector<uint32_t> order(mix.models.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const bool first = mix.models[a].gpu.has_value();
        const bool second = mix.models[b].gpu.has_value();
        return first != second ? first : loads[a] > loads[b];
    });
    for (const uint32_t i : order)
    {
        const auto least = std::min_element(used.begin(), used.end()) - used.begin();
        gpu[i] = mix.models[i].gpu.value_or(static_cast<uint32_t>(least));
        used[gpu[i]] += loads[i];
    }
    return gpu;
}

void
StartEach(const GpuView& view, const std::vector<Place>& places, std::vector<Start>* starts)
{
    for (const Seat& seat : view.seats)
    {
        if (seat.waiting > 0 && !seat.running)
        {
            const Place& place = places[seat.model];
            const auto batch = static_cast<uint32_t>(std::min<uint64_t>(seat.waiting, place.batch));
            starts->push_back({seat.model, batch, place.percent});
        }
    }
}

std::string
FitShares(const Mix& mix, Plan* plan)
{
    constexpr double HAIR = 1e-9;
    for (uint32_t gpu = 0; gpu < plan->gpus; ++gpu)
    {
        double fixed = 0;
        double chosen = 0;
        std::size_t free = 0;
        for (std::size_t i = 0; i < plan->places.size(); ++i)
        {
            if (plan->places[i].gpu == gpu)
            {
                const bool given = mix.models[i].percent > 0;
                (given ? fixed : chosen) += plan->places[i].percent;
                free += given ? 0 : 1;
            }
        }
        if (fixed > kWholeGpu + HAIR ||
            (free > 0 && fixed + static_cast<double>(free) * kShareUnit > kWholeGpu + HAIR))
        {
            return "the shares on GPU " + std::to_string(gpu) + " add up to " +
                   ShareText(fixed + chosen) + "; allowed: 100% in all";
        }
        const double factor = (kWholeGpu - fixed) / std::max(chosen, HAIR);
        if (factor >= 1)
        {
            continue;
        }
        for (std::size_t i = 0; i < plan->places.size(); ++i)
        {
            Place& place = plan->places[i];
            if (place.gpu == gpu && mix.models[i].percent <= 0)
            {
                place.percent =
                    std::max(1.0, std::floor(place.percent * factor / kShareUnit)) * kShareUnit;
            }
        }
        // The least share may have been rounded up: the largest one gives it.
        for (;;)
        {
            double sum = fixed;
            Place* largest = nullptr;
            for (std::size_t i = 0; i < plan->places.size(); ++i)
            {
                Place& place = plan->places[i];
                if (place.gpu == gpu && mix.models[i].percent <= 0)
                {
                    sum += place.percent;
                    largest = !largest || place.percent > largest->percent ? &place : largest;
                }
            }
            if (sum <= kWholeGpu + HAIR || !largest)
            {
                break;
            }
            largest->percent -= kShareUnit;
        }
    }
    return "";
}

std::string
ShareText(double percent)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", percent);
    std::string words = text;
    if (words.size() > 2 && words.substr(words.size() - 2) == ".0")
    {
        words.resize(words.size() - 2);
    }
    return words + "%";
}

} // namespace multiplex
