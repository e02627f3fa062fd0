/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A recorded step, of whatever format: --trace.
 */
#ifndef SCENARIOS_FORMATS_TRACE_TRACE_H
#define SCENARIOS_FORMATS_TRACE_TRACE_H

#include "scenarios/formats/capture/capture.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/kineto/kineto.h"
#include "scenarios/formats/layer-text.h"
#include "scenarios/formats/recording.h"

#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// The trace that runs instead of a model.
struct TraceName
{
    std::string format; ///< Recording::format
    std::string path;
    uint32_t ranks = 0;             ///< ranks of the recording
    std::string torch;              ///< of a capture: version of PyTorch; empty: not known
    std::vector<std::string> notes; ///< parts that were changed or left out
};

/// "a file of GOAL, or a folder of ...": what ReadTrace takes, for help and errors.
std::string TraceFormats();

/// A recorded step: of our own captures and of lists of layers a plan, of all others a recording.
struct Trace
{
    std::string format;
    uint32_t ranks = 0;
    uint32_t gpusPerServer = 0;     ///< ranks of a server; 0: it is not known
    std::string torch;              ///< Captured::torch
    std::vector<std::string> notes; ///< Recording::notes
    std::optional<Recording> recording;
    std::optional<training::TrainingPlan> plan;
};

/// Reads a trace, whose format follows from its files. Nothing, and an error, if it has none of the
/// formats, or is not in order.
/// \param time times of kernels on the GPU of `machine`
/// \param cluster data that lists of layers do not have
/// \param ranks of PyTorch's profiler, those that run
std::optional<Trace> ReadTrace(const std::string& path,
                               const KernelTime& time,
                               const CaptureMachine& machine,
                               std::vector<topo::Error>& errors,
                               const TraceCluster& cluster = {},
                               const KinetoRanks& ranks = {});

/// Ranks of a plan.
struct Places
{
    uint32_t ranks = 0; ///< at least those of the trace
    /// GPUs of a server, where a server has more of them than ranks of the trace: the trace's ranks
    /// begin at each server's first GPU. 0: ranks are the plan's first ones.
    uint32_t ofServer = 0;
};

/// Its plan; nothing, and an error, if it cannot be run.
std::optional<training::TrainingPlan> PlanOf(const Trace& trace,
                                             const std::string& path,
                                             const Places& places,
                                             std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_TRACE_TRACE_H
