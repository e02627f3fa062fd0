/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A result in words, as JSON, and as a picture.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SHARDING_REPORT_H
#define SCENARIOS_OPERATOR_SEARCH_SHARDING_REPORT_H

#include "scenarios/operator-search/sharding-search.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sharding
{

/// Operators, their strategies, what they exchange, and what that costs; redistributions; totals.
std::string TableText(const Sharding& sharding);

/// The search in words: graph, strategies, costs of edges, order.
std::string ExplainText(const Sharding& sharding);

/// sharding.json: strategies, layouts, collectives, groups.
nlohmann::ordered_json ShardingJson(const Sharding& sharding);

/// The graph with its cuts as SVG.
std::string ShardingSvg(const Sharding& sharding);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SHARDING_REPORT_H
