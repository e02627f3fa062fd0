/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/tail-attribution.h"

#include "reports/base/human-text.h"
#include "reports/base/line-log.h"
#include "reports/schema/table.h"

#include <algorithm>
#include <set>

namespace reports
{

namespace
{

/// A row of attribution.csv.
struct LateRow : FlowRecord
{
    std::string_view from;
    std::string_view to;
    std::string_view purpose;
    int64_t lost;
    TimeParts parts;
    std::string why;
    std::string path;

    int64_t Fct() const
    {
        return end - start;
    }
};

std::vector<Column<LateRow>>
ColumnsOfLate()
{
    std::vector<Column<LateRow>> columns{
        {"flow: Number of the message", &LateRow::flow},
        {"src: Sending host", &LateRow::from},
        {"dst: Receiving host", &LateRow::to},
        {"bytes (B): Size", &LateRow::bytes},
        {"tag: Purpose", &LateRow::purpose},
        {"fct_us (us): Completion time; the parts from backlog_us on add up to it", &LateRow::Fct},
        {"ideal_fct_us (us): Completion time on the idle network", &LateRow::ideal},
        {"lost_us (us): fct_us - ideal_fct_us", &LateRow::lost}};
    for (std::size_t i = 0; i < TIME_SHARES; ++i)
    {
        const auto share = static_cast<TimeShare>(i);
        columns.push_back({Words(std::string(GetTimeShareName(share)) + "_us",
                                 "us",
                                 "Time " + GetTimeShareMeaning(share)),
                           [i](const auto& r) { return r.parts[i]; }});
    }
    columns.push_back({"why: Where the time went, in words", &LateRow::why});
    columns.push_back({"path: Path of the last packet, as in paths.csv", &LateRow::path});
    return columns;
}

const Table<LateRow> ATTRIBUTION("attribution.csv", ColumnsOfLate());

} // namespace

TailAttribution::TailAttribution(const std::vector<std::string>& endpoints,
                                 const std::vector<std::string>& ports,
                                 const std::vector<std::string>& tags,
                                 const rdma::LinkWords& link)
    : m_endpoints(endpoints),
      m_ports(ports),
      m_tags(tags),
      m_link(link),
      m_atPort(ports.size())
{
}

void
TailAttribution::Clear()
{
    m_slowest.clear();
    m_sums = {};
    m_sum = 0;
    m_known = m_unknown = 0;
    std::fill(m_atPort.begin(), m_atPort.end(), std::array<int64_t, 2>{});
}

void
TailAttribution::AddUnknown()
{
    ++m_unknown;
}

int64_t
TailAttribution::LostOn(const FlowRecord& record)
{
    return record.end - record.start - record.ideal;
}

bool
TailAttribution::LostMore(const FlowRecord& a, const FlowRecord& b)
{
    return LostOn(a) != LostOn(b) ? LostOn(a) > LostOn(b) : a.flow < b.flow;
}

bool
TailAttribution::Slower(const Late& a, const Late& b)
{
    return LostMore(a.record, b.record);
}

void
TailAttribution::Add(const FlowRecord& record, const MessageParts& divided)
{
    for (std::size_t i = 1; i < divided.hops.size(); ++i)
    {
        const MessageParts::Hop& hop = divided.hops[i];
        if (hop.waited != 0) // most ports are in no cache, and most messages wait nowhere
        {
            m_atPort[hop.port][0] += hop.waited - hop.paused;
            m_atPort[hop.port][1] += hop.paused;
        }
    }
    ++m_known;
    m_sum += record.end - record.start;
    for (std::size_t i = 0; i < TIME_SHARES; ++i)
    {
        m_sums[i] += divided.parts[i];
    }
    if (m_slowest.size() == SLOWEST)
    {
        if (!LostMore(record, m_slowest.front().record))
        {
            return;
        }
        std::pop_heap(m_slowest.begin(), m_slowest.end(), Slower);
        m_slowest.pop_back();
    }
    m_slowest.push_back(LateOf(record, divided));
    std::push_heap(m_slowest.begin(), m_slowest.end(), Slower);
}

TailAttribution::Late
TailAttribution::LateOf(const FlowRecord& record, const MessageParts& divided)
{
    Late late;
    late.record = record;
    late.parts = divided.parts;
    late.way = WayOf(divided);
    for (std::size_t i = 1; i < divided.hops.size(); ++i)
    {
        const MessageParts::Hop& hop = divided.hops[i];
        if (hop.waited > late.atPort)
        {
            late.port = hop.port;
            late.atPort = hop.waited;
            late.pausedThere = hop.paused;
            late.behind = hop.behind;
        }
    }
    return late;
}

std::vector<TailAttribution::Late>
TailAttribution::Sorted() const
{
    std::vector<Late> sorted = m_slowest;
    std::sort(sorted.begin(), sorted.end(), Slower);
    return sorted;
}

std::string
TailAttribution::NoteOf(const Late& late) const
{
    const std::string note =
        m_notes ? m_notes->SlowingFaultsOf(late.port, late.record.start, late.record.end) : "";
    return note.empty() ? "" : " (" + note + ")";
}

std::string
TailAttribution::LostOf(const FlowRecord& r) const
{
    if (!m_notes)
    {
        return {};
    }
    // A fault elsewhere has lost nothing of it.
    const std::string data = m_notes->LossesOf(r.src, r.dst, r.start, r.end);
    const std::string answers = m_notes->LostAnswersOf(r.src, r.dst, r.start, r.end);
    if (!data.empty() && data == answers)
    {
        return data + ", acknowledgements too";
    }
    return data + (data.empty() || answers.empty() ? "" : "; ") +
           (answers.empty() ? "" : "lost acknowledgements: " + answers);
}

bool
TailAttribution::IsOfCollective(const Late& late) const
{
    return m_collectives && late.record.tag < m_collectives->size() &&
           (*m_collectives)[late.record.tag];
}

std::string
TailAttribution::Why(const Late& late) const
{
    const int64_t whole = late.record.end - late.record.start;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < TIME_SHARES; ++i)
    {
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return late.parts[a] > late.parts[b];
    });
    std::string text;
    for (std::size_t i = 0; i < 3; ++i)
    {
        const TimeShare share = static_cast<TimeShare>(order[i]);
        const int64_t part = late.parts[order[i]];
        if (part * 20 < whole) // below 5% is not worth a word
        {
            break;
        }
        text += (text.empty() ? "" : ", ") + Percent(part, whole) + " ";
        text += share == TimeShare::BACKLOG && IsOfCollective(late)
                    ? PIPELINING
                    : GetTimeShareWords(share, m_link);
        // Where its last packet waited longest is at least the average, unless others did.
        if (share == TimeShare::QUEUED &&
            late.atPort * static_cast<int64_t>(late.way.size()) < part)
        {
            text += ", most on paths that its last packet did not take";
        }
        else if (share == TimeShare::QUEUED && late.atPort > late.pausedThere)
        {
            text += ", most at " + m_ports[late.port] + NoteOf(late);
            const MessageParts::Others& f = late.behind;
            if (f.known && f.src == late.record.src && f.dst == late.record.dst)
            {
                text += " behind its own packets";
            }
            else if (f.ordinary)
            {
                text += " behind TCP's or UDP's packets";
            }
            else if (f.known)
            {
                text += " behind " + m_endpoints[f.src] + "->" + m_endpoints[f.dst];
                if (f.tag < m_tags.size())
                {
                    text += " (" + m_tags[f.tag] + ")";
                }
            }
        }
        else if (share == TimeShare::PAUSED && late.pausedThere)
        {
            const std::string& link = m_ports[late.port];
            text += ", most at " + link + " by " + link.substr(link.find("->") + 2) + NoteOf(late);
        }
        else if (share == TimeShare::REPEATING || share == TimeShare::WINDOW)
        {
            // A window also stays full for data to be retransmitted after a time-out.
            const std::string lost = LostOf(late.record);
            text += lost.empty() || text.find(lost) != std::string::npos ? "" : " (" + lost + ")";
        }
    }
    for (const uint32_t port : late.way)
    {
        const FlowRecord& r = late.record;
        const std::string faults =
            m_notes ? m_notes->FaultsMetAt(port, r.src, r.dst, r.start, r.end) : "";
        if (!faults.empty() && text.find(faults) == std::string::npos)
        {
            text += "; on its way: " + faults;
        }
    }
    return text;
}

std::vector<std::string>
TailAttribution::InWords(std::size_t most) const
{
    std::vector<std::string> lines;
    std::set<std::array<uint32_t, 3>> told;
    for (const Late& late : Sorted())
    {
        if (!told.insert({late.record.src, late.record.dst, late.record.tag}).second)
        {
            continue; // messages of one flow are late for one reason
        }
        if (lines.size() >= most || LostOn(late.record) <= 0)
        {
            break;
        }
        const FlowRecord& r = late.record;
        std::string line = m_endpoints[r.src] + "->" + m_endpoints[r.dst] + ", " + m_tags[r.tag] +
                           ": " + HumanTime(Us(r.end - r.start)) + ", alone " +
                           HumanTime(Us(r.ideal)) + ": " + Why(late);
        // Two tags may have one name.
        if (std::find(lines.begin(), lines.end(), line) == lines.end())
        {
            lines.push_back(std::move(line));
        }
    }
    return lines;
}

std::vector<TailAttribution::PortTimes>
TailAttribution::WorstPorts() const
{
    std::vector<uint32_t> ports;
    for (uint32_t p = 0; p < m_atPort.size(); ++p)
    {
        if (m_atPort[p][0] + m_atPort[p][1] > 0)
        {
            ports.push_back(p);
        }
    }
    std::stable_sort(ports.begin(), ports.end(), [this](uint32_t a, uint32_t b) {
        return m_atPort[a][0] + m_atPort[a][1] > m_atPort[b][0] + m_atPort[b][1];
    });
    ports.resize(std::min(ports.size(), TOLD));
    std::vector<PortTimes> worst;
    for (const uint32_t p : ports)
    {
        worst.push_back({m_ports[p], m_atPort[p][0], m_atPort[p][1]});
    }
    return worst;
}

const Object<TailAttribution>&
TailAttribution::Keys()
{
    static const Object<TailAttribution> shares("", [] {
        std::vector<Key<TailAttribution>> keys;
        for (std::size_t i = 0; i < TIME_SHARES; ++i)
        {
            const auto share = static_cast<TimeShare>(i);
            const auto of = [i](const TailAttribution& all) {
                return all.m_sum > 0
                           ? static_cast<double>(all.m_sums[i]) / static_cast<double>(all.m_sum)
                           : 0.0;
            };
            keys.push_back(
                {Words(GetTimeShareName(share), "0 to 1", GetTimeShareMeaning(share)), of});
        }
        return keys;
    }());
    static const Object<PortTimes> port{
        {"link: Link out of the port", &PortTimes::link},
        {"queued_us (us): Last packets of messages queued, sum", &PortTimes::queued},
        {"paused_us (us): The same while the port was paused", &PortTimes::paused}};
    static const Object<TailAttribution> keys{
        {"messages (count): Messages whose time is known", &TailAttribution::m_known},
        {"messages_unknown (count): Others: READs, all of TCP and UDP",
         &TailAttribution::m_unknown},
        {"share (0 to 1): Share of all completion times, together 1",
         [](const TailAttribution& all) -> const TailAttribution& { return all; },
         shares},
        {"ports: Ports where messages were queued and paused most",
         &TailAttribution::WorstPorts,
         port},
        {"slowest: Messages that lost most time, in words",
         [](const auto& all) { return all.InWords(TOLD); }}};
    return keys;
}

void
TailAttribution::Write(const std::string& path) const
{
    LineLog file(path);
    file.Write(ATTRIBUTION.Header());
    std::string line;
    for (const Late& late : Sorted())
    {
        const FlowRecord& r = late.record;
        ATTRIBUTION.Write(line,
                          {{r},
                           m_endpoints[r.src],
                           m_endpoints[r.dst],
                           m_tags[r.tag],
                           LostOn(r),
                           late.parts,
                           Why(late),
                           WayText(late.way, m_ports)});
        file.Write(line);
    }
    file.Close();
}

} // namespace reports
