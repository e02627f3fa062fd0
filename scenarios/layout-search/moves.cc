/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/moves.h"

#include "scenarios/asked/collective.h"
#include "scenarios/asked/training.h"
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
    const auto add = [&](scenario::Member option, std::vector<std::string> values) {
        if (!job.values.Given(option))
        {
            moves.push_back({option, std::move(values)});
        }
    };
    if (options.Replicas() > 1)
    {
        if (options.bucketBytes && *options.bucketBytes >= kFactor)
        {
            add(&scenario::asked::Training::buckets,
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
        add(&scenario::asked::Collective::algorithm, std::move(algorithms));
        add(&scenario::asked::Collective::channels, {"4", "16"});
    }
    if (options.pipeline > 1 && options.Replicas() > 1)
    {
        const bool turned = Has(layout.settings, &scenario::asked::Training::rankOrder);
        add(&scenario::asked::Training::rankOrder, {turned ? kCopiesFirst : kPipelineFirst});
    }
    return moves;
}

Layout
Moved(Layout layout, scenario::Member option, const std::string& value)
{
    const auto at = std::find_if(layout.settings.begin(),
                                 layout.settings.end(),
                                 [option](const Setting& one) { return one.Option() == option; });
    if (at != layout.settings.end())
    {
        *at = Setting(option, value);
    }
    else
    {
        layout.settings.emplace_back(option, value);
    }
    return layout;
}

} // namespace planner
