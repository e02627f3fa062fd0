/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What weeks of a job are made of: the times of one step, one checkpoint and one restart.
 */
#ifndef DLTRAIN_GOODPUT_MEASUREMENT_H
#define DLTRAIN_GOODPUT_MEASUREMENT_H

#include "reports/programs/goodput-results.h"
#include "scenarios/goodput/options/goodput-options.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/training/spec/plan-options.h"

#include <functional>
#include <string>

namespace dltrain
{

/// A job of GoodputScenario::jobs, read and checked.
struct GoodputJob
{
    const scenario::ReadResult& read;
    const scenario::TrainingScenario& cluster;
    const training::TrainingOptions& options;
    const scenario::RecoverySpec& costs;
    std::string folder; ///< for runs; empty: nothing may be simulated
};

/// Runs dltrain where the scenario gives no time.
/// \param goesOn false: runs are ended \param tell gets a line for each run
reports::GoodputTimes MeasureGoodput(const scenario::GoodputScenario& scenario,
                                     const GoodputJob& job,
                                     const std::function<bool()>& goesOn,
                                     const std::function<void(const std::string&)>& tell);

} // namespace dltrain

#endif // DLTRAIN_GOODPUT_MEASUREMENT_H
