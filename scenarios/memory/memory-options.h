/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Memory beyond the GPUs': --memory, --place and what goes with them; --remote-memory.
 */
#ifndef SCENARIOS_MEMORY_MEMORY_OPTIONS_H
#define SCENARIOS_MEMORY_MEMORY_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/spec/plan-options.h"

#include <vector>

namespace scenario
{

std::vector<Option> MemoryOptionRows();

/// --memory and --place, into the options of a model's step. \param cluster whose servers stand
void MakeMemory(Validation* v,
                const ClusterSpec& cluster,
                const FabricSpec& fabric,
                training::TrainingOptions* o);

/// --memory-sweep as a study of --memory-rate. \return no runs: there is none
Study MakeMemorySweep(Validation* v);

/// Whether what a tier's devices hold has room there. \param plan whose tiers are placed
void CheckMemoryRoom(Validation* v,
                     const ClusterSpec& cluster,
                     const training::TrainingOptions& o,
                     const training::TrainingPlan& plan);

/// --remote-memory, into the plan of a trace: its loads and stores go there, or take the time that
/// was recorded.
void TakeRemoteMemory(Validation* v, training::TrainingPlan* plan);

/// The hosts of --memory-servers, behind those of the job; error if there are too few.
void TakeMemoryHosts(Validation* v, ClusterSpec* cluster);

} // namespace scenario

#endif // SCENARIOS_MEMORY_MEMORY_OPTIONS_H
