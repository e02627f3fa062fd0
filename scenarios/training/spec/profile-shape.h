/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The shape of the job that a profile was measured with. Times are a GPU's share, and only `batch`
 * scales them. So times of another shape belong to another job:
 *
 *     {"tp": 2, "cp": 1, "seq": 2048, "micro_batch": 4, "layers": {"block *": {...}}}
 *
 * All keys may be left out. Keys that are given must match the run: an error names the difference.
 * If a key is left out and the run's value is not the usual one, a note says which shape the times
 * must have. `micro_batch` is exact, in the place of `batch`, which scales in proportion.
 */
#ifndef SCENARIOS_TRAINING_SPEC_PROFILE_SHAPE_H
#define SCENARIOS_TRAINING_SPEC_PROFILE_SHAPE_H

#include "scenarios/training/spec/plan-options.h"
#include "topologies/error.h"
#include "topologies/json-reader.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// 0: not said.
struct ProfileShape
{
    uint32_t tensor = 0;
    uint32_t context = 0;
    uint32_t sequence = 0;
    uint32_t microBatch = 0;
};

/// The members of a profile's JSON; mistakes are told to the reader.
ProfileShape ReadProfileShape(topo::JsonObject& in);

/// \return the shape in a file that has been read
ProfileShape ShapeOfProfile(const nlohmann::json& json);

/// The differences between the file and the run. \param options options of the run, with a profile
std::vector<topo::Error> CheckProfileShape(const ProfileShape& shape,
                                           const std::string& file,
                                           const TrainingOptions& options);

/// The shape that times of this run must have, for keys that the file does not give. Empty: the
/// usual shape.
std::string NoteOfProfileShape(const ProfileShape& shape, const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_SPEC_PROFILE_SHAPE_H
