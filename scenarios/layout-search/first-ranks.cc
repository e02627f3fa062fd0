/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/first-ranks.h"

#include "scenarios/training/expert-load.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/steps/layout.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace planner
{

namespace
{

using training::GroupOf;
using training::TrainingOptions;

/// Ways that are walked at most: assumed to be more than groups of one size can lie.
constexpr std::size_t kMostWays = 12;

/// Whether each dimension, with those counted ahead of it, fills servers or divides them. Ranks are
/// counted in tensor groups, then context and expert groups, then copies and stages or stages and
/// copies; each product is asked, so more orders than there are.
bool
FillsServers(const TrainingOptions& o, uint32_t gpus)
{
    const auto fills = [gpus](uint64_t ranks) { return gpus % ranks == 0 || ranks % gpus == 0; };
    const uint64_t tensor = o.tensor;
    const uint64_t context = tensor * o.context;
    const uint64_t expert = context * o.expert;
    const uint64_t stages = context * o.pipeline;
    return fills(tensor) && fills(context) && fills(expert) && fills(stages) &&
           fills(o.ranks / o.pipeline);
}

/// For each rank a number for how its group lies: members of each server, the largest first.
class Shapes
{
  public:
    Shapes(const TrainingOptions& o, uint32_t gpus)
        : m_of(o.ranks)
    {
        const training::Layout layout = o.GetLayout();
        for (const GroupOf group :
             {GroupOf::kTensor, GroupOf::kContext, GroupOf::kExpert, GroupOf::kGradient})
        {
            for (const auto& members : training::GroupsOf(layout, group))
            {
                std::map<coll::Rank, uint32_t> count;
                for (const coll::Rank rank : members)
                {
                    ++count[rank / gpus];
                }
                std::vector<uint32_t> shape;
                for (const auto& [server, here] : count)
                {
                    shape.push_back(here);
                }
                std::sort(shape.begin(), shape.end(), std::greater<>());
                const auto number = static_cast<uint32_t>(m_known.size());
                const uint32_t known = m_known.emplace(std::move(shape), number).first->second;
                for (const coll::Rank rank : members)
                {
                    m_of[rank].push_back(known);
                }
            }
        }
    }

    const std::vector<uint32_t>& Of(coll::Rank rank) const
    {
        return m_of[rank];
    }

  private:
    std::map<std::vector<uint32_t>, uint32_t> m_known;
    std::vector<std::vector<uint32_t>> m_of; ///< by rank, a number for each group
};

/// The share of all tokens that each rank's experts take; empty: all ranks take the same.
std::vector<double>
TokensOfRanks(const TrainingOptions& o)
{
    const auto routing = training::RoutingOf(o.model);
    if (!routing || o.moeSkew <= 0 || o.expert == 1)
    {
        return {};
    }
    const std::vector<double> shares = training::ExpertRankShares(*routing, o);
    std::vector<double> tokens(o.ranks, 0);
    for (const auto& group : training::GroupsOf(o.GetLayout(), GroupOf::kExpert))
    {
        for (std::size_t place = 0; place < group.size(); ++place)
        {
            tokens[group[place]] = shares[place];
        }
    }
    return tokens;
}

} // namespace

std::vector<coll::Rank>
FirstRanks(const TrainingOptions& o, uint32_t gpus)
{
    const bool fills = FillsServers(o, gpus);
    const std::vector<double> tokens = TokensOfRanks(o);
    if (o.kinds.empty() && fills && tokens.empty())
    {
        return {0};
    }
    const std::optional<Shapes> shapes = fills ? std::nullopt : std::optional(Shapes(o, gpus));
    std::map<std::vector<uint32_t>, std::size_t> seen; // places in `first`
    std::vector<coll::Rank> first;
    for (const auto& pipeline : training::GroupsOf(o.GetLayout(), GroupOf::kPipeline))
    {
        std::vector<uint32_t> way;
        for (std::size_t i = 0; i < pipeline.size(); ++i)
        {
            way.push_back(training::KindOfRank(o, pipeline[i]));
            if (shapes)
            {
                way.push_back(i > 0 && pipeline[i] / gpus == pipeline[i - 1] / gpus);
                const auto& own = shapes->Of(pipeline[i]);
                way.insert(way.end(), own.begin(), own.end());
            }
        }
        const coll::Rank rank = pipeline.front();
        const auto [at, isNew] = seen.try_emplace(std::move(way), first.size());
        if (isNew && first.size() < kMostWays)
        {
            first.push_back(rank);
        }
        else if (at->second < first.size() && !tokens.empty() &&
                 tokens[rank] > tokens[first[at->second]])
        {
            first[at->second] = rank; // all others of its expert group wait for it
        }
    }
    return first;
}

} // namespace planner
