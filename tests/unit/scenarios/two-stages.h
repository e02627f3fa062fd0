/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TESTS_UNIT_SCENARIOS_TWO_STAGES_H
#define TESTS_UNIT_SCENARIOS_TWO_STAGES_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/training/spec/layer-profile.h"
#include "scenarios/training/spec/plan-options.h"

namespace training
{

/// Two equal stages of a profile, whose passes take so many seconds, and m micro-batches.
inline TrainingOptions
TwoStageOptions(double forward, double backward, uint32_t m)
{
    TrainingOptions o;
    o.profile.emplace();
    o.profile->layers = {{"a", forward, backward, 4000, 0, 0}, {"b", forward, backward, 0, 0, 0}};
    o.profile->batch = 4;
    o.profile->optimizerSeconds = 0;
    o.model = ModelOfProfile(*o.profile, "two");
    o.model.parameters = 2; // of which none is added up among copies: there is one
    o.gpu = *FindGpu("A100");
    o.microBatch = 4;
    o.ranks = o.pipeline = 2;
    o.accumulation = m;
    return o;
}

} // namespace training

#endif // TESTS_UNIT_SCENARIOS_TWO_STAGES_H
