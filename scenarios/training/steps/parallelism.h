/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The parallelism that a collective or a message belongs to. Its group's name tells: the planner's
 * names (layout.h), those of text workloads, and the process groups and mesh dimensions of a
 * captured script.
 */
#ifndef SCENARIOS_TRAINING_STEPS_PARALLELISM_H
#define SCENARIOS_TRAINING_STEPS_PARALLELISM_H

#include "scenarios/training/steps/step-graph.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace training
{

/// In the order in which computing waits for them: an all-reduce of tensor parallelism stands
/// between two computations, gradients of data parallelism go on beside them.
enum class Parallelism : uint8_t
{
    kTensor,
    kContext,
    kExpert,
    kPipeline,
    kData,
    kOther, ///< of a recording whose groups have other names
};

constexpr std::size_t kParallelisms = 6;

/// \return "tp", ...; "other"
const char* ParallelismName(Parallelism parallelism);
/// \return "TP", ...; "other"
const char* ParallelismWord(Parallelism parallelism);

/// \param kind group of the task. \pre the task communicates
Parallelism ParallelismOf(const GroupKind& kind, const Task& task);

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_PARALLELISM_H
