/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlgoodput: its options. It has dltrain's for the model, the cluster and the network, those of
 * recovery, and its own for weeks of failures.
 */
#ifndef SCENARIOS_GOODPUT_OPTIONS_GOODPUT_OPTIONS_H
#define SCENARIOS_GOODPUT_OPTIONS_GOODPUT_OPTIONS_H

#include "scenarios/goodput/failure-causes.h"
#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace scenario
{

/// Weeks of a training job. Times are s.
struct GoodputScenario
{
    RunOptions run;
    Values values; ///< all as read
    /// dltrain's options as given but those of recovery, once for each number of GPUs.
    std::vector<ReadResult> jobs;
    std::array<double, goodput::CAUSES> mtbf{}; ///< of a part; goodput::NEVER: it does not fail
    double weibull = 1;
    double duration = 0;
    std::optional<double> interval;        ///< nothing: the optimum, or intervalSteps
    std::optional<uint32_t> intervalSteps; ///< --checkpoint-every
    std::optional<double> detection;       ///< nothing: by the cause
    double replace = 0;
    double repair = 0;
    std::optional<double> step; ///< nothing: simulated
    bool estimates = false;     ///< nothing simulated: the step by dlplan's estimate
    std::optional<double> write;
    std::optional<double> copy;
    std::optional<double> read;
    uint32_t spares = 0;
    uint32_t replications = 0;
};

/// A number of GPUs from which on the step is an estimate, unless asked for: assumed, as such a
/// simulation takes minutes.
constexpr uint32_t kMostSimulatedGpus = 1024;

const OptionTable& GoodputOptionTable();

/// A scenario, or errors.
struct GoodputResult
{
    GoodputScenario scenario;
    std::vector<Error> errors;
};

/// \param read by GoodputOptionTable
GoodputResult ValidateGoodput(const ReadResult& read);

/// A job with its options of recovery, as dltrain needs them to write checkpoints.
ReadResult WithRecovery(const GoodputScenario& scenario, const ReadResult& job);

} // namespace scenario

#endif // SCENARIOS_GOODPUT_OPTIONS_GOODPUT_OPTIONS_H
