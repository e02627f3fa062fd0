/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-statistics.h"

#include "ranks.h"
#include "run-report.h"
#include "scenarios/traffic/size-groups.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>

namespace dltrain
{

namespace
{

/// Nothing has been sent for so long: what is under way is stuck, and looking at it would keep the
/// simulation from running out of events, by which it is found out (RunControl). Longer than a
/// local ACK time-out.
constexpr int64_t QUIET_PS = 300000000000;
constexpr std::size_t MOST_RATE_FLOWS = 1000;
constexpr uint64_t MOST_ROWS = 200000;
constexpr std::size_t MOST_TAGS = 16;

/// Nearest rank of ascending values: as QuantileSketch has it.
double
RankOf(const std::vector<double>& sorted, double p)
{
    const double n = static_cast<double>(sorted.size());
    const auto rank = static_cast<std::size_t>(std::ceil(p * n * (1 - 1e-12)));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

} // namespace

TrafficStatistics::TrafficStatistics(ns3::RdmaFabric& fabric,
                                     const topo::Topology& topology,
                                     const scenario::Measuring& measuring,
                                     const std::vector<scenario::Flow>& flows,
                                     const std::vector<std::string>& endpointNames,
                                     const std::vector<std::string>& portNames,
                                     const std::string& out)
    : m_fabric(fabric),
      m_measuring(measuring),
      m_flows(flows),
      m_endpointNames(endpointNames),
      m_portNames(portNames),
      m_out(out),
      m_fromTimer(this),
      m_untilTimer(this),
      m_queueTimer(this),
      m_rateTimer(this)
{
    if (measuring.queueInterval.ps > 0)
    {
        m_classes.resize(KINDS);
        m_classes[HOST_TO_SWITCH].name = "host_to_switch";
        m_classes[SWITCH_TO_HOST].name = "switch_to_host";
        m_classes[SWITCH_TO_SWITCH].name = "switch_to_switch";
        m_classes[HOST_TO_HOST].name = "host_to_host";
        const auto isHost = [&](uint32_t end) {
            return topology.Nodes()[fabric.GetNodeOfEnd(end)].kind == topo::NodeKind::kHost;
        };
        for (uint32_t p = 0; p < fabric.GetPorts().size(); ++p)
        {
            const uint32_t end = fabric.GetEnd(p);
            const Kind kind = isHost(end)       ? (isHost(end ^ 1) ? HOST_TO_HOST : HOST_TO_SWITCH)
                              : isHost(end ^ 1) ? SWITCH_TO_HOST
                                                : SWITCH_TO_SWITCH;
            m_kindOfPort.push_back(kind);
            ++m_classes[kind].ports;
            if (kind == SWITCH_TO_HOST || kind == SWITCH_TO_SWITCH)
            {
                m_watched.push_back({PeekPointer(fabric.GetPorts()[p]), p, kind});
            }
        }
        // Of all ports together 32 MB, but a picture's width in any case.
        m_mostBins =
            std::clamp<std::size_t>((4U << 20) / std::max<std::size_t>(1, m_watched.size()),
                                    256,
                                    MOST_BINS) /
            2 * 2;
        m_from = Look();
        if (measuring.from.ps > 0)
        {
            m_fromTimer.ScheduleAt(measuring.from.ps, 0);
        }
        if (measuring.until.ps > 0)
        {
            m_untilTimer.ScheduleAt(measuring.until.ps, ns3::Simulator::NO_CONTEXT);
        }
    }
    if (measuring.rateInterval.ps > 0)
    {
        m_place.resize(flows.size());
        if (!out.empty())
        {
            m_fairness.Open(out + "/fairness.csv");
            m_fairness.Write("time_us,flows,jain,gbps");
            m_ratesLeftOut = flows.size() > MOST_RATE_FLOWS;
            if (!m_ratesLeftOut)
            {
                m_rates.Open(out + "/rates.csv");
                m_rates.Write("time_us,flow,src,dst,gbps");
            }
        }
    }
}

TrafficStatistics::~TrafficStatistics() = default;

// Flows ------------------------------------------------------------------------------------------

void
TrafficStatistics::OnPosted(uint32_t flow,
                            const ns3::RdmaQueuePair* counter,
                            bool read,
                            uint64_t offset,
                            int64_t now)
{
    if (m_measuring.rateInterval.ps > 0)
    {
        m_place[flow] = static_cast<uint32_t>(m_active.size());
        m_active.push_back(
            {flow, read, now % m_measuring.rateInterval.ps == 0, counter, offset, 0});
    }
    ArmTimers(now);
}

uint64_t
TrafficStatistics::Received(const Active& active) const
{
    const uint64_t bytes =
        active.read ? active.counter->GetBytesRead() : active.counter->GetBytesReceived();
    return std::min(m_flows[active.flow].bytes, bytes > active.offset ? bytes - active.offset : 0);
}

void
TrafficStatistics::OnGone(uint32_t flow, bool failed, int64_t)
{
    if (m_measuring.rateInterval.ps == 0)
    {
        return;
    }
    const uint32_t place = m_place[flow];
    if (place >= m_active.size() || m_active[place].flow != flow)
    {
        return; // told before
    }
    m_goneBytes +=
        (failed ? Received(m_active[place]) : m_flows[flow].bytes) - m_active[place].before;
    m_active[place] = m_active.back();
    m_place[m_active[place].flow] = place;
    m_active.pop_back();
}

void
TrafficStatistics::OnComplete(uint32_t flow, int64_t fct, int64_t ideal)
{
    const double slowdown = ideal > 0 ? static_cast<double>(fct) / static_cast<double>(ideal) : 1;
    m_completed.push_back({flow, std::max(1.0, slowdown)});
}

// Looking ----------------------------------------------------------------------------------------

void
TrafficStatistics::ArmTimers(int64_t now)
{
    const auto next = [now](int64_t interval) { return (now / interval + 1) * interval; };
    if (const int64_t interval = m_measuring.queueInterval.ps; interval > 0 && !m_queuePending)
    {
        m_queuePending = true;
        m_quietSince = now;
        m_queueTimer.ScheduleAt(next(interval), ns3::Simulator::NO_CONTEXT);
    }
    if (const int64_t interval = m_measuring.rateInterval.ps; interval > 0 && !m_ratePending)
    {
        m_ratePending = true;
        m_idleIntervals = 0;
        m_intervalBegin = now / interval * interval;
        m_rateTimer.ScheduleAt(next(interval), ns3::Simulator::NO_CONTEXT);
    }
}

TrafficStatistics::Snapshot
TrafficStatistics::Look() const
{
    Snapshot s;
    s.time = ns3::RdmaClock::Now();
    for (const auto& port : m_fabric.GetPorts())
    {
        s.wireBytes.push_back(port->GetCounters().txWireBytes);
        s.pausedPs.push_back(port->GetPausedPs(s.time));
    }
    return s;
}

void
TrafficStatistics::OnFrom()
{
    m_from = Look();
}

void
TrafficStatistics::OnUntil()
{
    m_until = Look();
}

void
TrafficStatistics::OnQueueTimer()
{
    const int64_t now = ns3::RdmaClock::Now();
    const int64_t interval = m_measuring.queueInterval.ps;
    m_queuePending = false;
    const bool measured =
        now > m_measuring.from.ps && (m_measuring.until.ps == 0 || now <= m_measuring.until.ps);
    // While no flow was under way nobody looked: the queues were empty.
    for (int64_t missed = (now - m_lastLook) / interval - 1; missed > 0; --missed)
    {
        if (++m_looksInBin == m_looksPerBin)
        {
            CloseBin();
        }
    }
    m_lastLook = now;
    uint64_t frames = 0;
    for (Watched& w : m_watched)
    {
        const uint64_t bytes = w.port->GetQueuedBytes();
        frames += w.port->GetCounters().txFrames;
        w.sum += bytes;
        w.largest = std::max(w.largest, bytes);
        if (measured && bytes)
        {
            w.measured.Add(bytes); // the empty ones are counted in the end
        }
    }
    if (++m_looksInBin == m_looksPerBin)
    {
        CloseBin();
    }
    if (frames != m_lastFrames)
    {
        m_lastFrames = frames;
        m_quietSince = now;
    }
    if (now - m_quietSince < std::max(QUIET_PS, 2 * interval))
    {
        m_queuePending = true;
        m_queueTimer.ScheduleAt(now + interval, ns3::Simulator::NO_CONTEXT);
    }
}

void
TrafficStatistics::CloseBin()
{
    bool full = false;
    for (Watched& w : m_watched)
    {
        w.total += w.sum;
        w.bins.push_back(
            {static_cast<uint32_t>(std::min<uint64_t>(w.largest, UINT32_MAX)),
             static_cast<float>(static_cast<double>(w.sum) / static_cast<double>(m_looksInBin))});
        w.sum = w.largest = 0;
        full = w.bins.size() >= m_mostBins;
        if (full)
        {
            for (std::size_t i = 0; i < w.bins.size() / 2; ++i)
            {
                const Bin a = w.bins[2 * i];
                const Bin b = w.bins[2 * i + 1];
                w.bins[i] = {std::max(a.largest, b.largest), (a.mean + b.mean) / 2};
            }
            w.bins.resize(w.bins.size() / 2);
        }
    }
    m_looksInBin = 0;
    m_looksPerBin *= full ? 2 : 1;
}

void
TrafficStatistics::OnRateTimer()
{
    const int64_t now = ns3::RdmaClock::Now();
    const int64_t interval = m_measuring.rateInterval.ps;
    m_ratePending = false;
    const double perByte = 8e3 / static_cast<double>(now - m_intervalBegin); // Gb/s
    double sum = 0;
    double squares = 0;
    uint64_t n = 0;
    uint64_t all = m_goneBytes;
    const bool rows = m_rates.IsOpen() && m_rateRows < MOST_ROWS;
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
        const uint64_t received = Received(active);
        const uint64_t bytes = received - active.before;
        active.before = received;
        all += bytes;
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
            m_line.clear();
            AppendMicroseconds(m_line, now);
            m_line += ',';
            AppendInteger(m_line, active.flow);
            m_line += ',';
            AppendField(m_line, m_endpointNames[m_flows[active.flow].src]);
            m_line += ',';
            AppendField(m_line, m_endpointNames[m_flows[active.flow].dst]);
            m_line += ',';
            AppendDecimal(m_line, gbps);
            m_rates.Write(m_line);
            ++m_rateRows;
        }
    }
    const double jain = squares > 0 ? sum * sum / (static_cast<double>(n) * squares) : 1;
    if (n && m_measuring.Covers(rdma::TimePoint(m_intervalBegin)))
    {
        ++m_jainCount;
        m_jainSum += jain;
        m_jainLeast = std::min(m_jainLeast, jain);
    }
    if (m_fairness.IsOpen() && m_intervals < MOST_ROWS)
    {
        m_line.clear();
        AppendMicroseconds(m_line, now);
        m_line += ',';
        AppendInteger(m_line, n);
        m_line += ',';
        AppendDecimal(m_line, jain);
        m_line += ',';
        AppendDecimal(m_line, static_cast<double>(all) * perByte);
        m_fairness.Write(m_line);
    }
    ++m_intervals;
    m_goneBytes = 0;
    m_idleIntervals = all ? 0 : m_idleIntervals + 1;
    m_intervalBegin = now;
    if (!m_active.empty() && m_idleIntervals * interval < std::max(QUIET_PS, 2 * interval))
    {
        m_ratePending = true;
        m_rateTimer.ScheduleAt(now + interval, ns3::Simulator::NO_CONTEXT);
    }
}

// Afterwards -------------------------------------------------------------------------------------

void
TrafficStatistics::Finish(int64_t now)
{
    m_ended = now;
    SummarizeFlows();
    if (!m_classes.empty())
    {
        SummarizePorts(now);
    }
    m_fairness.Close();
    m_rates.Close();
    if (!m_out.empty() && Ranks::Get().IsFirst())
    {
        WriteSlowdowns();
        if (!m_classes.empty())
        {
            WriteQueues();
        }
    }
}

void
TrafficStatistics::SummarizeFlows()
{
    const std::vector<Completed> completed = Ranks::Get().GatherAll(m_completed);
    m_completed = {};
    std::vector<std::pair<uint64_t, double>> flows;
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
TrafficStatistics::Summarize(const std::string& tag,
                             std::vector<std::pair<uint64_t, double>>& flows)
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
        AddSlowdowns(tag,
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
            AddSlowdowns(tag, true, from, to, flows.data() + begin, flows.data() + end);
        }
        begin = end;
        from = to;
    }
}

void
TrafficStatistics::AddSlowdowns(const std::string& tag,
                                bool isClass,
                                uint64_t from,
                                uint64_t to,
                                const std::pair<uint64_t, double>* begin,
                                const std::pair<uint64_t, double>* end)
{
    std::vector<double> values;
    for (const auto* flow = begin; flow != end; ++flow)
    {
        values.push_back(flow->second);
    }
    std::sort(values.begin(), values.end());
    Slowdowns s;
    s.tag = tag;
    s.isClass = isClass;
    s.fromBytes = from;
    s.toBytes = to;
    s.flows = values.size();
    s.mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    s.p50 = RankOf(values, 0.5);
    s.p95 = RankOf(values, 0.95);
    s.p99 = RankOf(values, 0.99);
    s.p999 = RankOf(values, 0.999);
    s.max = values.back();
    m_slowdowns.push_back(s);
}

void
TrafficStatistics::SummarizePorts(int64_t now)
{
    if (m_looksInBin)
    {
        CloseBin();
    }
    if (m_until.wireBytes.empty())
    {
        m_until = Look();
        m_until.time = now;
    }
    const double elapsed = static_cast<double>(std::max<int64_t>(1, m_until.time - m_from.time));
    for (uint32_t p = 0; p < m_kindOfPort.size(); ++p)
    {
        PortClass& c = m_classes[m_kindOfPort[p]];
        const double rate = static_cast<double>(m_fabric.GetPorts()[p]->GetRate());
        const double wire = static_cast<double>(m_until.wireBytes[p] - m_from.wireBytes[p]);
        const double busy = std::min(1.0, wire * 8e12 / rate / elapsed);
        const double paused =
            static_cast<double>(m_until.pausedPs[p] - m_from.pausedPs[p]) / elapsed;
        c.utilization += busy / c.ports;
        c.pauseShare += paused / c.ports;
        c.utilizationMax = std::max(c.utilizationMax, busy);
        c.pauseShareMax = std::max(c.pauseShareMax, paused);
    }
    const int64_t interval = m_measuring.queueInterval.ps;
    m_measuredLooks = static_cast<uint64_t>(m_until.time / interval - m_from.time / interval);
    for (uint32_t i = 0; i < m_watched.size(); ++i)
    {
        m_classes[m_watched[i].kind].queue.Merge(m_watched[i].measured);
        if (m_watched[i].total)
        {
            m_longest.push_back(i);
        }
    }
    std::stable_sort(m_longest.begin(), m_longest.end(), [this](uint32_t a, uint32_t b) {
        return m_watched[a].total > m_watched[b].total;
    });
    m_longest.resize(std::min(m_longest.size(), PORTS_SHOWN));
}

uint32_t
TrafficStatistics::QueueLengths::BucketOf(uint64_t bytes)
{
    if (bytes < 1U << SUB)
    {
        return static_cast<uint32_t>(bytes);
    }
    const int octave = std::min(63 - __builtin_clzll(bytes) - SUB, OCTAVES - 1);
    const uint64_t place = std::min<uint64_t>(bytes >> octave, (2U << SUB) - 1);
    return static_cast<uint32_t>(((octave + 1) << SUB) + (place - (1U << SUB)));
}

double
TrafficStatistics::QueueLengths::Middle(uint32_t bucket)
{
    const int octave = static_cast<int>(bucket >> SUB) - 1;
    if (octave <= 0)
    {
        return bucket; // one byte wide
    }
    const double place = (bucket & ((1U << SUB) - 1)) + (1U << SUB) + 0.5;
    return std::ldexp(place, octave);
}

void
TrafficStatistics::QueueLengths::Merge(const QueueLengths& other)
{
    for (std::size_t i = 0; i < m_buckets.size(); ++i)
    {
        m_buckets[i] += other.m_buckets[i];
    }
    m_sum += other.m_sum;
    m_max = std::max(m_max, other.m_max);
}

double
TrafficStatistics::QueueLengths::Quantile(double p, uint64_t looks) const
{
    // From above: what is in no bucket was empty.
    const auto rank =
        static_cast<uint64_t>(std::ceil(p * static_cast<double>(looks) * (1 - 1e-12)));
    uint64_t above = looks - std::min(looks, rank); // looks that may be longer
    for (uint32_t bucket = static_cast<uint32_t>(m_buckets.size()); bucket-- > 0;)
    {
        if (m_buckets[bucket] > above)
        {
            return std::min(Middle(bucket), static_cast<double>(m_max));
        }
        above -= m_buckets[bucket];
    }
    return 0;
}

nlohmann::ordered_json
TrafficStatistics::QueueLengths::ToJson(uint64_t looks) const
{
    return {
        {"p50", Quantile(0.5, looks)},
        {"p90", Quantile(0.9, looks)},
        {"p99", Quantile(0.99, looks)},
        {"p999", Quantile(0.999, looks)},
        {"max", m_max},
        {"mean", static_cast<double>(m_sum) / static_cast<double>(std::max<uint64_t>(1, looks))}};
}

void
TrafficStatistics::WriteSlowdowns() const
{
    LineLog file(m_out + "/slowdown.csv");
    file.Write("tag,kind,from_bytes,to_bytes,flows,mean,p50,p95,p99,p999,max");
    std::string line;
    for (const Slowdowns& s : m_slowdowns)
    {
        line.clear();
        AppendField(line, s.tag);
        line += s.isClass ? ",class" : ",group";
        for (const uint64_t number : {s.fromBytes, s.toBytes, s.flows})
        {
            line += ',';
            AppendInteger(line, number);
        }
        for (const double value : {s.mean, s.p50, s.p95, s.p99, s.p999, s.max})
        {
            line += ',';
            AppendDecimal(line, value);
        }
        file.Write(line);
    }
    file.Close();
}

void
TrafficStatistics::WriteQueues()
{
    LineLog file(m_out + "/queues.csv");
    file.Write("time_us,link,mean_bytes,max_bytes");
    const int64_t width = m_measuring.queueInterval.ps * static_cast<int64_t>(m_looksPerBin);
    for (const uint32_t longest : m_longest)
    {
        const Watched* w = &m_watched[longest];
        const auto holds = [&bins = w->bins](std::size_t i) {
            return i < bins.size() && bins[i].largest > 0;
        };
        for (std::size_t i = 0; i < w->bins.size(); ++i)
        {
            if (!holds(i) && !holds(i + 1) && !holds(i - 1)) // unsigned: -1 is beyond the end
            {
                continue;
            }
            m_line.clear();
            AppendMicroseconds(m_line, static_cast<int64_t>(i + 1) * width);
            m_line += ',';
            AppendField(m_line, m_portNames[m_fabric.GetEnd(w->index)]);
            m_line += ',';
            AppendDecimal(m_line, static_cast<double>(w->bins[i].mean));
            m_line += ',';
            AppendInteger(m_line, w->bins[i].largest);
            file.Write(m_line);
            ++m_queueRows;
        }
    }
    file.Close();
}

void
TrafficStatistics::AddTo(nlohmann::ordered_json& stats) const
{
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Slowdowns& s : m_slowdowns)
    {
        rows.push_back({{"tag", s.tag},
                        {"kind", s.isClass ? "class" : "group"},
                        {"from_bytes", s.fromBytes},
                        {"to_bytes", s.toBytes},
                        {"flows", s.flows},
                        {"mean", s.mean},
                        {"p50", s.p50},
                        {"p95", s.p95},
                        {"p99", s.p99},
                        {"p999", s.p999},
                        {"max", s.max}});
    }
    stats["slowdown_by_size"] = rows;
    if (!IsMeasured())
    {
        // Null, as all of the measured part (AddRunStats).
        stats["slowdown_by_size"] = nullptr;
        if (!m_classes.empty())
        {
            stats["port_classes"] = nullptr;
            stats["longest_queues"] = nullptr;
        }
        if (m_measuring.rateInterval.ps > 0)
        {
            stats["fairness"] = nullptr;
        }
        return;
    }
    if (!m_classes.empty())
    {
        nlohmann::ordered_json kinds;
        for (const PortClass& c : m_classes)
        {
            if (c.ports == 0)
            {
                continue;
            }
            nlohmann::ordered_json& kind = kinds[c.name];
            kind = {{"ports", c.ports},
                    {"utilization", c.utilization},
                    {"utilization_max", c.utilizationMax},
                    {"pause_share", c.pauseShare},
                    {"pause_share_max", c.pauseShareMax}};
            if (HasQueue(c))
            {
                kind["queue_bytes"] = c.queue.ToJson(m_measuredLooks * c.ports);
            }
        }
        stats["port_classes"] = kinds;
        nlohmann::ordered_json longest = nlohmann::ordered_json::array();
        for (const uint32_t i : m_longest)
        {
            const Watched& w = m_watched[i];
            longest.push_back({{"link", m_portNames[m_fabric.GetEnd(w.index)]},
                               {"queue_bytes", w.measured.ToJson(m_measuredLooks)}});
        }
        stats["longest_queues"] = longest;
        stats["queues_csv"] = {{"rows", m_queueRows},
                               {"interval_us",
                                static_cast<double>(m_measuring.queueInterval.ps) *
                                    static_cast<double>(m_looksPerBin) / 1e6}};
    }
    if (m_measuring.rateInterval.ps > 0)
    {
        stats["fairness"] = {
            {"interval_us", static_cast<double>(m_measuring.rateInterval.ps) / 1e6},
            {"intervals", m_jainCount},
            {"jain_mean", m_jainCount ? m_jainSum / static_cast<double>(m_jainCount) : 1},
            {"jain_min", m_jainLeast}};
        stats["rates_csv"] = {{"rows", m_rateRows},
                              {"left_out", m_ratesLeftOut || m_rateRows >= MOST_ROWS}};
    }
}

void
TrafficStatistics::Print(std::ostream& os) const
{
    if (!IsMeasured())
    {
        return;
    }
    const char* head = "Slowdown by size ";
    for (const Slowdowns& s : m_slowdowns)
    {
        if (!s.isClass || s.tag != "all")
        {
            continue;
        }
        char text[160];
        std::snprintf(text,
                      sizeof(text),
                      "%s to %s: %s flows, p50 %.2f   p95 %.2f   p99 %.2f",
                      HumanBytes(static_cast<double>(s.fromBytes)).c_str(),
                      HumanBytes(static_cast<double>(s.toBytes)).c_str(),
                      HumanCount(s.flows).c_str(),
                      s.p50,
                      s.p95,
                      s.p99);
        os << head << text << "\n";
        head = "                 ";
    }
    head = "Ports            ";
    for (const PortClass& c : m_classes)
    {
        if (c.ports == 0)
        {
            continue;
        }
        std::string name = c.name;
        std::replace(name.begin(), name.end(), '_', ' ');
        char text[200];
        std::snprintf(text,
                      sizeof(text),
                      "%-16s used %.1f%%, paused %.2f%% of the time",
                      name.c_str(),
                      100 * c.utilization,
                      100 * c.pauseShare);
        os << head << text;
        if (HasQueue(c))
        {
            const uint64_t looks = m_measuredLooks * c.ports;
            os << "; queue p50 " << HumanBytes(c.queue.Quantile(0.5, looks)) << "   p99 "
               << HumanBytes(c.queue.Quantile(0.99, looks)) << "   max "
               << HumanBytes(static_cast<double>(c.queue.Max()));
        }
        os << "\n";
        head = "                 ";
    }
    // "Busiest links" above are of all the time until the last flow ended.
    if (!m_classes.empty() && m_measuring.until.ps > 0)
    {
        os << head << "from " << HumanTime(static_cast<double>(m_measuring.from.ps) / 1e6) << " to "
           << HumanTime(static_cast<double>(m_measuring.until.ps) / 1e6)
           << ", while measured flows start\n";
    }
    head = "Longest queues   ";
    for (const uint32_t i : m_longest)
    {
        const Watched& w = m_watched[i];
        os << head << "p50 " << HumanBytes(w.measured.Quantile(0.5, m_measuredLooks)) << "   p99 "
           << HumanBytes(w.measured.Quantile(0.99, m_measuredLooks)) << "   max "
           << HumanBytes(static_cast<double>(w.measured.Max())) << "  "
           << m_portNames[m_fabric.GetEnd(w.index)] << "\n";
        head = "                 ";
    }
    if (m_jainCount)
    {
        char text[120];
        std::snprintf(text,
                      sizeof(text),
                      "Jain's index of throughputs over %s: mean %.3f, least %.3f",
                      HumanTime(static_cast<double>(m_measuring.rateInterval.ps) / 1e6).c_str(),
                      m_jainSum / static_cast<double>(m_jainCount),
                      m_jainLeast);
        os << "Fairness         " << text << "\n";
    }
}

} // namespace dltrain
