/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlgoodput prints and writes: stats.json, intervals.csv, interruptions.csv.
 */
#ifndef REPORTS_PROGRAMS_GOODPUT_RESULTS_H
#define REPORTS_PROGRAMS_GOODPUT_RESULTS_H

#include "scenarios/goodput/failure-simulation.h"
#include "scenarios/goodput/goodput-model.h"
#include "scenarios/goodput/options/goodput-options.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/// Times of a step and a checkpoint, s, and where each is from, in words: "given".
struct GoodputTimes
{
    double step = 0;
    double write = 0; ///< a checkpoint
    double copy = 0;  ///< --checkpoint-async: what GPUs wait for
    double read = 0;  ///< a checkpoint
    std::string stepFrom;
    std::string writeFrom;
    std::string readFrom;
    uint64_t checkpointBytes = 0; ///< in all
    std::string why;              ///< a time that is not known, and why; empty: all are known
};

/// Weeks of one number of GPUs.
struct GoodputRun
{
    uint32_t gpus = 0;
    uint32_t servers = 0;
    std::string job;         ///< in words
    double tokensOfStep = 0; ///< 0: its samples have none
    goodput::Job model;
    GoodputTimes times;
    double interval = 0; ///< s of work; infinite: no checkpoints
    double duration = 0; ///< s until the job ends
    uint64_t intervalSteps = 0;
    goodput::Replications simulated;

    double Closed() const
    {
        return ClosedAt(interval);
    }

    /// With another interval.
    double ClosedAt(double other) const
    {
        return goodput::Goodput(model, other, duration);
    }

    /// Goodput by the closed form, at both ends of what published jobs have of failures. None: all
    /// rates are given, or nothing fails.
    std::optional<std::pair<double, double>> ClosedRange() const;

    /// Mean time between failures of the job, s.
    double Mtbf() const
    {
        return 1 / model.FailureRate();
    }

    /// Mean number of interruptions.
    double Interruptions() const;
    /// Trained, if a step has tokens.
    double Tokens() const;
};

/// A spare more or less: spares, share of time that the job waits, goodput.
struct SparesRow
{
    uint32_t spares = 0;
    double waiting = 0;
    double goodput = 0;
};

struct GoodputResults
{
    const scenario::GoodputScenario& scenario;
    const std::vector<GoodputRun>& runs;
    std::string stopped = {}; ///< by a signal: what it left out
};

/// Numbers of spares from none to where the job hardly waits.
std::vector<SparesRow> SparesOf(const GoodputRun& run);

/// Intervals around the one in use, and goodput by the closed form.
std::vector<std::pair<double, double>> IntervalsOf(const GoodputRun& run);

/// The answer on a terminal.
void PrintGoodput(std::ostream& os, const GoodputResults& results);

/// \return why a file cannot be written; empty: all are
std::string WriteGoodput(const GoodputResults& results);

} // namespace reports

#endif // REPORTS_PROGRAMS_GOODPUT_RESULTS_H
