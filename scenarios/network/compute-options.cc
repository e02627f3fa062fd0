/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/compute-options.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/job/job-seat.h"
#include "scenarios/training/host-work.h"
#include "scenarios/training/recomputation.h"
#include "topologies/names.h"

#include <cmath>

namespace scenario
{

double
HostLinkOf(const topo::ServerSpec& server, const training::GpuSpec& gpu)
{
    const topo::ScaleUp& links = server.scaleUp;
    const topo::ScaleUp* const pcie = links.kind == topo::ScaleUp::kPcie ? &links
                                      : links.between                    ? links.between.get()
                                                                         : nullptr;
    return (pcie ? static_cast<double>(pcie->perGpu.bps) / 8 : gpu.hostLink) *
           training::kHostLinkShare;
}

bool
DecideHostLink(Validation* v,
               Member option,
               Member feature,
               const topo::ServerSpec& server,
               const training::GpuSpec& gpu)
{
    if (v->values.Given(option))
    {
        return true;
    }
    const double link = HostLinkOf(server, gpu);
    if (link <= 0)
    {
        v->Fail(feature,
                "needs the rate between " + gpu.name + " and its CPU, which is not known; " +
                    Spell(option) + " says it");
        return false;
    }
    v->DecideText(option, CanonicalRate(static_cast<uint64_t>(std::llround(8 * link))));
    return true;
}

namespace
{

void
MakeOffload(Validation* v, const topo::ServerSpec& server, training::TrainingOptions* o)
{
    auto& values = v->values;
    o->host.gpus = server.gpus;
    v->Settle(&asked::Training::offload);
    if (o->offload == training::Offload::kNone)
    {
        return;
    }
    if (!DecideHostLink(v, &asked::Training::hostLink, &asked::Training::offload, server, o->gpu))
    {
        return;
    }
    if (!values.Given(&asked::Training::hostMemoryRate))
    {
        v->Decide(&asked::Training::hostMemoryRate,
                  rdma::BitRate(static_cast<uint64_t>(8 * training::kHostMemoryRate)));
    }
    o->host.linkRate = static_cast<double>(values.Get(&asked::Training::hostLink).bps) / 8;
    o->host.memoryRate = static_cast<double>(values.Get(&asked::Training::hostMemoryRate).bps) / 8;
}

} // namespace

std::vector<Option>
ComputeOptionRows(const Section& section)
{
    const Section collective = section.Only(when::Collectives());
    return {
        collective
            .Name("offload",
                  "what lives in the server's memory and is updated by its CPU (ZeRO-Offload)")
            .As(&asked::Training::offload)
            .Alias("cpu-offload")
            .Names("offload",
                   {{"none", "nothing"},
                    {"optimizer", "the optimizer's states; from stage 2 on gradients too"},
                    {"all", "with --zero=3 parameters as well"}})
            .OnOff("optimizer", "none")
            .Default("none")
            .To(&training::TrainingOptions::offload, training::ParseOffload),
        section.Rate("host-link", "between a GPU and its server's CPU, each way")
            .As(&asked::Training::hostLink)
            .Otherwise("88% of PCIe as the server or the GPU has it")
            .Range(1e6, 1e15)
            .Example("200Gbps")
            .Only(when::IsNot("offload", {"none"})),
        section
            .Rate("host-memory-rate",
                  "what updates by the CPU reach of a server's memory; measured: 40 and 51 GB/s by "
                  "DeepSpeed's CPU Adam, 148 to 350 GB/s by STREAM (docs/memory.md)")
            .As(&asked::Training::hostMemoryRate)
            .Otherwise("800Gbps, 100 GB/s; assumed")
            .Range(1e6, 1e15)
            .Example("1600Gbps")
            .Only(when::IsNot("offload", {"none"})),
        section.Name("optimizer", "how parameters are updated")
            .As(&asked::Training::optimizer)
            .Names("optimizer",
                   {{"adam", "AdamW too"},
                    {"sgd", "without momentum"},
                    {"momentum", "SGD with momentum"},
                    {"lamb", "with --zero=0"},
                    {"adafactor", "without momentum, with --zero=0"}})
            .Default("adam")
            .Only(when::IsNot("strategy", {"sandblaster"})
                      .Usual()
                      .Because("whose optimizer is L-BFGS"))
            .To(&training::TrainingOptions::optimizer, training::ParseOptimizer),
        section
            .Real("jitter",
                  "standard deviation of a GPU's computing time, relative to its mean: normally "
                  "distributed, drawn by --seed for each GPU and step")
            .As(&asked::Training::jitter)
            .Range(0, 1)
            .Example("0.01")
            .Default("0"),
        collective
            .Real("loader",
                  "samples a second that a server's input pipeline makes, beside computing: a step "
                  "begins when its batch is there")
            .As(&asked::Training::loader)
            .Range(1e-6, 1e12)
            .Otherwise("no limit")
            .Example("2000")
            .To(&training::TrainingOptions::loaderRate),
        collective
            .Real("capacity-factor",
                  "experts take at most so many times their even share of tokens, the rest is "
                  "dropped")
            .As(&asked::Training::capacityFactor)
            .Range(0.01, 1000)
            .Otherwise("no limit")
            .Example("1.25")
            .IdleUnless(when::Known("moe-skew", "--moe-skew"))
            .To(&training::TrainingOptions::capacityFactor),
        collective
            .Real("moe-skew",
                  "some experts are liked better: number r as 1 / r to this power (Zipf), shuffled "
                  "by "
                  "--seed; 0: all the same")
            .As(&asked::Model::moeSkew)
            .Range(0, 10)
            .Example("1")
            .Default("0")
            .To(&training::TrainingOptions::moeSkew),
    };
}

namespace
{

void
TakeModules(Validation* v, training::TrainingOptions* o)
{
    for (const std::string& name : v->values.Get(&asked::Training::recomputeModules))
    {
        const uint8_t module = training::ParseModule(name);
        if (module == 0)
        {
            std::vector<std::string> known;
            for (uint32_t bit = 1; bit < 256; bit *= 2)
            {
                known.push_back(training::ModulesText(static_cast<uint8_t>(bit)));
            }
            v->Fail(&asked::Training::recomputeModules,
                    "has '" + rdma::Shown(name, 60) + "'; allowed: " +
                        training::ModulesText(UINT8_MAX) + topo::DidYouMean(name, known));
            return;
        }
        o->recomputeModules |= module;
    }
}

} // namespace

void
MakeCompute(Validation* v, const topo::ServerSpec& server, training::TrainingOptions* o)
{
    MakeOffload(v, server, o);
    TakeModules(v, o);
    o->seed = DrawSeed(*v);
}

} // namespace scenario
