/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve prints and writes of many models on a GPU: stats.json, mix.csv, executions.csv,
 * curve.csv, compared.csv, slices.csv, compared_slices.csv.
 */
#ifndef REPORTS_PROGRAMS_MULTIPLEX_RESULTS_H
#define REPORTS_PROGRAMS_MULTIPLEX_RESULTS_H

#include "scenarios/multiplex/options/multiplex-options.h"
#include "scenarios/multiplex/simulation.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace reports
{

/// A point of a curve.
struct SharePoint
{
    double percent = 0;
    double latency = 0; ///< s
};

/// Latency against the share of one batch of a model.
struct ShareCurveOf
{
    std::string model;
    std::string kind;
    std::string source;
    uint32_t batch = 1;
    double knee = 100;
    double flat = 100; ///< FlatFrom()
    std::vector<SharePoint> points;

    bool HasKnee() const
    {
        return knee < multiplex::kWholeGpu;
    }

    bool HasFlat() const
    {
        return flat < multiplex::kWholeGpu;
    }

    /// s, at the knee.
    double LatencyAtKnee() const;
};

/// A measured row beside a computed one. Of a pair: of one of its models.
struct ComparedRow
{
    std::string model;
    std::string beside; ///< empty: alone
    uint32_t batch = 1;
    double percent = 100;
    uint32_t besideBatch = 0;
    double besidePercent = 0;
    double measured = 0; ///< s
    double computed = 0;
    double slowdown = 1; ///< computed, over alone

    double Error() const
    {
        return computed / measured - 1;
    }
};

/// A model on a MIG instance, in closed loops.
struct SlicePoint
{
    std::string model;
    std::string source;
    std::string instance;
    uint32_t processes = 1;
    uint32_t batch = 1;
    multiplex::LoopTimes times;
    double perSecond = 0;      ///< of all processes
    double latency = 0;        ///< s
    std::optional<double> low; ///< of the throughput's band; nothing: no rows like this
    std::optional<double> high;
    std::string band;
};

/// A measured throughput beside a computed one.
struct SliceComparedRow
{
    multiplex::SliceRow of;
    double computed = 0; ///< requests/s of all processes
    double computedSeconds = 0;
    std::optional<bool> inBand;

    double Error() const
    {
        return computed / of.perSecond - 1;
    }
};

/// Errors of a model's rows, or of all.
struct SliceErrors
{
    std::string model;
    multiplex::ErrorSummary throughput;
    multiplex::ErrorSummary latency;
    std::size_t banded = 0; ///< rows with a band
    std::size_t inBand = 0;
};

struct MultiplexResults
{
    const scenario::MultiplexScenario& scenario;
    std::vector<multiplex::PolicyResult> runs;
    std::vector<ShareCurveOf> curves;
    std::vector<ComparedRow> compared;
    std::vector<std::string> missing; ///< runs that a signal has left out
    std::vector<SlicePoint> slices;
    std::vector<SliceComparedRow> slicesCompared;
};

/// Curves of all models and batches of a scenario. \param why a batch whose latency is not known
std::vector<ShareCurveOf> CurvesOf(const scenario::MultiplexScenario& scenario, std::string* why);

/// Measured rows beside computed ones. \param why a row whose latency is not known
std::vector<ComparedRow> ComparedOf(const scenario::MultiplexScenario& scenario, std::string* why);

/// All MIG instances, processes and batches of a scenario's models: for each model the instances,
/// in them the processes, in them the batches.
std::vector<SlicePoint> SlicesOf(const scenario::MultiplexScenario& scenario);

std::vector<SliceComparedRow> SlicesComparedOf(const scenario::MultiplexScenario& scenario);

/// By model, and of all at the end.
std::vector<SliceErrors> SliceErrorsOf(const std::vector<SliceComparedRow>& rows);

/// Their parts of the answer.
void SaySlices(std::ostream& os, const MultiplexResults& results);
void SaySlicesCompared(std::ostream& os, const MultiplexResults& results);

using TextRows = std::vector<std::vector<std::string>>;

/// The first column left, the others right.
void PrintTextTable(std::ostream& os, const TextRows& rows);

/// The answer on a terminal.
void PrintMultiplex(std::ostream& os, const MultiplexResults& results);

/// Where each model would run.
void PrintPlan(std::ostream& os, const scenario::MultiplexScenario& scenario);

/// \return why a file cannot be written; empty: all are
std::string WriteMultiplex(const MultiplexResults& results);

/// Names of the files that were written, for people.
std::string MultiplexFiles(const MultiplexResults& results);

} // namespace reports

#endif // REPORTS_PROGRAMS_MULTIPLEX_RESULTS_H
