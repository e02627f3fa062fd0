/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain: training steps of a neural network.
 */
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/common-options.h"
#include "scenarios/spec/foreign-names.h"
#include "scenarios/spec/json-text.h"
#include "scenarios/spec/micro-batch.h"
#include "scenarios/spec/parse-detail.h"
#include "scenarios/spec/parse.h"
#include "scenarios/spec/validate.h"
#include "scenarios/training/plan-check.h"
#include "scenarios/training/training-plan.h"
#include "scenarios/workload/registry.h"
#include "topologies/family.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>
#include <tuple>

namespace scenario
{

namespace
{

constexpr uint32_t kDefaultSequence = 2048;

std::string
Format(const char* format, double v)
{
    char text[64];
    std::snprintf(text, sizeof text, format, v);
    return text;
}

std::vector<NamedItem>
ModelItems()
{
    static const std::vector<NamedItem> items = [] {
        std::vector<NamedItem> list;
        for (const auto& name : training::ModelNames())
        {
            const auto model = training::FindModel(name);
            const double p = static_cast<double>(model->parameters);
            list.push_back(
                {name,
                 model->family + ", " +
                     (p >= 1e9 ? Format("%.3g", p * 1e-9) + " G"
                               : Format("%.4g", p * 1e-6) + " M") +
                     " parameters" +
                     (model->hasSequence ? ", sequence " + std::to_string(model->sequence) : "")});
        }
        return list;
    }();
    return items;
}

std::string
ModelAlias(const std::string& text)
{
    const auto model = training::FindModel(text);
    return model ? model->name : "";
}

std::vector<NamedItem>
GpuItems()
{
    std::vector<NamedItem> items;
    for (const auto& name : training::GpuNames())
    {
        const auto gpu = training::FindGpu(name);
        const double peak = gpu->peakBf16 > 0 ? gpu->peakBf16 : gpu->peakFp16;
        items.push_back({name,
                         Format("%.4g", peak * 1e-12) +
                             (gpu->peakBf16 > 0 ? " TFLOP/s bf16, " : " TFLOP/s fp16, ") +
                             Format("%.4g", gpu->memoryBandwidth * 1e-9) + " GB/s, " +
                             Format("%.3g", static_cast<double>(gpu->memoryBytes) / (1ULL << 30)) +
                             " GiB"});
    }
    return items;
}

std::string
GpuAlias(const std::string& text)
{
    const auto gpu = training::FindGpu(text);
    return gpu ? gpu->name : "";
}

std::vector<NamedItem>
WorkloadItems()
{
    std::vector<NamedItem> items;
    for (const auto& kind : workload::Kinds())
    {
        items.push_back({kind.name, kind.description});
    }
    return items;
}

std::vector<NamedItem>
DtypeItems()
{
    std::vector<NamedItem> items;
    for (const auto& name : training::DtypeNames())
    {
        items.push_back({name, ""});
    }
    return items;
}

std::string
DtypeAlias(const std::string& text)
{
    const auto dtype = training::ParseDtype(text);
    return dtype ? training::DtypeName(*dtype) : "";
}

ClusterDefaults
Defaults()
{
    ClusterDefaults d;
    d.total = "gpus";
    d.totalHelp = "GPUs that train; must fill servers";
    d.totalNote = "all GPUs of --servers";
    d.serversNote = "16, or what --gpus fills, or all hosts of a topology file";
    return d;
}

OptionTable
MakeTable()
{
    OptionTable t;
    t.program = "dltrain";
    t.version = kVersion;
    t.description = "training steps of a neural network on a packet-level RDMA network: step time, "
                    "and what the network costs of it";
    const std::string group = "Training";
    const std::string json = "/training";
    t.Add({
        Opt("model", Kind::kNameOrFile, json, group, "the network to train: a name or a JSON file")
            .Names("model", ModelItems)
            .Aliases(ModelAlias)
            .Default("bloom-560m"),
        Opt("zero", Kind::kInteger, json, group, "ZeRO stage; 0 is plain data parallelism")
            .Alias("zero-stage")
            .Default("2")
            .OneOf({0, 1, 2, 3}),
        Opt("zero-impl",
            Kind::kName,
            json,
            group,
            "as the paper has it, or as DeepSpeed does it by default")
            .Names("ZeRO implementation",
                   {{"paper", "reduce-scatter and all-gather, overlapped"},
                    {"deepspeed", "DeepSpeed's defaults"}})
            .Default("paper"),
        Opt("micro-batch",
            Kind::kInteger,
            json,
            group,
            "samples a GPU takes at a time; auto: the most that fit its memory by the estimate of "
            "--dry-run, and go into the global "
            "batch if that is given")
            .Alias("micro-batch-size")
            .Alias("train-micro-batch-size-per-gpu")
            .Alias("per-device-train-batch-size")
            .OrWord("auto")
            .Otherwise("4, or what the global batch leaves")
            .Range(1, 1e6)
            .Example("2"),
        Opt("accumulation", Kind::kInteger, json, group, "micro-batches a step")
            .Alias("gradient-accumulation-steps")
            .Otherwise("1, or what the global batch leaves")
            .Range(1, 1e6)
            .Example("2"),
        Opt("global-batch",
            Kind::kInteger,
            json,
            group,
            "samples a step = GPUs x micro-batch x accumulation")
            .Alias("global-batch-size")
            .Alias("train-batch-size")
            .Otherwise("what these make")
            .Range(1, 4e9)
            .Example("1024"),
        Opt("seq", Kind::kInteger, json, group, "tokens of a sample")
            .Alias("seq-length")
            .Alias("sequence-length")
            .Otherwise("2048, or the model's own if shorter")
            .Range(1, 1e7)
            .Example("1024"),
        Opt("dtype", Kind::kName, json, group, "of parameters and gradients")
            .Names("datatype", DtypeItems)
            .Aliases(DtypeAlias)
            .Default("bf16"),
        Opt("gpu", Kind::kNameOrFile, json, group, "a name or a JSON file")
            .Names("GPU", GpuItems)
            .Aliases(GpuAlias)
            .Otherwise("as the server has, A100 for dgx-a100")
            .Example("H100"),
        Opt("workload", Kind::kName, json, group, "which steps the GPUs do, and when")
            .Names("workload", WorkloadItems)
            .Otherwise(workload::kDefaultWorkload)
            .Example("steps"),
        Opt("steps", Kind::kInteger, json, group, "steps measured")
            .Default("1")
            .Range(1, 1e6)
            .Example("3"),
        Opt("warmup", Kind::kInteger, json, group, "steps before them, in no statistics")
            .Default("1")
            .Range(0, 1e6)
            .Example("2"),
        Opt("buckets", Kind::kBytes, json, group, "gradients reduced together")
            .Otherwise("25MiB; with deepspeed 5e8 elements")
            .Range(1, 1e15)
            .Example("50MiB"),
        Opt("gather-bytes", Kind::kBytes, json, group, "largest all-gather after the optimizer")
            .Otherwise("5e8 elements")
            .Range(1, 1e15)
            .Example("100MB"),
        Opt("slow-gpu",
            Kind::kList,
            json,
            group,
            "stragglers: computing on this GPU takes FACTOR times as long")
            .Shows("GPU:FACTOR,...")
            .Otherwise("none")
            .Example("5:1.3"),
        Opt("prefetch",
            Kind::kBytes,
            json,
            group,
            "stage 3: parameters gathered ahead of their layer")
            .Otherwise("one layer; with deepspeed 5e7 elements")
            .Range(0, 1e15)
            .Example("100MB"),
        Opt("overlap",
            Kind::kFlag,
            json,
            group,
            "reduce gradients and gather parameters while layers compute")
            .Alias("overlap-comm")
            .Otherwise("1; with deepspeed only at stage 3")
            .Example("0"),
        Opt("recompute", Kind::kFlag, json, group, "activation checkpointing of every block")
            .Alias("activation-checkpointing")
            .Alias("checkpoint-activations")
            .Alias("deepspeed-activation-checkpointing")
            .Alias("gradient-checkpointing")
            .Default("0"),
        Opt("fused-attention",
            Kind::kFlag,
            json,
            group,
            "attention matrices never reach the memory (FlashAttention)")
            .Alias("use-flash-attn")
            .Default("0"),
        Opt("profile",
            Kind::kFile,
            json,
            group,
            "measured times of layers, in JSON, instead of the roofline's")
            .Otherwise("none"),
    });
    t.Add(ClusterOptionRows(Defaults()));
    t.Add(CollectiveOptionRows());
    t.Add(NetworkOptionRows("fat-tree", ServerCount::kAlways));
    t.Add(FabricOptionRows(Software::kNccl));
    t.Add(RunOptionRows("dltrain"));
    t.lists = {{"models", "Models (--model), or a JSON file", ModelItems},
               {"gpus", "GPUs (--gpu), or a JSON file", GpuItems},
               ServerList(),
               {"workloads", "Workloads (--workload)", WorkloadItems}};
    for (auto& list : FabricLists())
    {
        t.lists.push_back(std::move(list));
    }
    t.lists.push_back(AlgorithmList());
    t.foreign = TrainingForeignNames();
    t.Finish();
    t.examples = {
        "dltrain --model=bloom560m --zero=2",
        "dltrain --model=llama-2-7b --zero=3 --gpu=H100 --nic=400GbE --servers=32 --recompute",
        "dltrain --placement=random --seed=3",
        "dltrain --oversubscription=4 --cc=none --out=results/oversubscribed",
        "dltrain --scenario=scenarios/presets/bloom560m-3072.json --dry-run",
    };
    return t;
}

/// JSON of a file named by an option, or an error.
std::optional<nlohmann::json>
JsonFile(Validation* v, const std::string& option)
{
    const std::string& file = v->values.Text(option);
    std::vector<topo::Error> errors;
    const auto text = topo::ReadWholeFile(file, errors);
    if (!text)
    {
        v->FailFile(option, errors);
        return std::nullopt;
    }
    JsonText parsed = ParseJsonText(*text, file);
    if (!parsed.error.empty())
    {
        v->errors.push_back({"", "", parsed.error, ""});
        return std::nullopt;
    }
    return std::move(parsed.value);
}

/// Problems of a file, with its name.
void
TakeFileProblems(Validation* v,
                 const std::string& file,
                 const std::vector<training::Problem>& problems)
{
    for (const auto& p : problems)
    {
        // A path is made of the file's own names, however long they are.
        const std::string text =
            file + ": " + (p.path.empty() ? "" : rdma::Shown(p.path, 300) + ": ") + p.text;
        if (p.error)
        {
            v->errors.push_back({"", "", text, ""});
        }
        else
        {
            v->notes.push_back("warning: " + text);
        }
    }
}

/// Problems of options.
void
TakeProblems(Validation* v, const std::vector<training::Problem>& problems)
{
    for (const auto& p : problems)
    {
        if (!p.error)
        {
            v->notes.push_back(
                "warning: " +
                (p.path.empty()
                     ? ""
                     : (p.path[0] == '/' ? "" : "--") + rdma::Shown(p.path, 300) + ": ") +
                p.text);
        }
        else if (v->table.Find(p.path))
        {
            v->Fail(p.path, p.text);
        }
        else
        {
            v->errors.push_back({p.path, "", p.text, ""});
        }
    }
}

std::optional<training::ModelSpec>
ChosenModel(Validation* v)
{
    if (auto model = training::FindModel(v->values.Text("model")))
    {
        return model;
    }
    const auto json = JsonFile(v, "model");
    if (!json)
    {
        return std::nullopt;
    }
    std::vector<training::Problem> problems;
    auto model = training::ParseModelJson(*json, problems);
    TakeFileProblems(v, v->values.Text("model"), problems);
    return model;
}

std::optional<training::GpuSpec>
GpuOfOption(Validation* v)
{
    if (auto gpu = training::FindGpu(v->values.Text("gpu")))
    {
        return gpu;
    }
    const auto json = JsonFile(v, "gpu");
    if (!json)
    {
        return std::nullopt;
    }
    std::vector<training::Problem> problems;
    auto gpu = training::ParseGpuJson(*json, problems);
    TakeFileProblems(v, v->values.Text("gpu"), problems);
    return gpu;
}

/// Server and GPU depend on each other: --gpu alone chooses a server that has it.
void
ChooseServerAndGpu(Validation* v,
                   std::optional<topo::ServerSpec>* server,
                   std::optional<training::GpuSpec>* gpu)
{
    auto& values = v->values;
    const bool gpuGiven = values.Given("gpu");
    if (gpuGiven)
    {
        *gpu = GpuOfOption(v);
        if (!*gpu)
        {
            return;
        }
        if (!values.Given("server"))
        {
            const auto& presets = topo::ServerPresets();
            const std::string& name = (*gpu)->name;
            const topo::ServerSpec* fitting = topo::FindServerForGpu(presets, name);
            fitting =
                fitting ? fitting : topo::FindServerForGpu(presets, name.substr(0, name.find('-')));
            if (fitting)
            {
                v->Decide("server", fitting->name);
            }
            else
            {
                v->notes.push_back("no server preset has " + name + " GPUs: they stand in a " +
                                   values.Text("server") +
                                   ", with its links; --server says otherwise");
            }
        }
    }
    *server = ChosenServer(v);
    if (!*server)
    {
        return;
    }
    if (!gpuGiven)
    {
        *gpu = training::FindGpu((*server)->gpu);
        if (!*gpu)
        {
            v->Fail("server",
                    "has GPUs called " + (*server)->gpu +
                        ", which are not known; give --gpu, allowed: " + JoinNames(GpuItems()));
            return;
        }
        v->Decide("gpu", (*gpu)->name);
    }
    (*server)->gpu = (*gpu)->name;
}

/// The different collectives of a plan.
std::vector<coll::Collective>
CollectivesOf(const training::TrainingPlan& plan)
{
    std::vector<coll::Collective> used;
    std::set<std::tuple<coll::Op, uint64_t, uint32_t>> seen;
    for (const auto& role : plan.roles)
    {
        for (const auto& task : role.tasks)
        {
            if (task.kind == training::TaskKind::kCollective &&
                seen.insert({task.op, task.bytes, task.group}).second)
            {
                const auto& groups = plan.groupKinds[task.group].groups;
                used.push_back({task.op,
                                task.bytes,
                                groups.empty() ? 1 : static_cast<coll::Rank>(groups[0].size()),
                                0});
            }
        }
    }
    return used;
}

/// Stragglers of --slow-gpu.
void
SlowDown(Validation* v, training::TrainingPlan* plan)
{
    std::set<uint32_t> named;
    for (const auto& word : v->values.List("slow-gpu"))
    {
        const auto fail = [&](const std::string& problem) {
            v->errors.push_back({v->values.Where("slow-gpu"), word, problem, ""});
        };
        const size_t colon = word.find(':');
        uint32_t rank = 0;
        double factor = 0;
        const char* const end = word.data() + word.size();
        const auto [afterRank, badRank] = std::from_chars(word.data(), end, rank);
        const auto [afterFactor, badFactor] =
            colon == std::string::npos
                ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                : std::from_chars(word.data() + colon + 1, end, factor);
        if (badRank != std::errc() || afterRank != word.data() + colon ||
            badFactor != std::errc() || afterFactor != end || rank >= plan->ranks ||
            !(factor >= 1 && factor <= 1000))
        {
            fail("allowed: GPU:FACTOR as 5:1.3, GPU 0 to " + std::to_string(plan->ranks - 1) +
                 ", factor 1 to 1000");
            return;
        }
        plan->slowness.resize(plan->ranks, 1);
        if (!named.insert(rank).second)
        {
            fail("names GPU " + std::to_string(rank) + " a second time; allowed: once");
            return;
        }
        plan->slowness[rank] = factor;
    }
}

} // namespace

const OptionTable&
TrainingOptionTable()
{
    static const OptionTable table = MakeTable();
    return table;
}

ParseResult<TrainingScenario>
ValidateTraining(const ReadResult& read)
{
    Validation v{TrainingOptionTable(), read.values, {}, {}};
    auto& values = v.values;
    TrainingScenario s;
    s.steps = values.U32("steps");
    s.warmupSteps = values.U32("warmup");
    s.workload = values.Given("workload") ? values.Text("workload") : workload::kDefaultWorkload;
    s.zero = values.U32("zero");
    s.dtype = values.Text("dtype");

    const auto model = ChosenModel(&v);
    std::optional<topo::ServerSpec> server;
    std::optional<training::GpuSpec> gpu;
    ChooseServerAndGpu(&v, &server, &gpu);
    ApplyServer(&v, server);
    s.fabric = MakeFabric(&v);
    Cluster cluster = MakeCluster(&v, Defaults(), server, &s.fabric);

    std::vector<coll::Collective> used;
    if (model && gpu && cluster.valid && v.errors.empty())
    {
        training::TrainingOptions o;
        o.model = *model;
        o.gpu = *gpu;
        o.ranks = cluster.spec.servers * cluster.spec.server.gpus;
        o.zero = s.zero;
        o.zeroImpl = *training::ParseZeroImpl(values.Text("zero-impl"));
        o.dtype = *training::ParseDtype(s.dtype);
        o.recompute = values.Flag("recompute");
        o.fusedAttention = values.Flag("fused-attention");
        if (!model->hasSequence)
        {
            v.MustNotBeGiven({"seq"},
                             "has no meaning for " + model->name +
                                 ", whose samples are no sequences");
            o.sequence = 1;
        }
        else
        {
            if (!values.Given("seq"))
            {
                v.Decide("seq", std::to_string(std::min(kDefaultSequence, model->sequence)));
            }
            o.sequence = values.U32("seq");
        }
        if (values.Given("buckets"))
        {
            o.bucketBytes = values.Integer("buckets");
        }
        if (values.Given("gather-bytes"))
        {
            o.gatherBytes = values.Integer("gather-bytes");
        }
        if (values.Given("prefetch"))
        {
            o.prefetchBytes = values.Integer("prefetch");
            if (s.zero != 3)
            {
                v.MustNotBeGiven({"prefetch"},
                                 "has no meaning with --zero=" + std::to_string(s.zero) +
                                     "; it belongs to --zero=3");
            }
        }
        if (values.Given("overlap"))
        {
            o.overlap = values.Flag("overlap");
        }
        if (values.Given("profile"))
        {
            if (const auto json = JsonFile(&v, "profile"))
            {
                std::vector<training::Problem> problems;
                o.profile = training::ParseProfileJson(*json, problems);
                TakeFileProblems(&v, values.Text("profile"), problems);
            }
        }
        MakeBatch(&v, &o);
        s.microBatch = o.microBatch;
        s.accumulation = o.accumulation;
        s.globalBatch = o.ranks * o.microBatch * o.accumulation;
        if (v.errors.empty())
        {
            TakeProblems(&v, training::Check(o));
        }
        if (v.errors.empty())
        {
            s.options = training::ResolvedOptions(o);
            s.plan = training::MakeDataParallelPlan(o);
            used = CollectivesOf(s.plan);
            SlowDown(&v, &s.plan);
            if (s.options.bucketBytes)
            {
                v.Decide("buckets", CanonicalBytes(*s.options.bucketBytes));
            }
            if (s.options.overlap)
            {
                v.Decide("overlap", *s.options.overlap ? "1" : "0");
            }
        }
        s.model = model->name;
        s.parameters = model->parameters;
        s.sequence = o.sequence;
        s.gpu = gpu->name;
    }
    s.collectives = MakeCollectives(&v, cluster.valid ? &cluster.spec : nullptr, used);
    s.run = MakeRun(&v, read, cluster.valid ? &cluster.spec.topology : nullptr);
    s.run.asRun = AsRun(v, s.run, cluster.fromFile);
    s.cluster = std::move(cluster.spec);
    return Finished(std::move(v), std::move(s));
}

ParseResult<TrainingScenario>
ParseTraining(int argc, const char* const* argv)
{
    return ParseProgram<TrainingScenario>(TrainingOptionTable(), argc, argv, ValidateTraining);
}

TrainingScenario
ParseTrainingOrExit(int argc, const char* const* argv)
{
    return OrExit(TrainingOptionTable(), ParseTraining(argc, argv));
}

} // namespace scenario
