/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A row of units to the stages of a pipeline, each on devices of its own: Alpa's inter-operator
 * programme (Zheng et al. 2022, arXiv 2201.12023, section 5). With B micro-batches a step takes
 *
 *     T = sum of t_i + (B - 1) max t_i
 *
 * For each bound on the slowest stage, the least sum of
 *
 *     F(s, k, d) = min { t(k .. i, m, s - 1) + F(s - 1, i, d - m) }     s stages, units from k on,
 * d devices; t within the bound
 *
 * t depends on the stages behind: those ahead keep activations of more micro-batches.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_STAGE_SEARCH_H
#define SCENARIOS_OPERATOR_SEARCH_STAGE_SEARCH_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace sharding
{

struct StageProblem
{
    uint32_t units = 1;
    uint32_t devices = 1;
    std::vector<uint32_t> meshes; ///< numbers of devices that a stage may have, ascending
    uint32_t passes = 1;          ///< micro-batches of a step

    /// Seconds of a micro-batch on units `begin` to `end` - 1; nothing: they do not fit. Asked
    /// several times for the same. \param behind stages after this one
    std::function<
        std::optional<double>(uint32_t begin, uint32_t end, uint32_t mesh, uint32_t behind)>
        seconds;
};

struct FoundStage
{
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t mesh = 1;
    double seconds = 0; ///< of a micro-batch
};

struct FoundStages
{
    std::vector<FoundStage> stages;
    double seconds = 0; ///< T
};

/// Exact where there are up to kMostBounds x states; else bounds grow by 1% at least, and the
/// result is within 1% of the least. Nothing: nothing fits.
std::optional<FoundStages> FindStages(const StageProblem& problem);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_STAGE_SEARCH_H
