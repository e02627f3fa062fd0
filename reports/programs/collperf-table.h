/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_PROGRAMS_COLLPERF_TABLE_H
#define REPORTS_PROGRAMS_COLLPERF_TABLE_H

#include "reports/attribution/collective-paths.h"
#include "reports/base/line-log.h"
#include "reports/base/records.h"
#include "scenarios/job/scenario.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace reports
{

/// A size as one choice of an algorithm has done it.
struct CollperfRow
{
    CollectiveRecord last;  ///< the last iteration
    double timeUs = 0;      ///< mean of the iterations
    uint64_t asked = 0;     ///< the size as the scenario has it: alltoallv may have less
    std::size_t choice = 0; ///< 0: the table's own; i: the i-th of CollperfScenario::compare
    /// Where the time of the last iteration went, along the path on which its last rank left, ps by
    /// PathShare; nothing: it was not noted.
    std::optional<std::array<int64_t, PATH_SHARES>> path = {};
};

/// The parts of a path, in few words: the columns of collectives.csv.
struct PathSummary
{
    int64_t software = 0;      ///< ps: launch, and what the library takes for each message
    int64_t inside = 0;        ///< messages inside servers
    int64_t serialization = 0; ///< line time of the messages' own bytes
    int64_t propagation = 0;   ///< cables and switches
    int64_t waiting = 0;       ///< all else: for other messages, pauses, the congestion control
};

struct CollperfRowShown;

PathSummary Summarize(const std::array<int64_t, PATH_SHARES>& path);

/// Seconds that no algorithm of this kind can be faster than, by bytes alone: with messages between
/// ranks, or with switches that add up, as Algorithm::Uses says. A server's NICs carry
/// LeastBytesPerServer, a GPU's port and its share of NICs LeastBytesPerRank (cost.h), at the
/// links' rates with nothing for headers or flags. 0: not known, or no bytes.
double LeastSecondsByBytes(const scenario::CollperfScenario& scenario,
                           uint64_t bytes,
                           const coll::Algorithm& algorithm);

/**
 * The table of nccl-tests, printed row by row as sizes are done; collperf's keys of stats.json, and
 * collectives.csv. What nccl-tests does not print comes in lines that begin with '#', or goes to
 * PrintShares.
 */
class CollperfTable
{
  public:
    /// \param scenario kept by reference
    explicit CollperfTable(const scenario::CollperfScenario& scenario);

    /// Begins collectives.csv. \return whether that worked
    bool Open(const std::string& path);
    void PrintHead(std::ostream& os) const;
    /// A size is done by a choice. Rows of the table itself are printed.
    void Add(std::ostream& os, const CollperfRow& row);
    /// Rows of other datatypes and reductions, the mean, what was compared.
    void PrintEnd(std::ostream& os) const;
    /// For each row how near the bound it is, and where its time went.
    void PrintShares(std::ostream& os) const;
    /// Completes collectives.csv.
    void Close();
    nlohmann::ordered_json ToJson() const;

  private:
    void Print(std::ostream& os,
               const CollperfRow& row,
               const scenario::Datatype& datatype,
               const std::string& reduction) const;
    void PrintCompared(std::ostream& os) const;
    /// Prints the measured times (--reference) beside the table's own rows.
    void PrintReference(std::ostream& os) const;
    /// A row's measured time, us. Nothing: its size was not measured, or took no time here.
    std::optional<double> Measured(const CollperfRow& row) const;
    /// The table's own rows with measured times: how many times as long they take, geometric mean.
    double ReferenceFactor() const;
    void Write(const CollperfRow& row);
    /// Number of columns of collectives.csv: some are for --reference alone.
    std::size_t Columns() const;
    CollperfRowShown ShownOf(const CollperfRow& row) const;
    /// "ring"; for compared choices, the name on the command line.
    std::string NameOf(std::size_t choice) const;
    /// The bound's time over the row's. Nothing: there is no bound, or the time is not the last
    /// rank's (--average).
    std::optional<double> Efficiency(const CollperfRow& row) const;

    const scenario::CollperfScenario& m_scenario;
    std::vector<CollperfRow> m_rows;
    LineLog m_file;
};

} // namespace reports

#endif // REPORTS_PROGRAMS_COLLPERF_TABLE_H
