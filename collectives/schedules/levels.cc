/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/levels.h"

#include "collectives/core/placement.h"
#include "collectives/core/registry.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace coll
{

namespace
{

constexpr uint32_t kMostLevels = 16;

using Units = std::vector<std::vector<Rank>>;

/// A level's group, seen by its algorithm: a server, or servers with one GPU each.
Placement
PlacementOfLevel(uint32_t level, uint32_t size)
{
    return level == 0 ? UniformPlacement(1, size) : UniformPlacement(size, 1);
}

/// The options of one lane of the whole.
AlgorithmOptions
OptionsOfLevel(AlgorithmOptions options)
{
    options.channels = 1;
    options.levels.clear();
    return options;
}

bool
IsOutermost(const Levels& levels, uint32_t level)
{
    return level + 1 == levels.Count();
}

std::vector<Op>
OpsOfLevel(const Levels& levels, uint32_t level)
{
    return IsOutermost(levels, level) ? std::vector{Op::kAllReduce}
                                      : std::vector{Op::kReduceScatter, Op::kAllGather};
}

/// The units put together by the group that they are in; empty if one is in several.
Units
Grouped(const Units& units, const std::vector<uint32_t>& groupOf)
{
    Units groups;
    std::unordered_map<uint32_t, size_t> index;
    for (const auto& unit : units)
    {
        const uint32_t group = groupOf[unit.front()];
        for (const Rank r : unit)
        {
            if (groupOf[r] != group)
            {
                return {};
            }
        }
        const auto [found, isNew] = index.try_emplace(group, groups.size());
        if (isNew)
        {
            groups.emplace_back();
        }
        auto& ranks = groups[found->second];
        ranks.insert(ranks.end(), unit.begin(), unit.end());
    }
    return groups;
}

} // namespace

size_t
MostLevels(const Placement& placement)
{
    return placement.groupOf.size() + 2;
}

Levels::Levels(const Placement& placement, size_t count)
{
    Units units = RanksByServer(placement);
    uint32_t stride = 1;
    const auto addLevel = [&](const Units& groups, const std::string& name) {
        for (const auto& ranks : groups)
        {
            if (m_problem.empty() && ranks.size() != groups.front().size())
            {
                m_problem = "it needs the same number of ranks in every " + name +
                            ", but one has " + std::to_string(groups.front().size()) +
                            " and one has " + std::to_string(ranks.size());
            }
        }
        const auto size = static_cast<uint32_t>(groups.front().size());
        m_sizes.push_back(size / stride);
        m_strides.push_back(stride);
        stride = size;
    };
    addLevel(units, "server");
    for (size_t level = MostLevels(placement) - count;
         level < placement.groupOf.size() && m_problem.empty();
         level++)
    {
        const std::string name = "group of level " + std::to_string(level + 1);
        units = Grouped(units, placement.groupOf[level]);
        if (units.empty())
        {
            m_problem = "a " + name + " has a part of what is one below it";
            return;
        }
        addLevel(units, name);
    }
    m_sizes.push_back(static_cast<uint32_t>(units.size()));
    m_strides.push_back(stride);
    m_positions.resize(placement.serverOf.size());
    for (const auto& ranks : units)
    {
        for (const Rank r : ranks)
        {
            m_positions[r] = static_cast<uint32_t>(m_ranks.size());
            m_ranks.push_back(r);
        }
    }
}

std::string
WhyNoLevels(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    const size_t most = std::min<size_t>(MostLevels(placement), kMostLevels);
    if (options.levels.size() < 2 || options.levels.size() > most)
    {
        const std::string count = std::string(most > 2 ? "2 to " : "") + std::to_string(most);
        return "there are " + count + " levels, and algorithms for " +
               std::to_string(options.levels.size()) +
               "; allowed: " + (most < 2 ? "none, without --levels" : count + " names");
    }
    const Levels levels(placement, options.levels.size());
    if (!levels.Problem().empty())
    {
        return levels.Problem();
    }
    for (uint32_t level = 0; level < levels.Count(); level++)
    {
        const std::string& name = options.levels[level];
        const std::string of = "level " + std::to_string(level) + ": ";
        for (const Op op : OpsOfLevel(levels, level))
        {
            const Algorithm* algorithm = Find(op, name);
            if (algorithm == nullptr)
            {
                return of + name + " does not do " + OpName(op) + "; " + AlgorithmNames(op) + " do";
            }
            const InNetwork uses = algorithm->Uses();
            if (uses.serverSwitch || uses.fabricSwitches)
            {
                return of + name + " adds up in switches, which a level does not";
            }
            const uint32_t size = levels.Size(level);
            const Placement part = PlacementOfLevel(level, size);
            const Collective whole{op, what.bytes, size, 0};
            const std::string why = algorithm->WhyNot(whole, part, OptionsOfLevel(options));
            if (!why.empty())
            {
                return of + why;
            }
            const Collective least{op, 0, size, 0};
            const auto schedule = algorithm->Make(least, part, OptionsOfLevel(options));
            if (schedule->Lanes(0) > 1)
            {
                return of + name + " takes several lanes at once, and a level has one";
            }
            if (algorithm->Make({op, uint64_t{size} << 10, size, 0}, part, OptionsOfLevel(options))
                    ->ScratchBytes(0) > 0)
            {
                return of + name + " needs room to work in, which a level has not";
            }
        }
    }
    return {};
}

LevelsAllReduce::LevelsAllReduce(const Collective& what,
                                 const Placement& placement,
                                 const AlgorithmOptions& options)
    : Schedule(what),
      m_levels(placement, options.levels.size()),
      m_ring(placement, ChannelCount(placement, options)),
      m_parts(what.bytes, m_ring.Channels()),
      m_phases(m_levels.Count())
{
    uint64_t shorter = m_parts.Each();
    for (uint32_t level = 0; level < m_levels.Count(); level++)
    {
        const uint32_t size = m_levels.Size(level);
        const auto make = [&](Op op, uint64_t bytes) {
            return Find(op, options.levels[level])
                ->Make({op, bytes, size, 0},
                       PlacementOfLevel(level, size),
                       OptionsOfLevel(options));
        };
        Level& phase = m_phases[level];
        phase.shorter = shorter;
        for (const uint32_t more : {0, 1})
        {
            if (IsOutermost(m_levels, level))
            {
                phase.out[more] = make(Op::kAllReduce, shorter + more);
                continue;
            }
            phase.out[more] = make(Op::kReduceScatter, shorter + more);
            phase.back[more] = make(Op::kAllGather, shorter + more);
        }
        // Pieces of x and of x + 1 bytes have two lengths in all, since all pieces of x + 1 are
        // alike if they are longer than those of x.
        shorter /= size;
    }
}

template <class Visit>
void
LevelsAllReduce::ForEachPhase(Rank rank, Lane lane, Visit visit) const
{
    std::array<Range, kMostLevels> ranges;
    Range range = PartOf(lane);
    for (uint32_t level = 0; level < m_levels.Count(); level++)
    {
        ranges[level] = range;
        const Level& phase = m_phases[level];
        if (!visit(level, *phase.out[range.bytes - phase.shorter], range))
        {
            return;
        }
        const Range piece =
            Partition(range.bytes, m_levels.Size(level)).Part(m_levels.CoordinateOf(rank, level));
        range = {range.offset + piece.offset, piece.bytes};
    }
    for (uint32_t level = m_levels.Count() - 1; level-- > 0;)
    {
        const Level& phase = m_phases[level];
        if (!visit(level, *phase.back[ranges[level].bytes - phase.shorter], ranges[level]))
        {
            return;
        }
    }
}

Lane
LevelsAllReduce::Lanes(Rank /* rank */) const
{
    return m_ring.Channels();
}

uint32_t
LevelsAllReduce::Channel(Lane lane) const
{
    return m_ring.ChannelNumber(lane);
}

uint64_t
LevelsAllReduce::PartsOfMessage() const
{
    return m_ring.Channels();
}

bool
LevelsAllReduce::CopiesOut() const
{
    return std::any_of(m_phases.begin(), m_phases.end(), [](const Level& phase) {
        return phase.out[1]->CopiesOut() || (phase.back[1] && phase.back[1]->CopiesOut());
    });
}

StepIndex
LevelsAllReduce::Steps(Rank rank, Lane lane) const
{
    StepIndex steps = 0;
    ForEachPhase(rank, lane, [&](uint32_t level, const Schedule& schedule, const Range&) {
        const uint32_t own = m_levels.CoordinateOf(rank, level);
        steps += schedule.Lanes(own) > 0 ? schedule.Steps(own, 0) : 0;
        return true;
    });
    return steps;
}

Step
LevelsAllReduce::At(Rank rank, Lane lane, StepIndex k) const
{
    Step step;
    ForEachPhase(rank, lane, [&](uint32_t level, const Schedule& schedule, const Range& range) {
        const uint32_t own = m_levels.CoordinateOf(rank, level);
        const StepIndex steps = schedule.Lanes(own) > 0 ? schedule.Steps(own, 0) : 0;
        if (k >= steps)
        {
            k -= steps;
            return true;
        }
        step = schedule.At(own, 0, k);
        if (step.recvPeer != kNoRank)
        {
            step.recvPeer = m_levels.Other(rank, level, step.recvPeer);
            step.recvOffset += range.offset;
        }
        if (step.sendPeer != kNoRank)
        {
            step.sendPeer = m_levels.Other(rank, level, step.sendPeer);
            step.sendOffset += range.offset;
        }
        return false;
    });
    return step;
}

Cost
LevelsAllReduce::CostOf(const Collective& what,
                        const Placement& placement,
                        const AlgorithmOptions& options)
{
    Cost cost;
    const Levels levels(placement, options.levels.size());
    const uint32_t channels = ChannelCount(placement, options);
    // A channel's part at a level is the part that the levels inside have left.
    uint64_t inside = 1;
    uint64_t chainOutside = 0;
    uint32_t groups = what.ranks;
    for (uint32_t level = 0; level < levels.Count(); level++)
    {
        const uint32_t size = levels.Size(level);
        groups /= size;
        for (const Op op : OpsOfLevel(levels, level))
        {
            const auto costOf = [&](uint64_t bytes) {
                return *Find(op, options.levels[level])
                            ->CostOf({op, bytes, size, 0},
                                     PlacementOfLevel(level, size),
                                     OptionsOfLevel(options));
            };
            const Cost part = costOf(what.bytes / inside / channels);
            // The bytes grow with the shared amount, whatever the lengths of its parts; groups of a
            // level side by side share S.
            const uint64_t unit = uint64_t{size} << 20;
            cost.totalBytes += costOf(unit).totalBytes / unit * groups * what.bytes;
            cost.chain += part.chain;
            chainOutside += level > 0 ? part.chain : 0;
            cost.posts += part.posts * channels;
            cost.serialBytes += part.serialBytes * channels;
            cost.sentPerRank += part.sentPerRank * channels;
            cost.reducedPerRank += part.reducedPerRank * channels;
            if (level > 0)
            {
                // All ranks of a server are members of groups of their own.
                cost.outOfServer += part.outOfServer * channels * levels.Size(0);
            }
        }
        inside *= size;
    }
    cost.chainOutside = chainOutside;
    return cost;
}

} // namespace coll
