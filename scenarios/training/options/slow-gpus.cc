/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/slow-gpus.h"

#include "scenarios/asked/training.h"
#include "scenarios/job/job-seat.h"

#include <charconv>
#include <set>

namespace scenario
{

void
SlowDown(Validation* v, training::TrainingPlan* plan)
{
    if (const double spread = v->values.Get(&asked::Training::gpuSpread); spread > 0)
    {
        for (coll::Rank rank = 0; rank < plan->ranks; ++rank)
        {
            plan->slowness.push_back(training::SpreadOf(spread, DrawSeed(*v), rank));
        }
    }
    std::set<uint32_t> named;
    for (const auto& word : v->values.Get(&asked::Training::slowGpu))
    {
        const auto fail = [&](const std::string& problem) {
            v->errors.push_back({v->values.Where(&asked::Training::slowGpu), word, problem, ""});
        };
        const size_t colon = word.find(':');
        uint32_t rank = 0;
        double factor = 0;
        const char* const end = word.data() + word.size();
        const auto [afterRank, badRank] = std::from_chars(word.data(), end, rank);
        const auto [afterFactor, badFactor] =
            colon == std::string::npos
                ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                : std::from_chars(word.data() + colon + 1, end, factor);
        if (badRank != std::errc() || afterRank != word.data() + colon ||
            badFactor != std::errc() || afterFactor != end || rank >= plan->ranks ||
            !(factor >= 1 && factor <= 1000))
        {
            fail("allowed: GPU:FACTOR as 5:1.3, GPU 0 to " + std::to_string(plan->ranks - 1) +
                 ", factor 1 to 1000");
            return;
        }
        plan->slowness.resize(plan->ranks, 1);
        if (!named.insert(rank).second)
        {
            fail("names GPU " + std::to_string(rank) + " a second time; allowed: once");
            return;
        }
        plan->slowness[rank] *= factor;
    }
}

} // namespace scenario
