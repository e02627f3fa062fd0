/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The shape of a transformer, from any source: a user's JSON (model-transformer.cc), a Hugging Face
 * config (hugging-face.cc) or the zoo. transformer-layers.cc makes layers of it.
 *
 *   decoder           embedding, blocks of attention and MLP, head: GPT, Llama
 *   encoder           the same, whose tokens see all others: BERT; with patches of a picture
 *                     instead of words: ViT
 *   encoder-decoder   both; each block of the decoder attends to the encoder's output, too: T5
 */
#ifndef SCENARIOS_MODELS_TRANSFORMER_SHAPE_H
#define SCENARIOS_MODELS_TRANSFORMER_SHAPE_H

#include "scenarios/models/model-zoo.h"

namespace training
{

/// Experts instead of an MLP: a router sends each token to `topK` of them.
struct ExpertsShape
{
    uint32_t count = 0; ///< 0: none, every block has an MLP
    uint32_t topK = 0;
    uint32_t ffn = 0;        ///< width of one
    uint32_t sharedFfn = 0;  ///< width together of the experts that see every token; 0: none
    uint32_t denseFirst = 0; ///< blocks, from the first on, that have an MLP instead
    bool routerBias = false; ///< a bias an expert, with which the router balances them
};

/// Multi-head latent attention: queries, and keys with values, go through a narrow product each
/// (DeepSeek-V2, arXiv 2405.04434, section 2.1).
struct LatentShape
{
    uint32_t kvRank = 0;    ///< 0: attention is a usual one
    uint32_t queryRank = 0; ///< 0: queries are projected at once
    uint32_t plain = 0;     ///< dimensions of a head's query and key without positions
    uint32_t rotary = 0;    ///< and with; the key's is one for all heads
    uint32_t value = 0;     ///< size of a head's value
};

/// Pictures cut into square patches, which are the tokens; and one more for the class.
struct PatchShape
{
    uint32_t image = 0; ///< height and width; 0: tokens are words
    uint32_t patch = 0; ///< height and width
    uint32_t channels = 3;
    uint32_t classes = 1000;
};

/// Counts are above 0 unless something else is said.
struct Transformer : TransformerShape
{
    uint32_t positions = 0;  ///< learned position embeddings; 0: none
    uint32_t tokenTypes = 0; ///< BERT's segment embeddings; 0: none
    bool tied = true;        ///< the head uses the embedding's matrix
    bool gated = false;      ///< three matrices in the MLP instead of two
    bool rms = false;        ///< norms without an offset
    bool bias = true;        ///< linear layers have one
    bool dropout = true;
    bool embeddingNorm = false;
    bool finalNorm = true;
    bool head = true;               ///< logits over the vocabulary
    bool pooler = false;            ///< BERT's
    bool maskedHead = false;        ///< BERT's pre-training head; with the pooler both
    bool causal = true;             ///< tokens attend to those before them only
    bool qkvBias = false;           ///< the projections of attention have one, whatever `bias` says
    bool outputBias = false;        ///< and so has that of its output
    uint32_t relativePositions = 0; ///< T5's buckets, each with a number a head; 0: none
    uint32_t encoderLayers = 0;     ///< 0: no encoder beside the decoder
    double targetShare = 1;         ///< encoder-decoder: tokens of the target for one of the source
    ExpertsShape experts;
    LatentShape latent;
    PatchShape patches;
};

/// The layers, appended to the model's.
void AddTransformerLayers(ModelSpec& model, const Transformer& t);

} // namespace training

#endif // SCENARIOS_MODELS_TRANSFORMER_SHAPE_H
