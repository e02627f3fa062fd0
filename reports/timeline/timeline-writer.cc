/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/timeline/timeline-writer.h"

#include "contrib/rdma/core/shown-text.h"
#include "reports/base/line-log.h"
#include "reports/base/output-errors.h"
#include "reports/timeline/timeline-choice.h"
#include "reports/timeline/timeline-records.h"
#include "reports/timeline/trace-event-file.h"
#include "scenarios/installation/installation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reports
{

namespace timeline
{

namespace
{

/// Readers round to ns: an arrow at the very begin or end of a slice might belong to its neighbour.
constexpr int64_t BEGIN_PS = 1000;
constexpr int64_t END_PS = 3000;

/// Writes the chosen records, track by track.
class Tracks
{
  public:
    Tracks(Records& records, Choice& choice, uint64_t maxEvents)
        : m_records(records),
          m_choice(choice),
          m_maxEvents(maxEvents)
    {
    }

    ordered_json Write(const std::string& path);

  private:
    void WriteRun(TraceEventFile& trace) const;
    void WriteCalls(TraceEventFile& trace);
    void WriteMessages(TraceEventFile& trace) const;
    void WriteLinks(TraceEventFile& trace) const;
    ordered_json About(const TraceEventFile& trace) const;

    Records& m_records;
    Choice& m_choice;
    uint64_t m_maxEvents;
};

ordered_json
Tracks::Write(const std::string& path)
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
Tracks::WriteRun(TraceEventFile& trace) const
{
    if (m_records.steps.empty() && m_records.collectives.empty() && m_records.losses.empty())
    {
        return;
    }
    const uint32_t pid = trace.Process("run");
    if (!m_records.steps.empty())
    {
        const uint32_t tid = trace.Thread(pid, "steps");
        for (const Bar& step : m_records.steps)
        {
            trace.Slice(pid, tid, step.start, step.end, step.name, "step", step.details);
        }
    }
    TraceLanes spans(trace, pid, "recovery");
    for (const Bar& one : m_records.recovery)
    {
        const uint32_t tid = spans.Place(one.start, one.end);
        trace.Slice(pid, tid, one.start, one.end, one.name, "recovery", one.details);
    }
    TraceLanes lanes(trace, pid, "collectives");
    for (const Bar& one : m_records.collectives)
    {
        const uint32_t tid = lanes.Place(one.start, one.end);
        trace.Slice(pid, tid, one.start, one.end, one.name, "collective", one.details);
    }
    if (!m_records.losses.empty())
    {
        const uint32_t tid = trace.Thread(pid, "losses");
        for (const Loss& loss : m_records.losses)
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
Tracks::WriteCalls(TraceEventFile& trace)
{
    const ordered_json& cluster = Member(Member(m_records.stats, "configuration"), "cluster");
    const double perServer = NumberOf(Member(cluster, "gpus_per_server"));
    const uint32_t collective = m_records.names("collective");
    const std::map<uint32_t, std::string> categories{{m_records.names("compute"), "compute"},
                                                     {m_records.names("memory"), "memory"},
                                                     {m_records.names("host"), "host"},
                                                     {collective, "collective"},
                                                     {m_records.names("send"), "send"},
                                                     {m_records.names("recv"), "recv"}};
    // Of a queue with several in flight calls of a stream overlap.
    const ordered_json& training = Member(Member(m_records.stats, "configuration"), "training");
    const bool overlap = NumberOf(Member(training, "in_flight")) > 1;
    std::optional<TraceLanes> lanes;
    uint32_t pid = 0;
    uint32_t tid = 0;
    const Call* before = nullptr;
    std::string details;
    for (Call& call : m_choice.calls)
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
            if (overlap)
            {
                lanes.emplace(trace, pid, m_records.names.Text(call.stream));
            }
            else
            {
                tid = trace.Thread(pid, m_records.names.Text(call.stream));
            }
        }
        tid = overlap ? lanes->Place(call.start, call.end) : tid;
        before = &call;
        call.pid = pid;
        call.tid = tid;
        details = "\"step\":";
        AppendInteger(details, call.step);
        if (call.kind == collective)
        {
            details += ",\"bytes\":";
            AppendInteger(details, call.bytes);
            details += ",\"group\":" + m_records.names.Json(call.group);
        }
        const auto category = categories.find(call.kind);
        trace.Slice(pid,
                    tid,
                    call.start,
                    call.end,
                    m_records.names.Json(call.name),
                    category == categories.end() ? "call" : category->second.c_str(),
                    details);
    }
}

void
Tracks::WriteMessages(TraceEventFile& trace) const
{
    struct End
    {
        int64_t begin; ///< begin of the slice
        uint32_t message;

        bool operator<(const End& other) const
        {
            return std::tie(begin, message) < std::tie(other.begin, other.message);
        }
    };

    std::unordered_map<uint32_t, std::pair<std::vector<End>, std::vector<End>>> ends;
    std::set<uint32_t> hosts;
    for (uint32_t i = 0; i < m_choice.messages.size(); ++i)
    {
        const Message& one = m_choice.messages[i];
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
    for (const uint32_t host : m_records.names.InOrder(hosts))
    {
        const uint32_t pid = trace.Process("NIC " + m_records.names.Text(host));
        auto& [sends, receives] = ends[host];
        std::sort(sends.begin(), sends.end());
        std::sort(receives.begin(), receives.end());
        TraceLanes sending(trace, pid, "sends");
        for (const End& end : sends)
        {
            const Message& one = m_choice.messages[end.message];
            const uint32_t tid = sending.Place(one.start, one.end);
            details = "\"to\":" + m_records.names.Json(one.dst) + ",\"bytes\":";
            AppendInteger(details, one.bytes);
            details += ",\"flow\":";
            AppendInteger(details, one.flow);
            details += ",\"ideal_fct_us\":";
            AppendMicroseconds(details, one.ideal);
            details += ",\"slowdown\":";
            AppendDecimal(details, one.Slowdown());
            gpus(one);
            trace.Slice(pid,
                        tid,
                        one.start,
                        one.end,
                        m_records.names.Json(one.tag),
                        "send",
                        details);
            if (!one.sender)
            {
                trace.Arrow("s", pid, tid, one.start + (one.end - one.start) / 2, end.message);
            }
        }
        TraceLanes receiving(trace, pid, "receives");
        for (const End& end : receives)
        {
            const Message& one = m_choice.messages[end.message];
            const uint32_t tid = receiving.Place(end.begin, one.end);
            details = "\"from\":" + m_records.names.Json(one.src) + ",\"bytes\":";
            AppendInteger(details, one.bytes);
            details += ",\"flow\":";
            AppendInteger(details, one.flow);
            gpus(one);
            trace.Slice(pid,
                        tid,
                        end.begin,
                        one.end,
                        m_records.names.Json(one.tag),
                        "receive",
                        details);
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
    for (uint32_t i = 0; i < m_choice.messages.size(); ++i)
    {
        const Message& one = m_choice.messages[i];
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
Tracks::WriteLinks(TraceEventFile& trace) const
{
    if (m_choice.shownLinks.empty())
    {
        return;
    }
    const uint32_t pid = trace.Process("links");
    for (const uint32_t name :
         m_records.names.InOrder({m_choice.shownLinks.begin(), m_choice.shownLinks.end()}))
    {
        const Link& link = m_records.links.at(name);
        const auto write = [&](const char* what, const char* key, const Series& series) {
            const std::string title = QuotedJson(m_records.names.Text(name) + " " + what);
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
Tracks::About(const TraceEventFile& trace) const
{
    ordered_json about{{"program", Member(m_records.stats, "program")},
                       {"complete", m_records.problem.empty()},
                       {"time_unit", "us since the simulation began"},
                       {"measured_from_us", Member(m_records.stats, "measured_from_us")},
                       {"events", trace.GetEvents()},
                       {"max_events", m_maxEvents},
                       {"shown", ordered_json::object()},
                       {"left_out", ordered_json::object()}};
    for (std::size_t kind = 0; kind < kKindNames.size(); ++kind)
    {
        const uint64_t found = m_choice.found[kind];
        const uint64_t shown = m_choice.shown[kind];
        about["shown"][kKindNames[kind]] = shown;
        if (found > shown)
        {
            about["left_out"][kKindNames[kind]] = found - shown;
        }
    }
    if (!m_records.problem.empty())
    {
        about["problem"] = m_records.problem;
    }
    if (Member(Member(m_records.stats, "flows_csv"), "sampled") == true)
    {
        about["flows_csv"] = "holds a sample of the messages and the slowest";
    }
    return about;
}

} // namespace

} // namespace timeline

nlohmann::ordered_json
WriteTimeline(const std::string& folder, const std::string& path, uint64_t maxEvents)
{
    timeline::Records records(folder);
    timeline::Choice choice(records, folder, maxEvents);
    return timeline::Tracks(records, choice, maxEvents).Write(path);
}

void
WriteTimelineOf(const scenario::RunOptions& run, std::ostream& os)
{
    const std::string more = "a choice; " + scenario::ScriptText("timeline") + " shows more";
    WriteTimelineOf(run, os, more.c_str(), [&](const std::string& path) {
        return WriteTimeline(run.out, path, TIMELINE_EVENTS);
    });
}

void
WriteTimelineOf(const scenario::RunOptions& run,
                std::ostream& os,
                const char* choice,
                const std::function<nlohmann::ordered_json(const std::string& path)>& write)
{
    if (!run.timeline || run.out.empty())
    {
        return;
    }
    if (OutputErrors::ResultsLost())
    {
        OutputErrors::AddView(run.out + "/timeline.json", "results are not whole");
        return;
    }
    const std::string path = run.out + "/timeline.json";
    try
    {
        const nlohmann::ordered_json about = write(path);
        os << "Timeline         " << rdma::Printable(path)
           << (about["left_out"].empty() ? "" : std::string(", ") + choice) << "\n";
    }
    catch (const NothingToShow&)
    {
        os << "Timeline         none: no call, no message, no link in the measured time\n";
    }
    catch (const CannotWrite& reason)
    {
        OutputErrors::AddView(path, reason.Why());
    }
    catch (const std::exception& reason)
    {
        OutputErrors::AddView(path, ReasonOf(reason));
    }
}

} // namespace reports
