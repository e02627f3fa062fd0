/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From a model's layers to operators with axes. Equal blocks in a row become one, which stands for
 * all and is followed by itself.
 *
 *   embedding -> [ norm -> qkv -> attention -> projection -> add -> norm -> up -> ... -> add ] x 96
 *                  ^________________________________________________________________|
 *             -> norm -> head -> loss
 *
 * Activations are [samples, tokens, features], of pictures [samples, channels, places]. Tokens and
 * places are not cut. Small parameters (biases, scales of norms, positions) are on every device.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_GRAPH_OF_MODEL_H
#define SCENARIOS_OPERATOR_SEARCH_GRAPH_OF_MODEL_H

#include "scenarios/operator-search/graph.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sharding
{

/// \param samples of one pass \param elementBytes of activations and parameters
/// \return nothing, with the reason, of a model whose operators' inputs are not known (experts,
/// cross attention, recurrences, plain lists of layers)
std::optional<Graph> GraphOfModel(const training::ModelSpec& model,
                                  uint64_t samples,
                                  uint32_t sequence,
                                  uint32_t elementBytes,
                                  std::string* why);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_GRAPH_OF_MODEL_H
