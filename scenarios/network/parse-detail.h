/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What validation of all programs ends with.
 */
#ifndef SCENARIOS_NETWORK_PARSE_DETAIL_H
#define SCENARIOS_NETWORK_PARSE_DETAIL_H

#include "scenarios/asked/modes.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/background.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/places-as-run.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/network/validate.h"

#include <utility>

namespace scenario
{

template <class T>
ParseResult<T>
Finished(Validation&& v, T&& scenario)
{
    ParseResult<T> result;
    result.notes = std::move(v.notes);
    result.errors = std::move(v.errors);
    if (result.errors.empty())
    {
        result.scenario = std::move(scenario);
    }
    return result;
}

/// Finishes a scenario on a cluster, as all programs with one do.
template <class T>
ParseResult<T>
FinishedOn(Cluster&& cluster, const ReadResult& read, Validation&& v, T&& scenario)
{
    scenario.run = MakeRun(&v, read, cluster.valid ? &cluster.spec.topology : nullptr);
    if (cluster.valid)
    {
        scenario.run.background = MakeBackground(&v, cluster.spec.topology, scenario.fabric);
        SettleBackground(&v, &scenario.run);
        const Background* beside = scenario.run.background.get();
        if (!v.seat) // else another job may have another
        {
            ClassUses uses{{uint8_t{0}, kJobPriority}};
            if (beside && !beside->protocol.IsOrdinary())
            {
                uses.emplace(beside->trafficClass, beside->priority);
            }
            SettleTrafficClasses(&v, scenario.fabric, uses, &scenario.run);
            v.Settle(when::SeveralPriorities(), beside && beside->priority != kJobPriority);
        }
    }
    scenario.run.asRun = AsRun(v, scenario.run, cluster.fromFile);
    scenario.run.places = MakePlacesAsRun(scenario.fabric, cluster.spec.topology);
    scenario.cluster = std::move(cluster.spec);
    return Finished(std::move(v), std::move(scenario));
}

} // namespace scenario

#endif // SCENARIOS_NETWORK_PARSE_DETAIL_H
