/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Layers of a transformer, from shapes in the words of Hugging Face's configs.
 */
#include "scenarios/models/model-forms.h"

namespace training
{

namespace
{

/// What the JSON says. Without "kv_heads" there are as many as heads; without "ffn" it is 4 x
/// hidden.
struct Transformer : TransformerShape
{
    uint32_t positions = 0;  ///< learned position embeddings
    uint32_t tokenTypes = 0; ///< BERT's segment embeddings
    bool tied = true;        ///< the head uses the embedding's matrix
    bool gated = false;      ///< three matrices in the MLP instead of two
    bool rms = false;        ///< norms without an offset
    bool bias = true;        ///< linear layers have one
    bool dropout = true;
    bool embeddingNorm = false;
    bool finalNorm = true;
    bool head = true;        ///< logits over the vocabulary
    bool pooler = false;     ///< BERT's
    bool maskedHead = false; ///< BERT's two pre-training heads
};

/// A norm over h elements: scale, and offset unless RMS.
void
AddNorm(LayerSpec& layer, uint64_t h, bool rms)
{
    layer.tensors.push_back(h);
    if (!rms)
    {
        layer.tensors.push_back(h);
    }
    layer.pointwiseElements += {0, 2.0 * h, 0};
    layer.activationBytes += {0, 2.0 * h, 0};
}

/// A linear layer in -> out. Its input is kept for backward unless somebody else keeps it already.
void
AddLinear(LayerSpec& layer, uint64_t in, uint64_t out, bool bias, bool keepInput = true)
{
    layer.tensors.push_back(in * out);
    if (bias)
    {
        layer.tensors.push_back(out);
    }
    layer.flops += {0, 2.0 * in * out, 0};
    layer.matrixElements += {0, static_cast<double>(in + out), 0};
    if (keepInput)
    {
        layer.activationBytes += {0, 2.0 * in, 0};
    }
}

/// Per token: dropout (a mask of one byte is kept) and the sum with the residual: two reads, one
/// write.
void
AddResidual(LayerSpec& layer, uint64_t h, bool dropout)
{
    layer.pointwiseElements += {0, 3.0 * h, 0};
    layer.activationBytes += {0, dropout ? 1.0 * h : 0.0, 0};
}

LayerSpec
Embedding(const Transformer& t)
{
    LayerSpec layer;
    layer.name = "embedding";
    const uint64_t h = t.hidden;
    layer.tensors.push_back(static_cast<uint64_t>(t.vocabulary) * h);
    uint32_t tables = 1;
    for (const uint64_t rows : {t.positions, t.tokenTypes})
    {
        if (rows > 0)
        {
            layer.tensors.push_back(rows * h);
            ++tables;
        }
    }
    layer.pointwiseElements = {0, (tables + 1.0) * h, 0};
    layer.activationBytes = {0, t.dropout ? 1.0 * h : 0.0, 0};
    layer.checkpointBytes = {0, 0, 0};
    if (t.embeddingNorm)
    {
        AddNorm(layer, h, t.rms);
    }
    return layer;
}

/// The activation bytes are those of Korthikanti et al. (2022), section 4.1, term by term: with
/// dropout, two-matrix MLP, f = 4 h and as many key-value heads as heads they add up to b s h (34 +
/// 5 a s / h).
LayerSpec
Block(const Transformer& t, uint32_t index)
{
    LayerSpec layer;
    layer.name = "block " + std::to_string(index);
    const uint64_t h = t.hidden;
    const uint64_t kv = h / t.heads * t.kvHeads;
    const double a = t.heads;

    AddNorm(layer, h, t.rms);
    AddLinear(layer, h, h + 2 * kv, t.bias);
    // Scores Q K^T and context P V: 2 s^2 h FLOPs each, causal or not (Megatron-LM's count, SC'21
    // appendix).
    layer.flops += {0, 0, 4.0 * h};
    layer.matrixElements += {0, 2.0 * h + 2.0 * kv, 2 * a};
    layer.pointwiseElements +=
        {0, 0, t.dropout ? 4 * a : 2 * a}; // softmax, dropout: each read and written
    layer.activationBytes += {0, 2.0 * h + 4.0 * kv, t.dropout ? 5 * a : 2 * a};
    AddLinear(layer, h, h, t.bias);
    AddResidual(layer, h, t.dropout);

    AddNorm(layer, h, t.rms);
    const uint64_t f = t.ffn;
    if (t.gated)
    {
        AddLinear(layer, h, f, t.bias);
        AddLinear(layer, h, f, t.bias, false);
        layer.pointwiseElements += {0, 3.0 * f, 0};
        layer.activationBytes +=
            {0, 6.0 * f, 0}; // both inputs of the product and the activation's input
    }
    else
    {
        AddLinear(layer, h, f, t.bias);
        layer.pointwiseElements += {0, 2.0 * f, 0};
        layer.activationBytes += {0, 2.0 * f, 0};
    }
    AddLinear(layer, f, h, t.bias);
    AddResidual(layer, h, t.dropout);
    layer.checkpointBytes = {0, 2.0 * h, 0};
    return layer;
}

/// Projection to the vocabulary and cross-entropy, for the share `positions` of the tokens. The
/// loss reads and writes the logits in 32 bits and keeps them (4 b s V bytes, Korthikanti et al.
/// section 4.3); counted as four passes over 16-bit elements.
void
AddLogits(LayerSpec& layer, const Transformer& t, double positions)
{
    const double h = t.hidden;
    const double v = t.vocabulary;
    layer.flops += {0, positions * 2 * h * v, 0};
    layer.matrixElements += {0, positions * (h + v), 0};
    layer.pointwiseElements += {0, positions * 4 * v, 0};
    layer.activationBytes += {0, positions * (2 * h + 4 * v), 0};
    layer.checkpointBytes += {0, 2 * h, 0};
    const uint64_t matrix = static_cast<uint64_t>(t.vocabulary) * t.hidden;
    if (t.tied)
    {
        layer.tiedTo = 0;
        layer.tiedParameters = matrix;
    }
    else
    {
        layer.tensors.push_back(matrix);
    }
}

LayerSpec
Head(const Transformer& t)
{
    LayerSpec layer;
    layer.name = "head";
    const uint64_t h = t.hidden;
    if (t.finalNorm)
    {
        AddNorm(layer, h, t.rms);
    }
    if (t.pooler)
    {
        // Of the first token of each sample only.
        layer.tensors.insert(layer.tensors.end(), {h * h, h});
        layer.flops += {2.0 * h * h, 0, 0};
        layer.matrixElements += {2.0 * h, 0, 0};
    }
    if (t.maskedHead)
    {
        // 80 predictions in 512 tokens, 20 in 128: NVIDIA's recipe, max_predictions_per_seq.
        constexpr double kMasked = 80.0 / 512;
        layer.tensors.insert(layer.tensors.end(), {h * h, h, h, h, t.vocabulary, 2 * h, 2});
        layer.flops += {4.0 * h, kMasked * 2 * h * h, 0};
        layer.matrixElements += {0, kMasked * 2 * h, 0};
        AddLogits(layer, t, kMasked);
    }
    else if (t.head)
    {
        AddLogits(layer, t, 1);
    }
    return layer;
}

} // namespace

void
BuildTransformer(ModelSpec& model, topo::JsonObject& in)
{
    Transformer t;
    in.Whole("layers", t.layers, 1, 10000, topo::Need::kRequired);
    in.Whole("hidden", t.hidden, 1, 1 << 20, topo::Need::kRequired);
    in.Whole("heads", t.heads, 1, 1 << 16, topo::Need::kRequired);
    in.Whole("vocab", t.vocabulary, 1, 1 << 26, topo::Need::kRequired);
    t.kvHeads = t.heads;
    t.ffn = 4 * t.hidden;
    in.Whole("kv_heads", t.kvHeads, 1, 1 << 16);
    in.Whole("ffn", t.ffn, 1, 1 << 24);
    in.Whole("positions", t.positions, 0, 1 << 26);
    in.Whole("token_types", t.tokenTypes, 0, 1 << 16);
    in.Flag("tied_embeddings", t.tied);
    in.Flag("gated_mlp", t.gated);
    std::string norm = "layer";
    in.Text("norm", norm);
    if (norm != "layer" && norm != "rms")
    {
        in.Fail("norm", "is not layer or rms");
    }
    t.rms = norm == "rms";
    in.Flag("bias", t.bias);
    in.Flag("dropout", t.dropout);
    in.Flag("embedding_norm", t.embeddingNorm);
    in.Flag("final_norm", t.finalNorm);
    in.Flag("lm_head", t.head);
    in.Flag("pooler", t.pooler);
    in.Flag("masked_lm_head", t.maskedHead);
    if (t.layers == 0 || t.hidden == 0 || t.heads == 0 || t.vocabulary == 0)
    {
        return;
    }
    if (t.hidden % t.heads != 0)
    {
        in.Fail("heads", "does not divide hidden, " + std::to_string(t.hidden));
        return;
    }
    if (t.heads % t.kvHeads != 0)
    {
        in.Fail("kv_heads", "does not divide heads, " + std::to_string(t.heads));
        return;
    }
    model.sequence = 2048;
    in.Whole("sequence", model.sequence, 1, 1 << 24);
    model.hasSequence = true;
    model.transformer = static_cast<const TransformerShape&>(t);
    model.layers.push_back(Embedding(t));
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        model.layers.push_back(Block(t, i));
    }
    LayerSpec head = Head(t);
    if (head.flops.At(1, 1) > 0 || !head.tensors.empty())
    {
        model.layers.push_back(std::move(head));
    }
}

} // namespace training
