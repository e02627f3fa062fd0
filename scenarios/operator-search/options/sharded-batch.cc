/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Samples of a pass and passes a step with --auto-parallel.
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "topologies/names.h"

#include <algorithm>

namespace scenario
{

namespace
{

/// Samples of a GPU at a time, if nothing is said: as --micro-batch's default.
constexpr uint64_t kUsualSamples = 4;
constexpr uint64_t kMostSamples = 4000000000ULL;
/// As the range of --accumulation.
constexpr uint64_t kMostPasses = 1000000;

/// The least divisor of a number that is `least` or more. \pre least is at most the number
uint64_t
DivisorFrom(uint64_t number, uint64_t least)
{
    uint64_t found = number;
    for (uint64_t d = 1; d * d <= number; ++d)
    {
        for (const uint64_t divisor : {d, number / d})
        {
            if (number % d == 0 && divisor >= least)
            {
                found = std::min(found, divisor);
            }
        }
    }
    return found;
}

void
RefusePasses(Validation* v, uint64_t passes, uint64_t samples)
{
    const uint64_t global = v->values.Get(&asked::Training::globalBatch);
    const uint64_t most = samples * kMostPasses;
    const uint64_t below = std::min(global / samples * samples, most);
    const uint64_t above = (global / samples + 1) * samples;
    v->Fail(&asked::Training::globalBatch,
            "needs " + topo::Counted(passes, "pass", "passes") + " of no more than " +
                topo::Counted(samples, "sample") + "; allowed: at most " +
                std::to_string(kMostPasses) + " passes, as with " +
                (below > 0 ? std::to_string(below) : "") +
                (below > 0 && above <= most ? " or " : "") +
                (above <= most ? std::to_string(above) : ""),
            "");
}

/// Samples of a graph of operators are in the shapes of its inputs.
ShardedBatch
SamplesOfGraph(Validation* v, const training::ModelSpec& model, uint64_t passes)
{
    for (const Member option :
         {Member(&asked::Training::microBatch), Member(&asked::Training::globalBatch)})
    {
        if (v->values.Given(option))
        {
            v->Fail(option, "samples are in the shapes of the model's graph; allowed: without");
            return {};
        }
    }
    const auto& graph = model.graph;
    const auto first = std::find_if(graph.begin(), graph.end(), [](const auto& node) {
        return node.kind == training::NodeKind::kData || node.kind == training::NodeKind::kInput;
    });
    ShardedBatch batch;
    batch.passes = static_cast<uint32_t>(passes);
    batch.samples = first == graph.end() ? 1 : first->Rows();
    if (batch.samples > kMostSamples)
    {
        v->errors.push_back(
            {"",
             "",
             rdma::Shown(v->values.Get(&asked::Model::model), 300) + ": /graph/" +
                 std::to_string(first - graph.begin()) + (first->transposed ? "/2/1 (" : "/2/0 (") +
                 rdma::Shown(first->name, 60) + "): is " + topo::Counted(batch.samples, "sample") +
                 "; allowed: at most " + std::to_string(kMostSamples),
             ""});
        return {};
    }
    if (batch.samples * passes > kMostSamples)
    {
        v->Fail(&asked::Training::accumulation,
                "with the graph's " + topo::Counted(batch.samples, "sample") + " makes " +
                    std::to_string(batch.samples * passes) + " a step; allowed: at most " +
                    std::to_string(kMostSamples / batch.samples));
        return {};
    }
    return batch;
}

ShardedBatch
SampleCounts(Validation* v, const training::TrainingOptions& o)
{
    auto& values = v->values;
    ShardedBatch batch;
    const uint64_t passes = values.Given(&asked::Training::accumulation)
                                ? values.Get(&asked::Training::accumulation)
                                : 1;
    if (!o.model.graph.empty())
    {
        return SamplesOfGraph(v, o.model, passes);
    }
    const uint64_t gpus = o.ranks;
    if (values.Get(&asked::Training::microBatch).word == "auto")
    {
        v->Fail(&asked::Training::microBatch,
                "is not searched with --auto-parallel; allowed: a number");
        return {};
    }
    const uint64_t micro = values.Given(&asked::Training::microBatch)
                               ? values.Get(&asked::Training::microBatch).number
                               : kUsualSamples;
    batch.samples = micro * gpus;
    batch.passes = static_cast<uint32_t>(passes);
    if (values.Given(&asked::Training::globalBatch))
    {
        const uint64_t global = values.Get(&asked::Training::globalBatch);
        if (values.Given(&asked::Training::microBatch))
        {
            const uint64_t part = batch.samples * passes;
            const bool fits =
                values.Given(&asked::Training::accumulation) ? part == global : global % part == 0;
            if (!fits)
            {
                v->Fail(&asked::Training::globalBatch,
                        topo::Counted(gpus, "GPU") + " x micro-batch " + std::to_string(micro) +
                            (values.Given(&asked::Training::accumulation)
                                 ? " x accumulation " + std::to_string(passes)
                                 : "") +
                            " make " + std::to_string(part) + "; allowed: " +
                            (values.Given(&asked::Training::accumulation) ? "" : "multiples of ") +
                            std::to_string(part));
                return {};
            }
            if (global / batch.samples > kMostPasses)
            {
                RefusePasses(v, global / batch.samples, batch.samples);
                return {};
            }
            batch.passes = static_cast<uint32_t>(global / batch.samples);
        }
        else if (values.Given(&asked::Training::accumulation))
        {
            if (global % passes != 0)
            {
                v->Fail(&asked::Training::accumulation,
                        "does not divide the " + topo::Counted(global, "sample") +
                            " of --global-batch");
                return {};
            }
            batch.samples = global / passes;
        }
        else
        {
            // The largest part of it that is no more than usual.
            const uint64_t parts =
                DivisorFrom(global, (global + batch.samples - 1) / batch.samples);
            if (parts > kMostPasses)
            {
                RefusePasses(v, parts, batch.samples);
                return {};
            }
            batch.samples = global / parts;
            batch.passes = static_cast<uint32_t>(parts);
        }
    }
    if (batch.samples * batch.passes > kMostSamples || batch.samples > UINT32_MAX)
    {
        v->Fail(&asked::Training::microBatch,
                "makes " + std::to_string(batch.samples) +
                    " samples a pass, more than can be "
                    "simulated");
        return {};
    }
    return batch;
}

} // namespace

ShardedBatch
MakeShardedBatch(Validation* v, training::TrainingOptions* o)
{
    const ShardedBatch batch = SampleCounts(v, *o);
    o->accumulation = batch.passes;
    o->microBatch = static_cast<uint32_t>(std::max<uint64_t>(1, batch.samples / o->ranks));
    v->Decide(&asked::Training::accumulation, batch.passes);
    return batch;
}

} // namespace scenario
