/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The layouts of a training job that a search looks at: products of divisors. Which of them are
 * possible, and which fit a GPU, dltrain's own rules say (validate-layout.h, EstimateMemory).
 *
 * What is left out of the space, by choice (assumed to be no one's best layout): tensor groups that
 * leave the scale-up domain; context groups that leave a GPU fewer than 2,048 tokens; more than 8
 * virtual stages; uneven pieces where all stages can have as many blocks; more than 32 samples a
 * micro-batch; ZeRO 2 and 3 in a pipeline, where DeepSpeed and Megatron-LM have neither.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_LAYOUT_SPACE_H
#define SCENARIOS_LAYOUT_SEARCH_LAYOUT_SPACE_H

#include "scenarios/asked/training.h"
#include "scenarios/job/scenario.h"
#include "scenarios/layout-search/setting.h"
#include "scenarios/options/options.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace planner
{

/// Orders of ranks: the copies of a stage side by side, as it is by default, or the stages of a
/// copy (Megatron-LM's --use-tp-pp-dp-mapping).
constexpr const char* kCopiesFirst = "tp-cp-ep-dp-pp";
constexpr const char* kPipelineFirst = "tp-cp-ep-pp-dp";

/// A layout that the rules allow and that fits.
struct Layout
{
    Settings settings;
    std::size_t job = 0; ///< index into PlannerScenario::jobs
    uint32_t gpus = 0;
    uint32_t tensor = 1;
    uint32_t pipeline = 1;
    uint32_t virtualStages = 1;
    uint32_t context = 1;
    uint32_t expert = 1;
    uint32_t expertTensor = 1;
    uint32_t data = 1;
    uint32_t zero = 0;
    uint32_t microBatch = 1;
    uint32_t accumulation = 1;
    std::string recompute;
    bool sequenceParallel = false;
    bool fusedAttention = false;
    /// Blocks of each stage on unequal GPUs ("2x10 H100, 2x6 A100"), or of each piece if the
    /// embedding and the loss count as blocks ("2, 30x3, 2").
    std::string stages;
    uint64_t memory = 0;  ///< bytes of a GPU, in tensors
    uint64_t reserve = 0; ///< bytes beside them (training::ReserveOf, or --memory-margin)
    uint64_t fullest = 0; ///< bytes that this GPU has
    double bound = 0;     ///< seconds: no step is shorter
};

/// The layout of a job's options. \param settings that make it, beside those of the job
Layout LayoutOf(const training::TrainingOptions& options,
                Settings settings = {},
                std::size_t job = 0);

/// "tp 8 pp 4 x 2 dp 8, ZeRO 1, micro-batch 1, sequence parallel, full recomputation"
std::string LayoutText(const Layout& layout);
/// The same as dltrain's options.
std::string LayoutOptions(const Layout& layout);

constexpr auto kCountsEmbedding = &scenario::asked::Training::accountForEmbeddingInPipelineSplit;
constexpr auto kCountsLoss = &scenario::asked::Training::accountForLossInPipelineSplit;

/// Whether an option says how blocks become the pieces of a pipeline.
bool IsCut(const Setting& setting);

/// The layouts that were looked at, by what became of them.
struct SpaceCount
{
    uint64_t seen = 0;
    std::map<std::string, uint64_t> refused;  ///< by the option that a rule names
    std::map<std::string, std::string> words; ///< by the same option: the first rule's own words
    uint64_t tooLarge = 0;
    uint64_t leastMemory = UINT64_MAX; ///< of those that do not fit, with what is beside tensors
    Layout least;                      ///< the one of leastMemory

    /// The first words of the rule that refuses most layouts; empty: none does.
    std::string CommonRefusal() const;
};

/// One number of GPUs.
struct Space
{
    const scenario::TrainingScenario& cluster; ///< scenario::ValidateCluster
    const scenario::ReadResult& read;
    std::vector<std::string> search; ///< options that may change
    /// Bytes of a GPU that a layout may take; nothing: all that the GPU has.
    std::optional<uint64_t> room;
    std::optional<double> margin; ///< share of a GPU that stays free; nothing: ReserveOf
    std::size_t job = 0;
};

/// Called for each layout that fits, with its training options.
using Visit = std::function<void(Layout layout, const training::TrainingOptions& options)>;

/// Adds up what several parts counted.
void Add(const SpaceCount& its, SpaceCount* to);

/// The layouts of a space with the same groups of GPUs (tp, pp, cp).
struct SpacePart
{
    Settings settings;
    uint64_t stages = 1;
    uint64_t tensor = 1;
    uint64_t replicas = 1; ///< of a stage
};

std::vector<SpacePart> PartsOf(const Space& space);

/// \param look called now and then; \return whether to go on
void VisitLayouts(const Space& space,
                  const SpacePart& part,
                  SpaceCount* count,
                  const Visit& visit,
                  const std::function<bool()>& look);

/// Counts a layout that a rule does not allow.
void Refuse(const scenario::Error& error, SpaceCount* count);

/// The job with a layout's options.
scenario::ReadResult WithLayout(const scenario::ReadResult& read, const Layout& layout);

/// Why dltrain would not run the job with a layout, by its own rules of a whole run: its step has a
/// collective that the job's algorithm cannot do, say. Asked of few micro-batches, which are alike.
std::optional<scenario::Error> WhyNotRun(const scenario::ReadResult& read, const Layout& layout);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_LAYOUT_SPACE_H
