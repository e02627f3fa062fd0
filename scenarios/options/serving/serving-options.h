/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve: its options, and what they make together. The model, the GPU, the cluster and the
 * network have the options that dltrain has for them.
 */
#ifndef SCENARIOS_OPTIONS_SERVING_SERVING_OPTIONS_H
#define SCENARIOS_OPTIONS_SERVING_SERVING_OPTIONS_H

#include "scenarios/options/cluster/cluster-options.h"
#include "scenarios/options/options.h"
#include "scenarios/options/parse-result.h"
#include "scenarios/run/serving-scenario.h"

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

#endif // SCENARIOS_OPTIONS_SERVING_SERVING_OPTIONS_H
