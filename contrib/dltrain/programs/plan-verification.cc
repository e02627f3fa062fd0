/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plan-verification.h"

#include "layout-runs.h"
#include "scenarios/layout-search/options/estimated-options.h"
#include "scenarios/options/format.h"

#include <utility>

namespace dltrain
{

VerifiedJobs
JobsToVerify(const scenario::PlannerScenario& scenario)
{
    VerifiedJobs all;
    if (scenario.verify == 0)
    {
        return all;
    }
    for (const scenario::ReadResult& job : scenario.jobs)
    {
        JobOfRuns runs = ForRuns(job, scenario.verifyNetwork);
        if (!runs.errors.empty())
        {
            for (scenario::Error& error : runs.errors)
            {
                error.problem += " (--verify runs it with --network=" + runs.network + ")";
            }
            all.errors = std::move(runs.errors);
            return all;
        }
        all.jobs.push_back(std::move(runs.read));
    }
    const std::vector<std::string> without = scenario::OptionsOfRun(scenario.jobs.front().values);
    if (!without.empty())
    {
        all.notes.push_back("note: runs of --verify go without --" +
                            scenario::Join(without, ", --") + ", which change no step");
    }
    return all;
}

std::vector<std::string>
NotesOfEstimates(const scenario::PlannerScenario& scenario)
{
    const std::vector<std::string> noted = scenario::NotedOptions(scenario.values);
    if (noted.empty())
    {
        return {};
    }
    return {"note: estimates do not know --" + scenario::Join(noted, ", --") + "; " +
            (scenario.verify > 0 ? "verified steps do"
                                 : "--verify=5 runs the best layouts with " +
                                       std::string(noted.size() > 1 ? "them" : "it"))};
}

void
RunPlans(const scenario::PlannerScenario& scenario,
         const std::vector<scenario::TrainingScenario>& clusters,
         const std::vector<planner::Plan*>& plans,
         const Watched& watch)
{
    std::vector<ChildJob> jobs;
    std::vector<std::pair<std::size_t, std::size_t>> placeOf; // of a job: its plan, its run
    std::vector<std::vector<ChildResult>> runsOf(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i)
    {
        const planner::Layout& layout = plans[i]->layout;
        for (ChildJob& job :
             RunsOf(scenario.jobs[layout.job],
                    clusters[layout.job],
                    layout,
                    scenario.run.out + "/verify",
                    scenario.resume.empty() ? ChildMemory::kKept : ChildMemory::kTaken))
        {
            jobs.push_back(std::move(job));
            placeOf.emplace_back(i, runsOf[i].size());
            runsOf[i].emplace_back();
        }
    }
    RunChildren(scenario.run, jobs, watch.goesOn, [&](std::size_t job, const ChildResult& result) {
        const auto [index, run] = placeOf[job];
        runsOf[index][run] = result;
        planner::Plan& plan = *plans[index];
        const std::string name = planner::LayoutText(plan.layout);
        if (!result.why.empty() && plan.notVerified.empty())
        {
            plan.notVerified = result.why;
            watch.tell(name + ": not verified: " + result.why);
        }
        plan.verified = StepOf(plan.layout, runsOf[index]);
        if (plan.verified)
        {
            const std::string fast = FastTextOf(runsOf[index]);
            watch.tell(name + ": " + scenario::SecondsText(*plan.verified) + ", estimated " +
                       scenario::SecondsText(plan.estimate.step) +
                       (fast.empty() ? "" : " (" + fast + ")"));
        }
    });
    for (planner::Plan* plan : plans)
    {
        plan->notVerified = plan->verified              ? ""
                            : plan->notVerified.empty() ? "ended"
                                                        : plan->notVerified;
    }
}

} // namespace dltrain
