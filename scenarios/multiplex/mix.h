/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models that share GPUs, with their requests. As JSON:
 *
 *   {"models": [{"model": "resnet-50", "rate": "poisson:150", "slo": "50ms",
 *                "batch": "auto", "share": "40%", "gpu": 0},
 *               {"model": "resnet50", "rate": "closed", "slo": "50ms",
 *                "instance": "2g.20gb", "processes": 2}, ...],
 *    "curves": "curves.csv"}
 */
#ifndef SCENARIOS_MULTIPLEX_MIX_H
#define SCENARIOS_MULTIPLEX_MIX_H

#include "scenarios/multiplex/served-model.h"
#include "scenarios/multiplex/slice-finder.h"
#include "topologies/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace multiplex
{

/// The share of a MIG slice, a seventh of the GPU's multiprocessors.
constexpr double kMigSlice = kWholeGpu / 7;
/// Slices of the instances that there are: 1g, 2g, 3g, 4g and 7g (NVIDIA Multi-Instance GPU User
/// Guide, "Supported MIG Profiles", A100 and H100).
constexpr uint32_t kMigSizes[] = {1, 2, 3, 4, 7};

/// One model and its requests.
struct ModelLoad
{
    std::string name; ///< unique in the mix
    ServedModel served;
    double rate = 0;     ///< requests/s
    bool poisson = true; ///< else evenly spaced
    double slo = 0;      ///< s
    uint32_t batch = 0;  ///< 0: by the policy
    double percent = 0;  ///< 0: by the policy
    std::optional<uint32_t> gpu;
    uint32_t weight = 0;    ///< batches in a turn of temporal and gpulet; 0: by the rate
    uint32_t mostBatch = 1; ///< of a batch by the policy
    /// On a MIG instance of its own, with processes under MPS; nothing: as the policy has it.
    std::optional<SliceModel> slices;
    const MigInstance* instance = nullptr;
    uint32_t processes = 1;
    bool closed = false; ///< each process takes one batch after another; `rate` is 0

    bool OnInstance() const
    {
        return instance != nullptr;
    }
};

struct Mix
{
    std::string file;
    std::vector<ModelLoad> models;

    /// Whether an entry asks for a MIG instance with processes.
    bool HasInstances() const;
};

/// \param sources of the curves; the file's "curves" are added to them
/// \param gpus that there are
Mix ReadMix(const std::string& path,
            uint32_t gpus,
            CurveSources* sources,
            std::vector<topo::Error>& errors);

/// The same of a text. \param file for errors, and for the folder of "curves"
Mix ParseMix(const std::string& text,
             const std::string& file,
             uint32_t gpus,
             CurveSources* sources,
             std::vector<topo::Error>& errors);

/// "40%", "40", "2/7" or "2g" as per cent; nothing if it is none from above 0 to 100.
std::optional<double> ParseShare(const std::string& text);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_MIX_H
