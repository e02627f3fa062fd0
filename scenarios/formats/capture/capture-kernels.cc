/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture/capture-kernels.h"

#include "contrib/rdma/core/units.h"
#include "scenarios/formats/recording.h"
#include "scenarios/models/kernel.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <vector>

namespace formats
{

using training::Dtype;
using training::Kernel;
using training::KernelClass;
using training::TaskKind;

namespace
{

/// The pass in the text of a key "pass".
training::Pass
PassOf(const std::string& text)
{
    return text == "backward-weights"                       ? training::Pass::kBackwardWeights
           : text == "backward-input" || text == "backward" ? training::Pass::kBackwardInput
                                                            : training::Pass::kForward;
}

/// A kernel as its line has it. \param kind of CaptureKernels::Names()
Kernel
KernelOf(CaptureObject& line, const std::string& kind, Dtype dtype)
{
    constexpr double kMost = 1e21;
    Kernel kernel;
    kernel.casts = false; // they are lines of their own
    kernel.launches = line.Real("launches", 1e9, 1);
    kernel.flops = line.Real("flops", kMost, 0);
    kernel.bytes = line.Real("read", 1e18, 0) + line.Real("written", 1e18, 0);
    kernel.pass =
        PassOf(line.OneOf("pass", {"forward", "backward", "backward-input", "backward-weights"}));
    if (kind == "gemm" || kind == "conv")
    {
        kernel.kind = kind == "gemm" ? KernelClass::kMatrix : KernelClass::kConvolution;
        kernel.batch = line.Real("batch", 1e9, 1);
        kernel.rows = line.Real("m", 1e12, 0);
        kernel.columns = line.Real("n", 1e12, 0);
        kernel.inner = line.Real("k", 1e12, 0);
        if (kernel.flops == 0)
        {
            kernel.flops =
                kernel.launches * 2 * kernel.batch * kernel.rows * kernel.columns * kernel.inner;
        }
        // Turned round for tensor cores, which want all channels of a place together, as the zoo's
        // are (layer-kernels.h): moved three times.
        if (const double turned = line.Real("channels_first", 1e18, 0); dtype != Dtype::kFp32)
        {
            kernel.bytes += 2 * turned;
        }
    }
    else if (kind == "attention")
    {
        kernel.kind = KernelClass::kAttention;
        kernel.heads = line.Real("heads", 1e12, 0);
        kernel.queries = line.Real("queries", 1e9, 0);
        kernel.keys = line.Real("keys", 1e9, 0);
        kernel.headSize = line.Real("head_size", 1e6, 0);
        kernel.causal = line.Flag("causal");
        kernel.fused = true;
        // FLOPs of the whole matrix, as layer-kernels.cc counts them: `flops` of the record has
        // half of them where causal. The kernel's time accounts for the part that it computes.
        kernel.flops = 2 * kernel.heads * kernel.queries * kernel.keys *
                       (kernel.headSize + line.Real("value_size", 1e6, kernel.headSize)) *
                       (kernel.pass == training::Pass::kForward ? 1 : 2.5);
    }
    return kernel;
}

/// The time of a kernel.
double
SecondsOf(CaptureObject& line,
          const std::string& kind,
          const Kernel& kernel,
          const training::GpuSpec& gpu,
          Dtype dtype)
{
    if (kind == "kernel")
    {
        if (!line.Has("us"))
        {
            line.Fail("us is missing: what the kernel takes");
        }
        return line.Real("us", 1e9, 0) * 1e-6;
    }
    if (kind == "optimizer")
    {
        // Its traffic at the bandwidth of updates.
        constexpr auto kPlain = training::Optimizer::kSgd;
        return training::OptimizerSeconds(kPlain,
                                          kernel.bytes / training::OptimizerBytes(kPlain, dtype),
                                          gpu,
                                          dtype) +
               std::max(kernel.launches - 1, 0.0) * gpu.rates.launch;
    }
    return training::Seconds(kernel, gpu, dtype);
}

} // namespace

CaptureKernels::CaptureKernels(const training::GpuSpec& gpu)
    : m_gpu(training::InTraining(gpu))
{
}

const std::vector<std::string>&
CaptureKernels::Names()
{
    static const std::vector<std::string> kNames = {"gemm",
                                                    "conv",
                                                    "attention",
                                                    "norm",
                                                    "softmax",
                                                    "embedding",
                                                    "reduction",
                                                    "pointwise",
                                                    "optimizer",
                                                    "memory",
                                                    "kernel"};
    return kNames;
}

/// The datatype in the text of a key "dtype".
Dtype
CaptureKernels::DtypeOf(const std::string& text)
{
    Dtype dtype = text == "f16"    ? Dtype::kFp16
                  : text == "bf16" ? Dtype::kBf16
                  : text == "f8"   ? Dtype::kFp8
                  : text == "tf32" ? Dtype::kTf32
                                   : Dtype::kFp32;
    if (dtype == Dtype::kTf32 && m_gpu.Peak(dtype) <= 0)
    {
        dtype = Dtype::kFp32; // the datatype that libraries use on such a GPU
    }
    if (m_gpu.Peak(dtype) <= 0)
    {
        const Dtype other = m_gpu.Peak(Dtype::kFp16) > 0 ? Dtype::kFp16 : Dtype::kFp32;
        m_replaced[training::DtypeName(dtype)] = training::DtypeName(other);
        dtype = other;
    }
    return dtype;
}

bool
CaptureKernels::Set(CaptureObject& line,
                    const std::string& kind,
                    training::Task* task,
                    CapturedWork* work)
{
    const std::string text = line.Dtype();
    if ((kind == "gemm" || kind == "conv") && !line.Needs({"m", "n", "k"}))
    {
        return false;
    }
    if (kind == "attention" && !line.Needs({"heads", "queries", "keys", "head_size"}))
    {
        return false;
    }
    const Dtype dtype = DtypeOf(text);
    const Kernel kernel = KernelOf(line, kind, dtype);
    const double seconds = SecondsOf(line, kind, kernel, m_gpu, dtype);
    if (!line.IsFine())
    {
        return false;
    }
    if (!(seconds * 1e12 <= static_cast<double>(kLongestPs)))
    {
        return line.Fail("takes more than 1000 s on " + m_gpu.name);
    }
    task->duration = rdma::Duration(static_cast<int64_t>(seconds * 1e12 + 0.5));
    const bool multiplies = kernel.kind == KernelClass::kMatrix ||
                            kernel.kind == KernelClass::kConvolution ||
                            kernel.kind == KernelClass::kAttention;
    const bool forward = task->phase == training::Phase::kForward;
    if (multiplies && (forward || task->phase == training::Phase::kBackward))
    {
        (forward ? work->forward : work->backward) += kernel.flops;
        work->secondsAtPeak += kernel.flops / m_gpu.Peak(dtype);
    }
    task->kind = kind == "optimizer" || kind == "memory" ? TaskKind::kMemory : TaskKind::kCompute;
    return true;
}

} // namespace formats
