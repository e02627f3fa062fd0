/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layout-runs.h"

#include "reports/base/human-text.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/training.h"
#include "scenarios/layout-search/options/estimated-options.h"
#include "scenarios/layout-search/search.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/startup/parse.h"
#include "scenarios/training/fewer-layers.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace dltrain
{

namespace
{

/// Blocks of a piece of the pipeline from which on six of them are simulated, and the step is
/// extrapolated: assumed.
constexpr uint32_t DEEP = 12;

/// GPUs from which on a run has no step for warm-up, which costs as much as the measured one:
/// assumed.
constexpr uint32_t MANY = 64;

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
    const std::string own = job.values.Given(&scenario::asked::Fabric::network)
                                ? job.values.Get(&scenario::asked::Fabric::network)
                                : "packet";
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

/// Networks of runs: the first that takes all options is theirs.
std::vector<std::string>
NetworksOf(const scenario::ReadResult& job, const std::string& wanted)
{
    if (wanted != "auto")
    {
        return {wanted};
    }
    const scenario::Values& values = job.values;
    const std::string network = scenario::NetworkOfFidelity(values);
    return !network.empty() ? std::vector<std::string>{network}
           : values.Given(&scenario::asked::Fabric::network)
               ? std::vector<std::string>{values.Get(&scenario::asked::Fabric::network)}
           : scenario::ChangesLinks(values) ? std::vector<std::string>{"fluid", "packet"}
                                            : std::vector<std::string>{"analytic", "packet"};
}

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

/// Options of a layout's runs that their configuration does not have.
std::vector<std::string>
MoreOf(const scenario::ReadResult& job,
       const scenario::TrainingScenario& cluster,
       const planner::Layout& layout)
{
    std::vector<std::string> words;
    if (layout.gpus >= MANY)
    {
        words.emplace_back("--warmup=0");
    }
    const uint32_t pieces = layout.pipeline * layout.virtualStages;
    const uint32_t blocks = training::BlocksOf(cluster.options.model);
    const bool uniform = job.values.Get(&scenario::asked::Training::partition) == "uniform";
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

} // namespace

JobOfRuns
ForRuns(scenario::ReadResult job, const std::string& network)
{
    JobOfRuns runs;
    for (const std::string& option : scenario::OptionsOfRun(job.values))
    {
        scenario::ClearOption(option, &job);
    }
    for (const std::string& one : NetworksOf(job, network))
    {
        runs.errors = WhyNotOn(one, job);
        runs.network = one;
        if (runs.errors.empty())
        {
            break;
        }
    }
    scenario::SetOption("network", runs.network, &job);
    runs.read = std::move(job);
    return runs;
}

std::vector<ChildJob>
RunsOf(const scenario::ReadResult& job,
       const scenario::TrainingScenario& cluster,
       const planner::Layout& layout,
       const std::string& folder,
       ChildMemory memory)
{
    const planner::FewerMicroBatches fewer(layout.pipeline);
    const bool isWhole = layout.accumulation <= 2 * fewer.more;
    const std::string network = job.values.Get(&scenario::asked::Fabric::network);
    const std::string name =
        folder + "/" + NameOf(layout, scenario::IsFast(job.values) ? "fast" : network);
    std::vector<ChildJob> runs;
    for (const uint32_t m : isWhole ? std::vector<uint32_t>{layout.accumulation}
                                    : std::vector<uint32_t>{fewer.less, fewer.more})
    {
        ChildJob& run = runs.emplace_back();
        run.folder = isWhole ? name : name + "-" + std::to_string(m);
        run.configuration = scenario::ScenarioOf(planner::WithLayout(job, layout)).dump(2) + "\n";
        run.network = network;
        run.globalBatch = uint64_t{layout.data} * layout.microBatch * m;
        run.microBatch = layout.microBatch;
        run.steps = 1;
        run.more = MoreOf(job, cluster, layout);
        run.memory = memory;
    }
    return runs;
}

std::optional<double>
StepOf(const planner::Layout& layout, const std::vector<ChildResult>& runs)
{
    for (const ChildResult& run : runs)
    {
        if (!run.step)
        {
            return {};
        }
    }
    const double step = runs.size() == 1
                            ? *runs[0].step
                            : planner::FewerMicroBatches(layout.pipeline)
                                  .Extended(*runs[0].step, *runs[1].step, layout.accumulation);
    return std::max(step, layout.bound); // as the search does
}

std::string
FastTextOf(const std::vector<ChildResult>& runs)
{
    std::optional<double> error;
    for (const ChildResult& run : runs)
    {
        if (run.stats.is_object() && run.stats.contains("fast_forward"))
        {
            const double its = run.stats["fast_forward"]["error"].get<double>();
            error = std::max(error.value_or(0), its);
        }
    }
    return error ? "fast, +-" + reports::HumanPercent(*error) : "";
}

} // namespace dltrain
