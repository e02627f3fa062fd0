/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/kernels-engine.h"

#include "scenarios/models/zoo-json.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace serving
{

using training::Dtype;
using training::GpuSpec;

namespace
{

/// Whose a row is: of a GPU or a generation, of a library (empty: of all).
struct RowOf
{
    const char* gpu;
    const char* library;
};

template <class T>
struct EngineRow
{
    RowOf of;
    T constants;
};

template <class T>
struct DtypeEngineRow
{
    RowOf of;
    Dtype dtype; ///< kBf16: fp16 too; kFp8: all kinds of it
    T constants;
};

// All: fitted on rows of aiconfigurator@095f58a, systems/data (those of measured_kernels.csv but
// for the ones that its table "Do not judge" names), with few digits; library of the rows beside
// it. "assumed": no rows.
const DtypeEngineRow<ProductConstants> kEngineProducts[] = {
    {{"Ampere", ""}, Dtype::kBf16, {4e-6, 0.85, 0.75}},                     // trtllm 1.0
    {{"Hopper", ""}, Dtype::kBf16, {4.5e-6, 0.89, 0.75}},                   // trtllm 1.3
    {{"Hopper", ""}, Dtype::kFp8, {5.2e-6, 0.87, 0.68, 7e-6, true}},        // trtllm 1.3
    {{"Blackwell", ""}, Dtype::kBf16, {3.6e-6, 0.72, 0.72}},                // trtllm 1.3
    {{"Blackwell", ""}, Dtype::kFp8, {4.5e-6, 0.60, 0.60, 7e-6, true}},     // assumed
    {{"Blackwell", ""}, Dtype::kNvFp4, {5e-6, 0.62, 0.55, 6e-6, true}},     // trtllm 1.3
    {{"RTX Blackwell", ""}, Dtype::kNvFp4, {5e-6, 0.66, 0.88, 6e-6, true}}, // trtllm 1.3
    {{"Ada", ""}, Dtype::kFp8, {1e-6, 0.71, 0.57, 0, true}},                // sglang 0.5, L40S
};

const DtypeEngineRow<ExpertConstants> kEngineExperts[] = {
    {{"Ampere", ""}, Dtype::kBf16, {12e-6, 0.78, 0.30, 0}},         // vllm 0.14, skewed
    {{"Hopper", "vllm"}, Dtype::kFp8, {27e-6, 0.75, 0.34, 18}},     // vllm 0.24, Triton
    {{"Hopper", "vllm"}, Dtype::kBf16, {27e-6, 0.75, 0.50, 18}},    // as in fp8: assumed
    {{"Hopper", ""}, Dtype::kFp8, {29e-6, 0.90, 0.80, 14}},         // trtllm 1.3
    {{"Hopper", ""}, Dtype::kBf16, {29e-6, 0.90, 0.65, 14}},        // as in fp8: assumed
    {{"Blackwell", ""}, Dtype::kNvFp4, {20e-6, 0.90, 0.60, 6}},     // trtllm 1.3
    {{"Blackwell", ""}, Dtype::kFp8, {20e-6, 0.90, 0.60, 8}},       // as NVFP4: assumed
    {{"Blackwell", ""}, Dtype::kBf16, {20e-6, 0.90, 0.60, 8}},      // as NVFP4: assumed
    {{"RTX Blackwell", ""}, Dtype::kNvFp4, {20e-6, 0.75, 0.50, 6}}, // assumed
};

const EngineRow<PromptConstants> kEnginePrompts[] = {
    {{"Ampere", ""}, {21e-6, 0.475, 200}},      // trtllm 1.0
    {{"Hopper", "trtllm"}, {12e-6, 0.82, 800}}, // trtllm 1.3, keys in fp8, H100
    {{"Hopper", ""}, {10.5e-6, 0.66, 400}},     // vllm 0.24, H200
    {{"Blackwell", ""}, {18e-6, 0.56, 700}},    // trtllm 1.3, keys in fp8
    {{"L40S", ""}, {8e-6, 0.59, 200}},          // vllm 0.22
};

const EngineRow<PromptConstants> kEngineLatentPrompts[] = {
    {{"Hopper", ""}, {10e-6, 0.635, 400}},   // trtllm 1.3
    {{"Blackwell", ""}, {18e-6, 0.65, 600}}, // trtllm 1.3
};

const EngineRow<DecodeConstants> kEngineDecode[] = {
    {{"Ampere", ""}, {9.5e-6, 7e-6, 0.92, 0.475}},      // trtllm 1.0
    {{"Hopper", "trtllm"}, {5.5e-6, 3e-6, 0.87, 0.82}}, // trtllm 1.3, keys in fp8
    {{"Hopper", ""}, {9e-6, 7e-6, 0.885, 0.66}},        // vllm 0.24, H200
    {{"Blackwell", ""}, {7.5e-6, 5e-6, 0.89, 0.607}},   // trtllm 1.3, keys in fp8
};

const EngineRow<DecodeConstants> kEngineLatentDecode[] = {
    {{"Hopper", ""}, {17.5e-6, 0, 0.85, 0.74}}, // trtllm 1.3
    {{"Blackwell", ""},
     {13e-6, 0, 0.85, 1}}, // trtllm 1.3: 1.15 fits, in part by fp8's tensor cores
};

/// fp16 as bf16; kinds of fp8 as one.
Dtype
DtypeClassOf(Dtype dtype)
{
    switch (dtype)
    {
    case Dtype::kFp16:
        return Dtype::kBf16;
    case Dtype::kFp8Tensorwise:
    case Dtype::kFp8Blockwise:
    case Dtype::kMxFp8:
        return Dtype::kFp8;
    default:
        return dtype;
    }
}

bool
IsRowOf(const RowOf& of,
        const GpuSpec& gpu,
        const std::string& library,
        bool byName,
        bool byLibrary)
{
    return of.gpu == (byName ? gpu.name : gpu.generation) &&
           (byLibrary ? !library.empty() && of.library == library : *of.library == '\0');
}

/// The row of the GPU before its generation's, the library's before all libraries'.
template <class Rows, class Fits>
auto
FindRow(const Rows& rows, const GpuSpec& gpu, const std::string& library, Fits&& fits)
    -> decltype(&std::begin(rows)->constants)
{
    for (const bool byName : {true, false})
    {
        for (const bool byLibrary : {true, false})
        {
            for (const auto& row : rows)
            {
                if (IsRowOf(row.of, gpu, library, byName, byLibrary) && fits(row))
                {
                    return &row.constants;
                }
            }
        }
    }
    return nullptr;
}

template <class T, class Rows>
void
TakeRow(const Rows& rows, const GpuSpec& gpu, const std::string& library, T& into)
{
    if (const T* found = FindRow(rows, gpu, library, [](const auto&) { return true; }))
    {
        into = *found;
    }
}

} // namespace

std::string
LibraryOf(const std::string& framework)
{
    struct Name
    {
        const char* prefix;
        const char* library;
    };

    // Older frameworks have constants of their own time (kernels-rates.cc).
    constexpr Name kOld[] = {{"vllm-0.2", ""}, {"fastertransformer", ""}, {"distserve", ""}};
    constexpr Name kNow[] = {{"trtllm", "trtllm"},
                             {"tensorrt", "trtllm"},
                             {"sglang", "sglang"},
                             {"vllm", "vllm"}};
    for (const Name& name : kOld)
    {
        if (framework == name.prefix)
        {
            return "";
        }
    }
    for (const Name& name : kNow)
    {
        if (framework.rfind(name.prefix, 0) == 0)
        {
            return name.library;
        }
    }
    return "any";
}

double
ReachedExperts(double chosen, double tokens)
{
    if (chosen >= 1)
    {
        return 1;
    }
    // Over the normal distribution, by Gauss and Hermite.
    constexpr double kNodes[] = {0, 1.0232556638, 2.0768479787, 3.2054290029, 4.5127458634};
    constexpr double kWeights[] = {0.4063492063,
                                   0.2440975029,
                                   0.0499164068,
                                   0.0027891413,
                                   0.0000223458};
    double reached = 0;
    for (std::size_t i = 0; i < std::size(kNodes); ++i)
    {
        for (const double z : {kNodes[i], -kNodes[i]})
        {
            const double popularity =
                std::exp(kExpertSpread * z - kExpertSpread * kExpertSpread / 2);
            const double p = std::min(chosen * popularity, 1 - 1e-9);
            reached -= kWeights[i] * std::expm1(tokens * std::log1p(-p)) / (i == 0 ? 2 : 1);
        }
    }
    // What popular experts cannot be chosen beyond once a token is the others'.
    return std::max(reached, std::min(chosen, 1.0));
}

EngineKernels
KernelsOf(const GpuSpec& gpu, Dtype dtype, const ServingRates& rates, const std::string& library)
{
    EngineKernels k;
    const auto product = [&](Dtype of) {
        return ProductConstants{rates.launch,
                                rates.weights,
                                gpu.rates.Product(of) *
                                    (of == Dtype::kFp32 ? 1 : rates.product), // of tensor cores
                                -1,
                                false};
    };
    const Dtype wide = training::WideOf(dtype);
    k.launch = rates.launch;
    k.fusedSums = !library.empty();
    k.narrow = product(dtype);
    k.wide = product(wide);
    const double launched = rates.launch + rates.block;
    k.prompts = k.latentPrompts = {launched, rates.prefill, 0};
    k.decode = k.latentDecode = {launched, rates.block, rates.kv, rates.prefill};
    if (library.empty())
    {
        return k;
    }
    // As on RTX Blackwell, where it was measured (kernels-rates.cc); Hopper's is its own: assumed.
    constexpr double kBlackwellLaunch = 1.62e-6;
    k.launch = gpu.generation == "Blackwell" ? kBlackwellLaunch : k.launch;
    const auto ofDtype = [&](Dtype of) {
        return [of = DtypeClassOf(of)](const auto& row) { return row.dtype == of; };
    };
    if (const auto* found = FindRow(kEngineProducts, gpu, library, ofDtype(dtype)))
    {
        k.narrow = *found;
    }
    if (const auto* found = FindRow(kEngineProducts, gpu, library, ofDtype(wide)))
    {
        k.wide = *found;
    }
    if (const auto* found = FindRow(kEngineExperts, gpu, library, ofDtype(dtype)))
    {
        k.experts = *found;
    }
    TakeRow(kEnginePrompts, gpu, library, k.prompts);
    k.latentPrompts = k.prompts;
    TakeRow(kEngineLatentPrompts, gpu, library, k.latentPrompts);
    TakeRow(kEngineDecode, gpu, library, k.decode);
    k.latentDecode = k.decode;
    TakeRow(kEngineLatentDecode, gpu, library, k.latentDecode);
    return k;
}

} // namespace serving
