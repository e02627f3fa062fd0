/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/critical-path.h"

#include "reports/base/human-text.h"
#include "reports/base/line-log.h"
#include "reports/schema/table.h"

#include <algorithm>

namespace reports
{

using coll::Rank;
using training::Communicates;

namespace
{

constexpr training::TaskId NO_TASK = UINT32_MAX;
/// Work on the host below a nanosecond, as a copy of a few bytes that a captured script reads, is
/// on the path and in its sums, but no line of it.
constexpr int64_t LEAST_TOLD_PS = 1000;

bool
IsCollective(const training::Task& task)
{
    return task.kind == training::TaskKind::kCollective;
}

} // namespace

uint16_t
CriticalPath::DepthFor(const training::TrainingPlan& plan)
{
    const std::size_t most =
        std::min<std::size_t>(RECORDS / (1 + plan.CountCommunicating()), MOST_DEPTH);
    return static_cast<uint16_t>(most < LEAST_DEPTH ? 0 : most);
}

CriticalPath::CriticalPath(const training::TrainingPlan& plan,
                           const std::vector<std::string>& ports,
                           const std::vector<std::string>& tags,
                           const rdma::LinkWords& link)
    : m_plan(plan),
      m_match(plan),
      m_ports(ports),
      m_tags(tags),
      m_link(link),
      m_paths(DepthFor(plan))
{
    std::size_t size = 0;
    for (uint32_t rank = 0; rank < plan.ranks; ++rank)
    {
        m_offsets.push_back(size);
        size += plan.roles[plan.roleOf[rank]].tasks.size();
    }
    m_offsets.push_back(size);
    for (const training::StepGraph& graph : plan.roles)
    {
        std::vector<training::TaskId> last(graph.streams.size(), NO_TASK);
        std::vector<training::TaskId> before;
        std::vector<std::vector<training::TaskId>> collectives(plan.groupKinds.size());
        for (training::TaskId t = 0; t < graph.tasks.size(); ++t)
        {
            const training::Task& task = graph.tasks[t];
            before.push_back(std::exchange(last[task.stream], t));
            if (IsCollective(task))
            {
                collectives[task.group].push_back(t);
            }
        }
        m_before.push_back(std::move(before));
        m_collectives.push_back(std::move(collectives));
    }
    for (const training::GroupKind& kind : plan.groupKinds)
    {
        std::vector<const std::vector<Rank>*> of(plan.ranks, nullptr);
        for (const auto& group : kind.groups)
        {
            for (const Rank rank : group)
            {
                of[rank] = &group;
            }
        }
        m_groupOf.push_back(std::move(of));
    }
}

training::TaskId
CriticalPath::SameCollective(Rank rank, training::TaskId task, Rank other) const
{
    const uint32_t role = m_plan.roleOf[rank];
    const uint32_t otherRole = m_plan.roleOf[other];
    if (role == otherRole)
    {
        return task;
    }
    const uint32_t group = m_plan.roles[role].tasks[task].group;
    const auto& own = m_collectives[role][group];
    const auto ordinal = std::lower_bound(own.begin(), own.end(), task) - own.begin();
    return m_collectives[otherRole][group][static_cast<std::size_t>(ordinal)];
}

CriticalPath::Step&
CriticalPath::Open(uint32_t number)
{
    const std::lock_guard<std::mutex> lock(m_opening);
    Step& step = m_steps[number];
    if (step.empty())
    {
        step.resize(m_offsets.back());
    }
    return step;
}

void
CriticalPath::Forget(uint32_t first)
{
    for (const auto& [number, step] : m_steps)
    {
        for (const Times& times : step)
        {
            m_paths.Drop(times.path);
        }
    }
    m_steps.clear();
    m_paths.ForgetKept();
    m_firstWhole = first;
}

void
CriticalPath::OnCall(const CallRecord& call, CollectivePaths::Path path)
{
    if (call.step < m_firstWhole)
    {
        return;
    }
    const auto task = static_cast<std::size_t>(call.task - call.graph->tasks.data());
    Times& times = Open(call.step)[m_offsets[call.rank] + task]; // the rank's own
    times = {call.start, call.end, CollectivePaths::NONE};
    if (Communicates(*call.task))
    {
        times.path = path;
        CollectivePaths::Hold(times.path);
    }
}

/// Where the time of a collective's part went, and its messages, the latest first.
void
CriticalPath::AddCollective(const Times& times, int64_t end, Part& part)
{
    // The time that the path does not account for; all of it if no path was noted.
    int64_t left = end - part.start;
    if (times.path != CollectivePaths::NONE)
    {
        const CollectivePaths::Record* record = times.path;
        part.shares = record->shares;
        part.messages = record->messages;
        left = end - record->at;
        for (std::size_t i = 0; i < CollectivePaths::HOPS; ++i)
        {
            const PathHop& hop = record->hops[i];
            if (hop.port == UINT32_MAX)
            {
                continue;
            }
            const Hop here{hop, record->why[i], static_cast<uint32_t>(m_path.size())};
            const auto same = std::find_if(m_hops.begin(), m_hops.end(), [&](const Hop& other) {
                return other.hop.port == hop.port;
            });
            if (same == m_hops.end())
            {
                m_hops.push_back(here);
            }
            else if (hop.time > same->hop.time)
            {
                *same = here;
            }
        }
        const std::vector<const CollectivePaths::Record*> chain =
            CollectivePaths::GetChain(*record);
        for (std::size_t i = 1; i < chain.size(); ++i)
        {
            const CollectivePaths::Record* after = chain[i - 1];
            const CollectivePaths::Record* before = chain[i];
            Message message{static_cast<uint32_t>(m_path.size()),
                            after->from,
                            after->to,
                            after->messages - before->messages,
                            before->at,
                            after->at,
                            after->port,
                            after->behind,
                            after->shares};
            for (std::size_t j = 0; j < PATH_SHARES; ++j)
            {
                message.shares[j] -= before->shares[j];
            }
            m_messages.push_back(message);
        }
    }
    part.shares[static_cast<std::size_t>(PathShare::UNKNOWN)] += left;
    for (std::size_t i = 0; i < PATH_SHARES; ++i)
    {
        m_shares[i] += part.shares[i];
    }
    m_nMessages += part.messages;
}

int64_t
CriticalPath::EndOfOthers(const Step& step,
                          Rank rank,
                          training::TaskId receive,
                          training::TaskId waiting) const
{
    const uint32_t role = m_plan.roleOf[rank];
    const auto& tasks = m_plan.roles[role].tasks;
    int64_t end = -1;
    const auto consider = [&](training::TaskId t) {
        if (t != receive && t != NO_TASK)
        {
            end = std::max(end, Of(step, rank, t).end);
        }
    };
    if (waiting != NO_TASK)
    {
        consider(m_before[role][waiting]);
        std::for_each(tasks[waiting].after.begin(), tasks[waiting].after.end(), consider);
        return end;
    }
    for (training::TaskId t = 0; t < tasks.size(); ++t)
    {
        consider(t);
    }
    return end;
}

void
CriticalPath::OnStep(uint32_t number, int64_t begin)
{
    const auto found = m_steps.find(number);
    if (found == m_steps.end())
    {
        return;
    }
    const Step step = std::move(found->second);
    m_steps.erase(found);
    m_kept = number;
    m_begin = begin;
    m_path.clear();
    m_messages.clear();
    m_hops.clear();
    m_shares = {};
    m_computing = m_straggling = m_onHost = 0;
    m_nMessages = 0;
    // The call that ends last, of the lowest rank.
    Rank rank = 0;
    training::TaskId task = 0;
    int64_t end = -1;
    for (uint32_t r = 0; r < m_plan.ranks; ++r)
    {
        const auto tasks =
            static_cast<training::TaskId>(m_plan.roles[m_plan.roleOf[r]].tasks.size());
        for (training::TaskId t = 0; t < tasks; ++t)
        {
            if (Of(step, r, t).end > end)
            {
                rank = r;
                task = t;
                end = Of(step, r, t).end;
            }
        }
    }
    training::TaskId waiting = NO_TASK; // the call that waited for this one
    for (;;)
    {
        const training::Task& call = m_plan.roles[m_plan.roleOf[rank]].tasks[task];
        Part part{&call, rank, Of(step, rank, task).start, end, 0, 0, 0, {}};
        if (IsCollective(call))
        {
            const Times& times = Of(step, rank, task);
            if (times.path != CollectivePaths::NONE)
            {
                const Rank entered = times.path->first;
                task = SameCollective(rank, task, entered);
                rank = entered;
            }
            part.rank = rank;
            part.start = Of(step, rank, task).start;
            int64_t first = part.start;
            for (const Rank other : *m_groupOf[call.group][rank])
            {
                const int64_t start = Of(step, other, SameCollective(rank, task, other)).start;
                first = start < 0 ? first : std::min(first, start); // or the rank has left
            }
            part.waited = part.start - first;
            AddCollective(times, end, part);
        }
        else if (Communicates(call))
        {
            // A receive that waited goes back to its send.
            const Times& times = Of(step, rank, task);
            const training::RankTask* send = m_match.SendOf(rank, task);
            if (send && times.path != CollectivePaths::NONE)
            {
                const int64_t free = std::max(times.start, EndOfOthers(step, rank, task, waiting));
                rank = part.rank = send->rank;
                task = send->task;
                part.start = Of(step, rank, task).start;
                part.waited = std::max<int64_t>(0, part.start - free);
            }
            AddCollective(times, end, part);
        }
        else
        {
            if (number == 0 && m_before[m_plan.roleOf[rank]][task] == NO_TASK && call.after.empty())
            {
                part.start = m_begin; // no step came before: the GPU stood still
            }
            // Half of the GPUs that compute the same are this fast.
            std::vector<int64_t> lengths;
            for (Rank other = 0; other < m_plan.ranks; ++other)
            {
                const Times& times = Of(step, other, task);
                if (m_plan.roleOf[other] == m_plan.roleOf[rank] && times.start >= 0)
                {
                    lengths.push_back(times.end - times.start);
                }
            }
            const auto half =
                lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
            std::nth_element(lengths.begin(), half, lengths.end());
            part.straggling = std::max<int64_t>(0, end - part.start - *half);
            m_straggling += part.straggling;
            (Computes(call) ? m_computing : m_onHost) += end - part.start;
        }
        m_path.push_back(part);
        const int64_t start = part.start;
        const uint32_t role = m_plan.roleOf[rank];
        training::TaskId cause = NO_TASK;
        const auto consider = [&](training::TaskId t) {
            if (t != NO_TASK &&
                (cause == NO_TASK || Of(step, rank, t).end > Of(step, rank, cause).end))
            {
                cause = t;
            }
        };
        consider(m_before[role][task]);
        for (const training::TaskId t : m_plan.roles[role].tasks[task].after)
        {
            consider(t);
        }
        if (cause == NO_TASK)
        {
            break; // the step's beginning
        }
        waiting = std::exchange(task, cause);
        end = start;
    }
    for (const Times& times : step)
    {
        m_paths.Drop(times.path);
    }
    std::reverse(m_path.begin(), m_path.end());
    std::reverse(m_messages.begin(), m_messages.end());
    for (Message& message : m_messages)
    {
        message.call = static_cast<uint32_t>(m_path.size()) - 1 - message.call;
    }
    for (Hop& hop : m_hops)
    {
        hop.call = static_cast<uint32_t>(m_path.size()) - 1 - hop.call;
    }
    if (m_messages.size() > MOST_MESSAGES)
    {
        std::vector<int64_t> lengths;
        for (const Message& message : m_messages)
        {
            lengths.push_back(message.end - message.start);
        }
        std::nth_element(lengths.begin(),
                         lengths.begin() + (MOST_MESSAGES - 1),
                         lengths.end(),
                         std::greater<>());
        // Longer ones all, and of those as long the first until there are enough.
        const int64_t least = lengths[MOST_MESSAGES - 1];
        std::size_t equal =
            MOST_MESSAGES -
            static_cast<std::size_t>(std::count_if(lengths.begin(),
                                                   lengths.begin() + (MOST_MESSAGES - 1),
                                                   [least](int64_t ps) { return ps > least; }));
        const auto goes = [least, &equal](const Message& message) {
            const int64_t length = message.end - message.start;
            return length < least || (length == least && (equal == 0 || equal-- == 0));
        };
        // Not remove_if, which may copy a predicate that counts.
        std::vector<Message> kept;
        for (const Message& message : m_messages)
        {
            if (!goes(message))
            {
                kept.push_back(message);
            }
        }
        m_messages = std::move(kept);
    }
    std::stable_sort(m_hops.begin(), m_hops.end(), [](const Hop& a, const Hop& b) {
        return a.hop.time != b.hop.time ? a.hop.time > b.hop.time : a.hop.port < b.hop.port;
    });
    m_hops.resize(std::min(m_hops.size(), MOST_HOPS));
}

namespace
{

/// A row of critical_messages.csv.
struct PathMessageRow
{
    std::string_view call;
    coll::Rank from;
    coll::Rank to;
    uint32_t messages;
    int64_t start;
    int64_t end;
    std::string_view link;
    std::string_view behind;
    std::array<int64_t, PATH_SHARES> shares;
};

/// \param columns then a column for each part
template <typename Row>
std::vector<Column<Row>>
WithParts(std::vector<Column<Row>> columns)
{
    for (std::size_t i = 0; i < PATH_SHARES; ++i)
    {
        columns.push_back({Words(std::string(GetPathShareName(i)) + "_us",
                                 "us",
                                 "Of its time " + GetPathShareMeaning(i)),
                           [i](const Row& row) { return row.shares[i]; }});
    }
    return columns;
}

const Table<CriticalPath::Call> PATH_CALLS(
    "critical_path.csv",
    WithParts<CriticalPath::Call>(
        {{"call: Name of the call", &CriticalPath::Call::call},
         {"rank: GPU; of a collective: the one by whose entry the path comes into it",
          &CriticalPath::Call::rank},
         {"start_us (us): Start; of a collective: entry of that GPU", &CriticalPath::Call::start},
         {"end_us (us): Where the path continues", &CriticalPath::Call::end},
         {"straggling_us (us): Excess over the time of half of the GPUs that compute the same; "
          "empty: none",
          &CriticalPath::Call::straggling},
         {"waited_us (us): Collective: its first GPU's wait for this one. Receive: wait before the "
          "message was sent",
          &CriticalPath::Call::waited},
         {"messages (count): Messages on the path; empty: a computation",
          &CriticalPath::Call::messages}}));

const Table<PathMessageRow> PATH_MESSAGES(
    "critical_messages.csv",
    WithParts<PathMessageRow>(
        {{"call: Name of the collective, or of the send", &PathMessageRow::call},
         {"from: Sending GPU", &PathMessageRow::from},
         {"to: Receiving GPU", &PathMessageRow::to},
         {"messages (count): 1, or of messages inside a server that followed one another",
          &PathMessageRow::messages},
         {"start_us (us): When the cause of its post had happened", &PathMessageRow::start},
         {"end_us (us): Arrival of its last byte", &PathMessageRow::end},
         {"link: Link out of the port where it was longest; empty: inside a server",
          &PathMessageRow::link},
         {"behind: Collective whose packets were in front there; empty: none",
          &PathMessageRow::behind}}));

} // namespace

std::size_t
CriticalPath::CountCalls() const
{
    return static_cast<std::size_t>(
        std::count_if(m_path.begin(), m_path.end(), [](const Part& part) { return IsTold(part); }));
}

bool
CriticalPath::IsTold(const Part& part)
{
    const bool onHost = !Computes(*part.task) && !Communicates(*part.task);
    return !onHost || part.end - part.start >= LEAST_TOLD_PS;
}

std::string_view
CriticalPath::TagName(uint32_t tag) const
{
    return tag < m_tags.size() ? std::string_view(m_tags[tag]) : std::string_view();
}

std::vector<CriticalPath::Call>
CriticalPath::GetCalls() const
{
    std::vector<Call> calls;
    for (const Part& part : m_path)
    {
        if (!IsTold(part) || calls.size() == MOST_PARTS)
        {
            continue;
        }
        const bool sends = Communicates(*part.task);
        calls.push_back({part.task->name,
                         part.rank,
                         part.start,
                         part.end,
                         !sends && part.straggling ? std::optional(part.straggling) : std::nullopt,
                         sends ? std::optional(part.waited) : std::nullopt,
                         sends ? std::optional(part.messages) : std::nullopt,
                         part.shares});
    }
    return calls;
}

void
CriticalPath::WriteTables(const std::string& out) const
{
    std::string line;
    LineLog calls(out + "/critical_path.csv");
    calls.Write(PATH_CALLS.Header());
    for (const Call& call : GetCalls())
    {
        PATH_CALLS.Write(line, call);
        calls.Write(line);
    }
    calls.Close();
    LineLog messages(out + "/critical_messages.csv");
    messages.Write(PATH_MESSAGES.Header());
    for (const Message& message : m_messages)
    {
        PATH_MESSAGES.Write(line,
                            {m_path[message.call].task->name,
                             message.from,
                             message.to,
                             message.messages,
                             message.start,
                             message.end,
                             message.port < m_ports.size() ? std::string_view(m_ports[message.port])
                                                           : std::string_view(),
                             TagName(message.behind),
                             message.shares});
        messages.Write(line);
    }
    messages.Close();
}

const Object<CriticalPath>&
CriticalPath::PartKeys(bool asShare)
{
    const auto make = [](bool share) {
        std::vector<Key<CriticalPath>> keys;
        const auto add = [&](const char* name, const std::string& meaning, auto of) {
            const auto value = [share, of](const CriticalPath& path) {
                const int64_t ps = of(path);
                return share ? static_cast<double>(ps) /
                                   static_cast<double>(std::max<int64_t>(1, path.Total()))
                             : Us(ps);
            };
            keys.push_back({Words(name, share ? "0 to 1" : "us", meaning), value});
        };
        add("compute", "computing, without straggling", [](const CriticalPath& p) {
            return p.m_computing - p.m_straggling;
        });
        add("straggling",
            "time by which a computation is longer than on half of the GPUs that compute the same",
            [](const CriticalPath& p) { return p.m_straggling; });
        add("offload",
            "with --offload or --loader: PCIe copies, the CPU's optimizer, loading",
            [](const CriticalPath& p) { return p.m_onHost; });
        keys.back() =
            std::move(keys.back()).Only([](const CriticalPath& p) { return p.m_onHost > 0; });
        for (std::size_t i = 0; i < PATH_SHARES; ++i)
        {
            add(GetPathShareName(i),
                "messages " + GetPathShareMeaning(i),
                [i](const CriticalPath& p) { return p.m_shares[i]; });
        }
        return keys;
    };
    static const Object<CriticalPath> us("", make(false));
    static const Object<CriticalPath> shares("", make(true));
    return asShare ? shares : us;
}

const Object<CriticalPath>&
CriticalPath::Keys()
{
    using P = CriticalPath;

    /// A port and its path.
    struct HopOf
    {
        const P& path;
        const Hop& hop;
    };

    static const auto ofHop = [](int64_t PathHop::*time) {
        return [time](const HopOf& h) { return Us(h.hop.hop.*time); };
    };
    static const Object<HopOf> hop{
        {"link: Link out of the port",
         [](const HopOf& h) { return h.path.m_ports[h.hop.hop.port]; }},
        {"call: The collective",
         [](const HopOf& h) { return h.path.m_path[h.hop.call].task->name; }},
        {"time_us (us): Longest message there, from its arrival at the port (at a NIC: its post) "
         "to the next one",
         ofHop(&PathHop::time)},
        {"waited_us (us): Of it: not serialization, cable or pipeline", ofHop(&PathHop::waited)},
        Key<HopOf>("why: Cause of most of the wait, as the parts are named; null: no wait",
                   [](const HopOf& h) { return GetTimeShareName(h.hop.why); })
            .NullUnless([](const HopOf& h) { return h.hop.hop.waited != 0; }),
        Key<HopOf>("behind: In a switch: collective whose packets were in front; null: none",
                   [](const HopOf& h) { return h.path.m_tags[h.hop.hop.behind]; })
            .NullUnless([](const HopOf& h) { return h.hop.hop.behind < h.path.m_tags.size(); }),
        Key<HopOf>("note: Faults of the link meanwhile, or that it was the busiest of its kind",
                   [](const HopOf& h) { return h.path.NoteOf(h.hop); })
            .Only([](const HopOf& h) { return !h.path.NoteOf(h.hop).empty(); })};
    static const auto itself = [](const P& path) -> const P& { return path; };
    static const Object<P> keys{
        {"step: The step, from 0, warm-up included", [](const P& p) { return p.m_kept; }},
        {"start_us (us): Begin of the path: its first rank begins the step",
         [](const P& p) { return Us(p.m_path.front().start); }},
        {"end_us (us): End of the step", [](const P& p) { return Us(p.m_path.back().end); }},
        {"total_us (us): end_us - start_us: compute_us + collectives_us (+ parts_us.offload)",
         [](const P& p) { return Us(p.Total()); }},
        {"before_step_us (us): Of it: before all GPUs had ended the step before; total_us less "
         "this is the step time",
         [](const P& p) { return Us(p.m_begin - p.m_path.front().start); }},
        {"compute_us (us): Computing on the path", [](const P& p) { return Us(p.m_computing); }},
        {"collectives_us (us): Collectives and messages on the path",
         [](const P& p) { return Us(p.Total() - p.m_computing - p.m_onHost); }},
        {"by_parallelism_us: collectives_us by the parallelism of the collective or message",
         itself,
         ParallelismKeys()},
        {"parts_us (us): Parts of the path, together total_us", itself, PartKeys(false)},
        {"share (0 to 1): The same over total_us", itself, PartKeys(true)},
        {"hops: Up to 10 ports where messages of the path were longest",
         [](const P& p) {
             std::vector<HopOf> hops;
             for (const Hop& one : p.m_hops)
             {
                 hops.push_back({p, one});
             }
             return hops;
         },
         hop},
        {"calls (count): Calls on the path; critical_path.csv has the first 1,000", &P::CountCalls},
        {"messages (count): Messages on the path; critical_messages.csv has the longest 500",
         [](const P& p) { return p.m_nMessages; }}};
    return keys;
}

nlohmann::ordered_json
CriticalPath::ToJson() const
{
    return m_path.empty() ? Json() : Keys().ToJson(*this);
}

} // namespace reports
