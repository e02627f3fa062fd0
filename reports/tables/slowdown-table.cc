/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/slowdown-table.h"

#include "reports/base/human-text.h"
#include "reports/base/line-log.h"
#include "reports/schema/object.h"
#include "reports/schema/table.h"
#include "scenarios/traffic/size-groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace reports
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

/// Columns of slowdown.csv, or keys of slowdown_by_size.
template <typename Part>
std::vector<Part>
PartsOfRow()
{
    using Row = SlowdownTable::Row;
    return {
        {"tag: Flows with this tag, or all", &Row::tag},
        {"kind: group: one of --size-groups, about as many flows each; class: one of --size-bins",
         [](const Row& row) { return row.isClass ? "class" : "group"; }},
        {"from_bytes (B): Smallest flow of a group; flows of a class are larger than this",
         &Row::fromBytes},
        {"to_bytes (B): Largest flow that belongs to it", &Row::toBytes},
        {"flows (count): Flows", &Row::flows},
        {"mean (ratio): Mean slowdown", &Row::mean},
        {"p50 (ratio): 50% of the flows have at most this slowdown", &Row::p50},
        {"p95 (ratio): 95% of the flows have at most this slowdown", &Row::p95},
        {"p99 (ratio): 99% of the flows have at most this slowdown", &Row::p99},
        {"p999 (ratio): 99.9% of the flows have at most this slowdown", &Row::p999},
        {"max (ratio): Largest slowdown", &Row::max}};
}

const Table<SlowdownTable::Row> SLOWDOWN("slowdown.csv", PartsOfRow<Column<SlowdownTable::Row>>());

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
SlowdownTable::Finish(const std::function<std::vector<Completed>(std::vector<Completed>)>& gather)
{
    std::vector<Completed> completed = gather(std::move(m_completed));
    m_completed = {};
    std::vector<Sized> flows;
    flows.reserve(completed.size());
    std::set<std::string> tags;
    for (const Completed& c : completed)
    {
        const scenario::Flow& flow = m_flows[c.flow];
        flows.emplace_back(flow.bytes, c.slowdown);
        tags.insert(flow.tag.Text());
    }
    if (tags.size() == 1)
    {
        tags.clear(); // the same again
        completed = {};
    }
    Summarize("all", flows);
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
            if (m_flows[c.flow].tag.Text() == tag)
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
    file.Write(SLOWDOWN.Header());
    std::string line;
    for (const Row& row : m_rows)
    {
        SLOWDOWN.Write(line, row);
        file.Write(line);
    }
    file.Close();
}

const Object<SlowdownTable>&
SlowdownTable::Keys()
{
    static const Object<Row> row("", PartsOfRow<Key<Row>>());
    static const Object<SlowdownTable> keys{
        {"slowdown_by_size (ratio): Slowdown of the measured flows by size, as in slowdown.csv",
         &SlowdownTable::m_rows,
         row}};
    return keys;
}

const RegisteredKeys SlowdownTable::g_keys(Section::kTraffic, SlowdownTable::Keys());

void
SlowdownTable::AddTo(nlohmann::ordered_json& stats, bool measured) const
{
    if (!measured)
    {
        stats["slowdown_by_size"] = nullptr;
        return;
    }
    Keys().AddTo(stats, *this);
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

} // namespace reports
