/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/trace-options.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/launch.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/formats/capture/capture-blocks.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/goal/htsim-trace.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/compute-options.h"
#include "scenarios/training/spec/kernel-time.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace scenario
{

namespace
{

constexpr int kNotSimulated = 3; ///< exit status, as of a run that is stuck

/// The options of training that a recorded step leaves to the user.
const std::set<std::string> kWithTrace = {"trace",
                                          "trace-ranks",
                                          "replicate",
                                          "export",
                                          "gpu",
                                          "dtype",
                                          "workload",
                                          "steps",
                                          "warmup",
                                          "layers",
                                          "slow-gpu",
                                          "gpu-spread",
                                          "jitter",
                                          "collective-sms",
                                          "remote-memory"};

} // namespace

std::vector<Option>
TraceOptionRows(const Section& section)
{
    return {
        section.File("trace", "run a recorded step instead of a model: " + formats::TraceFormats())
            .As(&asked::Training::trace)
            .Shows("PATH")
            .Otherwise("none"),
        section
            .List("trace-ranks",
                  "ranks of traces of PyTorch's profiler that run without the others; collectives "
                  "and messages with others take their recorded time")
            .As(&asked::Training::traceRanks)
            .Shows("N,...")
            .Distinct()
            .Otherwise("all")
            .Example("0")
            .Only(when::With("trace")),
        section
            .Integer("replicate",
                     "ranks that all do the work of the one rank of PyTorch's profiler that is "
                     "read, in its process groups, shifted")
            .As(&asked::Training::replicate)
            .Range(1, formats::kMostRanks)
            .Otherwise("none")
            .Example("64")
            .Only(when::With("trace")),
        section
            .List(
                "export",
                "write the step into the output folder as other tools read it: chakra, chakra-json "
                "(Chakra execution traces), goal (GOAL)")
            .As(&asked::Training::exports)
            .Shows("FORMAT,...")
            .Distinct()
            .Otherwise("none")
            .Example("chakra-json"),
    };
}

std::string
NameOfTrace(const Values& values)
{
    if (values.Given(&asked::Launch::launch))
    {
        return values.Get(&asked::Launch::launch);
    }
    const std::string& path = values.Get(&asked::Training::trace);
    const std::size_t slash = path.find_last_of('/', path.size() > 1 ? path.size() - 2 : 0);
    return path.substr(slash == std::string::npos ? 0 : slash + 1);
}

bool
NeedsModel(const Option& option)
{
    return option.path.compare(0, 10, "/training/") == 0 && !kWithTrace.count(option.name);
}

bool
HasTrace(Validation* v)
{
    v->Settle(&asked::Training::trace);
    return v->values.Given(&asked::Training::trace) || v->values.Given(&asked::Launch::launch);
}

namespace
{

/// Decides the number of servers, if it is not given.
/// \param each ranks of a server in the recording; 0: not known
void
DecideServers(Validation* v, uint32_t ranks, uint32_t each, const topo::ServerSpec& server)
{
    auto& values = v->values;
    if (values.Given(&asked::Cluster::gpus) || values.Given(&asked::Cluster::servers))
    {
        return;
    }
    const auto decide = [&](std::optional<uint32_t> asked::Cluster::*option, uint32_t number) {
        v->Decide(option, number);
        values.Slot(option).given = true;
        values.Slot(option).where = values.Where(&asked::Training::trace);
    };
    const bool given = values.Given(&asked::Cluster::gpusPerServer);
    const uint32_t gpus = given ? values.Get(&asked::Cluster::gpusPerServer) : server.gpus;
    if (each > 0 && each <= gpus && ranks > each)
    {
        if (!given && each < gpus)
        {
            v->notes.push_back("servers of " + topo::Counted(each, "GPU") +
                               ", as the script was started; --gpus-per-server says otherwise");
            decide(&asked::Cluster::gpusPerServer, each);
        }
        decide(&asked::Cluster::servers, (ranks + each - 1) / each);
        return;
    }
    const bool fills = ranks % gpus == 0 || (ranks < gpus && !given);
    decide(fills ? &asked::Cluster::gpus : &asked::Cluster::servers,
           fills ? ranks : (ranks + gpus - 1) / gpus);
}

} // namespace

namespace
{

/// --trace-ranks and --replicate. Nothing after an error.
std::optional<formats::KinetoRanks>
RanksToRun(Validation* v)
{
    const auto& values = v->values;
    formats::KinetoRanks ranks;
    ranks.replicate =
        values.Has(&asked::Training::replicate) ? values.Get(&asked::Training::replicate) : 0;
    for (const std::string& word : values.Get(&asked::Training::traceRanks))
    {
        uint32_t rank = 0;
        const char* const end = word.data() + word.size();
        const auto [rest, bad] = std::from_chars(word.data(), end, rank);
        if (bad != std::errc() || rest != end || rank >= formats::kMostRanks)
        {
            v->Fail(&asked::Training::traceRanks, "allowed: numbers of ranks, such as 0 or 0,8");
            return std::nullopt;
        }
        ranks.ranks.push_back(rank);
    }
    std::sort(ranks.ranks.begin(), ranks.ranks.end());
    return ranks;
}

} // namespace

std::optional<formats::Trace>
ReadTraceFiles(Validation* v,
               const training::GpuSpec& gpu,
               const topo::ServerSpec& server,
               std::optional<CaptureOutcome>* capture)
{
    auto& values = v->values;
    if (auto findings = formats::ReadFindings(values.Get(&asked::Training::trace)))
    {
        const std::string why = formats::WhyNotSimulated(*findings);
        const uint32_t world = static_cast<uint32_t>(findings->world);
        capture->emplace(CaptureOutcome{std::move(*findings), why, kNotSimulated});
        if (!why.empty())
        {
            DecideServers(v, std::max(world, 1U), 0, server);
            return std::nullopt;
        }
    }
    for (const char* narrower : {"fp16", "fp32"})
    {
        if (gpu.Peak(*training::ParseDtype(values.Get(&asked::Model::dtype))) <= 0)
        {
            v->DecideUnlessGiven(&asked::Model::dtype, narrower); // older GPUs have no bf16
        }
    }
    const auto dtype = *training::ParseDtype(values.Get(&asked::Model::dtype));
    bool unknown = false;
    const auto time = [&](double flops, double bytes) {
        if (gpu.Peak(dtype) <= 0)
        {
            unknown = true;
            return rdma::Duration(0);
        }
        // Only the FLOPs of a product are known, not the datatype of its tensors: their bytes are
        // given.
        training::Kernel kernel;
        kernel.kind =
            flops > 0 ? training::KernelClass::kMatrix : training::KernelClass::kPointwise;
        kernel.flops = flops;
        kernel.bytes = bytes;
        return rdma::Duration(static_cast<int64_t>(
            training::Seconds(kernel, training::InTraining(gpu), dtype) * 1e12));
    };
    std::vector<topo::Error> errors;
    const formats::CaptureMachine machine{gpu, HostLinkOf(server, gpu)};
    const uint32_t each = values.Given(&asked::Cluster::gpusPerServer)
                              ? values.Get(&asked::Cluster::gpusPerServer)
                              : server.gpus;
    formats::TraceCluster cluster;
    cluster.gpusPerServer = each;
    cluster.gpus = values.Given(&asked::Cluster::gpus) ? values.Get(&asked::Cluster::gpus)
                   : values.Given(&asked::Cluster::servers)
                       ? values.Get(&asked::Cluster::servers) * each
                       : 0;
    const auto ranks = RanksToRun(v);
    if (!ranks)
    {
        return std::nullopt;
    }
    auto trace = formats::ReadTrace(values.Get(&asked::Training::trace),
                                    time,
                                    machine,
                                    errors,
                                    cluster,
                                    *ranks);
    for (const topo::Error& error : errors)
    {
        v->errors.push_back({values.Where(&asked::Training::trace), "", error.Sentence(), ""});
    }
    if (!trace)
    {
        return std::nullopt;
    }
    if (unknown)
    {
        v->Fail(&asked::Model::dtype,
                gpu.name + " does not have it, and the trace has nodes that take as long as the "
                           "GPU needs for their FLOPs");
        return std::nullopt;
    }
    for (const std::string& note : trace->notes)
    {
        v->notes.push_back((values.Given(&asked::Launch::launch)
                                ? "capture"
                                : values.Get(&asked::Training::trace)) +
                           ": " + note);
    }
    if (trace->format == formats::kHtsimFormat)
    {
        // Its nodes are hosts, and its flows start once.
        v->DecideUnlessGiven(&asked::Training::warmup, 0);
        if (!values.Given(&asked::Cluster::gpusPerServer))
        {
            v->Decide(&asked::Cluster::gpusPerServer, 1);
            values.Slot(&asked::Cluster::gpusPerServer).given = true;
            values.Slot(&asked::Cluster::gpusPerServer).where =
                values.Where(&asked::Training::trace);
        }
    }
    DecideServers(v, trace->ranks, trace->gpusPerServer, server);
    return trace;
}

namespace
{

/// --layers of a captured step.
void
SetLayers(Validation* v,
          const formats::Trace& trace,
          const formats::CaptureMachine& machine,
          training::TrainingPlan* plan)
{
    if (!v->values.Has(&asked::Training::layers))
    {
        return;
    }
    const auto modules = formats::ReadModules(v->values.Get(&asked::Training::trace), machine);
    if (!modules)
    {
        v->Fail(&asked::Training::layers,
                "leaves out blocks of a model, and this step is of " + trace.format +
                    ", which does not tell them; allowed: with --model, --launch or a capture's "
                    "folder");
        return;
    }
    const auto fewer =
        formats::SetFewerBlocks(v->values.Get(&asked::Training::layers), *modules, plan);
    if (!fewer.whyNot.empty())
    {
        v->Fail(&asked::Training::layers, fewer.whyNot);
    }
    else if (fewer.period > 0)
    {
        v->notes.push_back(
            "--layers: of the " + std::to_string(plan->blocks) + " blocks of each rank" +
            (fewer.module.empty() ? "" : " (\"" + rdma::Shown(fewer.module, 60) + "\")") +
            " those in the middle are left out" +
            (fewer.period == 1 ? ""
                               : ", " + std::to_string(fewer.period) +
                                     " together, after which the step repeats itself"));
    }
}

} // namespace

void
MakeTraced(Validation* v,
           const formats::Trace& trace,
           const training::GpuSpec& gpu,
           const ClusterSpec& cluster,
           TrainingScenario* s)
{
    const auto& values = v->values;
    const std::string& path = values.Get(&asked::Training::trace);
    const uint32_t ranks = trace.ranks;
    const uint32_t gpus = cluster.servers * cluster.server.gpus;
    // If a recording knows its servers, ranks of different servers stay apart.
    const uint32_t each = trace.gpusPerServer;
    const bool apart = each > 0 && each < cluster.server.gpus && ranks > each;
    const uint32_t places = apart ? cluster.servers * each : gpus;
    if (ranks > places)
    {
        v->Fail(
            &asked::Training::trace,
            "has " + topo::Counted(ranks, "rank") +
                (apart ? ", " + std::to_string(each) + " on each server" : "") +
                ", and there are " +
                (apart ? topo::Counted(cluster.servers, "server") : topo::Counted(gpus, "GPU")) +
                "; allowed: as many, or more");
        return;
    }
    std::vector<topo::Error> errors;
    auto plan = formats::PlanOf(trace, path, {gpus, apart ? cluster.server.gpus : 0}, errors);
    for (const topo::Error& error : errors)
    {
        v->errors.push_back({values.Where(&asked::Training::trace), "", error.Sentence(), ""});
    }
    if (!plan)
    {
        return;
    }
    if (ranks < gpus)
    {
        v->notes.push_back(path + " has " + topo::Counted(ranks, "rank") + ": " +
                           std::to_string(gpus - ranks) + " of " + topo::Counted(gpus, "GPU") +
                           " do nothing: means are of the others");
    }
    SetLayers(v, trace, {gpu, HostLinkOf(cluster.server, gpu)}, &*plan);
    s->plan = std::move(*plan);
    s->plan.contention =
        values.Get(&asked::Training::collectiveSms) > 0
            ? static_cast<double>(values.Get(&asked::Training::collectiveSms)) / gpu.multiprocessors
            : 0;
    s->options.gpu = gpu;
    s->options.ranks = gpus;
    s->options.dtype = *training::ParseDtype(values.Get(&asked::Model::dtype));
    s->model = NameOfTrace(values);
    s->gpu = gpu.name;
    s->trace = formats::TraceName{trace.format, path, ranks, trace.torch, {}};
    for (const std::string& note : trace.notes)
    {
        s->trace->notes.push_back(note);
    }
}

} // namespace scenario
