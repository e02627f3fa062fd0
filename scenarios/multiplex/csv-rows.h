/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Measurements in CSV files: columns by their names, numbers checked.
 */
#ifndef SCENARIOS_MULTIPLEX_CSV_ROWS_H
#define SCENARIOS_MULTIPLEX_CSV_ROWS_H

#include "scenarios/multiplex/share-curve.h"
#include "scenarios/multiplex/slice-fit.h"
#include "topologies/error.h"

#include <map>
#include <string>
#include <vector>

namespace multiplex
{

/// Latencies by model, in the order of the file within one.
using CurveTable = std::map<std::string, std::vector<CurvePoint>>;

/// Two models that ran at once, and their latencies.
struct PairRow
{
    std::string model[2];
    uint32_t batch[2] = {1, 1};
    double percent[2] = {0, 0};
    double seconds[2] = {0, 0};
};

/// Measurements of any kind, told by their columns: latencies as above, or pairs with the columns
/// model1, model2, batch1, batch2, gpu_percent1, gpu_percent2, latency1_ms, latency2_ms. Or
/// throughputs on MIG instances: model, instance, processes, batch, throughput_total_per_s, and if
/// they are there row_id, latency_ms.
struct Measurements
{
    CurveTable alone;
    std::vector<PairRow> pairs;
    std::vector<SliceRow> slices;
};

/// What --curves takes: latencies, or throughputs on MIG instances. A latency that stands in it
/// twice is an error. \param notes gets a note that names other columns; null: nobody reads it
Measurements ReadCurveRows(const std::string& path,
                           std::vector<topo::Error>& errors,
                           std::vector<std::string>* notes = nullptr);

Measurements ReadMeasurements(const std::string& path,
                              std::vector<topo::Error>& errors,
                              std::vector<std::string>* notes = nullptr);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_CSV_ROWS_H
