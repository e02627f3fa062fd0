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
    bool routerBias = false; ///< a bias an expert: of the scores, or to balance the experts
    bool bias = false;       ///< of the experts' products
    bool sharedGate = false; ///< a number a token weights the shared experts (Qwen2-MoE)
    uint32_t latent = 0;     ///< routed experts work on so many numbers a token; 0: `hidden`
};

/// The indexer of DeepSeek-V3.2's sparse attention: a score of each pair of tokens, from narrow
/// heads; a query sees the keys of the largest scores (DeepSeek-V3.2-Exp, section 1).
struct IndexerShape
{
    uint32_t heads = 0; ///< 0: none
    uint32_t size = 0;
    uint32_t topK = 0; ///< keys that a query sees
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
    IndexerShape indexer;
};

/// Gated DeltaNet (arXiv 2412.06464), as Qwen3-Next has it.
struct DeltaShape
{
    uint32_t keyHeads = 0; ///< of queries, too
    uint32_t valueHeads = 0;
    uint32_t keySize = 0;
    uint32_t valueSize = 0;
    uint32_t kernel = 4; ///< taps of the short convolution
};

/// Mamba-2 (arXiv 2405.21060).
struct MambaShape
{
    uint32_t heads = 0;
    uint32_t headSize = 0;
    uint32_t groups = 0; ///< heads of one group share B and C
    uint32_t state = 0;
    uint32_t kernel = 4; ///< taps of the short convolution
    uint32_t chunk = 128;
    bool bias = false;           ///< of the projections
    bool convolutionBias = true; ///< of the short convolution
};

/// How the tokens of a block meet.
enum class Mixer : uint8_t
{
    kAttention,
    kDelta,
    kMamba,
    kNone, ///< they do not
};

/// What a block does to each token.
enum class Feed : uint8_t
{
    kMlp,
    kExperts,
    kNone,
};

/// One block, where not all are alike.
struct BlockShape
{
    Mixer mixer = Mixer::kAttention;
    Feed feed = Feed::kMlp;
    uint32_t window = 0;  ///< keys that a query sees at most; 0: all
    bool chunked = false; ///< those of its own stretch of `window` tokens
};

/// Norms of queries and keys, ahead of attention.
enum class KeyNorm : uint8_t
{
    kNone,
    kHead,  ///< over each head, with one scale for all of them (Qwen3)
    kPlain, ///< without a scale, in chunked blocks (Llama 4)
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
    bool alibi = false;             ///< scores get a bias by distance (arXiv 2108.12409)
    uint32_t encoderLayers = 0;     ///< 0: no encoder beside the decoder
    double targetShare = 1;         ///< encoder-decoder: tokens of the target for one of the source
    KeyNorm keyNorm = KeyNorm::kNone;
    bool sinks = false;             ///< a learned score a head beside those of the keys (gpt-oss)
    bool attentionGate = false;     ///< queries bring a gate of attention's output (Qwen3-Next)
    bool postNorms = false;         ///< norms ahead of both residuals, too (Gemma)
    bool oneNorm = false;           ///< attention and MLP side by side behind one norm (Phi-2)
    bool headBias = false;          ///< of the product that makes the logits
    bool predictor = false;         ///< has a module that predicts one token more (DeepSeek-V3)
    uint32_t window = 0;            ///< BlockShape::window of all blocks, where `blocks` is empty
    std::vector<BlockShape> blocks; ///< one for each layer; empty: as `experts` and `window` say
    DeltaShape delta;
    MambaShape mamba;
    ExpertsShape experts;
    LatentShape latent;
    PatchShape patches;
};

/// The layers, appended to the model's.
void AddTransformerLayers(ModelSpec& model, const Transformer& t);

} // namespace training

#endif // SCENARIOS_MODELS_TRANSFORMER_SHAPE_H
