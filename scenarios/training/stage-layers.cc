/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/stage-layers.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/layer-types.h"
#include "scenarios/training/pipeline/deepspeed-partition.h"
#include "scenarios/training/pipeline/partition.h"
#include "scenarios/training/rank-layers.h"
#include "scenarios/training/stage-speeds.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace training
{

namespace
{

/// Bytes a second of the link that stages on different machines have.
double
OuterRate(const TrainingOptions& o)
{
    for (std::size_t i = o.links.size(); i-- > 0;)
    {
        if (o.links[i].machines > 1)
        {
            return o.links[i].bytesPerSecond;
        }
    }
    return std::numeric_limits<double>::infinity(); // there is one machine
}

std::vector<uint32_t>
LayersOf(const CutGroups& cut, const std::vector<PipeDreamStage>& stages)
{
    std::vector<uint32_t> layers;
    for (const PipeDreamStage& stage : stages)
    {
        layers.push_back(std::accumulate(cut.layers.begin() + stage.first,
                                         cut.layers.begin() + stage.last + 1,
                                         0U));
    }
    return layers;
}

/// A partitioner that would not end in time.
std::string
TooMany(const TrainingOptions& o, std::size_t groups, const std::string& among)
{
    return "would compare more than 1e10 ways to cut the " + std::to_string(groups) +
           " layers of " + o.model.name + " for " + among +
           "; allowed: fewer layers (join some of the profile), " +
           Spell(&asked::Training::partition) +
           "=balanced or uniform "
           "with " +
           Spell(&asked::Degrees::pp);
}

bool
IsByWeights(const TrainingOptions& o)
{
    return o.partition == Partition::kParameters || o.partition == Partition::kTypes;
}

/// The weights of layers in DeepSpeed. A matrix that two layers share is counted with both, as its
/// _count_layer_params makes each of them anew.
std::vector<double>
Weights(const TrainingOptions& o)
{
    std::vector<double> weights;
    if (o.partition == Partition::kTypes)
    {
        for (const bool meant : LayersOfTypes(o.model, o.partitionTypes))
        {
            weights.push_back(meant ? 1 : 0);
        }
        return weights;
    }
    for (const RankLayer& layer : LayersOfModel(o))
    {
        weights.push_back(
            static_cast<double>(layer.parameters + layer.expertParameters + layer.tiedParameters));
    }
    return weights;
}

/// "embedding (EmbeddingPipe), block 0 (ParallelTransformerLayerPipe), ...": the first of each
/// type.
std::string
TypesOf(const ModelSpec& model)
{
    constexpr std::size_t kMost = 8;
    std::vector<std::string> types;
    std::string text;
    for (std::size_t i = 0; i < model.layers.size(); ++i)
    {
        const std::string type = LayerType(model, i);
        if (std::find(types.begin(), types.end(), type) != types.end())
        {
            continue;
        }
        if (types.size() == kMost)
        {
            return text + ", ...";
        }
        types.push_back(type);
        const std::string& name = model.layers[i].name;
        text += (text.empty() ? "" : ", ") + rdma::Shown(name, 60) +
                (name == type ? "" : " (" + type + ")");
    }
    return text;
}

std::optional<std::string>
WhyNotGiven(const TrainingOptions& o)
{
    const uint64_t blocks = std::accumulate(o.pieceBlocks.begin(), o.pieceBlocks.end(), 0ULL);
    if (o.pieceBlocks.size() != o.Pieces())
    {
        return "has " + std::to_string(o.pieceBlocks.size()) + " pieces, and " +
               Spell(&asked::Degrees::pp) + "=" + std::to_string(o.pipeline) + " x " +
               Spell(&asked::Training::virtualStages) + "=" + std::to_string(o.virtualStages) +
               " make " + std::to_string(o.Pieces());
    }
    if (blocks != StageBlocksOf(o.model))
    {
        return "has " + std::to_string(blocks) + " blocks, and " + o.model.name + " has " +
               std::to_string(StageBlocksOf(o.model));
    }
    const auto layers = LayersOfPieces(o.model, o.pieceBlocks);
    const auto empty = std::find(layers.begin(), layers.end(), 0U);
    return empty == layers.end()
               ? std::nullopt
               : std::optional("leaves piece " + std::to_string(empty - layers.begin() + 1) +
                               " of " + std::to_string(layers.size()) + " no layers");
}

/// Why not by weights, for IsByWeights().
std::optional<std::string>
WhyNotByWeights(const TrainingOptions& o)
{
    const std::vector<double> weights = Weights(o);
    const auto weighing = static_cast<std::size_t>(
        std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 0; }));
    const std::string pieces = std::to_string(o.Pieces()) + " pieces";
    if (weighing < o.Pieces())
    {
        return "is to make " + pieces + " of the " + std::to_string(weighing) + " layers of " +
               o.model.name +
               (o.partition == Partition::kTypes ? " that it finds; there are: " + TypesOf(o.model)
                                                 : std::string(" with parameters"));
    }
    if (CutSteps(weights.size(), o.Pieces()) > kMostPartitionSteps)
    {
        return TooMany(o, weights.size(), pieces);
    }
    if (o.partitionFront)
    {
        const auto counts = FrontPartition(weights, static_cast<uint32_t>(o.Pieces()));
        const auto empty = std::find(counts.begin(), counts.end(), 0U);
        if (empty != counts.end())
        {
            return "with " + Spell(&asked::Training::partitionFill) + "=front leaves piece " +
                   std::to_string(empty - counts.begin() + 1) + " of " +
                   std::to_string(counts.size()) +
                   " no layers; allowed: " + Spell(&asked::Training::partitionFill) +
                   "=even, or fewer stages (" + Spell(&asked::Degrees::pp) + ")";
        }
    }
    return std::nullopt;
}

} // namespace

bool
IsCounted(const TrainingOptions& o)
{
    return o.countEmbedding || o.countLoss;
}

std::string
PartitionText(const TrainingOptions& o)
{
    return PartitionName(o.partition) +
           (o.partition == Partition::kTypes ? ":" + o.partitionTypes : "");
}

CutGroups
GroupsToCut(const TrainingOptions& o)
{
    std::vector<PartitionLayer> layers;
    const double element = DtypeBytes(o.dtype);
    const uint32_t sequence = o.Sequence() / o.context;
    const std::vector<RankLayer> all = LayersOfModel(o);
    for (std::size_t i = 0; i < all.size(); ++i)
    {
        const double output = o.model.layers[i].output.At(o.microBatch, sequence);
        layers.push_back(
            {all[i].Forward() + all[i].Backward(),
             output * element / o.tensor,
             static_cast<double>(all[i].parameters + all[i].expertParameters) * element});
    }
    CutGroups cut;
    cut.layers.assign(layers.size(), 1);
    if (o.partition == Partition::kPipeDream && BlocksOf(o.model) == 0)
    {
        cut.layers = NarrowGroups(layers);
    }
    std::size_t next = 0;
    for (const uint32_t count : cut.layers)
    {
        PartitionLayer group;
        for (const std::size_t end = next + count; next < end; ++next)
        {
            group.seconds += layers[next].seconds;
            group.parameterBytes += layers[next].parameterBytes;
            group.activationBytes = layers[next].activationBytes;
        }
        cut.groups.push_back(group);
    }
    return cut;
}

std::optional<std::string>
WhyNotPartitioned(const TrainingOptions& o)
{
    if (o.partition == Partition::kUniform)
    {
        return IsCounted(o) && o.pipeline > 1
                   ? WhyNotUniform(UniformLayersOf(o), static_cast<uint32_t>(o.Pieces()))
                   : std::nullopt;
    }
    if (o.partition == Partition::kGiven)
    {
        return WhyNotGiven(o);
    }
    if (o.partition == Partition::kPipeDream && o.virtualStages > 1)
    {
        return "has stages of one piece each; allowed with " +
               Spell(&asked::Training::virtualStages) + "=" + std::to_string(o.virtualStages) +
               ": uniform, balanced";
    }
    if (o.partition == Partition::kTypes)
    {
        if (const auto why = WhyNoTypes(o.partitionTypes))
        {
            return why;
        }
    }
    if (o.pipeline > 1 && IsByWeights(o))
    {
        return WhyNotByWeights(ResolvedOptions(o));
    }
    const std::size_t groups = GroupsToCut(ResolvedOptions(o)).groups.size();
    if (o.Pieces() > groups)
    {
        return "is to make " + std::to_string(o.Pieces()) + " pieces, and " + o.model.name +
               " has " + std::to_string(groups) +
               (o.partition == Partition::kPipeDream && BlocksOf(o.model) == 0
                    ? " with narrow places between them"
                    : " layers");
    }
    const bool ofCosts = o.partition == Partition::kBalanced && o.replicas.empty();
    if (o.pipeline > 1 && !ofCosts && CutSteps(groups, o.pipeline) > kMostPartitionSteps)
    {
        return TooMany(o, groups, std::to_string(o.pipeline) + " stages");
    }
    return std::nullopt;
}

std::optional<std::string>
WhyNoStagesFound(const TrainingOptions& o)
{
    const std::size_t groups = GroupsToCut(ResolvedOptions(o)).groups.size();
    if (PipeDreamSteps(groups, o.links) <= kMostPartitionSteps)
    {
        return std::nullopt;
    }
    std::string machines;
    for (const PartitionLevel& level : o.links)
    {
        machines += (machines.empty() ? "" : " x ") + std::to_string(level.machines);
    }
    return TooMany(o, groups, machines + " GPUs");
}

TrainingOptions
Partitioned(TrainingOptions o)
{
    o.pieceLayers.clear();
    const bool plain = o.partition == Partition::kUniform && !IsCounted(o);
    if (plain || o.pipeline == 1 || WhyNotPartitioned(o))
    {
        return o;
    }
    if (o.partition == Partition::kUniform)
    {
        UniformLayers layers = UniformLayersOf(o);
        layers.before = layers.after = 0; // LayersOfPieces adds them
        o.pieceLayers =
            LayersOfPieces(o.model, UniformPartition(layers, static_cast<uint32_t>(o.Pieces())));
        return o;
    }
    if (o.partition == Partition::kGiven)
    {
        o.pieceLayers = LayersOfPieces(o.model, o.pieceBlocks);
        return o;
    }
    const TrainingOptions resolved = ResolvedOptions(o);
    if (IsByWeights(o))
    {
        const auto pieces = static_cast<uint32_t>(o.Pieces());
        o.pieceLayers = o.partitionFront ? FrontPartition(Weights(resolved), pieces)
                                         : EvenPartition(Weights(resolved), pieces);
        return o;
    }
    const CutGroups cut = GroupsToCut(resolved);
    if (o.partition == Partition::kBalanced && o.replicas.empty())
    {
        if (!o.kinds.empty())
        {
            o.pieceLayers = LayersBySpeed(resolved);
            return o;
        }
        std::vector<double> seconds;
        for (const PartitionLayer& group : cut.groups)
        {
            seconds.push_back(group.seconds);
        }
        o.pieceLayers = BalancedPartition(seconds, static_cast<uint32_t>(o.Pieces()));
        return o;
    }
    std::vector<uint32_t> replicas;
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        replicas.push_back(o.ReplicasOf(stage));
    }
    const double rate = o.partition == Partition::kBalanced
                            ? std::numeric_limits<double>::infinity()
                            : OuterRate(o);
    o.pieceLayers = LayersOf(cut, CutForReplicas(cut.groups, replicas, rate, *resolved.overlap));
    return o;
}

TrainingOptions
WithStagesFound(TrainingOptions o)
{
    const TrainingOptions resolved = ResolvedOptions(o);
    const CutGroups cut = GroupsToCut(resolved);
    const PipeDreamPartition found = PartitionPipeDream(cut.groups, {o.links, *resolved.overlap});
    o.pipeline = static_cast<uint32_t>(found.stages.size());
    o.pieceLayers = LayersOf(cut, found.stages);
    o.replicas.clear();
    for (const PipeDreamStage& stage : found.stages)
    {
        o.replicas.push_back(stage.replicas);
    }
    if (std::all_of(o.replicas.begin(), o.replicas.end(), [&o](uint32_t replicas) {
            return replicas == o.replicas.front();
        }))
    {
        o.replicas.clear();
    }
    return o;
}

std::string
ReplicasText(const TrainingOptions& o)
{
    std::string text;
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        text += (stage > 0 ? "-" : "") + std::to_string(o.ReplicasOf(stage));
    }
    return text;
}

} // namespace training
