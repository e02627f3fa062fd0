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
    bool causal = true;      ///< tokens attend to those before them only
    bool qkvBias = false;    ///< the projections of attention have one, whatever `bias` says
};

/// A norm over h elements: scale, and offset unless RMS. Every rank of a tensor group does it, or
/// with sequence parallelism on its share of the tokens.
void
AddNorm(Part& part, uint64_t h, bool rms)
{
    part.tensors.push_back({h});
    if (!rms)
    {
        part.tensors.push_back({h});
    }
    AddPointwise(part, {0, 2.0 * h, 0}, Split::kSequence);
    part.kept.push_back({{0, 2.0 * h, 0}, Split::kSequence});
}

/// How a linear layer is shared out (Shoeybi et al. 2019, section 3).
enum class Linear : uint8_t
{
    kWhole,
    kColumns, ///< each rank some of the outputs
    kRows,    ///< each rank some of the inputs; its bias is whole
};

/// A linear layer in -> out.
void
AddLinear(Part& part, uint64_t in, uint64_t out, bool bias, Linear how)
{
    const Split split = how == Linear::kWhole ? Split::kWhole : Split::kTensor;
    part.tensors.push_back({in * out, split});
    if (bias)
    {
        part.tensors.push_back({out, how == Linear::kColumns ? Split::kTensor : Split::kWhole});
    }
    Operator product = Product({0, 1, 0}, out, in);
    product.split = split;
    product.dividesInner = how == Linear::kRows;
    part.operators.push_back(product);
}

/// Per token: dropout (a mask of one byte is kept) and the sum with the residual: two reads, one
/// write.
void
AddResidual(Part& part, uint64_t h, bool dropout)
{
    AddPointwise(part, {0, 3.0 * h, 0}, Split::kSequence);
    if (dropout)
    {
        part.kept.push_back({{0, 1.0 * h, 0}, Split::kSequence});
    }
}

LayerSpec
Embedding(const Transformer& t)
{
    LayerSpec layer;
    layer.name = "embedding";
    const uint64_t h = t.hidden;
    Part part;
    part.tensors.push_back({static_cast<uint64_t>(t.vocabulary) * h, Split::kTensor});
    uint32_t tables = 1;
    for (const uint64_t rows : {t.positions, t.tokenTypes})
    {
        if (rows > 0)
        {
            part.tensors.push_back({rows * h});
            ++tables;
        }
    }
    AddPointwise(part, {0, (tables + 1.0) * h, 0}, Split::kWhole);
    if (t.dropout)
    {
        part.kept.push_back({{0, 1.0 * h, 0}, Split::kSequence});
    }
    if (t.embeddingNorm)
    {
        AddNorm(part, h, t.rms);
    }
    // Rows of other ranks' share of the vocabulary come as zeros and are added up.
    part.exit = {0, 1.0 * h, 0};
    layer.parts.push_back(std::move(part));
    layer.output = {0, 1.0 * h, 0};
    return layer;
}

/// The activation bytes are those of Korthikanti et al. (2022), section 4.1 and its table 2, term
/// by term: with dropout, two-matrix MLP, f = 4 h and as many key-value heads as heads they add up
/// to b s h (34 + 5 a s / h), of which tensor parallelism divides b s h (24 + 5 a s / h) and
/// sequence parallelism the other 10.
Part
Attention(const Transformer& t)
{
    Part part;
    part.name = "attention";
    const uint64_t h = t.hidden;
    const uint64_t size = t.headSize;
    const uint64_t q = size * t.heads;
    const uint64_t kv = size * t.kvHeads;
    const double a = t.heads;
    AddNorm(part, h, t.rms);
    part.kept.push_back({{0, 2.0 * h, 0}, Split::kSequence}); // input of the projections
    AddLinear(part, h, q + 2 * kv, t.bias || t.qkvBias, Linear::kColumns);
    Operator core;
    core.kind = KernelClass::kAttention;
    core.split = Split::kTensor;
    core.queries = {0, 1, 0};
    core.keys = {0, 1, 0};
    core.heads = t.heads;
    core.kvHeads = t.kvHeads;
    core.headSize = static_cast<double>(size);
    core.causal = t.causal;
    core.dropout = t.dropout;
    part.operators.push_back(core);
    part.kept.push_back({{0, 2.0 * q + 4.0 * kv, 0}, Split::kTensor});
    part.kept.push_back({{0, 0, t.dropout ? 5 * a : 2 * a}, Split::kTensor, true});
    part.kept.push_back({{0, 2.0 * q, 0}, Split::kTensor}); // input of the next product
    AddLinear(part, q, h, t.bias, Linear::kRows);
    AddResidual(part, h, t.dropout);
    part.entry = part.exit = {0, 1.0 * h, 0};
    return part;
}

Part
Mlp(const Transformer& t)
{
    Part part;
    part.name = "mlp";
    const uint64_t h = t.hidden;
    const uint64_t f = t.ffn;
    AddNorm(part, h, t.rms);
    part.kept.push_back({{0, 2.0 * h, 0}, Split::kSequence});
    if (t.gated)
    {
        AddLinear(part, h, f, t.bias, Linear::kColumns);
        AddLinear(part, h, f, t.bias, Linear::kColumns);
        AddPointwise(part, {0, 3.0 * f, 0}, Split::kTensor);
        // Both inputs of the product and the activation's input.
        part.kept.push_back({{0, 6.0 * f, 0}, Split::kTensor});
    }
    else
    {
        AddLinear(part, h, f, t.bias, Linear::kColumns);
        AddPointwise(part, {0, 2.0 * f, 0}, Split::kTensor);
        part.kept.push_back({{0, 2.0 * f, 0}, Split::kTensor});
    }
    part.kept.push_back({{0, 2.0 * f, 0}, Split::kTensor}); // input of the last product
    const std::size_t before = part.operators.size();
    AddLinear(part, f, h, t.bias, Linear::kRows);
    AddResidual(part, h, t.dropout);
    for (std::size_t i = before; i < part.operators.size(); ++i)
    {
        part.operators[i].last = !t.dropout; // which keeps its mask
    }
    part.entry = part.exit = {0, 1.0 * h, 0};
    return part;
}

LayerSpec
Block(const Transformer& t, uint32_t index)
{
    LayerSpec layer;
    layer.name = "block " + std::to_string(index);
    layer.parts = {Attention(t), Mlp(t)};
    layer.checkpointBytes = {0, 2.0 * t.hidden, 0};
    layer.output = {0, 1.0 * t.hidden, 0};
    layer.repeated = true;
    return layer;
}

/// Projection to the vocabulary and cross-entropy, for the share `positions` of the tokens. The
/// loss reads and writes the logits in 32 bits and keeps them (4 b s V bytes, Korthikanti et al.
/// section 4.3), as PyTorch's operations one after another: made fp32 (2 bytes read, 4 written),
/// log-softmax (4, 4); backward fills the gradient of the log-probabilities with zeros (4), from it
/// and them makes that of the logits (4, 4, 4), which becomes 16 bits (4, 2): 14 and 22 bytes.
void
AddLogits(LayerSpec& layer, Part& part, const Transformer& t, double positions)
{
    const double h = t.hidden;
    const double v = t.vocabulary;
    Operator product = Product({0, positions, 0}, v, h);
    product.split = Split::kTensor;
    part.operators.push_back(product);
    AddPointwise(part, {0, positions * v, 0}, Split::kTensor);
    part.operators.back().bytes = {0, positions * 12 * v, 0};
    part.operators.back().backward = 22.0 / 14;
    part.kept.push_back({{0, positions * 2 * h, 0}, Split::kSequence});
    part.kept.push_back({{0, positions * 4 * v, 0}, Split::kTensor});
    layer.checkpointBytes += {0, 2 * h, 0};
    part.entry = {0, positions * h, 0};
    part.losses = {0, positions, 0};
    const uint64_t matrix = static_cast<uint64_t>(t.vocabulary) * t.hidden;
    if (t.tied)
    {
        layer.tiedTo = 0;
        layer.tiedParameters = matrix;
    }
    else
    {
        part.tensors.push_back({matrix, Split::kTensor});
    }
}

LayerSpec
Head(const Transformer& t)
{
    LayerSpec layer;
    layer.name = "head";
    Part part;
    const uint64_t h = t.hidden;
    if (t.finalNorm)
    {
        AddNorm(part, h, t.rms);
    }
    if (t.pooler)
    {
        // Of the first token of each sample only.
        part.tensors.insert(part.tensors.end(), {{h * h}, {h}});
        part.operators.push_back(Product({1, 0, 0}, h, h));
    }
    if (t.maskedHead)
    {
        // 80 predictions in 512 tokens, 20 in 128: NVIDIA's recipe, max_predictions_per_seq.
        constexpr double kMasked = 80.0 / 512;
        part.tensors.insert(part.tensors.end(),
                            {{h * h}, {h}, {h}, {h}, {t.vocabulary, Split::kTensor}, {2 * h}, {2}});
        Operator order = Product({1, 0, 0}, 2, h);
        part.operators.push_back(order);
        part.operators.push_back(Product({0, kMasked, 0}, h, h));
        AddLogits(layer, part, t, kMasked);
    }
    else if (t.head)
    {
        AddLogits(layer, part, t, 1);
    }
    layer.parts.push_back(std::move(part));
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
    t.causal = !t.pooler && !t.maskedHead;
    in.Flag("causal", t.causal);
    in.Flag("qkv_bias", t.qkvBias);
    if (t.layers == 0 || t.hidden == 0 || t.heads == 0 || t.vocabulary == 0)
    {
        return;
    }
    t.headSize = t.hidden / t.heads;
    in.Whole("head_size", t.headSize, 1, 1 << 16);
    if (!in.Has("head_size") && t.hidden % t.heads != 0)
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
    if (head.Flops().At(1, 1) > 0 || head.Parameters() > 0)
    {
        model.layers.push_back(std::move(head));
    }
}

} // namespace training
