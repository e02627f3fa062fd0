/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture-blocks.h"

#include "collectives/block-sizes.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/training/message-match.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace formats
{

using training::StepGraph;
using training::Task;
using training::TaskId;
using training::TrainingPlan;

namespace
{

constexpr uint32_t kNoBlock = UINT32_MAX;
constexpr uint32_t kFewest = 3;        ///< blocks of a model that is worth it
constexpr uint32_t kMostBlocks = 4096; ///< of numbers in paths that count blocks

/// A module with numbered children, and a child's number: "blocks", 3.
struct Numbered
{
    std::string module;
    uint32_t number = 0;
};

/// All of a path: of "layer1.0.conv.2" those of "layer1" and of "layer1.0.conv".
std::vector<Numbered>
NumbersOf(const std::string& path)
{
    std::vector<Numbered> all;
    for (std::size_t begin = 0; begin < path.size();)
    {
        const std::size_t end = std::min(path.find('.', begin), path.size());
        uint32_t number = 0;
        const auto [stop, error] = std::from_chars(&path[begin], path.data() + end, number);
        if (end > begin && error == std::errc() && stop == path.data() + end &&
            number < kMostBlocks)
        {
            all.push_back({path.substr(0, begin), number});
        }
        begin = end + 1;
    }
    return all;
}

/// Equal numbers for tasks that are alike, but for what they wait for.
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
        // What the program did in between may be measured, and differ.
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

/// Blocks that a rank goes through one after another, up or down.
struct Pass
{
    bool up = true;
    uint32_t lowest = 0;
    std::vector<std::size_t> starts; ///< by number of the block, from the lowest: its first task

    uint32_t Highest() const
    {
        return lowest + static_cast<uint32_t>(starts.size()) - 1;
    }

    std::size_t StartOf(uint32_t block) const
    {
        return starts[block - lowest];
    }
};

/// Where a pass repeats itself: what is true of `period` tasks holds all through [begin, end).
struct Repeats
{
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t period = 0; ///< 0: it does not
};

/// What is taken out of a graph.
struct Cut
{
    std::size_t begin = 0;
    std::size_t end = 0;
    Repeats repeats;
};

/// What one role does with the blocks of a module.
class RoleBlocks
{
  public:
    /// \param blockOf by task, or kNoBlock
    RoleBlocks(const StepGraph& graph,
               const std::vector<uint32_t>& kinds,
               const std::vector<uint32_t>& blockOf)
        : m_graph(graph),
          m_kinds(kinds)
    {
        FindPasses(blockOf);
    }

    /// How many it goes through.
    uint32_t Count() const
    {
        return m_passes.empty() ? 0 : m_highest - m_lowest + 1;
    }

    /// With fewer blocks: nothing if it does not repeat itself so, with a period of so many.
    std::optional<StepGraph> Without(uint32_t blocks, uint32_t period) const;

  private:
    void FindPasses(const std::vector<uint32_t>& blockOf);
    Repeats RepeatsOf(const Pass& pass, uint32_t blocks) const;
    std::optional<std::vector<Cut>> CutsOf(const std::vector<Repeats>& repeats,
                                           uint32_t first,
                                           uint32_t blocks,
                                           uint32_t period) const;
    bool WaitsAsBefore(std::size_t task, std::size_t before, const Cut& cut) const;
    std::optional<StepGraph> Take(const std::vector<Cut>& cuts) const;

    const StepGraph& m_graph;
    const std::vector<uint32_t>& m_kinds;
    std::vector<Pass> m_passes;
    uint32_t m_lowest = kNoBlock;
    uint32_t m_highest = 0;
};

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

Repeats
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

std::optional<std::vector<Cut>>
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
        // Behind a cut a task stands where another one of its kind would, so many periods before,
        // and waits for what that waits for: what is gathered a block ahead stays a block ahead.
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
    // Of the middle, or as near to it as it goes: the ends may be others.
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

/// The roles of a plan with the blocks of one module.
class Blocks
{
  public:
    Blocks(const std::string& module,
           const ModulesOfTasks& modules,
           const std::vector<std::vector<uint32_t>>& kinds,
           const TrainingPlan& plan);

    /// Of each rank that has any; 0: they differ.
    uint32_t Count() const
    {
        return m_count;
    }

    /// All roles with so many blocks, if they repeat themselves with this period.
    std::optional<std::vector<StepGraph>> With(uint32_t blocks, uint32_t period) const;

    /// The fewest that can be simulated with a period; the count, if none can be left out.
    uint32_t Fewest(uint32_t period) const;

  private:
    bool FitsTogether(const std::vector<StepGraph>& roles) const;

    const TrainingPlan& m_plan;
    std::vector<RoleBlocks> m_roles;
    uint32_t m_count = 0;
};

Blocks::Blocks(const std::string& module,
               const ModulesOfTasks& modules,
               const std::vector<std::vector<uint32_t>>& kinds,
               const TrainingPlan& plan)
    : m_plan(plan)
{
    std::vector<uint32_t> blockOf; // by path
    for (const std::string& path : modules.paths)
    {
        blockOf.push_back(kNoBlock);
        for (const Numbered& one : NumbersOf(path))
        {
            blockOf.back() = one.module == module ? one.number : blockOf.back();
        }
    }
    bool differ = false;
    for (std::size_t role = 0; role < plan.roles.size(); ++role)
    {
        const auto& tasks = plan.roles[role].tasks;
        std::vector<uint32_t> ofTask(tasks.size(), kNoBlock);
        for (std::size_t i = 0; role < modules.ofTask.size() && i < tasks.size(); ++i)
        {
            // Of other streams some is issued ahead of its block.
            ofTask[i] = Computes(tasks[i]) ? blockOf[modules.ofTask[role][i]] : kNoBlock;
        }
        m_roles.emplace_back(plan.roles[role], kinds[role], ofTask);
        const uint32_t count = m_roles.back().Count();
        differ = differ || (count > 0 && m_count > 0 && count != m_count);
        m_count = count > 0 ? count : m_count;
    }
    m_count = differ ? 0 : m_count;
}

bool
Blocks::FitsTogether(const std::vector<StepGraph>& roles) const
{
    // Ranks of a group call the same collectives: as many are left out everywhere.
    std::map<uint32_t, std::set<std::size_t>> leftOut; // by kind of groups
    for (std::size_t role = 0; role < roles.size(); ++role)
    {
        std::map<uint32_t, std::size_t> count;
        for (const Task& task : m_plan.roles[role].tasks)
        {
            count[task.group] += task.kind == training::TaskKind::kCollective;
        }
        std::map<uint32_t, std::size_t> kept;
        for (const Task& task : roles[role].tasks)
        {
            kept[task.group] += task.kind == training::TaskKind::kCollective;
        }
        for (const auto& [group, all] : count)
        {
            if (all > 0)
            {
                leftOut[group].insert(all - kept[group]);
            }
        }
    }
    if (std::any_of(leftOut.begin(), leftOut.end(), [](const auto& one) {
            return one.second.size() > 1;
        }))
    {
        return false;
    }
    TrainingPlan plan = m_plan;
    plan.roles = roles;
    const training::MessageMatch match(plan);
    return match.Problems().empty() && match.Unmatched().empty();
}

std::optional<std::vector<StepGraph>>
Blocks::With(uint32_t blocks, uint32_t period) const
{
    if (blocks >= m_count || (m_count - blocks) % period != 0)
    {
        return std::nullopt;
    }
    std::vector<StepGraph> roles;
    for (const RoleBlocks& role : m_roles)
    {
        auto graph = role.Without(m_count - blocks, period);
        if (!graph)
        {
            return std::nullopt;
        }
        roles.push_back(std::move(*graph));
    }
    return FitsTogether(roles) ? std::optional(std::move(roles)) : std::nullopt;
}

uint32_t
Blocks::Fewest(uint32_t period) const
{
    uint32_t fewest = m_count;
    for (uint32_t left = m_count % period; left < m_count; left += period)
    {
        if (With(left, period))
        {
            return left;
        }
    }
    return fewest;
}

/// Modules with numbered children in which ranks compute, the longest first.
std::vector<std::string>
Candidates(const ModulesOfTasks& modules, const TrainingPlan& plan)
{
    std::vector<double> ofPath(modules.paths.size());
    for (std::size_t role = 0; role < modules.ofTask.size(); ++role)
    {
        const auto& tasks = plan.roles[role].tasks;
        for (std::size_t i = 0; i < tasks.size(); ++i)
        {
            ofPath[modules.ofTask[role][i]] += static_cast<double>(tasks[i].duration.ps);
        }
    }

    struct Module
    {
        double time = 0;
        std::set<uint32_t> numbers;
    };

    std::map<std::string, Module> all;
    for (std::size_t i = 0; i < modules.paths.size(); ++i)
    {
        for (const Numbered& one : NumbersOf(modules.paths[i]))
        {
            Module& module = all[one.module];
            module.time += ofPath[i];
            module.numbers.insert(one.number);
        }
    }
    std::vector<std::string> names;
    for (const auto& [name, module] : all)
    {
        if (module.numbers.size() >= kFewest)
        {
            names.push_back(name);
        }
    }
    std::stable_sort(names.begin(), names.end(), [&all](const auto& a, const auto& b) {
        return all[a].time > all[b].time;
    });
    return names;
}

/// What --layers may be: numbers of blocks below which there is another one.
std::string
Allowed(const std::map<uint32_t, uint32_t>& fewest, uint32_t count)
{
    std::set<uint32_t> numbers;
    for (const auto& [period, least] : fewest)
    {
        for (uint32_t n = least + period; n < count; n += period)
        {
            numbers.insert(n);
        }
    }
    std::string text;
    for (auto n = numbers.begin(); n != numbers.end();)
    {
        const uint32_t first = *n;
        uint32_t last = first;
        while (++n != numbers.end() && *n == last + 1)
        {
            last = *n;
        }
        text += std::to_string(first) + (last == first ? "" : " to " + std::to_string(last)) + ", ";
    }
    return text + "or all " + std::to_string(count);
}

/// Numbers of blocks to simulate, descending, as of a model of the zoo: about two thirds and a
/// third of the largest.
std::vector<uint32_t>
Sizes(uint32_t layers, uint32_t fewest, uint32_t period)
{
    std::vector<uint32_t> sizes{layers};
    for (const uint32_t thirds : {2U, 1U})
    {
        const uint32_t wanted = std::max((layers * thirds + 2) / 3, fewest);
        const uint32_t size = std::min(fewest + (wanted - fewest + period - 1) / period * period,
                                       sizes.back() >= period ? sizes.back() - period : 0);
        if (size >= fewest && size < sizes.back())
        {
            sizes.push_back(size);
        }
    }
    return sizes;
}

} // namespace

FewerBlocks
SetFewerBlocks(uint32_t layers, const ModulesOfTasks& modules, TrainingPlan* plan)
{
    std::vector<std::vector<uint32_t>> kinds;
    for (const StepGraph& role : plan->roles)
    {
        kinds.push_back(KindsOfTasks(role));
    }
    FewerBlocks made;
    for (const std::string& module : Candidates(modules, *plan))
    {
        const Blocks blocks(module, modules, kinds, *plan);
        const uint32_t count = blocks.Count();
        if (count < kFewest)
        {
            continue;
        }
        std::map<uint32_t, uint32_t> fewest; // by period; where two sizes are to be had
        for (uint32_t period = 1; period * 2 < count; ++period)
        {
            const bool known = std::any_of(fewest.begin(), fewest.end(), [period](const auto& one) {
                return period % one.first == 0;
            });
            const uint32_t least = known ? count : blocks.Fewest(period);
            if (least + period < count)
            {
                fewest[period] = least;
            }
        }
        if (fewest.empty())
        {
            continue; // others further in may be alike
        }
        made.module = module.substr(0, module.size() - (module.empty() ? 0 : 1));
        made.whyNot = "a rank computes in " + std::to_string(count) + " blocks" +
                      (module.empty() ? "" : " of \"" + rdma::Shown(made.module, 60) + "\"") +
                      "; allowed: " + Allowed(fewest, count);
        const auto period = std::find_if(fewest.begin(), fewest.end(), [&](const auto& one) {
            return layers < count && (count - layers) % one.first == 0 &&
                   layers >= one.second + one.first;
        });
        std::vector<StepGraph> roles;
        std::vector<training::PlanSize> sizes;
        for (const uint32_t size : period == fewest.end()
                                       ? std::vector<uint32_t>()
                                       : Sizes(layers, period->second, period->first))
        {
            if (auto of = blocks.With(size, period->first))
            {
                sizes.push_back({size, static_cast<uint32_t>(roles.size())});
                std::move(of->begin(), of->end(), std::back_inserter(roles));
            }
        }
        if (layers == count)
        {
            made.whyNot.clear();
        }
        else if (sizes.size() > 1 && sizes[0].blocks == layers)
        {
            made.whyNot.clear();
            made.period = period->first;
            plan->roles = std::move(roles);
            plan->sizes = std::move(sizes);
            plan->blocks = count;
        }
        return made;
    }
    made.whyNot = "no blocks of the captured step repeat themselves exactly (operators, "
                  "collectives and waits of modules that are numbered, as blocks.0, blocks.1, "
                  "...), three or more on each rank; allowed: all of them, without --layers";
    return made;
}

} // namespace formats
