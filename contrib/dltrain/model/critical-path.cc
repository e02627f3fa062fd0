/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "critical-path.h"

#include "run-report.h"

#include <algorithm>

namespace dltrain
{

namespace
{

constexpr training::TaskId NO_TASK = UINT32_MAX;
constexpr std::size_t MOST_PARTS = 1000; //!< in stats.json

double
Us(int64_t ps)
{
    return static_cast<double>(ps) / 1e6;
}

bool
IsCollective(const training::Task& task)
{
    return task.kind == training::TaskKind::kCollective;
}

} // namespace

CriticalPath::CriticalPath(const training::TrainingPlan& plan)
    : m_plan(plan)
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
        for (training::TaskId t = 0; t < graph.tasks.size(); ++t)
        {
            before.push_back(std::exchange(last[graph.tasks[t].stream], t));
        }
        m_before.push_back(std::move(before));
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

void
CriticalPath::OnCall(const CallRecord& call)
{
    Step& step = m_steps[call.step];
    if (step.empty())
    {
        step.resize(m_offsets.back());
    }
    const auto task = static_cast<std::size_t>(call.task - call.graph->tasks.data());
    step[m_offsets[call.rank] + task] = {call.start, call.end};
}

void
CriticalPath::OnStep(uint32_t number)
{
    const auto found = m_steps.find(number);
    if (found == m_steps.end())
    {
        return;
    }
    const Step step = std::move(found->second);
    m_steps.erase(found);
    m_path.clear();
    m_kept = number;
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
    for (;;)
    {
        const uint32_t role = m_plan.roleOf[rank];
        const training::Task& call = m_plan.roles[role].tasks[task];
        int64_t waited = 0;
        if (IsCollective(call))
        {
            // All ranks of a group play roles in which the collective is the same task.
            int64_t first = Of(step, rank, task).start;
            for (const Rank other : *m_groupOf[call.group][rank])
            {
                const int64_t entered = Of(step, other, task).start;
                first = std::min(first, entered);
                if (m_plan.roleOf[other] == role && entered > Of(step, rank, task).start)
                {
                    rank = other;
                }
            }
            waited = Of(step, rank, task).start - first;
        }
        const int64_t start = Of(step, rank, task).start;
        m_path.push_back({&call, rank, start, end, waited});
        training::TaskId cause = NO_TASK;
        const auto consider = [&](training::TaskId t) {
            if (t != NO_TASK &&
                (cause == NO_TASK || Of(step, rank, t).end > Of(step, rank, cause).end))
            {
                cause = t;
            }
        };
        consider(m_before[role][task]);
        for (const training::TaskId t : call.after)
        {
            consider(t);
        }
        if (cause == NO_TASK)
        {
            break; // the step's beginning
        }
        task = cause;
        end = start;
    }
    std::reverse(m_path.begin(), m_path.end());
}

nlohmann::ordered_json
CriticalPath::ToJson(const TailAttribution* attribution, const std::vector<std::string>& tags) const
{
    nlohmann::ordered_json j;
    if (m_path.empty())
    {
        return j;
    }
    const int64_t total = m_path.back().end - m_path.front().start;
    int64_t computing = 0;
    double undivided = 0; // collectives without messages between servers
    std::array<double, static_cast<std::size_t>(TimeShare::COUNT)> parts{};
    auto list = nlohmann::ordered_json::array();
    for (const Part& part : m_path)
    {
        const int64_t length = part.end - part.start;
        nlohmann::ordered_json one{{"call", part.task->name},
                                   {"rank", part.rank},
                                   {"start_us", Us(part.start)},
                                   {"end_us", Us(part.end)}};
        if (IsCollective(*part.task))
        {
            one["waited_us"] = Us(part.waited);
            const auto tag = std::find(tags.begin(), tags.end(), part.task->name);
            const auto shares =
                attribution && tag != tags.end()
                    ? attribution->GetShares(static_cast<uint32_t>(tag - tags.begin()))
                    : std::optional<TailAttribution::Shares>{};
            for (std::size_t i = 0; shares && i < parts.size(); ++i)
            {
                parts[i] += (*shares)[i] * static_cast<double>(length);
            }
            undivided += shares ? 0 : static_cast<double>(length);
        }
        else
        {
            computing += length;
        }
        if (list.size() < MOST_PARTS)
        {
            list.push_back(std::move(one));
        }
    }
    const double whole = static_cast<double>(std::max<int64_t>(1, total));
    j["step"] = m_kept;
    j["start_us"] = Us(m_path.front().start);
    j["end_us"] = Us(m_path.back().end);
    j["total_us"] = Us(total);
    j["compute_us"] = Us(computing);
    j["collectives_us"] = Us(total - computing);
    j["share"] = {{"compute", static_cast<double>(computing) / whole}};
    for (std::size_t i = 0; i < parts.size(); ++i)
    {
        j["share"][GetTimeShareName(static_cast<TimeShare>(i))] = parts[i] / whole;
    }
    j["share"]["collectives_undivided"] = undivided / whole;
    j["calls"] = m_path.size();
    j["path"] = std::move(list);
    return j;
}

std::string
CriticalPath::InWords() const
{
    if (m_path.empty())
    {
        return "";
    }
    int64_t computing = 0;
    std::map<std::string, int64_t> collectives; // without what follows the last space: numbers
    const Part* latest = nullptr;
    for (const Part& part : m_path)
    {
        if (!IsCollective(*part.task))
        {
            computing += part.end - part.start;
            continue;
        }
        const std::string& name = part.task->name;
        const std::size_t space = name.find(' ');
        collectives[name.substr(0, space)] += part.end - part.start;
        if (part.waited > 0 && (!latest || part.waited > latest->waited))
        {
            latest = &part;
        }
    }
    std::string text = HumanTime(Us(computing)) + " computing";
    for (const auto& [name, ps] : collectives)
    {
        text += ", " + HumanTime(Us(ps)) + " " + name;
    }
    if (latest)
    {
        text += "; waited most for GPU " + std::to_string(latest->rank) + ": " +
                HumanTime(Us(latest->waited)) + " at " + latest->task->name;
    }
    return text;
}

} // namespace dltrain
