/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/flow-table.h"

#include "results/output-errors.h"

#include <algorithm>
#include <numeric>
#include <unistd.h>
#include <utility>

namespace results
{

namespace
{

/// The slowest is the greatest; ties by flow number, so that runs repeat.
bool
Faster(const FlowRecord& a, const FlowRecord& b)
{
    return std::make_pair(a.Slowdown(), a.flow) < std::make_pair(b.Slowdown(), b.flow);
}

bool
Slower(const FlowRecord& a, const FlowRecord& b)
{
    return Faster(b, a);
}

/// Uniform in [0, n), the same with every standard library (its distributions are not specified).
uint64_t
Below(std::mt19937_64& random, uint64_t n)
{
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t draw = random();
    while (draw >= limit)
    {
        draw = random();
    }
    return draw % n;
}

} // namespace

FlowTable::FlowTable(const std::string& path,
                     const std::vector<std::string>& endpointNames,
                     const std::vector<std::string>& tags,
                     uint64_t seed,
                     std::size_t rowLimit,
                     std::size_t slowestLimit)
    : m_endpoints(endpointNames),
      m_tags(tags),
      m_path(path),
      m_random(seed),
      m_seed(seed),
      m_rowLimit(rowLimit),
      m_slowestLimit(std::max<std::size_t>(1, std::min(slowestLimit, rowLimit / 2)))
{
    if (!m_path.empty())
    {
        m_file.Open(m_path);
        m_file.Write(HEADER);
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
FlowTable::Sample(const FlowRecord& record)
{
    const std::size_t sampleSize = m_rowLimit - m_slowestLimit;
    if (m_slowest.empty())
    {
        // The first one too many. From here on: algorithm R (Vitter, TOMS 1985), and a heap of the
        // slowest.
        std::vector<uint32_t> order(m_sample.size());
        std::iota(order.begin(), order.end(), 0);
        std::nth_element(
            order.begin(),
            order.begin() + static_cast<std::ptrdiff_t>(m_slowestLimit),
            order.end(),
            [this](uint32_t a, uint32_t b) { return Slower(m_sample[a], m_sample[b]); });
        for (std::size_t i = 0; i < m_slowestLimit; ++i)
        {
            m_slowest.push_back(m_sample[order[i]]);
        }
        std::make_heap(m_slowest.begin(), m_slowest.end(), Slower);
        for (uint64_t i = sampleSize; i < m_sample.size(); ++i)
        {
            const uint64_t place = Below(m_random, i + 1);
            if (place < sampleSize)
            {
                m_sample[place] = m_sample[i];
            }
        }
        m_sample.resize(sampleSize);
        for (uint64_t i = 0; i < AHEAD; ++i)
        {
            m_places[(m_added + i) % AHEAD] = Below(m_random, m_added + i);
        }
    }
    // Places are of a sample that no cache holds: drawn ahead, and fetched.
    uint64_t& drawn = m_places[m_added % AHEAD];
    const uint64_t place = drawn;
    drawn = Below(m_random, m_added + AHEAD);
    if (drawn < sampleSize)
    {
        __builtin_prefetch(&m_sample[drawn], 1);
        __builtin_prefetch(reinterpret_cast<const char*>(&m_sample[drawn]) + 64, 1);
    }
    if (place < sampleSize)
    {
        m_sample[place] = record;
    }
    if (Faster(m_slowest.front(), record))
    {
        std::pop_heap(m_slowest.begin(), m_slowest.end(), Slower);
        m_slowest.back() = record;
        std::push_heap(m_slowest.begin(), m_slowest.end(), Slower);
    }
}

void
FlowTable::Write(const FlowRecord& r)
{
    m_line.clear();
    AppendInteger(m_line, r.flow);
    m_line += ',';
    AppendField(m_line, m_endpoints[r.src]);
    m_line += ',';
    AppendField(m_line, m_endpoints[r.dst]);
    m_line += ',';
    AppendInteger(m_line, r.bytes);
    for (const int64_t time : {r.start, r.end, r.end - r.start, r.ideal})
    {
        m_line += ',';
        AppendMicroseconds(m_line, time);
    }
    m_line += ',';
    if (r.tag < m_tags.size())
    {
        AppendField(m_line, m_tags[r.tag]);
    }
    for (const uint32_t gpu : {r.fromGpu, r.toGpu})
    {
        m_line += ',';
        if (gpu != FlowRecord::NO_GPU)
        {
            AppendInteger(m_line, gpu);
        }
    }
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
    m_random.seed(m_seed);
    m_added = 0;
    m_rows = 0;
    m_sample.clear();
    m_slowest.clear();
    if (!m_path.empty())
    {
        m_file.Open(m_path);
        m_file.Write(HEADER);
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
        m_file.Write(HEADER);
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

} // namespace results
