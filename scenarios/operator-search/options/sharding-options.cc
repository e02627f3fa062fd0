/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/options/sharding-options.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/operator-search/graph-of-model.h"
#include "scenarios/operator-search/graph-of-nodes.h"
#include "scenarios/operator-search/mindspore-file.h"
#include "scenarios/operator-search/options/digit-times.h"
#include "scenarios/operator-search/options/pipeline-search.h"
#include "scenarios/options/format.h"
#include "scenarios/training/checks/plan-check.h"
#include "topologies/family.h"
#include "topologies/json-reader.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace scenario
{

namespace
{

const std::set<std::string> kWithSharding = {"model",
                                             "accumulation",
                                             "micro-batch",
                                             "global-batch",
                                             "seq",
                                             "dtype",
                                             "gpu",
                                             "workload",
                                             "steps",
                                             "warmup",
                                             "buckets",
                                             "overlap",
                                             "launch-gap",
                                             "collective-sms",
                                             "slow-gpu",
                                             "gpu-spread",
                                             "jitter",
                                             "optimizer",
                                             "fused-attention",
                                             "attention-kernel",
                                             "kernels",
                                             "master-weights",
                                             "ignore-memory",
                                             "export",
                                             "auto-parallel",
                                             "shard",
                                             "shard-file",
                                             "shard-cost",
                                             "device-matrix",
                                             "explain-sharding",
                                             "shard-verify",
                                             "pp"}; // --pp=auto

std::vector<NamedItem>
ModeItems()
{
    return {{"semi", "what --shard does not name is cut along its first dimension"},
            {"sharding-propagation", "from the operators of --shard to their neighbours"},
            {"dynamic-programming", "the least cost of all combinations"},
            {"recursive", "halves operators again and again, large ones first (MindSpore's SAPP)"},
            {"exhaustive", "tries all combinations, at most a million"}};
}

/// "recursive_programming", "semi_auto".
std::string
ModeAlias(const std::string& text)
{
    const auto mode = sharding::ParseMode(text);
    return mode ? sharding::ModeName(*mode) : "";
}

} // namespace

std::vector<Option>
ShardingOptionRows()
{
    const Section section{"/training", "Sharding search"};
    const Section searched = section.Only(when::With("auto-parallel").Hides());
    return {
        section
            .Name("auto-parallel",
                  "cut each operator of the model by itself, as MindSpore does, instead of --tp, "
                  "--dp and the like")
            .As(&asked::Training::autoParallel)
            .Names("search", ModeItems)
            .Aliases(ModeAlias)
            .Otherwise("none")
            .Example("dynamic-programming")
            .Only(when::OneJob()),
        searched
            .Text("shard",
                  "strategies of operators: for each input, into how many parts each dimension is "
                  "cut")
            .As(&asked::Training::shard)
            .Shows("NAME=((PARTS,..),..);..")
            .Otherwise("none")
            .Example("dense=((2,1),(1,4))"),
        searched
            .File("shard-file",
                  "the same from a JSON file: sharding.json of a run, or MindSpore's strategy file")
            .As(&asked::Training::shardFile)
            .Otherwise("none"),
        searched.Name("shard-cost", "what the search makes least")
            .As(&asked::Training::shardCost)
            .Names("cost",
                   {{"simulator", "seconds of a step: kernels, and collectives by formula"},
                    {"mindspore", "MindSpore's cost model: bytes, weighted"}})
            .Otherwise("simulator")
            .Example("mindspore"),
        searched
            .List(
                "device-matrix",
                "one matrix of GPUs for all operators, whose dimensions cut axes, the last one of "
                "neighbours")
            .As(&asked::Training::deviceMatrix)
            .Shows("N,N,..")
            .Otherwise("each operator has its own")
            .Example("2,4"),
        searched
            .Integer("shard-verify",
                     "run so many of the best results, with this network, and take the fastest; 0: "
                     "none")
            .As(&asked::Training::shardVerify)
            .Range(0, 100)
            .Default("0")
            .Example("3"),
        searched
            .Flag("explain-sharding",
                  "print operators, strategies, costs of edges and the order of the search")
            .As(&asked::Training::explainSharding)
            .Default("0")
            .Example("1"),
    };
}

void
RefuseWithSharding(std::vector<Option>* options)
{
    for (Option& option : *options)
    {
        if (option.path.rfind("/training/", 0) == 0 && kWithSharding.count(option.name) == 0)
        {
            option.Only(when::Without("auto-parallel")
                            .Usual()
                            .Hides()
                            .Because("which decides how each operator is cut"));
        }
    }
}

bool
IsSharded(const Values& values)
{
    return values.Given(&asked::Training::autoParallel) &&
           !values.Get(&asked::Training::autoParallel).empty();
}

void
CheckGraphModel(Validation* v, const training::ModelSpec& model)
{
    if (!model.graph.empty() && !IsSharded(v->values))
    {
        v->Fail(&asked::Model::model,
                "is a graph of operators, which a search cuts; allowed: with --auto-parallel, as "
                "--auto-parallel=semi");
    }
}

std::vector<training::Problem>
ProblemsOfSharded(training::TrainingOptions o)
{
    o.gpu.memoryBytes = UINT64_MAX / 4;
    std::vector<training::Problem> problems = training::Check(o);
    problems.erase(std::remove_if(problems.begin(),
                                  problems.end(),
                                  [&o](const training::Problem& p) {
                                      // A graph may be of inputs alone.
                                      return p.member &&
                                             *p.member == Member(&asked::Model::model) &&
                                             !o.model.graph.empty();
                                  }),
                   problems.end());
    return problems;
}

namespace
{

std::optional<sharding::Graph>
GraphOf(Validation* v, const training::TrainingOptions& o, uint64_t samples)
{
    const uint32_t bytes = training::DtypeBytes(o.dtype) > 1 ? training::DtypeBytes(o.dtype) : 2;
    if (!o.model.graph.empty())
    {
        sharding::NodeError error;
        auto graph = sharding::GraphOfNodes(o.model, bytes, &error);
        if (!graph)
        {
            v->errors.push_back({"",
                                 "",
                                 rdma::Shown(v->values.Get(&asked::Model::model), 300) +
                                     ": /graph/" + std::to_string(error.node) + " (" +
                                     rdma::Shown(o.model.graph[error.node].name, 60) +
                                     "): " + error.text,
                                 ""});
        }
        return graph;
    }
    std::string why;
    auto graph = sharding::GraphOfModel(o.model, samples, o.Sequence(), bytes, &why);
    if (!graph)
    {
        v->errors.push_back(
            {v->values.Where(&asked::Training::autoParallel),
             v->values.Get(&asked::Training::autoParallel),
             why + "; allowed: decoders and encoders with dense layers, pictures, a graph",
             ""});
    }
    return graph;
}

/// --device-matrix.
bool
ReadMatrix(Validation* v, uint32_t gpus, std::vector<uint32_t>* matrix)
{
    uint64_t product = 1;
    for (const std::string& word : v->values.Get(&asked::Training::deviceMatrix))
    {
        const bool number = !word.empty() && word.size() < 8 &&
                            std::all_of(word.begin(), word.end(), [](unsigned char c) {
                                return std::isdigit(c) != 0;
                            });
        const uint64_t size = number ? std::stoull(word) : 0;
        if (size == 0)
        {
            v->Fail(&asked::Training::deviceMatrix,
                    "allowed: whole numbers from 1, with commas between, as 2,4");
            return false;
        }
        matrix->push_back(static_cast<uint32_t>(size));
        product = std::min<uint64_t>(product * size, 1ULL << 40);
    }
    if (!matrix->empty() && product != gpus)
    {
        v->Fail(&asked::Training::deviceMatrix,
                "has " + std::to_string(product) + " places for " + topo::Counted(gpus, "GPU") +
                    "; allowed: dimensions whose product is " + std::to_string(gpus));
        return false;
    }
    return true;
}

using Shards = std::vector<std::pair<std::string, sharding::Cuts>>;

/// Strategies of a text or a file, by operator.
bool
TakeShards(Validation* v,
           Member option,
           const Shards& shards,
           const sharding::Graph& graph,
           const sharding::Devices& devices,
           sharding::Given* given)
{
    for (const auto& [name, cuts] : shards)
    {
        const auto op = graph.Find(name);
        if (!op)
        {
            std::vector<std::string> names;
            for (const auto& other : graph.operators)
            {
                names.push_back(other.name);
            }
            std::string some;
            for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 12); ++i)
            {
                some += (some.empty() ? "" : ", ") + names[i];
            }
            v->Fail(option,
                    "\"" + rdma::Shown(name, 60) + "\" is no operator of " + graph.name +
                        "; allowed: " + some + (names.size() > 12 ? ", .." : ""),
                    rdma::NearestName(name, names));
            return false;
        }
        std::string why;
        const auto strategy = sharding::StrategyWith(graph.operators[*op], cuts, devices, &why);
        if (!strategy)
        {
            v->Fail(option, name + "=" + sharding::CutsText(cuts) + " " + why);
            return false;
        }
        (*given)[*op] = *strategy;
    }
    return true;
}

bool
ReadGiven(Validation* v,
          const sharding::Graph& graph,
          const sharding::Devices& devices,
          sharding::Given* given)
{
    const auto& values = v->values;
    if (values.Given(&asked::Training::shardFile))
    {
        const std::string& file = values.Get(&asked::Training::shardFile);
        std::vector<topo::Error> errors;
        const auto text = topo::ReadWholeFile(file, errors);
        const auto json = text ? topo::ReadJson(*text, file, errors) : std::nullopt;
        if (!json)
        {
            v->FailFile(&asked::Training::shardFile, errors);
            return false;
        }
        std::string why;
        const auto shards = sharding::ShardsOfJson(*json, &why);
        if (!shards)
        {
            v->Fail(&asked::Training::shardFile, why);
            return false;
        }
        const std::vector<uint32_t> matrix = sharding::MatrixOfJson(*json);
        if (!matrix.empty() && matrix != devices.matrix)
        {
            v->Fail(&asked::Training::shardFile,
                    "was made with --device-matrix=" + sharding::MatrixText(matrix) +
                        "; allowed: with the same");
            return false;
        }
        if (!TakeShards(v, &asked::Training::shardFile, *shards, graph, devices, given))
        {
            return false;
        }
        for (auto& [op, strategy] : *given)
        {
            strategy = sharding::StrategyOfJson(*json, graph.operators[op], strategy, devices)
                           .value_or(strategy);
        }
    }
    if (values.Given(&asked::Training::shard))
    {
        std::string why;
        const auto shards = sharding::ParseShards(values.Get(&asked::Training::shard), &why);
        if (!shards)
        {
            v->Fail(&asked::Training::shard, why);
            return false;
        }
        return TakeShards(v, &asked::Training::shard, *shards, graph, devices, given);
    }
    return true;
}

} // namespace

std::shared_ptr<const sharding::Sharding>
MakeSharding(Validation* v,
             const training::TrainingOptions& o,
             const ShardedBatch& batch,
             const TrainingScenario& on,
             training::TrainingPlan* plan)
{
    const auto& values = v->values;
    if (v->seat)
    {
        v->Fail(&asked::Training::autoParallel,
                "is of a run with one job; allowed: without --jobs");
        return nullptr;
    }
    v->DecideUnlessGiven(&asked::Training::shardCost, "simulator");
    sharding::SearchSettings settings;
    settings.mode = *sharding::ParseMode(values.Get(&asked::Training::autoParallel));
    settings.seconds = values.Get(&asked::Training::shardCost) == "simulator";
    settings.devices.count = o.ranks;
    settings.passes = batch.passes;
    settings.ranked = values.Get(&asked::Training::shardVerify);
    if (!CheckSearches(v, settings))
    {
        return nullptr;
    }
    settings.memory =
        values.Get(&asked::Training::ignoreMemory) ? 0 : static_cast<double>(o.gpu.memoryBytes);
    if (!ReadMatrix(v, o.ranks, &settings.devices.matrix))
    {
        return nullptr;
    }
    const auto graph = GraphOf(v, o, batch.samples);
    if (!graph || !ReadGiven(v, *graph, settings.devices, &settings.given))
    {
        return nullptr;
    }
    const sharding::SliceKernels kernels(o);
    if (IsPipelineSearched(values))
    {
        const auto timesOn = [&on](uint32_t devices) {
            return std::make_shared<DigitTimes>(on, devices);
        };
        return MakeStaged(v, *graph, settings, kernels, on.cluster.server.gpus, timesOn, plan);
    }
    DigitTimes times(on, o.ranks);
    std::string why;
    auto found = sharding::FindSharding(*graph, settings, kernels, times, &why);
    if (!found)
    {
        v->Fail(&asked::Training::autoParallel, why);
        return nullptr;
    }
    if (settings.memory > 0 && found->memory > settings.memory)
    {
        v->Fail(&asked::Training::autoParallel,
                Format("makes a sharding of %.1f GiB", found->memory / (1ULL << 30)) +
                    Format(" on GPUs of %.1f GiB", settings.memory / (1ULL << 30)) +
                    "; allowed: dynamic-programming with --shard-cost=simulator, which looks for "
                    "one that fits, more GPUs, or --ignore-memory");
        return nullptr;
    }
    *plan = sharding::MakeShardedPlan(*graph, found->strategies, kernels, o.ranks, batch.passes);
    return std::make_shared<const sharding::Sharding>(std::move(*found));
}

} // namespace scenario
