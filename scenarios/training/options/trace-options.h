/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain --trace, a step that another tool recorded instead of a model, and --export, the step of
 * a run for other tools (scenarios/formats).
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_TRACE_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_TRACE_OPTIONS_H

#include "scenarios/formats/trace/trace.h"
#include "scenarios/job/scenario.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> TraceOptionRows(const Section& section);

/// The name of a recorded step, in place of a model's name: its file, or the script's command.
std::string NameOfTrace(const Values& values);

/// Whether the option says what a model does: with a trace it is refused.
bool NeedsModel(const Option& option);

/// Whether there is a trace, or will be one (--launch). Then adds errors for options that say what
/// a model does, and takes them out of the configuration as run. First of all.
bool HasTrace(Validation* v);

/// Reads the trace, with times of its kernels on this GPU. \return nothing after an error, or if
/// mistakes of a captured script keep it from running. Decides --gpus or --servers, unless one is
/// given.
/// \param server the preset
/// \param [out] capture findings of a capture
std::optional<formats::Trace> ReadTraceFiles(Validation* v,
                                             const training::GpuSpec& gpu,
                                             const topo::ServerSpec& server,
                                             std::optional<CaptureOutcome>* capture);

/// Makes the trace's plan on a cluster, and the parts of the scenario that go with it.
void MakeTraced(Validation* v,
                const formats::Trace& trace,
                const training::GpuSpec& gpu,
                const ClusterSpec& cluster,
                TrainingScenario* s);

/// Reads --export. Adds errors for formats that cannot be written. After the scenario's cluster and
/// collectives are made.
void CheckExports(Validation* v, TrainingScenario* s, const ClusterSpec& cluster);

/// Writes the formats of --export into the output folder. \return why not, in a sentence; or
/// nothing
std::string WriteExports(const TrainingScenario& s);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_TRACE_OPTIONS_H
