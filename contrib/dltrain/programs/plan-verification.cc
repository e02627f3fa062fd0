/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plan-verification.h"

#include "child-run.h"
#include "contrib/rdma/core/regular-file.h"
#include "scenarios/dry-run/plan-lines.h"
#include "scenarios/layout-search/options/estimated-options.h"
#include "scenarios/startup/parse.h"
#include "scenarios/training/fewer-layers.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace dltrain
{

namespace
{

/// Runs at a time: assumed, of a machine with few cores.
constexpr std::size_t AT_A_TIME = 2;
/// Blocks of a piece of the pipeline from which on six of them are simulated, and the step is
/// extrapolated: assumed.
constexpr uint32_t DEEP = 12;

/// The network of a run.
std::string
NetworkOf(const scenario::ReadResult& job)
{
    const scenario::Values& values = job.values;
    return values.Given("network")          ? values.Text("network")
           : scenario::ChangesLinks(values) ? "fluid"
                                            : "analytic";
}

/// Networks of runs: the first that takes all options is theirs.
std::vector<std::string>
NetworksOf(const scenario::PlannerScenario& scenario, const scenario::ReadResult& job)
{
    if (scenario.verifyNetwork != "auto")
    {
        return {scenario.verifyNetwork};
    }
    return job.values.Given("network") ? std::vector<std::string>{NetworkOf(job)}
                                       : std::vector<std::string>{NetworkOf(job), "packet"};
}

/// What dltrain says of a job on a network, whatever its layout.
std::vector<scenario::Error>
ErrorsOn(const std::string& network, scenario::ReadResult job)
{
    for (const char* const ofLayout : {"global-batch", "micro-batch", "accumulation"})
    {
        scenario::ClearOption(ofLayout, &job);
    }
    scenario::SetOption("ignore-memory", "1", &job);
    scenario::SetOption("network", network, &job);
    return scenario::CheckValues<scenario::TrainingScenario>(job).errors;
}

/// Why a network does not take the options of a job that the job's own one takes. Empty: it does.
std::vector<scenario::Error>
WhyNotOn(const std::string& network, const scenario::ReadResult& job)
{
    const std::string own = job.values.Given("network") ? job.values.Text("network") : "packet";
    if (network == own)
    {
        return {};
    }
    std::set<std::string> anyway; // of a layout that there is not yet
    for (const scenario::Error& error : ErrorsOn(own, job))
    {
        anyway.insert(error.Text());
    }
    std::vector<scenario::Error> errors = ErrorsOn(network, job);
    errors.erase(std::remove_if(errors.begin(),
                                errors.end(),
                                [&anyway](const auto& e) { return anyway.count(e.Text()) > 0; }),
                 errors.end());
    return errors;
}

/// One run: of a plan, with so many micro-batches.
struct Child
{
    std::size_t plan = 0;
    uint32_t microBatches = 0;
    std::string folder;
    pid_t process = -1;
    std::optional<double> step; ///< s
    std::string why;            ///< there is none
};

/// A folder's name for a plan's runs: the same in a search that goes on.
std::string
NameOf(const planner::Layout& layout, const std::string& network)
{
    std::string name = std::to_string(layout.gpus) + " " + planner::LayoutText(layout) + " m" +
                       std::to_string(layout.accumulation) + " " + network;
    for (char& c : name)
    {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
        c = plain ? c : '-';
    }
    return name;
}

/// GPUs from which on a run has no step for warm-up, which costs as much as the measured one:
/// assumed.
constexpr uint32_t MANY = 64;

/// The runs that a plan's step follows from: of many micro-batches, as its estimate.
std::vector<Child>
ChildrenOf(std::size_t plan, const planner::Layout& layout, const std::string& folder)
{
    const planner::FewerMicroBatches fewer(layout.pipeline);
    std::vector<Child> children;
    if (layout.accumulation <= 2 * fewer.more)
    {
        children.push_back({plan, layout.accumulation, folder, -1, {}, ""});
        return children;
    }
    for (const uint32_t m : {fewer.less, fewer.more})
    {
        children.push_back({plan, m, folder + "-" + std::to_string(m), -1, {}, ""});
    }
    return children;
}

std::vector<std::string>
ArgumentsOf(const scenario::PlannerScenario& scenario,
            const scenario::TrainingScenario& cluster,
            const planner::Plan& plan,
            const Child& child)
{
    const planner::Layout& layout = plan.layout;
    const scenario::ReadResult& job = scenario.jobs[layout.job];
    const uint64_t batch = uint64_t{layout.data} * layout.microBatch * child.microBatches;
    std::vector<std::string> words = {ChildProgram(),
                                      "--scenario=" + child.folder + ".json",
                                      "--out=" + child.folder,
                                      "--network=" + NetworkOf(job),
                                      "--global-batch=" + std::to_string(batch),
                                      "--micro-batch=" + std::to_string(layout.microBatch),
                                      "--steps=1",
                                      "--no-report",
                                      "--no-timeline",
                                      "--no-attribution",
                                      "--no-progress",
                                      "--ignore-memory"};
    if (layout.gpus >= MANY)
    {
        words.emplace_back("--warmup=0");
    }
    const uint32_t pieces = layout.pipeline * layout.virtualStages;
    const uint32_t blocks = training::BlocksOf(cluster.options.model);
    const bool uniform = job.values.Text("partition") == "uniform";
    if (uniform && blocks >= DEEP * pieces && blocks % pieces == 0)
    {
        // Steps that cannot be extended from fewer layers have all: with checkpoints, faults.
        const std::string layers = std::to_string(6 * pieces);
        scenario::ReadResult fewer = job;
        scenario::SetOption("layers", layers, &fewer);
        scenario::SetOption("ignore-memory", "1", &fewer);
        if (!planner::WhyNotRun(fewer, layout))
        {
            words.push_back("--layers=" + layers);
        }
    }
    return words;
}

std::string
TextOf(const std::string& file)
{
    if (!rdma::IsReadable(file))
    {
        return ""; // opening a pipe would wait
    }
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// \return seconds of the step; nothing: the run has none
std::optional<double>
StepIn(const std::string& folder)
{
    const auto stats = ChildStats(folder);
    if (stats.is_discarded() || !stats.contains("step_time_us") || !stats.value("completed", false))
    {
        return {};
    }
    const auto& step = stats["step_time_us"];
    return step.is_number() ? std::optional(step.get<double>() * 1e-6) : std::nullopt;
}

/// Starts a run, or takes its step from the search that was ended. \return whether it runs
bool
Start(const scenario::PlannerScenario& scenario,
      const std::vector<scenario::TrainingScenario>& clusters,
      const planner::Plan& plan,
      Child& child)
{
    const auto read = planner::WithLayout(scenario.jobs[plan.layout.job], plan.layout);
    const std::string job = scenario::ScenarioOf(read).dump(2) + "\n";
    const auto words = ArgumentsOf(scenario, clusters[plan.layout.job], plan, child);
    // Without its folders, which may have been moved.
    std::string command =
        "dltrain --scenario=" + std::filesystem::path(child.folder).filename().string() + ".json";
    for (const std::string& word : words)
    {
        const bool isOption = word.rfind("--", 0) == 0;
        const bool isFolder = word.rfind("--scenario=", 0) == 0 || word.rfind("--out=", 0) == 0;
        command += isOption && !isFolder ? " " + word : "";
    }
    command += "\n";
    const bool same = !scenario.resume.empty() && TextOf(child.folder + ".json") == job &&
                      TextOf(child.folder + ".command") == command;
    child.step = same ? StepIn(child.folder) : std::nullopt;
    if (child.step)
    {
        return false;
    }
    std::error_code failed;
    // Of another job; or a pipe, or a link to another file.
    for (const char* const old : {"/stats.json", ".json", ".command", ".txt"})
    {
        std::filesystem::remove(child.folder + old, failed);
    }
    for (const auto& [end, text] : {std::pair(".json", job), std::pair(".command", command)})
    {
        child.why = WriteForChild(child.folder + end, text);
        if (!child.why.empty())
        {
            return false;
        }
    }
    child.process = StartChild(words, child.folder + ".txt");
    child.why = child.process < 0 ? "dltrain cannot be started" : "";
    return child.process > 0;
}

/// A plan's step, when all of its runs have ended.
void
TakeSteps(const std::vector<Child>& children,
          std::size_t index,
          planner::Plan& plan,
          const std::string& name,
          const std::function<void(const std::string&)>& tell)
{
    std::vector<const Child*> its;
    for (const Child& child : children)
    {
        if (child.plan == index)
        {
            its.push_back(&child);
        }
    }
    for (const Child* child : its)
    {
        if (!child->why.empty() && plan.notVerified.empty())
        {
            plan.notVerified = child->why;
            tell(name + ": not verified: " + child->why);
        }
        if (!child->step)
        {
            return;
        }
    }
    plan.verified = its.size() == 1
                        ? *its[0]->step
                        : planner::FewerMicroBatches(plan.layout.pipeline)
                              .Extended(*its[0]->step, *its[1]->step, plan.layout.accumulation);
    plan.verified = std::max(*plan.verified, plan.layout.bound); // as the search does
    tell(name + ": " + scenario::SecondsText(*plan.verified) + ", estimated " +
         scenario::SecondsText(plan.estimate.step));
}

} // namespace

VerifiedJobs
JobsToVerify(const scenario::PlannerScenario& scenario)
{
    VerifiedJobs all;
    if (scenario.verify == 0)
    {
        return all;
    }
    const std::vector<std::string> without = scenario::OptionsOfRun(scenario.jobs.front().values);
    for (scenario::ReadResult job : scenario.jobs)
    {
        for (const std::string& option : without)
        {
            scenario::ClearOption(option, &job);
        }
        std::string taken;
        for (const std::string& network : NetworksOf(scenario, job))
        {
            all.errors = WhyNotOn(network, job);
            taken = network;
            if (all.errors.empty())
            {
                break;
            }
        }
        if (!all.errors.empty())
        {
            for (scenario::Error& error : all.errors)
            {
                error.problem += " (--verify runs it with --network=" + taken + ")";
            }
            return all;
        }
        scenario::SetOption("network", taken, &job);
        all.jobs.push_back(std::move(job));
    }
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
    const std::string folder = scenario.run.out + "/verify";
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    std::vector<Child> children;
    for (std::size_t i = 0; i < plans.size(); ++i)
    {
        const planner::Layout& layout = plans[i]->layout;
        const std::string network = NetworkOf(scenario.jobs[layout.job]);
        for (Child& child : ChildrenOf(i, layout, folder + "/" + NameOf(layout, network)))
        {
            children.push_back(std::move(child));
        }
    }
    const auto take = [&](const Child& child) {
        planner::Plan& plan = *plans[child.plan];
        TakeSteps(children, child.plan, plan, planner::LayoutText(plan.layout), watch.tell);
    };
    std::size_t next = 0;
    std::size_t running = 0;
    bool ended = false;
    while (running > 0 || (next < children.size() && !ended))
    {
        for (; !ended && next < children.size() && running < AT_A_TIME; ++next)
        {
            Child& child = children[next];
            if (Start(scenario, clusters, *plans[child.plan], child))
            {
                ++running;
            }
            else
            {
                take(child);
            }
        }
        if (!ended && !watch.goesOn())
        {
            ended = true;
            for (const Child& child : children)
            {
                if (child.process > 0)
                {
                    kill(child.process, SIGTERM);
                }
            }
        }
        for (Child& child : children)
        {
            int status = 0;
            if (child.process > 0 && waitpid(child.process, &status, WNOHANG) == child.process)
            {
                --running;
                child.process = -1;
                child.step = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? StepIn(child.folder)
                                                                           : std::nullopt;
                child.why = child.step ? "" : ended ? "ended" : LastLine(child.folder + ".txt");
                take(child);
            }
        }
        if (running > 0)
        {
            usleep(20000);
        }
    }
    for (planner::Plan* plan : plans)
    {
        plan->notVerified = plan->verified              ? ""
                            : plan->notVerified.empty() ? "ended"
                                                        : plan->notVerified;
    }
}

} // namespace dltrain
