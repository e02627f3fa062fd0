/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which part of a model and of a batch a rank has: world = tp x cp x dp x pp ranks, numbered along
 * one dimension after the other. Experts are shared out within dp x cp, or over all ranks of a
 * stage: tp x cp x dp = etp x ep x edp, counted in the same order, with etp in the place of tp and
 * without cp (Megatron's parallel folding, arXiv 2504.14960). With etp = tp the first is a case of
 * the second in the default order.
 *
 *   order tp-cp-ep-dp-pp (Megatron's default, innermost first), tp 2, dp 2, pp 2:
 *
 *     stage 0    replica 0: ranks 0 1    replica 1: ranks 2 3
 *     stage 1    replica 0: ranks 4 5    replica 1: ranks 6 7
 *
 * Names and default order: Megatron-LM, megatron/core/parallel_state.py (RankGenerator).
 */
#ifndef SCENARIOS_TRAINING_STEPS_LAYOUT_H
#define SCENARIOS_TRAINING_STEPS_LAYOUT_H

#include "collectives/core/schedule.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace training
{

enum class Dimension : uint8_t
{
    kTensor,
    kContext,
    kExpert,
    kData,
    kPipeline,
};

constexpr uint32_t kDimensions = 5;

/// Innermost first: neighbours along the first are neighbouring ranks.
using DimensionOrder = std::array<Dimension, kDimensions>;

/// "tp-cp-ep-dp-pp".
std::string DimensionOrderName(const DimensionOrder& order);
/// Each of tp, cp, ep, dp, pp once, with '-' between; nothing: it is no such order.
std::optional<DimensionOrder> ParseDimensionOrder(std::string_view text);

struct Layout
{
    uint32_t tensor = 1;
    uint32_t context = 1;
    uint32_t expert = 1; ///< times ExpertTensor() it divides tensor x data x context
    uint32_t data = 1;
    uint32_t pipeline = 1;
    DimensionOrder order = {Dimension::kTensor,
                            Dimension::kContext,
                            Dimension::kExpert,
                            Dimension::kData,
                            Dimension::kPipeline};
    // Numbers of ranks in a row, among those that hold the same parameters. Each divides their
    // number.
    uint32_t shard = 0;        ///< ranks that divide one copy; 0: all
    uint32_t local = 0;        ///< ranks that reduce among themselves first; 0: all at once
    uint32_t secondary = 1;    ///< ranks that divide a second copy; 1: there is none
    uint32_t expertTensor = 0; ///< ranks that share every expert (--etp); 0: as tensor
    uint32_t serverGpus = 1;   ///< ranks of a server
    /// Replicas of each stage, if stages differ. Then `data` is the largest, context is 1, and
    /// ranks go stage by stage, replica by replica, whatever `order` says.
    std::vector<uint32_t> stageReplicas = {};

    uint32_t World() const
    {
        return stageReplicas.empty() ? tensor * context * data * pipeline
                                     : tensor * RanksBefore(pipeline);
    }

    /// Replicas of the stages before one.
    uint32_t RanksBefore(uint32_t stage) const
    {
        return std::accumulate(stageReplicas.begin(), stageReplicas.begin() + stage, 0U);
    }

    /// Ranks that hold the same parameters, but for experts'.
    uint32_t Replicas() const
    {
        return data * context;
    }

    uint32_t ExpertTensor() const
    {
        return expertTensor > 0 ? expertTensor : tensor;
    }

    /// Ranks that hold the same experts.
    uint32_t ExpertReplicas() const
    {
        return tensor * Replicas() / (ExpertTensor() * expert);
    }
};

/// Where a rank stands.
struct Place
{
    uint32_t tensor = 0;
    uint32_t context = 0;
    uint32_t data = 0;
    uint32_t pipeline = 0;
};

Place PlaceOf(const Layout& layout, coll::Rank rank);
coll::Rank RankAt(const Layout& layout, const Place& place);

/// Communicators, each in the order of its ranks' places along the dimension.
enum class GroupOf : uint8_t
{
    kGradient,       ///< "dp": ranks with the same parameters: gradients; parameters after Adam
    kGather,         ///< "dp-parameters": the same ranks, stage 3's gathers beside the reductions
    kTensor,         ///< "tp"
    kPipeline,       ///< "pp": the stages of one pipeline
    kContext,        ///< "cp": the pieces of one sequence
    kExpert,         ///< "ep": all experts of a layer
    kExpertGradient, ///< "edp": ranks with the same experts
    kExpertGather,   ///< "edp-parameters"
    kEmbedding,      ///< "embedding": first and last stage, which share a matrix
    kReplica,        ///< "replicas": all ranks, for messages between replicated stages
    // Where a copy of the parameters is shared out among some of "dp", or gradients are reduced in
    // two levels: the ranks of "dp" are only those, and
    kCopies,          ///< "dp-copies": ranks with the same share, one of each copy
    kExpertCopies,    ///< "edp-copies"
    kSecondary,       ///< "dp-secondary": ranks of a second, smaller partition of the parameters
    kExpertSecondary, ///< "edp-secondary"
    kExpertTensor,    ///< "etp": ranks that share every expert, if they are not those of "tp"
    // Parts of "ep", if each server has as many of its ranks (expert-dispatch.h):
    kExpertInside,  ///< "ep-inside": those of a server
    kExpertBetween, ///< "ep-between": those at the same place of each server
};

constexpr uint32_t kGroupKinds = 17;

/// Tokens and experts meet in such a group.
constexpr bool
IsOfExperts(GroupOf group)
{
    return group == GroupOf::kExpert || group == GroupOf::kExpertInside ||
           group == GroupOf::kExpertBetween;
}

/// Whether the ranks of a stage are the same ones counted with and without experts: pipeline stages
/// are counted last or first.
bool FoldsExperts(const Layout& layout);

std::string GroupName(GroupOf group);
std::vector<std::vector<coll::Rank>> GroupsOf(const Layout& layout, GroupOf group);

/// Servers over which an expert group is spread, and its ranks in each.
struct ExpertSpan
{
    uint32_t servers = 1;
    uint32_t ranks = 1; ///< in a server; 0: not the same in all
};

ExpertSpan ExpertSpanOf(const Layout& layout);

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_LAYOUT_H
