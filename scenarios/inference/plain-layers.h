/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A plain network in inference: one without tokens, as an MLP, a ResNet or a ViT. Its pass is the
 * forward kernels of its layers, with the times that training gives them (SecondsOfShares of
 * scenarios/training/recomputation.h), and what the GPUs of a tensor group exchange between them.
 *
 * Models that say which linear layers are cut ("columns", "rows"; a ViT's blocks) are cut there, as
 * training cuts them: an all-reduce behind each pair. Training cuts no other layer. Here other
 * models are cut by operator, as Megatron-LM cuts an MLP (arXiv 1909.08053, section 3): every
 * operator's output is whole on each GPU, or each GPU has a share of its channels.
 *
 *     whole   -> product by columns -> shares
 *     shares  -> product by rows, an all-reduce of what it makes -> whole
 *     shares  -> pointwise, pooling, convolution in groups -> shares, and nothing is exchanged
 *     whole and shares (a residual, branches) -> shares: a GPU takes its part of what is whole
 *
 * So of a row of dense layers every second one ends with an all-reduce. Shares are gathered before
 * a recurrent layer, which each GPU computes whole, and at the end of the model. A softmax over
 * shares exchanges a maximum and a sum of each sample, which are not counted. Columns that the
 * group does not divide are rounded up, as the largest share is what others wait for.
 */
#ifndef SCENARIOS_INFERENCE_PLAIN_LAYERS_H
#define SCENARIOS_INFERENCE_PLAIN_LAYERS_H

#include "collectives/core/schedule.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace serving
{

/// A collective of the tensor group.
struct PlainCut
{
    coll::Op op = coll::Op::kAllReduce; ///< or kAllGather
    double elements = 0;                ///< of all samples: the buffer of a GPU
};

/// Kernels, and what is exchanged behind them.
struct PlainStep
{
    double seconds = 0;
    std::optional<PlainCut> cut;
};

struct PlainLayer
{
    std::string name;
    std::vector<PlainStep> steps;
    double output = 0;    ///< elements that the next layer takes, of all samples
    bool divided = false; ///< each GPU has a share of these
};

struct PlainWork
{
    const training::ModelSpec& model;
    const training::GpuSpec& gpu;
    training::Dtype dtype = training::Dtype::kBf16;
    uint32_t batch = 1;
    uint32_t tensor = 1;
    double computed = 1; ///< share of products that is computed (--send-pruned-flops)
};

/// What one GPU of a tensor group does of a pass, layer by layer.
std::vector<PlainLayer> PlainLayers(const PlainWork& work);

/// Whether it is cut by operator: it does not say itself where it is cut.
bool CutByOperator(const training::ModelSpec& model);

/// Why the model cannot be cut; empty: it can. A layer must say what it gives to the next one.
std::string WhyNotPlain(const training::ModelSpec& model, uint32_t tensor);

/// The pipeline stage of each layer: blocks in equal numbers; of models without blocks, layers.
std::vector<uint32_t> StagesOfLayers(const training::ModelSpec& model, uint32_t stages);

} // namespace serving

#endif // SCENARIOS_INFERENCE_PLAIN_LAYERS_H
