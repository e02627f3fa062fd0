/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/transformer-parts.h"

#include "scenarios/models/model-forms.h"

namespace training
{

namespace
{

/// Marks what has been added to a part since a place as a module's.
class Marks
{
  public:
    explicit Marks(Part& part)
        : m_part(part),
          m_operators(part.operators.size()),
          m_kept(part.kept.size())
    {
    }

    void As(uint8_t module) const
    {
        for (std::size_t i = m_operators; i < m_part.operators.size(); ++i)
        {
            m_part.operators[i].modules |= module;
        }
        for (std::size_t i = m_kept; i < m_part.kept.size(); ++i)
        {
            m_part.kept[i].modules |= module;
        }
    }

  private:
    Part& m_part;
    std::size_t m_operators;
    std::size_t m_kept;
};

/// Keeps a tensor of so many bytes.
void
Keep(Part& part, const Work& bytes, Split split, Takers takers)
{
    part.kept.push_back({bytes, split});
    part.kept.back().takers = takers;
}

/// A norm ahead of products, whose input is kept as well as its output.
void
AddEntryNorm(Part& part,
             const Transformer& t,
             const Work& tokens,
             Takers takers = Takers::kProducts)
{
    AddNorm(part, tokens, t.hidden, t.rms);
    part.operators.back().modules |= kModuleNorm;
    Keep(part, tokens * (2.0 * t.hidden), Split::kSequence, takers); // input of the products
    part.kept.back().modules |= kModuleNorm;
}

/// Norms of queries and keys, each head by itself: a kernel each.
void
AddKeyNorm(Part& part, const Transformer& t, const Work& tokens, bool scaled)
{
    for (const uint32_t heads : {t.heads, t.kvHeads})
    {
        const double numbers = static_cast<double>(heads) * t.headSize;
        if (scaled)
        {
            part.tensors.push_back({t.headSize});
        }
        AddPointwise(part, tokens * (2 * numbers), Split::kTensor);
        part.operators.back().role = Role::kNorm;
        part.kept.push_back({tokens * (2 * numbers), Split::kTensor});
    }
}

/// The scores by which sparse attention chooses keys. It reads what queries are made of, has every
/// rank of a tensor group do all of it (deepseek-ai/DeepSeek-V3.2-Exp inference/model.py: linear
/// layers that are not shared out), and is not differentiated through: it learns from a loss of its
/// own, whose cost is that of the scores once more (assumed). Scores are written and read for the
/// choice of the largest.
void
AddIndexer(Part& part, const Transformer& t, const Work& tokens)
{
    const IndexerShape& x = t.latent.indexer;
    const uint64_t numbers = static_cast<uint64_t>(x.heads) * x.size;
    AddLinear(part, tokens, t.latent.queryRank, numbers, false, Linear::kWhole);
    AddLinear(part, tokens, t.hidden, x.size, false, Linear::kWhole);
    part.tensors.insert(part.tensors.end(), {{x.size}, {x.size}}); // a norm with an offset
    AddPointwise(part, tokens * (2.0 * x.size));
    AddLinear(part, tokens, t.hidden, x.heads, false, Linear::kWhole);
    Operator scores;
    scores.kind = KernelClass::kMatrix;
    scores.weights = false;
    scores.scan = true;
    scores.flops = Times(tokens, tokens) * (2.0 * numbers);
    scores.elements = Times(tokens, tokens) * 2;
    scores.backward = 1;
    part.operators.push_back(scores);
}

/// The core: scores, softmax, context; then the product of its output.
void
AddCore(Part& part,
        const Transformer& t,
        const Work& tokens,
        const Work& keys,
        uint64_t keySize,
        uint64_t valueSize,
        uint32_t kvHeads,
        bool causal,
        const BlockShape& block = {})
{
    const double a = t.heads;
    Operator core;
    core.kind = KernelClass::kAttention;
    core.split = Split::kTensor;
    core.queries = tokens;
    core.keys = keys;
    core.heads = a;
    core.kvHeads = kvHeads;
    core.headSize = static_cast<double>(keySize);
    core.valueSize = valueSize == keySize ? 0 : static_cast<double>(valueSize);
    core.causal = causal;
    core.window = block.window;
    core.chunked = block.chunked;
    core.dropout = t.dropout;
    core.modules = kModuleCore;
    part.operators.push_back(core);
    const double context = static_cast<double>(valueSize) * a;
    const Marks projected(part);
    part.kept.push_back({tokens * (2.0 * keySize * a), Split::kTensor}); // queries
    part.kept.push_back({keys * (2.0 * (keySize + valueSize) * kvHeads), Split::kTensor});
    projected.As(t.latent.kvRank > 0 ? kModuleLatent : 0);
    part.kept.push_back({Times(tokens, keys) * (t.dropout ? 5 * a : 2 * a), Split::kTensor, true});
    if (t.sinks)
    {
        part.tensors.push_back({t.heads, Split::kTensor});
    }
    if (t.attentionGate)
    {
        AddPointwise(part, tokens * (3 * context), Split::kTensor);
        part.operators.back().role = Role::kGate;
        part.kept.push_back({tokens * (4 * context), Split::kTensor}); // both of its inputs
    }
    // Input of the next product. Fused attention takes its own output, too.
    Keep(part,
         tokens * (2 * context),
         Split::kTensor,
         t.attentionGate ? Takers::kProducts : Takers::kProductsToo);
    AddLinear(part, tokens, valueSize * t.heads, t.hidden, t.bias || t.outputBias, Linear::kRows);
    if (t.postNorms)
    {
        AddNorm(part, tokens, t.hidden, t.rms);
    }
    AddResidual(part, tokens, t.hidden, t.dropout);
    part.entry = part.exit = tokens * (1.0 * t.hidden);
}

/// Projections of multi-head latent attention. The narrow products are whole on every rank, the
/// wide ones shared out by heads.
void
AddLatent(Part& part, const Transformer& t, const Work& tokens)
{
    const LatentShape& l = t.latent;
    const uint64_t h = t.hidden;
    const uint64_t query = static_cast<uint64_t>(l.plain + l.rotary) * t.heads;
    if (l.queryRank > 0)
    {
        AddLinear(part, tokens, h, l.queryRank, false, Linear::kWhole);
        AddNorm(part, tokens, l.queryRank, true);
        Keep(part, tokens * (2.0 * l.queryRank), Split::kSequence, Takers::kProducts);
        AddLinear(part, tokens, l.queryRank, query, false, Linear::kColumns);
        part.operators.back().modules |= kModuleLatent;
    }
    else
    {
        AddLinear(part, tokens, h, query, false, Linear::kColumns);
    }
    AddLinear(part, tokens, h, l.kvRank + l.rotary, false, Linear::kWhole);
    AddNorm(part, tokens, l.kvRank, true);
    Keep(part, tokens * (2.0 * l.kvRank), Split::kSequence, Takers::kProducts);
    AddLinear(part,
              tokens,
              l.kvRank,
              static_cast<uint64_t>(l.plain + l.value) * t.heads,
              false,
              Linear::kColumns);
    part.operators.back().modules |= kModuleLatent;
}

/// The MLP from h numbers over f to h, without its norm and residual.
void
AddMlp(Part& part, const Transformer& t, const Work& tokens, uint64_t h, uint64_t f, bool bias)
{
    if (t.gated)
    {
        AddLinear(part, tokens, h, f, bias, Linear::kColumns);
        AddLinear(part, tokens, h, f, bias, Linear::kColumns);
        AddPointwise(part, tokens * (3.0 * h));
        part.operators.back().role = Role::kJoin;
        AddPointwise(part, tokens * (3.0 * f), Split::kTensor);
        part.operators.back().role = Role::kGate;
        // Both inputs of the product and the activation's input.
        part.kept.push_back({tokens * (6.0 * f), Split::kTensor});
        part.kept.back().ofActivation = 1.0 / 3;
    }
    else
    {
        AddLinear(part, tokens, h, f, bias, Linear::kColumns);
        AddPointwise(part, tokens * (2.0 * f), Split::kTensor);
        part.operators.back().role = Role::kActivation;
        part.kept.push_back({tokens * (2.0 * f), Split::kTensor});
    }
    Keep(part, tokens * (2.0 * f), Split::kTensor, Takers::kProducts); // input of the last product
    part.kept.back().ofActivation = 1;
    AddLinear(part, tokens, f, h, bias, Linear::kRows);
}

/// The activation of an MLP's columns belongs to `module`.
void
MarkActivation(Part& part, uint8_t module)
{
    for (Operator& op : part.operators)
    {
        const bool activates = op.role == Role::kGate || op.role == Role::kActivation;
        op.modules |= activates ? module : 0;
    }
}

/// The router: a score an expert, softmax or sigmoid, the largest of them (each a pass over the
/// scores: assumed).
void
AddRouter(Part& part, const Transformer& t, const Work& tokens)
{
    const ExpertsShape& e = t.experts;
    const double count = e.count;
    part.tensors.push_back({static_cast<uint64_t>(t.hidden) * e.count});
    if (e.routerBias)
    {
        part.tensors.push_back({e.count});
    }
    Operator router = Product(tokens, count, t.hidden);
    router.split = Split::kSequence;
    router.wide = true;
    part.operators.push_back(router);
    AddPointwise(part, tokens * (6 * count), Split::kSequence);
    part.kept.push_back({tokens * (2 * count), Split::kSequence});
}

/// Experts' MLPs on numbers of `width` a token, between sorting tokens by expert and putting them
/// back in order, weighted (each reads and writes them once).
void
AddRouted(Part& part, const Transformer& t, const Work& tokens, uint64_t width)
{
    const ExpertsShape& e = t.experts;
    Part expert;
    AddPointwise(expert, tokens * (2.0 * width));
    AddMlp(expert, t, tokens, width, e.ffn, t.bias || e.bias);
    AddPointwise(expert, tokens * (2.0 * width));
    MarkActivation(expert, kModuleActivation);
    // Input, in the experts' order.
    Keep(expert, tokens * (2.0 * width), Split::kWhole, Takers::kProducts);
    expert.kept.push_back({tokens * (2.0 * width)}); // output, for the gradients of the weights
    for (Tensor& tensor : expert.tensors)
    {
        tensor.experts = e.count;
        part.tensors.push_back(tensor);
    }
    for (Operator& op : expert.operators)
    {
        op.expert = true;
        part.operators.push_back(op);
    }
    for (Kept& kept : expert.kept)
    {
        kept.bytes = kept.bytes * e.topK;
        kept.expert = true;
        part.kept.push_back(kept);
    }
    part.routing = Routing{e.count, e.topK, static_cast<double>(width)};
}

} // namespace

void
AddResidual(Part& part, const Work& tokens, uint64_t h, bool dropout)
{
    // A mask of one byte is kept; two reads, one write.
    AddPointwise(part, tokens * (3.0 * h), Split::kSequence);
    part.operators.back().role = Role::kResidual;
    part.operators.back().dropout = dropout;
    if (dropout)
    {
        part.kept.push_back({tokens * (1.0 * h), Split::kSequence});
    }
}

void
AddNorm(Part& part, const Work& tokens, uint64_t h, bool rms)
{
    part.tensors.push_back({h});
    if (!rms)
    {
        part.tensors.push_back({h});
    }
    AddPointwise(part, tokens * (2.0 * h), Split::kSequence);
    part.operators.back().role = Role::kNorm;
    part.kept.push_back({tokens * (2.0 * h), Split::kSequence});
}

void
AddLinear(Part& part, const Work& tokens, uint64_t in, uint64_t out, bool bias, Linear how)
{
    const Split split = how == Linear::kWhole ? Split::kWhole : Split::kTensor;
    part.tensors.push_back({in * out, split});
    if (bias)
    {
        part.tensors.push_back({out, how == Linear::kColumns ? Split::kTensor : Split::kWhole});
    }
    Operator product = Product(tokens, out, in);
    product.split = split;
    product.dividesInner = how == Linear::kRows;
    product.bias = bias;
    part.operators.push_back(product);
}

Part
SelfAttention(const Transformer& t, const Work& tokens, bool causal, const BlockShape& block)
{
    Part part;
    part.name = "attention";
    const uint64_t h = t.hidden;
    AddEntryNorm(part, t, tokens);
    if (t.latent.kvRank > 0)
    {
        AddLatent(part, t, tokens);
        BlockShape reach = block;
        if (t.latent.indexer.heads > 0)
        {
            AddIndexer(part, t, tokens);
            reach.window = t.latent.indexer.topK;
        }
        const uint64_t key = t.latent.plain + t.latent.rotary;
        AddCore(part, t, tokens, tokens, key, t.latent.value, t.heads, causal, reach);
        return part;
    }
    const uint64_t size = t.headSize;
    AddLinear(part,
              tokens,
              h,
              size * ((t.attentionGate ? 2ULL : 1ULL) * t.heads + 2ULL * t.kvHeads),
              t.bias || t.qkvBias,
              Linear::kColumns);
    if (t.keyNorm == KeyNorm::kHead || (t.keyNorm == KeyNorm::kPlain && block.chunked))
    {
        AddKeyNorm(part, t, tokens, t.keyNorm == KeyNorm::kHead);
    }
    AddCore(part, t, tokens, tokens, size, size, t.kvHeads, causal, block);
    for (Operator& op : part.operators)
    {
        op.joined = op.kind == KernelClass::kAttention;
    }
    return part;
}

Part
CrossAttention(const Transformer& t, const Work& tokens, const Work& source)
{
    Part part;
    part.name = "cross attention";
    const uint64_t h = t.hidden;
    const uint64_t size = t.headSize;
    const bool bias = t.bias || t.qkvBias;
    AddEntryNorm(part, t, tokens);
    AddLinear(part, tokens, h, size * t.heads, bias, Linear::kColumns);
    AddLinear(part, source, h, 2 * size * t.kvHeads, bias, Linear::kColumns);
    AddCore(part, t, tokens, source, size, size, t.kvHeads, false);
    // The gradient of the encoder's output is added up, too.
    part.entry += source * (1.0 * h);
    return part;
}

Part
Mlp(const Transformer& t, const Work& tokens)
{
    Part part;
    part.name = "mlp";
    const uint64_t h = t.hidden;
    if (!t.oneNorm)
    {
        AddEntryNorm(part, t, tokens);
    }
    const Marks mlp(part);
    AddMlp(part, t, tokens, h, t.ffn, t.bias);
    mlp.As(kModuleMlp);
    MarkActivation(part, kModuleMlpActivation);
    if (t.postNorms)
    {
        AddNorm(part, tokens, h, t.rms);
    }
    const std::size_t last = part.operators.size() - 1; // the second product, or the norm
    AddResidual(part, tokens, h, t.dropout);
    for (std::size_t i = last; i < part.operators.size(); ++i)
    {
        part.operators[i].last = !t.dropout; // which keeps its mask
    }
    part.entry = part.exit = tokens * (1.0 * h);
    return part;
}

Part
Experts(const Transformer& t, const Work& tokens)
{
    Part part;
    part.name = "experts";
    const ExpertsShape& e = t.experts;
    const uint64_t h = t.hidden;
    // The router is in 16 bits.
    const bool products = e.sharedFfn > 0 || e.latent > 0;
    AddEntryNorm(part, t, tokens, products ? Takers::kProductsToo : Takers::kOthers);
    const Marks moe(part);
    AddRouter(part, t, tokens);
    if (e.latent > 0)
    {
        AddLinear(part, tokens, h, e.latent, t.bias, Linear::kWhole);
        AddRouted(part, t, tokens, e.latent);
        Keep(part, tokens * (2.0 * e.latent), Split::kSequence, Takers::kProducts);
        AddLinear(part, tokens, e.latent, h, t.bias, Linear::kWhole);
    }
    else
    {
        AddRouted(part, t, tokens, h);
    }
    const Marks shared(part);
    if (e.sharedFfn > 0)
    {
        AddMlp(part, t, tokens, h, e.sharedFfn, t.bias);
    }
    if (e.sharedGate)
    {
        AddLinear(part, tokens, h, 1, false, Linear::kWhole);
        AddPointwise(part, tokens * (3.0 * h), Split::kSequence);
        part.kept.push_back({tokens * (2.0 * h), Split::kSequence});
    }
    shared.As(kModuleShared);
    moe.As(kModuleMoe);
    if (t.postNorms)
    {
        AddNorm(part, tokens, h, t.rms);
    }
    AddResidual(part, tokens, h, t.dropout);
    part.entry = part.exit = tokens * (1.0 * h);
    return part;
}

} // namespace training
