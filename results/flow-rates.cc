/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/flow-rates.h"

#include "results/human-text.h"

#include <algorithm>
#include <utility>

namespace results
{

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
        m_fairness.Write("time_us,flows,jain,gbps");
        m_leftOut = flows.size() > MOST_FLOWS;
        if (!m_leftOut)
        {
            m_rates.Open(out + "/rates.csv");
            m_rates.Write("time_us,flow,src,dst,gbps");
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
    m_line.clear();
    AppendMicroseconds(m_line, now);
    m_line += ',';
    AppendInteger(m_line, flow);
    m_line += ',';
    AppendField(m_line, m_endpoints[m_flows[flow].src]);
    m_line += ',';
    AppendField(m_line, m_endpoints[m_flows[flow].dst]);
    m_line += ',';
    AppendDecimal(m_line, gbps);
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
        m_line.clear();
        AppendMicroseconds(m_line, now);
        m_line += ',';
        AppendInteger(m_line, n);
        m_line += ',';
        if (!standstill)
        {
            AppendDecimal(m_line, jain);
        }
        m_line += ',';
        AppendDecimal(m_line, static_cast<double>(all) * perByte);
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

void
FlowRates::AddTo(nlohmann::ordered_json& stats, bool measured) const
{
    using json = nlohmann::ordered_json;
    if (!measured)
    {
        stats["fairness"] = nullptr;
        return;
    }
    stats["fairness"] = {
        {"interval_us", static_cast<double>(m_measuring.rateInterval.ps) / 1e6},
        {"intervals", m_count},
        {"jain_mean", m_count ? json(m_sum / static_cast<double>(m_count)) : json()},
        {"jain_min", m_count ? json(m_least) : json()}};
    stats["rates_csv"] = {{"rows", m_rows}, {"left_out", m_leftOut || m_rows >= MOST_ROWS}};
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

} // namespace results
