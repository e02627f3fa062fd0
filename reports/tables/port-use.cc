/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/port-use.h"

#include "reports/base/human-text.h"
#include "reports/base/line-log.h"
#include "reports/schema/quantiles.h"
#include "reports/schema/table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace reports
{

namespace
{

/// A row of queues.csv.
struct QueueRow
{
    int64_t time;
    std::string_view link;
    double meanBytes;
    uint64_t maxBytes;
};

const Table<QueueRow> QUEUES("queues.csv",
                             {{"time_us (us): End of the interval", &QueueRow::time},
                              {"link: from->to", &QueueRow::link},
                              {"mean_bytes (B): Mean queue", &QueueRow::meanBytes},
                              {"max_bytes (B): Longest queue", &QueueRow::maxBytes}});

} // namespace

const char*
PortUse::NameOf(std::size_t kind)
{
    static const char* const names[KINDS] = {"host_to_switch",
                                             "switch_to_host",
                                             "switch_to_switch",
                                             "host_to_host"};
    return names[kind];
}

PortUse::PortUse(const scenario::Measuring& measuring, std::vector<Port> ports, Counters begin)
    : m_measuring(measuring),
      m_ports(std::move(ports)),
      m_from(std::move(begin))
{
    for (uint32_t p = 0; p < m_ports.size(); ++p)
    {
        ++m_classes[m_ports[p].kind].ports;
        if (HasQueue(m_ports[p].kind))
        {
            m_switchPorts.push_back(p);
        }
    }
    m_queues.resize(m_switchPorts.size());
    // 32 MB for all ports together, but at least a picture's width.
    m_mostBins = std::clamp<std::size_t>((4U << 20) / std::max<std::size_t>(1, m_queues.size()),
                                         256,
                                         MOST_BINS) /
                 2 * 2;
}

void
PortUse::SetFrom(Counters counters)
{
    m_from = std::move(counters);
}

void
PortUse::SetUntil(Counters counters)
{
    m_until = std::move(counters);
}

void
PortUse::BeginLook(int64_t now)
{
    const int64_t interval = m_measuring.queueInterval.ps;
    m_measured =
        now > m_measuring.begin.ps && (m_measuring.until.ps == 0 || now <= m_measuring.until.ps);
    Miss((now - m_lastLook) / interval - 1);
    m_lastLook = now;
}

void
PortUse::Miss(int64_t looks)
{
    for (; looks > 0; --looks)
    {
        EndLook();
    }
}

void
PortUse::EndLook()
{
    if (++m_looksInBin == m_looksPerBin)
    {
        CloseBin();
    }
}

void
PortUse::CloseBin()
{
    bool full = false;
    for (Queue& q : m_queues)
    {
        q.total += q.sum;
        q.bins.push_back(
            {static_cast<uint32_t>(std::min<uint64_t>(q.largest, UINT32_MAX)),
             static_cast<float>(static_cast<double>(q.sum) / static_cast<double>(m_looksInBin))});
        q.sum = q.largest = 0;
        full = q.bins.size() >= m_mostBins;
        if (full)
        {
            for (std::size_t i = 0; i < q.bins.size() / 2; ++i)
            {
                const Bin a = q.bins[2 * i];
                const Bin b = q.bins[2 * i + 1];
                q.bins[i] = {std::max(a.largest, b.largest), (a.mean + b.mean) / 2};
            }
            q.bins.resize(q.bins.size() / 2);
        }
    }
    m_looksInBin = 0;
    m_looksPerBin *= full ? 2 : 1;
}

namespace
{

template <class T>
void
Put(std::string& to, const T& value)
{
    static_assert(std::is_trivially_copyable_v<T>, "as bytes");
    to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <class T>
void
Get(const char*& at, T& value)
{
    std::memcpy(static_cast<void*>(&value), at, sizeof(value));
    at += sizeof(value);
}

/// The packed counters of a port, at each of three times.
struct PackedPort
{
    uint64_t port;
    std::array<std::array<uint64_t, 2>, 3> counters;
};

} // namespace

std::string
PortUse::Pack(const Counters& end) const
{
    std::string packed;
    std::vector<PackedPort> ports;
    for (uint64_t p = 0; p < m_ports.size(); ++p)
    {
        PackedPort port{p, {}};
        bool any = false;
        const Counters* times[] = {&m_from, &m_until, &end};
        for (std::size_t t = 0; t < 3; ++t)
        {
            if (!times[t]->wireBytes.empty())
            {
                port.counters[t] = {times[t]->wireBytes[p], times[t]->pausedPs[p]};
                any |= port.counters[t][0] || port.counters[t][1];
            }
        }
        if (any)
        {
            ports.push_back(port);
        }
    }
    Put(packed, ports.size());
    packed.append(reinterpret_cast<const char*>(ports.data()), ports.size() * sizeof(PackedPort));
    for (uint64_t i = 0; i < m_queues.size(); ++i)
    {
        const Queue& q = m_queues[i];
        if (q.sum == 0 && q.total == 0)
        {
            continue;
        }
        Put(packed, i);
        Put(packed, q.sum);
        Put(packed, q.largest);
        Put(packed, q.total);
        Put(packed, q.measured);
        Put(packed, q.bins.size());
        packed.append(reinterpret_cast<const char*>(q.bins.data()), q.bins.size() * sizeof(Bin));
    }
    return packed;
}

void
PortUse::Unpack(const std::string& packed, Counters& end)
{
    const char* at = packed.data();
    std::size_t ports;
    Get(at, ports);
    for (; ports > 0; --ports)
    {
        PackedPort port;
        Get(at, port);
        Counters* times[] = {&m_from, &m_until, &end};
        for (std::size_t t = 0; t < 3; ++t)
        {
            if (!times[t]->wireBytes.empty())
            {
                times[t]->wireBytes[port.port] += port.counters[t][0];
                times[t]->pausedPs[port.port] += port.counters[t][1];
            }
        }
    }
    while (at < packed.data() + packed.size())
    {
        uint64_t i;
        Get(at, i);
        Queue& q = m_queues[i];
        Get(at, q.sum);
        Get(at, q.largest);
        Get(at, q.total);
        Get(at, q.measured);
        std::size_t bins;
        Get(at, bins);
        q.bins.resize(bins);
        std::memcpy(static_cast<void*>(q.bins.data()), at, bins * sizeof(Bin));
        at += bins * sizeof(Bin);
    }
}

void
PortUse::MergeRanks(Counters& end,
                    const std::function<int64_t(int64_t)>& max,
                    const std::function<std::vector<std::string>(const std::string&)>& gather)
{
    // Then all have bins of the same looks.
    const int64_t last = max(m_lastLook);
    Miss((last - m_lastLook) / m_measuring.queueInterval.ps);
    m_lastLook = last;
    const std::vector<std::string> all = gather(Pack(end));
    for (std::size_t rank = 1; rank < all.size(); ++rank)
    {
        Unpack(all[rank], end);
    }
}

void
PortUse::Finish(Counters end, const MeanRate& meanRate)
{
    if (m_looksInBin)
    {
        CloseBin();
    }
    if (m_until.wireBytes.empty())
    {
        m_until = std::move(end);
    }
    const double elapsed = static_cast<double>(std::max<int64_t>(1, m_until.time - m_from.time));
    for (uint32_t p = 0; p < m_ports.size(); ++p)
    {
        PortClass& c = m_classes[m_ports[p].kind];
        const double rate = meanRate ? meanRate(p, m_from.time, m_until.time)
                                     : static_cast<double>(m_ports[p].rateBps);
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
    for (uint32_t i = 0; i < m_queues.size(); ++i)
    {
        m_classes[m_ports[m_switchPorts[i]].kind].queue.Merge(m_queues[i].measured);
        if (m_queues[i].total)
        {
            m_longest.push_back(i);
        }
    }
    // By the length that is shown, in the measured time; equal ones by their total in the whole
    // run.
    const auto length = [this](uint32_t i) {
        return std::pair(m_queues[i].measured.Max(), m_queues[i].total);
    };
    std::stable_sort(m_longest.begin(), m_longest.end(), [&length](uint32_t a, uint32_t b) {
        return length(a) > length(b);
    });
    m_longest.resize(std::min(m_longest.size(), PORTS_SHOWN));
}

void
PortUse::Write(const std::string& path)
{
    LineLog file(path);
    file.Write(QUEUES.Header());
    const int64_t width = m_measuring.queueInterval.ps * static_cast<int64_t>(m_looksPerBin);
    std::string line;
    for (const uint32_t longest : m_longest)
    {
        const std::vector<Bin>& bins = m_queues[longest].bins;
        const auto holds = [&bins](std::size_t i) {
            return i < bins.size() && bins[i].largest > 0;
        };
        for (std::size_t i = 0; i < bins.size(); ++i)
        {
            if (!holds(i) && !holds(i + 1) && !holds(i - 1)) // unsigned: -1 is beyond the end
            {
                continue;
            }
            QUEUES.Write(line,
                         {static_cast<int64_t>(i + 1) * width,
                          m_ports[m_switchPorts[longest]].name,
                          static_cast<double>(bins[i].mean),
                          bins[i].largest});
            file.Write(line);
            ++m_rows;
        }
    }
    file.Close();
}

const Object<PortUse>&
PortUse::Keys()
{
    /// Ports of one kind.
    struct Kind
    {
        const PortUse& use;
        std::size_t number;

        const PortClass& Of() const
        {
            return use.m_classes[number];
        }
    };

    static const Object<Kind> kind(
        "Ports of a kind",
        {{"ports (count): Number of ports", [](const Kind& k) { return k.Of().ports; }},
         {"utilization (0 to 1): Bits sent over bits that the rate allowed, mean over ports",
          [](const Kind& k) { return k.Of().utilization; }},
         {"utilization_max (0 to 1): The busiest port",
          [](const Kind& k) { return k.Of().utilizationMax; }},
         {"pause_share (0 to 1): Share of the time in which a pause stopped at least one priority, "
          "mean over ports",
          [](const Kind& k) { return k.Of().pauseShare; }},
         {"pause_share_max (0 to 1): The port that was paused longest",
          [](const Kind& k) { return k.Of().pauseShareMax; }},
         Key<Kind>(
             "queue_bytes (B): Ports of switches: queue over time and ports",
             [](const Kind& k) {
                 return k.Of().queue.ToJson(k.use.m_measuredLooks * k.Of().ports);
             },
             QuantileWords())
             .Only([](const Kind& k) { return HasQueue(k.number); })});
    static const auto ofKind = [](std::size_t number, const char* meaning) {
        return Key<PortUse>(
                   Words(NameOf(number), "", meaning),
                   [number](const PortUse& use) {
                       return Kind{use, number};
                   },
                   kind)
            .Only([number](const PortUse& use) { return use.m_classes[number].ports > 0; });
    };
    static const Object<PortUse> kinds{
        ofKind(HOST_TO_SWITCH, "Ports of NICs"),
        ofKind(SWITCH_TO_HOST, "Ports of switches to hosts"),
        ofKind(SWITCH_TO_SWITCH, "Ports between switches"),
        ofKind(HOST_TO_HOST, "Links between hosts without a switch")};

    /// One of the longest queues.
    struct Longest
    {
        const PortUse& use;
        uint32_t number;
    };

    static const Object<Longest> longest{
        {"link: Link out of the port",
         [](const Longest& l) { return l.use.m_ports[l.use.m_switchPorts[l.number]].name; }},
        {"queue_bytes (B): Queue over time",
         [](const Longest& l) {
             return l.use.m_queues[l.number].measured.ToJson(l.use.m_measuredLooks);
         },
         QuantileWords()}};
    static const Object<PortUse> file{
        {"rows (count): Rows", &PortUse::m_rows},
        {"interval_us (us): Length of an interval", [](const PortUse& u) {
             return static_cast<double>(u.m_measuring.queueInterval.ps) *
                    static_cast<double>(u.m_looksPerBin) / 1e6;
         }}};
    static const auto itself = [](const PortUse& use) -> const PortUse& { return use; };
    static const Object<PortUse> keys{
        {"port_classes: Ports by the nodes at their ends, over the measured time", itself, kinds},
        {"longest_queues: Ports of switches with the longest mean queues",
         [](const PortUse& u) {
             std::vector<Longest> list;
             for (const uint32_t number : u.m_longest)
             {
                 list.push_back({u, number});
             }
             return list;
         },
         longest},
        {"queues_csv: queues.csv", itself, file}};
    return keys;
}

const RegisteredKeys PortUse::g_keys(Section::kTraffic, PortUse::Keys());

void
PortUse::AddTo(nlohmann::ordered_json& stats, bool measured) const
{
    if (!measured)
    {
        stats["port_classes"] = nullptr;
        stats["longest_queues"] = nullptr;
        return;
    }
    Keys().AddTo(stats, *this);
}

void
PortUse::Print(std::ostream& os) const
{
    const char* const indent = "                 ";
    const char* head = "Ports            ";
    for (std::size_t k = 0; k < KINDS; ++k)
    {
        const PortClass& c = m_classes[k];
        if (c.ports == 0)
        {
            continue;
        }
        std::string name = NameOf(k);
        std::replace(name.begin(), name.end(), '_', ' ');
        os << head
           << Format("%-16s used %.1f%%, paused %.2f%% of the time",
                     name.c_str(),
                     100 * c.utilization,
                     100 * c.pauseShare);
        if (HasQueue(k))
        {
            const uint64_t looks = m_measuredLooks * c.ports;
            os << "; queue p50 " << HumanBytes(c.queue.Quantile(0.5, looks)) << "   p99 "
               << HumanBytes(c.queue.Quantile(0.99, looks)) << "   max "
               << HumanBytes(static_cast<double>(c.queue.Max()));
        }
        os << "\n";
        head = indent;
    }
    // "Busiest links" above cover the time until the last flow ended.
    if (m_measuring.until.ps > 0)
    {
        os << head << "from " << HumanTime(static_cast<double>(m_measuring.begin.ps) / 1e6)
           << " to " << HumanTime(static_cast<double>(m_measuring.until.ps) / 1e6)
           << ", while measured flows start\n";
    }
    head = "Longest queues   ";
    for (const uint32_t i : m_longest)
    {
        const QueueLengths& lengths = m_queues[i].measured;
        os << head << "p50 " << HumanBytes(lengths.Quantile(0.5, m_measuredLooks)) << "   p99 "
           << HumanBytes(lengths.Quantile(0.99, m_measuredLooks)) << "   max "
           << HumanBytes(static_cast<double>(lengths.Max())) << "  "
           << m_ports[m_switchPorts[i]].name << "\n";
        head = indent;
    }
}

} // namespace reports
