/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/measured-kernels.h"

#include "collectives/tuner/tuner.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/inference/engine-collectives.h"
#include "scenarios/inference/kernels-times.h"
#include "scenarios/traffic/csv-line.h"
#include "scenarios/training/spec/kernel-time.h"
#include "topologies/server.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

namespace serving
{

namespace
{

using training::Dtype;
using training::GpuSpec;

/// Why a row has no time.
struct NotSimulated
{
    std::string why;
};

/// A value that is no number, or is not there.
struct BadField
{
    std::string what;
};

/// The input's datatype and the weights' format behind a name of the table.
struct KernelFormat
{
    Dtype dtype = Dtype::kBf16;
    Quantization quantization;
};

KernelFormat
FormatNamed(const std::string& name)
{
    static const std::map<std::string, std::pair<Dtype, const char*>> known = {
        {"bfloat16", {Dtype::kBf16, ""}},
        {"float16", {Dtype::kFp16, ""}},
        {"half", {Dtype::kFp16, ""}},
        {"fp8", {Dtype::kFp8, ""}},
        {"fp8_block", {Dtype::kFp8Blockwise, ""}},
        {"fp8_static", {Dtype::kFp8, ""}},
        {"nvfp4", {Dtype::kNvFp4, ""}},
        {"int4_wo", {Dtype::kBf16, "int4"}},
        {"int8_wo", {Dtype::kBf16, "fp8-weights"}},
        {"w4a16_mxfp4", {Dtype::kBf16, "mxfp4"}},
        {"w4a8_mxfp4_mxfp8", {Dtype::kMxFp8, "mxfp4"}},
    };
    const auto found = known.find(name);
    if (found == known.end())
    {
        throw NotSimulated{"no datatype '" + rdma::Shown(name, 40) + "' here"};
    }
    KernelFormat format;
    format.dtype = found->second.first;
    format.quantization = FindQuantization(found->second.second).value_or(Quantization());
    return format;
}

class KernelRow
{
  public:
    explicit KernelRow(const std::map<std::string, std::string>& fields)
        : m_fields(fields)
    {
    }

    std::string Text(const char* column) const
    {
        const auto found = m_fields.find(column);
        return found == m_fields.end() ? "" : found->second;
    }

    double Number(const char* column) const
    {
        const std::string text = Text(column);
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        constexpr double kLeast = 1e-6;
        constexpr double kMost = 1e15;
        if (text.empty() || *end != '\0' || !(value >= kLeast && value <= kMost))
        {
            throw BadField{std::string(column) + " is '" + rdma::Shown(text, 40) +
                           "'; allowed: a number above 0, 1e-06 to 1e+15"};
        }
        return value;
    }

    double NumberOr(const char* column, double otherwise) const
    {
        return Text(column).empty() || Text(column) == "0" ? otherwise : Number(column);
    }

    double Seconds(const GpuSpec& gpu) const
    {
        const std::string kind = Text("kind");
        if (kind == "gemm")
        {
            return Product(gpu);
        }
        if (kind == "attention prefill" || kind == "attention decode" || kind == "MLA prefill" ||
            kind == "MLA decode")
        {
            return Attention(gpu, kind.rfind("MLA", 0) == 0, kind.find("decode") != kind.npos);
        }
        if (kind == "moe")
        {
            return Experts(gpu);
        }
        if (kind == "all-reduce")
        {
            return Reduce(gpu);
        }
        if (kind == "collective")
        {
            return Collective(gpu);
        }
        if (kind == "expert exchange")
        {
            return Exchange(gpu);
        }
        throw NotSimulated{"no kernel of this kind here"};
    }

  private:
    /// "trtllm" of "trtllm 1.3.0rc20 ...".
    std::string Library() const
    {
        const std::string library = Text("library");
        return LibraryOf(library.substr(0, library.find(' ')));
    }

    KernelTimes Times(const GpuSpec& gpu, const KernelFormat& format) const
    {
        if (gpu.Peak(format.dtype) <= 0)
        {
            throw NotSimulated{"the GPU does not compute " + training::DtypeName(format.dtype)};
        }
        return {gpu, format.dtype, RatesOf(gpu), Library(), true, format.quantization};
    }

    double Product(const GpuSpec& gpu) const
    {
        const KernelTimes times = Times(gpu, FormatNamed(Text("dtype")));
        const ProductShape shape{Number("n"), Number("k"), false};
        return times.Product(shape, Number("m")) + times.CastAlone(shape, Number("m"));
    }

    double Attention(const GpuSpec& gpu, bool latent, bool decode) const
    {
        const double kv = Text("kv_dtype") == "fp8" ? 1 : 2;
        const double size = Number("head_dim");
        AttentionKernels a;
        a.blocks = 1;
        a.heads = Number("query_heads");
        a.kvHeads = Number("kv_heads");
        a.window = NumberOr("window", 0);
        a.latent = latent;
        if (latent)
        {
            // DeepSeek's: a latent of 512 and 64 rotary elements; values of 128 in heads of 192.
            constexpr double kRank = 512;
            constexpr double kRotary = 64;
            a.kvHeads = 1;
            a.keyBytes = (kRank + kRotary) * kv;
            a.pairFlops = 2 * (2 * size - kRotary);
            a.decodeFlops = a.heads * 2 * (2 * kRank + kRotary);
        }
        else
        {
            a.keyBytes = a.kvHeads * 2 * size * kv;
            a.pairFlops = 4 * size;
            a.decodeFlops = a.heads * a.pairFlops;
        }
        const double keys = Number("kv_tokens");
        const double sequences = Number("batch");
        constexpr double kMost = 1e6;
        if (!(sequences >= 1 && sequences <= kMost))
        {
            throw BadField{"batch is '" + rdma::Shown(Text("batch"), 40) +
                           "'; allowed: 1 to 1000000"};
        }
        IterationBatch batch;
        for (double s = 0; s < sequences; ++s)
        {
            if (decode)
            {
                batch.AddDecode(keys, Number("query_tokens"));
            }
            else
            {
                batch.AddChunk(Number("query_tokens"), keys - Number("query_tokens"));
            }
        }
        const KernelTimes times = Times(gpu, KernelFormat());
        return decode ? times.Decode(a, batch) : times.Prompts(a, batch);
    }

    double Experts(const GpuSpec& gpu) const
    {
        const KernelFormat format = FormatNamed(Text("dtype"));
        const KernelTimes times = Times(gpu, format);
        ExpertKernels e;
        e.blocks = 1;
        e.count = Number("experts");
        e.local = std::ceil(e.count / Number("moe_ep"));
        e.topK = Number("topk");
        e.hidden = Number("hidden");
        const double inner = Number("inter") / Number("moe_tp");
        // Gate and up in one kernel, activation, down, each over all experts.
        e.launches = 3;
        e.weightBytes = 3 * e.hidden * inner * times.WeightBytes(false, true);
        const auto* narrow = training::NarrowOf(format.dtype);
        const double input = narrow ? narrow->inputBytes : 2;
        e.pairBytes = (e.hidden + inner) * input + (2 * inner + e.hidden) * 2 + 3 * inner * 2;
        e.flops = Curve([&e, inner](double tokens) {
            return 2 * training::TiledFlops(1, tokens, inner, e.hidden, 0) +
                   training::TiledFlops(1, tokens, e.hidden, inner, 0);
        });
        IterationBatch batch;
        batch.decodeSequences = Number("tokens");
        if (Text("distribution") == "balanced")
        {
            batch.expertPairs = batch.decodeSequences * e.topK * e.local / e.count;
            batch.expertsHit =
                std::min(e.local, batch.decodeSequences * e.topK * e.local / e.count);
        }
        return times.Experts(e, batch, e.local < e.count);
    }

    double Reduce(const GpuSpec& gpu) const
    {
        PeerLinks links;
        links.pcie = gpu.generation == "Ada" || gpu.generation == "RTX Blackwell";
        links.perGpu = gpu.hostLink;
        const double gpus = Number("gpus");
        const auto own = EngineAllReduce(gpu, links, static_cast<uint32_t>(gpus), Number("bytes"));
        if (!own)
        {
            throw NotSimulated{"the library's above 16 MiB, and on GPUs without rows"};
        }
        return *own;
    }

    /// As nccl-tests times it, with the launch.
    double Collective(const GpuSpec& gpu) const
    {
        const topo::ServerSpec* server = topo::FindServerForGpu(topo::ServerPresets(), gpu.name);
        const double gpus = Number("gpus");
        if (!server || gpus > server->gpus)
        {
            throw NotSimulated{"no server of so many of these GPUs"};
        }
        const std::string op = Text("collective");
        if (op != "all_reduce" && op != "all_gather")
        {
            throw NotSimulated{"collperf times this collective"};
        }
        coll::Machine machine;
        machine.insideRate =
            static_cast<double>(server->scaleUp.perGpu.bps) / 8 * server->scaleUp.efficiency;
        machine.bridgeRate =
            static_cast<double>(server->scaleUp.hostBridge.bps) / 8 * server->scaleUp.efficiency;
        machine.nicRate = static_cast<double>(server->nicRate.bps) / 8;
        machine.nics = server->nics;
        machine.hasLibrary = true;
        machine.library = server->library;
        coll::Placement placement;
        coll::Collective what;
        what.op = op == "all_reduce" ? coll::Op::kAllReduce : coll::Op::kAllGather;
        what.bytes = static_cast<uint64_t>(Number("bytes"));
        what.ranks = static_cast<coll::Rank>(gpus);
        for (coll::Rank rank = 0; rank < what.ranks; ++rank)
        {
            placement.serverOf.push_back(0);
            placement.gpuOf.push_back(rank);
        }
        placement.nicsPerServer = server->nics;
        placement.gpusPerServer = server->gpus;
        placement.serverSwitchAdds = server->scaleUp.adds;
        return coll::Choose(what, placement, {}, machine).seconds;
    }

    /// A dispatch of bytes in fp8.
    double Exchange(const GpuSpec& gpu) const
    {
        if (Text("time_us").empty())
        {
            throw NotSimulated{"the row has no time"};
        }
        if (Text("note").find("RDMA") != std::string::npos || Number("gpus") > 8)
        {
            throw NotSimulated{"between servers packets take their time"};
        }
        const double bytes = Number("tokens") * Number("topk") * Number("hidden");
        const auto own = EngineExchange(gpu, PeerLinks(), bytes);
        if (!own)
        {
            throw NotSimulated{"no rows of this GPU"};
        }
        return *own;
    }

    const std::map<std::string, std::string>& m_fields;
};

double
MedianRatio(std::vector<double> values)
{
    const std::size_t middle = values.size() / 2;
    std::sort(values.begin(), values.end());
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

MeasuredKernel
KernelOf(const std::map<std::string, std::string>& fields)
{
    const KernelRow row(fields);
    MeasuredKernel kernel;
    kernel.row = row.Text("row_id");
    kernel.kind = row.Text("kind");
    kernel.gpu = row.Text("gpu");
    kernel.dtype = row.Text("dtype");
    try
    {
        const auto gpu = training::FindGpu(kernel.gpu);
        if (!gpu)
        {
            throw NotSimulated{"no GPU of this name here"};
        }
        kernel.generation = gpu->generation;
        if (row.Text("time_us").empty())
        {
            throw NotSimulated{"the row has no time"};
        }
        kernel.measured = row.Number("time_us") * 1e-6;
        kernel.simulated = row.Seconds(*gpu);
    }
    catch (const NotSimulated& reason)
    {
        kernel.why = reason.why;
    }
    return kernel;
}

} // namespace

std::vector<MeasuredKernel>
ReadMeasuredKernels(const std::string& path, std::string* problem)
{
    std::vector<MeasuredKernel> kernels;
    std::ifstream file(path);
    if (!file)
    {
        *problem = "cannot be read";
        return kernels;
    }
    std::vector<std::string> columns;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number)
    {
        const auto fail = [&](const std::string& what) {
            *problem = "line " + std::to_string(number) + ": " + what;
        };
        std::vector<std::string> fields;
        if (!scenario::SplitCsvLine(line, &fields))
        {
            fail("a quote is not closed");
            return {};
        }
        if (columns.empty())
        {
            columns = fields;
            for (const char* needed : {"kind", "gpu", "time_us"})
            {
                if (std::find(columns.begin(), columns.end(), needed) == columns.end())
                {
                    fail(std::string("there is no column ") + needed +
                         "; allowed: a table of kernels, as measured_kernels.csv");
                    return {};
                }
            }
            continue;
        }
        if (fields.size() == 1 && fields.front().empty())
        {
            continue;
        }
        if (fields.size() != columns.size())
        {
            fail("has " + std::to_string(fields.size()) +
                 " fields; allowed: " + std::to_string(columns.size()) + ", as its columns");
            return {};
        }
        std::map<std::string, std::string> named;
        for (std::size_t i = 0; i < fields.size(); ++i)
        {
            named[columns[i]] = fields[i];
        }
        try
        {
            kernels.push_back(KernelOf(named));
        }
        catch (const BadField& field)
        {
            fail(field.what);
            return {};
        }
    }
    if (kernels.empty())
    {
        *problem = "has no rows; allowed: a table of kernels, as measured_kernels.csv";
    }
    return kernels;
}

std::vector<KernelErrors>
KernelErrorsOf(const std::vector<MeasuredKernel>& kernels)
{
    std::vector<KernelErrors> all;
    std::vector<std::vector<double>> ratios;
    const auto add = [&](const std::string& kind, const std::string& gpu, double ratio) {
        std::size_t at = 0;
        while (at < all.size() && (all[at].kind != kind || all[at].gpu != gpu))
        {
            ++at;
        }
        if (at == all.size())
        {
            all.push_back({kind, gpu, 0, 0, 0});
            ratios.emplace_back();
        }
        ++all[at].rows;
        ratios[at].push_back(ratio);
    };
    for (const MeasuredKernel& kernel : kernels)
    {
        if (kernel.simulated)
        {
            add(kernel.kind, kernel.gpu, kernel.Ratio());
        }
    }
    for (const MeasuredKernel& kernel : kernels)
    {
        if (kernel.simulated)
        {
            add("all", kernel.generation, kernel.Ratio());
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i)
    {
        all[i].ratio = MedianRatio(ratios[i]);
        for (double& ratio : ratios[i])
        {
            ratio = std::abs(ratio - 1);
        }
        all[i].error = MedianRatio(ratios[i]);
    }
    return all;
}

} // namespace serving
