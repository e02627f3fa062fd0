/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/options/estimated-options.h"

#include "scenarios/layout-search/options/planner-options.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace scenario
{

namespace
{

/// A row of the table: options alike, separated by blanks.
struct EstimateRow
{
    InEstimate in;
    const char* options;
};

/// What links there are between switches, and their rates.
constexpr const char* kLinks =
    "topology groups group-switches hosts-per-switch global-links group-leaves group-spines "
    "hosts-per-leaf oversubscription leaves spines planes bond k core-oversubscription hyperx "
    "rails wafer wafer-io wafers dead dead-links "
    "hosts-per-rail switch-ports torus wrap children parents fabric-rate tier-rate "
    "dims npus-count bandwidth latency";

// tests/system/dlplan/dlplan-options.py runs the known ones against dltrain.
constexpr EstimateRow kEstimateRows[] = {
    // The model and its step.
    {InEstimate::kKnown,
     "model recipe mtp micro-batch global-batch seq dtype gpu launch-gap recompute "
     "recompute-modules fused-attention attention-kernel kernels host-launch recompute-keep "
     "eager-bytes score-bytes norm loss "
     "logits kept-gathers gradient-copies bucketing "
     "overlap-share accumulate master-weights ignore-memory "
     "profile profile-model profile-batch profile-floor optimizer"},
    {InEstimate::kKnown,
     "zero zero-impl buckets gather-bytes collective-sms prefetch overlap first-bucket "
     "reduce-dtype sharding shard-size zero-quantized-weights zero-hpz-partition-size "
     "zero-quantized-gradients persistence-threshold zero-tensor-lists cycle-time "
     "gradient-compression offload host-link host-memory-rate capacity-factor moe-skew"},
    {InEstimate::kKnown,
     "tp pp dp cp ep etp moe-overlap moe-shared-expert-overlap moe-dispatcher moe-node-limit "
     "moe-dispatch-type moe-combine-type rank-order sequence-parallel tp-overlap tp-comm-overlap "
     "gradient-accumulation-fusion context-exchange pipeline-schedule partition pipeline-layout "
     "account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split partition-fill "
     "pipeline-sends virtual-stages"},
    {InEstimate::kNoted,
     "slow-gpu gpu-spread jitter loader workload collective-order collective-chunk in-flight "
     "service-levels"},
    {InEstimate::kRefused,
     "accumulation layers strategy fetch-every push-every backup-workers lbfgs-history "
     "vertical-sync replicas trace trace-ranks replicate jobs alone auto-parallel shard shard-file "
     "shard-cost device-matrix shard-verify explain-sharding launch capture-ranks capture-steps "
     "capture-step capture-network capture-patience overlap-next-forward study"},
    // Servers and their links.
    {InEstimate::kKnown,
     "servers gpus server gpus-per-server nics-per-server server-kinds fabric nic network "
     "fidelity fast-error fast-checks"},
    {InEstimate::kNoted, "placement occupied peer-nic"},
    // Collectives.
    {InEstimate::kKnown, "algorithm protocol library channels nccl-env"},
    {InEstimate::kNoted,
     "tuner tuner-cache pipeline radix levels dimensions splits dimension-order phase-order "
     "dimension-algorithms endpoint-delay local-memory-rate active-chunks collective-optimization "
     "parameter-servers aggregation-delay "
     "aggregation-memory aggregation-groups step-latency in-server collective-times"},
    // The network between servers: estimates know the NICs alone.
    {InEstimate::kNoted, kLinks},
    {InEstimate::kNoted, "link-delay tier-delay bit-error-rate"},
    {InEstimate::kNoted, "scale-up scale-up-frame scale-up-buffer"},
    {InEstimate::kNoted,
     "compat mtu ack-every cc cc-preset pfc pfc-watchdog pfc-watchdog-action arrivals ecn ecn-kmin "
     "ecn-kmax ecn-pmax buffer switch-latency window timeout-exponent loss-recovery retry-count "
     "transport "
     "ets class queue-disc shaper qps-per-connection split-data-on-qps load-balancer spray "
     "flowlet-gap ecmp-resilient marker buffer-policy cut-through flow-control credit-buffer "
     "link-retry hash-seed "
     "hash-offset set"},
    {InEstimate::kNoted,
     "ib-switch link-frames ib-routing lmc vls vl-buffer credit-block ib-fec vl-high vl-low "
     "vl-high-limit "
     "fecn-threshold static-rate adaptive-routing payload header-bytes extension-headers ack-bytes "
     "line-overhead time-unit ack-priority cnp-priority nak-interval variable-window ecn-behind"},
    // What happens beside the job, and to it.
    {InEstimate::kNoted,
     "background fault fault-detection convergence recovery watchdog monitor-interval abort-time "
     "restart-time max-restarts checkpoint-every checkpoint-rate checkpoint-servers "
     "checkpoint-async checkpoint-copy-rate spares"},
    {InEstimate::kKnown, "seed"}, // of what is noted, and of --moe-skew
    {InEstimate::kOfRun,
     "steps warmup export ignore-host-memory engine threads mpi-ranks mpi-hosts "
     "attribution timeline "
     "trace-qps trace-paths watch watch-interval link-interval pcap pcap-format pcap-snaplen "
     "pcap-size pcap-files pcap-flow ib-lfts "
     "ib-dump"},
    {InEstimate::kRefused,
     "memory place prefetch-layers memory-servers memory-rate memory-sweep remote-memory"},
    {InEstimate::kOfSearch,
     "on slurm-options fix search objective price tokens time top verify verify-network moves "
     "resume memory-margin "
     "scenario out dry-run progress report list help version"},
};

const std::map<std::string, InEstimate>&
EstimateRows()
{
    static const std::map<std::string, InEstimate> all = [] {
        std::map<std::string, InEstimate> rows;
        for (const EstimateRow& row : kEstimateRows)
        {
            std::istringstream names(row.options);
            for (std::string name; names >> name;)
            {
                rows.emplace(name, row.in);
            }
        }
        return rows;
    }();
    return all;
}

std::vector<std::string>
GivenOnes(const Values& values, InEstimate in)
{
    std::vector<std::string> names;
    for (const Option& option : PlannerOptionTable().options)
    {
        if (InEstimateOf(option.name) == in && values.Given(option.name))
        {
            names.push_back(option.name);
        }
    }
    return names;
}

/// Those of them that are not as the default has them.
std::vector<std::string>
ChangedOnes(const Values& values, InEstimate in)
{
    std::vector<std::string> changed;
    for (const std::string& name : GivenOnes(values, in))
    {
        const Option& option = *PlannerOptionTable().Find(name);
        if (CanonicalText(option, values[name]) != option.defaultText)
        {
            changed.push_back(name);
        }
    }
    return changed;
}

} // namespace

std::optional<InEstimate>
InEstimateOf(const std::string& option)
{
    const auto row = EstimateRows().find(option);
    return row == EstimateRows().end() ? std::nullopt : std::optional(row->second);
}

std::vector<std::string>
OptionsInEstimates()
{
    std::vector<std::string> names;
    for (const auto& [name, in] : EstimateRows())
    {
        names.push_back(name);
    }
    return names;
}

bool
ChangesLinks(const Values& values)
{
    const std::vector<std::string> noted = NotedOptions(values);
    std::istringstream names(kLinks);
    for (std::string name; names >> name;)
    {
        if (std::find(noted.begin(), noted.end(), name) != noted.end())
        {
            return true;
        }
    }
    return false;
}

std::vector<std::string>
NotedOptions(const Values& values)
{
    return ChangedOnes(values, InEstimate::kNoted);
}

std::vector<std::string>
RefusedOptions(const Values& values)
{
    return ChangedOnes(values, InEstimate::kRefused);
}

std::vector<std::string>
OptionsOfRun(const Values& values)
{
    return GivenOnes(values, InEstimate::kOfRun);
}

} // namespace scenario
