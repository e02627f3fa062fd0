/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/spelling.h"

#include <map>

namespace scenario
{

std::string
OptionOfField(const std::string& field)
{
    static const std::map<std::string, std::string> options = {
        {"accumulation", "accumulation"},
        {"aggregationGroups", "aggregation-groups"},
        {"algorithm", "algorithm"},
        {"bucketBytes", "buckets"},
        {"capacityFactor", "capacity-factor"},
        {"captureFlows", "pcap-flow"},
        {"capturePorts", "pcap"},
        {"captureRanks", "capture-ranks"},
        {"collectiveSms", "collective-sms"},
        {"compression", "gradient-compression"},
        {"congestionControl", "cc"},
        {"congestionPreset", "cc-preset"},
        {"context", "cp"},
        {"contextExchange", "context-exchange"},
        {"data", "dp"},
        {"dtype", "dtype"},
        {"expert", "ep"},
        {"dispatcher", "moe-dispatcher"},
        {"nodeLimit", "moe-node-limit"},
        {"expertOverlap", "moe-overlap"},
        {"expertTensor", "etp"},
        {"faults", "fault"},
        {"firstBucketBytes", "first-bucket"},
        {"forwardingTables", "ib-lfts"},
        {"framework", "zero-impl"},
        {"fusedAttention", "fused-attention"},
        {"gatherBytes", "gather-bytes"},
        {"gpu", "gpu"},
        {"gradientType", "reduce-dtype"},
        {"ignoreMemory", "ignore-memory"},
        {"kernels", "kernels"},
        {"laneBuffer", "vl-buffer"},
        {"lanes", "vls"},
        {"layers", "layers"},
        {"linkLayer", "fabric"},
        {"loadBalancer", "load-balancer"},
        {"loaderRate", "loader"},
        {"lossRecovery", "loss-recovery"},
        {"masterWeights", "master-weights"},
        {"microBatch", "micro-batch"},
        {"model", "model"},
        {"moeSkew", "moe-skew"},
        {"mostRestarts", "max-restarts"},
        {"offload", "offload"},
        {"optimizer", "optimizer"},
        {"countEmbedding", "account-for-embedding-in-pipeline-split"},
        {"countLoss", "account-for-loss-in-pipeline-split"},
        {"partition", "partition"},
        {"pipelineLayout", "pipeline-layout"},
        {"partitionFill", "partition-fill"},
        {"persistElements", "persistence-threshold"},
        {"pipeline", "pp"},
        {"processes", "mpi-ranks"},
        {"profile", "profile"},
        {"profileModel", "profile-model"},
        {"quantizedGradients", "zero-quantized-gradients"},
        {"quantizedWeights", "zero-quantized-weights"},
        {"rankOrder", "rank-order"},
        {"ranks", "gpus"},
        {"recompute", "recompute"},
        {"requestsWhere", "requests-where"},
        {"recomputeModules", "recompute-modules"},
        {"replicas", "replicas"},
        {"replicate", "replicate"},
        {"routing", "ib-routing"},
        {"schedule", "pipeline-schedule"},
        {"secondPartition", "zero-hpz-partition-size"},
        {"seed", "seed"},
        {"sequence", "seq"},
        {"sequenceParallel", "sequence-parallel"},
        {"servers", "servers"},
        {"shardSize", "shard-size"},
        {"sharedOverlap", "moe-shared-expert-overlap"},
        {"shardSpread", "sharding"},
        {"sharding", "zero"},
        {"spares", "spares"},
        {"stageSends", "pipeline-sends"},
        {"tensor", "tp"},
        {"tensorLists", "zero-tensor-lists"},
        {"traceRanks", "trace-ranks"},
        {"tuner", "tuner"},
        {"tunerCache", "tuner-cache"},
        {"virtualStages", "virtual-stages"},
        {"window", "window"},
    };
    const auto found = options.find(field);
    return found == options.end() ? "" : found->second;
}

std::string
Spelled(const std::string& text)
{
    std::string spelled;
    std::size_t at = 0;
    while (at < text.size())
    {
        const std::size_t begin = text.find('{', at);
        const std::size_t end = begin == std::string::npos ? begin : text.find('}', begin);
        if (end == std::string::npos)
        {
            break;
        }
        const std::string option = OptionOfField(text.substr(begin + 1, end - begin - 1));
        // A brace of another kind: only it is passed.
        spelled += text.substr(at, begin - at) + (option.empty() ? "{" : "--" + option);
        at = option.empty() ? begin + 1 : end + 1;
    }
    return spelled + text.substr(at);
}

} // namespace scenario
