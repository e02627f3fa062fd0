/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "timeline-writer.h"

#include "contrib/rdma/core/shown-text.h"
#include "line-log.h"
#include "program.h"
#include "run-files.h"
#include "run-report.h"
#include "trace-event-file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dltrain
{

namespace
{

using nlohmann::ordered_json;

constexpr uint32_t NONE = UINT32_MAX;
constexpr uint64_t PER_MESSAGE = 4; ///< a slice at either end, and the two ends of the arrow
/// Readers round to ns: an arrow at the very begin or end of a slice might belong to its neighbour.
constexpr int64_t BEGIN_PS = 1000;
constexpr int64_t END_PS = 3000;
constexpr uint64_t SLOWEST_SEEN = 1000; ///< messages whose GPUs are shown, if there is room

/// A member of stats.json, or null: the file may be of an older version, or somebody's own.
const ordered_json&
Member(const ordered_json& object, const char* key)
{
    static const ordered_json null;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? null : *found;
}

double
NumberOf(const ordered_json& value, double otherwise = 0)
{
    return value.is_number() ? value.get<double>() : otherwise;
}

int64_t
ToPs(const ordered_json& us)
{
    const double ps = NumberOf(us) * 1e6;
    return std::fabs(ps) < 9e18 ? std::llround(ps) : 0;
}

/// server-2 comes before server-10: digits are compared as numbers, and come before all else.
bool
NaturallyBefore(std::string_view a, std::string_view b)
{
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    while (!a.empty() && !b.empty())
    {
        if (!digit(a[0]) || !digit(b[0]))
        {
            if (a[0] != b[0])
            {
                return digit(a[0]) != digit(b[0]) ? digit(a[0]) : a[0] < b[0];
            }
            a.remove_prefix(1);
            b.remove_prefix(1);
            continue;
        }
        const auto take = [digit](std::string_view& text) {
            std::size_t size = 0;
            while (size < text.size() && digit(text[size]))
            {
                ++size;
            }
            std::string_view number = text.substr(0, size);
            text.remove_prefix(size);
            number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
            return number;
        };
        const std::string_view x = take(a);
        const std::string_view y = take(b);
        if (x != y)
        {
            return std::make_pair(x.size(), x) < std::make_pair(y.size(), y);
        }
    }
    return a.size() < b.size();
}

/// Texts that are there many times, once, by number; each as JSON too.
class Names
{
  public:
    uint32_t operator()(std::string_view text)
    {
        const auto found = m_index.find(text);
        if (found != m_index.end())
        {
            return found->second;
        }
        m_names.emplace_back(text);
        m_quoted.push_back(QuotedJson(text));
        m_index.emplace(m_names.back(), static_cast<uint32_t>(m_names.size() - 1));
        return static_cast<uint32_t>(m_names.size() - 1);
    }

    const std::string& Text(uint32_t name) const
    {
        return m_names[name];
    }

    const std::string& Json(uint32_t name) const
    {
        return m_quoted[name];
    }

    /// \return the names in natural order
    std::vector<uint32_t> InOrder(const std::set<uint32_t>& names) const
    {
        std::vector<uint32_t> order(names.begin(), names.end());
        std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
            return NaturallyBefore(m_names[a], m_names[b]);
        });
        return order;
    }

  private:
    std::deque<std::string> m_names;
    std::deque<std::string> m_quoted;
    std::unordered_map<std::string_view, uint32_t> m_index; ///< of m_names
};

// What there is ---------------------------------------------------------------------------------

struct Call
{
    int64_t start;
    int64_t end;
    uint64_t bytes;
    uint32_t rank;
    uint32_t step;
    uint32_t stream;
    uint32_t kind;
    uint32_t name;
    uint32_t group;
    uint32_t pid;
    uint32_t tid;
};

struct Message
{
    int64_t start;
    int64_t end;
    int64_t ideal;
    uint64_t flow;
    uint64_t bytes;
    uint32_t src;
    uint32_t dst;
    uint32_t tag;
    uint32_t fromGpu;
    uint32_t toGpu;
    const Call* sender;   ///< null: the arrow is between NICs
    const Call* receiver; ///< the same

    double Slowdown() const
    {
        return ideal > 0 ? static_cast<double>(end - start) / static_cast<double>(ideal) : 1;
    }
};

struct Loss
{
    int64_t time;
    std::string what;
    std::string where;
    std::string details;
};

/// A bar of the process "run".
struct Bar
{
    int64_t start;
    int64_t end;
    std::string name;    ///< JSON
    std::string details; ///< members of an object
};

/// A counter's values, each of which holds until the next.
using Series = std::vector<std::pair<int64_t, double>>;

struct LinkRow
{
    int64_t begin; ///< of its interval
    int64_t end;
    double utilization;
    double queueBytes;
    double paused;
};

struct Link
{
    double busyPs = 0;
    Series utilization;
    Series queue;
    Series paused;

    std::size_t Events() const
    {
        return utilization.size() + queue.size() + paused.size();
    }
};

/// A value holds over its interval; where an interval has no row it is 0.
Series
SharesOf(const std::vector<LinkRow>& rows, double LinkRow::*value)
{
    Series result;
    double last = -1;
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
        if (rows[i].*value != last)
        {
            last = rows[i].*value;
            result.emplace_back(rows[i].begin, 100 * last);
        }
        if (i + 1 == rows.size() || rows[i + 1].begin > rows[i].end)
        {
            if (last != 0)
            {
                result.emplace_back(rows[i].end, 0);
            }
            last = 0;
        }
    }
    return result;
}

/// A value is of the end of its interval; a link without a row has no queue.
Series
QueueOf(const std::vector<LinkRow>& rows)
{
    Series result{{rows[0].begin, 0}};
    double last = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
        if (rows[i].queueBytes != last)
        {
            last = rows[i].queueBytes;
            result.emplace_back(rows[i].end, last);
        }
        if (last != 0 && i + 1 < rows.size() && rows[i + 1].begin > rows[i].end)
        {
            result.emplace_back(rows[i + 1].begin, 0);
            last = 0;
        }
    }
    return result;
}

/// What the choice of messages needs of each.
struct Brief
{
    double slowdown;
    uint32_t fromGpu;
    uint32_t toGpu;
};

/// What there is of each kind, or is shown.
struct Counts
{
    uint64_t gpus = 0;
    uint64_t calls = 0;
    uint64_t messages = 0;
    uint64_t links = 0;
    uint64_t losses = 0;
    uint64_t collectives = 0;

    std::array<std::pair<const char*, uint64_t>, 6> Named() const
    {
        return {{{"gpus", gpus},
                 {"calls", calls},
                 {"messages", messages},
                 {"links", links},
                 {"losses", losses},
                 {"collectives", collectives}}};
    }
};

class Timeline
{
  public:
    Timeline(const std::string& folder, uint64_t maxEvents);
    ordered_json Write(const std::string& path);

  private:
    /// Calls `use(call)` for each one.
    void ReadCalls(const std::function<void(const Call&)>& use);
    /// Calls `use(message)` for each one, in the order of the file.
    void ReadMessages(const std::function<void(const Message&)>& use);
    void ReadStats();
    void ReadLosses();
    void ReadLinks();

    /// Whether a message is slower than another, by their numbers.
    bool Slower(uint32_t a, uint32_t b) const
    {
        const double x = m_briefs[a].slowdown;
        const double y = m_briefs[b].slowdown;
        return x != y ? x > y : a < b;
    }

    /// \return the numbers of the slowest messages, in no order
    std::vector<uint32_t> Slowest(uint64_t count) const;
    std::set<uint32_t> ChooseGpus(uint64_t room) const;
    void ChooseCalls(uint64_t room);
    void ChooseLinks(uint64_t room);
    void ChooseMessages(uint64_t room);
    void FindCalls();
    void WriteRun(TraceEventFile& trace) const;
    void WriteCalls(TraceEventFile& trace);
    void WriteMessages(TraceEventFile& trace) const;
    void WriteLinks(TraceEventFile& trace) const;
    ordered_json About(const TraceEventFile& trace) const;

    std::string m_folder;
    uint64_t m_maxEvents;
    Names m_names;
    ordered_json m_stats;
    std::string m_problem; ///< why the run is not complete
    int64_t m_measuredFrom{0};
    std::vector<Bar> m_steps;
    std::vector<Bar> m_collectives;
    std::vector<Loss> m_losses;
    std::map<uint32_t, uint64_t> m_callsOfRank;
    std::vector<Call> m_calls;       ///< shown
    std::vector<Brief> m_briefs;     ///< of all messages
    std::vector<Message> m_messages; ///< shown
    std::unordered_map<uint32_t, Link> m_links;
    std::vector<uint32_t> m_shownLinks; ///< the busiest first
    Counts m_found;
    Counts m_shown;
};

Timeline::Timeline(const std::string& folder, uint64_t maxEvents)
    : m_folder(folder),
      m_maxEvents(maxEvents)
{
    ReadStats();
    ReadLosses();
    ReadCalls([this](const Call& call) { ++m_callsOfRank[call.rank]; });
    for (const auto& [rank, calls] : m_callsOfRank)
    {
        m_found.calls += calls;
    }
    m_found.gpus = m_callsOfRank.size();
    ReadMessages([this](const Message& message) {
        m_briefs.push_back({message.Slowdown(), message.fromGpu, message.toGpu});
    });
    m_found.messages = m_briefs.size();
    ReadLinks();
    m_found.losses = m_losses.size();
    m_found.collectives = m_collectives.size();
    if (m_found.calls + m_found.messages + m_found.links == 0)
    {
        throw NothingToShow(folder + ": there is nothing to show: no call, no message, no link in "
                                     "the measured time");
    }

    uint64_t room = m_maxEvents;
    m_steps.resize(std::min<uint64_t>(m_steps.size(), room / 10));
    m_collectives.resize(std::min<uint64_t>(m_collectives.size(), room / 10));
    m_losses.resize(std::min<uint64_t>(m_losses.size(), room / 20));
    room -= m_steps.size() + m_collectives.size() + m_losses.size();
    ChooseCalls(room * 2 / 5);
    room -= m_calls.size();
    const uint64_t wanted = PER_MESSAGE * m_found.messages;
    ChooseLinks(std::max(room * 3 / 10, room - std::min(room, wanted)));
    for (const uint32_t name : m_shownLinks)
    {
        room -= m_links.at(name).Events();
    }
    ChooseMessages(room / PER_MESSAGE);
    FindCalls();
    m_shown.losses = m_losses.size();
    m_shown.collectives = m_collectives.size();
}

// Reading

void
Timeline::ReadStats()
{
    std::string text;
    std::string_view line;
    for (FileLines lines(m_folder + "/stats.json"); lines.Next(line);)
    {
        text += line;
        text += '\n';
    }
    m_stats = ordered_json::parse(text, nullptr, false);
    if (!m_stats.is_object())
    {
        m_stats = ordered_json::object();
        m_problem = text.empty() ? "stats.json is missing: the run was killed, or it is still going"
                                 : "stats.json is no JSON object";
        return;
    }
    // A later format may mean other things by the same names.
    const ordered_json& version = Member(m_stats, "schema_version");
    if (!version.is_null() && version != SCHEMA_VERSION)
    {
        throw std::invalid_argument(
            m_folder + "/stats.json: schema_version " +
            rdma::Shown(version.dump(-1, ' ', true, ordered_json::error_handler_t::replace), 40) +
            ": this program reads " + std::to_string(SCHEMA_VERSION));
    }
    if (Member(m_stats, "completed") != true)
    {
        m_problem = Member(m_stats, "interrupted") == true ? "the run was interrupted"
                                                           : "the run ended early";
        if (const ordered_json& done = Member(m_stats, "share_done"); done.is_number())
        {
            std::array<char, 32> share{};
            std::snprintf(share.data(), share.size(), "%.3g", 100 * done.get<double>());
            m_problem += std::string(" after ") + share.data() + "% of the work";
        }
    }
    m_measuredFrom = ToPs(Member(m_stats, "measured_from_us"));
    // A step lasts from the last GPU's end of the one before to the last GPU's end of it.
    int64_t begin = m_measuredFrom;
    for (const ordered_json& time : Member(m_stats, "step_times_us"))
    {
        const int64_t end = begin + ToPs(time);
        m_steps.push_back(
            {begin, end, QuotedJson("step " + std::to_string(m_steps.size() + 1)), ""});
        begin = end;
    }
    for (const ordered_json& one : Member(m_stats, "collectives"))
    {
        if (!Member(one, "start_us").is_number())
        {
            continue; // collperf: a mean over several
        }
        ordered_json details = ordered_json::object();
        for (const char* key : {"op", "algorithm", "bytes", "ranks", "algbw_GBps", "busbw_GBps"})
        {
            if (!Member(one, key).is_null())
            {
                details[key] = one[key];
            }
        }
        const ordered_json& name = Member(one, "name");
        const int64_t start = ToPs(one["start_us"]);
        const std::string members =
            details.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
        m_collectives.push_back(
            {start,
             start + std::max<int64_t>(0, ToPs(Member(one, "time_us"))),
             QuotedJson(name.is_string() ? name.get<std::string>() : "collective"),
             members.substr(1, members.size() - 2)});
    }
    std::stable_sort(m_collectives.begin(), m_collectives.end(), [](const Bar& a, const Bar& b) {
        return a.start < b.start;
    });
}

void
Timeline::ReadLosses()
{
    static const std::set<std::string_view> kinds{"drop", "retransmission", "timeout", "qp_error"};
    std::string_view line;
    for (FileLines lines(m_folder + "/network_events.log"); lines.Next(line);)
    {
        std::array<std::string_view, 4> fields;
        for (std::size_t i = 0; i < fields.size(); ++i)
        {
            const std::size_t end = i + 1 < fields.size() ? line.find(' ') : line.npos;
            fields[i] = line.substr(0, end);
            line.remove_prefix(end == line.npos ? line.size() : end + 1);
        }
        int64_t time = 0;
        if (!kinds.count(fields[1]) || !ParseMicroseconds(fields[0], time))
        {
            continue;
        }
        // "server-0->server-1 qp 3 goes back to psn 5": the queue pair is part of where.
        std::string where(fields[2]);
        std::string_view& details = fields[3];
        if (details.substr(0, 3) == "qp ")
        {
            const std::size_t end = details.find(' ', 3);
            where += " " + std::string(details.substr(0, end));
            details.remove_prefix(end == details.npos ? details.size() : end + 1);
        }
        m_losses.push_back({time, std::string(fields[1]), where, std::string(details)});
    }
}

void
Timeline::ReadCalls(const std::function<void(const Call&)>& use)
{
    FileTable table(
        m_folder + "/calls.log",
        '\t',
        {"start_us", "end_us", "step", "rank", "stream", "kind", "call", "bytes", "group"});
    Call call{};
    while (table.Next())
    {
        if (ParseMicroseconds(table[0], call.start) && ParseMicroseconds(table[1], call.end) &&
            call.end >= call.start && ParseInteger(table[2], call.step) &&
            ParseInteger(table[3], call.rank) && ParseInteger(table[7], call.bytes))
        {
            call.stream = m_names(table[4]);
            call.kind = m_names(table[5]);
            call.name = m_names(table[6]);
            call.group = m_names(table[8]);
            use(call);
        }
    }
}

void
Timeline::ReadMessages(const std::function<void(const Message&)>& use)
{
    FileTable table(m_folder + "/flows.csv",
                    ',',
                    {"flow",
                     "src",
                     "dst",
                     "bytes",
                     "start_us",
                     "end_us",
                     "ideal_fct_us",
                     "tag",
                     "from_gpu",
                     "to_gpu"},
                    2);
    Message one{};
    while (table.Next())
    {
        if (ParseInteger(table[0], one.flow) && ParseInteger(table[3], one.bytes) &&
            ParseMicroseconds(table[4], one.start) && ParseMicroseconds(table[5], one.end) &&
            one.end >= one.start && ParseMicroseconds(table[6], one.ideal))
        {
            one.src = m_names(table[1]);
            one.dst = m_names(table[2]);
            one.tag = m_names(table[7]);
            if (!ParseInteger(table[8], one.fromGpu) || !ParseInteger(table[9], one.toGpu))
            {
                one.fromGpu = one.toGpu = NONE;
            }
            use(one);
        }
    }
}

void
Timeline::ReadLinks()
{
    FileTable table(m_folder + "/links.csv",
                    ',',
                    {"time_us", "link", "utilization", "queue_bytes", "pause_share"});
    std::unordered_map<uint32_t, std::vector<LinkRow>> rows;
    std::set<int64_t> times;
    int64_t interval = ToPs(Member(Member(m_stats, "links_csv"), "interval_us"));
    int64_t last = -1;
    LinkRow row{};
    while (table.Next())
    {
        if (ParseMicroseconds(table[0], row.end) && row.end > 0 &&
            ParseDecimal(table[2], row.utilization) && ParseDecimal(table[3], row.queueBytes) &&
            ParseDecimal(table[4], row.paused))
        {
            rows[m_names(table[1])].push_back(row);
            if (interval <= 0 && row.end != last)
            {
                times.insert(last = row.end);
            }
        }
    }
    if (interval <= 0)
    {
        // Without stats.json: the difference of times that is most frequent.
        std::map<int64_t, uint64_t> frequency;
        int64_t before = -1;
        for (const int64_t time : times)
        {
            if (before >= 0)
            {
                ++frequency[time - before];
            }
            before = time;
        }
        uint64_t most = 0;
        interval = std::max<int64_t>(1, before);
        for (const auto& [difference, count] : frequency)
        {
            if (count >= most)
            {
                most = count;
                interval = difference;
            }
        }
    }
    for (auto& [name, mine] : rows)
    {
        std::stable_sort(mine.begin(), mine.end(), [](const LinkRow& a, const LinkRow& b) {
            return a.end < b.end;
        });
        Link& link = m_links[name];
        bool anyQueue = false;
        bool anyPause = false;
        int64_t free = m_measuredFrom;
        for (LinkRow& one : mine)
        {
            // The first interval and the last are shorter.
            one.begin = std::min(one.end, std::max(free, (one.end - 1) / interval * interval));
            free = one.end;
            anyQueue |= one.queueBytes != 0;
            anyPause |= one.paused != 0;
            link.busyPs += one.utilization * static_cast<double>(one.end - one.begin);
        }
        link.utilization = SharesOf(mine, &LinkRow::utilization);
        if (anyQueue)
        {
            link.queue = QueueOf(mine);
        }
        if (anyPause)
        {
            link.paused = SharesOf(mine, &LinkRow::paused);
        }
    }
    m_found.links = m_links.size();
}

// Choosing

std::vector<uint32_t>
Timeline::Slowest(uint64_t count) const
{
    std::vector<uint32_t> order(m_briefs.size());
    std::iota(order.begin(), order.end(), 0);
    count = std::min<uint64_t>(count, order.size());
    std::nth_element(order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(count),
                     order.end(),
                     [this](uint32_t a, uint32_t b) { return Slower(a, b); });
    order.resize(count);
    return order;
}

std::set<uint32_t>
Timeline::ChooseGpus(uint64_t room) const
{
    std::set<uint32_t> kept;
    if (m_found.calls <= room)
    {
        for (const auto& [rank, calls] : m_callsOfRank)
        {
            kept.insert(rank);
        }
        return kept;
    }
    // Half of the room for the two GPUs of each of the slowest messages, so that these have their
    // arrows.
    std::vector<uint32_t> slowest = Slowest(SLOWEST_SEEN);
    std::sort(slowest.begin(), slowest.end(), [this](uint32_t a, uint32_t b) {
        return Slower(a, b);
    });
    uint64_t used = 0;
    for (const uint32_t message : slowest)
    {
        const auto from = m_callsOfRank.find(m_briefs[message].fromGpu);
        const auto to = m_callsOfRank.find(m_briefs[message].toGpu);
        if (from == m_callsOfRank.end() || to == m_callsOfRank.end())
        {
            continue;
        }
        const uint64_t more =
            (kept.count(from->first) ? 0 : from->second) + (kept.count(to->first) ? 0 : to->second);
        if (used + more <= room / 2)
        {
            used += more;
            kept.insert({from->first, to->first});
        }
    }
    // Of the others every n-th.
    for (uint64_t stride = 2; stride <= m_found.gpus; ++stride)
    {
        std::set<uint32_t> even;
        uint64_t calls = used;
        uint64_t place = 0;
        for (const auto& [rank, count] : m_callsOfRank)
        {
            if (place++ % stride == 0 && !kept.count(rank))
            {
                calls += count;
                even.insert(rank);
            }
            if (calls > room)
            {
                break;
            }
        }
        if (calls <= room)
        {
            kept.merge(even);
            break;
        }
    }
    return kept;
}

void
Timeline::ChooseCalls(uint64_t room)
{
    const std::set<uint32_t> kept = ChooseGpus(room);
    if (!kept.empty())
    {
        ReadCalls([&](const Call& call) {
            if (kept.count(call.rank))
            {
                m_calls.push_back(call);
            }
        });
    }
    m_shown.gpus = kept.size();
    m_shown.calls = m_calls.size();
    std::stable_sort(m_calls.begin(), m_calls.end(), [this](const Call& a, const Call& b) {
        // "compute" is the first of a GPU's streams.
        const auto key = [this](const Call& call) {
            const std::string& stream = m_names.Text(call.stream);
            return std::make_tuple(call.rank,
                                   stream != "compute",
                                   std::string_view(stream),
                                   call.start,
                                   call.end);
        };
        return key(a) < key(b);
    });
}

void
Timeline::ChooseLinks(uint64_t room)
{
    std::vector<uint32_t> order;
    for (const auto& [name, link] : m_links)
    {
        order.push_back(name);
    }
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
        const double x = m_links.at(a).busyPs;
        const double y = m_links.at(b).busyPs;
        return x != y ? x > y : NaturallyBefore(m_names.Text(a), m_names.Text(b));
    });
    for (const uint32_t name : order)
    {
        const std::size_t events = m_links.at(name).Events();
        if (events > room)
        {
            break;
        }
        room -= events;
        m_shownLinks.push_back(name);
    }
    m_shown.links = m_shownLinks.size();
}

void
Timeline::ChooseMessages(uint64_t room)
{
    const uint64_t count = m_briefs.size();
    std::vector<bool> kept(count, count <= room);
    if (count > room)
    {
        // Half of the room for the slowest, half for every n-th of the others.
        const uint64_t slowest = room / 2;
        for (const uint32_t message : Slowest(slowest))
        {
            kept[message] = true;
        }
        const uint64_t others = count - slowest;
        const uint64_t even = room - slowest;
        uint64_t place = 0; // among the others
        uint64_t taken = 0;
        for (uint64_t i = 0; i < count; ++i)
        {
            if (kept[i])
            {
                continue;
            }
            if (taken < even && place == taken * others / even)
            {
                kept[i] = true;
                ++taken;
            }
            ++place;
        }
    }
    m_briefs = {};
    m_messages.reserve(std::min(count, room));
    uint64_t place = 0;
    ReadMessages([&](const Message& message) {
        // The file may have grown since it was counted: its run is still going.
        if (place < kept.size() && kept[place++])
        {
            m_messages.push_back(message);
        }
    });
    m_shown.messages = m_messages.size();
}

/// The calls that messages are of.
void
Timeline::FindCalls()
{
    // Collectives of one name are entered in the same order by all ranks: the sender's n-th is the
    // receiver's n-th.
    std::unordered_map<uint64_t, std::vector<const Call*>> byName;
    const auto key = [](uint32_t rank, uint32_t name) {
        return static_cast<uint64_t>(rank) << 32 | name;
    };
    const uint32_t compute = m_names("compute");
    for (const Call& call : m_calls)
    {
        if (call.kind != compute)
        {
            byName[key(call.rank, call.name)].push_back(&call);
        }
    }
    for (auto& [name, calls] : byName)
    {
        std::stable_sort(calls.begin(), calls.end(), [](const Call* a, const Call* b) {
            return a->start < b->start;
        });
    }
    for (Message& message : m_messages)
    {
        const auto from = byName.find(key(message.fromGpu, message.tag));
        const auto to = byName.find(key(message.toGpu, message.tag));
        if (message.fromGpu == NONE || from == byName.end() || to == byName.end())
        {
            continue;
        }
        const auto after =
            std::upper_bound(from->second.begin(),
                             from->second.end(),
                             message.start,
                             [](int64_t time, const Call* call) { return time < call->start; });
        const auto place = static_cast<std::size_t>(after - from->second.begin());
        if (place == 0 || place > to->second.size())
        {
            continue;
        }
        const Call* sender = from->second[place - 1];
        const Call* receiver = to->second[place - 1];
        // A call that had not ended when the run did is in no log, and the one before it is not the
        // one: a receiver's call cannot end before its messages have come.
        if (sender->step == receiver->step && receiver->end >= message.end)
        {
            message.sender = sender;
            message.receiver = receiver;
        }
    }
}

// Writing

ordered_json
Timeline::Write(const std::string& path)
{
    TraceEventFile trace(path + ".part");
    WriteRun(trace);
    WriteCalls(trace);
    WriteMessages(trace);
    WriteLinks(trace);
    ordered_json about = About(trace);
    trace.Finish(about, path);
    return about;
}

void
Timeline::WriteRun(TraceEventFile& trace) const
{
    if (m_steps.empty() && m_collectives.empty() && m_losses.empty())
    {
        return;
    }
    const uint32_t pid = trace.Process("run");
    if (!m_steps.empty())
    {
        const uint32_t tid = trace.Thread(pid, "steps");
        for (const Bar& step : m_steps)
        {
            trace.Slice(pid, tid, step.start, step.end, step.name, "step", step.details);
        }
    }
    TraceLanes lanes(trace, pid, "collectives");
    for (const Bar& one : m_collectives)
    {
        const uint32_t tid = lanes.Place(one.start, one.end);
        trace.Slice(pid, tid, one.start, one.end, one.name, "collective", one.details);
    }
    if (!m_losses.empty())
    {
        const uint32_t tid = trace.Thread(pid, "losses");
        for (const Loss& loss : m_losses)
        {
            trace.Instant(pid,
                          tid,
                          loss.time,
                          loss.what,
                          "\"where\":" + QuotedJson(loss.where) +
                              ",\"details\":" + QuotedJson(loss.details));
        }
    }
}

void
Timeline::WriteCalls(TraceEventFile& trace)
{
    const ordered_json& cluster = Member(Member(m_stats, "configuration"), "cluster");
    const double perServer = NumberOf(Member(cluster, "gpus_per_server"));
    const uint32_t collective = m_names("collective");
    const std::map<uint32_t, std::string> categories{{m_names("compute"), "compute"},
                                                     {m_names("memory"), "memory"},
                                                     {collective, "collective"},
                                                     {m_names("send"), "send"},
                                                     {m_names("recv"), "recv"}};
    uint32_t pid = 0;
    uint32_t tid = 0;
    const Call* before = nullptr;
    std::string details;
    for (Call& call : m_calls)
    {
        const bool other = !before || before->rank != call.rank;
        if (other)
        {
            std::string name = "GPU " + std::to_string(call.rank);
            if (perServer >= 1)
            {
                const auto gpus = static_cast<uint32_t>(std::min(perServer, 1e9));
                name += " (server " + std::to_string(call.rank / gpus) + ")";
            }
            pid = trace.Process(name);
        }
        if (other || before->stream != call.stream)
        {
            tid = trace.Thread(pid, m_names.Text(call.stream));
        }
        before = &call;
        call.pid = pid;
        call.tid = tid;
        details = "\"step\":";
        AppendInteger(details, call.step);
        if (call.kind == collective)
        {
            details += ",\"bytes\":";
            AppendInteger(details, call.bytes);
            details += ",\"group\":" + m_names.Json(call.group);
        }
        const auto category = categories.find(call.kind);
        trace.Slice(pid,
                    tid,
                    call.start,
                    call.end,
                    m_names.Json(call.name),
                    category == categories.end() ? "call" : category->second.c_str(),
                    details);
    }
}

void
Timeline::WriteMessages(TraceEventFile& trace) const
{
    struct End
    {
        int64_t begin; ///< of the slice
        uint32_t message;

        bool operator<(const End& other) const
        {
            return std::tie(begin, message) < std::tie(other.begin, other.message);
        }
    };

    std::unordered_map<uint32_t, std::pair<std::vector<End>, std::vector<End>>> ends;
    std::set<uint32_t> hosts;
    for (uint32_t i = 0; i < m_messages.size(); ++i)
    {
        const Message& one = m_messages[i];
        ends[one.src].first.push_back({one.start, i});
        ends[one.dst].second.push_back(
            {one.ideal > 0 ? std::max(one.start, one.end - one.ideal) : one.start, i});
        hosts.insert({one.src, one.dst});
    }
    std::string details;
    const auto gpus = [&details](const Message& one) {
        if (one.fromGpu != NONE)
        {
            details += ",\"from_gpu\":";
            AppendInteger(details, one.fromGpu);
            details += ",\"to_gpu\":";
            AppendInteger(details, one.toGpu);
        }
    };
    for (const uint32_t host : m_names.InOrder(hosts))
    {
        const uint32_t pid = trace.Process("NIC " + m_names.Text(host));
        auto& [sends, receives] = ends[host];
        std::sort(sends.begin(), sends.end());
        std::sort(receives.begin(), receives.end());
        TraceLanes sending(trace, pid, "sends");
        for (const End& end : sends)
        {
            const Message& one = m_messages[end.message];
            const uint32_t tid = sending.Place(one.start, one.end);
            details = "\"to\":" + m_names.Json(one.dst) + ",\"bytes\":";
            AppendInteger(details, one.bytes);
            details += ",\"flow\":";
            AppendInteger(details, one.flow);
            details += ",\"ideal_fct_us\":";
            AppendMicroseconds(details, one.ideal);
            details += ",\"slowdown\":";
            AppendDecimal(details, one.Slowdown());
            gpus(one);
            trace.Slice(pid, tid, one.start, one.end, m_names.Json(one.tag), "send", details);
            if (!one.sender)
            {
                trace.Arrow("s", pid, tid, one.start + (one.end - one.start) / 2, end.message);
            }
        }
        TraceLanes receiving(trace, pid, "receives");
        for (const End& end : receives)
        {
            const Message& one = m_messages[end.message];
            const uint32_t tid = receiving.Place(end.begin, one.end);
            details = "\"from\":" + m_names.Json(one.src) + ",\"bytes\":";
            AppendInteger(details, one.bytes);
            details += ",\"flow\":";
            AppendInteger(details, one.flow);
            gpus(one);
            trace.Slice(pid, tid, end.begin, one.end, m_names.Json(one.tag), "receive", details);
            if (!one.sender)
            {
                trace.Arrow("f", pid, tid, end.begin + (one.end - end.begin) / 2, end.message);
            }
        }
    }
    const auto within = [](int64_t time, const Call& call) {
        return call.end - call.start < BEGIN_PS + END_PS
                   ? call.start + (call.end - call.start) / 2
                   : std::clamp(time, call.start + BEGIN_PS, call.end - END_PS);
    };
    for (uint32_t i = 0; i < m_messages.size(); ++i)
    {
        const Message& one = m_messages[i];
        if (one.sender)
        {
            const int64_t begin = within(one.start, *one.sender);
            const int64_t end = std::max(begin, within(one.end, *one.receiver));
            trace.Arrow("s", one.sender->pid, one.sender->tid, begin, i);
            trace.Arrow("f", one.receiver->pid, one.receiver->tid, end, i);
        }
    }
}

void
Timeline::WriteLinks(TraceEventFile& trace) const
{
    if (m_shownLinks.empty())
    {
        return;
    }
    const uint32_t pid = trace.Process("links");
    for (const uint32_t name : m_names.InOrder({m_shownLinks.begin(), m_shownLinks.end()}))
    {
        const Link& link = m_links.at(name);
        const auto write = [&](const char* what, const char* key, const Series& series) {
            const std::string title = QuotedJson(m_names.Text(name) + " " + what);
            for (const auto& [time, value] : series)
            {
                trace.Counter(pid, title, key, time, value);
            }
        };
        write("utilization", "%", link.utilization);
        write("queue", "B", link.queue);
        write("paused", "%", link.paused);
    }
}

ordered_json
Timeline::About(const TraceEventFile& trace) const
{
    ordered_json about{{"program", Member(m_stats, "program")},
                       {"complete", m_problem.empty()},
                       {"time_unit", "us since the simulation began"},
                       {"measured_from_us", Member(m_stats, "measured_from_us")},
                       {"events", trace.GetEvents()},
                       {"max_events", m_maxEvents},
                       {"shown", ordered_json::object()},
                       {"left_out", ordered_json::object()}};
    const auto found = m_found.Named();
    const auto shown = m_shown.Named();
    for (std::size_t i = 0; i < found.size(); ++i)
    {
        about["shown"][shown[i].first] = shown[i].second;
        if (found[i].second > shown[i].second)
        {
            about["left_out"][found[i].first] = found[i].second - shown[i].second;
        }
    }
    if (!m_problem.empty())
    {
        about["problem"] = m_problem;
    }
    if (Member(Member(m_stats, "flows_csv"), "sampled") == true)
    {
        about["flows_csv"] = "holds a sample of the messages and the slowest";
    }
    return about;
}

} // namespace

ordered_json
WriteTimeline(const std::string& folder, const std::string& path, uint64_t maxEvents)
{
    return Timeline(folder, maxEvents).Write(path);
}

void
WriteTimelineOf(const scenario::RunOptions& run, std::ostream& os)
{
    if (!run.timeline || run.out.empty() || OutputErrors::ResultsLost())
    {
        return;
    }
    const std::string path = run.out + "/timeline.json";
    try
    {
        const ordered_json about = WriteTimeline(run.out, path, TIMELINE_EVENTS);
        os << "Timeline         " << path
           << (about["left_out"].empty() ? "" : ", a choice; scripts/timeline shows more") << "\n";
    }
    catch (const NothingToShow&)
    {
        os << "Timeline         none: no call, no message, no link in the measured time\n";
    }
    catch (const std::exception& reason)
    {
        OutputErrors::AddView(path + ": not written: " + ReasonOf(reason));
    }
}

} // namespace dltrain
