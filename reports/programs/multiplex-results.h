/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve prints and writes of many models on a GPU: stats.json, mix.csv, executions.csv,
 * curve.csv, compared.csv.
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

struct MultiplexResults
{
    const scenario::MultiplexScenario& scenario;
    std::vector<multiplex::PolicyResult> runs;
    std::vector<ShareCurveOf> curves;
    std::vector<ComparedRow> compared;
    std::vector<std::string> missing; ///< runs that a signal has left out
};

/// Curves of all models and batches of a scenario. \param why a batch whose latency is not known
std::vector<ShareCurveOf> CurvesOf(const scenario::MultiplexScenario& scenario, std::string* why);

/// Measured rows beside computed ones. \param why a row whose latency is not known
std::vector<ComparedRow> ComparedOf(const scenario::MultiplexScenario& scenario, std::string* why);

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
