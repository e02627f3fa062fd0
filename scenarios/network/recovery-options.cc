/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/recovery-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/launch.h"
#include "scenarios/asked/memory.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/asked/training.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/compute-options.h"
#include "scenarios/network/processes.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/workload/registry.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace scenario
{

namespace
{

const RecoveryPolicy&
PolicyOf(const Validation& v)
{
    const std::string& name = v.values.Get(&asked::Recovery::recovery);
    return RegisteredRecoveryPolicy::Get(name.empty() ? "none" : name);
}

/// Why a run cannot have checkpoints or recover, or nothing.
std::string
WhyNot(const Validation& v, const ClusterSpec& cluster, const TrainingScenario& s)
{
    const Processes processes = ProcessesOf(v.values);
    const bool trains = v.table.Find(&asked::Model::model);
    if (v.seat)
    {
        return "has no meaning in one of several jobs; allowed: without --jobs";
    }
    if (trains &&
        (v.values.Given(&asked::Training::trace) || v.values.Given(&asked::Launch::launch)))
    {
        return "needs the states of a model, which a recorded step does not tell; allowed: without "
               "--trace, --launch";
    }
    if (processes.Several())
    {
        return "is of one process; allowed: without " + processes.by;
    }
    if (v.values.Get(&asked::Fabric::network) != "packet")
    {
        return "has no meaning without packets; allowed: with --network=packet";
    }
    if (s.served || s.workload != workload::kDefaultWorkload)
    {
        return "is of steps that all GPUs do together; allowed: with --strategy=sync and "
               "--workload=" +
               std::string(workload::kDefaultWorkload);
    }
    if (s.sharded)
    {
        return "is of copies of a model, and --auto-parallel cuts each operator by itself; "
               "allowed: "
               "without it";
    }
    if (!s.plan.tiers.empty())
    {
        return "is not known of memory beyond the GPUs; allowed: without --memory, --remote-memory";
    }
    if (s.plan.queue || s.plan.nextForward)
    {
        return "is of steps that end, with collectives in one order; allowed: without "
               "--overlap-next-forward, --collective-order and --in-flight";
    }
    if (s.plan.fillRoles > 0)
    {
        return "is of steps that end; allowed: without --pipeline-schedule=" + s.options.schedule +
               ", whose steps overlap";
    }
    if (s.plan.sizes.size() > 1)
    {
        return "is of the whole model; allowed: without --layers";
    }
    if (cluster.aggregators)
    {
        return "is not known of switches that add up between servers; allowed: with another "
               "--algorithm";
    }
    return {};
}

uint32_t
CountOf(const Validation& v, Member option)
{
    return static_cast<uint32_t>(v.values.At(option).integer);
}

uint32_t
SparesOf(const Validation& v)
{
    return CountOf(v, &asked::Recovery::spares);
}

/// Hosts among which spares are.
uint32_t
CountHosts(const Validation& v, const ClusterSpec& cluster)
{
    return std::min<uint32_t>(v.values.Get(&asked::Cluster::servers),
                              static_cast<uint32_t>(cluster.topology.Hosts().size()));
}

/// \return the first that the job leaves, as many as there are
std::vector<uint32_t>
FreeHosts(const Validation& v, const ClusterSpec& cluster, uint32_t wanted)
{
    const std::vector<uint32_t>& taken = cluster.hostOfServer;
    const uint32_t hosts = wanted ? CountHosts(v, cluster) : 0;
    std::vector<uint32_t> found;
    for (uint32_t host = 0; host < hosts && found.size() < wanted; ++host)
    {
        if (std::find(taken.begin(), taken.end(), host) == taken.end())
        {
            found.push_back(host);
        }
    }
    return found;
}

/// Those behind the spares.
void
TakeStorage(Validation* v, const ClusterSpec& cluster, RecoverySpec* spec)
{
    const uint32_t spares = SparesOf(*v);
    const std::vector<uint32_t> found = FreeHosts(*v, cluster, ReservedOf(*v));
    if (found.size() < ReservedOf(*v))
    {
        const auto left = static_cast<uint32_t>(found.size()) -
                          std::min<uint32_t>(spares, static_cast<uint32_t>(found.size()));
        v->Fail(&asked::Recovery::checkpointServers,
                "the network has " + topo::Counted(CountHosts(*v, cluster), "server") +
                    ", of which the job takes " + std::to_string(cluster.hostOfServer.size()) +
                    (spares ? " and has " + std::to_string(spares) + " in reserve" : "") +
                    "; allowed: at most " + std::to_string(left) + ", or more --servers");
        return;
    }
    spec->checkpointHosts.assign(found.begin() + spares, found.end());
}

void
TakeSpares(Validation* v, const ClusterSpec& cluster, RecoverySpec* spec)
{
    const std::vector<uint32_t>& taken = cluster.hostOfServer;
    const uint32_t hosts = CountHosts(*v, cluster);
    spec->spares = SpareHosts(*v, cluster);
    if (spec->spares.size() < SparesOf(*v))
    {
        v->Fail(&asked::Recovery::spares,
                "the network has " + topo::Counted(hosts, "server") + ", of which the job takes " +
                    std::to_string(taken.size()) + "; allowed: at most " +
                    std::to_string(spec->spares.size()) + ", or more --servers");
    }
}

/// Rounded up; 0 at no rate.
rdma::Duration
TimeOf(uint64_t bytes, rdma::BitRate rate)
{
    const unsigned __int128 bitPs = static_cast<unsigned __int128>(bytes) * 8 * 1000000000000;
    const auto bps = static_cast<unsigned __int128>(rate.bps);
    return rdma::Duration{static_cast<int64_t>(bps ? (bitPs + bps - 1) / bps : 0)};
}

/// Whether ranks wait for a copy alone, and how fast that is.
void
TakeCopy(Validation* v,
         const ClusterSpec& cluster,
         const training::GpuSpec& gpu,
         RecoverySpec* spec)
{
    auto& values = v->values;
    spec->writesBehind = values.Get(&asked::Recovery::checkpointAsync);
    v->Settle(&asked::Recovery::checkpointAsync);
    if (!spec->writesBehind)
    {
        return;
    }
    if (DecideHostLink(v,
                       &asked::Recovery::checkpointCopyRate,
                       &asked::Recovery::checkpointAsync,
                       cluster.server,
                       gpu))
    {
        spec->copyRate = values.Get(&asked::Recovery::checkpointCopyRate);
    }
}

/// \param spec has its policy
void
TakeTimes(Validation* v, RecoverySpec* spec)
{
    auto& values = v->values;
    // ProcessGroupNCCL's default: pytorch/pytorch, pull request 110947. max_restarts and
    // monitor_interval of LaunchConfig: pytorch/pytorch, torch/distributed/launcher/api.py.
    v->DecideTextUnlessGiven(&asked::Recovery::watchdog, "600s");
    v->DecideTextUnlessGiven(&asked::Recovery::monitorInterval, "100ms");
    v->DecideUnlessGiven(&asked::Recovery::maxRestarts, 3);
    // Assumed, both.
    v->DecideTextUnlessGiven(&asked::Recovery::abortTime, "1s");
    spec->restartInstead = values.Given(&asked::Recovery::restartTime)
                               ? values.Get(&asked::Recovery::restartTime)
                               : rdma::Duration{30 * 1000000000000};
    v->DecideTextUnlessGiven(&asked::Recovery::restartTime, spec->policy->restartTime);
    spec->watchdog = values.Get(&asked::Recovery::watchdog);
    spec->monitorInterval = values.Get(&asked::Recovery::monitorInterval);
    spec->abort = values.Get(&asked::Recovery::abortTime);
    spec->restart = values.Get(&asked::Recovery::restartTime);
    spec->mostRestarts = values.Get(&asked::Recovery::maxRestarts);
}

/// What checkpoints have, and how fast they are written.
void
TakeCheckpoints(Validation* v,
                const ClusterSpec& cluster,
                const training::TrainingOptions& options,
                RecoverySpec* spec)
{
    if (!v->values.Given(&asked::Recovery::checkpointServers))
    {
        v->DecideTextUnlessGiven(&asked::Recovery::checkpointRate, "16Gbps"); // assumed
        spec->checkpointRate = v->values.Get(&asked::Recovery::checkpointRate);
    }
    TakeCopy(v, cluster, options.gpu, spec);
    spec->gpus = cluster.server.gpus;
    spec->checkpoint = training::CheckpointParts(options);
}

} // namespace

uint64_t
RecoverySpec::MostOfServer(const std::vector<uint64_t>& bytesOf) const
{
    uint64_t most = 0;
    for (auto first = bytesOf.begin(); first != bytesOf.end(); first += gpus)
    {
        most = std::max(most, std::accumulate(first, first + gpus, uint64_t{0}));
    }
    return most;
}

rdma::Duration
RecoverySpec::TimeAtRate(const std::vector<uint64_t>& bytesOf) const
{
    return TimeOf(MostOfServer(bytesOf), checkpointRate);
}

rdma::Duration
RecoverySpec::CopyTime(const std::vector<uint64_t>& bytesOf) const
{
    const auto most = std::max_element(bytesOf.begin(), bytesOf.end());
    return TimeOf(most == bytesOf.end() ? 0 : *most, copyRate);
}

std::vector<Option>
RecoveryOptionRows(Checkpoints checkpoints)
{
    const Section section = Section{"/recovery", "Recovery"}.Only(when::OneJob());
    const Section failures = section.Only(when::IsNot("recovery", {"none"}));
    const Section written = section.Only(when::With("checkpoint-every"));
    std::vector<Option> rows = {
        section
            .Name("recovery",
                  "what the job does about a failure (a GPU that has stopped for good, a queue "
                  "pair that "
                  "fails, a collective that does not end): none, restart, shrink or rebuild "
                  "(docs/faults.md)")
            .As(&asked::Recovery::recovery)
            .At("/recovery/policy")
            .NamesOf<RecoveryPolicy>("recovery")
            .Default("none"),
        failures
            .Duration("watchdog",
                      "after so long in one collective or message a rank gives the job up")
            .As(&asked::Recovery::watchdog)
            .Otherwise("600s with --recovery, PyTorch's default")
            .Range(1e6, 1e18)
            .Example("30s"),
        failures
            .Duration("monitor-interval",
                      "until the launcher knows that a process is gone, as that of a GPU that has "
                      "stopped "
                      "for good is")
            .As(&asked::Recovery::monitorInterval)
            .Otherwise("100ms with --recovery, as torch.distributed.launcher has it")
            .Range(0, 1e18)
            .Example("5s"),
        failures
            .Duration("abort-time",
                      "from when a failure is known until all ranks have ended their communication")
            .As(&asked::Recovery::abortTime)
            .Otherwise("1s with --recovery; assumed")
            .Range(0, 1e18)
            .Example("30s"),
        failures
            .Duration("restart-time",
                      "then, until they can communicate again: processes and NCCL, with shrink and "
                      "rebuild "
                      "NCCL alone")
            .As(&asked::Recovery::restartTime)
            .Otherwise("30s with --recovery=restart, 1s with shrink and rebuild (30s where it has "
                       "to restart); assumed")
            .Range(0, 1e18)
            .Example("2s"),
        failures.Integer("max-restarts", "recoveries, after which the next failure ends the run")
            .As(&asked::Recovery::maxRestarts)
            .Otherwise("3 with --recovery, as torch.distributed.launcher has it")
            .Range(0, 1000)
            .Example("10"),
        section
            .Integer("spares",
                     "idle servers that replace failed ones (--recovery=restart or rebuild); they "
                     "come on "
                     "top of --servers, unless --gpus (collperf: --ranks) says how many work")
            .As(&asked::Recovery::spares)
            .Otherwise("0")
            .Range(0, 100000)
            .Example("1")
            .Only(when::Is("recovery",
                           RegisteredRecoveryPolicy::NamesWhere(&RecoveryPolicy::MayRestart))),
    };
    const std::vector<Option> more = {
        section
            .Integer("checkpoint-every",
                     "steps between checkpoints, warm-up included, for which all GPUs wait; also "
                     "without "
                     "--recovery")
            .As(&asked::Recovery::checkpointEvery)
            .Otherwise("no checkpoints: a restart begins at the first step")
            .Range(1, 1e9)
            .Example("10"),
        written
            .Rate("checkpoint-rate",
                  "of a server to what keeps checkpoints, and back; in bits, as all rates: 20 GB/s "
                  "is "
                  "160Gbps")
            .As(&asked::Recovery::checkpointRate)
            .Otherwise("16Gbps, 2 GB/s, with --checkpoint-every; assumed")
            .Range(1e6, 1e15)
            .Example("80Gbps")
            .Only(when::Without("checkpoint-servers").Usual()),
        written
            .Integer(
                "checkpoint-servers",
                "servers that keep checkpoints, which are RDMA messages then; they come on top of "
                "--servers, unless --gpus says how many train")
            .As(&asked::Recovery::checkpointServers)
            .Otherwise("none")
            .Range(1, 100000)
            .Example("2"),
        written
            .Flag("checkpoint-async",
                  "GPUs wait only for the copy to host memory; writing overlaps the next steps, "
                  "and the "
                  "next checkpoint waits for it")
            .As(&asked::Recovery::checkpointAsync)
            .Default("0"),
        written.Rate("checkpoint-copy-rate", "of each GPU to its server's memory")
            .As(&asked::Recovery::checkpointCopyRate)
            .Otherwise("what copies reach of the GPU's PCIe link, as with --offload")
            .Range(1e6, 1e15)
            .Example("200Gbps")
            .Only(when::On("checkpoint-async")),
    };
    if (checkpoints != Checkpoints::kNone)
    {
        rows.insert(rows.end() - 1, more.begin(), more.end());
    }
    return rows;
}

uint32_t
ReservedOf(const Validation& v)
{
    const bool memory = v.values.Has(&asked::Memory::servers);
    return SparesOf(v) + CountOf(v, &asked::Recovery::checkpointServers) +
           (memory ? v.values.Get(&asked::Memory::servers) : 0);
}

std::vector<uint32_t>
ReservedHosts(const Validation& v, const ClusterSpec& cluster)
{
    return FreeHosts(v, cluster, ReservedOf(v));
}

std::vector<uint32_t>
SpareHosts(const Validation& v, const ClusterSpec& cluster)
{
    return FreeHosts(v, cluster, SparesOf(v));
}

const training::SpeedProfile*
SpeedAt(const TrainingScenario& scenario, uint32_t host, coll::Rank rank)
{
    const uint32_t gpus = scenario.cluster.server.gpus;
    if (host == scenario.cluster.hostOfServer[rank / gpus])
    {
        const auto found = scenario.plan.speeds.find(rank);
        return found == scenario.plan.speeds.end() ? nullptr : &found->second;
    }
    const auto& speeds = scenario.run.recovery->spareSpeeds;
    const auto found = speeds.find({host, rank % gpus});
    return found == speeds.end() ? nullptr : &found->second;
}

std::shared_ptr<const RecoverySpec>
MakeRecovery(Validation* v, const ClusterSpec& cluster, const TrainingScenario& scenario)
{
    auto& values = v->values;
    auto spec = std::make_shared<RecoverySpec>();
    spec->policy = &PolicyOf(*v);
    const bool recovers = spec->policy->recovers;
    const bool hasStates = v->table.Find(&asked::Recovery::checkpointEvery);
    const bool writes = hasStates && values.Given(&asked::Recovery::checkpointEvery);
    v->Settle(&asked::Recovery::recovery);
    if (hasStates)
    {
        v->Settle(&asked::Recovery::checkpointEvery);
    }
    if (!recovers && !writes)
    {
        return nullptr;
    }
    const std::string why = WhyNot(*v, cluster, scenario);
    if (!why.empty())
    {
        v->Fail(recovers ? "recovery" : "checkpoint-every", why);
        return nullptr;
    }
    if (spec->policy->check)
    {
        spec->policy->check(v, scenario.options);
    }
    if (recovers)
    {
        TakeTimes(v, spec.get());
        TakeSpares(v, cluster, spec.get());
        PlaceGpuFaults(v, cluster, spec.get());
    }
    if (writes)
    {
        spec->checkpointEvery = values.Get(&asked::Recovery::checkpointEvery);
        if (values.Given(&asked::Recovery::checkpointServers))
        {
            v->Settle(&asked::Recovery::checkpointServers);
            TakeStorage(v, cluster, spec.get());
        }
        TakeCheckpoints(v, cluster, scenario.options, spec.get());
    }
    return spec;
}

RecoverySpec
RecoveryCosts(Validation* v, const ClusterSpec& cluster, const training::TrainingOptions& options)
{
    RecoverySpec spec;
    spec.policy = &PolicyOf(*v);
    v->Settle(&asked::Recovery::recovery);
    v->Settle(&asked::Recovery::checkpointEvery);
    if (v->values.Given(&asked::Recovery::checkpointServers))
    {
        v->Settle(&asked::Recovery::checkpointServers);
    }
    if (spec.policy->check)
    {
        spec.policy->check(v, options);
    }
    TakeTimes(v, &spec);
    TakeCheckpoints(v, cluster, options, &spec);
    return spec;
}

} // namespace scenario
