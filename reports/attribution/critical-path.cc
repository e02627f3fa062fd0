/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/critical-path.h"

#include <algorithm>

namespace reports
{

using coll::Rank;
using training::Communicates;

namespace
{

constexpr training::TaskId NO_TASK = UINT32_MAX;

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
CriticalPath::Straggling(const Step& step, Rank rank, training::TaskId task, int64_t length) const
{
    std::vector<int64_t> lengths;
    for (Rank other = 0; other < m_plan.ranks; ++other)
    {
        const Times& times = Of(step, other, task);
        if (m_plan.roleOf[other] == m_plan.roleOf[rank] && times.start >= 0)
        {
            lengths.push_back(times.end - times.start);
        }
    }
    const auto half = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
    std::nth_element(lengths.begin(), half, lengths.end());
    return std::max<int64_t>(0, length - *half);
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
            // (Whoever waits for a device that others use is no straggler.)
            if (Computes(call))
            {
                part.straggling = Straggling(step, rank, task, end - part.start);
                m_straggling += part.straggling;
            }
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

} // namespace reports
