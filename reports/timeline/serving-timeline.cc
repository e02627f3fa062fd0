/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/timeline/serving-timeline.h"

#include "reports/base/line-log.h"
#include "reports/programs/serving-results.h"
#include "reports/timeline/timeline-writer.h"
#include "reports/timeline/trace-event-file.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace reports
{

namespace
{

using serving::IterationRecord;
using serving::LoadSample;
using serving::RequestRecord;
using serving::ServingOutcome;

/// Members of an object: {"a": 1, "b": 2} without its braces.
std::string
Members(std::initializer_list<std::pair<const char*, uint64_t>> values)
{
    std::string text;
    for (const auto& [name, value] : values)
    {
        text += (text.empty() ? "\"" : ",\"") + std::string(name) + "\":";
        AppendInteger(text, value);
    }
    return text;
}

const char*
KindOf(const IterationRecord& i)
{
    return i.prefillTokens && i.decodeTokens ? "\"prefill and decode\""
           : i.prefillTokens                 ? "\"prefill\""
                                             : "\"decode\"";
}

/// The instances' tracks: iterations on lanes, and counters.
class InstanceTracks
{
  public:
    InstanceTracks(TraceEventFile& trace, const ServingOutcome& outcome)
        : m_trace(trace)
    {
        for (const serving::InstanceRecord& instance : outcome.instances)
        {
            m_processes.push_back(trace.Process(instance.name));
        }
    }

    void Show(const IterationRecord& i)
    {
        const auto key = std::make_pair(i.instance, i.engine);
        auto& lanes = m_lanes[key];
        if (!lanes)
        {
            lanes = std::make_unique<TraceLanes>(m_trace,
                                                 m_processes[i.instance],
                                                 "engine " + std::to_string(i.engine));
        }
        m_trace.Slice(m_processes[i.instance],
                      lanes->Place(i.begin, i.end),
                      i.begin,
                      i.end,
                      KindOf(i),
                      "iteration",
                      Members({{"iteration", i.number},
                               {"prefill tokens", i.prefillTokens},
                               {"decode tokens", i.decodeTokens},
                               {"requests", i.requests},
                               {"running", i.running},
                               {"waiting", i.waiting},
                               {"preempted", i.preempted},
                               {"KV blocks", i.kvBlocks}}));
    }

    void Show(const LoadSample& s)
    {
        const uint32_t pid = m_processes[s.instance];
        m_trace.Counter(pid, "\"queue\"", "requests", s.time, s.waiting);
        m_trace.Counter(pid, "\"running\"", "requests", s.time, s.running);
        m_trace.Counter(pid, "\"KV\"", "blocks", s.time, static_cast<double>(s.kvBlocks));
    }

  private:
    TraceEventFile& m_trace;
    std::vector<uint32_t> m_processes;
    std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<TraceLanes>> m_lanes;
};

constexpr uint64_t EVENTS_OF_REQUEST = 4;
constexpr uint64_t EVENTS_OF_SAMPLE = 3;

/// A request's spans follow one another. What had not ended ends with the run.
void
ShowRequest(TraceEventFile& trace, uint32_t pid, const RequestRecord& r, int64_t end)
{
    const uint32_t tid = trace.Thread(pid, "request " + std::to_string(r.id));
    const std::string details = Members({{"prompt tokens", r.prompt},
                                         {"output tokens", r.output},
                                         {"produced tokens", r.produced},
                                         {"instance", r.instance},
                                         {"preemptions", r.preemptions}});
    int64_t at = r.arrival;
    const auto span = [&](int64_t until, const char* name) {
        const int64_t to = std::min(until < 0 ? end : until, end);
        if (to > at)
        {
            trace.Slice(pid, tid, at, to, name, "request", details);
            at = to;
        }
    };
    span(r.scheduled, "\"queue\"");
    if (r.scheduled >= 0)
    {
        span(r.firstToken, "\"prefill\"");
    }
    // Layer by layer it begins before the first token is out.
    if (r.kvBegin >= 0)
    {
        span(r.kvEnd, "\"KV transfer\"");
    }
    if (r.firstToken >= 0)
    {
        span(r.lastToken, "\"decode\"");
    }
}

} // namespace

nlohmann::ordered_json
WriteServingTimeline(const ServingOutcome& outcome, const std::string& path, uint64_t maxEvents)
{
    TraceEventFile trace(path + ".part");
    InstanceTracks instances(trace, outcome);
    uint64_t room = maxEvents;
    std::vector<const RequestRecord*> requests;
    for (const RequestRecord& request : outcome.requests)
    {
        if (request.arrival >= 0 && request.arrival < outcome.end &&
            requests.size() < SERVING_TIMELINE_REQUESTS && room >= EVENTS_OF_REQUEST)
        {
            requests.push_back(&request);
            room -= EVENTS_OF_REQUEST;
        }
    }
    // A quarter of what is left is for counters.
    const uint64_t instanceCount = std::max<std::size_t>(1, outcome.instances.size());
    const uint64_t samples =
        std::min<uint64_t>(LOAD_ROWS, room / 4 / EVENTS_OF_SAMPLE / instanceCount);
    if (samples >= 2)
    {
        for (const LoadSample& sample : ThinnedLoad(outcome.load, outcome.end, samples))
        {
            instances.Show(sample);
            room -= std::min(room, EVENTS_OF_SAMPLE);
        }
    }
    std::vector<IterationRecord> iterations(
        outcome.iterations.begin(),
        outcome.iterations.begin() +
            static_cast<std::ptrdiff_t>(std::min<uint64_t>(room, outcome.iterations.size())));
    std::stable_sort(
        iterations.begin(),
        iterations.end(),
        [](const IterationRecord& a, const IterationRecord& b) { return a.begin < b.begin; });
    for (const IterationRecord& iteration : iterations)
    {
        instances.Show(iteration);
    }
    if (!requests.empty())
    {
        const uint32_t pid = trace.Process("requests");
        for (const RequestRecord* request : requests)
        {
            ShowRequest(trace, pid, *request, outcome.end);
        }
    }
    nlohmann::ordered_json about = {{"events", trace.GetEvents()},
                                    {"shown", nlohmann::ordered_json::object()},
                                    {"left_out", nlohmann::ordered_json::object()}};
    const auto tell = [&](const char* what, std::size_t all, std::size_t shown) {
        about["shown"][what] = shown;
        if (shown < all)
        {
            about["left_out"][what] = all - shown;
        }
    };
    tell("requests", outcome.requests.size(), requests.size());
    tell("iterations", outcome.iterations.size(), iterations.size());
    trace.Finish(about, path);
    return about;
}

void
WriteServingTimelineOf(const scenario::RunOptions& run,
                       const ServingOutcome& outcome,
                       std::ostream& os)
{
    WriteTimelineOf(run, os, "the first requests and iterations", [&](const std::string& path) {
        return WriteServingTimeline(outcome, path, TIMELINE_EVENTS);
    });
}

} // namespace reports
