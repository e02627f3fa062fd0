/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is trained, and on what: a model, a profile, a GPU and a server, of the zoos or of files
 * that options name.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_TRAINING_INPUTS_H
#define SCENARIOS_TRAINING_OPTIONS_TRAINING_INPUTS_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/network/validate.h"
#include "scenarios/training/spec/layer-profile.h"
#include "scenarios/training/spec/profile-shape.h"
#include "topologies/error.h"
#include "topologies/server.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// Mistakes in a file, with its name and the place in it.
void TakeFileErrors(Validation* v, const std::vector<topo::Error>& errors);

/// Whether --profile is a CSV file.
bool IsCsvProfile(const Values& values);

/// Measured layers; nothing if there are none, or after an error. \param shape shape of a profile
/// in JSON
std::optional<training::LayerProfile> ChosenProfile(Validation* v, training::ProfileShape* shape);

/// A model that an option names: of the zoo, or of a JSON file. Nothing after an error.
std::optional<training::ModelSpec> NamedModel(Validation* v,
                                              Member option,
                                              const std::string& name);

/// Nothing after an error. \param profile gets the names of its layers, if it is the model
std::optional<training::ModelSpec> ChosenModel(Validation* v,
                                               std::optional<training::LayerProfile>* profile);

/// Server and GPU depend on each other: --gpu alone chooses a server that has it. Both are nothing
/// after an error.
void ChooseServerAndGpu(Validation* v,
                        std::optional<topo::ServerSpec>* server,
                        std::optional<training::GpuSpec>* gpu);

/// Chooses the datatype for older GPUs, which have no bf16: their 16-bit type, or fp32, unless one
/// is given.
void ChooseDtype(Validation* v, const training::GpuSpec& gpu);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_TRAINING_INPUTS_H
