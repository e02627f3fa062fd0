/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/engine-collectives.h"

#include <algorithm>
#include <string>

namespace serving
{

namespace
{

struct ReduceLine
{
    double fixed;  ///< us
    double perMib; ///< us
};

/// All-reduces of 2, 4 and 8 GPUs.
struct ReduceRow
{
    const char* gpu; ///< its name, or a generation
    ReduceLine of[3];
};

// Fitted on the rows of aiconfigurator@095f58a that measured_kernels.csv has (kind all-reduce, in a
// CUDA graph); "assumed": no row.
constexpr ReduceRow kReduces[] = {
    {"Ampere", {{4.6, 6.9}, {5.9, 11}, {10, 13}}},
    {"H200", {{4.3, 4.5}, {5.0, 7}, {5.1, 9}}}, // 4: from its one row, 12.1 us at 1 MiB
    {"Hopper", {{2.8, 3.3}, {3.5, 6.1}, {5.2, 7.3}}},
    {"Blackwell", {{4.8, 2.5}, {4, 6}, {5.5, 12}}}, // 4: assumed
};
constexpr ReduceRow kOverPcie5 = {"RTX-PRO-6000", {{4.3, 26}, {18, 54}, {40, 77}}};
constexpr ReduceRow kOverPcie4 = {"L40S", {{4, 55}, {20, 340}, {23, 560}}}; // 4: assumed

/// Through host memory: assumed; the rows of RTX 4090 servers disagree with each other.
constexpr double kHostFixed = 60e-6;
constexpr double kHostRate = 10e9;

/// DeepEP's low-latency kernels in a server, from its rows with 8 and 128 tokens a GPU on 8 GPUs.
struct ExchangeRow
{
    const char* gpu;
    double fixed; ///< s
    double rate;  ///< B/s
};

constexpr ExchangeRow kExchanges[] = {{"GB200", 17e-6, 755e9},
                                      {"Hopper", 13.2e-6, 290e9},
                                      {"Blackwell", 21.6e-6, 700e9}};

template <class Row, std::size_t N>
const Row*
FindReduce(const Row (&rows)[N], const training::GpuSpec& gpu)
{
    for (const std::string& name : {gpu.name, gpu.generation})
    {
        for (const Row& row : rows)
        {
            if (name == row.gpu)
            {
                return &row;
            }
        }
    }
    return nullptr;
}

double
LineSeconds(const ReduceLine& line, double bytes)
{
    return (line.fixed + line.perMib * bytes / (1 << 20)) * 1e-6;
}

} // namespace

bool
HasPeers(const training::GpuSpec& gpu)
{
    return gpu.name != "RTX-4090" && gpu.name != "RTX-3090";
}

std::optional<double>
EngineAllReduce(const training::GpuSpec& gpu, const PeerLinks& links, uint32_t gpus, double bytes)
{
    if (gpus < 2)
    {
        return 0;
    }
    if (!links.peers)
    {
        return kHostFixed + bytes / kHostRate;
    }
    constexpr double kPcie5 = 50e9; // B/s: between 31.5 and 63
    const ReduceRow* const row = links.pcie ? (links.perGpu > kPcie5 ? &kOverPcie5 : &kOverPcie4)
                                            : FindReduce(kReduces, gpu);
    if (!row || gpus > 8 || bytes > kEngineReduceBytes)
    {
        return std::nullopt;
    }
    // Of other numbers of GPUs: between those on both sides.
    const std::size_t above = gpus <= 2 ? 0 : gpus <= 4 ? 1 : 2;
    const double most = LineSeconds(row->of[above], bytes);
    if (above == 0)
    {
        return most;
    }
    const double least = LineSeconds(row->of[above - 1], bytes);
    const double from = above == 1 ? 2 : 4;
    return least + (most - least) * (gpus - from) / from;
}

std::optional<double>
EngineExchange(const training::GpuSpec& gpu, const PeerLinks& links, double bytes)
{
    const ExchangeRow* const row =
        links.pcie || !links.peers ? nullptr : FindReduce(kExchanges, gpu);
    return row ? std::optional(row->fixed + bytes / row->rate) : std::nullopt;
}

} // namespace serving
