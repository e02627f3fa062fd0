/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_LOCAL_SERVING_H
#define DLTRAIN_LOCAL_SERVING_H

#include "scenarios/inference/serving-record.h"
#include "scenarios/job/serving-scenario.h"

#include <functional>

namespace dltrain
{

/// Nothing of the run leaves a server: each instance is in one, and prompts and other tokens are
/// done by the same.
bool IsLocal(const scenario::ServingScenario& scenario);

/// Serves without a network. \param goOn called now and then with the share of
/// requests that are answered; false: the run ends
serving::ServingOutcome ServeLocally(const scenario::ServingScenario& scenario,
                                     const std::function<bool(double done)>& goOn);

} // namespace dltrain

#endif // DLTRAIN_LOCAL_SERVING_H
