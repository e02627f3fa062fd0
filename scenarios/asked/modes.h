/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Conditions that many rows share: the modes of a run, and what a training job has.
 */
#ifndef SCENARIOS_ASKED_MODES_H
#define SCENARIOS_ASKED_MODES_H

#include "scenarios/options/when.h"

#include <vector>

namespace scenario
{

namespace when
{

When Packets();
When Fast();           ///< --fidelity
When ScaleUpPackets(); ///< --scale-up
When Ethernet();
When InfiniBand();
When Rdma();                   ///< --protocol of traffic
When OneJob();                 ///< no --jobs
When Collectives();            ///< --strategy=sync: GPUs wait for all, without servers
When Zero(const char* stages); ///< "0", "3", "1, 2"
std::vector<When> Model();     ///< neither --trace nor --launch
When TrainingJob();            ///< --jobs has a job that trains a model
When CommunicatingJob();       ///< --jobs has a job with collectives
When CutLinks();               ///< --fault cuts a link
When SharedLinks();            ///< messages share the links between switches
When SeveralPriorities();      ///< flows have different ones
When Sequences();              ///< samples of --model are sequences
When HalfPrecision();          ///< --dtype has 16 bits
When Job(const char* needs);   ///< a property of the training job: one of job::

} // namespace when

/// What options of a training job need of the job, as NoteIdleOptions finds it.
namespace job
{

constexpr const char* kAttention = "a model with attention";
constexpr const char* kFusedAttention = "attention with --fused-attention";
constexpr const char* kKeptScores =
    "attention scores to free, which --fused-attention does not keep; --recompute=full frees some";
constexpr const char* kScores = "causal attention without --fused-attention";
constexpr const char* kRecomputed = "layers to recompute: attention, or known FLOPs with full";
constexpr const char* kAddedUp = "gradients that are added up over micro-batches";
constexpr const char* kReplicas = "GPUs that hold the same parameters";
constexpr const char* kMessages = "GPUs that communicate";
constexpr const char* kProtocols = "collectives other than exchanges";

} // namespace job

} // namespace scenario

#endif // SCENARIOS_ASKED_MODES_H
