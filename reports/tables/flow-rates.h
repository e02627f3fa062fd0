/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_FLOW_RATES_H
#define REPORTS_TABLES_FLOW_RATES_H

#include "reports/base/line-log.h"
#include "reports/schema/object.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace reports
{

/**
 * fairness.csv: an interval a row. Jain's index (Jain, Chiu, Hawe, DEC-TR-301, 1984) (sum x)^2 / (n
 * sum x^2) of the throughputs x of the n flows that were under way in all of it (1 if n is 0 or all
 * x are 0); gbps is the sum over all flows. rates.csv: these throughputs, flow by flow; with more
 * than a thousand flows there is no such file.
 */
class FlowRates
{
  public:
    /// \param endpoints names. All kept by reference \param out folder; empty: no files
    FlowRates(const scenario::Measuring& measuring,
              const std::vector<scenario::Flow>& flows,
              const std::vector<std::string>& endpoints,
              const std::string& out);

    /// A flow begins. \param received asked for how many of its bytes have arrived, its size at
    /// most, until it is gone
    void Begin(uint32_t flow, std::function<uint64_t()> received, int64_t now);
    /// A flow has all its bytes, or has failed: it is no longer in flight. May be called twice.
    /// Bytes of a failed flow count until the interval's end. Its sender gave up, and the number of
    /// packets that the receiver has by then depends on the engine.
    void End(uint32_t flow, bool failed);

    /// Intervals begin: flows are in flight again. \param begin begin of the interval that
    /// the current time is in
    void Start(int64_t begin)
    {
        m_begin = begin;
    }

    /// An interval has ended, and the next one begins. \return bytes that have arrived in it
    uint64_t EndInterval(int64_t now);
    /// The files are complete.
    void Close();

    bool IsEmpty() const
    {
        return m_active.empty();
    }

    /// Keys of stats.json. \param measured false: the run ended in its warm-up
    void AddTo(nlohmann::ordered_json& stats, bool measured) const;
    void Print(std::ostream& os) const;

  private:
    static const Object<FlowRates>& Keys();
    static const RegisteredKeys g_keys;
    static constexpr std::size_t MOST_FLOWS = 1000; //!< with rates.csv
    static constexpr uint64_t MOST_ROWS = 200000;

    /// A flow under way.
    struct Active
    {
        uint32_t flow;
        bool whole; //!< since the interval began
        std::function<uint64_t()> received;
        uint64_t before; //!< its bytes when the interval began
        bool failed{false};
    };

    void Remove(uint32_t place);
    void WriteRate(int64_t now, uint32_t flow, double gbps);

    const scenario::Measuring& m_measuring;
    const std::vector<scenario::Flow>& m_flows;
    const std::vector<std::string>& m_endpoints;
    std::vector<Active> m_active;
    std::vector<uint32_t> m_place; //!< by flow: its place in m_active
    int64_t m_begin{0};            //!< begin of the interval
    uint64_t m_goneBytes{0};       //!< in this interval, of flows that ended in it
    uint64_t m_intervals{0};
    uint64_t m_rows{0};
    bool m_leftOut{false};
    uint64_t m_count{0}; //!< number of measured intervals with an index
    double m_sum{0};     //!< sum of their indices
    double m_least{1};
    LineLog m_fairness;
    LineLog m_rates;
    std::string m_line;
};

} // namespace reports

#endif // REPORTS_TABLES_FLOW_RATES_H
