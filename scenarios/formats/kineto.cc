/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/kineto.h"

#include "scenarios/formats/input-file.h"
#include "scenarios/formats/kineto-collectives.h"
#include "scenarios/formats/kineto-events.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <dirent.h>
#include <map>
#include <string_view>
#include <sys/stat.h>
#include <tuple>
#include <utility>

namespace formats
{

using coll::Rank;
using training::TaskKind;

namespace
{

class KinetoReader
{
  public:
    explicit KinetoReader(std::vector<topo::Error>& errors)
        : m_errors(errors)
    {
    }

    bool AddText(const std::string& text, const std::string& file)
    {
        m_file = file;
        return AddKinetoText(text, file, &m_run, m_errors);
    }

    std::optional<Recording> Make();

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file, m_where, problem);
        return false;
    }

    bool OrderRanks();
    bool ChooseStep();
    bool MakeRank(Rank rank);

    std::vector<topo::Error>& m_errors;
    std::string m_file;
    std::string m_where;
    KinetoRun m_run;
    std::vector<KinetoTrace>& m_traces = m_run.traces;
    KinetoCollectives m_collectives{m_run};
    std::optional<int64_t> m_step;
    Recording m_recording;
};

bool
KinetoReader::OrderRanks()
{
    m_where.clear();
    if (m_traces.empty())
    {
        return Fail("is an execution trace, without times; allowed: the trace of Kineto beside it");
    }
    if (m_traces.size() == 1 && m_traces[0].rank < 0)
    {
        m_traces[0].rank = 0;
    }
    std::sort(m_traces.begin(), m_traces.end(), [](const KinetoTrace& a, const KinetoTrace& b) {
        return std::tie(a.rank, a.file) < std::tie(b.rank, b.file);
    });
    int64_t world = 0;
    for (const KinetoTrace& trace : m_traces)
    {
        world = std::max(world, trace.world);
    }
    for (std::size_t i = 0; i < m_traces.size(); ++i)
    {
        m_file = m_traces[i].file;
        const int64_t rank = m_traces[i].rank;
        if (rank < 0)
        {
            return Fail(
                "does not say its rank: \"distributedInfo\" is missing, or has no \"rank\"");
        }
        if (i > 0 && rank == m_traces[i - 1].rank)
        {
            return Fail("is of rank " + std::to_string(rank) + ", as " + m_traces[i - 1].file +
                        " is");
        }
        if (rank != static_cast<int64_t>(i))
        {
            return Fail("there is no trace of rank " + std::to_string(i) +
                        ", but this one of rank " + std::to_string(rank));
        }
    }
    if (world > static_cast<int64_t>(m_traces.size()))
    {
        return Fail("there is no trace of rank " + std::to_string(m_traces.size()) +
                    "; \"world_size\" is " + std::to_string(world));
    }
    return true;
}

bool
KinetoReader::ChooseStep()
{
    const bool any = std::any_of(m_traces.begin(), m_traces.end(), [](const KinetoTrace& trace) {
        return !trace.steps.empty();
    });
    if (!any)
    {
        return true;
    }
    for (auto step = m_traces[0].steps.rbegin(); step != m_traces[0].steps.rend(); ++step)
    {
        if (std::all_of(m_traces.begin(), m_traces.end(), [&](const KinetoTrace& trace) {
                return trace.steps.count(step->first) > 0;
            }))
        {
            m_step = step->first;
            return true;
        }
    }
    m_file = m_traces.back().file;
    return Fail("has no ProfilerStep#N that all ranks have");
}

bool
KinetoReader::MakeRank(Rank rank)
{
    const KinetoTrace& trace = m_traces[rank];
    m_file = trace.file;
    const auto& entries = trace.entries;
    std::map<int64_t, std::size_t> callOf; // by correlation
    for (std::size_t i = 0; i < entries.size(); ++i)
    {
        if (entries[i].what == KinetoEntry::What::kCall && entries[i].correlation > 0)
        {
            callOf[entries[i].correlation] = i;
        }
    }
    KinetoWindow window{-INFINITY, INFINITY};
    if (m_step)
    {
        window = trace.steps.at(*m_step);
    }

    struct Launch
    {
        double at = 0;
        std::size_t kernel = 0;
    };

    std::vector<Launch> launches;
    std::map<int64_t, double> timeOf; // by stream, without NCCL's kernels
    double first = INFINITY;
    for (std::size_t i = 0; i < entries.size(); ++i)
    {
        const KinetoEntry& entry = entries[i];
        if (entry.what != KinetoEntry::What::kKernel)
        {
            continue;
        }
        const auto call = callOf.find(entry.correlation);
        if (call == callOf.end())
        {
            m_where = KinetoPlace(entry.begin);
            if (m_step && (entry.begin < window.begin || entry.begin > window.end))
            {
                continue; // of an earlier step, launched before the profiler began
            }
            return Fail(
                topo::Quoted(entry.name) +
                " has no launch (a call of cuda_runtime with its correlation): profile with "
                "ProfilerActivity.CPU, too");
        }
        const double at = entries[call->second].begin;
        if (at < window.begin || at > window.end)
        {
            continue;
        }
        launches.push_back({at, i});
        first = std::min(first, at);
        if (entry.args.is_null())
        {
            timeOf[entry.stream] += entry.end - entry.begin;
        }
    }
    std::stable_sort(launches.begin(), launches.end(), [](const Launch& a, const Launch& b) {
        return a.at < b.at;
    });
    const auto busiest =
        std::max_element(timeOf.begin(), timeOf.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        });
    const int64_t compute = busiest == timeOf.end() ? -1 : busiest->first;

    // Calls in which the program waits, and in which streams wait for others, in order.
    std::vector<std::size_t> calls;
    std::vector<std::size_t> waits;
    for (std::size_t i = 0; i < entries.size(); ++i)
    {
        const KinetoEntry& entry = entries[i];
        const bool call = entry.what == KinetoEntry::What::kCall && entry.begin >= window.begin &&
                          entry.begin <= window.end;
        if (call && (Contains(entry.name, "Synchronize") ||
                     (!m_run.exact && Contains(entry.name, "StreamWaitEvent"))))
        {
            calls.push_back(i);
        }
        if (entry.what == KinetoEntry::What::kSync && entry.waitStream >= 0)
        {
            waits.push_back(i);
        }
    }
    std::stable_sort(calls.begin(), calls.end(), [&](std::size_t a, std::size_t b) {
        return entries[a].begin < entries[b].begin;
    });

    auto& events = m_recording.ranks[rank];
    std::map<int64_t, uint32_t> lastOf;                // event by stream
    std::map<int64_t, std::vector<std::size_t>> queue; // launches by stream
    std::vector<uint32_t> eventOf;                     // of launches
    std::map<int64_t, uint32_t> threadOf;              // of side streams
    std::vector<uint32_t> hostAfter;                   // events that the program has waited for
    std::optional<uint32_t> host;
    double before = m_step ? window.begin : first;
    bool mayWait = false;
    // The program's work until then, after the events that it has waited for.
    const auto program = [&](double until) {
        const double busy = std::max(until - before, 0.0);
        before = std::max(before, until);
        if (busy <= 0 && hostAfter.empty())
        {
            return;
        }
        Event work;
        work.kind = TaskKind::kHost;
        work.name = "program";
        work.duration = rdma::Duration(
            static_cast<int64_t>(std::min(busy * 1e6, static_cast<double>(kLongestPs))));
        work.after = std::move(hostAfter);
        hostAfter.clear();
        if (host)
        {
            work.after.push_back(*host);
        }
        host = static_cast<uint32_t>(events.size());
        events.push_back(std::move(work));
    };
    std::size_t nextCall = 0;
    for (std::size_t n = 0; n < launches.size(); ++n)
    {
        const Launch& launch = launches[n];
        const KinetoEntry& kernel = entries[launch.kernel];
        for (; nextCall < calls.size() && entries[calls[nextCall]].begin <= launch.at; ++nextCall)
        {
            const KinetoEntry& call = entries[calls[nextCall]];
            if (Contains(call.name, "StreamWaitEvent"))
            {
                mayWait = true;
                continue;
            }
            program(call.begin);
            before = std::max(before, std::min(call.end, launch.at));
            for (const auto& [stream, list] : queue)
            {
                for (std::size_t k = list.size(); k-- > 0;)
                {
                    if (entries[launches[list[k]].kernel].end <= call.end + 1)
                    {
                        hostAfter.push_back(eventOf[list[k]]);
                        break;
                    }
                }
            }
        }
        program(launch.at);

        Event event;
        event.name = kernel.name;
        const bool nccl = !kernel.args.is_null();
        if (nccl && !m_collectives.Make(kernel, rank, &event))
        {
            m_where = KinetoPlace(kernel.begin);
            return Fail(m_collectives.Problem());
        }
        if (!nccl)
        {
            event.duration =
                rdma::Duration(static_cast<int64_t>((kernel.end - kernel.begin) * 1e6 + 0.5));
            if (kernel.stream != compute)
            {
                event.kind = TaskKind::kHost;
                event.thread =
                    threadOf.try_emplace(kernel.stream, static_cast<uint32_t>(threadOf.size() + 1))
                        .first->second;
            }
        }
        if (host)
        {
            event.after.push_back(*host);
        }
        if (const auto last = lastOf.find(kernel.stream); last != lastOf.end())
        {
            event.after.push_back(last->second);
        }
        if (!m_run.exact && nccl)
        {
            if (const auto last = lastOf.find(compute); last != lastOf.end())
            {
                event.after.push_back(last->second);
            }
        }
        if (!m_run.exact && !nccl && mayWait)
        {
            for (const auto& [stream, list] : queue)
            {
                for (std::size_t k = list.size(); stream != kernel.stream && k-- > 0;)
                {
                    const KinetoEntry& other = entries[launches[list[k]].kernel];
                    if (!other.args.is_null() && other.end <= kernel.begin)
                    {
                        event.after.push_back(eventOf[list[k]]);
                        break;
                    }
                }
            }
        }
        mayWait = false;
        lastOf[kernel.stream] = static_cast<uint32_t>(events.size());
        eventOf.push_back(static_cast<uint32_t>(events.size()));
        queue[kernel.stream].push_back(n);
        events.push_back(std::move(event));
    }
    // Exact waits: the first launch on the stream behind the wait's call, for the last one on the
    // other before the event's record.
    for (const std::size_t i : waits)
    {
        const KinetoEntry& wait = entries[i];
        const auto called = callOf.find(wait.correlation);
        const auto recorded = callOf.find(wait.recorded);
        const auto mine = queue.find(wait.stream);
        const auto others = queue.find(wait.waitStream);
        if (called == callOf.end() || recorded == callOf.end() || mine == queue.end() ||
            others == queue.end() || wait.stream == wait.waitStream)
        {
            continue; // of another step, or of streams without kernels
        }
        const double from = entries[called->second].begin;
        const double until = entries[recorded->second].begin;
        const auto behind = std::find_if(mine->second.begin(),
                                         mine->second.end(),
                                         [&](std::size_t n) { return launches[n].at >= from; });
        const auto last = std::find_if(others->second.rbegin(),
                                       others->second.rend(),
                                       [&](std::size_t n) { return launches[n].at <= until; });
        if (behind != mine->second.end() && last != others->second.rend() && *last < *behind)
        {
            events[eventOf[*behind]].after.push_back(eventOf[*last]);
        }
    }
    m_where.clear();
    return true;
}

std::optional<Recording>
KinetoReader::Make()
{
    if (!OrderRanks() || !ChooseStep())
    {
        return std::nullopt;
    }
    if (m_traces.size() > kMostRanks)
    {
        Fail("is of more than " + std::to_string(kMostRanks) + " ranks");
        return std::nullopt;
    }
    m_recording.format = "Kineto trace";
    m_recording.ranks.resize(m_traces.size());
    for (Rank rank = 0; rank < m_traces.size(); ++rank)
    {
        if (!MakeRank(rank))
        {
            return std::nullopt;
        }
    }
    m_recording.communicators = m_collectives.TakeCommunicators();
    auto& notes = m_recording.notes;
    if (m_step)
    {
        notes.push_back("the step is ProfilerStep#" + std::to_string(*m_step));
    }
    if (!m_run.exact)
    {
        notes.push_back("without cuda_sync events, where streams wait for each other is inferred "
                        "from launches (profile with enable_cuda_sync_events to know it)");
    }
    if (m_collectives.AnyRoot())
    {
        notes.push_back(
            "traces do not tell the root of a collective: it is the group's first rank");
    }
    return std::move(m_recording);
}

} // namespace

std::vector<std::string>
FindKinetoFiles(const std::string& path)
{
    const auto isJson = [](const std::string& name) {
        const auto ends = [&name](std::string_view end) {
            return name.size() > end.size() &&
                   name.compare(name.size() - end.size(), end.size(), end) == 0;
        };
        return ends(".json") || ends(".json.gz");
    };
    std::vector<std::string> files;

    struct stat about
    {
    };

    if (::stat(path.c_str(), &about) != 0)
    {
        return files;
    }
    if (!S_ISDIR(about.st_mode))
    {
        files.push_back(path);
    }
    else if (DIR* const open = ::opendir(path.c_str()))
    {
        while (const dirent* const entry = ::readdir(open))
        {
            if (isJson(entry->d_name))
            {
                files.push_back(path + "/" + entry->d_name);
            }
        }
        ::closedir(open);
    }
    std::sort(files.begin(), files.end());
    if (files.empty() || !isJson(files[0]))
    {
        return {};
    }
    std::vector<topo::Error> ignored;
    const auto text = ReadInput(files[0], ignored);
    return text && (IsKineto(*text) || IsExecutionTrace(*text)) ? files
                                                                : std::vector<std::string>();
}

std::optional<Recording>
ReadKineto(const std::vector<std::string>& files, std::vector<topo::Error>& errors)
{
    KinetoReader reader(errors);
    for (const std::string& file : files)
    {
        const auto text = ReadInput(file, errors);
        if (!text || !reader.AddText(*text, file))
        {
            return std::nullopt;
        }
    }
    return reader.Make();
}

std::optional<Recording>
RecordingOfKineto(const std::vector<std::string>& texts,
                  const std::vector<std::string>& files,
                  std::vector<topo::Error>& errors)
{
    KinetoReader reader(errors);
    for (std::size_t i = 0; i < texts.size(); ++i)
    {
        if (!reader.AddText(texts[i], files[i]))
        {
            return std::nullopt;
        }
    }
    return reader.Make();
}

} // namespace formats
