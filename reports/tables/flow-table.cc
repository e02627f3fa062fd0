/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/flow-table.h"

#include "reports/base/output-errors.h"
#include "reports/schema/table.h"

#include <algorithm>
#include <numeric>
#include <unistd.h>
#include <utility>

namespace reports
{

namespace
{

/// The slowest is the greatest; ties by flow number, so that runs repeat: the first one, as of
/// thousands that are equally slow each later one would take the place of another.
bool
Faster(const FlowRecord& a, const FlowRecord& b)
{
    return std::make_pair(a.Slowdown(), b.flow) < std::make_pair(b.Slowdown(), a.flow);
}

bool
Slower(const FlowRecord& a, const FlowRecord& b)
{
    return Faster(b, a);
}

/// A number of 32 bits, all alike, the same with every standard library (its distributions are not
/// specified).
uint32_t
Draw(std::mt19937_64& random)
{
    return static_cast<uint32_t>(random() >> 32);
}

/// A row of flows.csv.
struct FlowRow : FlowRecord
{
    std::string_view from;
    std::string_view to;
    std::string_view purpose;
    std::string_view trafficClassName;

    int64_t Fct() const
    {
        return end - start;
    }

    static std::optional<uint32_t> GpuOrNone(uint32_t gpu)
    {
        return gpu == NO_GPU ? std::nullopt : std::optional(gpu);
    }
};

const Table<FlowRow> FLOWS(
    "flows.csv",
    {{"flow: Number of the message", &FlowRow::flow},
     {"src: Sending host", &FlowRow::from},
     {"dst: Receiving host", &FlowRow::to},
     {"bytes (B): Size", &FlowRow::bytes},
     {"start_us (us): Posted", &FlowRow::start},
     {"end_us (us): Last byte arrived", &FlowRow::end},
     {"fct_us (us): Completion time: end_us - start_us", &FlowRow::Fct},
     {"ideal_fct_us (us): Completion time of the same message alone on the idle network; where "
      "packets may take several paths, each on one of its own",
      &FlowRow::ideal},
     {"tag: Purpose: reduce-scatter bucket 3", &FlowRow::purpose},
     Column<FlowRow>("from_gpu: Rank of the sender; empty: between hosts, as in traffic",
                     [](const auto& r) { return FlowRow::GpuOrNone(r.fromGpu); })
         .Later(),
     Column<FlowRow>("to_gpu: Rank of the receiver; empty: between hosts, as in traffic",
                     [](const auto& r) { return FlowRow::GpuOrNone(r.toGpu); })
         .Later(),
     Column<FlowRow>("class: Traffic class; default: that of the network's options; no column "
                     "without --class, cc, transport or rate of flows or jobs",
                     &FlowRow::trafficClassName)
         .Later()});
constexpr std::size_t COLUMNS_WITHOUT_CLASSES = 11;

/// The columns of a file.
std::size_t
ColumnsOf(const std::vector<std::string>& classes)
{
    return classes.empty() ? COLUMNS_WITHOUT_CLASSES : COLUMNS_WITHOUT_CLASSES + 1;
}

} // namespace

FlowTable::FlowTable(const std::string& path,
                     const std::vector<std::string>& endpointNames,
                     const std::vector<std::string>& tags,
                     uint64_t seed,
                     std::size_t rowLimit,
                     std::size_t slowestLimit,
                     std::vector<std::string> classes)
    : m_endpoints(endpointNames),
      m_tags(tags),
      m_path(path),
      m_random(seed),
      m_seed(seed),
      m_rowLimit(rowLimit),
      m_slowestLimit(std::max<std::size_t>(1, std::min(slowestLimit, rowLimit / 2))),
      m_classes(std::move(classes)),
      m_classTotals(m_classes.size())
{
    if (!m_path.empty())
    {
        m_file.Open(m_path);
        m_file.Write(FLOWS.Header(ColumnsOf(m_classes)));
        m_file.Flush();
    }
}

void
FlowTotals::Add(const FlowRecord& record)
{
    fct.Add(static_cast<double>(record.end - record.start));
    slowdown.Add(record.Slowdown());
    bytes += record.bytes;
}

void
ClassTotals::Add(const FlowRecord& record)
{
    FlowTotals::Add(record);
    first = std::min(first, record.start);
    last = std::max(last, record.end);
    if (record.bytes > 0 && record.end > record.start)
    {
        const double rate =
            static_cast<double>(record.bytes) / static_cast<double>(record.end - record.start);
        rates += rate;
        squares += rate * rate;
        ++rated;
    }
}

void
FlowTotals::Clear()
{
    fct.Clear();
    slowdown.Clear();
    bytes = 0;
}

uint32_t
FlowTable::AddOwner(bool aside)
{
    m_owners.emplace_back().aside = aside;
    return static_cast<uint32_t>(m_owners.size());
}

void
FlowTable::SetOwner(uint32_t tag, uint32_t owner)
{
    m_ownerOf.resize(std::max<std::size_t>(m_ownerOf.size(), tag + 1), 0);
    m_ownerOf[tag] = owner;
}

void
FlowTable::Add(const FlowRecord& record)
{
    const uint32_t owner = OwnerOf(record.tag);
    if (owner > 0)
    {
        m_owners[owner - 1].totals.Add(record);
    }
    if (!IsAside(record.tag))
    {
        m_all.Add(record);
    }
    if (!m_classTotals.empty())
    {
        m_classTotals[record.trafficClass].Add(record);
    }
    ++m_added;
    if (m_path.empty())
    {
        return;
    }
    if (m_added <= m_rowLimit)
    {
        Write(record);
        ++m_rows;
        m_sample.push_back(record);
        return;
    }
    Sample(record);
}

void
FlowTable::BeginSample()
{
    std::vector<uint32_t> order(m_sample.size());
    std::iota(order.begin(), order.end(), 0);
    std::nth_element(order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(m_slowestLimit),
                     order.end(),
                     [this](uint32_t a, uint32_t b) { return Slower(m_sample[a], m_sample[b]); });
    for (std::size_t i = 0; i < m_slowestLimit; ++i)
    {
        m_slowest.push_back(m_sample[order[i]]);
    }
    std::make_heap(m_slowest.begin(), m_slowest.end(), Slower);
    for (std::size_t i = 0; i < m_sample.size(); ++i)
    {
        m_draws.push_back(Draw(m_random));
    }
    KeepLeast(m_rowLimit - m_slowestLimit);
}

void
FlowTable::KeepLeast(std::size_t size)
{
    if (size == 0)
    {
        m_draws.clear();
        m_sample.clear();
        return;
    }
    std::vector<uint32_t> least = m_draws;
    std::nth_element(least.begin(),
                     least.begin() + static_cast<std::ptrdiff_t>(size - 1),
                     least.end());
    m_mostDraw = least[size - 1];
    // The last records take the places of removed ones (Finish sorts all), which are few. Among
    // records with the same draw as the last one to stay, some may have to leave, too.
    std::size_t kept = m_sample.size();
    for (const uint32_t most : {m_mostDraw, m_mostDraw - 1})
    {
        for (std::size_t i = 0; i < kept && kept > size;)
        {
            if (m_draws[i] <= most)
            {
                ++i;
                continue;
            }
            --kept;
            m_draws[i] = m_draws[kept];
            m_sample[i] = m_sample[kept];
        }
    }
    m_draws.resize(kept);
    m_sample.resize(kept);
}

void
FlowTable::Sample(const FlowRecord& record)
{
    if (m_slowest.empty())
    {
        BeginSample();
    }
    // Each record draws a number, and the least ones are the sample: a uniform one. Most records
    // cost no more than that, as the sample is in no cache; those that may be of it join its end,
    // and when they have become an eighth more the largest draws leave.
    const uint32_t draw = Draw(m_random);
    if (draw < m_mostDraw)
    {
        const std::size_t size = m_rowLimit - m_slowestLimit;
        m_draws.push_back(draw);
        m_sample.push_back(record);
        if (m_sample.size() > size + size / 8)
        {
            KeepLeast(size);
        }
    }
    if (Faster(m_slowest.front(), record))
    {
        std::pop_heap(m_slowest.begin(), m_slowest.end(), Slower);
        m_slowest.back() = record;
        std::push_heap(m_slowest.begin(), m_slowest.end(), Slower);
    }
}

void
FlowTable::Write(const FlowRecord& record)
{
    FLOWS.Write(m_line,
                {{record},
                 m_endpoints[record.src],
                 m_endpoints[record.dst],
                 record.tag < m_tags.size() ? std::string_view(m_tags[record.tag]) : "",
                 m_classes.empty() ? std::string_view() : m_classes[record.trafficClass]},
                ColumnsOf(m_classes));
    m_file.Write(m_line);
}

void
FlowTable::Clear()
{
    m_all.Clear();
    for (Owner& owner : m_owners)
    {
        owner.totals.Clear();
    }
    m_classTotals.assign(m_classes.size(), {});
    m_random.seed(m_seed);
    m_added = 0;
    m_rows = 0;
    m_sample.clear();
    m_draws.clear();
    m_slowest.clear();
    if (!m_path.empty())
    {
        m_file.Open(m_path);
        m_file.Write(FLOWS.Header(ColumnsOf(m_classes)));
        m_file.Flush();
    }
}

void
FlowTable::Finish()
{
    if (m_slowest.empty() || m_path.empty())
    {
        m_file.Close();
        return;
    }
    if (m_sample.size() > m_rowLimit - m_slowestLimit)
    {
        KeepLeast(m_rowLimit - m_slowestLimit);
    }
    m_draws = {};
    std::deque<FlowRecord>& rows = m_sample;
    rows.insert(rows.end(), m_slowest.begin(), m_slowest.end());
    m_slowest = {};
    std::sort(rows.begin(), rows.end(), [](const FlowRecord& a, const FlowRecord& b) {
        return std::make_pair(a.flow, a.end) < std::make_pair(b.flow, b.end);
    });
    const auto same = [](const FlowRecord& a, const FlowRecord& b) {
        return a.flow == b.flow && a.end == b.end && a.src == b.src && a.dst == b.dst;
    };
    rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
    m_rows = rows.size();
    // Written beside and renamed: whoever looks meanwhile sees the old rows or the new ones.
    const std::string temporary = m_path + ".part";
    if (m_file.Open(temporary))
    {
        m_file.Write(FLOWS.Header(ColumnsOf(m_classes)));
        for (const FlowRecord& row : rows)
        {
            Write(row);
        }
        m_file.Close();
        if (m_file.Failed())
        {
            unlink(temporary.c_str());
        }
        else
        {
            RenameOutput(temporary, m_path);
        }
    }
}

} // namespace reports
