/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/timeline/timeline-records.h"

#include "collectives/core/cost.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "reports/base/run-files.h"
#include "reports/stats/stats-file.h"
#include "reports/timeline/trace-event-file.h"
#include "topologies/json-text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <stdexcept>

namespace reports::timeline
{

namespace
{

int64_t
ToPs(const ordered_json& us)
{
    const double ps = NumberOf(us) * 1e6;
    return std::fabs(ps) < 9e18 ? std::llround(ps) : 0;
}

struct LinkRow
{
    int64_t begin; ///< begin of its interval
    int64_t end;
    double utilization;
    double queueBytes;
    double paused;
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

/// A value holds for the end of its interval; a link without a row has no queue.
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

} // namespace

const ordered_json&
Member(const ordered_json& object, const char* key)
{
    static const ordered_json null;
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? null : *found;
}

double
NumberOf(const ordered_json& value, double otherwise)
{
    return value.is_number() ? value.get<double>() : otherwise;
}

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

uint32_t
Names::operator()(std::string_view text)
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

std::vector<uint32_t>
Names::InOrder(const std::set<uint32_t>& names) const
{
    std::vector<uint32_t> order(names.begin(), names.end());
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
        return NaturallyBefore(m_names[a], m_names[b]);
    });
    return order;
}

Records::Records(const std::string& folder)
    : m_folder(folder)
{
    ReadStats();
    ReadLosses();
}

void
Records::ReadStats()
{
    std::string text;
    std::string_view line;
    for (FileLines lines(m_folder + "/stats.json"); lines.Next(line);)
    {
        text += line;
        text += '\n';
    }
    stats = topo::IsTooDeep(text) ? ordered_json() : ordered_json::parse(text, nullptr, false);
    if (!stats.is_object())
    {
        stats = ordered_json::object();
        problem = text.empty() ? "stats.json is missing: the run was killed, or it is still going"
                               : "stats.json is no JSON object";
        return;
    }
    // A later format may mean other things by the same names.
    const ordered_json& version = Member(stats, "schema_version");
    if (!version.is_null() && version != SCHEMA_VERSION)
    {
        throw std::invalid_argument(
            m_folder + "/stats.json: schema_version " +
            rdma::Shown(version.dump(-1, ' ', true, ordered_json::error_handler_t::replace), 40) +
            ": this program reads " + std::to_string(SCHEMA_VERSION));
    }
    if (Member(stats, "completed") != true)
    {
        problem = Member(stats, "interrupted") == true ? "the run was interrupted"
                                                       : "the run ended early";
        if (const ordered_json& done = Member(stats, "share_done"); done.is_number())
        {
            std::array<char, 32> share{};
            std::snprintf(share.data(), share.size(), "%.3g", 100 * done.get<double>());
            problem += std::string(" after ") + share.data() + "% of the work";
        }
    }
    measuredFrom = ToPs(Member(stats, "measured_from_us"));
    ReadSteps();
    ReadRecovery();
    ReadCollectives();
}

void
Records::ReadCollectives()
{
    FileTable rows(m_folder + "/step_collectives.csv",
                   ',',
                   {"op", "algorithm", "bytes", "ranks", "time_us", "name", "start_us"});
    while (rows.Next())
    {
        int64_t start = 0;
        int64_t took = 0;
        uint64_t bytes = 0;
        uint32_t ranks = 0;
        const std::optional<coll::Op> op = coll::ParseOp(std::string(rows[0]));
        if (!op || !ParseInteger(rows[2], bytes) || !ParseInteger(rows[3], ranks) ||
            !ParseMicroseconds(rows[4], took) || !ParseMicroseconds(rows[6], start))
        {
            continue;
        }
        const coll::Bandwidth bandwidth =
            coll::BandwidthOf(*op, bytes, ranks, static_cast<double>(took) * 1e-6);
        const ordered_json details = {{"op", rows[0]},
                                      {"algorithm", rows[1]},
                                      {"bytes", bytes},
                                      {"ranks", ranks},
                                      {"algbw_GBps", bandwidth.algbw},
                                      {"busbw_GBps", bandwidth.busbw}};
        const std::string members =
            details.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
        collectives.push_back({start,
                               start + std::max<int64_t>(0, took),
                               QuotedJson(rows[5]),
                               members.substr(1, members.size() - 2)});
    }
    std::stable_sort(collectives.begin(), collectives.end(), [](const Bar& a, const Bar& b) {
        return a.start < b.start;
    });
}

void
Records::ReadSteps()
{
    // A step lasts from the last GPU's end of the one before to the last GPU's end of it, unless
    // there is something between them.
    int64_t begin = measuredFrom;
    FileTable rows(m_folder + "/steps.csv", ',', {"begin_us", "time_us"});
    while (rows.Next())
    {
        int64_t took = 0;
        if (!ParseMicroseconds(rows[1], took))
        {
            continue;
        }
        if (int64_t from = 0; ParseMicroseconds(rows[0], from))
        {
            begin = from;
        }
        const int64_t end = begin + took;
        steps.push_back({begin, end, QuotedJson("step " + std::to_string(steps.size() + 1)), ""});
        begin = end;
    }
}

void
Records::ReadRecovery()
{
    const ordered_json& of = Member(stats, "recovery");
    const int64_t writing = ToPs(Member(of, "checkpoint_time_us")); // in older results
    const ordered_json& took = Member(of, "checkpoints_took_us");
    const ordered_json& writtenAt = Member(of, "checkpoints_written_us");
    for (std::size_t i = 0; writtenAt.is_array() && i < writtenAt.size(); ++i)
    {
        const int64_t end = ToPs(writtenAt[i]);
        const bool known = took.is_array() && i < took.size();
        recovery.push_back(
            {end - (known ? ToPs(took[i]) : writing), end, QuotedJson("checkpoint"), ""});
    }
    const ordered_json& from = Member(of, "checkpoints_held_from_us");
    const ordered_json& until = Member(of, "checkpoints_held_until_us");
    const bool copies =
        Member(of, "checkpoint_async") == true && from.is_array() && until.is_array();
    for (std::size_t i = 0; copies && i < std::min(from.size(), until.size()); ++i)
    {
        recovery.push_back({ToPs(from[i]), ToPs(until[i]), QuotedJson("wait for a copy"), ""});
    }
    const ordered_json& failures = Member(of, "failures");
    for (std::size_t i = 0; failures.is_array() && i < failures.size(); ++i)
    {
        const ordered_json& failure = failures[i];
        const int64_t known = ToPs(Member(failure, "known_us"));
        const ordered_json& what = Member(failure, "what");
        const std::string details =
            "\"what\":" + QuotedJson(what.is_string() ? what.get<std::string>() : "");
        if (const int64_t lost = ToPs(Member(failure, "lost_us")); lost > 0)
        {
            recovery.push_back({known - lost, known, QuotedJson("lost"), details});
        }
        // Until the next failure, which ends what this one began.
        const int64_t until = i + 1 < failures.size() && Member(failure, "resumed_us").is_null()
                                  ? ToPs(Member(failures[i + 1], "known_us"))
                                  : INT64_MAX;
        int64_t begin = known;
        for (const auto& [key, name] : {std::pair{"abort_us", "abort"},
                                        std::pair{"restart_us", "restart"},
                                        std::pair{"read_us", "read checkpoint"}})
        {
            const int64_t end = std::min(begin + ToPs(Member(failure, key)), until);
            if (end > begin)
            {
                recovery.push_back({begin, end, QuotedJson(name), details});
            }
            begin = std::max(begin, end);
        }
    }
    std::stable_sort(recovery.begin(), recovery.end(), [](const Bar& a, const Bar& b) {
        return a.start < b.start;
    });
}

void
Records::ReadLosses()
{
    static const std::set<std::string_view> kinds{"drop",
                                                  "retransmission",
                                                  "timeout",
                                                  "qp_error",
                                                  "fault"};
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
        losses.push_back({time, std::string(fields[1]), where, std::string(details)});
    }
}

void
Records::ReadCalls(const std::function<void(const Call&)>& use)
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
            call.stream = names(table[4]);
            call.kind = names(table[5]);
            call.name = names(table[6]);
            call.group = names(table[8]);
            use(call);
        }
    }
}

void
Records::ReadMessages(const std::function<void(const Message&)>& use)
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
            one.src = names(table[1]);
            one.dst = names(table[2]);
            one.tag = names(table[7]);
            if (!ParseInteger(table[8], one.fromGpu) || !ParseInteger(table[9], one.toGpu))
            {
                one.fromGpu = one.toGpu = NONE;
            }
            use(one);
        }
    }
}

void
Records::ReadLinks()
{
    FileTable table(m_folder + "/links.csv",
                    ',',
                    {"time_us", "link", "utilization", "queue_bytes", "pause_share"});
    std::unordered_map<uint32_t, std::vector<LinkRow>> rows;
    std::set<int64_t> times;
    int64_t interval = ToPs(Member(Member(stats, "links_csv"), "interval_us"));
    int64_t last = -1;
    LinkRow row{};
    while (table.Next())
    {
        if (ParseMicroseconds(table[0], row.end) && row.end > 0 &&
            ParseDecimal(table[2], row.utilization) && ParseDecimal(table[3], row.queueBytes) &&
            ParseDecimal(table[4], row.paused))
        {
            rows[names(table[1])].push_back(row);
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
        Link& link = links[name];
        bool anyQueue = false;
        bool anyPause = false;
        int64_t free = measuredFrom;
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
}

} // namespace reports::timeline
