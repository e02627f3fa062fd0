/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace training
{

namespace
{

constexpr const char* kNames[kDimensions] = {"tp", "cp", "ep", "dp", "pp"};

uint32_t
SizeOf(const Layout& layout, Dimension dimension)
{
    switch (dimension)
    {
    case Dimension::kTensor:
        return layout.tensor;
    case Dimension::kContext:
        return layout.context;
    case Dimension::kExpert:
        return 1; // lies within data and context
    case Dimension::kData:
        return layout.data;
    case Dimension::kPipeline:
        return layout.pipeline;
    }
    return 1;
}

uint32_t*
PlaceAlong(Place& place, Dimension dimension)
{
    switch (dimension)
    {
    case Dimension::kTensor:
        return &place.tensor;
    case Dimension::kContext:
        return &place.context;
    case Dimension::kExpert:
        return nullptr;
    case Dimension::kData:
        return &place.data;
    case Dimension::kPipeline:
        return &place.pipeline;
    }
    return nullptr;
}

std::size_t
DepthOf(const Layout& layout, Dimension dimension)
{
    return std::find(layout.order.begin(), layout.order.end(), dimension) - layout.order.begin();
}

/// Among the ranks that hold the same dense parameters, counted along the inner one of data and
/// context first.
uint32_t
ReplicaOf(const Layout& layout, const Place& place)
{
    const bool contextInside =
        DepthOf(layout, Dimension::kContext) < DepthOf(layout, Dimension::kData);
    return contextInside ? place.context + layout.context * place.data
                         : place.data + layout.data * place.context;
}

/// \return which experts the rank has, and which of their copies
std::pair<uint32_t, uint32_t>
ExpertPlace(const Layout& layout, const Place& place)
{
    const uint32_t replica = ReplicaOf(layout, place);
    if (DepthOf(layout, Dimension::kExpert) < DepthOf(layout, Dimension::kData))
    {
        return {replica % layout.expert, replica / layout.expert};
    }
    return {replica / layout.ExpertReplicas(), replica % layout.ExpertReplicas()};
}

} // namespace

std::string
DimensionOrderName(const DimensionOrder& order)
{
    std::string name;
    for (const Dimension dimension : order)
    {
        name += (name.empty() ? "" : "-") + std::string(kNames[static_cast<uint32_t>(dimension)]);
    }
    return name;
}

std::optional<DimensionOrder>
ParseDimensionOrder(std::string_view text)
{
    DimensionOrder order{};
    uint32_t seen = 0;
    for (uint32_t i = 0; i < kDimensions; ++i)
    {
        const std::string_view word = text.substr(0, text.find('-'));
        const auto* const found = std::find(std::begin(kNames), std::end(kNames), word);
        const auto index = static_cast<uint32_t>(found - std::begin(kNames));
        if (index == kDimensions || (seen >> index & 1) != 0)
        {
            return std::nullopt;
        }
        seen |= 1U << index;
        order[i] = static_cast<Dimension>(index);
        if (word.size() == text.size())
        {
            return i + 1 == kDimensions ? std::optional(order) : std::nullopt;
        }
        text.remove_prefix(word.size() + 1);
    }
    return std::nullopt;
}

Place
PlaceOf(const Layout& layout, coll::Rank rank)
{
    Place place;
    if (!layout.stageReplicas.empty())
    {
        place.tensor = rank % layout.tensor;
        place.data = rank / layout.tensor;
        while (place.data >= layout.stageReplicas[place.pipeline])
        {
            place.data -= layout.stageReplicas[place.pipeline++];
        }
        return place;
    }
    for (const Dimension dimension : layout.order)
    {
        const uint32_t size = SizeOf(layout, dimension);
        if (uint32_t* const along = PlaceAlong(place, dimension))
        {
            *along = rank % size;
        }
        rank /= size;
    }
    return place;
}

coll::Rank
RankAt(const Layout& layout, const Place& place)
{
    if (!layout.stageReplicas.empty())
    {
        return (layout.RanksBefore(place.pipeline) + place.data) * layout.tensor + place.tensor;
    }
    Place copy = place;
    coll::Rank rank = 0;
    coll::Rank stride = 1;
    for (const Dimension dimension : layout.order)
    {
        if (const uint32_t* const along = PlaceAlong(copy, dimension))
        {
            rank += *along * stride;
        }
        stride *= SizeOf(layout, dimension);
    }
    return rank;
}

std::string
GroupName(GroupOf group)
{
    constexpr const char* kGroupNames[kGroupKinds] = {"dp",
                                                      "dp-parameters",
                                                      "tp",
                                                      "pp",
                                                      "cp",
                                                      "ep",
                                                      "edp",
                                                      "edp-parameters",
                                                      "embedding",
                                                      "replicas"};
    return kGroupNames[static_cast<uint32_t>(group)];
}

std::vector<std::vector<coll::Rank>>
GroupsOf(const Layout& layout, GroupOf group)
{
    // A group has one key; within it ranks stand by `along`.
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<std::pair<uint32_t, coll::Rank>>>
        members;
    for (coll::Rank rank = 0; rank < layout.World(); ++rank)
    {
        const Place at = PlaceOf(layout, rank);
        const uint32_t replica = ReplicaOf(layout, at);
        const auto [experts, copy] = ExpertPlace(layout, at);
        switch (group)
        {
        case GroupOf::kGradient:
        case GroupOf::kGather:
            members[{at.tensor, at.pipeline, 0}].push_back({replica, rank});
            break;
        case GroupOf::kTensor:
            members[{replica, at.pipeline, 0}].push_back({at.tensor, rank});
            break;
        case GroupOf::kPipeline:
            members[{replica, at.tensor, 0}].push_back({at.pipeline, rank});
            break;
        case GroupOf::kContext:
            members[{at.tensor, at.pipeline, at.data}].push_back({at.context, rank});
            break;
        case GroupOf::kExpert:
            members[{at.tensor, at.pipeline, copy}].push_back({experts, rank});
            break;
        case GroupOf::kExpertGradient:
        case GroupOf::kExpertGather:
            members[{at.tensor, at.pipeline, experts}].push_back({copy, rank});
            break;
        case GroupOf::kEmbedding:
            if (at.pipeline == 0 || at.pipeline + 1 == layout.pipeline)
            {
                members[{replica, at.tensor, 0}].push_back({at.pipeline, rank});
            }
            break;
        case GroupOf::kReplica:
            members[{0, 0, 0}].push_back({rank, rank});
            break;
        }
    }
    std::vector<std::vector<coll::Rank>> groups;
    for (auto& [key, ranks] : members)
    {
        std::sort(ranks.begin(), ranks.end());
        std::vector<coll::Rank> sorted;
        for (const auto& [along, rank] : ranks)
        {
            sorted.push_back(rank);
        }
        groups.push_back(std::move(sorted));
    }
    // By their first rank, so that ranks find the same order whatever the keys are.
    std::sort(groups.begin(), groups.end());
    return groups;
}

} // namespace training
