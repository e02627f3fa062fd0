/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/recovery-options.h"

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
    const std::string& name = v.values.Text("recovery");
    return RegisteredRecoveryPolicy::Get(name.empty() ? "none" : name);
}

/// Why a run cannot have checkpoints or recover, or nothing.
std::string
WhyNot(const Validation& v, const ClusterSpec& cluster, const TrainingScenario& s)
{
    const Processes processes = ProcessesOf(v.values);
    const bool trains = v.table.Find("model");
    if (v.seat)
    {
        return "has no meaning in one of several jobs; allowed: without --jobs";
    }
    if (trains && (v.values.Given("trace") || v.values.Given("launch")))
    {
        return "needs the states of a model, which a recorded step does not tell; allowed: without "
               "--trace, --launch";
    }
    if (processes.Several())
    {
        return "is of one process; allowed: without " + processes.by;
    }
    if (v.values.Text("network") != "packet")
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
CountOf(const Validation& v, const std::string& option)
{
    return v.table.Find(option) && v.values.Present(option) ? v.values.U32(option) : 0;
}

uint32_t
SparesOf(const Validation& v)
{
    return CountOf(v, "spares");
}

/// Hosts among which spares are.
uint32_t
CountHosts(const Validation& v, const ClusterSpec& cluster)
{
    return std::min<uint32_t>(v.values.U32("servers"),
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
        v->Fail("checkpoint-servers",
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
        v->Fail("spares",
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
    spec->writesBehind = values.Flag("checkpoint-async");
    v->Settle("checkpoint-async");
    if (!spec->writesBehind)
    {
        return;
    }
    if (DecideHostLink(v, "checkpoint-copy-rate", "checkpoint-async", cluster.server, gpu))
    {
        spec->copyRate = values.Rate("checkpoint-copy-rate");
    }
}

/// \param spec has its policy
void
TakeTimes(Validation* v, RecoverySpec* spec)
{
    auto& values = v->values;
    // ProcessGroupNCCL's default: pytorch/pytorch, pull request 110947. max_restarts and
    // monitor_interval of LaunchConfig: pytorch/pytorch, torch/distributed/launcher/api.py.
    v->DecideUnlessGiven("watchdog", "600s");
    v->DecideUnlessGiven("monitor-interval", "100ms");
    v->DecideUnlessGiven("max-restarts", "3");
    // Assumed, both.
    v->DecideUnlessGiven("abort-time", "1s");
    spec->restartInstead = values.Given("restart-time") ? values.Duration("restart-time")
                                                        : rdma::Duration{30 * 1000000000000};
    v->DecideUnlessGiven("restart-time", spec->policy->restartTime);
    spec->watchdog = values.Duration("watchdog");
    spec->monitorInterval = values.Duration("monitor-interval");
    spec->abort = values.Duration("abort-time");
    spec->restart = values.Duration("restart-time");
    spec->mostRestarts = values.U32("max-restarts");
}

/// What checkpoints have, and how fast they are written.
void
TakeCheckpoints(Validation* v,
                const ClusterSpec& cluster,
                const training::TrainingOptions& options,
                RecoverySpec* spec)
{
    if (!v->values.Given("checkpoint-servers"))
    {
        v->DecideUnlessGiven("checkpoint-rate", "16Gbps"); // assumed
        spec->checkpointRate = v->values.Rate("checkpoint-rate");
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
            .At("/recovery/policy")
            .NamesOf<RecoveryPolicy>("recovery")
            .Default("none"),
        failures
            .Duration("watchdog",
                      "after so long in one collective or message a rank gives the job up")
            .Otherwise("600s with --recovery, PyTorch's default")
            .Range(1e6, 1e18)
            .Example("30s"),
        failures
            .Duration("monitor-interval",
                      "until the launcher knows that a process is gone, as that of a GPU that has "
                      "stopped "
                      "for good is")
            .Otherwise("100ms with --recovery, as torch.distributed.launcher has it")
            .Range(0, 1e18)
            .Example("5s"),
        failures
            .Duration("abort-time",
                      "from when a failure is known until all ranks have ended their communication")
            .Otherwise("1s with --recovery; assumed")
            .Range(0, 1e18)
            .Example("30s"),
        failures
            .Duration("restart-time",
                      "then, until they can communicate again: processes and NCCL, with shrink and "
                      "rebuild "
                      "NCCL alone")
            .Otherwise("30s with --recovery=restart, 1s with shrink and rebuild (30s where it has "
                       "to restart); assumed")
            .Range(0, 1e18)
            .Example("2s"),
        failures.Integer("max-restarts", "recoveries, after which the next failure ends the run")
            .Otherwise("3 with --recovery, as torch.distributed.launcher has it")
            .Range(0, 1000)
            .Example("10"),
        section
            .Integer("spares",
                     "idle servers that replace failed ones (--recovery=restart or rebuild); they "
                     "come on "
                     "top of --servers, unless --gpus (collperf: --ranks) says how many work")
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
            .Otherwise("no checkpoints: a restart begins at the first step")
            .Range(1, 1e9)
            .Example("10"),
        written
            .Rate("checkpoint-rate",
                  "of a server to what keeps checkpoints, and back; in bits, as all rates: 20 GB/s "
                  "is "
                  "160Gbps")
            .Otherwise("16Gbps, 2 GB/s, with --checkpoint-every; assumed")
            .Range(1e6, 1e15)
            .Example("80Gbps")
            .Only(when::Without("checkpoint-servers").Usual()),
        written
            .Integer(
                "checkpoint-servers",
                "servers that keep checkpoints, which are RDMA messages then; they come on top of "
                "--servers, unless --gpus says how many train")
            .Otherwise("none")
            .Range(1, 100000)
            .Example("2"),
        written
            .Flag("checkpoint-async",
                  "GPUs wait only for the copy to host memory; writing overlaps the next steps, "
                  "and the "
                  "next checkpoint waits for it")
            .Default("0"),
        written.Rate("checkpoint-copy-rate", "of each GPU to its server's memory")
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
    return SparesOf(v) + CountOf(v, "checkpoint-servers");
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
    const bool hasStates = v->table.Find("checkpoint-every");
    const bool writes = hasStates && values.Given("checkpoint-every");
    v->Settle("recovery");
    if (hasStates)
    {
        v->Settle("checkpoint-every");
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
        spec->checkpointEvery = values.U32("checkpoint-every");
        if (values.Given("checkpoint-servers"))
        {
            v->Settle("checkpoint-servers");
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
    v->Settle("recovery");
    v->Settle("checkpoint-every");
    if (v->values.Given("checkpoint-servers"))
    {
        v->Settle("checkpoint-servers");
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
