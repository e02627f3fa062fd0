/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve writes of many models on a GPU.
 */
#include "reports/base/line-log.h"
#include "reports/base/output-errors.h"
#include "reports/programs/multiplex-results.h"
#include "reports/schema/object.h"
#include "reports/schema/table-file.h"
#include "reports/stats/stats-file.h"
#include "topologies/names.h"

#include <algorithm>

namespace reports
{

namespace
{

using multiplex::Conservation;
using multiplex::ModelResult;
using multiplex::PolicyResult;
using scenario::MultiplexTask;

/// A model with the run that it is of.
struct MixRow
{
    const PolicyResult& run;
    const ModelResult& of;

    std::optional<double> Ms(double seconds) const
    {
        return of.served > 0 ? std::optional(seconds * 1e3) : std::nullopt;
    }
};

std::vector<MixRow>
RowsOf(const PolicyResult& run)
{
    std::vector<MixRow> rows;
    for (const ModelResult& model : run.models)
    {
        rows.push_back({run, model});
    }
    return rows;
}

const Object<multiplex::OnInstance> ON_INSTANCE{
    {"instance: MIG instance of the model", &multiplex::OnInstance::instance},
    {"processes (count): Processes on it, under MPS", &multiplex::OnInstance::processes},
    {"closed: Each process takes one batch after another; else requests arrive",
     &multiplex::OnInstance::closed},
    {"throughput_closed_per_s (requests/s): Of full batches in closed loops: the most it can do",
     &multiplex::OnInstance::capacity},
    {"latency_closed_ms (ms): Of a full batch there",
     [](const multiplex::OnInstance& i) { return i.seconds * 1e3; }},
    {"throughput_low_per_s (requests/s): Of that throughput, the band's lower end; null: none",
     &multiplex::OnInstance::low},
    {"throughput_high_per_s (requests/s): Its upper end; null: none", &multiplex::OnInstance::high},
    {"band: What the band is from", &multiplex::OnInstance::band}};

const Object<MixRow> OF_MODEL{
    {"model: Its name in the mix", [](const MixRow& r) { return r.of.name; }},
    {"gpu: GPU that it is on", [](const MixRow& r) { return r.of.place.gpu; }},
    {"gpu_percent (%): Its share of the GPU while it runs; of mps and ideal: at most",
     [](const MixRow& r) { return r.of.place.percent; }},
    {"batch_limit (count): Its largest batch", [](const MixRow& r) { return r.of.place.batch; }},
    {"rate_per_s (requests/s): Requests that were asked for",
     [](const MixRow& r) { return r.of.rate; }},
    {"arrived_per_s (requests/s): Requests that arrived",
     [](const MixRow& r) { return r.of.Arrivals(r.run.duration); }},
    {"throughput_per_s (requests/s): Served while requests arrived",
     [](const MixRow& r) { return r.of.Throughput(r.run.duration); }},
    {"slo_ms (ms): Latency that was asked for", [](const MixRow& r) { return r.of.slo * 1e3; }},
    {"slo_attainment (0 to 1): Requests served in that time, of all that arrived",
     [](const MixRow& r) { return r.of.Attainment(); }},
    {"latency_mean_ms (ms): From arrival to the end of the batch; null: none was served",
     [](const MixRow& r) { return r.Ms(r.of.mean); }},
    {"latency_p50_ms (ms): Median", [](const MixRow& r) { return r.Ms(r.of.p50); }},
    {"latency_p99_ms (ms): 99 of 100 are faster", [](const MixRow& r) { return r.Ms(r.of.p99); }},
    {"batch_mean (count): Requests of a batch, mean",
     [](const MixRow& r) { return r.of.MeanBatch(); }},
    {"arrived (count): Requests", [](const MixRow& r) { return r.of.arrived; }},
    {"served (count): Of these, until the end", [](const MixRow& r) { return r.of.served; }},
    {"unserved (count): The others", [](const MixRow& r) { return r.of.left; }},
    {"overloaded: It cannot keep up with its rate",
     [](const MixRow& r) { return r.of.overloaded; }},
    Key<MixRow>(
        "on_instance: With an instance of its own: what that can do",
        [](const MixRow& r) { return r.of.instance; },
        ON_INSTANCE)
        .Only([](const MixRow& r) { return r.of.instance.has_value(); })};

const Object<Conservation> SUMS{
    {"request_time_s (s): Integral of the requests in the system over time",
     [](const Conservation& c) { return c.requestTime / multiplex::kPsPerSecond; }},
    {"sojourn_time_s (s): Sum of the times of all requests in the system; the same",
     [](const Conservation& c) { return c.sojourns / multiplex::kPsPerSecond; }},
    {"equal: Both are, to the picosecond (Little's law)", &Conservation::littleHolds},
    {"shares_peak (%): Largest sum of shares on a GPU at once", &Conservation::mostShares},
    {"idle_while_waiting_s (s): A GPU ran nothing though a request of its models waited",
     &Conservation::idleWaiting}};

const Object<PolicyResult> OF_POLICY{
    {"policy: Who runs when", [](const PolicyResult& r) { return r.policy; }},
    {"rate_scale (0 to 1): Rates over those of the mix; may be above 1", &PolicyResult::rateScale},
    {"gpus (count): GPUs in use; some policies add GPUs", &PolicyResult::gpus},
    {"duration_s (s): Time in which requests arrived", &PolicyResult::duration},
    {"span_s (s): Until the last one was served, or the run ended", &PolicyResult::span},
    {"throughput_per_s (requests/s): Of all models", &PolicyResult::Throughput},
    {"slo_attainment (0 to 1): Requests in time, of all", &PolicyResult::Attainment},
    {"utilization (0 to 1): Share-time in use, of all there is", &PolicyResult::utilization},
    {"effective_utilization (0 to 1): The same of the least share-time that these batches need",
     &PolicyResult::effective},
    {"switches (count): Changes from one model to another that took time", &PolicyResult::switches},
    {"overloaded: A model cannot keep up", &PolicyResult::IsOverloaded},
    {"executions_left_out (count): Batches that executions.csv has not",
     &PolicyResult::executionsLeftOut},
    {"models: Models of the mix", RowsOf, OF_MODEL},
    {"sums: Sums that have to agree",
     [](const PolicyResult& r) -> const Conservation& { return r.sums; },
     SUMS}};

const Object<ShareCurveOf> OF_CURVE{
    {"model: Its name", &ShareCurveOf::model},
    {"kind: table, fitted or kernels", &ShareCurveOf::kind},
    {"source: Where the latency is from", &ShareCurveOf::source},
    {"batch (count): Requests of a batch", &ShareCurveOf::batch},
    {"knee_percent (%): Share from which 10% more bring under 5% of the latency at 10%; null: none",
     [](const ShareCurveOf& c) { return c.HasKnee() ? std::optional(c.knee) : std::nullopt; }},
    {"knee_latency_ms (ms): Latency there",
     [](const ShareCurveOf& c) {
         return c.HasKnee() ? std::optional(c.LatencyAtKnee() * 1e3) : std::nullopt;
     }},
    {"flat_percent (%): Share from which 10% more bring under 5% of the latency there; null: none",
     [](const ShareCurveOf& c) { return c.HasFlat() ? std::optional(c.flat) : std::nullopt; }},
    {"whole_latency_ms (ms): Latency on a whole GPU; null: not known", [](const ShareCurveOf& c) {
         const SharePoint& last = c.points.back();
         return last.percent >= multiplex::kWholeGpu ? std::optional(last.latency * 1e3)
                                                     : std::nullopt;
     }}};

const Object<SlicePoint> OF_SLICE{
    {"model: Its name", &SlicePoint::model},
    {"source: Where its times are from", &SlicePoint::source},
    {"instance: MIG instance", &SlicePoint::instance},
    {"processes (count): Processes on it, under MPS", &SlicePoint::processes},
    {"batch (count): Requests of a batch", &SlicePoint::batch},
    {"throughput_per_s (requests/s): Of all processes", &SlicePoint::perSecond},
    {"throughput_low_per_s (requests/s): The band's lower end; null: no rows like this",
     &SlicePoint::low},
    {"throughput_high_per_s (requests/s): Its upper end; null: no rows like this",
     &SlicePoint::high},
    {"band: What the band is from", &SlicePoint::band},
    {"latency_ms (ms): Of a batch", [](const SlicePoint& p) { return p.latency * 1e3; }},
    {"host_ms (ms): Launches of a batch", [](const SlicePoint& p) { return p.times.host * 1e3; }},
    {"own_ms (ms): Other work of the process",
     [](const SlicePoint& p) { return p.times.own * 1e3; }},
    {"link_ms (ms): Copies of inputs, alone",
     [](const SlicePoint& p) { return p.times.link * 1e3; }},
    {"gpu_ms (ms): On the instance, alone", [](const SlicePoint& p) { return p.times.gpu * 1e3; }}};

const Object<SliceErrors> OF_SLICE_ERRORS{
    {"model: Its name; all: of all models", &SliceErrors::model},
    {"rows (count): Measured rows", [](const SliceErrors& e) { return e.throughput.rows; }},
    {"throughput_median_error: Median of |computed / measured - 1|",
     [](const SliceErrors& e) { return e.throughput.median; }},
    {"throughput_bias: Median of computed / measured - 1",
     [](const SliceErrors& e) { return e.throughput.bias; }},
    Key<SliceErrors>("latency_median_error: The same of latency; null: not measured",
                     [](const SliceErrors& e) { return e.latency.median; })
        .NullUnless([](const SliceErrors& e) { return e.latency.rows > 0; }),
    {"rows_with_band (count): Rows that have a band", &SliceErrors::banded},
    {"rows_in_band (count): Of these, measured within it", &SliceErrors::inBand}};

const Object<MultiplexResults> MULTIPLEX{
    {"multiplex: With --multiplex: a run for each policy and rate",
     [](const MultiplexResults& r) -> const std::vector<PolicyResult>& { return r.runs; },
     OF_POLICY},
    Key<MultiplexResults>("runs_missing: Policies, and rates, that a signal has left out",
                          &MultiplexResults::missing)
        .Only([](const auto& r) { return !r.missing.empty(); }),
    {"share_curves: With --share-curve: latency against the share of a GPU",
     [](const MultiplexResults& r) -> const std::vector<ShareCurveOf>& { return r.curves; },
     OF_CURVE},
    Key<MultiplexResults>(
        "slices: With --slices: models on MIG instances, in closed loops",
        [](const MultiplexResults& r) -> const std::vector<SlicePoint>& { return r.slices; },
        OF_SLICE)
        .Only([](const auto& r) { return !r.slices.empty(); }),
    Key<MultiplexResults>(
        "slices_compared: With --compare of MIG instances: errors by model, and of all",
        [](const MultiplexResults& r) { return SliceErrorsOf(r.slicesCompared); },
        OF_SLICE_ERRORS)
        .Only([](const auto& r) { return !r.slicesCompared.empty(); })};
const RegisteredKeys g_multiplex(Section::kMultiplex, MULTIPLEX);

const Table<MixRow> MIX_TABLE(
    "mix.csv",
    {{"policy: Who runs when", [](const MixRow& r) { return r.run.policy; }},
     {"rate_scale (0 to 1): Rates over those of the mix; may be above 1",
      [](const MixRow& r) { return r.run.rateScale; }},
     {"gpus (count): GPUs in use", [](const MixRow& r) { return r.run.gpus; }},
     {"model: Its name in the mix", [](const MixRow& r) { return r.of.name; }},
     {"gpu: GPU that it is on", [](const MixRow& r) { return r.of.place.gpu; }},
     {"gpu_percent (%): Its share while it runs",
      [](const MixRow& r) { return r.of.place.percent; }},
     {"batch_limit (count): Its largest batch", [](const MixRow& r) { return r.of.place.batch; }},
     {"batch_mean (count): Requests of a batch, mean",
      [](const MixRow& r) { return r.of.MeanBatch(); }},
     {"rate_per_s (requests/s): Requests that were asked for",
      [](const MixRow& r) { return r.of.rate; }},
     {"throughput_per_s (requests/s): Served while requests arrived",
      [](const MixRow& r) { return r.of.Throughput(r.run.duration); }},
     {"slo_ms (ms): Latency that was asked for", [](const MixRow& r) { return r.of.slo * 1e3; }},
     {"slo_attainment (0 to 1): Requests served in that time",
      [](const MixRow& r) { return r.of.Attainment(); }},
     {"latency_mean_ms (ms): From arrival to the end of the batch; empty: none was served",
      [](const MixRow& r) { return r.Ms(r.of.mean); }},
     {"latency_p50_ms (ms): Median", [](const MixRow& r) { return r.Ms(r.of.p50); }},
     {"latency_p99_ms (ms): 99 of 100 are faster", [](const MixRow& r) { return r.Ms(r.of.p99); }},
     {"unserved (count): Requests that were not served until the end",
      [](const MixRow& r) { return r.of.left; }}});

struct ExecutionRow
{
    const PolicyResult& run;
    const multiplex::Execution& of;
};

const Table<ExecutionRow> EXECUTIONS(
    "executions.csv",
    {{"policy: Who runs when", [](const ExecutionRow& r) { return r.run.policy; }},
     {"gpu: GPU that it ran on", [](const ExecutionRow& r) { return r.of.gpu; }},
     {"model: Its name in the mix",
      [](const ExecutionRow& r) { return r.run.models[r.of.model].name; }},
     {"begin_ms (ms): Start of the batch", [](const ExecutionRow& r) { return r.of.begin * 1e3; }},
     {"end_ms (ms): End of the batch", [](const ExecutionRow& r) { return r.of.end * 1e3; }},
     {"batch (count): Requests of it", [](const ExecutionRow& r) { return r.of.batch; }},
     {"gpu_percent (%): Its share", [](const ExecutionRow& r) { return r.of.percent; }},
     {"floor_percent (%): Share of the GPU below it, for a picture",
      [](const ExecutionRow& r) { return r.of.floor; }}});

struct CurveRow
{
    const ShareCurveOf& of;
    const SharePoint& point;
};

const Table<CurveRow> CURVE(
    "curve.csv",
    {{"model: Its name", [](const CurveRow& r) { return r.of.model; }},
     {"batch (count): Requests of a batch", [](const CurveRow& r) { return r.of.batch; }},
     {"gpu_percent (%): Share of the GPU", [](const CurveRow& r) { return r.point.percent; }},
     {"latency_ms (ms): Of the batch, alone on the GPU",
      [](const CurveRow& r) { return r.point.latency * 1e3; }}});

const Table<ComparedRow> COMPARED(
    "compared.csv",
    {{"model: Its name", &ComparedRow::model},
     {"batch (count): Requests of a batch", &ComparedRow::batch},
     {"gpu_percent (%): Share of the GPU", &ComparedRow::percent},
     {"beside: Model that runs at once; empty: none",
      [](const ComparedRow& r) {
          return r.beside.empty() ? std::nullopt : std::optional(r.beside);
      }},
     {"beside_batch (count): Its batch; 0: none", &ComparedRow::besideBatch},
     {"beside_percent (%): Its share; 0: none", &ComparedRow::besidePercent},
     {"measured_ms (ms): Latency of the row",
      [](const ComparedRow& r) { return r.measured * 1e3; }},
     {"computed_ms (ms): Latency here", [](const ComparedRow& r) { return r.computed * 1e3; }},
     {"slowdown: Computed, over the same alone; 1: it is alone", &ComparedRow::slowdown}});

const Table<SlicePoint> SLICES(
    "slices.csv",
    {{"model: Its name", &SlicePoint::model},
     {"instance: MIG instance", &SlicePoint::instance},
     {"processes (count): Processes on it, under MPS", &SlicePoint::processes},
     {"batch (count): Requests of a batch", &SlicePoint::batch},
     {"throughput_total_per_s (requests/s): Of all processes", &SlicePoint::perSecond},
     {"throughput_low_per_s (requests/s): The band's lower end; empty: none", &SlicePoint::low},
     {"throughput_high_per_s (requests/s): Its upper end; empty: none", &SlicePoint::high},
     {"latency_ms (ms): Of a batch", [](const SlicePoint& p) { return p.latency * 1e3; }}});

const Table<SliceComparedRow> COMPARED_SLICES(
    "compared_slices.csv",
    {{"row_id: Of the measured row; empty: it has none",
      [](const SliceComparedRow& r) {
          return r.of.id.empty() ? std::nullopt : std::optional(r.of.id);
      }},
     {"model: Its name", [](const SliceComparedRow& r) { return r.of.model; }},
     {"instance: MIG instance",
      [](const SliceComparedRow& r) { return std::string(r.of.instance->name); }},
     {"processes (count): Processes on it, under MPS",
      [](const SliceComparedRow& r) { return r.of.processes; }},
     {"batch (count): Requests of a batch", [](const SliceComparedRow& r) { return r.of.batch; }},
     {"measured_per_s (requests/s): Throughput of all processes, of the row",
      [](const SliceComparedRow& r) { return r.of.perSecond; }},
     {"computed_per_s (requests/s): The same here", &SliceComparedRow::computed},
     {"error: Computed / measured - 1", &SliceComparedRow::Error},
     {"measured_ms (ms): Latency of the row; empty: not measured",
      [](const SliceComparedRow& r) {
          return r.of.seconds > 0 ? std::optional(r.of.seconds * 1e3) : std::nullopt;
      }},
     {"computed_ms (ms): Latency here",
      [](const SliceComparedRow& r) { return r.computedSeconds * 1e3; }},
     {"in_band: 1: measured within the band; empty: no band", [](const SliceComparedRow& r) {
          return r.inBand ? std::optional<uint32_t>(*r.inBand ? 1 : 0) : std::nullopt;
      }}});

} // namespace

std::string
MultiplexFiles(const MultiplexResults& r)
{
    switch (r.scenario.task)
    {
    case MultiplexTask::kMix:
        return "stats.json, mix.csv, executions.csv";
    case MultiplexTask::kCurve:
        return "stats.json, curve.csv";
    case MultiplexTask::kSlices:
        return "stats.json, slices.csv";
    case MultiplexTask::kCompare:
        break;
    }
    return r.slicesCompared.empty() ? "stats.json, compared.csv"
                                    : "stats.json, compared_slices.csv";
}

std::string
WriteMultiplex(const MultiplexResults& r)
{
    const std::string& out = r.scenario.run.out;
    std::string line;
    if (r.scenario.task == MultiplexTask::kMix)
    {
        LineLog mix(out + "/mix.csv");
        LineLog executions(out + "/executions.csv");
        mix.Write(MIX_TABLE.Header());
        executions.Write(EXECUTIONS.Header());
        for (const PolicyResult& run : r.runs)
        {
            for (const MixRow& row : RowsOf(run))
            {
                MIX_TABLE.Write(line, row);
                mix.Write(line);
            }
            for (const multiplex::Execution& execution : run.executions)
            {
                EXECUTIONS.Write(line, {run, execution});
                executions.Write(line);
            }
        }
        mix.Close();
        executions.Close();
    }
    if (r.scenario.task == MultiplexTask::kCurve)
    {
        LineLog curve(out + "/curve.csv");
        curve.Write(CURVE.Header());
        for (const ShareCurveOf& of : r.curves)
        {
            for (const SharePoint& point : of.points)
            {
                CURVE.Write(line, {of, point});
                curve.Write(line);
            }
        }
        curve.Close();
    }
    if (r.scenario.task == MultiplexTask::kSlices)
    {
        WriteRows(out, "", SLICES, [&r](const auto& write) {
            std::for_each(r.slices.begin(), r.slices.end(), write);
        });
    }
    if (!r.slicesCompared.empty())
    {
        WriteRows(out, "", COMPARED_SLICES, [&r](const auto& write) {
            std::for_each(r.slicesCompared.begin(), r.slicesCompared.end(), write);
        });
    }
    else if (r.scenario.task == MultiplexTask::kCompare)
    {
        WriteRows(out, "", COMPARED, [&r](const auto& write) {
            std::for_each(r.compared.begin(), r.compared.end(), write);
        });
    }
    RunOutcome outcome;
    outcome.completed = r.missing.empty();
    if (!r.missing.empty())
    {
        outcome.interrupted = true;
        outcome.message = "stopped by a signal, without " + topo::JoinNames(r.missing);
    }
    auto stats = BeginStats("dlserve", r.scenario.run, outcome);
    MULTIPLEX.AddTo(stats, r);
    WriteStats(stats, out);
    return OutputErrors::First();
}

} // namespace reports
