/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain: its options. What becomes of their values: training-scenario.cc.
 */
#include "scenarios/training/options/training-options.h"

#include "scenarios/asked/foreign-names.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/memory/memory-options.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/network/background.h"
#include "scenarios/network/child-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/compute-options.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/scale-up-options.h"
#include "scenarios/network/server-kinds.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/options/format.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/options/data-parallel-options.h"
#include "scenarios/training/options/jobs.h"
#include "scenarios/training/options/launch-options.h"
#include "scenarios/training/options/order-options.h"
#include "scenarios/training/options/parallel-options.h"
#include "scenarios/training/options/recipes.h"
#include "scenarios/training/options/software-options.h"
#include "scenarios/training/options/strategy-options.h"
#include "scenarios/training/options/trace-options.h"
#include "scenarios/training/options/training-inputs.h"
#include "scenarios/workload/registry.h"

namespace scenario
{

namespace
{

std::vector<NamedItem>
GpuLines()
{
    std::vector<NamedItem> items;
    for (const auto& name : training::GpuNames())
    {
        const auto gpu = training::FindGpu(name);
        const auto dtype = gpu->peakBf16 > 0   ? training::Dtype::kBf16
                           : gpu->peakFp16 > 0 ? training::Dtype::kFp16
                                               : training::Dtype::kFp32;
        items.push_back(
            {name,
             Format("%.4g", gpu->Peak(dtype) * 1e-12) + " TFLOP/s " + training::DtypeName(dtype) +
                 ", " + Format("%.4g", gpu->memoryBandwidth * 1e-9) + " GB/s, " +
                 Format("%.3g", static_cast<double>(gpu->memoryBytes) / (1ULL << 30)) + " GiB"});
    }
    return items;
}

} // namespace

std::vector<NamedItem>
GpuItems()
{
    static const std::vector<NamedItem> items = GpuLines(); // a search of layouts asks often
    return items;
}

ClusterDefaults
TrainingClusterDefaults()
{
    ClusterDefaults d;
    d.total = "gpus";
    d.totalHelp = "GPUs that train; must fill servers";
    d.totalNote = "all GPUs of --servers";
    d.serversNote = "16, or what --gpus fills, or all hosts of a topology file";
    return d;
}

namespace
{

/// A model of the zoo in a line.
struct ModelLine
{
    std::string family;
    NamedItem item;
};

const std::vector<ModelLine>&
ModelLines()
{
    static const std::vector<ModelLine> lines = [] {
        std::vector<ModelLine> list;
        for (const auto& name : training::ModelNames())
        {
            const auto model = training::FindModel(name);
            const uint64_t active = model->ActiveParameters();
            list.push_back(
                {model->family,
                 {name,
                  training::ParametersText(model->parameters) + " parameters" +
                      (active < model->parameters
                           ? ", " + training::ParametersText(active) + " active"
                           : "") +
                      (model->hasSequence ? ", sequence " + std::to_string(model->sequence)
                                          : "")}});
        }
        return list;
    }();
    return lines;
}

constexpr const char* kModelTitle = "Models (--model), or a JSON file";

} // namespace

std::vector<NamedItem>
ZooItems()
{
    std::vector<NamedItem> items;
    for (const ModelLine& line : ModelLines())
    {
        items.push_back({line.item.name, line.family + ", " + line.item.description});
    }
    return items;
}

std::string
ZooText()
{
    std::string text = std::string(kModelTitle) + "\n";
    std::string family;
    for (const ModelLine& line : ModelLines())
    {
        text += line.family != family ? "\n" + line.family + "\n" : "";
        family = line.family;
        text += Format("  %-28s", line.item.name.c_str()) + line.item.description + "\n";
    }
    return text;
}

namespace
{

const NamedItem&
ProfileItem()
{
    static const NamedItem item{kProfileModel, "the layers that --profile has in their order"};
    return item;
}

std::vector<NamedItem>
ModelItems()
{
    std::vector<NamedItem> items = ZooItems();
    items.push_back(ProfileItem());
    return items;
}

/// The models of each family below its name.
std::string
ModelsByFamily()
{
    return ZooText() + Format("\n  %-28s", ProfileItem().name.c_str()) + ProfileItem().description +
           "\n";
}

std::string
ModelAlias(const std::string& text)
{
    const auto model = training::FindModel(text);
    return model ? model->name : "";
}

std::string
GpuAlias(const std::string& text)
{
    const auto gpu = training::FindGpu(text);
    return gpu ? gpu->name : "";
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

OptionTable
MakeTrainingTable()
{
    OptionTable t;
    t.program = "dltrain";
    t.version = kVersion;
    t.description = "training steps of a neural network on a packet-level RDMA network: step time, "
                    "and what the network costs of it";
    const Section section{"/training", "Training"};
    const Section collective = section.Only(when::Collectives());
    const Section profiles = section.Only(when::With("profile"));
    t.Add({
        section.NameOrFile("model", "the network to train: a name or a JSON file")
            .As(&asked::Model::model)
            .Names("model", ModelItems)
            .Aliases(ModelAlias)
            .Default("bloom-560m"),
        section.Name("recipe", "options as a framework has them; any other option overrides it")
            .As(&asked::Training::recipe)
            .Names("recipe", RecipeItems)
            .Otherwise("none")
            .Example("megatron")
            .To(&training::TrainingOptions::recipe),
        section
            .Integer("mtp",
                     "multi-token prediction: modules that predict one token more each, where the "
                     "model has them (DeepSeek-V3)")
            .As(&asked::Training::mtp)
            .Alias("mtp-num-layers")
            .Default("0")
            .Range(0, 16)
            .Example("1"),
        section.Integer("zero", "ZeRO stage; 0 is plain data parallelism")
            .As(&asked::Training::zero)
            .Alias("zero-stage")
            .Otherwise("2; 1 in a pipeline; 0 with lamb and adafactor")
            .Example("3")
            .OneOf({0, 1, 2, 3}),
        collective.Name("zero-impl", "as the paper has it, or as a framework does it by default")
            .As(&asked::Training::zeroImpl)
            .Names("ZeRO implementation",
                   {{"paper", "reduce-scatter and all-gather, overlapped"},
                    {"deepspeed", "DeepSpeed's defaults"},
                    {"horovod", "--zero=0 in buckets of what came in a cycle"}})
            .Default("paper")
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::zeroImpl, training::ParseZeroImpl),
        section
            .Integer("micro-batch",
                     "samples a GPU computes at a time; auto: the most that fit its memory and "
                     "divide the "
                     "global batch")
            .As(&asked::Training::microBatch)
            .Alias("micro-batch-size")
            .Alias("train-micro-batch-size-per-gpu")
            .Alias("per-device-train-batch-size")
            .OrWord("auto")
            .Otherwise("4, or the largest below it of which the global batch is made")
            .Range(1, 1e6)
            .Example("2"),
        section.Integer("accumulation", "micro-batches a step")
            .As(&asked::Training::accumulation)
            .Alias("gradient-accumulation-steps")
            .Otherwise("1, or what the global batch leaves")
            .Range(1, 1e6)
            .Example("2"),
        section.Integer("global-batch", "samples a step = GPUs x micro-batch x accumulation")
            .As(&asked::Training::globalBatch)
            .Alias("global-batch-size")
            .Alias("train-batch-size")
            .Otherwise("what these make")
            .Range(1, 4e9)
            .Example("1024"),
        section.Integer("seq", "tokens of a sample")
            .As(&asked::Training::seq)
            .Alias("seq-length")
            .Alias("sequence-length")
            .Otherwise("the model's own, at most 8192")
            .Range(1, 1e7)
            .Example("1024")
            .Only(when::Sequences()),
        section
            .Name(
                "dtype",
                "format of parameters, gradients and activations; fp8, mxfp8, nvfp4: of the inputs "
                "of matrix products only, the rest is bf16; fp8: one scale a tensor, from earlier "
                "steps; GPUs without bf16 take fp16 or fp32")
            .As(&asked::Model::dtype)
            .Names("datatype", DtypeItems)
            .Aliases(DtypeAlias)
            .Default("bf16"),
        section.NameOrFile("gpu", "a name or a JSON file")
            .As(&asked::Model::gpu)
            .Names("GPU", GpuItems)
            .Aliases(GpuAlias)
            .Otherwise("as the server has, A100 for dgx-a100")
            .Example("H100"),
        collective.Name("workload", "which steps the GPUs do, and when")
            .As(&asked::Training::workload)
            .NamesOf<workload::Kind>("workload")
            .Otherwise(workload::kDefaultWorkload)
            .Example("steps"),
        section.Integer("steps", "steps measured")
            .As(&asked::Training::steps)
            .Default("1")
            .Range(1, 1e6)
            .Example("3")
            .To(&TrainingScenario::steps),
        section.Integer("warmup", "steps before them, in no statistics")
            .As(&asked::Training::warmup)
            .Default("1")
            .Range(0, 1e6)
            .Example("2")
            .To(&TrainingScenario::warmupSteps),
        collective
            .Bytes("buckets", "gradients reduced together; 0, with horovod: each tensor by itself")
            .As(&asked::Training::buckets)
            .Alias("fusion-threshold")
            .Otherwise("25MiB; with deepspeed 5e8 elements; with horovod 128MiB")
            .Range(0, 1e15)
            .Example("50MiB")
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::bucketBytes),
        collective.Bytes("gather-bytes", "largest all-gather after the optimizer")
            .As(&asked::Training::gatherBytes)
            .Otherwise("5e8 elements")
            .Range(1, 1e15)
            .Example("100MB")
            .IdleUnless(when::Zero("1 or 2"))
            .To(&training::TrainingOptions::gatherBytes),
        section
            .Duration(
                "launch-gap",
                "what a GPU waits between two kernels while its host makes the next one, as with "
                "CUDA_LAUNCH_BLOCKING=1; 0: they are launched ahead")
            .As(&asked::Training::launchGap)
            .Default("0ns")
            .Example("50us"),
        collective
            .Integer("collective-sms",
                     "multiprocessors of a GPU that a collective in progress takes from computing "
                     "beside it "
                     "(NCCL: one a channel)")
            .As(&asked::Training::collectiveSms)
            .Otherwise("the GPU's, 25 for H100; 0 for A100 and older, and with --trace")
            .Range(0, 1e4)
            .Example("16")
            .IdleUnless(when::Job(job::kMessages))
            .To(&training::TrainingOptions::collectiveSms),
        section.List("slow-gpu", "stragglers: computing on this GPU takes FACTOR times as long")
            .As(&asked::Training::slowGpu)
            .Shows("GPU:FACTOR,...")
            .Otherwise("none")
            .Example("5:1.3"),
        section
            .Real("gpu-spread",
                  "standard deviation of the GPUs' compute times, relative to their mean; drawn "
                  "once for "
                  "each GPU by --seed")
            .As(&asked::Training::gpuSpread)
            .Range(0, 0.2)
            .Example("0.02")
            .Default("0"),
        section.Bytes("prefetch", "parameters gathered ahead of their layer")
            .As(&asked::Training::prefetch)
            .Otherwise("one layer; with deepspeed 5e7 elements")
            .Range(0, 1e15)
            .Example("100MB")
            .Only(when::Zero("3"))
            .To(&training::TrainingOptions::prefetchBytes),
        section.Flag("overlap", "reduce gradients and gather parameters while layers compute")
            .As(&asked::Training::overlap)
            .Alias("overlap-comm")
            .Otherwise("1; with deepspeed only at stage 3")
            .Example("0")
            .Only(when::IsNot("strategy", {"sandblaster", "backup-workers"}).Usual())
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::overlap),
        section
            .Name("recompute",
                  "activation checkpointing: what backward computes again instead of keeping it")
            .As(&asked::Training::recompute)
            .Alias("activation-checkpointing")
            .Alias("checkpoint-activations")
            .Alias("deepspeed-activation-checkpointing")
            .Alias("gradient-checkpointing")
            .Alias("recompute-granularity")
            .Names("recomputation",
                   {{"none", "nothing"},
                    {"selective",
                     "the core of attention: scores, softmax, dropout; with --zero=3 and "
                     "--fused-attention all but attention and every second product, as torchtitan"},
                    {"full", "every block, from its input"}})
            .OnOff("full", "none")
            .Default("none")
            .IdleUnless(when::Job(job::kRecomputed))
            .IdleUnless(when::Job(job::kKeptScores), "frees no memory and repeats a kernel")
            .To(&training::TrainingOptions::recompute, training::ParseRecompute),
        section
            .List("recompute-modules",
                  "modules that backward computes again, as Megatron-LM names them: layernorm, "
                  "mla_up_proj, core_attn, moe_act, mlp, shared_experts, moe; and mlp_act, the "
                  "activation of dense MLPs, as fused SwiGLU kernels")
            .As(&asked::Training::recomputeModules)
            .Shows("MODULE,...")
            .Distinct()
            .Otherwise("as --recompute says")
            .Example("layernorm,core_attn"),
        section
            .Flag("fused-attention", "attention matrices never reach the memory (FlashAttention)")
            .As(&asked::Training::fusedAttention)
            .Alias("use-flash-attn")
            .Otherwise("1 from Ampere on in 16 bits, unless scores have a bias (BLOOM, T5) or "
                       "--kernels is not fused")
            .Example("0")
            .IdleUnless(when::Job(job::kAttention))
            .To(&training::TrainingOptions::fusedAttention),
        section.Name("attention-kernel", "library of --fused-attention")
            .As(&asked::Training::attentionKernel)
            .Names("library of fused attention",
                   {{"vendor", "cuDNN's, which Transformer Engine calls"},
                    {"flash2", "FlashAttention 2, as PyTorch's scaled_dot_product_attention"},
                    {"flash3", "FlashAttention 3, of H100"},
                    {"triton", "Triton's of 2022 and 2023, as llm-foundry's attn_impl"}})
            .Aliases([](const std::string& text) { return text == "cudnn" ? "vendor" : ""; })
            .Otherwise("with --zero=3 flash2, on A100 triton; else vendor")
            .Example("flash2")
            .IdleUnless(when::Job(job::kFusedAttention)),
        section.Name("kernels", "what a transformer's layers launch beside large products")
            .As(&asked::Training::kernels)
            .Names("kernel set",
                   {{"fused",
                     "what Megatron-LM and NVIDIA's scripts do: biases' gradients in products, "
                     "dropout with the sum, causal softmax with scale and mask"},
                    {"eager", "PyTorch's, an operator a kernel, forward and backward"},
                    {"megatron",
                     "as fused, and what Megatron-LM's causal softmax reads and writes counted "
                     "pass by pass"}})
            .Default("fused")
            .IdleUnless(when::Job(job::kAttention))
            .IdleUnless(when::Job(job::kScores))
            .To(&training::TrainingOptions::kernels, training::ParseKernelSet),
        section
            .Flag(
                "master-weights",
                "keep a 32-bit copy of parameters and optimizer states beside a 16-bit --dtype; 0: "
                "--dtype alone, as PyTorch's own optimizers")
            .As(&asked::Training::masterWeights)
            .Default("1")
            .IdleUnless(when::HalfPrecision())
            .To(&training::TrainingOptions::masterWeights),
        section.Flag("ignore-memory", "run, or plan, a step that does not fit a GPU's memory")
            .As(&asked::Training::ignoreMemory)
            .Default("0"),
        section
            .File("profile",
                  "measured times of layers, in JSON or CSV, instead of those of their kernels; "
                  "without "
                  "--model, layers in their order are the model")
            .As(&asked::Training::profile)
            .Otherwise("none"),
        profiles.Text("profile-model", "of a profile in CSV with several models, the one to take")
            .As(&asked::Training::profileModel)
            .Shows("NAME")
            .Otherwise("the only one")
            .Example("vgg16")
            .Only(when::If("profile", "a profile in CSV", IsCsvProfile)),
        profiles
            .Integer(
                "profile-batch",
                "samples that a pass of the profile was measured with; its times are scaled to "
                "--micro-batch")
            .As(&asked::Training::profileBatch)
            .Range(1, 1 << 24)
            .Otherwise("as the profile says, or --micro-batch")
            .Example("128"),
        profiles
            .Flag("profile-floor",
                  "no pass of the profile takes less than its FLOPs at the peak of --gpu: of one "
                  "that "
                  "was measured on a faster GPU")
            .As(&asked::Training::profileFloor)
            .Default("0")
            .To(&training::TrainingOptions::profileFloor),
    });
    t.Add(SoftwareOptionRows());
    t.Add(DataParallelOptionRows());
    t.Add(OrderOptionRows());
    t.Add(MemoryOptionRows());
    t.Add(ChildOptionRows("--study, --memory-sweep, --shard-verify, of dlplan's --verify and of "
                          "dlgoodput"));
    t.Add(ComputeOptionRows(section));
    t.Add(ParallelOptionRows());
    t.Add(ShardingOptionRows());
    t.Add(StrategyOptionRows(section));
    t.Add(TraceOptionRows(section));
    t.Add(LaunchOptionRows());
    t.Add(ClusterOptionRows(TrainingClusterDefaults()));
    t.Add(ServerKindsRows());
    t.Add(CollectiveOptionRows());
    t.Add(ScaleUpOptionRows());
    t.Add(NcclOptionRows());
    t.Add(NetworkOptionRows("fat-tree", ServerCount::kAlways));
    t.Add(FabricOptionRows(Software::kNccl));
    t.Add(FidelityOptionRows(true));
    t.Add(BackgroundOptionRows());
    t.Add(JobsOptionRows());
    t.Add(RecoveryOptionRows(Checkpoints::kOfModel));
    t.Add(RunOptionRows("dltrain"));
    RefuseWithSharding(&t.options);
    RefuseWithServerKinds(&t.options);
    for (Option& option : t.options)
    {
        if (option.name == "gpus")
        {
            option.Only(when::OneJob());
        }
        if (NeedsModel(option))
        {
            for (const When& when : when::Model())
            {
                option.Only(when);
            }
        }
        if (option.path.rfind("/training/", 0) == 0)
        {
            option.Only(when::TrainingJob());
        }
        if (option.path.rfind("/collectives/", 0) == 0)
        {
            option.Only(when::CommunicatingJob());
        }
    }
    t.lists = {{"models", kModelTitle, ModelItems, ModelsByFamily},
               {"gpus", "GPUs (--gpu), or a JSON file", GpuItems},
               ServerList(),
               {"recipes", kRecipeTitle, RecipeItems, RecipesText},
               {"workloads", "Workloads (--workload)", ItemsOf<workload::Kind>}};
    Append(&t.lists, FabricLists());
    t.lists.push_back(AlgorithmList());
    t.lists.push_back(NcclVariableList());
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

} // namespace

const OptionTable&
TrainingOptionTable()
{
    static const OptionTable table = MakeTrainingTable();
    return table;
}

} // namespace scenario
