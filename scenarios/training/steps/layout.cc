/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/layout.h"

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

/// Where a rank stands among the experts of its stage.
struct ExpertPlace
{
    uint32_t tensor = 0;  ///< which share of each expert it has
    uint32_t experts = 0; ///< which experts
    uint32_t copy = 0;    ///< which of their copies
};

/// Ranks along a dimension, as experts count them.
uint32_t
ExpertSizeOf(const Layout& layout, Dimension dimension)
{
    switch (dimension)
    {
    case Dimension::kTensor:
        return layout.ExpertTensor();
    case Dimension::kContext:
        return 1;
    case Dimension::kExpert:
        return layout.expert;
    case Dimension::kData:
        return layout.ExpertReplicas();
    case Dimension::kPipeline:
        return layout.pipeline;
    }
    return 1;
}

/// expert_decoder_rank_generator of NVIDIA/Megatron-LM megatron/core/parallel_state.py.
ExpertPlace
FoldedPlace(const Layout& layout, coll::Rank rank)
{
    ExpertPlace place;
    for (const Dimension dimension : layout.order)
    {
        const uint32_t size = ExpertSizeOf(layout, dimension);
        switch (dimension)
        {
        case Dimension::kTensor:
            place.tensor = rank % size;
            break;
        case Dimension::kExpert:
            place.experts = rank % size;
            break;
        case Dimension::kData:
            place.copy = rank % size;
            break;
        case Dimension::kContext:
        case Dimension::kPipeline:
            break;
        }
        rank /= size;
    }
    return place;
}

ExpertPlace
ExpertPlaceOf(const Layout& layout, coll::Rank rank, const Place& place)
{
    if (layout.ExpertTensor() != layout.tensor)
    {
        return FoldedPlace(layout, rank);
    }
    const uint32_t replica = ReplicaOf(layout, place);
    if (DepthOf(layout, Dimension::kExpert) < DepthOf(layout, Dimension::kData))
    {
        return {place.tensor, replica % layout.expert, replica / layout.expert};
    }
    return {place.tensor, replica / layout.ExpertReplicas(), replica % layout.ExpertReplicas()};
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

bool
FoldsExperts(const Layout& layout)
{
    uint32_t inside = 1; // ranks between two stages
    uint32_t insideExperts = 1;
    for (const Dimension dimension : layout.order)
    {
        if (dimension == Dimension::kPipeline)
        {
            break;
        }
        inside *= SizeOf(layout, dimension);
        insideExperts *= ExpertSizeOf(layout, dimension);
    }
    return layout.stageReplicas.empty() && (layout.pipeline == 1 || inside == insideExperts);
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
                                                      "edp-secondary",
                                                      "etp",
                                                      "ep-inside",
                                                      "ep-between"};
    return kGroupNames[static_cast<uint32_t>(group)];
}

namespace
{

/// The ranks of expert groups that are in one server, or at the same place of several.
std::vector<std::vector<coll::Rank>>
PartsOfExpertGroups(const Layout& layout, bool inside)
{
    std::vector<std::vector<coll::Rank>> parts;
    for (const auto& group : GroupsOf(layout, GroupOf::kExpert))
    {
        std::map<uint32_t, uint32_t> met; // ranks so far, by server
        std::map<uint32_t, std::vector<coll::Rank>> members;
        for (const coll::Rank rank : group)
        {
            const uint32_t server = rank / layout.serverGpus;
            const uint32_t place = met[server]++;
            members[inside ? server : place].push_back(rank);
        }
        for (auto& [key, ranks] : members)
        {
            parts.push_back(std::move(ranks));
        }
    }
    std::sort(parts.begin(), parts.end());
    return parts;
}

} // namespace

std::vector<std::vector<coll::Rank>>
GroupsOf(const Layout& layout, GroupOf group)
{
    if (group == GroupOf::kExpertInside || group == GroupOf::kExpertBetween)
    {
        return PartsOfExpertGroups(layout, group == GroupOf::kExpertInside);
    }
    // A group has one key; within it ranks stand by `along`.
    using Key = std::array<uint32_t, 4>;
    std::map<Key, std::vector<std::pair<uint32_t, coll::Rank>>> members;
    const uint32_t sharers = layout.shard > 0 ? layout.shard : layout.Replicas();
    const uint32_t reducers = layout.local > 0 ? layout.local : sharers;
    // Folded, experts may have more copies than the rest.
    const uint32_t expertSharers = layout.shard > 0 ? layout.shard : layout.ExpertReplicas();
    const uint32_t expertReducers = layout.local > 0 ? layout.local : expertSharers;
    for (coll::Rank rank = 0; rank < layout.World(); ++rank)
    {
        const Place at = PlaceOf(layout, rank);
        const uint32_t replica = ReplicaOf(layout, at);
        const ExpertPlace of = ExpertPlaceOf(layout, rank, at);
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
            add({of.tensor, at.pipeline, of.copy}, of.experts);
            break;
        case GroupOf::kExpertGradient:
            add({of.tensor, at.pipeline, of.experts, of.copy / expertReducers}, of.copy);
            break;
        case GroupOf::kExpertGather:
            add({of.tensor, at.pipeline, of.experts, of.copy / expertSharers}, of.copy);
            break;
        case GroupOf::kExpertCopies:
            add({of.tensor, at.pipeline, of.experts, of.copy % expertReducers}, of.copy);
            break;
        case GroupOf::kExpertSecondary:
            add({of.tensor, at.pipeline, of.experts, of.copy / layout.secondary}, of.copy);
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
        case GroupOf::kExpertTensor:
            add({of.copy, at.pipeline, of.experts}, of.tensor);
            break;
        case GroupOf::kExpertInside:
        case GroupOf::kExpertBetween:
            break; // above
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

ExpertSpan
ExpertSpanOf(const Layout& layout)
{
    std::optional<ExpertSpan> span;
    for (const auto& group : GroupsOf(layout, GroupOf::kExpert))
    {
        std::map<uint32_t, uint32_t> ranks; // by server
        for (const coll::Rank rank : group)
        {
            ++ranks[rank / layout.serverGpus];
        }
        const auto own = static_cast<uint32_t>(ranks.size());
        const uint32_t most = ranks.begin()->second;
        const bool even = std::all_of(ranks.begin(), ranks.end(), [&](const auto& server) {
            return server.second == most && (!span || server.second == span->ranks);
        });
        if (!even || (span && span->servers != own))
        {
            return {own, 0};
        }
        span = ExpertSpan{own, most};
    }
    return span.value_or(ExpertSpan{});
}

} // namespace training
