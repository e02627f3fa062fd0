/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A captured step with fewer of the model's repeated blocks (--layers).
 *
 * Blocks are the numbered children of one module ("blocks.0", "blocks.1", ...). In the order of
 * issue a rank goes through them up (forward) and down (backward), for each micro-batch. Where
 * operators, collectives and waits repeat exactly, with a period of one block or of a few (buckets
 * of gradients that end within blocks),
 *
 *   embed | b0 b1 b2 b3 b4 b5 | head | b5' b4' b3' b2' b1' b0' | optimizer
 *                ^^^^^ cut                    ^^^^^^^ cut
 *
 * some periods are cut out, for the same blocks everywhere. A task that waited for a cut task waits
 * for its counterpart in the block before. All else stays as it was. That includes work that
 * depends on the number of blocks without being repeated (an optimizer's one kernel for all
 * parameters). It is the same in all sizes, and so also in the extrapolated step.
 */
#ifndef SCENARIOS_FORMATS_CAPTURE_CAPTURE_BLOCKS_H
#define SCENARIOS_FORMATS_CAPTURE_CAPTURE_BLOCKS_H

#include "scenarios/formats/capture/capture.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// Where in the model the tasks of a plan come from.
struct ModulesOfTasks
{
    std::vector<std::string> paths;            ///< "blocks.3.attention"; [0] is ""
    std::vector<std::vector<uint32_t>> ofTask; ///< by role and task: index into paths
};

/// Reads the modules of a capture's folder that ReadCapture has taken; nothing if it is no
/// capture. The folder is read again: only --layers needs modules.
std::optional<ModulesOfTasks> ReadModules(const std::string& folder, const CaptureMachine& machine);

/// The result of --layers.
struct FewerBlocks
{
    std::string whyNot;  ///< empty: it was done, or all blocks are asked for
    std::string module;  ///< the module whose children the blocks are
    uint32_t period = 0; ///< blocks after which a step repeats itself; 0: none is left out
};

/// Gives a plan of one size up to three, the largest with `layers` blocks of each rank that has
/// any. \param modules of the plan's roles; of roles behind them nothing is cut
/// \param plan blocks, sizes and roles are set, if it can be done
FewerBlocks SetFewerBlocks(uint32_t layers,
                           const ModulesOfTasks& modules,
                           training::TrainingPlan* plan);

} // namespace formats

#endif // SCENARIOS_FORMATS_CAPTURE_CAPTURE_BLOCKS_H
