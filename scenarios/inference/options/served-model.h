/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What serving asks of a model: does it write token after token, how can it be cut, and what of a
 * GPU's memory it leaves for KV.
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_SERVED_MODEL_H
#define SCENARIOS_INFERENCE_OPTIONS_SERVED_MODEL_H

#include "scenarios/inference/quantization.h"
#include "scenarios/inference/serving-spec.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <cstdint>

namespace scenario
{

enum class TokenUse : uint8_t
{
    kNone,           ///< a sample is no sequence
    kLoop,           ///< a decoder
    kEncoder,        ///< all tokens see each other: one pass, no tokens out
    kEncoderDecoder, ///< T5
};

TokenUse TokenUseOf(const training::ModelSpec& model);

/// Heads that tensor parallelism divides. 0: the model has no attention.
struct HeadCounts
{
    uint32_t query = 0;
    uint32_t kv = 0;     ///< of one layer, the largest
    bool latent = false; ///< one latent vector for all heads, whole on each GPU
};

HeadCounts HeadsOf(const training::ModelSpec& model);

/// What a pipeline divides: blocks, or all layers of a model without.
uint32_t PipelineLayersOf(const training::ModelSpec& model);

/// Experts of a layer; 0: none.
uint32_t ExpertsOf(const training::ModelSpec& model);

/// Bytes of an element of the parameters of blocks: one with fp8, half of one with NVFP4.
double WeightBytes(training::Dtype dtype);

/// A GPU's memory, bytes; of the pipeline stage that needs most.
struct ServingMemory
{
    double parameters = 0;
    double activations = 0; ///< of an iteration, with the logits: assumed, KvMemoryOf
    double kvToken = 0;     ///< KV of a token; 0: the model keeps none
};

/// \param kvElementBytes of an element of keys and values
ServingMemory ServingMemoryOf(const training::ModelSpec& model,
                              training::Dtype dtype,
                              double kvElementBytes,
                              const serving::PoolSpec& pool,
                              uint32_t tokenBudget,
                              uint32_t maxBatch,
                              const serving::Quantization& quantization = {});

/// Bytes of KV that an engine of the pool has room for on a GPU; 0 or less: none.
/// \param reserve bytes that are nobody's (serving::FrameworkProfile)
double KvRoomOf(const ServingMemory& memory,
                const training::GpuSpec& gpu,
                const serving::KvRoom& room,
                double reserve);

/// The same in blocks.
uint64_t KvBlocksOf(const ServingMemory& memory,
                    const training::GpuSpec& gpu,
                    const serving::KvRoom& room,
                    double reserve,
                    uint32_t blockTokens);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_SERVED_MODEL_H
