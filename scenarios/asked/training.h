/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Training steps, as asked for. A row of the option table is bound to each member (Option::As) and
 * describes it. Without a default in every program a member is optional: nothing is "not given",
 * until a rule decides.
 */
#ifndef SCENARIOS_ASKED_TRAINING_H
#define SCENARIOS_ASKED_TRAINING_H

#include "contrib/rdma/core/units.h"
#include "scenarios/options/member.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Training
{
    std::optional<std::string> recipe;
    uint32_t mtp = 0;
    std::optional<uint32_t> zero;
    std::string zeroImpl;
    std::optional<NumberOrWord> microBatch;
    std::optional<uint32_t> accumulation;
    std::optional<uint32_t> globalBatch;
    std::optional<uint32_t> seq;
    std::optional<std::string> workload;
    uint32_t steps = 0;
    uint32_t warmup = 0;
    std::optional<rdma::Bytes> buckets;
    std::optional<rdma::Bytes> gatherBytes;
    rdma::Duration launchGap;
    std::optional<uint32_t> collectiveSms;
    std::optional<std::vector<std::string>> slowGpu;
    double gpuSpread = 0;
    std::optional<rdma::Bytes> prefetch;
    std::optional<bool> overlap;
    std::string bucketing;
    double overlapShare = 1;
    std::string accumulate;
    std::string recompute;
    std::optional<std::vector<std::string>> recomputeModules;
    std::optional<bool> fusedAttention;
    std::optional<std::string> attentionKernel;
    std::string kernels;
    double eagerBytes = 0;
    double scoreBytes = 0;
    rdma::Duration hostLaunch;
    std::optional<std::vector<std::string>> recomputeKeep;
    std::string norm;
    std::string loss;
    std::string logits;
    bool keptGathers = false;
    bool gradientCopies = false;
    bool masterWeights = false;
    bool ignoreMemory = false;
    std::optional<std::string> profile;
    std::optional<std::string> profileModel;
    std::optional<uint32_t> profileBatch;
    bool profileFloor = false;
    std::optional<rdma::Bytes> firstBucket;
    std::optional<std::string> reduceDtype;
    std::optional<std::string> sharding;
    std::optional<uint32_t> shardSize;
    std::optional<bool> zeroQuantizedWeights;
    std::optional<uint32_t> zeroHpzPartitionSize;
    std::optional<bool> zeroQuantizedGradients;
    std::optional<uint64_t> persistenceThreshold;
    std::optional<bool> zeroTensorLists;
    std::optional<rdma::Duration> cycleTime;
    std::optional<std::string> gradientCompression;
    std::optional<std::string> collectiveOrder;
    std::optional<rdma::Bytes> collectiveChunk;
    std::optional<uint32_t> inFlight;
    std::optional<bool> overlapNextForward;
    std::optional<std::vector<std::string>> study;
    std::optional<std::vector<std::string>> serviceLevels;
    std::string offload;
    std::optional<rdma::BitRate> hostLink;
    std::optional<rdma::BitRate> hostMemoryRate;
    std::string optimizer;
    double jitter = 0;
    std::optional<double> loader;
    std::optional<double> capacityFactor;
    bool moeOverlap = false;
    bool moeSharedExpertOverlap = false;
    std::string moeDispatcher;
    std::optional<uint32_t> moeNodeLimit;
    std::optional<std::string> moeDispatchType;
    std::optional<std::string> moeCombineType;
    std::string rankOrder;
    bool sequenceParallel = false;
    bool tpOverlap = false;
    bool tpCommOverlap = false;
    std::optional<bool> gradientAccumulationFusion;
    std::string contextExchange;
    std::optional<std::string> pipelineSchedule;
    std::string partition;
    std::optional<std::string> pipelineLayout;
    bool accountForEmbeddingInPipelineSplit = false;
    bool accountForLossInPipelineSplit = false;
    std::string partitionFill;
    std::optional<std::string> replicas;
    std::string pipelineSends;
    bool verticalSync = false;
    std::optional<uint32_t> layers;
    uint32_t virtualStages = 0;
    std::optional<std::string> autoParallel;
    std::optional<std::string> shard;
    std::optional<std::string> shardFile;
    std::optional<std::string> shardCost;
    std::optional<std::vector<std::string>> deviceMatrix;
    uint32_t shardVerify = 0;
    bool explainSharding = false;
    std::optional<std::string> strategy;
    std::optional<uint32_t> fetchEvery;
    std::optional<uint32_t> pushEvery;
    std::optional<uint32_t> backupWorkers;
    std::optional<uint32_t> lbfgsHistory;
    std::optional<std::string> trace;
    std::optional<std::vector<std::string>> traceRanks;
    std::optional<uint32_t> replicate;
    std::optional<std::vector<std::string>> exports;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_TRAINING_H
