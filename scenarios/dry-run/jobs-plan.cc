/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/jobs-plan.h"

#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/plan-events.h"
#include "scenarios/dry-run/plan-lines.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/options/format.h"
#include "scenarios/training/options/jobs.h"
#include "topologies/names.h"

#include <algorithm>
#include <vector>

namespace scenario
{

std::string
JobsPlanText(const TrainingScenario& s)
{
    const JobSet& set = *s.jobs;
    std::string text = "dltrain: " + topo::Counted(set.jobs.size(), "job") + "\n\n";
    text += JobsText(set) + "\n";
    text +=
        Format("%-16s %-10s %10s %16s %16s\n", "Job", "at least", "bytes", "packets", "frame-hops");
    const bool packets = HasPackets(s.fabric);
    double alone = 0;
    std::vector<Estimate> ofJobs;
    for (const Job& job : set.jobs)
    {
        const Estimate& e = ofJobs.emplace_back(EstimateJob(job, s));
        alone += e.speed.Seconds(RunWork(e));
        text += Format("%-16s %-10s %10s %16s %16s\n",
                       job.name.c_str(),
                       SecondsText(e.LowerBoundSeconds()).c_str(),
                       SizeText(e.networkBytes).c_str(),
                       packets ? CountText(e.dataPackets).c_str() : "-",
                       packets ? CountText(e.frameHops).c_str() : "-");
    }
    text += "(at least: from its start, all its steps and its warm-up; bytes between servers)\n";
    const bool serves = std::any_of(set.jobs.begin(), set.jobs.end(), [](const Job& job) {
        return job.kind == JobKind::kServing;
    });
    text += serves ? "(of jobs that serve only the last arrival is known ahead; dlserve --dry-run "
                     "has their plan)\n"
                   : "";
    text += "\nPlan\n";
    text += PlanLine("network", NetworkText(s.cluster.topology, s.cluster.topologyName));
    for (const Job& job : set.jobs)
    {
        text += PlanLineIf("GPUs of " + job.name, SlowText(job.scenario->plan));
    }
    text += FabricText(s.fabric, s.cluster.topology) +
            PlanLineIf("scheduling", SchedulingText(s.fabric)) +
            EventLines(s.run, s.cluster.topology);
    text += EstimateText(EstimateTogether(s, ofJobs), s.fabric, s.run);
    if (packets && set.alone && set.jobs.size() > 1)
    {
        text += PlanLine("alone",
                         "each job by itself first: about " + SecondsText(alone) +
                             " more (--alone=0: without)");
    }
    return text;
}

} // namespace scenario
