/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture/capture-blocks.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/training.h"
#include "scenarios/formats/role-blocks.h"
#include "scenarios/options/member.h"
#include "scenarios/training/steps/message-match.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace formats
{

using training::StepGraph;
using training::Task;
using training::TrainingPlan;

namespace
{

constexpr uint32_t kFewest = 3;        ///< blocks of a model that is worth it
constexpr uint32_t kMostBlocks = 4096; ///< numbers in paths that count blocks are below

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

/// The roles of a plan with the blocks of one module.
class Blocks
{
  public:
    Blocks(const std::string& module,
           const ModulesOfTasks& modules,
           const std::vector<std::vector<uint32_t>>& kinds,
           const TrainingPlan& plan);

    /// The number of blocks in each rank that has any; 0: it differs.
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
            // Some tasks of other streams are issued ahead of their block.
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

/// The allowed values of --layers: numbers of blocks for which a smaller one exists.
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

/// Periods with which blocks repeat themselves, and the fewest blocks of each that are to be had:
/// those where there are two sizes.
std::map<uint32_t, uint32_t>
FewestByPeriod(const Blocks& blocks)
{
    std::map<uint32_t, uint32_t> fewest;
    for (uint32_t period = 1; period * 2 < blocks.Count(); ++period)
    {
        const bool known = std::any_of(fewest.begin(), fewest.end(), [period](const auto& one) {
            return period % one.first == 0;
        });
        const uint32_t least = known ? blocks.Count() : blocks.Fewest(period);
        if (least + period < blocks.Count())
        {
            fewest[period] = least;
        }
    }
    return fewest;
}

/// Sets roles and sizes of a plan, the largest with `layers` blocks. \param fewest with `period`
/// \return whether two sizes or more can be had
bool
SetSizes(const Blocks& blocks,
         uint32_t layers,
         uint32_t fewest,
         uint32_t period,
         TrainingPlan* plan)
{
    std::vector<StepGraph> roles;
    std::vector<training::PlanSize> sizes;
    for (const uint32_t size : Sizes(layers, fewest, period))
    {
        if (auto of = blocks.With(size, period))
        {
            sizes.push_back({size, static_cast<uint32_t>(roles.size())});
            std::move(of->begin(), of->end(), std::back_inserter(roles));
        }
    }
    if (sizes.size() < 2 || sizes[0].blocks != layers)
    {
        return false;
    }
    plan->roles = std::move(roles);
    plan->sizes = std::move(sizes);
    plan->blocks = blocks.Count();
    return true;
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
        const auto fewest =
            count < kFewest ? std::map<uint32_t, uint32_t>() : FewestByPeriod(blocks);
        if (fewest.empty())
        {
            continue; // others further in may be alike
        }
        made.module = module.substr(0, module.size() - (module.empty() ? 0 : 1));
        const auto period = std::find_if(fewest.begin(), fewest.end(), [&](const auto& one) {
            return layers < count && (count - layers) % one.first == 0 &&
                   layers >= one.second + one.first;
        });
        if (period != fewest.end() && SetSizes(blocks, layers, period->second, period->first, plan))
        {
            made.period = period->first;
        }
        else if (layers != count)
        {
            made.whyNot = "a rank computes in " + std::to_string(count) + " blocks" +
                          (module.empty() ? "" : " of \"" + rdma::Shown(made.module, 60) + "\"") +
                          "; allowed: " + Allowed(fewest, count);
        }
        return made;
    }
    made.whyNot = "no blocks of the captured step repeat themselves exactly (operators, "
                  "collectives and waits of modules that are numbered, as blocks.0, blocks.1, "
                  "...), three or more on each rank; allowed: all of them, without " +
                  scenario::Spell(&scenario::asked::Training::layers);
    return made;
}

} // namespace formats
