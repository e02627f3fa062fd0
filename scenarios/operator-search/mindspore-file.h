/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Strategies as MindSpore keeps them: the JSON of its strategy checkpoints
 * (set_auto_parallel_context(strategy_ckpt_config={"save_file": "strategy.json"}); to_json() and
 * from_json() of mindspore/ccsrc/frontend/parallel/strategy_checkpoint/strategy_checkpoint_info.cc
 * of mindspore-ai/mindspore), and lines of a script.
 *
 *   {"current_stage": 0,
 *    "parallel_strategy_item": {"dense": {"stage": 0, "parallel_strategy": [[2, 1], [1, 4]]}},
 *    "parallel_layout_item": {"w": {"dev_matrix": [2, 1, 4], "tensor_map": [-1, 0],
 *                                   "tensor_shape": [2048, 8192], "field": 0, ...}}}
 *
 * Entry i of a tensor map is the dimension of the device matrix that cuts dimension i, counted from
 * the matrix' end; -1: none.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_MINDSPORE_FILE_H
#define SCENARIOS_OPERATOR_SEARCH_MINDSPORE_FILE_H

#include "scenarios/operator-search/sharding-search.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sharding
{

nlohmann::ordered_json MindSporeJson(const Sharding& sharding);

/// "dense.shard(((2, 1), (1, 4)))", a line for each operator.
std::string MindSporeLines(const Sharding& sharding);

/// All strategies, as --shard takes them.
std::string ShardText(const Sharding& sharding);

/// Names and cuts of such a file, of sharding.json or of
/// {"dense": [[2, 1], [1, 4]]}; or why there are none.
std::optional<std::vector<std::pair<std::string, Cuts>>> ShardsOfJson(const nlohmann::json& json,
                                                                      std::string* why);

/// The device matrix of a sharding.json; empty: none.
std::vector<uint32_t> MatrixOfJson(const nlohmann::json& json);

/// The strategy whose digits a sharding.json names: of a matrix (2,2,2), 4 parts may lie along any
/// two dimensions. Nothing: it names none that there is with these parts.
std::optional<Strategy> StrategyOfJson(const nlohmann::json& json,
                                       const Operator& op,
                                       const Strategy& parts,
                                       const Devices& devices);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_MINDSPORE_FILE_H
