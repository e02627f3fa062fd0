/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/recurrence-parts.h"

#include "scenarios/models/model-forms.h"
#include "scenarios/models/transformer-parts.h"

namespace training
{

namespace
{

/// A part up to its projections in.
Part
Entry(const Transformer& t, const Work& tokens, const char* name)
{
    Part part;
    part.name = name;
    AddNorm(part, tokens, t.hidden, t.rms);
    part.kept.push_back({tokens * (2.0 * t.hidden), Split::kSequence});
    part.kept.back().takers = Takers::kProducts;
    return part;
}

/// A convolution over the last tokens, channel by channel, with its activation: one kernel
/// (causal_conv1d of Dao-AILab/causal-conv1d).
void
AddShortConvolution(Part& part, const Work& tokens, uint64_t channels, uint32_t taps, bool bias)
{
    part.tensors.push_back({channels * taps, Split::kTensor});
    if (bias)
    {
        part.tensors.push_back({channels, Split::kTensor});
    }
    AddPointwise(part, tokens * (2.0 * channels), Split::kTensor);
    part.kept.push_back({tokens * (2.0 * channels), Split::kTensor});
}

/// The chunks. \param flops \param elements of a token
void
AddScan(Part& part, const Work& tokens, double launches, double flops, double elements)
{
    Operator scan;
    scan.kind = KernelClass::kMatrix;
    scan.split = Split::kTensor;
    scan.weights = false;
    scan.scan = true;
    scan.count = launches;
    scan.flops = tokens * (flops / launches);
    scan.elements = tokens * elements;
    scan.backward = 2.5;
    part.operators.push_back(scan);
}

/// The norm of the result, weighted by a gate that came in beside it; the projection out; the
/// residual. \param scales parameters of the norm \param bias of the projection
void
AddExit(Part& part,
        const Transformer& t,
        const Work& tokens,
        uint64_t width,
        Tensor scales,
        bool bias)
{
    part.tensors.push_back(scales);
    AddPointwise(part, tokens * (3.0 * width), Split::kTensor);
    part.operators.back().role = Role::kGate;
    part.kept.push_back({tokens * (4.0 * width), Split::kTensor}); // the result and its gate
    part.kept.push_back({tokens * (2.0 * width), Split::kTensor}); // input of the projection
    part.kept.back().takers = Takers::kProducts;
    AddLinear(part, tokens, width, t.hidden, bias, Linear::kRows);
    AddResidual(part, tokens, t.hidden, t.dropout);
    part.entry = part.exit = tokens * (1.0 * t.hidden);
}

} // namespace

Part
DeltaMixer(const Transformer& t, const Work& tokens)
{
    const DeltaShape& d = t.delta;
    const uint64_t keys = static_cast<uint64_t>(d.keyHeads) * d.keySize;
    const uint64_t values = static_cast<uint64_t>(d.valueHeads) * d.valueSize;
    Part part = Entry(t, tokens, "linear attention");
    AddLinear(part, tokens, t.hidden, 2 * keys + 2 * values, false, Linear::kColumns); // q k v gate
    AddLinear(part, tokens, t.hidden, 2ULL * d.valueHeads, false, Linear::kColumns);
    AddShortConvolution(part, tokens, 2 * keys + values, d.kernel, false);
    // How fast a state decays: a number a head, and one that the tokens' is added to.
    part.tensors.insert(part.tensors.end(),
                        {{d.valueHeads, Split::kTensor}, {d.valueHeads, Split::kTensor}});

    // Queries and keys are brought to length 1, one pair of them for each head of values.
    const double heads = d.valueHeads;
    const double k = d.keySize;
    const double v = d.valueSize;
    AddPointwise(part, tokens * (2 * keys + 2 * heads * k), Split::kTensor);

    // A token and head, in chunks of 64 (chunk_size of chunk.py). Six kernels:
    //   products                         multiply-adds    reads and writes
    //   sums of decays                                    (small)
    //   K K^T                            C k              k
    //   inverse of 1 + lower triangle    C^2 / 3          2 C
    //   times K and V (w, u)             C k + C v        k + v + C, k + v
    //   states: w S, K^T (u - w S)       2 k v            2 k + v, v + k v / C
    //   Q K^T, times V, Q S              C k + C v + k v  2 k + v + k v / C, v
    constexpr double kChunk = 64;
    const double products =
        kChunk * (3 * k + 2 * v) + kChunk * kChunk / 3 + 3 * k * v; // multiply-adds
    const double elements = 7 * k + 6 * v + 3 * kChunk + 2 * k * v / kChunk;
    AddScan(part, tokens, 6, 2 * products * heads, elements * heads);
    // Queries, keys, values, decays in 32 bits, and the inverse (save_for_backward of chunk.py).
    part.kept.push_back({tokens * (2 * heads * (2 * k + v + 2 + kChunk)), Split::kTensor});
    AddExit(part, t, tokens, values, {d.valueSize}, false);
    return part;
}

Part
MambaMixer(const Transformer& t, const Work& tokens)
{
    const MambaShape& m = t.mamba;
    const uint64_t inner = static_cast<uint64_t>(m.heads) * m.headSize;
    const uint64_t shared = static_cast<uint64_t>(m.groups) * m.state; // of B, and of C
    Part part = Entry(t, tokens, "mamba");
    AddLinear(part,
              tokens,
              t.hidden,
              2 * inner + 2 * shared + m.heads,
              m.bias,
              Linear::kColumns); // gate x B C and steps
    AddShortConvolution(part, tokens, inner + 2 * shared, m.kernel, m.convolutionBias);
    // Decay, what goes around the state, and the steps' bias.
    part.tensors.insert(part.tensors.end(), 3, {m.heads, Split::kTensor});

    // A token, in chunks of C. Five kernels (_mamba_chunk_scan_combined_fwd of ssd_combined.py):
    //   products                     multiply-adds      reads and writes
    //   sums of decays                                  (small)
    //   states: B^T x                d n                d + g n, 2 d n / C (in 32 bits)
    //   states go on                 (small)            4 d n / C
    //   C B^T in each group          C g n              2 g n, 2 C g (in 32 bits)
    //   C B^T times x, C times state C d + d n          d + g n + 2 C g + 2 d n / C, d
    const double c = m.chunk;
    const double d = static_cast<double>(inner);
    const double n = m.state;
    const double gn = static_cast<double>(shared);
    const double products = c * gn + c * d + 2 * d * n;
    const double elements = 3 * d + 4 * gn + 4 * c * m.groups + 8 * d * n / c;
    AddScan(part, tokens, 5, 2 * products, elements);
    // The convolution's input, which is kept, makes x, B and C again; steps stay, too.
    part.kept.push_back({tokens * (2.0 * m.heads), Split::kTensor});
    AddExit(part, t, tokens, inner, {inner, Split::kTensor}, m.bias);
    return part;
}

} // namespace training
