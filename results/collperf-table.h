/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RESULTS_COLLPERF_TABLE_H
#define RESULTS_COLLPERF_TABLE_H

#include "results/records.h"
#include "scenarios/spec/scenario.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

namespace results
{

/// The table of nccl-tests, printed row by row as sizes are done; collperf's keys of stats.json.
class CollperfTable
{
  public:
    /// \param scenario kept by reference
    explicit CollperfTable(const scenario::CollperfScenario& scenario);

    void PrintHead(std::ostream& os) const;
    /// A size is done. \param last the last iteration \param timeUs mean of the iterations
    void Add(std::ostream& os, const CollectiveRecord& last, double timeUs);
    void PrintEnd(std::ostream& os) const;
    nlohmann::ordered_json ToJson() const;

  private:
    struct Row
    {
        CollectiveRecord last;
        double timeUs;
    };

    void Print(std::ostream& os, const Row& row) const;

    const scenario::CollperfScenario& m_scenario;
    std::vector<Row> m_rows;
};

} // namespace results

#endif // RESULTS_COLLPERF_TABLE_H
