/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve's options for many models on a GPU: --multiplex, --share-curve, --slices, --compare.
 *
 * MultiplexOptionRows() are options of their own. MultiplexSharedRows() are those that serving has
 * as well (--model, --gpu, --gpus, --batch, --duration, --dtype, --seq): of them only the text that
 * was given is read.
 */
#ifndef SCENARIOS_MULTIPLEX_OPTIONS_MULTIPLEX_OPTIONS_H
#define SCENARIOS_MULTIPLEX_OPTIONS_MULTIPLEX_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/multiplex/simulation.h"
#include "scenarios/options/options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// What is asked of many models on a GPU.
enum class MultiplexTask : uint8_t
{
    kMix,     ///< --multiplex: policies
    kCurve,   ///< --share-curve
    kSlices,  ///< --slices: MIG instances and processes
    kCompare, ///< --compare: measured rows beside computed ones
};

struct MultiplexScenario
{
    RunOptions run;
    Values values; ///< all as read
    MultiplexTask task = MultiplexTask::kMix;
    multiplex::CurveSources sources;
    // kMix:
    multiplex::Mix mix;
    std::vector<std::string> policies;
    std::vector<double> scales; ///< of the rates; one: as the mix has them
    multiplex::RunSettings settings;
    // kCurve, kSlices, kCompare:
    std::vector<multiplex::ServedModel> models;
    std::vector<multiplex::SliceModel> slices; ///< instead, where rows are of MIG instances
    std::vector<uint32_t> batches;
    std::vector<uint32_t> processes; ///< of kSlices
    multiplex::CurveKind kind = multiplex::CurveKind::kAuto;
    multiplex::Measurements measured;
};

std::vector<Option> MultiplexOptionRows();
std::vector<Option> MultiplexSharedRows();

/// A program that has these options alone.
const OptionTable& MultiplexOptionTable();

/// Whether one of the tasks was asked for.
bool AsksForMultiplex(const Values& values);

/// A scenario, or errors.
struct MultiplexResult
{
    MultiplexScenario scenario;
    std::vector<Error> errors;
    std::vector<std::string> notes;
};

/// \param table that `read` was read by
MultiplexResult ValidateMultiplex(const OptionTable& table, const ReadResult& read);

} // namespace scenario

#endif // SCENARIOS_MULTIPLEX_OPTIONS_MULTIPLEX_OPTIONS_H
