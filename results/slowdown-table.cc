/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/slowdown-table.h"

#include "results/human-text.h"
#include "results/line-log.h"
#include "scenarios/traffic/size-groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace results
{

namespace
{

/// Nearest rank of ascending values: as QuantileSketch has it.
double
RankOf(const std::vector<double>& sorted, double p)
{
    const double n = static_cast<double>(sorted.size());
    const auto rank = static_cast<std::size_t>(std::ceil(p * n * (1 - 1e-12)));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

} // namespace

SlowdownTable::SlowdownTable(const scenario::Measuring& measuring,
                             const std::vector<scenario::Flow>& flows)
    : m_measuring(measuring),
      m_flows(flows)
{
}

void
SlowdownTable::Add(uint32_t flow, int64_t fct, int64_t ideal)
{
    const double slowdown = ideal > 0 ? static_cast<double>(fct) / static_cast<double>(ideal) : 1;
    m_completed.push_back({flow, slowdown});
}

void
SlowdownTable::Finish(
    const std::function<std::vector<Completed>(const std::vector<Completed>&)>& gather)
{
    const std::vector<Completed> completed = gather(m_completed);
    m_completed = {};
    std::vector<Sized> flows;
    std::set<std::string> tags;
    for (const Completed& c : completed)
    {
        const scenario::Flow& flow = m_flows[c.flow];
        flows.emplace_back(flow.bytes, c.slowdown);
        tags.insert(flow.tag);
    }
    Summarize("all", flows);
    if (tags.size() == 1)
    {
        tags.clear(); // the same again
    }
    // The first by name, not by completion: which they are does not depend on the result.
    std::size_t summaries = 0;
    for (const std::string& tag : tags)
    {
        if (++summaries > MOST_TAGS)
        {
            break;
        }
        flows.clear();
        for (const Completed& c : completed)
        {
            if (m_flows[c.flow].tag == tag)
            {
                flows.emplace_back(m_flows[c.flow].bytes, c.slowdown);
            }
        }
        Summarize(tag, flows);
    }
}

void
SlowdownTable::Summarize(const std::string& tag, std::vector<Sized>& flows)
{
    std::sort(flows.begin(), flows.end());
    const std::size_t n = flows.size();
    std::vector<uint64_t> sizes;
    sizes.reserve(n);
    for (const auto& flow : flows)
    {
        sizes.push_back(flow.first);
    }
    for (const auto& [first, last] : scenario::GroupBySize(sizes, m_measuring.sizeGroups))
    {
        AddRow(tag,
               false,
               sizes[first],
               sizes[last - 1],
               flows.data() + first,
               flows.data() + last);
    }
    std::size_t begin = 0;
    uint64_t from = 0;
    for (std::size_t c = 0; c <= m_measuring.sizeBins.size(); ++c)
    {
        const bool last = c == m_measuring.sizeBins.size();
        std::size_t end = begin;
        while (end < n && (last || flows[end].first <= m_measuring.sizeBins[c]))
        {
            ++end;
        }
        const uint64_t to = last ? (n ? flows[n - 1].first : 0) : m_measuring.sizeBins[c];
        if (begin < end)
        {
            AddRow(tag, true, from, to, flows.data() + begin, flows.data() + end);
        }
        begin = end;
        from = to;
    }
}

void
SlowdownTable::AddRow(const std::string& tag,
                      bool isClass,
                      uint64_t from,
                      uint64_t to,
                      const Sized* begin,
                      const Sized* end)
{
    std::vector<double> values;
    for (const auto* flow = begin; flow != end; ++flow)
    {
        values.push_back(flow->second);
    }
    std::sort(values.begin(), values.end());
    Row row;
    row.tag = tag;
    row.isClass = isClass;
    row.fromBytes = from;
    row.toBytes = to;
    row.flows = values.size();
    row.mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    row.p50 = RankOf(values, 0.5);
    row.p95 = RankOf(values, 0.95);
    row.p99 = RankOf(values, 0.99);
    row.p999 = RankOf(values, 0.999);
    row.max = values.back();
    m_rows.push_back(row);
}

void
SlowdownTable::Write(const std::string& path) const
{
    LineLog file(path);
    file.Write("tag,kind,from_bytes,to_bytes,flows,mean,p50,p95,p99,p999,max");
    std::string line;
    for (const Row& row : m_rows)
    {
        line.clear();
        AppendField(line, row.tag);
        line += row.isClass ? ",class" : ",group";
        for (const uint64_t number : {row.fromBytes, row.toBytes, row.flows})
        {
            line += ',';
            AppendInteger(line, number);
        }
        for (const double value : {row.mean, row.p50, row.p95, row.p99, row.p999, row.max})
        {
            line += ',';
            AppendDecimal(line, value);
        }
        file.Write(line);
    }
    file.Close();
}

nlohmann::ordered_json
SlowdownTable::ToJson() const
{
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Row& row : m_rows)
    {
        rows.push_back({{"tag", row.tag},
                        {"kind", row.isClass ? "class" : "group"},
                        {"from_bytes", row.fromBytes},
                        {"to_bytes", row.toBytes},
                        {"flows", row.flows},
                        {"mean", row.mean},
                        {"p50", row.p50},
                        {"p95", row.p95},
                        {"p99", row.p99},
                        {"p999", row.p999},
                        {"max", row.max}});
    }
    return rows;
}

void
SlowdownTable::Print(std::ostream& os) const
{
    const char* head = "Slowdown by size ";
    for (const Row& row : m_rows)
    {
        if (!row.isClass || row.tag != "all")
        {
            continue;
        }
        // With fewer than 1 / (1 - q) values the quantile q is only the largest: as in tables and
        // pictures (scripts/cluster_simulator/quantiles.py).
        const auto quantile = [&row](double value, uint64_t least) {
            return row.flows < least ? std::string("-") : Format("%.2f", value);
        };
        os << head
           << Format("%s to %s: %s flows, p50 %.2f   p95 %s   p99 %s\n",
                     HumanBytes(static_cast<double>(row.fromBytes)).c_str(),
                     HumanBytes(static_cast<double>(row.toBytes)).c_str(),
                     HumanCount(row.flows).c_str(),
                     row.p50,
                     quantile(row.p95, 20).c_str(),
                     quantile(row.p99, 100).c_str());
        head = "                 ";
    }
}

} // namespace results
