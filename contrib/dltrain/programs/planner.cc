/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "planner.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/rdma/core/shown-text.h"
#include "frame.h"
#include "plan-moves.h"
#include "reports/base/report-launcher.h"
#include "reports/programs/plan-results.h"
#include "scenarios/asked/search.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/launch/output-folder.h"
#include "scenarios/layout-search/options/resumed-search.h"
#include "scenarios/network/network-check.h"
#include "scenarios/options/format.h"
#include "scenarios/training/options/validate-layout.h"
#include "topologies/files-read.h"
#include "topologies/names.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <set>
#include <unistd.h>
#include <utility>

namespace dltrain
{

namespace
{

/// Progress of a search on standard error, and its end.
class PlannerWatch
{
    static constexpr std::size_t kColumns = 98; ///< of a terminal

  public:
    explicit PlannerWatch(const scenario::PlannerScenario& scenario)
        : m_scenario(scenario),
          m_terminal(isatty(STDERR_FILENO))
    {
    }

    double Seconds() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
    }

    bool GoesOn() const
    {
        return scenario::Interruption() == 0 &&
               (m_scenario.limitSeconds <= 0 || Seconds() - m_listed < m_scenario.limitSeconds);
    }

    bool Look(const planner::Progress& p)
    {
        const double now = Seconds();
        if (!m_scenario.run.dryRun && p.all && p.all->size() > m_kept && now >= m_nextKept)
        {
            m_kept = p.all->size();
            m_nextKept = now + 10;
            reports::KeepEstimates(m_scenario, *p.all); // this program may be killed
        }
        if (p.isListing && !m_scenario.resume.empty())
        {
            m_listed = now; // else a search with a short time would never come further
        }
        if (m_scenario.run.progress && now >= m_next)
        {
            m_next = now + (m_terminal ? 0.5 : 5);
            std::string line = std::to_string(p.count->seen) + " layouts, " +
                               std::to_string(p.count->tooLarge) + " too large, " +
                               std::to_string(p.fit) + " fit, " + std::to_string(p.estimated) +
                               " estimated";
            if (p.best)
            {
                line += "; best " + scenario::SecondsText(p.best->estimate.step) + ": " +
                        planner::LayoutText(p.best->layout);
            }
            if (m_scenario.limitSeconds > 0)
            {
                line += scenario::Format("; %.0f s left", m_scenario.limitSeconds + m_listed - now);
            }
            line = ProgramName() + ": " + rdma::Printable(line);
            ShowProgress(m_terminal ? line.substr(0, kColumns) : line);
        }
        return GoesOn();
    }

    /// \param known estimates that are in the folder already
    void GoOn(const scenario::TrainingScenario& job, std::size_t known)
    {
        m_kept = known;
        Tell("goes on with the search of " + job.model + " on " +
             std::to_string(job.cluster.servers * job.cluster.server.gpus) + " x " + job.gpu +
             ": " + topo::Counted(known, "estimate") + " so far");
    }

    void Tell(const std::string& line)
    {
        if (m_scenario.run.progress)
        {
            SayProgress(line);
        }
    }

  private:
    const scenario::PlannerScenario& m_scenario;
    const bool m_terminal;
    const std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
    double m_listed = 0; ///< s: begin of what --time is for
    double m_next = 2;
    double m_nextKept = 10;
    std::size_t m_kept = 0; ///< estimates that are in the folder
};

int
Refuse(const scenario::PlannerScenario& scenario, const std::string& why)
{
    if (!scenario.run.dryRun)
    {
        reports::DropPlans(scenario);
    }
    return SayError("dlplan", why, scenario.run.dryRun ? nullptr : &scenario.run);
}

/// The model on the cluster of each job. Empty: errors have been said.
std::vector<scenario::TrainingScenario>
ClustersOf(const scenario::PlannerScenario& scenario, std::set<std::string>* notes)
{
    std::vector<scenario::TrainingScenario> clusters;
    for (const scenario::ReadResult& job : scenario.jobs)
    {
        auto result = scenario::ValidateCluster(job);
        std::vector<std::string> ofNetwork; // notes that runs print, too
        if (result.scenario)
        {
            scenario::CheckNetwork(job, *result.scenario, &result.errors, &ofNetwork);
        }
        if (!result.errors.empty())
        {
            SayErrors(result.errors);
            return {};
        }
        notes->insert(result.notes.begin(), result.notes.end());
        clusters.push_back(std::move(*result.scenario));
    }
    return clusters;
}

std::string
WhyNothing(const scenario::PlannerScenario& scenario,
           const std::vector<scenario::TrainingScenario>& clusters,
           const planner::Found& found)
{
    const planner::SpaceCount& count = found.count;
    if (!found.whole)
    {
        return "the search was ended before a layout had an estimate; of the " +
               topo::Counted(count.seen, "layout") + " that it saw, " +
               std::to_string(count.tooLarge) + " do not fit";
    }
    if (count.tooLarge > 0)
    {
        return planner::WhyNothingFits(scenario, clusters, count);
    }
    const std::string why = count.CommonRefusal();
    return why.empty()       ? "no layout has an estimate: allowed are pipeline schedules that are "
                               "empty at the end of a step"
           : count.seen == 1 ? why
                             : "no layout is possible; most of " + std::to_string(count.seen) +
                                   " are refused: " + why;
}

/// Options of the best plan, resolved.
training::TrainingOptions
BestOf(const scenario::PlannerScenario& scenario,
       const std::vector<scenario::TrainingScenario>& clusters,
       const planner::Found& found)
{
    const planner::Layout& layout = found.plans.front().layout;
    return *scenario::ValidateLayout(planner::WithLayout(scenario.jobs[layout.job], layout),
                                     clusters[layout.job])
                .options;
}

std::string
Write(const scenario::PlannerScenario& scenario,
      const std::vector<scenario::TrainingScenario>& clusters,
      const planner::Found& found)
{
    const training::TrainingOptions best = BestOf(scenario, clusters, found);
    return reports::WritePlans({scenario, clusters, found, best}, scenario.run.out);
}

/// Steps of dltrain for the best plans, and for small changes of the best one.
void
Verify(const scenario::PlannerScenario& scenario,
       const std::vector<scenario::TrainingScenario>& clusters,
       planner::Found* found,
       PlannerWatch& watch)
{
    const Watched watched{[&watch] { return watch.GoesOn(); },
                          [&watch](const std::string& line) { watch.Tell(line); }};
    std::vector<planner::Plan>& plans = found->plans;
    std::size_t most = 2 * std::size_t{scenario.verify};
    for (auto next = planner::NextToVerify(*scenario.objective, plans, scenario.verify);
         !next.empty() && watch.GoesOn();
         next = planner::NextToVerify(*scenario.objective, plans, std::min<std::size_t>(2, most)))
    {
        most -= std::min(most, next.size());
        RunPlans(scenario, clusters, next, watched);
    }
    const auto left = planner::NextToVerify(*scenario.objective, plans, plans.size());
    if (!left.empty())
    {
        SayNote("note: " + topo::Counted(left.size(), "layout") +
                " of the table may be faster than the best that was run; --verify=" +
                std::to_string(plans.size()) + " runs all");
    }
    const auto step = [&scenario](const planner::Plan& plan) {
        return scenario.objective->score(*plan.verified, plan.layout.gpus);
    };
    // Steps of dltrain decide among those that have one.
    const auto last = std::stable_partition(plans.begin(), plans.end(), [](const auto& plan) {
        return !!plan.verified;
    });
    std::stable_sort(plans.begin(), last, [&step](const auto& a, const auto& b) {
        return step(a) < step(b);
    });
    if (scenario.moves > 0 && plans.front().verified)
    {
        TryMoves(scenario, clusters, found, watched);
    }
    found->whole = found->whole && watch.GoesOn();
}

/// Why nothing was verified of a search that was to verify; empty: something was.
std::string
WhyNotVerified(const scenario::PlannerScenario& scenario, const planner::Found& found)
{
    std::string why = "the search was ended before; --resume goes on with it";
    for (const planner::Plan& plan : found.plans)
    {
        if (plan.verified)
        {
            return "";
        }
        why = plan.notVerified.empty() || plan.notVerified == "ended" ? why : plan.notVerified;
    }
    return "--verify=" + std::to_string(scenario.verify) + ": no layout was run: " + why;
}

} // namespace

int
RunPlanner(int argc, const char* const* argv)
{
    scenario::PlannerScenario scenario = PlannerOrExit(argc, argv);
    topo::FilesRead::Watch();
    std::set<std::string> notes;
    const auto clusters = ClustersOf(scenario, &notes);
    if (clusters.empty())
    {
        return 2;
    }
    scenario.files = topo::FilesRead::Digests();
    const std::string changed =
        scenario.resume.empty() ? "" : scenario::WhyFilesDiffer(scenario.resume, scenario.files);
    if (!changed.empty())
    {
        return SayErrors({{scenario.values.Where(&scenario::asked::Search::resume),
                           scenario.resume,
                           changed,
                           ""}});
    }
    const VerifiedJobs verified = JobsToVerify(scenario);
    if (!verified.errors.empty())
    {
        return SayErrors(verified.errors);
    }
    notes.insert(verified.notes.begin(), verified.notes.end());
    if (const int status = MakeFolder(scenario.values, &scenario.run))
    {
        return status;
    }
    planner::Estimates known;
    if (!scenario.resume.empty())
    {
        known = reports::ReadEstimates(scenario, scenario.run.out);
    }
    if (const std::string why = scenario.run.dryRun ? "" : reports::BeginPlans(scenario);
        !why.empty())
    {
        return SayFailure(why);
    }
    scenario::KeepInterruption();
    PlannerWatch watch(scenario);
    if (!scenario.resume.empty())
    {
        watch.GoOn(clusters.front(), known.size());
    }
    planner::Found found = planner::Search(
        scenario,
        clusters,
        [&watch](const planner::Progress& progress) { return watch.Look(progress); },
        known);
    ClearProgress();
    if (found.plans.empty())
    {
        return Refuse(scenario, WhyNothing(scenario, clusters, found));
    }
    for (const std::string& note : notes)
    {
        SayNote(note);
    }
    for (const std::string& note : NotesOfEstimates(scenario))
    {
        SayNote(note);
    }
    if (!found.listed)
    {
        SayNote("note: the list of layouts is not complete: the best may not be in it");
    }
    watch.Tell(reports::DroppedText(found) + scenario::Format("; %.1f s", watch.Seconds()));
    const bool verifies = scenario.verify > 0 && !scenario.run.dryRun;
    if (verifies)
    {
        // A search that is killed meanwhile can go on.
        const bool whole = std::exchange(found.whole, false);
        if (const std::string why = Write(scenario, clusters, found); !why.empty())
        {
            return SayFailure(why);
        }
        found.whole = whole;
        scenario::PlannerScenario runs = scenario;
        runs.jobs = verified.jobs;
        Verify(runs, clusters, &found, watch);
    }
    const training::TrainingOptions best = BestOf(scenario, clusters, found);
    reports::PrintPlans(std::cout, {scenario, clusters, found, best});
    if (!scenario.run.dryRun)
    {
        if (const std::string why = Write(scenario, clusters, found); !why.empty())
        {
            return SayFailure(why);
        }
        std::cout << "Results                " << scenario.run.out
                  << ": plan.json (dltrain --scenario=), plans.csv, megatron.txt, deepspeed.json, "
                     "launch-notes.txt\n";
        reports::WriteReport(scenario.run, std::cout);
    }
    if (const std::string why = verifies ? WhyNotVerified(scenario, found) : ""; !why.empty())
    {
        return SayFailure(why);
    }
    return 0;
}

} // namespace dltrain
