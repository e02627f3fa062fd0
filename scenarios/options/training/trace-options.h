/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain --trace, a step that another tool recorded instead of a model, and --export, the step of
 * a run for other tools (scenarios/formats).
 */
#ifndef SCENARIOS_OPTIONS_TRAINING_TRACE_OPTIONS_H
#define SCENARIOS_OPTIONS_TRAINING_TRACE_OPTIONS_H

#include "scenarios/formats/trace.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/run/scenario.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> TraceOptionRows(const std::string& json, const std::string& group);

/// What a recorded step goes by where a model has its name: its file, or the script's command.
std::string NameOfTrace(const Values& values);

/// Whether there is a trace, or will be one (--launch). Then adds errors for options that say what
/// a model does, and takes them out of the configuration as run. First of all.
bool HasTrace(Validation* v);

/// Times of its kernels on this GPU; nothing after an error, or of a capture whose script has
/// mistakes that keep it from running. Decides --gpus or --servers, unless one is given.
/// \param server the preset \param [out] capture what is found in one
std::optional<formats::Trace> ReadTraceFiles(Validation* v,
                                             const training::GpuSpec& gpu,
                                             const topo::ServerSpec& server,
                                             std::optional<CaptureOutcome>* capture);

/// Its plan on a cluster, and what of the scenario there is with it.
void MakeTraced(Validation* v,
                const formats::Trace& trace,
                const training::GpuSpec& gpu,
                const ClusterSpec& cluster,
                TrainingScenario* s);

/// What --export asks for; errors for what cannot be written. After the scenario's cluster and
/// collectives are made.
void CheckExports(Validation* v, TrainingScenario* s, const ClusterSpec& cluster);

/// Writes what --export asks for into the output folder. \return why not, in a sentence; or nothing
std::string WriteExports(const TrainingScenario& s);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_TRAINING_TRACE_OPTIONS_H
