/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From what a transformer is made of to its layers.
 *
 *   decoder, encoder   embedding | block 0 .. l-1 | head
 *   encoder-decoder    embedding | encoder block 0 .. | target embedding |
 *                      decoder block 0 .. | head
 *
 * Behind these, with --mtp, for each token more that is predicted: mtp 1 | mtp 1 head
 */
#include "scenarios/models/model-forms.h"
#include "scenarios/models/recurrence-parts.h"
#include "scenarios/models/transformer-parts.h"

namespace training
{

namespace
{

constexpr Work kTokens{0, 1, 0};

/// A bias on scores by the distance of two tokens, a number for each bucket and head. In T5 the
/// first block of a stack has it; here the embedding before it, so that blocks are alike.
void
AddRelativePositions(Part& part, const Transformer& t)
{
    if (t.relativePositions > 0)
    {
        part.tensors.push_back(
            {static_cast<uint64_t>(t.relativePositions) * t.heads, Split::kTensor});
    }
}

LayerSpec
Embedding(const Transformer& t, const Work& tokens)
{
    LayerSpec layer;
    layer.name = "embedding";
    const uint64_t h = t.hidden;
    Part part;
    part.tensors.push_back({static_cast<uint64_t>(t.vocabulary) * h, Split::kTensor});
    Tables tables{1, static_cast<double>(part.tensors[0].elements), 0, t.tied};
    for (const uint64_t rows : {t.positions, t.tokenTypes})
    {
        if (rows > 0)
        {
            part.tensors.push_back({rows * h});
            tables.whole += static_cast<double>(rows * h);
            ++tables.count;
        }
    }
    AddRelativePositions(part, t);
    AddPointwise(part, tokens * ((tables.count + 1.0) * h));
    part.operators.back().role = Role::kEmbedding;
    part.operators.back().dropout = t.dropout;
    part.operators.back().tables = tables;
    if (t.dropout)
    {
        part.kept.push_back({tokens * (1.0 * h), Split::kSequence});
    }
    if (t.embeddingNorm)
    {
        AddNorm(part, tokens, h, t.rms);
    }
    // Rows of other ranks' share of the vocabulary come as zeros and are added up.
    part.exit = tokens * (1.0 * h);
    layer.parts.push_back(std::move(part));
    layer.output = tokens * (1.0 * h);
    return layer;
}

/// Patches of the picture, each a product with all channels of its points (a convolution whose
/// stride is its kernel), the token for the class, and positions.
LayerSpec
Patches(const Transformer& t, const Work& tokens)
{
    LayerSpec layer;
    layer.name = "embedding";
    const PatchShape& p = t.patches;
    const uint64_t h = t.hidden;
    const double perSide = p.image / p.patch; // a whole number: the readers see to it
    const uint64_t inner = static_cast<uint64_t>(p.channels) * p.patch * p.patch;
    const double points = static_cast<double>(p.channels) * p.image * p.image;
    Part part;
    part.tensors = {{inner * h}, {h}, {h}, {static_cast<uint64_t>(tokens.sample) * h}};
    Operator product = Product({perSide * perSide, 0, 0}, h, inner);
    product.kind = KernelClass::kConvolution;
    product.elements = {points + perSide * perSide * h, 0, 0};
    part.operators.push_back(product);
    AddPointwise(part, tokens * (3.0 * h)); // positions are added
    part.kept.push_back({{2 * points, 0, 0}});
    if (t.dropout)
    {
        part.kept.push_back({tokens * (1.0 * h), Split::kSequence});
    }
    layer.checkpointBytes = {2 * points, 0, 0};
    layer.parts.push_back(std::move(part));
    layer.output = tokens * (1.0 * h);
    return layer;
}

/// Between encoder and decoder: the last norm of what one gives, and the other's embedding, which
/// uses the matrix of the first.
LayerSpec
TargetEmbedding(const Transformer& t, const Work& source, const Work& target)
{
    LayerSpec layer;
    layer.name = "target embedding";
    const uint64_t h = t.hidden;
    Part part;
    AddNorm(part, source, h, t.rms);
    AddRelativePositions(part, t);
    AddPointwise(part, target * (2.0 * h));
    if (t.dropout)
    {
        part.kept.push_back({source * (1.0 * h), Split::kSequence});
        part.kept.push_back({target * (1.0 * h), Split::kSequence});
    }
    part.exit = target * (1.0 * h);
    layer.tiedTo = 0;
    layer.tiedParameters = static_cast<uint64_t>(t.vocabulary) * h;
    layer.parts.push_back(std::move(part));
    layer.checkpointBytes = source * (2.0 * h);
    layer.output = source * (1.0 * h);
    layer.output += target * (1.0 * h);
    return layer;
}

BlockShape
ShapeOf(const Transformer& t, uint32_t index)
{
    if (!t.blocks.empty())
    {
        return t.blocks[index];
    }
    BlockShape shape;
    const bool routed = t.experts.count > 0 && index >= t.experts.denseFirst;
    shape.feed = routed ? Feed::kExperts : Feed::kMlp;
    shape.window = t.window;
    return shape;
}

LayerSpec
Block(const Transformer& t, uint32_t index, const Work& tokens)
{
    LayerSpec layer;
    layer.name = "block " + std::to_string(index);
    const BlockShape shape = ShapeOf(t, index);
    switch (shape.mixer)
    {
    case Mixer::kAttention:
        layer.parts.push_back(SelfAttention(t, tokens, t.causal, shape));
        break;
    case Mixer::kDelta:
        layer.parts.push_back(DeltaMixer(t, tokens));
        break;
    case Mixer::kMamba:
        layer.parts.push_back(MambaMixer(t, tokens));
        break;
    case Mixer::kNone:
        break;
    }
    if (shape.feed != Feed::kNone)
    {
        const bool routed = shape.feed == Feed::kExperts;
        layer.parts.push_back(routed ? Experts(t, tokens) : Mlp(t, tokens));
    }
    layer.checkpointBytes = tokens * (2.0 * t.hidden);
    layer.output = tokens * (1.0 * t.hidden);
    // Those with an MLP before those with experts are few, and of another kind.
    layer.repeated = t.experts.count == 0 || !t.blocks.empty() || shape.feed == Feed::kExperts;
    return layer;
}

LayerSpec
EncoderBlock(const Transformer& t, uint32_t index, const Work& source)
{
    LayerSpec layer;
    layer.name = "encoder block " + std::to_string(index);
    layer.parts = {SelfAttention(t, source, false), Mlp(t, source)};
    layer.checkpointBytes = source * (2.0 * t.hidden);
    layer.output = source * (1.0 * t.hidden);
    layer.repeated = true;
    return layer;
}

/// The next block gets the target, and the source that all of them attend to.
LayerSpec
DecoderBlock(const Transformer& t, uint32_t index, const Work& source, const Work& target)
{
    LayerSpec layer;
    layer.name = "decoder block " + std::to_string(index);
    layer.parts = {SelfAttention(t, target, true),
                   CrossAttention(t, target, source),
                   Mlp(t, target)};
    layer.checkpointBytes = target * (2.0 * t.hidden);
    layer.output = source * (1.0 * t.hidden);
    layer.output += target * (1.0 * t.hidden);
    layer.repeated = true;
    return layer;
}

/// Projection to the vocabulary and cross-entropy. The loss reads and writes the logits in 32 bits
/// and keeps them (4 b s V bytes, Korthikanti et al. section 4.3), as PyTorch's operations one
/// after another: made fp32 (2 bytes read, 4 written), log-softmax (4, 4); backward fills the
/// gradient of the log-probabilities with zeros (4), from it and them makes that of the logits (4,
/// 4, 4), which becomes 16 bits (4, 2): 14 and 22 bytes.
void
AddLogits(LayerSpec& layer, Part& part, const Transformer& t, const Work& tokens)
{
    const double h = t.hidden;
    const double v = t.vocabulary;
    Operator product = Product(tokens, v, h);
    product.split = Split::kTensor;
    product.wide = true;
    part.operators.push_back(product);
    AddPointwise(part, tokens * v, Split::kTensor);
    part.operators.back().bytes = tokens * (12 * v);
    part.operators.back().backward = 22.0 / 14;
    part.kept.push_back({tokens * (2 * h), Split::kSequence});
    part.kept.push_back({tokens * (4 * v), Split::kTensor});
    part.entry = tokens * h;
    part.losses = tokens;
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
    if (t.headBias)
    {
        part.tensors.push_back({t.vocabulary, Split::kTensor});
        part.operators[part.operators.size() - 2].bias = true;
    }
}

LayerSpec
Head(const Transformer& t, const Work& tokens)
{
    LayerSpec layer;
    layer.name = "head";
    Part part;
    const uint64_t h = t.hidden;
    if (t.finalNorm)
    {
        AddNorm(part, tokens, h, t.rms);
    }
    if (t.pooler)
    {
        // For the first token of each sample only.
        part.tensors.insert(part.tensors.end(), {{h * h}, {h}});
        part.operators.push_back(Product({1, 0, 0}, h, h));
    }
    if (t.patches.image > 0)
    {
        // For the class's token only.
        const uint64_t classes = t.patches.classes;
        part.tensors.insert(part.tensors.end(), {{h * classes}, {classes}});
        part.operators.push_back(Product({1, 0, 0}, classes, h));
        layer.checkpointBytes = tokens * (2.0 * h);
    }
    else if (t.maskedHead)
    {
        // 80 predictions in 512 tokens, 20 in 128: NVIDIA's recipe, max_predictions_per_seq.
        constexpr double kMasked = 80.0 / 512;
        part.tensors.insert(part.tensors.end(),
                            {{h * h}, {h}, {h}, {h}, {t.vocabulary, Split::kTensor}});
        if (t.pooler) // whether the second sentence follows the first
        {
            part.tensors.insert(part.tensors.end(), {{2 * h}, {2}});
            part.operators.push_back(Product({1, 0, 0}, 2, h));
        }
        part.operators.push_back(Product(tokens * kMasked, h, h));
        AddLogits(layer, part, t, tokens * kMasked);
        layer.checkpointBytes = tokens * (2.0 * h);
    }
    else if (t.head)
    {
        AddLogits(layer, part, t, tokens);
        layer.checkpointBytes = tokens * (2.0 * h);
    }
    layer.parts.push_back(std::move(part));
    return layer;
}

/// A module of DeepSeek-V3 that predicts one token more (arXiv 2412.19437, section 2.2): the state
/// of the last block and the embedding of the next token, both normed, become one by a product; a
/// block as the last one; a norm, and the logits. Embedding and head are the model's.
std::vector<LayerSpec>
Predictor(const ModelSpec& model, const Transformer& t, const Work& tokens)
{
    const uint64_t h = t.hidden;
    LayerSpec block = Block(t, t.layers - 1, tokens);
    Part part;
    part.name = "both";
    AddPointwise(part, tokens * (2.0 * h));
    part.operators.back().role = Role::kEmbedding;
    part.operators.back().tables = {1, static_cast<double>(t.vocabulary) * t.hidden, 0, true};
    AddNorm(part, tokens, h, t.rms);
    AddNorm(part, tokens, h, t.rms);
    part.kept.push_back({tokens * (4.0 * h), Split::kSequence});
    AddLinear(part, tokens, 2 * h, h, false, Linear::kWhole);
    part.exit = tokens * (1.0 * h); // the look-up's
    std::vector<Part>& parts = block.parts.Change();
    parts.insert(parts.begin(), std::move(part));
    block.name.clear();
    block.repeated = false;
    block.tiedTo = 0;
    block.tiedParameters = static_cast<uint64_t>(t.vocabulary) * h;

    LayerSpec head = Head(t, tokens);
    if (!t.tied)
    {
        std::vector<Tensor>& tensors = head.parts.Change()[0].tensors;
        head.tiedTo = static_cast<uint32_t>(model.layers.size()) - 1;
        head.tiedParameters = tensors.back().elements;
        tensors.pop_back();
    }
    return {std::move(block), std::move(head)};
}

} // namespace

void
AddTransformerLayers(ModelSpec& model, const Transformer& t)
{
    model.biasedScores = t.alibi || t.relativePositions > 0;
    const PatchShape& p = t.patches;
    const double perSide = p.image > 0 ? p.image / p.patch : 0;
    const Work tokens = p.image > 0 ? Work{perSide * perSide + 1, 0, 0} : kTokens;
    const Work target = tokens * t.targetShare;
    auto& layers = model.layers;
    layers.push_back(p.image > 0 ? Patches(t, tokens) : Embedding(t, tokens));
    for (uint32_t i = 0; i < t.encoderLayers; ++i)
    {
        layers.push_back(EncoderBlock(t, i, tokens));
    }
    if (t.encoderLayers > 0)
    {
        layers.push_back(TargetEmbedding(t, tokens, target));
    }
    for (uint32_t i = 0; i < t.layers; ++i)
    {
        layers.push_back(t.encoderLayers > 0 ? DecoderBlock(t, i, tokens, target)
                                             : Block(t, i, tokens));
    }
    LayerSpec head = Head(t, t.encoderLayers > 0 ? target : tokens);
    if (head.Flops().At(1, 1) > 0 || head.Parameters() > 0)
    {
        layers.push_back(std::move(head));
    }
    if (t.predictor)
    {
        model.predictor = Predictor(model, t, tokens);
    }
}

} // namespace training
