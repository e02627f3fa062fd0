/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/moves.h"

#include "scenarios/options/format.h"

#include <algorithm>
#include <utility>

namespace planner
{

namespace
{

/// Buckets a quarter and four times as large: assumed to be far enough to tell.
constexpr uint64_t kFactor = 4;

} // namespace

std::vector<Move>
MovesOf(const scenario::ReadResult& job,
        const Layout& layout,
        const training::TrainingOptions& options)
{
    std::vector<Move> moves;
    const auto add = [&](const std::string& option, std::vector<std::string> values) {
        if (!job.values.Given(option))
        {
            moves.push_back({option, std::move(values)});
        }
    };
    if (options.Replicas() > 1)
    {
        if (options.bucketBytes && *options.bucketBytes >= kFactor)
        {
            add("buckets",
                {scenario::ExactSize(*options.bucketBytes / kFactor),
                 scenario::ExactSize(*options.bucketBytes * kFactor)});
        }
        // What the gradients go by; auto takes the fastest by formula.
        std::vector<std::string> algorithms = {"all_reduce=ring",
                                               "all_reduce=hierarchical",
                                               "all_reduce=tree"};
        if (options.sharding.optimizer)
        {
            algorithms = {"reduce_scatter=ring,all_gather=ring",
                          "reduce_scatter=hierarchical,all_gather=hierarchical",
                          "reduce_scatter=halving-doubling,all_gather=recursive-doubling"};
        }
        add("algorithm", std::move(algorithms));
        add("channels", {"4", "16"});
    }
    if (options.pipeline > 1 && options.Replicas() > 1)
    {
        const bool turned =
            std::any_of(layout.words.begin(), layout.words.end(), [](const auto& word) {
                return word.first == "rank-order";
            });
        add("rank-order", {turned ? kCopiesFirst : kPipelineFirst});
    }
    return moves;
}

Layout
Moved(Layout layout, const std::string& option, const std::string& value)
{
    const auto at = std::find_if(layout.words.begin(), layout.words.end(), [&](const auto& word) {
        return word.first == option;
    });
    if (at != layout.words.end())
    {
        at->second = value;
    }
    else
    {
        layout.words.emplace_back(option, value);
    }
    return layout;
}

} // namespace planner
