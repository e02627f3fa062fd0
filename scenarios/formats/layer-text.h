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
 * Times are ns. `dep` says nothing, as in both simulators. As ASTRA-sim's own converter has it
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
 * What runs beside is awaited at the end of the step. `update` is a delay behind a collective of
 * weights. Sizes of an all-gather are a rank's part, as in ASTRA-sim; of transformers the whole, as
 * AICB writes them.
 */
#ifndef SCENARIOS_FORMATS_LAYER_TEXT_H
#define SCENARIOS_FORMATS_LAYER_TEXT_H

#include "scenarios/training/step-graph.h"
#include "topologies/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// What a text does not say of the machine it is for.
struct TraceCluster
{
    uint32_t gpus = 0;          ///< 0: it is not known
    uint32_t gpusPerServer = 1; ///< of them
};

struct LayerText
{
    std::string format; ///< "ASTRA-sim text", "AICB text"
    training::TrainingPlan plan;
    std::vector<std::string> notes;
};

/// Whether a text begins with the name of one of the policies above, or has behind another word the
/// number of layers and a layer: then what is wrong is the word.
bool IsLayerText(const std::string& text);

/// Nothing, and an error with its line, if the text is not in order, or does not fit the cluster.
/// \param file for errors
std::optional<LayerText> ReadLayerText(const std::string& text,
                                       const std::string& file,
                                       const TraceCluster& cluster,
                                       std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_LAYER_TEXT_H
