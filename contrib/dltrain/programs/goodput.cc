/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goodput.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/runners/fault-run.h"
#include "frame.h"
#include "goodput-measurement.h"
#include "reports/base/report-launcher.h"
#include "reports/programs/goodput-results.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/goodput/options/failure-bounds.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/options/format.h"
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/options/validate-layout.h"
#include "scenarios/training/steps/layout.h"
#include "topologies/names.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <set>
#include <unistd.h>

namespace dltrain
{

namespace
{

using goodput::Cause;
using scenario::GoodputScenario;

/// What is simulated, on stderr: a terminal gets each line, a log at most one in 10 s and none of a
/// shorter run, as of RunControl's progress.
class GoodputProgress
{
  public:
    /// \param shown --progress
    explicit GoodputProgress(bool shown)
        : m_shown(shown)
    {
    }

    void Tell(const std::string& line)
    {
        const auto now = std::chrono::steady_clock::now();
        if (m_shown && (m_terminal || now >= m_next))
        {
            m_next = now + LOG_EVERY;
            SayProgress(line);
        }
    }

  private:
    static constexpr auto LOG_EVERY = std::chrono::seconds(10);

    const bool m_shown;
    const bool m_terminal = isatty(STDERR_FILENO) != 0;
    std::chrono::steady_clock::time_point m_next = std::chrono::steady_clock::now() + LOG_EVERY;
};

/// A job as it was read, with all that its rules decide.
struct Prepared
{
    scenario::TrainingScenario cluster;
    training::TrainingOptions options;
    scenario::RecoverySpec costs;
};

/// Until the job knows that a part has failed, s.
double
DetectionOf(const GoodputScenario& scenario, const Prepared& job, Cause cause)
{
    constexpr double PS = 1e-12;
    if (scenario.detection)
    {
        return *scenario.detection;
    }
    if (cause != Cause::kNic && cause != Cause::kSwitch)
    {
        return static_cast<double>(job.costs.monitorInterval.ps) * PS; // a process has ended
    }
    const QueuePairPatience patience{job.cluster.fabric.timeoutExponent,
                                     scenario.values.Get(&scenario::asked::Fabric::retryCount) + 1};
    const double watchdog = static_cast<double>(job.costs.watchdog.ps) * PS;
    return patience.exponent == 0 ? watchdog
                                  : std::min(watchdog, static_cast<double>(patience.GetPs()) * PS);
}

std::vector<goodput::Source>
SourcesOf(const GoodputScenario& scenario, const Prepared& job)
{
    const scenario::ClusterSpec& cluster = job.cluster.cluster;
    const uint64_t servers = cluster.servers;
    const uint64_t gpus = servers * cluster.server.gpus;
    const uint64_t parts[goodput::CAUSES] =
        {gpus, servers * cluster.server.nics, cluster.topology.SwitchCount(), servers, gpus, 1};
    std::vector<goodput::Source> sources;
    for (const Cause cause : goodput::ALL_CAUSES)
    {
        const auto index = static_cast<std::size_t>(cause);
        goodput::Source source;
        source.cause = cause;
        source.mtbf = scenario.mtbf[index];
        source.parts = parts[index];
        source.detection = DetectionOf(scenario, job, cause);
        // Other switches carry on, or the cable is changed; software starts again on the same
        // servers (both assumed).
        source.takesServer = cause != Cause::kSwitch && cause != Cause::kSoftware;
        if (source.Rate() > 0)
        {
            sources.push_back(source);
        }
    }
    return sources;
}

/// Failures a second, of all causes.
double
RateOf(const GoodputScenario& scenario, const Prepared& job)
{
    double rate = 0;
    for (const goodput::Source& source : SourcesOf(scenario, job))
    {
        rate += source.Rate();
    }
    return rate;
}

/// \return errors
std::vector<scenario::Error>
PrepareJob(const GoodputScenario& scenario,
           const scenario::ReadResult& job,
           std::vector<Prepared>* all,
           std::set<std::string>* notes)
{
    auto cluster = scenario::ValidateCluster(job);
    if (!cluster.scenario)
    {
        return cluster.errors;
    }
    notes->insert(cluster.notes.begin(), cluster.notes.end());
    const auto layout = scenario::ValidateLayout(job, *cluster.scenario);
    if (!layout.options)
    {
        return layout.errors;
    }
    std::vector<scenario::Error> errors;
    training::TrainingOptions checked = *layout.options;
    checked.ignoreMemory = checked.ignoreMemory || scenario.step; // a step that was measured fits
    for (const training::Problem& problem : training::Check(checked))
    {
        if (problem.error)
        {
            errors.push_back({problem.member ? scenario::Spell(*problem.member) : problem.path,
                              "",
                              problem.text,
                              ""});
        }
    }
    scenario::Validation v{scenario::TrainingOptionTable(),
                           scenario::WithRecovery(scenario, job).values,
                           {},
                           {}};
    const auto costs = scenario::RecoveryCosts(&v, cluster.scenario->cluster, *layout.options);
    errors.insert(errors.end(), v.errors.begin(), v.errors.end());
    notes->insert(v.notes.begin(), v.notes.end());
    all->push_back({std::move(*cluster.scenario), *layout.options, costs});
    return errors.empty() ? scenario::CheckFailures(scenario, RateOf(scenario, all->back()))
                          : errors;
}

/// The replicas that have a rank in each server.
std::vector<std::vector<uint32_t>>
ReplicasOfServers(const Prepared& job)
{
    const training::Layout layout = job.options.GetLayout();
    std::vector<std::set<uint32_t>> servers(job.cluster.cluster.servers);
    for (coll::Rank rank = 0; rank < job.options.ranks; ++rank)
    {
        servers.at(rank / job.cluster.cluster.server.gpus)
            .insert(training::PlaceOf(layout, rank).data);
    }
    std::vector<std::vector<uint32_t>> replicas;
    for (const auto& ofServer : servers)
    {
        replicas.emplace_back(ofServer.begin(), ofServer.end());
    }
    return replicas;
}

goodput::Job
ModelOf(const GoodputScenario& scenario, const Prepared& job, const reports::GoodputTimes& times)
{
    constexpr double PS = 1e-12;
    const scenario::RecoverySpec& costs = job.costs;
    goodput::Job model;
    model.policy = costs.policy->restarts ? goodput::Policy::kRestart : goodput::Policy::kShrink;
    model.sources = SourcesOf(scenario, job);
    model.step = times.step;
    model.stall = costs.writesBehind ? times.copy : times.write;
    model.behind = costs.writesBehind ? times.write : 0;
    model.abort = static_cast<double>(costs.abort.ps) * PS;
    model.replace = scenario.replace;
    model.restart = static_cast<double>(costs.restartInstead.ps) * PS;
    model.regroup = static_cast<double>(costs.restart.ps) * PS;
    model.read = times.read;
    model.spares = scenario.spares;
    model.repair = scenario.repair;
    model.replicas = job.options.Data();
    if (model.policy == goodput::Policy::kShrink)
    {
        model.servers = ReplicasOfServers(job);
    }
    model.weibull = scenario.weibull;
    return model;
}

std::string
JobText(const Prepared& job)
{
    const training::TrainingOptions& o = job.options;
    const scenario::ClusterSpec& cluster = job.cluster.cluster;
    const std::pair<const char*, uint32_t> degrees[] = {{"tp", o.tensor},
                                                        {"pp", o.pipeline},
                                                        {"cp", o.context},
                                                        {"ep", o.expert},
                                                        {"dp", o.Data()}};
    std::string text = job.cluster.model + " on " + std::to_string(o.ranks) + " " +
                       job.cluster.gpu + " (" + std::to_string(cluster.servers) + " " +
                       cluster.server.name + ")";
    for (const auto& [name, degree] : degrees)
    {
        text += degree > 1 ? ", " + std::string(name) + " " + std::to_string(degree) : "";
    }
    return text;
}

/// The interval between checkpoints, in whole steps. \return s; infinite: none
double
IntervalOf(const GoodputScenario& scenario, const goodput::Job& model)
{
    if (scenario.intervalSteps)
    {
        return *scenario.intervalSteps * model.step;
    }
    if (scenario.interval)
    {
        return std::max(1.0, std::round(*scenario.interval / model.step)) * model.step;
    }
    return goodput::BestInterval(model);
}

/// What of checkpoints is longer than the job, or than the time to a failure.
void
NoteLongCheckpoints(const reports::GoodputRun& run)
{
    const double mtbf = 1 / run.model.FailureRate();
    const double one = run.model.stall + run.model.behind;
    const std::pair<const char*, double> parts[] = {
        {"the interval between checkpoints", run.interval},
        {"writing one checkpoint", one}};
    for (const auto& [what, takes] : parts)
    {
        const bool none = std::isinf(takes); // nothing fails, so it has none
        if (!none && takes > run.duration)
        {
            SayNote(std::string(what) + " takes " + scenario::SpanText(takes) +
                    ", longer than the job, " + scenario::SpanText(run.duration) +
                    ": none is written, so only work since the last failure counts, which the job "
                    "has when it ends");
        }
        else if (!none && takes > mtbf)
        {
            SayNote(std::string(what) + " takes " + scenario::SpanText(takes) +
                    ", longer than the mean time between failures, " + scenario::SpanText(mtbf) +
                    ": most work is lost before a checkpoint has it");
        }
    }
}

} // namespace

int
RunGoodput(int argc, const char* const* argv)
{
    GoodputScenario scenario = GoodputOrExit(argc, argv);
    std::vector<Prepared> prepared;
    std::set<std::string> notes;
    for (const scenario::ReadResult& job : scenario.jobs)
    {
        if (const int status = SayErrors(PrepareJob(scenario, job, &prepared, &notes)))
        {
            return status;
        }
    }
    if (const int status = MakeFolder(scenario.values, &scenario.run))
    {
        return status;
    }
    scenario::KeepInterruption();
    for (const std::string& note : notes)
    {
        SayNote(note);
    }
    GoodputProgress progress(scenario.run.progress);
    std::vector<reports::GoodputRun> runs;
    for (std::size_t i = 0; i < prepared.size(); ++i)
    {
        const Prepared& job = prepared[i];
        const std::string folder = scenario.run.dryRun    ? ""
                                   : prepared.size() == 1 ? scenario.run.out + "/simulated"
                                                          : scenario.run.out + "/simulated-" +
                                                                std::to_string(job.options.ranks);
        reports::GoodputRun run;
        run.times = MeasureGoodput(
            scenario,
            {scenario.jobs[i], job.cluster, job.options, job.costs, folder},
            [] { return scenario::Interruption() == 0; },
            [&](const std::string& line) {
                progress.Tell(topo::Counted(job.options.ranks, "GPU") + ": " + line);
            });
        if (scenario::Interruption() != 0)
        {
            std::cerr << "dlgoodput: stopped while times were simulated" << std::endl;
            break;
        }
        if (!run.times.why.empty())
        {
            return SayError("dlgoodput",
                            run.times.why,
                            scenario.run.dryRun ? nullptr : &scenario.run);
        }
        run.gpus = job.options.ranks;
        run.servers = job.cluster.cluster.servers;
        run.job = JobText(job);
        const uint32_t sequence = job.options.Sequence();
        run.tokensOfStep =
            sequence > 1 ? static_cast<double>(job.options.GlobalBatch()) * sequence : 0;
        run.model = ModelOf(scenario, job, run.times);
        if (run.times.step > scenario.duration)
        {
            return SayError("dlgoodput",
                            scenario::WhyNoStep(scenario, run.times.step),
                            scenario.run.dryRun ? nullptr : &scenario.run);
        }
        if (run.model.policy == goodput::Policy::kShrink && run.model.LeavingShare() <= 0)
        {
            SayNote("each server has ranks of all replicas, so none is left when one fails: all "
                    "wait for its repair, and restart");
        }
        run.interval = IntervalOf(scenario, run.model);
        run.intervalSteps =
            std::isinf(run.interval)
                ? 0
                : static_cast<uint64_t>(std::llround(run.interval / run.times.step));
        run.duration = scenario.duration;
        NoteLongCheckpoints(run);
        run.simulated = goodput::Replicate(run.model,
                                           run.interval,
                                           scenario.duration,
                                           scenario.run.seed,
                                           scenario.replications,
                                           [] { return scenario::Interruption() == 0; });
        if (scenario::Interruption() != 0)
        {
            std::cerr << "dlgoodput: stopped after " << run.simulated.count << " of "
                      << topo::Counted(scenario.replications, "course") << std::endl;
            break;
        }
        runs.push_back(std::move(run));
    }
    // After a signal: numbers of GPUs that are done are results.
    reports::GoodputResults all{scenario, runs};
    for (std::size_t i = runs.size(); i < prepared.size(); ++i)
    {
        all.stopped += (all.stopped.empty() ? "stopped by a signal, without " : ", ") +
                       topo::Counted(prepared[i].options.ranks, "GPU");
    }
    const int status = all.stopped.empty() ? 0 : 128 + scenario::Interruption();
    if (runs.empty())
    {
        return status;
    }
    reports::PrintGoodput(std::cout, all);
    if (status)
    {
        std::cerr << "dlgoodput: " << all.stopped << std::endl;
    }
    if (scenario.run.dryRun)
    {
        return status;
    }
    if (const std::string why = reports::WriteGoodput(all); !why.empty())
    {
        return SayFailure(why);
    }
    std::cout << "Results          " << scenario.run.out
              << ": stats.json, intervals.csv, interruptions.csv\n";
    reports::WriteReport(scenario.run, std::cout);
    return status;
}

} // namespace dltrain
