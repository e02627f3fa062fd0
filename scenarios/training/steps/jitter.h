/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How much longer or shorter than usual a GPU computes in a step: normally distributed about 1, a
 * draw for each GPU and step, so that kernels of one step are slow or fast together (clocks,
 * temperature, what else runs on the server). A step that waits for all of n GPUs then takes the
 * largest of n draws: below 1 + sigma sqrt(2 ln n). And what a GPU is slower or faster than others
 * of its kind all the time (voltage, frequency, cooling).
 */
#ifndef SCENARIOS_TRAINING_STEPS_JITTER_H
#define SCENARIOS_TRAINING_STEPS_JITTER_H

#include "collectives/core/schedule.h"

#include <cstdint>

namespace training
{

struct Jitter
{
    double sigma = 0; ///< standard deviation; 0: none
    uint64_t seed = 1;
    uint32_t period = UINT32_MAX; ///< step numbers so far apart have the same draws
};

/// The factor on a GPU's computing times in a step: at least 0. The same for every caller, in any
/// order, on every machine.
double JitterOf(const Jitter& jitter, coll::Rank rank, uint32_t step);

/// The factor on all computing of a GPU, in all steps: normally distributed over GPUs about 1, at
/// least 0. No draw of JitterOf with this seed.
/// \param sigma standard deviation; 0: 1 for all
double SpreadOf(double sigma, uint64_t seed, coll::Rank rank);

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_JITTER_H
