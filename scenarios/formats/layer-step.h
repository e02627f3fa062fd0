/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A list of layers (layer-text.h), read, and the step that it is.
 */
#ifndef SCENARIOS_FORMATS_LAYER_STEP_H
#define SCENARIOS_FORMATS_LAYER_STEP_H

#include "collectives/core/schedule.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/training/steps/step-graph.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats::layers
{

enum class Policy : uint8_t
{
    kMicro,
    kData,
    kModel,
    kDataModel,
    kModelData,
    kCustomized,
    kDlrm,
    kInference,
    kTransformer,
    kTransformerAgain, ///< computes the forward again
};

/// Groups of ranks that a text may mean.
enum class Group : uint8_t
{
    kNone,
    kAll,
    kServer, ///< the GPUs of a server
    kPlace,  ///< those of one place in all servers
    kTensor,
    kData,
    kExpert,
    kDataExpert,
};

/// Forward, input gradient, weight gradient.
enum Pass : uint8_t
{
    kForward,
    kInput,
    kWeight,
    kPasses,
};

constexpr const char* kPassNames[] = {"forward", "input gradient", "weight gradient"};

/// The work of a layer in a pass.
struct Work
{
    rdma::Duration time;
    std::optional<coll::Op> op;
    Group group = Group::kNone;
    uint64_t bytes = 0;
};

struct Layer
{
    std::string name;
    std::array<Work, kPasses> work;
    rdma::Duration update;
    bool checkpoint = false;
    bool again = false; ///< before its backward
};

struct List
{
    Policy policy = Policy::kData;
    std::vector<Layer> layers;
    uint32_t ranks = 0;
    uint32_t gpusPerServer = 1;
    uint64_t tensor = 1;    ///< ranks of a tensor group
    uint64_t stages = 1;    ///< stages of the pipeline
    uint64_t experts = 1;   ///< ranks that share experts
    std::size_t bottom = 0; ///< DLRM: the last layer of the bottom

    bool IsTransformer() const
    {
        return policy == Policy::kTransformer || policy == Policy::kTransformerAgain;
    }
};

/// Groups of a kind: a partition of the ranks, which the numbers of the list divide.
std::vector<std::vector<coll::Rank>> RanksOf(const List& list, Group group);

/// One role for all ranks.
training::TrainingPlan MakeStep(const List& list);

} // namespace formats::layers

#endif // SCENARIOS_FORMATS_LAYER_STEP_H
