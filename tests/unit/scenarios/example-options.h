/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Training jobs for the tests of plans.
 */
#ifndef TESTS_UNIT_SCENARIOS_EXAMPLE_OPTIONS_H
#define TESTS_UNIT_SCENARIOS_EXAMPLE_OPTIONS_H

#include "scenarios/training/rank-layers.h"
#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/zero-partition.h"

#include <string>

/// At the model's own sequence, on A100s; the rest by default.
inline training::TrainingOptions
OptionsOf(const std::string& model,
          uint32_t ranks,
          uint32_t zero,
          uint32_t accumulation = 1,
          training::ZeroImpl impl = training::ZeroImpl::kPaper)
{
    training::TrainingOptions o;
    o.model = *training::FindModel(model);
    o.gpu = *training::FindGpu("A100");
    o.ranks = ranks;
    o.sharding = training::ZeroStage(zero);
    o.accumulation = accumulation;
    o.zeroImpl = impl;
    o.sequence = o.model.sequence;
    return o;
}

/// psi of the whole model as the collectives of its ranks carry it, experts apart from the rest.
inline uint64_t
PaddedModel(const training::TrainingOptions& o)
{
    const auto layers = training::LayersOfModel(o);
    return training::PaddedParameters(o, layers, o.ranks) +
           training::PaddedParameters(o, training::ExpertsOf(layers), o.ExpertReplicas());
}

#endif // TESTS_UNIT_SCENARIOS_EXAMPLE_OPTIONS_H
