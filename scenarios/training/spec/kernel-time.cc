/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <type_traits>

namespace training
{

namespace
{

struct Tile
{
    double rows;
    double columns;
};

/// Shapes that libraries are taken to have, the largest first; thin ones for thin products.
constexpr Tile kTiles[] = {{256, 128},
                           {128, 256},
                           {128, 128},
                           {128, 64},
                           {64, 128},
                           {64, 64},
                           {128, 32},
                           {32, 128},
                           {64, 32},
                           {32, 64},
                           {128, 16},
                           {16, 128},
                           {32, 32},
                           {64, 16},
                           {16, 64}};

double
TileCost(const Tile& tile, const KernelCosts& costs)
{
    return 1 + costs.tile * (1 / tile.rows + 1 / tile.columns);
}

/// Both at once, neither hidden behind the other when they are alike.
double
Overlapped(double compute, double memory)
{
    return std::hypot(compute, memory);
}

/// FLOP/s of large products.
double
ProductRate(const GpuSpec& gpu, Dtype dtype)
{
    return gpu.Peak(dtype) * gpu.rates.Product(dtype);
}

/// Bytes of a kernel's elements; the inputs of a product of known shape may have fewer bits.
double
BytesOf(const Kernel& k, Dtype dtype)
{
    double bytes = k.elements * DtypeBytes(dtype) + k.bytes;
    const bool product = k.kind == KernelClass::kMatrix || k.kind == KernelClass::kConvolution;
    const NarrowFormat* narrow = NarrowOf(dtype);
    if (narrow && product && k.rows > 0)
    {
        const double written = k.launches * k.batch * k.rows * k.columns;
        bytes -= (DtypeBytes(dtype) - narrow->inputBytes) * std::max(k.elements - written, 0.0);
    }
    return bytes;
}

/// Seconds of the casts ahead of a product, whose activations are rows x inner.
double
CastSeconds(const Kernel& k, const GpuSpec& gpu, Dtype dtype)
{
    const NarrowFormat* narrow = NarrowOf(dtype);
    if (!narrow || !k.casts || k.rows <= 0 || k.pass == Pass::kBackwardWeights)
    {
        return 0;
    }
    const double elements = k.batch * k.rows * k.inner;
    return k.launches *
           (narrow->castKernels * gpu.rates.launch +
            elements * narrow->castBytes / (gpu.memoryBandwidth * gpu.rates.pointwise));
}

/// FLOPs of all launches, in tiles where the shape is known.
double
TiledOf(const Kernel& k, const GpuSpec& gpu, const KernelCosts& costs)
{
    if (k.rows <= 0)
    {
        return k.flops;
    }
    const double tiled =
        TiledFlops(k.batch, k.rows, k.columns, k.inner, gpu.multiprocessors, costs);
    return std::max(k.flops, k.launches * tiled);
}

/// The share of the matrix of scores that a fused kernel computes. Causal: query i of n sees the
/// keys up to its own, the last query all of them; the diagonal is computed in blocks. A window has
/// two such edges, and its first queries see less.
double
Seen(const Kernel& k)
{
    constexpr double kBlock = 128; // assumed
    if (!k.causal || k.keys <= 0)
    {
        return 1;
    }
    if (k.window && k.queries > k.keys)
    {
        return 1 - k.keys / (2 * k.queries) + kBlock / k.keys;
    }
    const double queries = std::min(k.queries, k.keys);
    return std::min(1.0, (k.keys - queries / 2 + kBlock / 2) / k.keys);
}

double
AttentionSeconds(const Kernel& k, const GpuSpec& gpu, Dtype given, const KernelCosts& costs)
{
    const Dtype dtype = k.wide ? WideOf(given) : given;
    const double bytes = BytesOf(k, dtype);
    const double rate = ProductRate(gpu, dtype);
    if (k.fused)
    {
        const double flops = k.flops * Seen(k);
        const double ratio =
            gpu.rates.attention * (k.pass == Pass::kForward ? 1 : gpu.rates.attentionBackward);
        const double compute = std::max(flops / (rate * ratio), flops / gpu.Peak(dtype));
        return Overlapped(compute, bytes / (gpu.memoryBandwidth * gpu.rates.productMemory));
    }
    double flops = k.flops;
    if (k.heads > 0 && k.queries > 0 && k.keys > 0 && k.headSize > 0)
    {
        // As if all of its products were scores: context is the same turned round.
        const double tiled =
            TiledFlops(k.heads, k.queries, k.keys, k.headSize, gpu.multiprocessors, costs);
        flops *= std::max(tiled / (2 * k.heads * k.queries * k.keys * k.headSize), 1.0);
    }
    return flops / rate + bytes / (gpu.memoryBandwidth * gpu.rates.pointwise);
}

} // namespace

namespace
{

double
BestTiling(double batch,
           double rows,
           double columns,
           double inner,
           double multiprocessors,
           const KernelCosts& costs)
{
    double best = 0;
    for (const auto& tile : kTiles)
    {
        const double tiles =
            batch * std::ceil(rows / tile.rows) * std::ceil(columns / tile.columns);
        double full = tiles; // tiles that could have been computed in the time
        if (multiprocessors > 0)
        {
            const double waves = tiles / multiprocessors;
            const double split = std::clamp(inner / costs.split, 1.0, std::max(1.0, 1 / waves));
            const double taken =
                waves < 1
                    ? std::pow(waves, 1 - costs.wave) * std::pow(split, -costs.wave)
                    : std::pow(std::ceil(waves), costs.wave) * std::pow(waves, 1 - costs.wave);
            full = taken * multiprocessors;
        }
        const double flops = 2 * full * tile.rows * tile.columns * inner * TileCost(tile, costs) /
                             TileCost(kTiles[0], costs);
        best = best == 0 ? flops : std::min(best, flops);
    }
    return best;
}

} // namespace

double
TiledFlops(double batch,
           double rows,
           double columns,
           double inner,
           double multiprocessors,
           const KernelCosts& costs)
{
    // The blocks of a model ask for the same few products again and again.
    struct Known
    {
        std::array<double, 5> product = {};
        KernelCosts costs;
        double flops = 0;
    };

    static_assert(std::is_trivially_copyable_v<KernelCosts>);
    constexpr std::size_t kKnown = 64; // assumed: more than a block has
    thread_local std::array<Known, kKnown> known;
    const std::array<double, 5> product = {batch, rows, columns, inner, multiprocessors};
    std::size_t hash = 0;
    for (const double number : product)
    {
        hash = hash * 31 + std::hash<double>()(number);
    }
    Known& at = known[(hash ^ hash >> 32) % kKnown];
    if (at.product != product || std::memcmp(&at.costs, &costs, sizeof costs) != 0)
    {
        at = {product, costs, BestTiling(batch, rows, columns, inner, multiprocessors, costs)};
    }
    return at.flops;
}

GpuSpec
InTraining(GpuSpec gpu)
{
    gpu.rates.tensorProduct *= gpu.rates.sustained;
    gpu.rates.fp8Product *= gpu.rates.sustained;
    return gpu;
}

double
Seconds(const Kernel& k, const GpuSpec& gpu, Dtype given, const KernelCosts& costs)
{
    const Dtype dtype = k.wide ? WideOf(given) : given;
    if (k.launches <= 0)
    {
        return 0;
    }
    const double memory = gpu.memoryBandwidth;
    double work = 0;
    switch (k.kind)
    {
    case KernelClass::kMatrix:
        work = Overlapped(TiledOf(k, gpu, costs) / ProductRate(gpu, dtype),
                          BytesOf(k, dtype) / (memory * gpu.rates.productMemory)) +
               CastSeconds(k, gpu, dtype);
        break;
    case KernelClass::kConvolution:
        work = Overlapped(
            TiledOf(k, gpu, costs) /
                std::min(ProductRate(gpu, dtype) * gpu.rates.convolution, gpu.Peak(dtype)),
            BytesOf(k, dtype) / (memory * gpu.rates.productMemory));
        break;
    case KernelClass::kAttention:
        work = AttentionSeconds(k, gpu, WideOf(dtype), costs);
        break;
    case KernelClass::kPointwise:
        work = BytesOf(k, WideOf(dtype)) / (memory * gpu.rates.pointwise);
        break;
    }
    return k.launches * gpu.rates.launch + work;
}

std::string
OptimizerName(Optimizer optimizer)
{
    constexpr const char* kNames[] = {"sgd", "momentum", "adam", "lamb", "adafactor"};
    return kNames[static_cast<uint32_t>(optimizer)];
}

std::optional<Optimizer>
ParseOptimizer(std::string_view text)
{
    for (const Optimizer optimizer : {Optimizer::kSgd,
                                      Optimizer::kMomentum,
                                      Optimizer::kAdam,
                                      Optimizer::kLamb,
                                      Optimizer::kAdafactor})
    {
        if (text == OptimizerName(optimizer))
        {
            return optimizer;
        }
    }
    return std::nullopt;
}

uint32_t
OptimizerStateBytes(Optimizer optimizer, Dtype dtype, bool master)
{
    const bool narrow = DtypeBytes(dtype) < 4;
    const uint32_t copy = narrow && master ? 4 : 0;
    const uint32_t each = narrow && !master ? 2 : 4;
    switch (optimizer)
    {
    case Optimizer::kMomentum:
        return copy + each;
    case Optimizer::kAdam:
    case Optimizer::kLamb:
        return copy + 2 * each;
    case Optimizer::kSgd:
    case Optimizer::kAdafactor:
        break;
    }
    return copy;
}

bool
NeedsWholeTensors(Optimizer optimizer)
{
    return optimizer == Optimizer::kLamb || optimizer == Optimizer::kAdafactor;
}

double
OptimizerBytes(Optimizer optimizer, Dtype dtype, bool master)
{
    const bool wide = DtypeBytes(dtype) == 4;
    const double gradient = wide ? 4 : 2;
    const double copy = wide || !master ? 0 : 2; // the 16-bit parameter, written
    const double one = wide || master ? 4 : 2;
    const double state = 2 * one; // read and written
    switch (optimizer)
    {
    case Optimizer::kSgd:
        return gradient + state + copy;
    case Optimizer::kMomentum:
        return gradient + 2 * state + copy;
    case Optimizer::kAdam:
        return gradient + 3 * state + copy;
    case Optimizer::kLamb:
        // Five passes, as NVIDIA/apex@06a83ce csrc/multi_tensor_lamb.cu launches them after the
        // norm of all gradients: norm of parameters (1); stage 1 reads gradient, parameter and
        // moments, and writes moments and update (g + 1 + 2 x 2 + 1); norm of updates (1); stage 2
        // reads update and parameter and writes the latter (1 + 2).
        return gradient + one + (gradient + one + 2 * state + one) + one + (one + state) + copy;
    case Optimizer::kAdafactor:
        // Means of the squares over rows and columns; the update, whose root mean square clips it;
        // the parameter. A kernel each is assumed.
        return gradient + (gradient + one) + (one + state) + copy;
    }
    return 0;
}

double
OptimizerSeconds(Optimizer optimizer,
                 double parameters,
                 const GpuSpec& gpu,
                 Dtype dtype,
                 bool master)
{
    if (parameters <= 0)
    {
        return 0;
    }
    const double launches = optimizer == Optimizer::kLamb        ? 5
                            : optimizer == Optimizer::kAdafactor ? 3
                                                                 : 1;
    return launches * gpu.rates.launch + parameters * OptimizerBytes(optimizer, dtype, master) /
                                             (gpu.memoryBandwidth * gpu.rates.optimizer);
}

} // namespace training
