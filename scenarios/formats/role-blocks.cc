/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/role-blocks.h"

#include "collectives/core/block-sizes.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace formats
{

using training::StepGraph;
using training::Task;
using training::TaskId;

std::vector<uint32_t>
KindsOfTasks(const StepGraph& graph)
{
    using Kind = std::tuple<training::TaskKind,
                            training::Phase,
                            uint16_t,
                            int64_t,
                            coll::Op,
                            uint64_t,
                            uint32_t,
                            int32_t,
                            std::size_t,
                            std::string>;
    std::map<Kind, uint32_t> kinds;
    std::vector<const coll::BlockSizes*> sizes{nullptr};
    std::vector<uint32_t> all;
    all.reserve(graph.tasks.size());
    for (const Task& task : graph.tasks)
    {
        // The program's work in between may be measured, and differ.
        const bool measured = task.kind == training::TaskKind::kHost && task.bytes == 0;
        const auto same = std::find_if(sizes.begin(), sizes.end(), [&task](const auto* one) {
            return one == task.blocks.get() ||
                   (one && task.blocks && coll::SameBlocks(one, task.blocks.get()));
        });
        const auto size = static_cast<std::size_t>(same - sizes.begin());
        if (same == sizes.end())
        {
            sizes.push_back(task.blocks.get());
        }
        all.push_back(kinds
                          .try_emplace(Kind{task.kind,
                                            task.phase,
                                            task.stream,
                                            measured ? 0 : task.duration.ps,
                                            task.op,
                                            task.bytes,
                                            task.group,
                                            task.peerOffset,
                                            size,
                                            task.name},
                                       static_cast<uint32_t>(kinds.size()))
                          .first->second);
    }
    return all;
}

void
RoleBlocks::FindPasses(const std::vector<uint32_t>& blockOf)
{
    std::vector<std::pair<uint32_t, std::size_t>> visits; // block, its first task
    for (std::size_t i = 0; i < blockOf.size(); ++i)
    {
        if (blockOf[i] != kNoBlock && (visits.empty() || visits.back().first != blockOf[i]))
        {
            visits.emplace_back(blockOf[i], i);
        }
    }
    for (std::size_t first = 0; first + 1 < visits.size();)
    {
        const bool up = visits[first + 1].first > visits[first].first;
        std::size_t last = first;
        while (last + 1 < visits.size() &&
               visits[last + 1].first == visits[last].first + (up ? 1 : -1))
        {
            ++last;
        }
        if (last > first)
        {
            Pass& pass = m_passes.emplace_back();
            pass.up = up;
            pass.lowest = visits[up ? first : last].first;
            for (std::size_t i = first; i <= last; ++i)
            {
                pass.starts.push_back(visits[i].second);
            }
            if (!up)
            {
                std::reverse(pass.starts.begin(), pass.starts.end());
            }
            m_lowest = std::min(m_lowest, pass.lowest);
            m_highest = std::max(m_highest, pass.Highest());
        }
        first = std::max(last, first + 1);
    }
}

RoleBlocks::Repeats
RoleBlocks::RepeatsOf(const Pass& pass, uint32_t blocks) const
{
    const auto count = static_cast<uint32_t>(pass.starts.size());
    if (count < blocks + 1)
    {
        return {};
    }
    // The longest stretch: the first and the last blocks may be others, or one in between.
    Repeats longest;
    for (uint32_t i = 0; i + blocks < count; ++i)
    {
        const std::size_t from = std::min(pass.starts[i], pass.starts[i + blocks]);
        const std::size_t period = std::max(pass.starts[i], pass.starts[i + blocks]) - from;
        if (period == longest.period && from >= longest.begin && from + period <= longest.end)
        {
            continue; // in it
        }
        std::size_t begin = from;
        std::size_t end = from;
        while (end + period < m_kinds.size() && m_kinds[end] == m_kinds[end + period])
        {
            ++end;
        }
        while (begin > 0 && m_kinds[begin - 1] == m_kinds[begin - 1 + period])
        {
            --begin;
        }
        if (end - begin >= period && end + period - begin > longest.end - longest.begin)
        {
            longest = {begin, end + period, period};
        }
    }
    return longest;
}

std::optional<std::vector<RoleBlocks::Cut>>
RoleBlocks::CutsOf(const std::vector<Repeats>& repeats,
                   uint32_t first,
                   uint32_t blocks,
                   uint32_t period) const
{
    std::vector<Cut> cuts;
    const uint32_t last = first + blocks - 1;
    for (std::size_t i = 0; i < m_passes.size(); ++i)
    {
        const Pass& pass = m_passes[i];
        if (pass.Highest() < first || pass.lowest > last)
        {
            continue;
        }
        // A block is left on both sides, so that its first task tells where the cut ends.
        const uint32_t enter = pass.up ? first : last;
        const uint32_t leave = pass.up ? last + 1 : first - 1;
        if (first <= pass.lowest || last >= pass.Highest() || repeats[i].period == 0)
        {
            return std::nullopt;
        }
        const Cut cut{pass.StartOf(enter), pass.StartOf(leave), repeats[i]};
        if (cut.begin < repeats[i].begin || cut.end > repeats[i].end ||
            cut.end - cut.begin != blocks / period * repeats[i].period)
        {
            return std::nullopt;
        }
        cuts.push_back(cut);
    }
    return cuts;
}

/// A cut's length earlier a task of the same kind waits for the one that is as much earlier. (The
/// last block's need not be like the others to the end: it gathers nothing ahead.)
bool
RoleBlocks::WaitsAsBefore(std::size_t task, std::size_t before, const Cut& cut) const
{
    const std::size_t length = cut.end - cut.begin;
    if (before < cut.repeats.begin + length || m_kinds[task] != m_kinds[task - length])
    {
        return false;
    }
    const auto& after = m_graph.tasks[task - length].after;
    return std::find(after.begin(), after.end(), before - length) != after.end();
}

std::optional<StepGraph>
RoleBlocks::Take(const std::vector<Cut>& cuts) const
{
    const auto cutOf = [&cuts](std::size_t task) -> const Cut* {
        const auto after =
            std::upper_bound(cuts.begin(), cuts.end(), task, [](std::size_t t, const Cut& cut) {
                return t < cut.end;
            });
        return after != cuts.end() && task >= after->begin ? &*after : nullptr;
    };
    StepGraph made;
    made.streams = m_graph.streams;
    made.tasks.reserve(m_graph.tasks.size());
    constexpr TaskId kGone = UINT32_MAX;
    std::vector<TaskId> now(m_graph.tasks.size(), kGone); // where a task went
    for (std::size_t i = 0; i < m_graph.tasks.size(); ++i)
    {
        if (cutOf(i))
        {
            continue;
        }
        Task task = m_graph.tasks[i];
        std::vector<TaskId> after;
        // After a cut a task takes the place of its counterpart, so many periods before, with that
        // one's dependencies. So a gather that is a block ahead stays a block ahead.
        const auto stands = std::find_if(cuts.begin(), cuts.end(), [i](const Cut& cut) {
            return i >= cut.end && i < cut.repeats.end + cut.repeats.period;
        });
        for (std::size_t before : task.after)
        {
            if (stands != cuts.end() && before < stands->end && WaitsAsBefore(i, before, *stands))
            {
                before -= stands->end - stands->begin;
            }
            else if (const Cut* cut = cutOf(before))
            {
                // The same task of the last period in front of the cut, else of the first behind;
                // else there is none left for it to wait for, as for the first of a bucket's kind.
                const Repeats& repeats = cut->repeats;
                const std::size_t back =
                    ((before - cut->begin) / repeats.period + 1) * repeats.period;
                const std::size_t on =
                    ((cut->end - 1 - before) / repeats.period + 1) * repeats.period;
                const bool inFront = before >= repeats.begin + back;
                before = inFront ? before - back : before + on;
                if (!inFront && (before >= repeats.end || before >= i))
                {
                    continue;
                }
            }
            if (now[before] == kGone)
            {
                return std::nullopt; // in another cut
            }
            after.push_back(now[before]);
        }
        task.after = std::move(after);
        std::sort(task.after.begin(), task.after.end());
        task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
        now[i] = static_cast<TaskId>(made.tasks.size());
        made.tasks.push_back(std::move(task));
    }
    return made;
}

std::optional<StepGraph>
RoleBlocks::Without(uint32_t blocks, uint32_t period) const
{
    if (m_passes.empty() || blocks == 0)
    {
        return m_graph;
    }
    std::vector<Repeats> repeats;
    for (const Pass& pass : m_passes)
    {
        repeats.push_back(RepeatsOf(pass, period));
    }
    // From the middle, or as near to it as possible: the ends may differ.
    if (Count() < blocks + 2)
    {
        return std::nullopt;
    }
    const uint32_t places = Count() - blocks + 1;
    for (uint32_t n = 0; n < 2 * places; ++n)
    {
        const int64_t at = int64_t{places / 2} + (n % 2 == 0 ? -int64_t{n / 2} : n / 2 + 1);
        if (at < 0 || at >= places)
        {
            continue;
        }
        const auto cuts = CutsOf(repeats, m_lowest + static_cast<uint32_t>(at), blocks, period);
        if (auto graph = cuts ? Take(*cuts) : std::nullopt)
        {
            return graph;
        }
    }
    return std::nullopt;
}

} // namespace formats
