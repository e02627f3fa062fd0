/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goodput-measurement.h"

#include "child-run.h"
#include "plan-verification.h"
#include "reports/base/human-text.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/layout-search/search.h"
#include "topologies/names.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

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
        planner::Plan plan;
        plan.layout = planner::LayoutOf(m_job.options);
        const bool large = plan.layout.gpus > scenario::kMostSimulatedGpus &&
                           m_scenario.values.Text("step-from") == "auto";
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
        SimulateStep(std::move(plan));
    }

    void SimulateStep(planner::Plan plan)
    {
        scenario::PlannerScenario planned;
        planned.run.out = m_job.folder;
        planned.values = m_job.read.values;
        planned.jobs = {WithoutBatch(m_job.read)};
        planned.verify = 1;
        const VerifiedJobs run = JobsToVerify(planned);
        if (!run.errors.empty())
        {
            m_times.why = "the step cannot be simulated: " + run.errors.front().Text();
            return;
        }
        planned.jobs = run.jobs;
        planner::Plan done = std::move(plan);
        RunPlans(planned, {m_job.cluster}, {&done}, {m_goesOn, [](const std::string&) {}});
        m_times.step = done.verified.value_or(0);
        m_times.stepFrom = "simulated, " + planned.jobs.front().values.Text("network");
        m_times.why = done.verified ? "" : "the step could not be simulated: " + done.notVerified;
        if (done.verified)
        {
            m_tell("step: " + reports::HumanTime(m_times.step * 1e6));
        }
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
        const bool sends = m_scenario.values.Given("checkpoint-servers");
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
            topo::Counted(m_scenario.values.U32("checkpoint-servers"), "storage server");
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
        scenario::SetOption("recovery", "restart", &read);
        const std::string folder = m_job.folder + "/" + name;
        std::error_code failed;
        std::filesystem::create_directories(m_job.folder, failed);
        m_times.why = WriteForChild(folder + ".json", scenario::ScenarioOf(read).dump(2) + "\n");
        if (!m_times.why.empty())
        {
            return {};
        }
        const training::TrainingOptions& o = m_job.options;
        const planner::FewerMicroBatches fewer(o.pipeline);
        const uint64_t batch =
            uint64_t{o.Data()} * o.microBatch * std::min(o.accumulation, fewer.less);
        std::vector<std::string> words = {ChildProgram(),
                                          "--scenario=" + folder + ".json",
                                          "--out=" + folder,
                                          "--network=packet",
                                          "--global-batch=" + std::to_string(batch),
                                          "--micro-batch=" + std::to_string(o.microBatch),
                                          "--steps=2",
                                          "--warmup=0",
                                          "--spares=1",
                                          "--no-report",
                                          "--no-timeline",
                                          "--no-attribution",
                                          "--no-progress",
                                          "--ignore-memory"};
        if (!fault.empty())
        {
            words.push_back(fault);
        }
        const pid_t process = StartChild(words, folder + ".txt");
        int status = -1;
        bool ended = process < 0;
        bool stopped = false;
        while (!ended)
        {
            ended = waitpid(process, &status, WNOHANG) == process;
            if (!ended && !stopped && !m_goesOn())
            {
                stopped = true;
                kill(process, SIGTERM);
            }
            usleep(20000);
        }
        auto stats = ChildStats(folder);
        if (process < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || stats.is_discarded() ||
            !stats.contains("recovery"))
        {
            m_times.why = "the " + name + " could not be simulated: " +
                          (process < 0 ? "dltrain cannot be started" : LastLine(folder + ".txt"));
            return {};
        }
        return stats;
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
