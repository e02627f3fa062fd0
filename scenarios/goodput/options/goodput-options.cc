/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/goodput/options/goodput-options.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/goodput.h"
#include "scenarios/asked/launch.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/network/child-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/options/format.h"
#include "scenarios/options/span.h"

#include <algorithm>

namespace scenario
{

namespace
{

/// A parameter of families of topologies, whose rows are made of their registry.
constexpr const char* kOversubscription = "oversubscription";

/// Options of recovery that the job's step has nothing of.
std::vector<std::string>
RecoveryNames()
{
    std::vector<std::string> names;
    for (const Option& option : RecoveryOptionRows(Checkpoints::kOfModel))
    {
        names.push_back(option.name);
    }
    return names;
}

std::vector<Option>
GoodputRows()
{
    const Section section{"/goodput", "Goodput"};
    const auto span = [&section](const char* name, const char* help) {
        return section.Text(name, help).Shows("TIME");
    };
    return {
        span("mtbf", "mean time between failures of the whole job, whatever fails")
            .As(&asked::Goodput::mtbf)
            .Otherwise("that of its parts")
            .Example("3h"),
        span("gpu-mtbf", "mean time between failures of one GPU, or never")
            .As(&asked::Goodput::gpuMtbf)
            .Otherwise("9.04y, as in Llama 3's training")
            .Example("5y"),
        span("nic-mtbf", "of one NIC, or never")
            .As(&asked::Goodput::nicMtbf)
            .Otherwise("346y, as in Llama 3's training")
            .Example("100y"),
        span("switch-mtbf", "of one switch with its cables, or never")
            .As(&asked::Goodput::switchMtbf)
            .Otherwise("8.65y, as in Llama 3's training, whose switches are counted in part")
            .Example("20y"),
        span("server-mtbf", "of one server without its GPUs and NICs, or never")
            .As(&asked::Goodput::serverMtbf)
            .Otherwise("6.58y, as in Llama 3's training")
            .Example("3y"),
        span("software-mtbf", "of the software of one process, one a GPU, or never")
            .As(&asked::Goodput::softwareMtbf)
            .Otherwise("38.4y, as in Llama 3's training")
            .Example("never"),
        section
            .Real("weibull-shape",
                  "shape of the times between failures of each cause in the simulation; 1: "
                  "exponential, below: failures come in bursts")
            .As(&asked::Goodput::weibullShape)
            .Range(0.1, 10)
            .Default("1")
            .Example("0.7"),
        span("duration", "time that the job has the cluster")
            .As(&asked::Goodput::duration)
            .Default("30d")
            .Example("54d"),
        span("checkpoint", "work between checkpoints; auto: the optimum of Daly")
            .As(&asked::Goodput::checkpoint)
            .Shows("TIME|auto")
            .Default("auto")
            .Example("30min"),
        span("detection-time", "from a failure until the job knows, whatever fails")
            .As(&asked::Goodput::detectionTime)
            .Otherwise("GPU, server, software: --monitor-interval; NIC, switch: until a queue pair "
                       "gives up, at most --watchdog")
            .Example("5min"),
        span("replace-time", "until a spare is in a failed server's place; assumed")
            .As(&asked::Goodput::replaceTime)
            .Default("2min")
            .Example("10min"),
        span("repair-time", "until a failed server is a spare again; assumed")
            .As(&asked::Goodput::repairTime)
            .Default("1d")
            .Example("12h"),
        span("step-time", "time of a step; nothing is simulated for it")
            .As(&asked::Goodput::stepTime)
            .Otherwise("simulated")
            .Example("10s"),
        section.Name("step-from", "where the step's time is from")
            .As(&asked::Goodput::stepFrom)
            .Names("source of the step's time",
                   {{"auto", "simulation up to 1,024 GPUs, above them estimate"},
                    {"simulation", "dltrain, in a process of its own"},
                    {"estimate", "dlplan's formulas, in milliseconds"}})
            .Default("auto")
            .Example("estimate")
            .Only(when::Without("step-time")),
        span("checkpoint-time", "time to write a checkpoint")
            .As(&asked::Goodput::checkpointTime)
            .Otherwise("by --checkpoint-rate, or simulated with --checkpoint-servers")
            .Example("20s"),
        span("read-time", "time to read a checkpoint after a failure")
            .As(&asked::Goodput::readTime)
            .Otherwise("by --checkpoint-rate, or simulated with --checkpoint-servers")
            .Example("30s"),
        span("copy-time", "with --checkpoint-async: time that GPUs wait for their copy")
            .As(&asked::Goodput::copyTime)
            .Otherwise("by --checkpoint-copy-rate")
            .Example("1s")
            .Only(when::On("checkpoint-async")),
        section
            .Integer("replications",
                     "simulated courses of events, each with its own random numbers")
            .As(&asked::Goodput::replications)
            .Range(1, 100000)
            .Default("100")
            .Example("20"),
    };
}

/// Conditions of dltrain's rows that always hold here: it always recovers and writes checkpoints.
void
DropConditions(Option* option)
{
    auto& all = option->conditions;
    all.erase(std::remove_if(all.begin(),
                             all.end(),
                             [](const Condition& condition) {
                                 return condition.when.option == "recovery" ||
                                        condition.when.option == "checkpoint-every";
                             }),
              all.end());
}

OptionTable
MakeGoodputTable()
{
    OptionTable t = TrainingOptionTable();
    t.program = "dlgoodput";
    t.description = "the useful days of a training job that fails: how often to checkpoint, how "
                    "many spares to keep, and where the time goes";
    auto& options = t.options;
    options.erase(
        std::remove_if(options.begin(),
                       options.end(),
                       [](const Option& option) { return option.name == "max-restarts"; }),
        options.end());
    for (Option& option : options)
    {
        DropConditions(&option);
        if (option.name == "gpus")
        {
            ListGpus(&option);
        }
        if (option.name == "recovery")
        {
            option.help = "what the job does about a failure";
            option.Names("recovery",
                         {{"restart", "all begin again from the last checkpoint"},
                          {"shrink",
                           "all replicas of a server leave until it is repaired (--zero=0); "
                           "software and switches: restart"}});
            option.Default("restart").Example("shrink");
        }
        if (option.name == "spares")
        {
            option.help = "idle servers beside the job, which replace failed ones; without one the "
                          "job waits for the repair";
            option.defaultNote.clear();
            option.Default("0").Example("2").Only(when::Is("recovery", {"restart"}));
        }
        if (option.name == "checkpoint-every")
        {
            option.help = "the same as --checkpoint, in steps";
            option.Otherwise("by --checkpoint");
        }
        if (option.name == "network")
        {
            option.help += " in a step";
            option.defaultText.clear();
            option.Otherwise("analytic; with --oversubscription above 1 fluid").Example("packet");
        }
        if (option.name == "out")
        {
            option.defaultNote = "results/dlgoodput-1, -2, ...: the first number that is free";
        }
    }
    std::vector<Option> rows = GoodputRows();
    Append(&rows, std::move(options));
    t.options = std::move(rows);
    t.examples = {
        "dlgoodput --model=llama3-70b --server=dgx-h100 --servers=32 --tp=8 --pp=4 --spares=1",
        "dlgoodput --model=llama3-8b --server=dgx-h100 --servers=8 --mtbf=3h --step-time=5s "
        "--checkpoint=30min",
        "dlgoodput --model=llama3-70b --server=dgx-h100 --gpus=1024,4096,16384 --tp=8 --pp=4 "
        "--checkpoint-async",
    };
    t.Finish();
    return t;
}

/// Reads dlgoodput's own options.
/// The option that says how often a cause fails.
Member
MtbfOf(goodput::Cause cause)
{
    switch (cause)
    {
    case goodput::Cause::kGpu:
        return &asked::Goodput::gpuMtbf;
    case goodput::Cause::kNic:
        return &asked::Goodput::nicMtbf;
    case goodput::Cause::kSwitch:
        return &asked::Goodput::switchMtbf;
    case goodput::Cause::kServer:
        return &asked::Goodput::serverMtbf;
    case goodput::Cause::kSoftware:
        return &asked::Goodput::softwareMtbf;
    case goodput::Cause::kJob:
        break;
    }
    return &asked::Goodput::mtbf;
}

class GoodputReader
{
  public:
    explicit GoodputReader(const ReadResult& read)
        : m_read(read)
    {
    }

    GoodputScenario Take()
    {
        const Values& values = m_read.values;
        for (const Member alone : {Member(&asked::Run::jobs),
                                   Member(&asked::Training::trace),
                                   Member(&asked::Launch::launch),
                                   Member(&asked::Training::replicas)})
        {
            if (values.Given(alone))
            {
                Fail(alone, "needs the states and the step of a model; allowed: --model");
            }
        }
        for (const Member sharded : {Member(&asked::Training::autoParallel),
                                     Member(&asked::Training::shard),
                                     Member(&asked::Training::shardFile),
                                     Member(&asked::Training::shardCost),
                                     Member(&asked::Training::deviceMatrix),
                                     Member(&asked::Training::explainSharding)})
        {
            if (values.Given(sharded))
            {
                Fail(sharded, "replicas and checkpoints need a layout; allowed: --tp, --pp, --cp");
                break; // they only go together
            }
        }
        if (values.Given(&asked::Training::layers))
        {
            Fail(&asked::Training::layers,
                 "the step has all blocks; allowed: without it, or --step-time");
        }
        for (const Member ordered : {Member(&asked::Training::overlapNextForward),
                                     Member(&asked::Training::collectiveOrder),
                                     Member(&asked::Training::inFlight),
                                     Member(&asked::Training::study)})
        {
            if (values.Given(ordered))
            {
                Fail(ordered,
                     "is of steps without --recovery, which checkpoints and restarts are measured "
                     "with; allowed: without it, and --step-time of a run of dltrain");
            }
        }
        if (values.Given(&asked::Training::strategy) &&
            values.Get(&asked::Training::strategy) != "sync")
        {
            Fail(&asked::Training::strategy, "has no checkpoint of all GPUs; allowed: sync");
        }
        ReadFailures();
        m_s.weibull = values.Get(&asked::Goodput::weibullShape);
        m_s.duration = Span(&asked::Goodput::duration, 1, 100 * 365.25 * 86400).value_or(1);
        ReadInterval();
        m_s.detection = Span(&asked::Goodput::detectionTime);
        m_s.replace = Span(&asked::Goodput::replaceTime).value_or(0);
        m_s.repair = Span(&asked::Goodput::repairTime).value_or(0);
        m_s.step = Span(&asked::Goodput::stepTime, 1e-6);
        m_s.estimates = values.Get(&asked::Goodput::stepFrom) == "estimate";
        m_s.write = Span(&asked::Goodput::checkpointTime);
        m_s.read = Span(&asked::Goodput::readTime);
        m_s.copy = Span(&asked::Goodput::copyTime);
        m_s.spares = values.Get(&asked::Recovery::spares);
        m_s.replications = values.Get(&asked::Goodput::replications);
        if (m_s.step && *m_s.step > m_s.duration)
        {
            Fail(&asked::Goodput::stepTime,
                 "ends after --duration; allowed: up to " + SpanText(m_s.duration));
        }
        if (m_s.step && values.Given(&asked::Goodput::stepFrom))
        {
            Fail(&asked::Goodput::stepFrom,
                 "--step-time says the step's time; allowed: one of both");
        }
        if (m_s.copy && !values.Get(&asked::Recovery::checkpointAsync))
        {
            Fail(&asked::Goodput::copyTime, "needs --checkpoint-async");
        }
        if (values.Get(&asked::Recovery::recovery) == "shrink" &&
            values.Given(&asked::Recovery::spares))
        {
            Fail(&asked::Recovery::spares,
                 "--recovery=shrink replaces no server; allowed: --recovery=restart");
        }
        if (values.Given(&asked::Recovery::checkpointServers) &&
            values.Given(&asked::Fabric::network) &&
            values.Get(&asked::Fabric::network) != "packet" && !(m_s.write && m_s.read))
        {
            Fail(&asked::Recovery::checkpointServers,
                 "needs packets; allowed: --network=packet, or --checkpoint-time and --read-time");
        }
        MakeJobs();
        return m_s;
    }

    std::vector<Error> errors;

  private:
    void Fail(Member option, const std::string& problem)
    {
        const Values& values = m_read.values;
        errors.push_back({values.Where(option), values.Raw(option), problem, ""});
    }

    static constexpr double MOST = 1e5 * 365.25 * 86400; // a hundred thousand years

    /// Nothing: it has no value, or an error has been added.
    std::optional<double> Span(Member option, double least = 0, double most = MOST)
    {
        const Values& values = m_read.values;
        if (!values.Has(option))
        {
            return {};
        }
        const auto seconds = ParseSpan(values.At(option).text);
        if (!seconds || *seconds < least || *seconds > most)
        {
            const std::string bounds =
                seconds ? ", from " + SpanText(least) + " to " + SpanText(most) : "";
            Fail(option, std::string("allowed: ") + kSpanHelp + bounds);
            return {};
        }
        return seconds;
    }

    double Mtbf(Member option, double otherwise)
    {
        return !m_read.values.Given(option)               ? otherwise
               : m_read.values.At(option).text == "never" ? goodput::NEVER
                                                          : Span(option, 1).value_or(otherwise);
    }

    void ReadFailures()
    {
        const bool whole = m_read.values.Given(&asked::Goodput::mtbf);
        for (const goodput::Cause cause : goodput::ALL_CAUSES)
        {
            const Member option = MtbfOf(cause);
            if (whole && m_read.values.Given(option) && cause != goodput::Cause::kJob)
            {
                Fail(option, "--mtbf says how often anything fails; allowed: one of both");
            }
            m_s.mtbf[static_cast<std::size_t>(cause)] =
                Mtbf(option, whole ? goodput::NEVER : goodput::PublishedMtbf(cause));
        }
    }

    void ReadInterval()
    {
        const Values& values = m_read.values;
        const bool steps = values.Given(&asked::Recovery::checkpointEvery);
        if (steps && values.Given(&asked::Goodput::checkpoint))
        {
            Fail(&asked::Goodput::checkpoint,
                 "--checkpoint-every says the same in steps; allowed: one of both");
        }
        else if (steps)
        {
            m_s.intervalSteps = values.Get(&asked::Recovery::checkpointEvery);
        }
        else if (values.Get(&asked::Goodput::checkpoint) != "auto")
        {
            m_s.interval = ParseSpan(values.Get(&asked::Goodput::checkpoint));
            if (!m_s.interval || *m_s.interval <= 0 || *m_s.interval > MOST)
            {
                Fail(&asked::Goodput::checkpoint, std::string("allowed: auto, or ") + kSpanHelp);
            }
        }
    }

    void MakeJobs()
    {
        ReadResult job = m_read;
        for (const std::string& name : RecoveryNames())
        {
            job.values.Slot(name) = {};
            job.kept.erase(name);
        }
        if (!job.values.Given(&asked::Fabric::network) && NetworkOfFidelity(job.values).empty())
        {
            const bool narrow =
                job.values.Given(kOversubscription) && job.values.Real(kOversubscription) > 1;
            SetOption(&asked::Fabric::network, narrow ? "fluid" : "analytic", &job);
        }
        m_s.jobs = JobsOfGpus(job, &errors);
    }

    ReadResult m_read;
    GoodputScenario m_s;
};

} // namespace

const OptionTable&
GoodputOptionTable()
{
    static const OptionTable table = MakeGoodputTable();
    return table;
}

namespace
{

const RegisteredTable g_goodputRows(&GoodputOptionTable);

} // namespace

GoodputResult
ValidateGoodput(const ReadResult& read)
{
    GoodputResult result;
    result.errors = read.errors;
    if (!result.errors.empty())
    {
        return result;
    }
    GoodputReader reader(read);
    result.scenario = reader.Take();
    result.errors = reader.errors;
    result.scenario.values = read.values;
    result.scenario.run.progress = read.values.Get(&asked::Run::progress);
    const std::string none = result.scenario.step        ? "with --step-time"
                             : result.scenario.estimates ? "with --step-from=estimate"
                                                         : "";
    for (Error& error : SetChildPlace(read.values, none, &result.scenario.run))
    {
        result.errors.push_back(std::move(error));
    }
    result.scenario.run.dryRun = read.values.Get(&asked::Run::dryRun);
    result.scenario.run.report = read.values.Get(&asked::Run::report);
    result.scenario.run.seed = read.values.Get(&asked::Run::seed);
    std::vector<std::string> except = {"out", "progress", "on", "slurm-options"};
    for (const Option& option : GoodputOptionTable().options)
    {
        if (!read.values.Given(option.name))
        {
            except.push_back(option.name);
        }
    }
    result.scenario.run.asRun = ToJson(GoodputOptionTable(), read.values, except);
    result.scenario.run.asRun["given"] = GivenOf(GoodputOptionTable(), read.values, except);
    return result;
}

ReadResult
WithRecovery(const GoodputScenario& scenario, const ReadResult& job)
{
    ReadResult read = job;
    for (const std::string& name : RecoveryNames())
    {
        if (name != "max-restarts" && scenario.values.Given(name))
        {
            read.values.Slot(name) = scenario.values[name];
        }
    }
    read.values.Slot(&asked::Recovery::spares) = {};
    SetOption(&asked::Recovery::recovery, scenario.values.Get(&asked::Recovery::recovery), &read);
    SetOption(&asked::Recovery::checkpointEvery, "1", &read);
    return read;
}

} // namespace scenario
