/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/kineto.h"

#include "collectives/registry.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/kineto-events.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <dirent.h>
#include <map>
#include <numeric>
#include <string_view>
#include <sys/stat.h>
#include <tuple>
#include <utility>

namespace formats
{

using coll::Op;
using coll::Rank;
using training::TaskKind;

namespace
{

/// As c10d names its calls (ProcessGroupNCCL.cpp; "_single" since PyTorch 2.14, its
/// test_collective_annotations.py and torchcomms), without '_' in front.
constexpr std::pair<const char*, Op> kCalls[] = {
    {"allreduce", Op::kAllReduce},
    {"all_reduce", Op::kAllReduce},
    {"allreduce_coalesced", Op::kAllReduce},
    {"allgather", Op::kAllGather},
    {"all_gather", Op::kAllGather},
    {"allgather_base", Op::kAllGather},
    {"all_gather_base", Op::kAllGather},
    {"allgather_into_tensor_coalesced", Op::kAllGather},
    {"all_gather_into_tensor_coalesced", Op::kAllGather},
    {"all_gather_single", Op::kAllGather},
    {"all_gather_single_coalesced", Op::kAllGather},
    {"reduce_scatter", Op::kReduceScatter},
    {"reduce_scatter_base", Op::kReduceScatter},
    {"reduce_scatter_tensor_coalesced", Op::kReduceScatter},
    {"reduce_scatter_single", Op::kReduceScatter},
    {"reduce_scatter_single_coalesced", Op::kReduceScatter},
    {"all_to_all", Op::kAllToAll},
    {"all_to_allv", Op::kAllToAll},
    {"all_to_all_single", Op::kAllToAll},
    {"broadcast", Op::kBroadcast},
    {"reduce", Op::kReduce},
    {"gather", Op::kGather},
    {"scatter", Op::kScatter},
    {"barrier", Op::kBarrier}};

/// As c10::ScalarType is written.
constexpr std::pair<const char*, uint64_t> kSizes[] = {{"Byte", 1},
                                                       {"Char", 1},
                                                       {"Bool", 1},
                                                       {"Float8_e4m3fn", 1},
                                                       {"Float8_e5m2", 1},
                                                       {"Short", 2},
                                                       {"Half", 2},
                                                       {"BFloat16", 2},
                                                       {"Int", 4},
                                                       {"Float", 4},
                                                       {"Long", 8},
                                                       {"Double", 8},
                                                       {"ComplexFloat", 8},
                                                       {"ComplexDouble", 16}};

bool
Contains(const std::string& text, const char* part)
{
    return text.find(part) != std::string::npos;
}

class Reader
{
  public:
    explicit Reader(std::vector<topo::Error>& errors)
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
    bool MakeCollective(const KinetoEntry& entry, Rank rank, Event* event);
    bool FindGroup(const KinetoEntry& entry, uint32_t* communicator);

    std::vector<topo::Error>& m_errors;
    std::string m_file;
    std::string m_where;
    KinetoRun m_run;
    std::vector<KinetoTrace>& m_traces = m_run.traces;
    std::map<std::pair<std::string, std::vector<Rank>>, uint32_t> m_communicators;
    std::map<std::string, uint64_t> m_tags; ///< of messages, by group
    std::optional<int64_t> m_step;
    bool m_anyRoot = false;
    Recording m_recording;
};

bool
Reader::OrderRanks()
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
Reader::ChooseStep()
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
Reader::FindGroup(const KinetoEntry& entry, uint32_t* communicator)
{
    const std::string name = TextIn(entry.args, "Process Group Name");
    auto ranks = ListIn(entry.args, "Process Group Ranks");
    const int64_t size = WholeIn(entry.args, "Group size").value_or(-1);
    if (!ranks || (ranks->empty() && size > 0))
    {
        const auto known = m_run.groups.find(name);
        if (known != m_run.groups.end() && !m_run.twoGroups.count(name))
        {
            ranks = known->second;
            if (ranks->empty())
            {
                ranks->resize(m_traces.size());
                std::iota(ranks->begin(), ranks->end(), 0);
            }
        }
        else if (size == static_cast<int64_t>(m_traces.size()))
        {
            ranks.emplace(m_traces.size());
            std::iota(ranks->begin(), ranks->end(), 0);
        }
        else
        {
            return Fail(topo::Quoted(entry.name) + ": the ranks of its group " +
                        topo::Quoted(name) +
                        " are missing: neither \"Process Group Ranks\" nor \"pg_config\" nor an "
                        "execution trace beside it has all of them");
        }
    }
    std::vector<Rank> members;
    for (const uint64_t rank : *ranks)
    {
        if (rank >= m_traces.size())
        {
            return Fail(topo::Quoted(entry.name) + ": rank " + std::to_string(rank) +
                        " is in its group; allowed: 0 to " + std::to_string(m_traces.size() - 1));
        }
        members.push_back(static_cast<Rank>(rank));
    }
    const auto number = static_cast<uint32_t>(m_recording.communicators.size());
    const auto [found, isNew] = m_communicators.try_emplace({name, members}, number);
    if (isNew)
    {
        m_recording.communicators.push_back({name, std::move(members)});
    }
    *communicator = found->second;
    return true;
}

bool
Reader::MakeCollective(const KinetoEntry& entry, Rank rank, Event* event)
{
    m_where = KinetoPlace(entry.begin);
    const std::string who = topo::Quoted(entry.name);
    std::string call = TextIn(entry.args, "Collective name");
    if (call.empty())
    {
        return Fail(who + " has no \"Collective name\" in its args: this PyTorch does not write "
                          "which collective a kernel is, or its CPU activities were not profiled");
    }
    while (!call.empty() && call[0] == '_')
    {
        call.erase(0, 1);
    }
    const std::string dtype = TextIn(entry.args, "dtype");
    const auto size = std::find_if(std::begin(kSizes), std::end(kSizes), [&](const auto& one) {
        return dtype == one.first;
    });
    const bool barrier = call == "barrier";
    const auto in = WholeIn(entry.args, "In msg nelems");
    const auto out = WholeIn(entry.args, "Out msg nelems");
    if (!barrier && (size == std::end(kSizes) || !in || !out || *in < 0 || *out < 0 ||
                     static_cast<uint64_t>(std::max(*in, *out)) > kMostBytes / 16))
    {
        return Fail(who +
                    ": \"In msg nelems\", \"Out msg nelems\" and \"dtype\" do not say its bytes");
    }
    const uint64_t each = barrier ? 0 : size->second;
    if (call == "send" || call == "recv")
    {
        const auto peer = WholeIn(entry.args, call == "send" ? "Dst Rank" : "Src Rank");
        if (!peer || *peer < 0 || *peer >= static_cast<int64_t>(m_traces.size()) || *peer == rank)
        {
            return Fail(who + ": \"" + (call == "send" ? "Dst" : "Src") +
                        " Rank\" is no other rank, 0 to " + std::to_string(m_traces.size() - 1));
        }
        event->kind = call == "send" ? TaskKind::kSend : TaskKind::kRecv;
        event->peer = static_cast<Rank>(*peer);
        event->bytes = static_cast<uint64_t>(call == "send" ? *in : *out) * each;
        const std::string group = TextIn(entry.args, "Process Group Name");
        event->tag = m_tags.try_emplace(group, m_tags.size()).first->second;
        return true;
    }
    const auto found = std::find_if(std::begin(kCalls), std::end(kCalls), [&](const auto& one) {
        return call == one.first;
    });
    if (found == std::end(kCalls))
    {
        std::string names = "send, recv";
        for (const auto& [name, op] : kCalls)
        {
            names += std::string(", ") + name;
        }
        return Fail(who + " is " + topo::Quoted(call) + "; allowed: " + names);
    }
    event->kind = TaskKind::kCollective;
    event->op = found->second;
    if (!FindGroup(entry, &event->communicator))
    {
        return false;
    }
    const auto ranks = m_recording.communicators[event->communicator].ranks.size();
    m_anyRoot = m_anyRoot || coll::HasRoot(event->op);
    // The whole vector, of which a rank may have a part only.
    const auto given = static_cast<uint64_t>(in.value_or(0));
    const auto got = static_cast<uint64_t>(out.value_or(0));
    uint64_t whole = given;
    switch (event->op)
    {
    case Op::kAllGather:
    case Op::kGather:
        whole = std::max(given * ranks, got);
        break;
    case Op::kReduceScatter:
    case Op::kScatter:
        whole = std::max(given, got * ranks);
        break;
    default:
        break;
    }
    if (whole > kMostBytes / 16)
    {
        return Fail(who + " has more than 2^50 B of all ranks together");
    }
    event->bytes = whole * each;
    const auto split = ListIn(entry.args, "In split size");
    if (event->op == Op::kAllToAll && split && !split->empty())
    {
        uint64_t rows = 0;
        for (const uint64_t one : *split)
        {
            rows += std::min<uint64_t>(one, kMostBytes);
        }
        const uint64_t elements = given;
        if (split->size() != ranks || rows > kMostBytes ||
            (rows == 0 ? elements > 0 : elements % rows != 0))
        {
            return Fail(who + ": \"In split size\" has no part of its elements for each of " +
                        topo::Counted(ranks, "rank"));
        }
        event->op = Op::kAllToAllV;
        for (const uint64_t one : *split)
        {
            event->sends.push_back(rows == 0 ? 0 : one * (elements / rows) * each);
        }
    }
    return true;
}

bool
Reader::MakeRank(Rank rank)
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
    std::map<int64_t, double> timeOf; // by stream, of what is not NCCL's
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
                continue; // of a step before, launched before the profiler began
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

    // What the program waits in, and where streams wait for others, in the order of their calls.
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
    std::vector<uint32_t> hostAfter;                   // what the program has waited for
    std::optional<uint32_t> host;
    double before = m_step ? window.begin : first;
    bool mayWait = false;
    // The program's work until then, behind what it has waited for.
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
        if (nccl && !MakeCollective(kernel, rank, &event))
        {
            return false;
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
Reader::Make()
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
    if (m_anyRoot)
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
    Reader reader(errors);
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
    Reader reader(errors);
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
