/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the times of a profile were measured with. They are a GPU's share and nothing is scaled but
 * by `batch`, so times of another shape are of another job:
 *
 *     {"tp": 2, "cp": 1, "seq": 2048, "micro_batch": 4, "layers": {"block *": {...}}}
 *
 * All may be left out. What stands there must be what runs: an error says what differs. For what
 * does not, and is not as usual, a note says what times have to be of. `micro_batch` is exact, in
 * the place of `batch`, which scales in proportion.
 */
#ifndef SCENARIOS_TRAINING_PROFILE_SHAPE_H
#define SCENARIOS_TRAINING_PROFILE_SHAPE_H

#include "scenarios/training/plan-options.h"
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

/// \return what a file that has been read says of it
ProfileShape ShapeOfProfile(const nlohmann::json& json);

/// What is not as the file says. \param options of the run, with a profile
std::vector<topo::Error> CheckProfileShape(const ProfileShape& shape,
                                           const std::string& file,
                                           const TrainingOptions& options);

/// What times of that run have to be of where the file does not say; empty: of what is usual.
std::string NoteOfProfileShape(const ProfileShape& shape, const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_PROFILE_SHAPE_H
