/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/layout.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace training
{

namespace
{

constexpr const char* kDimensionNames[kDimensions] = {"tp", "cp", "ep", "dp", "pp"};

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
        name += (name.empty() ? "" : "-") +
                std::string(kDimensionNames[static_cast<uint32_t>(dimension)]);
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
        const auto* const found =
            std::find(std::begin(kDimensionNames), std::end(kDimensionNames), word);
        const auto index = static_cast<uint32_t>(found - std::begin(kDimensionNames));
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
                                                      "replicas",
                                                      "dp-copies",
                                                      "edp-copies",
                                                      "dp-secondary",
                                                      "edp-secondary"};
    return kGroupNames[static_cast<uint32_t>(group)];
}

std::vector<std::vector<coll::Rank>>
GroupsOf(const Layout& layout, GroupOf group)
{
    // A group has one key; within it ranks stand by `along`.
    using Key = std::array<uint32_t, 4>;
    std::map<Key, std::vector<std::pair<uint32_t, coll::Rank>>> members;
    const uint32_t sharers = layout.shard > 0 ? layout.shard : layout.Replicas();
    const uint32_t reducers = layout.local > 0 ? layout.local : sharers;
    for (coll::Rank rank = 0; rank < layout.World(); ++rank)
    {
        const Place at = PlaceOf(layout, rank);
        const uint32_t replica = ReplicaOf(layout, at);
        const auto [experts, copy] = ExpertPlace(layout, at);
        const auto add = [&](const Key& key, uint32_t along) {
            members[key].push_back({along, rank});
        };
        switch (group)
        {
        case GroupOf::kGradient:
            add({at.tensor, at.pipeline, replica / reducers}, replica);
            break;
        case GroupOf::kGather:
            add({at.tensor, at.pipeline, replica / sharers}, replica);
            break;
        case GroupOf::kCopies:
            add({at.tensor, at.pipeline, replica % reducers}, replica);
            break;
        case GroupOf::kSecondary:
            add({at.tensor, at.pipeline, replica / layout.secondary}, replica);
            break;
        case GroupOf::kTensor:
            add({replica, at.pipeline}, at.tensor);
            break;
        case GroupOf::kPipeline:
            add({replica, at.tensor}, at.pipeline);
            break;
        case GroupOf::kContext:
            add({at.tensor, at.pipeline, at.data}, at.context);
            break;
        case GroupOf::kExpert:
            add({at.tensor, at.pipeline, copy}, experts);
            break;
        case GroupOf::kExpertGradient:
            add({at.tensor, at.pipeline, experts, copy / reducers}, copy);
            break;
        case GroupOf::kExpertGather:
            add({at.tensor, at.pipeline, experts, copy / sharers}, copy);
            break;
        case GroupOf::kExpertCopies:
            add({at.tensor, at.pipeline, experts, copy % reducers}, copy);
            break;
        case GroupOf::kExpertSecondary:
            add({at.tensor, at.pipeline, experts, copy / layout.secondary}, copy);
            break;
        case GroupOf::kEmbedding:
            if (at.pipeline == 0 || at.pipeline + 1 == layout.pipeline)
            {
                add({replica, at.tensor}, at.pipeline);
            }
            break;
        case GroupOf::kReplica:
            add({}, rank);
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
