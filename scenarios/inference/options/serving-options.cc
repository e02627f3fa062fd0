/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve: its options. What becomes of their values: serving-scenario.cc.
 *
 * Defaults are those of vLLM V1 as its OpenAI server has them on most GPUs (vllm-project/vllm,
 * vllm/engine/arg_utils.py, EngineArgs.get_batch_defaults: max_num_seqs 256, max_num_batched_tokens
 * 2048; 1024 and 8192 from 70 GiB of memory on but for A100; vllm/config: gpu_memory_utilization
 * 0.9, block_size 16, chunked prefill). Names that vLLM has for an option are its aliases.
 */
#include "scenarios/inference/options/serving-options.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/serving.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/inference/engine-preset.h"
#include "scenarios/inference/kv-transfer.h"
#include "scenarios/inference/options/kernel-options.h"
#include "scenarios/inference/router.h"
#include "scenarios/inference/scheduler.h"
#include "scenarios/multiplex/options/multiplex-options.h"
#include "scenarios/multiplex/policy.h"
#include "scenarios/network/background.h"
#include "scenarios/network/child-options.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/scale-up-options.h"
#include "scenarios/training/options/training-options.h"

#include <string>
#include <utility>
#include <vector>

namespace scenario
{

namespace when
{

When
Tokens()
{
    return Known("model", "a model with tokens").Usual();
}

When
NoTokens()
{
    return Known("model", "a model without tokens, such as resnet50");
}

When
Experts()
{
    return Known("model", "a model with experts");
}

When
ByRate()
{
    return Known("requests", "--requests=poisson, gamma, constant or a file").Usual();
}

} // namespace when

namespace
{

using Scheduler = serving::SchedulerEntry;
using Schedulers = serving::RegisteredScheduler;

/// A row of dltrain's, without the conditions of training.
Option
RowOfTraining(const std::string& name)
{
    Option row = *TrainingOptionTable().Find(name);
    row.path = "/serving/" + row.path.substr(row.path.rfind('/') + 1);
    row.group = "Serving";
    row.conditions.clear();
    row.bindings.clear();
    return row;
}

std::vector<NamedItem>
ArrivalItems()
{
    return {{"poisson", "poisson:RATE, requests a second with exponential times between them"},
            {"gamma", "gamma:RATE:CV, the same with a coefficient of variation: bursty above 1"},
            {"constant", "constant:RATE, one after the other at equal times"},
            {"burst", "burst:N, all at the beginning"},
            {"closed", "closed:CLIENTS, each sends its next request after an answer"}};
}

std::vector<Option>
RequestRows()
{
    const Section section{"/serving", "Requests"};
    const Section tokens = section.Only(when::Tokens());
    return {
        section
            .NameOrFile("requests",
                        "when requests arrive: poisson:RATE, gamma:RATE:CV, constant:RATE, "
                        "burst:N, closed:CLIENTS; or a file with arrivals and lengths")
            .As(&asked::Serving::requests)
            .Names("kind of arrivals", ArrivalItems)
            .WithArguments()
            .Shows("KIND:NUMBERS|FILE")
            .Otherwise("poisson:1, assumed; without tokens closed:1")
            .Example("gamma:4:2"),
        section.List("requests-where", "lines of the file that count, by the values of its columns")
            .As(&asked::Serving::requestsWhere)
            .Shows("COLUMN=VALUE,...")
            .Otherwise("all")
            .Example("gpu=RTX4090"),
        section.Real("rate", "requests a second; arrivals of a file are stretched to it")
            .As(&asked::Serving::rate)
            .Alias("request-rate")
            .Range(1e-6, 1e6)
            .Otherwise("that of --requests")
            .Example("4")
            .Only(when::ByRate()),
        section.Integer("count", "requests in all; of a file the first ones")
            .As(&asked::Serving::count)
            .Alias("num-prompts")
            .Range(1, 1e7)
            .Otherwise("1000, assumed; all of a file")
            .Example("200"),
        tokens.Text("prompt", "tokens of a prompt: a number, uniform:A-B or lognormal:MEAN:CV")
            .As(&asked::Serving::prompt)
            .Alias("random-input-len")
            .Shows("TOKENS")
            .Otherwise("1024 where the model has room, assumed; a file's own")
            .Example("uniform:512-2048"),
        tokens.Text("output", "tokens of an answer: the same")
            .As(&asked::Serving::output)
            .Alias("random-output-len")
            .Shows("TOKENS")
            .Otherwise("256, assumed; a file's own; 1 of encoders")
            .Example("lognormal:256:1"),
        section.Only(when::NoTokens())
            .Integer("batch", "samples of a pass")
            .As(&asked::Serving::batch)
            .Range(1, 1e6)
            .Otherwise("1")
            .Example("32"),
        section.Only(when::NoTokens())
            .Integer("passes", "passes in all, one after the other; the same as --count")
            .As(&asked::Serving::passes)
            .Range(1, 1e7)
            .Otherwise("1000, assumed")
            .Example("100"),
        section.Integer("warmup-requests", "the first requests, which are in no statistics")
            .As(&asked::Serving::warmupRequests)
            .Range(0, 1e7)
            .Default("0")
            .Example("50")
            .To(&serving::ServingSpec::warmupRequests),
        section.Duration("duration", "the run ends after this simulated time")
            .As(&asked::Serving::duration)
            .Range(1, 1e18)
            .Otherwise("with the last answer")
            .Example("60s"),
        section
            .List("slo",
                  "objectives of a request: time to the first token, time of each other one, time "
                  "to the last")
            .As(&asked::Serving::slo)
            .Shows("ttft:TIME,tpot:TIME,e2e:TIME")
            .Otherwise("none")
            .Example("ttft:500ms,tpot:50ms"),
        section
            .Text("find-rate",
                  "find the largest rate at which this share of requests meets --slo, with 4 seeds")
            .As(&asked::Serving::findRate)
            .Shows("SHARE")
            .Otherwise("one run")
            .Example("90%")
            .Only(when::ByRate())
            .Only(when::With("slo")),
        section.Text("sweep-rate", "a run at each of N rates from A to B, 8 by default")
            .As(&asked::Serving::sweepRate)
            .Shows("A..B[:N]")
            .Otherwise("one run")
            .Example("1..16:5")
            .Only(when::ByRate())
            .Only(when::Without("find-rate")),
        section.Real("price", "$ a GPU-hour, for the cost of a million tokens")
            .As(&asked::Serving::price)
            .Range(0, 1e6)
            .Otherwise("not known")
            .Example("2.5"),
    };
}

std::vector<Option>
CutRows()
{
    const Section section{"/serving", "Serving"};
    const Section whole = section.Only(when::Without("split"));
    const auto degree = [&whole](const char* name, const char* help) {
        return whole.Integer(name, help).Range(1, 1e6);
    };
    return {
        RowOfTraining("model").Names("model", ZooItems).Default("llama3-8b").Example("gpt2"),
        RowOfTraining("gpu"),
        RowOfTraining("dtype"),
        degree("tp", "tensor parallel: GPUs that share every layer of an instance")
            .As(&asked::Degrees::tp)
            .Alias("tp-size")
            .Alias("tensor-parallel-size")
            .Default("1")
            .Example("2"),
        degree("pp", "pipeline parallel: stages of an instance")
            .As(&asked::Degrees::pp)
            .Alias("pp-size")
            .Alias("pipeline-parallel-size")
            .Default("1")
            .Example("2"),
        degree("ep",
               "expert parallel: GPUs that share out experts, a multiple of --tp; an instance has "
               "ep / tp engines, which run in step; as many as --tp: each GPU of it has whole "
               "experts")
            .As(&asked::Degrees::ep)
            .Alias("ep-size")
            .Otherwise("experts are cut as --tp cuts other layers")
            .Example("2")
            .Only(when::Experts()),
        degree("replicas", "instances of the model")
            .As(&asked::Serving::replicas)
            .Alias("instances")
            .Otherwise("as many as --gpus or --servers have room for, else 1")
            .Example("2"),
        section
            .Text("split",
                  "prompts and answers on GPUs of their own: pools with their instances and cuts")
            .As(&asked::Serving::split)
            .Shows("prefill:Nx(tp=T,pp=P),decode:...")
            .Otherwise("each instance does both")
            .Example("prefill:2x(tp=2),decode:1x(tp=2)")
            .Only(when::Tokens())
            .Only(when::Is("scheduler", Schedulers::NamesWhere(&Scheduler::takesKv)).Usual()),
        section.Name("kv-transfer", "when KV travels from a prefill instance to a decode instance")
            .As(&asked::Serving::kvTransfer)
            .NamesOf<serving::KvTransferEntry>("KV transfer")
            .Default("whole")
            .Example("by-layer")
            .To(&serving::ServingSpec::kvTransfer)
            .Only(when::With("split")),
        section
            .Text("packet-blocks",
                  "blocks of a stage whose exchanges between servers are simulated in each "
                  "iteration; those of the others take as long as these; auto: 4 if one instance "
                  "has the network for itself, else all")
            .As(&asked::Serving::packetBlocks)
            .Shows("N|all|auto")
            .Default("auto")
            .Example("all"),
        section.Name("router", "which instance takes a request")
            .As(&asked::Serving::router)
            .NamesOf<serving::RouterEntry>("router")
            .Default("round-robin")
            .Example("least-loaded")
            .To(&serving::ServingSpec::router),
        section.Only(when::Tokens())
            .Name("framework",
                  "serving engine: its host time, and its scheduler, budgets and KV where they are "
                  "not given")
            .As(&asked::Serving::framework)
            .NamesOf<serving::EnginePreset>("engine preset")
            .Aliases([](const std::string& text) {
                return std::string(text == "trtllm" || text == "tensorrt-llm" ? "trtllm-1" : "");
            })
            .Default("vllm")
            .Example("ideal"),
    };
}

std::vector<Option>
SchedulingRows()
{
    const Section section{"/serving", "Serving"};
    const Section tokens = section.Only(when::Tokens());
    const auto with = [&](bool Scheduler::*holds) {
        return tokens.Only(when::Is("scheduler", Schedulers::NamesWhere(holds)).Usual());
    };
    const Section budget = with(&Scheduler::hasBudget);
    const Section joining = with(&Scheduler::joins);
    const Section sparse = section.Only(when::With("send-share"));
    return {
        tokens.Name("scheduler", "how requests share iterations, unless --framework has its own")
            .As(&asked::Serving::scheduler)
            .NamesOf<serving::SchedulerEntry>("scheduler")
            .Default("vllm")
            .Example("static")
            .To(&serving::ServingSpec::scheduler),
        tokens
            .Integer("max-batch",
                     "requests of an engine that run at once, unless --framework says it")
            .As(&asked::Serving::maxBatch)
            .Alias("max-num-seqs")
            .Range(1, 1e6)
            .Default("256")
            .Example("64")
            .To(&serving::ServingSpec::maxBatch),
        budget
            .Integer("token-budget",
                     "tokens of an iteration of an engine, unless --framework says it")
            .As(&asked::Serving::tokenBudget)
            .Alias("max-num-batched-tokens")
            .Range(1, 1e7)
            .Default("2048")
            .Example("8192")
            .To(&serving::ServingSpec::tokenBudget),
        budget.Flag("chunked-prefill", "a prompt may be shared out over iterations")
            .As(&asked::Serving::chunkedPrefill)
            .Alias("enable-chunked-prefill")
            .Default("1")
            .Example("0")
            .To(&serving::ServingSpec::chunkedPrefill),
        tokens.Only(when::Is("scheduler", Schedulers::NamesWhere(&Scheduler::waits)))
            .Text(
                "batch-wait",
                "prompts wait for more of them beside decoding: at most so many iterations, while "
                "an iteration has less than this share of --token-budget")
            .As(&asked::Serving::batchWait)
            .Alias("batch-wait-timeout-iters")
            .Shows("ITERATIONS[:SHARE]")
            .Otherwise("they do not wait; SHARE 1")
            .Example("20:0.9"),
        joining.Integer("poll-interval", "iterations of decoding between looks for new requests")
            .As(&asked::Serving::pollInterval)
            .Alias("scheduler-recv-interval")
            .Range(1, 1e6)
            .Default("1")
            .Example("30")
            .To(&serving::ServingSpec::pollInterval),
        tokens
            .Integer("cuda-graphs",
                     "largest batch of decoding that is replayed as a CUDA graph; 0: kernels are "
                     "launched one by one")
            .As(&asked::Serving::cudaGraphs)
            .Alias("cuda-graph-max-bs")
            .Alias("max-cudagraph-capture-size")
            .Range(0, 1e6)
            .Otherwise("that of --framework")
            .Example("256"),
        tokens.Flag("enforce-eager", "no CUDA graphs, as --cuda-graphs=0")
            .As(&asked::Serving::enforceEager)
            .Default("0")
            .Example("1"),
        tokens
            .Duration("answer-time",
                      "time of a request beside the engine, until its first token: HTTP, tokenizer")
            .As(&asked::Serving::answerTime)
            .Range(0, 1e13)
            .Otherwise("that of --framework")
            .Example("3ms"),
        tokens.Integer("kv-block", "tokens of a block of KV")
            .As(&asked::Serving::kvBlock)
            .Alias("block-size")
            .Range(1, 65536)
            .Default("16")
            .Example("32")
            .To(&serving::ServingSpec::kvBlock),
        tokens
            .Real("kv-memory",
                  "share of a GPU's memory for parameters, activations and KV together")
            .As(&asked::Serving::kvMemory)
            .Alias("gpu-memory-utilization")
            .Range(0.01, 1)
            .Default("0.9")
            .Example("0.8")
            .To(&ServingScenario::kvMemory),
        tokens
            .Text("kv-of",
                  "memory for KV: all:SHARE of a GPU's with parameters and activations, as "
                  "--kv-memory (vLLM); free:SHARE of what these leave (TensorRT-LLM's "
                  "free_gpu_memory_fraction); static:SHARE with parameters alone (SGLang's "
                  "mem_fraction_static)")
            .As(&asked::Serving::kvOf)
            .Shows("all|free|static:SHARE")
            .Otherwise("all, by --kv-memory; or that of --framework")
            .Example("free:0.9"),
        tokens.Name("kv-dtype", "data type of keys and values")
            .As(&asked::Serving::kvDtype)
            .Alias("kv-cache-dtype")
            .Names("data type of KV",
                   {{"auto", "as --dtype, in 16 bits at least"},
                    {"fp32", ""},
                    {"fp16", ""},
                    {"bf16", ""},
                    {"fp8", "one byte"}})
            .Default("auto")
            .Example("fp8"),
        tokens
            .Integer("kv-tokens",
                     "tokens of KV that an engine has room for, as vLLM prints it (\"GPU KV cache "
                     "size\"), instead of --kv-memory")
            .As(&asked::Serving::kvTokens)
            .Range(1, 1e12)
            .Otherwise("what GPU memory has room for")
            .Example("100000"),
        joining.Real("prefix-cache", "share of each prompt's tokens that are in the prefix cache")
            .As(&asked::Serving::prefixCache)
            .Range(0, 1)
            .Default("0")
            .Example("0.5")
            .To(&serving::ServingSpec::prefixCache),
        joining
            .Text("speculate",
                  "speculative decoding: a draft model, tokens that it proposes, and the "
                  "probability that each is accepted")
            .As(&asked::Serving::speculate)
            .Shows("DRAFT:K:ACCEPT")
            .Otherwise("none")
            .Example("gpt2:4:0.7"),
        section
            .Real("moe-skew",
                  "some experts are liked better: number r as 1 / r to this power (Zipf), shuffled "
                  "by --seed; 0: all the same")
            .As(&asked::Model::moeSkew)
            .Range(0, 10)
            .Default("0")
            .Example("1")
            .IdleUnless(when::Experts())
            .To(&ServingScenario::moeSkew),
        section.Real("send-share", "share of activations that is sent at a cut of the model")
            .As(&asked::Serving::sendShare)
            .Range(1e-6, 1)
            .Otherwise("all")
            .Example("0.2"),
        sparse.Name("send-codec", "how the receiver learns which activations they are")
            .As(&asked::Serving::sendCodec)
            .Names("codec",
                   {{"none", "both sides know: pruned channels"},
                    {"index", "4 bytes an element"},
                    {"bitmask", "a bit for each element, sent or not"}})
            .Default("none")
            .Example("bitmask"),
        sparse.Flag("send-pruned-flops", "activations that are not sent are not computed either")
            .As(&asked::Serving::sendPrunedFlops)
            .Default("0")
            .Example("1")
            .To(&serving::SparseSpec::prunedFlops),
    };
}

/// Many models on a GPU: a table of their own reads these (MultiplexOptionTable), and here they are
/// shown. --sweep-rate is an option of both.
std::vector<Option>
MultiplexRows()
{
    std::vector<Option> rows;
    for (Option& option : MultiplexOptionRows())
    {
        const bool asks = option.name == "multiplex" || option.name == "share-curve" ||
                          option.name == "slices" || option.name == "compare";
        if (!asks && option.conditions.empty())
        {
            option.Only(when::With("multiplex"));
        }
        if (option.name != "sweep-rate")
        {
            rows.push_back(std::move(option));
        }
    }
    return rows;
}

OptionTable
MakeServingTable()
{
    OptionTable t;
    t.program = "dlserve";
    t.version = kVersion;
    t.description = "inference across GPUs on a packet-level RDMA network: latencies, throughput, "
                    "and where the time goes";
    t.Add(RequestRows());
    t.Add(CutRows());
    t.Add(SchedulingRows());
    t.Add(KernelRows());
    t.Add(MultiplexRows());
    t.Add(ClusterOptionRows(ServingClusterDefaults()));
    t.Add(CollectiveOptionRows());
    t.Add(ScaleUpOptionRows());
    t.Add(NcclOptionRows());
    t.Add(NetworkOptionRows("fat-tree", ServerCount::kAlways));
    t.Add(FabricOptionRows(Software::kNccl));
    t.Add(FidelityOptionRows(true));
    t.Add(BackgroundOptionRows());
    t.Add(RunOptionRows("dlserve"));
    t.Add(ChildOptionRows("--find-rate and --sweep-rate"));
    t.lists = {{"models", "Models (--model), or a JSON file", ZooItems, ZooText},
               {"gpus", "GPUs (--gpu), or a JSON file", GpuItems},
               ServerList()};
    Append(&t.lists, FabricLists());
    t.lists.push_back(AlgorithmList());
    t.lists.push_back(NcclVariableList());
    t.lists.push_back(
        {"policies", "Policies of --multiplex (--policy)", ItemsOf<multiplex::PolicyEntry>});
    t.foreign = {{"jobs",
                  0,
                  {},
                  "is an option of dltrain, whose jobs may serve a model: a job with \"serving\": "
                  "{...} has these options; allowed: dltrain --jobs=FILE"}};
    t.Finish();
    t.examples = {
        "dlserve --model=llama3-70b --server=dgx-h100 --tp=8 --rate=4 --prompt=1024",
        "dlserve --requests=gamma:8:2 --slo=ttft:500ms,tpot:50ms --find-rate=90%",
        "dlserve --model=llama2-13b --rate=2 --split=prefill:2x(tp=4),decode:2x(tp=2,pp=2)",
        "dlserve --model=mixtral-8x7b --server=dgx-h100 --tp=2 --ep=8 --servers=2 --rate=8",
        "dlserve --multiplex=mix.json --policy=temporal,dstack,ideal --duration=60s",
        "dlserve --model=resnet50 --gpus=2 --pp=2 --batch=32 --passes=100 --send-share=0.2",
    };
    return t;
}

} // namespace

ClusterDefaults
ServingClusterDefaults()
{
    ClusterDefaults d;
    d.total = "gpus";
    d.totalHelp = "GPUs of the cluster; must fill servers";
    d.totalNote = "servers that the instances need";
    d.serversNote = "as many as the instances need, or what --gpus fills, or all hosts of a file";
    return d;
}

const OptionTable&
ServingOptionTable()
{
    static const OptionTable table = MakeServingTable();
    return table;
}

} // namespace scenario
