/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which layers a regular expression means, as DeepSpeed's partition_method "type:REGEX" has it: it
 * is searched for in the names of their classes, whatever the case of letters (_find_layer_type of
 * microsoft/DeepSpeed@00f47f0 deepspeed/runtime/pipe/module.py). Layers here have no classes; a
 * transformer's are called as in Megatron-DeepSpeed (GPTModelPipe of
 * bigscience-workshop/Megatron-DeepSpeed@0035f06 megatron/model/gpt_model.py; an LMHeadPipe stands
 * in deepspeedai/Megatron-DeepSpeed's):
 *
 *   embedding    EmbeddingPipe
 *   block        ParallelTransformerLayerPipe
 *   head         EmbeddingPipe if it uses the embedding's matrix, else LMHeadPipe
 *
 * and each layer is found by its own name as well, "conv1".
 */
#ifndef SCENARIOS_TRAINING_LAYER_TYPES_H
#define SCENARIOS_TRAINING_LAYER_TYPES_H

#include "scenarios/models/model-zoo.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// The name of the layer's class; its own name if it has none.
std::string LayerType(const ModelSpec& model, std::size_t layer);

/// Why this is no regular expression that can be searched for; nothing if it is one. ECMAScript's
/// grammar, without references back, which no search in bounded time has.
std::optional<std::string> WhyNoTypes(const std::string& expression);

/// For each layer whether it is meant.
/// \pre !WhyNoTypes(expression)
std::vector<bool> LayersOfTypes(const ModelSpec& model, const std::string& expression);

} // namespace training

#endif // SCENARIOS_TRAINING_LAYER_TYPES_H
