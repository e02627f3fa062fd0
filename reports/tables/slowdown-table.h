/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_SLOWDOWN_TABLE_H
#define REPORTS_TABLES_SLOWDOWN_TABLE_H

#include "reports/schema/object.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/**
 * slowdown.csv: slowdown of flows by size. Slowdown of a flow = its completion time over that on an
 * idle network, headers included. The idle time is for a single path, so a flow on several paths
 * can be below 1.
 *
 * "group" rows are the measured flows by size, cut into --size-groups of about the same number,
 * each made of whole sizes (scenarios/traffic/size-groups.h), from_bytes and to_bytes its smallest
 * and its largest; "class" rows are --size-bins, above from_bytes up to and with to_bytes. So flows
 * of one size are in one group and in one class, few sizes make few of them, and the order among
 * equal flows does not matter. There are rows for all flows, tag "all", and for each of the first
 * 16 tags by name. Quantiles are by nearest rank.
 */
class SlowdownTable
{
  public:
    /// A measured flow that is complete.
    struct Completed
    {
        uint32_t flow;
        double slowdown;
    };

    /// Flows of at most so many bytes.
    struct Row
    {
        std::string tag;
        bool isClass{false};
        uint64_t fromBytes{0};
        uint64_t toBytes{0}; //!< upper end; for the class without one, its largest flow
        uint64_t flows{0};
        double mean{0};
        double p50{0};
        double p95{0};
        double p99{0};
        double p999{0};
        double max{0};
    };

    /// Both kept by reference
    SlowdownTable(const scenario::Measuring& measuring, const std::vector<scenario::Flow>& flows);

    /// \param fct, ideal ps
    void Add(uint32_t flow, int64_t fct, int64_t ideal);
    /// No more flows. \param gather of several processes at the first one the flows of all,
    /// elsewhere nothing
    void Finish(const std::function<std::vector<Completed>(std::vector<Completed>)>& gather);

    void Write(const std::string& path) const;
    /// `slowdown_by_size` of stats.json. \param measured false: the run ended in its warm-up
    void AddTo(nlohmann::ordered_json& stats, bool measured) const;
    void Print(std::ostream& os) const;

  private:
    static const Object<SlowdownTable>& Keys();
    static const RegisteredKeys g_keys;
    static constexpr std::size_t MOST_TAGS = 16;

    using Sized = std::pair<uint64_t, double>; //!< bytes, slowdown

    void Summarize(const std::string& tag, std::vector<Sized>& flows);
    void AddRow(const std::string& tag,
                bool isClass,
                uint64_t from,
                uint64_t to,
                const Sized* begin,
                const Sized* end);

    const scenario::Measuring& m_measuring;
    const std::vector<scenario::Flow>& m_flows;
    std::vector<Completed> m_completed;
    std::vector<Row> m_rows;
};

} // namespace reports

#endif // REPORTS_TABLES_SLOWDOWN_TABLE_H
