/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/flow-rates.h"

#include "reports/base/human-text.h"
#include "reports/schema/table.h"

#include <algorithm>
#include <utility>

namespace reports
{

namespace
{

/// A row of fairness.csv.
struct FairnessRow
{
    int64_t time;
    uint64_t flows;
    std::optional<double> jain;
    double gbps;
};

const Table<FairnessRow> FAIRNESS(
    "fairness.csv",
    {{"time_us (us): End of the interval", &FairnessRow::time},
     {"flows (count): Flows that ran through the whole interval", &FairnessRow::flows},
     {"jain (0 to 1): Jain's index of their throughputs; empty: all of several stalled",
      &FairnessRow::jain},
     {"gbps (Gb/s): Throughput of all flows, those that ended in the interval included",
      &FairnessRow::gbps}});

/// A row of rates.csv.
struct RateRow
{
    int64_t time;
    uint32_t flow;
    std::string_view src;
    std::string_view dst;
    double gbps;
};

const Table<RateRow> RATES("rates.csv",
                           {{"time_us (us): End of the interval", &RateRow::time},
                            {"flow: Number of the flow", &RateRow::flow},
                            {"src: Sending host", &RateRow::src},
                            {"dst: Receiving host", &RateRow::dst},
                            {"gbps (Gb/s): Throughput in the interval", &RateRow::gbps}});

} // namespace

FlowRates::FlowRates(const scenario::Measuring& measuring,
                     const std::vector<scenario::Flow>& flows,
                     const std::vector<std::string>& endpoints,
                     const std::string& out)
    : m_measuring(measuring),
      m_flows(flows),
      m_endpoints(endpoints),
      m_place(flows.size())
{
    if (!out.empty())
    {
        m_fairness.Open(out + "/fairness.csv");
        m_fairness.Write(FAIRNESS.Header());
        m_leftOut = flows.size() > MOST_FLOWS;
        if (!m_leftOut)
        {
            m_rates.Open(out + "/rates.csv");
            m_rates.Write(RATES.Header());
        }
    }
}

void
FlowRates::Begin(uint32_t flow, std::function<uint64_t()> received, int64_t now)
{
    m_place[flow] = static_cast<uint32_t>(m_active.size());
    m_active.push_back(
        {flow, now % m_measuring.rateInterval.ps == 0, std::move(received), 0, false});
}

void
FlowRates::End(uint32_t flow, bool failed)
{
    const uint32_t place = m_place[flow];
    if (place >= m_active.size() || m_active[place].flow != flow)
    {
        return; // told before
    }
    if (failed)
    {
        m_active[place].failed = true;
        return;
    }
    m_goneBytes += m_flows[flow].bytes - m_active[place].before;
    Remove(place);
}

void
FlowRates::Remove(uint32_t place)
{
    if (place + 1 < m_active.size())
    {
        m_active[place] = std::move(m_active.back());
        m_place[m_active[place].flow] = place;
    }
    m_active.pop_back();
}

void
FlowRates::WriteRate(int64_t now, uint32_t flow, double gbps)
{
    RATES.Write(m_line,
                {now, flow, m_endpoints[m_flows[flow].src], m_endpoints[m_flows[flow].dst], gbps});
    m_rates.Write(m_line);
    ++m_rows;
}

uint64_t
FlowRates::EndInterval(int64_t now)
{
    const double perByte = 8e3 / static_cast<double>(now - m_begin); // Gb/s
    double sum = 0;
    double squares = 0;
    uint64_t n = 0;
    uint64_t all = m_goneBytes;
    const bool rows = m_rates.IsOpen() && m_rows < MOST_ROWS;
    if (rows)
    {
        // They are moved about when flows end.
        std::sort(m_active.begin(), m_active.end(), [](const Active& a, const Active& b) {
            return a.flow < b.flow;
        });
        for (std::size_t i = 0; i < m_active.size(); ++i)
        {
            m_place[m_active[i].flow] = static_cast<uint32_t>(i);
        }
    }
    for (Active& active : m_active)
    {
        const uint64_t received = active.received();
        const uint64_t bytes = received - active.before;
        active.before = received;
        all += bytes;
        if (active.failed)
        {
            continue;
        }
        const double gbps = static_cast<double>(bytes) * perByte;
        if (active.whole)
        {
            ++n;
            sum += gbps;
            squares += gbps * gbps;
        }
        active.whole = true;
        if (rows)
        {
            WriteRate(now, active.flow, gbps);
        }
    }
    for (std::size_t place = m_active.size(); place-- > 0;)
    {
        if (m_active[place].failed)
        {
            Remove(static_cast<uint32_t>(place));
        }
    }
    // If all flows stand still there is no index, and for one flow it has no meaning.
    const bool standstill = n > 0 && squares == 0;
    const double jain = squares > 0 ? sum * sum / (static_cast<double>(n) * squares) : 1;
    if (n > 1 && !standstill && m_measuring.Covers(rdma::TimePoint(m_begin)))
    {
        ++m_count;
        m_sum += jain;
        m_least = std::min(m_least, jain);
    }
    if (m_fairness.IsOpen() && m_intervals < MOST_ROWS)
    {
        FAIRNESS.Write(m_line,
                       {now,
                        n,
                        standstill ? std::nullopt : std::optional(jain),
                        static_cast<double>(all) * perByte});
        m_fairness.Write(m_line);
    }
    ++m_intervals;
    m_goneBytes = 0;
    m_begin = now;
    return all;
}

void
FlowRates::Close()
{
    m_fairness.Close();
    m_rates.Close();
}

const Object<FlowRates>&
FlowRates::Keys()
{
    static const auto any = [](const FlowRates& r) { return r.m_count > 0; };
    static const Object<FlowRates> fairness{
        {"interval_us (us): Time over which throughputs are measured",
         [](const FlowRates& r) { return r.m_measuring.rateInterval.ps; }},
        {"intervals (count): Measured intervals that at least two flows ran through, not all of "
         "them stalled",
         &FlowRates::m_count},
        Key<FlowRates>("jain_mean (0 to 1): Mean of Jain's index over these; 1: all flows alike; "
                       "null: no such interval",
                       [](const FlowRates& r) { return r.m_sum / static_cast<double>(r.m_count); })
            .NullUnless(any),
        Key<FlowRates>("jain_min (0 to 1): The smallest of them", &FlowRates::m_least)
            .NullUnless(any)};
    static const Object<FlowRates> rates{
        {"rows (count): Rows", &FlowRates::m_rows},
        {"left_out: Whether rows are missing: beyond 1000 flows, or 200,000 rows",
         [](const FlowRates& r) { return r.m_leftOut || r.m_rows >= MOST_ROWS; }}};
    static const auto itself = [](const FlowRates& r) -> const FlowRates& { return r; };
    static const Object<FlowRates> keys{
        {"fairness: How evenly flows share the network", itself, fairness},
        {"rates_csv: rates.csv", itself, rates}};
    return keys;
}

const RegisteredKeys FlowRates::g_keys(Section::kTraffic, FlowRates::Keys());

void
FlowRates::AddTo(nlohmann::ordered_json& stats, bool measured) const
{
    if (!measured)
    {
        stats["fairness"] = nullptr;
        return;
    }
    Keys().AddTo(stats, *this);
}

void
FlowRates::Print(std::ostream& os) const
{
    if (m_count)
    {
        os << "Fairness         Jain's index of throughputs over "
           << HumanTime(static_cast<double>(m_measuring.rateInterval.ps) / 1e6)
           << Format(": mean %.3f, least %.3f\n", m_sum / static_cast<double>(m_count), m_least);
    }
}

} // namespace reports
