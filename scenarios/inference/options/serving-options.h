/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve: its options, and what they make together. The model, the GPU, the cluster and the
 * network have the options that dltrain has for them.
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_SERVING_OPTIONS_H
#define SCENARIOS_INFERENCE_OPTIONS_SERVING_OPTIONS_H

#include "scenarios/job/parse-result.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/options/options.h"

namespace scenario
{

/// The number of GPUs by default.
ClusterDefaults ServingClusterDefaults();

namespace when
{

When Tokens();   ///< the model reads or writes tokens
When NoTokens(); ///< it is a plain network
When Experts();
When ByRate(); ///< requests begin by a rate

} // namespace when

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_SERVING_OPTIONS_H
