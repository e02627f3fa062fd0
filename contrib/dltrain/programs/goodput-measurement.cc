/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goodput-measurement.h"

#include "child-runs.h"
#include "layout-runs.h"
#include "reports/base/human-text.h"
#include "scenarios/asked/goodput.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/layout-search/search.h"
#include "scenarios/network/fidelity-options.h"
#include "topologies/names.h"

#include <numeric>
#include <optional>

namespace dltrain
{

namespace
{

class Measurement
{
  public:
    Measurement(const scenario::GoodputScenario& scenario,
                const GoodputJob& job,
                const std::function<bool()>& goesOn,
                const std::function<void(const std::string&)>& tell)
        : m_scenario(scenario),
          m_job(job),
          m_goesOn(goesOn),
          m_tell(tell)
    {
    }

    reports::GoodputTimes Take()
    {
        TakeStep();
        if (m_times.why.empty())
        {
            TakeCheckpoint();
        }
        return m_times;
    }

  private:
    void TakeStep()
    {
        if (m_scenario.step)
        {
            m_times.step = *m_scenario.step;
            m_times.stepFrom = "given";
            return;
        }
        const planner::Layout layout = planner::LayoutOf(m_job.options);
        const bool large = layout.gpus > scenario::kMostSimulatedGpus &&
                           m_scenario.values.Get(&scenario::asked::Goodput::stepFrom) == "auto";
        if (m_scenario.estimates || large || m_job.folder.empty())
        {
            const auto estimate = planner::StepEstimator(m_job.cluster).Estimate(m_job.options);
            m_times.step = estimate ? estimate->step : 0;
            m_times.stepFrom = "dlplan's estimate";
            m_times.why = estimate ? ""
                                   : "--step-from=estimate: this step has no estimate; allowed: "
                                     "--step-from=simulation, or --step-time";
            return;
        }
        SimulateStep(layout);
    }

    void SimulateStep(const planner::Layout& layout)
    {
        const JobOfRuns job = ForRuns(WithoutBatch(m_job.read), "auto");
        if (!job.errors.empty())
        {
            m_times.why = "the step cannot be simulated: " + job.errors.front().Text();
            return;
        }
        const auto results = RunChildren(
            m_scenario.run,
            RunsOf(job.read, m_job.cluster, layout, m_job.folder + "/verify", ChildMemory::kKept),
            m_goesOn);
        const std::optional<double> step = StepOf(layout, results);
        m_times.step = step.value_or(0);
        const std::string fast = FastTextOf(results);
        m_times.stepFrom = "simulated, " + (fast.empty() ? job.network : fast);
        if (step)
        {
            m_tell("step: " + reports::HumanTime(m_times.step * 1e6));
            return;
        }
        const bool isFirst = !results.front().why.empty();
        m_times.why =
            "the step could not be simulated: " + (isFirst ? results.front() : results.back()).why;
    }

    /// The runs have a batch of their own, with fewer micro-batches.
    static scenario::ReadResult WithoutBatch(const scenario::ReadResult& read)
    {
        scenario::ReadResult without = read;
        for (const char* const option : {"global-batch", "micro-batch", "accumulation"})
        {
            without.values.Slot(option) = {};
            without.kept.erase(option);
        }
        return without;
    }

    void TakeCheckpoint()
    {
        const scenario::RecoverySpec& costs = m_job.costs;
        const auto written = costs.checkpoint.WrittenBy();
        m_times.checkpointBytes = std::accumulate(written.begin(), written.end(), uint64_t{0});
        m_times.copy = m_scenario.copy.value_or(ToS(costs.CopyTime(written)));
        const bool sends = m_scenario.values.Given(&scenario::asked::Recovery::checkpointServers);
        if (sends && !(m_scenario.write && m_scenario.read))
        {
            SimulateCheckpoint();
        }
        else if (!sends)
        {
            const std::vector<uint64_t> read = costs.checkpoint.ReadBy(costs.gpus);
            m_times.write = ToS(costs.TimeAtRate(written));
            m_times.read = ToS(costs.TimeAtRate(read));
            m_times.writeFrom = OfBusiestServer(costs, written);
            m_times.readFrom = OfBusiestServer(costs, read);
        }
        if (m_scenario.write)
        {
            m_times.write = *m_scenario.write;
            m_times.writeFrom = "given";
        }
        if (m_scenario.read)
        {
            m_times.read = *m_scenario.read;
            m_times.readFrom = "given";
        }
    }

    /// "62 GB of the busiest server at 20 Gb/s": what a time at the rate of servers is made of.
    static std::string OfBusiestServer(const scenario::RecoverySpec& costs,
                                       const std::vector<uint64_t>& bytesOf)
    {
        return reports::HumanBytes(static_cast<double>(costs.MostOfServer(bytesOf))) +
               " of the busiest server at " +
               reports::HumanRate(static_cast<double>(costs.checkpointRate.bps) * 1e-9);
    }

    static double ToS(rdma::Duration time)
    {
        return static_cast<double>(time.ps) * 1e-12;
    }

    /// A checkpoint between two short steps, in packets; then the same with a GPU that stops in the
    /// second one.
    void SimulateCheckpoint()
    {
        if (m_job.folder.empty())
        {
            m_times.why = "--checkpoint-servers: its messages are simulated, which --dry-run does "
                          "not; allowed: without --dry-run, or --checkpoint-time and --read-time";
            return;
        }
        const auto stats = RunSteps("checkpoint", "");
        if (!stats)
        {
            return;
        }
        const auto& recovery = (*stats)["recovery"];
        if (recovery["checkpoints_took_us"].empty())
        {
            m_times.why = "the checkpoint could not be simulated: it was not written";
            return;
        }
        const double written = recovery["checkpoints_written_us"][0].get<double>();
        const double end = recovery["elapsed_us"].get<double>();
        m_times.write = recovery["checkpoints_took_us"][0].get<double>() * 1e-6;
        m_times.writeFrom = m_times.readFrom =
            "simulated, " +
            topo::Counted(m_scenario.values.Get(&scenario::asked::Recovery::checkpointServers),
                          "storage server");
        m_tell("checkpoint: " + reports::HumanTime(m_times.write * 1e6));
        const auto middle = static_cast<uint64_t>((written + end) / 2 * 1e3);
        const auto failed =
            RunSteps("restart", "--fault=gpu-stop,at=" + std::to_string(middle) + "ns,on=gpu-0");
        if (!failed)
        {
            return;
        }
        const auto& failures = (*failed)["recovery"]["failures"];
        if (failures.empty() || failures[0]["read_us"].get<double>() <= 0)
        {
            m_times.why = "the restart could not be simulated: no checkpoint was read";
            return;
        }
        m_times.read = failures[0]["read_us"].get<double>() * 1e-6;
        m_tell("restart: the checkpoint is read in " + reports::HumanTime(m_times.read * 1e6));
    }

    /// \return stats.json; nothing: m_times.why says why
    std::optional<nlohmann::json> RunSteps(const std::string& name, const std::string& fault)
    {
        scenario::ReadResult read = WithoutBatch(scenario::WithRecovery(m_scenario, m_job.read));
        for (const char* const option : {"checkpoint-async", "checkpoint-copy-rate"})
        {
            read.values.Slot(option) = {}; // the write is measured, by itself
        }
        if (scenario::IsFast(read.values)) // faults and checkpoints are in packets
        {
            for (const char* const option : {"fidelity", "fast-error", "fast-checks"})
            {
                scenario::ClearOption(option, &read);
            }
        }
        scenario::SetOption("recovery", "restart", &read);
        const training::TrainingOptions& o = m_job.options;
        const planner::FewerMicroBatches fewer(o.pipeline);
        ChildJob job;
        job.folder = m_job.folder + "/" + name;
        job.configuration = scenario::ScenarioOf(read).dump(2) + "\n";
        job.network = "packet";
        job.globalBatch = uint64_t{o.Data()} * o.microBatch * std::min(o.accumulation, fewer.less);
        job.microBatch = o.microBatch;
        job.steps = 2;
        job.more = {"--warmup=0", "--spares=1"};
        if (!fault.empty())
        {
            job.more.push_back(fault);
        }
        ChildResult result = std::move(RunChildren(m_scenario.run, {job}, m_goesOn).front());
        if (result.stats.is_discarded() || !result.stats.contains("recovery"))
        {
            m_times.why = "the " + name + " could not be simulated: " + result.why;
            return {};
        }
        return std::move(result.stats);
    }

    const scenario::GoodputScenario& m_scenario;
    const GoodputJob& m_job;
    const std::function<bool()>& m_goesOn;
    const std::function<void(const std::string&)>& m_tell;
    reports::GoodputTimes m_times;
};

} // namespace

reports::GoodputTimes
MeasureGoodput(const scenario::GoodputScenario& scenario,
               const GoodputJob& job,
               const std::function<bool()>& goesOn,
               const std::function<void(const std::string&)>& tell)
{
    return Measurement(scenario, job, goesOn, tell).Take();
}

} // namespace dltrain
