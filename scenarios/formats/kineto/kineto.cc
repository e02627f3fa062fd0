/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/kineto/kineto.h"

#include "scenarios/asked/training.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/kineto/kineto-collectives.h"
#include "scenarios/formats/kineto/kineto-events.h"
#include "scenarios/formats/kineto/kineto-replicas.h"
#include "scenarios/options/member.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
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
    KinetoReader(const KinetoRanks& ranks, std::vector<topo::Error>& errors)
        : m_ranks(ranks),
          m_errors(errors)
    {
        m_run.replicates = ranks.replicate > 0;
    }

    bool AddText(const std::string& text, const std::string& file);

    std::optional<Recording> Make();

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file, m_where, problem);
        return false;
    }

    bool OrderRanks();
    bool CheckAllRanks();
    bool CheckChosenRanks();
    bool ChooseStep();
    bool MakeRank(Rank rank);

    const KinetoRanks& m_ranks;
    std::vector<topo::Error>& m_errors;
    std::string m_file;
    std::string m_where;
    std::set<int64_t> m_there; ///< ranks that have a trace
    int64_t m_world = 0;       ///< ranks of the profiled run; 0: no trace says
    uint64_t m_outside = 0;    ///< events with ranks that are not simulated
    KinetoRun m_run;
    std::vector<KinetoTrace>& m_traces = m_run.traces;
    KinetoCollectives m_collectives{m_run};
    std::optional<int64_t> m_step;
    Recording m_recording;
};

bool
KinetoReader::AddText(const std::string& text, const std::string& file)
{
    m_file = file;
    const bool exact = m_run.exact;
    const std::size_t before = m_traces.size();
    if (!AddKinetoText(text, file, &m_run, m_errors))
    {
        return false;
    }
    if (m_traces.size() == before)
    {
        return true; // groups
    }
    const KinetoTrace& trace = m_traces.back();
    m_world = std::max(m_world, trace.world);
    m_there.insert(trace.rank);
    const auto& chosen = m_ranks.ranks;
    if (!chosen.empty() && trace.rank >= 0 &&
        std::find(chosen.begin(), chosen.end(), trace.rank) == chosen.end())
    {
        m_traces.pop_back();
        m_run.exact = exact;
    }
    return true;
}

bool
KinetoReader::OrderRanks()
{
    m_where.clear();
    if (m_traces.empty() && !m_there.empty())
    {
        return CheckChosenRanks();
    }
    if (m_traces.empty())
    {
        return Fail("is an execution trace, without times; allowed: the trace of Kineto beside it");
    }
    if (m_traces.size() == 1 && m_traces[0].rank < 0)
    {
        m_traces[0].rank = 0;
        m_there = {0};
    }
    std::sort(m_traces.begin(), m_traces.end(), [](const KinetoTrace& a, const KinetoTrace& b) {
        return std::tie(a.rank, a.file) < std::tie(b.rank, b.file);
    });
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
    }
    return m_ranks.ranks.empty() && m_ranks.replicate == 0 ? CheckAllRanks() : CheckChosenRanks();
}

/// All ranks are there.
bool
KinetoReader::CheckAllRanks()
{
    const auto ranks = static_cast<int64_t>(m_traces.size());
    const int64_t world = std::max({m_world, m_traces.back().rank + 1, ranks});
    for (int64_t i = 0; i < ranks && world > ranks; ++i)
    {
        m_file = m_traces[static_cast<std::size_t>(i)].file;
        const int64_t rank = m_traces[static_cast<std::size_t>(i)].rank;
        const bool last = i + 1 == ranks;
        if (rank == i && !last)
        {
            continue;
        }
        const std::string here = std::to_string(m_traces[0].rank);
        return Fail("there is no trace of rank " + std::to_string(rank == i ? ranks : i) +
                    (rank == i ? "; \"world_size\" is " + std::to_string(world)
                               : ", but this one of rank " + std::to_string(rank)) +
                    "; allowed: traces of all ranks, " +
                    scenario::Spell(&scenario::asked::Training::traceRanks) + "=" + here +
                    " for that rank alone, or with " +
                    scenario::Spell(&scenario::asked::Training::replicate) + "=" +
                    std::to_string(world) + " its work for all");
    }
    m_run.rankOf.resize(m_traces.size());
    std::iota(m_run.rankOf.begin(), m_run.rankOf.end(), 0);
    return true;
}

/// Those that were chosen are there.
bool
KinetoReader::CheckChosenRanks()
{
    for (const uint32_t rank : m_ranks.ranks)
    {
        if (std::none_of(m_traces.begin(), m_traces.end(), [rank](const KinetoTrace& trace) {
                return trace.rank == rank;
            }))
        {
            const std::string first = std::to_string(*m_there.begin());
            return Fail(scenario::Spell(&scenario::asked::Training::traceRanks) +
                        ": there is no trace of rank " + std::to_string(rank) + "; allowed: " +
                        (m_there.size() == 1 ? first
                                             : first + " to " + std::to_string(*m_there.rbegin()) +
                                                   ", " + topo::Counted(m_there.size(), "rank")));
        }
    }
    if (m_run.replicates && m_traces.size() > 1)
    {
        return Fail(scenario::Spell(&scenario::asked::Training::replicate) +
                    " gives the work of one rank to all, and there are traces of " +
                    std::to_string(m_traces.size()) +
                    "; allowed: " + scenario::Spell(&scenario::asked::Training::traceRanks) + "=" +
                    std::to_string(m_traces[0].rank) + " or another one");
    }
    const int64_t world = std::max<int64_t>(
        {m_world, m_traces.back().rank + 1, m_world > 0 ? 0 : int64_t{m_ranks.replicate}});
    if (world > kMostRanks)
    {
        return Fail("is of more than " + std::to_string(kMostRanks) + " ranks");
    }
    m_run.rankOf.assign(static_cast<std::size_t>(world), kNotSimulated);
    if (m_run.replicates)
    {
        std::iota(m_run.rankOf.begin(), m_run.rankOf.end(), 0);
        return true;
    }
    for (uint32_t i = 0; i < m_traces.size(); ++i)
    {
        m_run.rankOf[static_cast<std::size_t>(m_traces[i].rank)] = i;
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
        if (nccl && !m_collectives.Make(kernel, static_cast<Rank>(trace.rank), &event))
        {
            m_where = KinetoPlace(kernel.begin);
            return Fail(m_collectives.Problem());
        }
        const bool outside = nccl && m_collectives.IsOutside();
        m_outside += outside;
        if (!nccl || outside)
        {
            event.duration =
                rdma::Duration(static_cast<int64_t>((kernel.end - kernel.begin) * 1e6 + 0.5));
            if (kernel.stream != compute || outside)
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
    if (m_run.replicates)
    {
        const auto rank = static_cast<Rank>(m_traces[0].rank);
        m_file = m_traces[0].file;
        if (const std::string why = ReplicateRank(rank, m_ranks.replicate, &m_recording);
            !why.empty())
        {
            Fail(scenario::Spell(&scenario::asked::Training::replicate) + "=" +
                 std::to_string(m_ranks.replicate) + ": " + why);
            return std::nullopt;
        }
        notes.push_back("all " + std::to_string(m_ranks.replicate) + " ranks do the work of rank " +
                        std::to_string(rank) + ", in groups shifted from its own");
    }
    if (m_outside > 0)
    {
        notes.push_back(
            topo::Counted(m_outside, "collective or message", "collectives or messages") +
            " with ranks that are not simulated: recorded times");
    }
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

std::optional<Recording>
ReadKineto(const std::vector<std::string>& files,
           const KinetoRanks& ranks,
           std::vector<topo::Error>& errors)
{
    KinetoReader reader(ranks, errors);
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
                  const KinetoRanks& ranks,
                  std::vector<topo::Error>& errors)
{
    KinetoReader reader(ranks, errors);
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
