/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlgoodput writes.
 */
#include "reports/base/line-log.h"
#include "reports/base/output-errors.h"
#include "reports/programs/goodput-results.h"
#include "reports/schema/object.h"
#include "reports/schema/table.h"
#include "reports/stats/stats-file.h"

#include <cmath>
#include <optional>

namespace reports
{

namespace
{

using goodput::Spent;

std::optional<double>
Finite(double value)
{
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

const Object<Spent> SPENT{
    {"useful_s (s): Work that counts", &Spent::useful},
    {"checkpoint_s (s): GPUs wait for a checkpoint", &Spent::checkpoint},
    {"lost_s (s): Work that a failure threw away", &Spent::lost},
    {"detection_s (s): From a failure until it is known and all ranks have ended",
     &Spent::detection},
    {"replacing_s (s): Until a spare was in a failed server's place", &Spent::replacing},
    {"restart_s (s): Start of processes and communicators, and reading the checkpoint",
     &Spent::restart},
    {"waiting_s (s): For a repaired server, as no spare was left", &Spent::waiting},
    {"fewer_s (s): With --recovery=shrink: share of replicas in repair, times the time",
     &Spent::fewer}};

/// A cause with what it did.
struct CauseRow
{
    const goodput::Source& source;
    double failures;
};

const Object<CauseRow> CAUSE{
    {"cause: gpu, nic, switch, server, software or job",
     [](const CauseRow& r) { return std::string(goodput::CauseName(r.source.cause)); }},
    {"parts (count): Parts that fail", [](const CauseRow& r) { return r.source.parts; }},
    {"mtbf_s (s): Mean time between failures of one part; null: never",
     [](const CauseRow& r) { return Finite(r.source.mtbf); }},
    {"detection_s (s): From a failure until the job knows",
     [](const CauseRow& r) { return r.source.detection; }},
    {"interruptions (count): Mean of the courses", &CauseRow::failures}};

std::vector<CauseRow>
CausesOf(const GoodputRun& run)
{
    std::vector<CauseRow> rows;
    for (const goodput::Source& source : run.model.sources)
    {
        rows.push_back({source, run.simulated.failures[static_cast<std::size_t>(source.cause)]});
    }
    return rows;
}

const Object<SparesRow> SPARES{
    {"spares (count): Spare servers", &SparesRow::spares},
    {"waiting (0 to 1): Share of time that the job waits for a repair", &SparesRow::waiting},
    {"goodput (0 to 1): By the closed form", &SparesRow::goodput}};

const Object<GoodputRun> OF_GPUS{
    {"gpus (count): GPUs of the job", &GoodputRun::gpus},
    {"servers (count): Servers of the job", &GoodputRun::servers},
    {"step_s (s): A step", [](const GoodputRun& r) { return r.times.step; }},
    {"step_from: Where that time is from", [](const GoodputRun& r) { return r.times.stepFrom; }},
    {"tokens_per_step (tokens): 0: samples have none", &GoodputRun::tokensOfStep},
    {"checkpoint_bytes (B): A checkpoint",
     [](const GoodputRun& r) { return r.times.checkpointBytes; }},
    {"checkpoint_write_s (s): To write a checkpoint",
     [](const GoodputRun& r) { return r.times.write; }},
    {"checkpoint_wait_s (s): GPUs wait for a checkpoint, or for its copy",
     [](const GoodputRun& r) { return r.model.stall; }},
    {"checkpoint_read_s (s): To read a checkpoint",
     [](const GoodputRun& r) { return r.times.read; }},
    {"mtbf_s (s): Mean time between failures of the job; null: nothing fails",
     [](const GoodputRun& r) { return Finite(r.Mtbf()); }},
    {"interval_s (s): Work between checkpoints; null: no checkpoints",
     [](const GoodputRun& r) { return Finite(r.interval); }},
    {"interval_steps (steps): The same in steps; 0: no checkpoints", &GoodputRun::intervalSteps},
    {"interval_daly_s (s): Daly's optimum; null: nothing fails",
     [](const GoodputRun& r) {
         return Finite(goodput::DalyInterval(r.model.stall, goodput::MtbfOfRestarts(r.model)));
     }},
    {"interval_young_s (s): Young's optimum; null: nothing fails",
     [](const GoodputRun& r) {
         return Finite(goodput::YoungInterval(r.model.stall, goodput::MtbfOfRestarts(r.model)));
     }},
    {"goodput (0 to 1): Work that counts over all time, mean of the courses",
     [](const GoodputRun& r) { return r.simulated.goodput; }},
    {"goodput_half_width (0 to 1): Half of its confidence interval of 95%; null: one course",
     [](const GoodputRun& r) { return r.simulated.halfWidth; }},
    {"goodput_closed_form (0 to 1): The same in a closed form", &GoodputRun::Closed},
    {"goodput_low (0 to 1): Closed form with the most failures of published jobs; null: all rates "
     "are given",
     [](const GoodputRun& r) {
         const auto range = r.ClosedRange();
         return range ? Json(range->first) : Json();
     }},
    {"goodput_high (0 to 1): The same with the fewest",
     [](const GoodputRun& r) {
         const auto range = r.ClosedRange();
         return range ? Json(range->second) : Json();
     }},
    {"goodput_half_interval (0 to 1): Closed form, at half of the interval",
     [](const GoodputRun& r) { return r.ClosedAt(r.interval / 2); }},
    {"goodput_double_interval (0 to 1): Closed form, at double the interval",
     [](const GoodputRun& r) { return r.ClosedAt(r.interval * 2); }},
    {"tokens (tokens): Trained in the time; 0: samples have none", &GoodputRun::Tokens},
    {"interruptions (count): Mean of the courses", &GoodputRun::Interruptions},
    {"interruptions_left_out (count): Failures of the first course that interruptions.csv has not; "
     "means are of all",
     [](const GoodputRun& r) { return r.simulated.leftOut; }},
    {"causes: What fails", CausesOf, CAUSE},
    {"time_s (s): Where the time went, mean of the courses",
     [](const GoodputRun& r) -> const Spent& { return r.simulated.mean; },
     SPENT},
    {"spares: Numbers of spare servers, and what they bring", SparesOf, SPARES}};

const Object<GoodputResults> GOODPUT{
    {"duration_s (s): With dlgoodput: time that the job has the cluster",
     [](const GoodputResults& r) { return r.scenario.duration; }},
    {"replications (count): With dlgoodput: courses of random failures",
     [](const GoodputResults& r) { return r.scenario.replications; }},
    {"goodput_runs: With dlgoodput: weeks of the job, for each number of GPUs",
     [](const GoodputResults& r) -> const std::vector<GoodputRun>& { return r.runs; },
     OF_GPUS}};
const RegisteredKeys g_goodput(Section::kGoodput, GOODPUT);

struct IntervalRow
{
    uint32_t gpus;
    double interval;
    double goodput;
};

const Table<IntervalRow> INTERVALS(
    "intervals.csv",
    {{"gpus (count): GPUs of the job", &IntervalRow::gpus},
     {"interval_s (s): Work between checkpoints", &IntervalRow::interval},
     {"goodput (0 to 1): By the closed form", &IntervalRow::goodput}});

struct InterruptionRow
{
    uint32_t gpus;
    const goodput::Interruption& of;
};

const Table<InterruptionRow> INTERRUPTIONS(
    "interruptions.csv",
    {{"gpus (count): GPUs of the job", &InterruptionRow::gpus},
     {"at_s (s): The failure, since the begin of the first course",
      [](const InterruptionRow& r) { return r.of.at; }},
     {"cause: gpu, nic, switch, server, software or job",
      [](const InterruptionRow& r) { return std::string(goodput::CauseName(r.of.cause)); }},
     {"during_recovery: 1: a recovery was under way, and began anew",
      [](const InterruptionRow& r) { return static_cast<uint32_t>(r.of.during); }},
     {"lost_s (s): Work that was thrown away", [](const InterruptionRow& r) { return r.of.lost; }},
     {"waited_s (s): For a repaired server", [](const InterruptionRow& r) { return r.of.waited; }},
     {"resumed_s (s): The job works again; empty: another failure came first, or the end",
      [](const InterruptionRow& r) {
          return r.of.resumed > 0 ? std::optional(r.of.resumed) : std::nullopt;
      }}});

} // namespace

std::string
WriteGoodput(const GoodputResults& r)
{
    const std::string& out = r.scenario.run.out;
    LineLog intervals(out + "/intervals.csv");
    LineLog interruptions(out + "/interruptions.csv");
    intervals.Write(INTERVALS.Header());
    interruptions.Write(INTERRUPTIONS.Header());
    std::string line;
    for (const GoodputRun& run : r.runs)
    {
        for (const auto& [interval, goodput] : IntervalsOf(run))
        {
            INTERVALS.Write(line, {run.gpus, interval, goodput});
            intervals.Write(line);
        }
        for (const goodput::Interruption& interruption : run.simulated.first)
        {
            INTERRUPTIONS.Write(line, {run.gpus, interruption});
            interruptions.Write(line);
        }
    }
    intervals.Close();
    interruptions.Close();
    RunOutcome outcome;
    outcome.completed = r.stopped.empty();
    outcome.interrupted = !r.stopped.empty();
    outcome.message = r.stopped;
    auto stats = BeginStats("dlgoodput", r.scenario.run, outcome);
    GOODPUT.AddTo(stats, r);
    WriteStats(stats, out);
    return OutputErrors::First();
}

} // namespace reports
