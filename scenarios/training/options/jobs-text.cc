/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Jobs in words.
 */
#include "collectives/core/registry.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/format.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/options/jobs.h"
#include "topologies/names.h"

#include <algorithm>
#include <string>
#include <utility>

namespace scenario
{

std::string
JobKindName(JobKind kind)
{
    return kind == JobKind::kTraining     ? "training"
           : kind == JobKind::kCollective ? "collective"
           : kind == JobKind::kServing    ? "serving"
                                          : "flows";
}

namespace
{

/// "serves llama3-8b, 200 requests".
std::string
ServedText(const ServingScenario& s)
{
    return "serves " + s.model.name + ", " +
           (s.plain ? topo::Counted(s.serving.requests.count, "pass", "passes")
                    : topo::Counted(s.serving.requests.count, "request"));
}

/// "tp 2, pp 3, ZeRO-1", or the strategy.
std::string
HowText(const TrainingScenario& s)
{
    if (s.served)
    {
        return training::StrategyName(s.served->Options().strategy);
    }
    std::string text;
    for (const auto& [name, degree] : {std::pair("tp", s.options.tensor),
                                       std::pair("pp", s.options.pipeline),
                                       std::pair("cp", s.options.context),
                                       std::pair("ep", s.options.expert),
                                       std::pair("etp", s.options.expertTensor)})
    {
        text += degree > 1 ? name + (" " + std::to_string(degree)) + ", " : "";
    }
    return text + "ZeRO-" + std::to_string(s.options.sharding.Stage());
}

} // namespace

std::string
JobsText(const JobSet& jobs)
{
    std::string text =
        Format("%-16s %-34s %7s  %-10s %s\n", "Job", "what", "servers", "start", "hosts");
    for (const Job& job : jobs.jobs)
    {
        const TrainingScenario& s = *job.scenario;
        const std::string what =
            job.kind == JobKind::kServing    ? ServedText(*job.serving)
            : job.kind == JobKind::kTraining ? s.model + ", " + HowText(s)
            : job.kind == JobKind::kCollective
                ? coll::OpName(job.op) + " of " + ExactBytes(job.bytes)
                : job.pattern +
                      (job.protocol.IsOrdinary() ? " by " + job.protocol.Text() + ", " : ", ") +
                      topo::Counted(job.flows.size(), "flow");
        std::string hosts;
        constexpr std::size_t kShown = 8;
        for (std::size_t i = 0; i < std::min(kShown, s.cluster.hostOfServer.size()); ++i)
        {
            hosts += (i ? " " : "") + std::to_string(s.cluster.hostOfServer[i]);
        }
        hosts += s.cluster.hostOfServer.size() > kShown ? " ..." : "";
        text += Format("%-16s %-34s %7u  %-10s %s\n",
                       job.name.c_str(),
                       what.c_str(),
                       s.cluster.servers,
                       CanonicalDuration(job.start.ps).c_str(),
                       hosts.c_str());
    }
    return text;
}

} // namespace scenario
