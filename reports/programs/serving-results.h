/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve prints and writes: `serving` of stats.json, requests.csv, iterations.csv, load.csv,
 * instances.csv, serving_rates.csv.
 */
#ifndef REPORTS_PROGRAMS_SERVING_RESULTS_H
#define REPORTS_PROGRAMS_SERVING_RESULTS_H

#include "reports/programs/band-text.h"
#include "reports/programs/serving-statistics.h"
#include "reports/schema/object.h"
#include "scenarios/inference/serving-record.h"
#include "scenarios/inference/serving-spec.h"

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace reports
{

/// A run, which is all; or that of the largest rate which meets the objectives (--find-rate), or of
/// the last rate (--sweep-rate), with the points of all.
struct ServingResults
{
    const serving::ServingSpec& spec;
    const serving::ServingOutcome& outcome;
    const ServingAbout& about;
    const ServingStatistics& statistics;
    ServingSearch search = {};

    /// --find-rate: the largest rate that meets them. Nothing: none of those that were tried does.
    std::optional<double> BestRate() const;
};

/// Numbers of a run that bands.json has measurements of: throughput, means of TTFT and TPOT.
std::vector<ComparedNumber> ComparedNumbers(const ServingResults& results);
/// Their bands in words. Empty: there is nothing to compare.
std::string ServingBandsText(const ServingResults& results);

/// Rows of an instance in load.csv.
constexpr std::size_t LOAD_ROWS = 5000;

/// At most `rows` of an instance's samples, in order: of each part of the time that with the
/// longest queue, and the last one.
std::vector<serving::LoadSample> ThinnedLoad(const std::vector<serving::LoadSample>& load,
                                             int64_t end,
                                             std::size_t rows = LOAD_ROWS);

/// Adds `serving`.
void AddServing(nlohmann::ordered_json& stats, const ServingResults& results);
/// Its words.
const Shape& ServingShape();

/// Writes the tables into a folder. OutputErrors report what cannot be written. \param iterations
/// whether iterations.csv is wanted \param prefix of the files' names \return the files' names
std::vector<std::string> WriteServingTables(const std::string& out,
                                            const ServingResults& results,
                                            bool iterations = true,
                                            const std::string& prefix = "");

/// The answer on a terminal.
void PrintServing(std::ostream& os, const ServingResults& results);

/// The same of a plain network; part of PrintServing.
void PrintPasses(std::ostream& os, const ServingResults& results);
/// And its part of stats.json. \pre there is a pass
const Object<ServingResults>& PassesKeys();

/// A table of rates and the largest that meets the objectives; part of PrintServing, for what has
/// points alone.
void PrintServingPoints(std::ostream& os, const ServingResults& results);

} // namespace reports

#endif // REPORTS_PROGRAMS_SERVING_RESULTS_H
