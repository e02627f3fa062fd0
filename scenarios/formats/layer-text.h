/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ASTRA-sim's workloads as text, of its version 1.0, and those of AICB for SimAI: a model as a list
 * of layers.
 *
 *     HYBRID_DATA_MODEL
 *     2
 *     name dep  time type bytes  time type bytes  time type bytes  update
 *     mlp0 -1   32291 ALLGATHER 37632  32291 ALLREDUCE 37632  32291 NONE 0  3229
 *     ...         forward              input gradient         weight gradient
 *
 * Times are ns. `dep` has no effect, as in both simulators. As ASTRA-sim's own converter has it
 * (mlcommons/chakra, src/converter/text_converter.py, 34f95f96), and for transformers and
 * DISTRIBUTED_INFERENCE SimAI's Workload.cc (aliyun/SimAI, 02532997) and MockNcclGroup.cc:
 *
 *   MICRO               only collectives of weights, one after another
 *   DATA                of weights, among all ranks, beside the rest of the backward
 *   MODEL               forward and input gradients, among all: the next layer waits for them
 *   HYBRID_DATA_MODEL   forward and input gradients among the GPUs of a server, weights among
 *                       those of one place in all servers; HYBRID_MODEL_DATA the other way
 *   HYBRID_CUSTOMIZED   a 13th field has each layer's own
 *   HYBRID_DLRM         L or DLRM_LAST_BOTTOM_LAYER: L, the first layer being an embedding among
 *   (_ENHANCED)         all, whose all-to-all runs beside the layers up to L; else as DATA
 *   DISTRIBUTED_INFERENCE  forward alone
 *   HYBRID_TRANSFORMER  model_parallel_NPU_group: k. Groups of k ranks (TP), and those with one
 *   (_FWD_IN_BCKWD)     place in each (DP); with ep: e pp: p all_gpus: n, and _EP, _DP_EP behind a
 *                       type, as SimAI has them. checkpoints: and checkpoint_initiates: compute the
 *                       forward again. Gradients of inputs are awaited before those of weights.
 *
 * The end of the step waits for collectives that run beside computation. `update` is a delay after
 * a collective of weights. Sizes of an all-gather are a rank's part, as in ASTRA-sim; for
 * transformers they are the whole, as AICB writes them.
 */
#ifndef SCENARIOS_FORMATS_LAYER_TEXT_H
#define SCENARIOS_FORMATS_LAYER_TEXT_H

#include "scenarios/training/steps/step-graph.h"
#include "topologies/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// The properties of the machine that a text does not give.
struct TraceCluster
{
    uint32_t gpus = 0;          ///< 0: not known
    uint32_t gpusPerServer = 1; ///< GPUs per server
};

struct LayerText
{
    std::string format; ///< "ASTRA-sim text", "AICB text"
    training::TrainingPlan plan;
    std::vector<std::string> notes;
};

/// Whether a text begins with the name of one of the policies above, or with another word followed
/// by the number of layers and a layer. In the second case the word is the mistake.
bool IsLayerText(const std::string& text);

/// Reads a text. Nothing, and an error with its line, if it is not in order, or does not fit the
/// cluster.
std::optional<LayerText> ReadLayerText(const std::string& text,
                                       const std::string& file,
                                       const TraceCluster& cluster,
                                       std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_LAYER_TEXT_H
