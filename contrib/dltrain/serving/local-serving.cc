/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "local-serving.h"

#include "scenarios/inference/local-run.h"
#include "scenarios/inference/requests.h"
#include "scenarios/inference/stages/stage-costs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace dltrain
{

using serving::StageCosts;

bool
IsLocal(const scenario::ServingScenario& scenario)
{
    const uint32_t gpus = scenario.cluster.server.gpus;
    const auto places = serving::PlacesOf(scenario.serving);
    return scenario.serving.pools.size() == 1 &&
           std::none_of(places.begin(), places.end(), [&](const serving::InstancePlace& place) {
               return serving::IsBetweenServers(place, scenario.serving.pools[place.pool], gpus);
           });
}

serving::ServingOutcome
ServeLocally(const scenario::ServingScenario& scenario,
             const std::function<bool(double done)>& goOn)
{
    const serving::ServingSpec& spec = scenario.serving;
    const serving::PoolSpec& pool = spec.pools.front();
    scenario::CollectiveTimes times(scenario.cluster, scenario.collectives);
    const auto places = serving::PlacesOf(spec);
    // Servers are alike inside, and so are an instance's GPUs: all instances take as long.
    std::vector<std::unique_ptr<StageCosts>> stages;
    for (uint32_t s = 0; s < pool.pp; ++s)
    {
        stages.push_back(serving::MakeStageCosts(scenario, 0, s, places.front().firstGpu, times));
    }
    const uint32_t hop = pool.dp * pool.tp;
    const auto spanOf =
        [&](uint32_t instance, uint32_t stage, const std::vector<serving::BatchLoad>& loads) {
            // Engines of an instance wait for the slowest.
            serving::StageSpan span;
            for (uint32_t e = 0; e < loads.size(); ++e)
            {
                const serving::StageLoad load = stages[stage]->LoadOf(loads, e);
                serving::StageSpan one;
                one.parts = load.parts;
                for (const serving::StageOp& op : stages[stage]->Chain())
                {
                    one.ps += load.Span(op);
                }
                if (stage + 1 < pool.pp)
                {
                    const coll::Rank from = places[instance].firstGpu + stage * hop;
                    one.hop = times.Message(from, from + hop, load.sendBytes, hop);
                }
                span = one.ps > span.ps ? one : span;
            }
            return span;
        };
    serving::LocalRun run(spec, serving::MakeRequests(spec.requests), spanOf);
    return run.Run(goOn);
}

} // namespace dltrain
