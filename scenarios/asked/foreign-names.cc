/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/asked/foreign-names.h"

namespace scenario
{

namespace
{

/// Degrees of parallelism: 1 is what there is.
void
AddDegree(std::vector<ForeignName>* names, const std::vector<std::string>& spellings)
{
    for (const auto& name : spellings)
    {
        names->push_back(
            {name,
             0,
             {{"1", ""}},
             "sequences are shared out by --cp (context parallelism), and within --tp by "
             "--sequence-parallel; allowed: 1",
             false});
    }
}

void
AddFlag(std::vector<ForeignName>* names,
        const std::string& name,
        const std::string& means,
        const std::string& otherwise)
{
    ForeignName foreign{name, 0, {}, otherwise, true};
    if (!means.empty())
    {
        foreign.means.emplace_back("", means);
        foreign.otherwise = "is a flag that means " + means + "; allowed: no value";
    }
    names->push_back(std::move(foreign));
}

} // namespace

std::vector<ForeignName>
TrainingForeignNames()
{
    std::vector<ForeignName> names;
    AddDegree(&names, {"sp", "sequence-parallel-size", "ds-sequence-parallel-size"});
    AddFlag(&names, "no-pipeline-parallel", "--pp=1", "");
    AddFlag(&names, "bf16", "--dtype=bf16", "");
    AddFlag(&names, "fp16", "--dtype=fp16", "");
    names.push_back({"params-dtype", 0, {}, "is --dtype here", false});
    names.push_back(
        {"batch-size",
         0,
         {},
         "samples a GPU takes at a time are --micro-batch here, those of a step --global-batch",
         false});
    names.push_back({"train-iters",
                     0,
                     {},
                     "is --steps here, how many steps are measured, after --warmup of them",
                     false});

    // Activation checkpointing in parts.
    AddFlag(&names, "recompute-activations", "--recompute=selective", "");
    names.push_back(
        {"recompute-method", 0, {}, "--recompute checkpoints every block; leave it out", false});
    names.push_back({"recompute-num-layers",
                     0,
                     {{"1", ""}},
                     "--recompute checkpoints every block; allowed: 1",
                     false});

    // ZeRO.
    AddFlag(&names, "use-distributed-optimizer", "--zero=1", "");
    AddFlag(&names, "deepspeed", "--zero-impl=deepspeed", "");
    AddFlag(&names, "accumulate-allreduce-grads-in-fp32", "--reduce-dtype=fp32", "");
    names.push_back({"bucket-cap-mb", 0, {}, "is --buckets here, as in --buckets=25MiB", false});
    names.push_back(
        {"fusion-threshold-mb", 0, {}, "is --fusion-threshold here, as in 64MiB", false});
    names.push_back({"cycle-time-ms", 0, {}, "is --cycle-time here, as in 5ms", false});
    for (const char* name : {"deepspeed-config", "ds-config"})
    {
        names.push_back({name,
                         0,
                         {},
                         "files of DeepSpeed are not read; its settings here: "
                         "--zero-impl=deepspeed, --zero, --micro-batch, --accumulation, --buckets, "
                         "--gather-bytes, --prefetch, --overlap, --dtype",
                         false});
    }
    const std::string elements =
        ", and counts bytes where that counts elements (5e8 elements of bf16 are 1GB)";
    names.push_back({"reduce-bucket-size", 0, {}, "is --buckets here" + elements, false});
    names.push_back({"allgather-bucket-size", 0, {}, "is --gather-bytes here" + elements, false});
    names.push_back({"stage3-prefetch-bucket-size", 0, {}, "is --prefetch here" + elements, false});
    for (const char* name : {"overlap-grad-reduce", "overlap-param-gather"})
    {
        AddFlag(&names,
                name,
                "",
                "--overlap is both, of gradients and of parameters, and how it is unless "
                "--no-overlap or --zero-impl=deepspeed is given");
    }
    names.push_back({"offload-optimizer", 0, {}, "is --offload=optimizer here", false});
    names.push_back({"offload-param", 0, {}, "is --offload=all here", false});

    // The model and the cluster.
    for (const char* name : {"num-layers",
                             "hidden-size",
                             "ffn-hidden-size",
                             "num-attention-heads",
                             "num-query-groups",
                             "vocab-size",
                             "max-position-embeddings"})
    {
        names.push_back({name,
                         0,
                         {},
                         "is in the model's file here, --model=FILE.json; --help=models lists "
                         "models that are there",
                         false});
    }
    names.push_back({"num-gpus",
                     0,
                     {},
                     "GPUs of a server are --gpus-per-server here, those of all servers --gpus",
                     false});
    names.push_back({"world-size", 0, {}, "is --gpus here", false});
    return names;
}

std::vector<ForeignName>
NcclTestsNames()
{
    const std::string nothing =
        "costs nothing here, as collectives are simulated without a host; allowed: ";
    return {
        {"agg-iters",
         'm',
         {{"1", ""}},
         "collectives are not aggregated here; allowed: 1; several one after the other are --iters",
         false},
        {"parallel-init", 'p', {{"0", ""}, {"1", ""}}, nothing + "0 or 1", false},
        {"blocking",
         'z',
         {{"0", ""}},
         "ranks do not wait for each other between iterations here; allowed: 0",
         false},
        {"stream-null", 'y', {{"0", ""}, {"1", ""}}, nothing + "0 or 1", false},
        {"timeout",
         'T',
         {{"0", ""}},
         "a run that is stuck ends by itself, with status 3; allowed: 0",
         false},
        {"cudagraph",
         'G',
         {{"0", ""}},
         "launching costs nothing here, as --step-latency is 0 unless given; allowed: 0",
         false},
        {"report-cputime",
         'C',
         {{"0", ""}},
         "there is no host whose time could be told; allowed: 0",
         false},
        {"local-register", 'R', {{"0", ""}, {"1", ""}, {"2", ""}}, nothing + "0, 1 or 2", false},
        {"output-file",
         'F',
         {},
         "results are in the folder --out: stats.json and collectives.csv have every row of the "
         "table",
         false},
    };
}

std::vector<ForeignName>
ServerNames()
{
    // dltrain and collperf have servers of several GPUs and NICs; traffic has hosts of one NIC.
    return {{"servers", 0, {}, "is --hosts here, with one NIC each", false},
            {"ranks", 0, {}, "flows are between hosts here; their number is --hosts", false},
            {"gpus", 0, {}, "flows are between hosts here; their number is --hosts", false},
            {"nics-per-server", 0, {{"1", ""}}, "a host has one NIC here; allowed: 1", false}};
}

} // namespace scenario
