/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Strategies of operators: which there are, and how they are written. As MindSpore's shard(): for
 * each input, into how many parts each dimension is cut: ((2,1),(1,4)).
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_STRATEGY_H
#define SCENARIOS_OPERATOR_SEARCH_STRATEGY_H

#include "scenarios/operator-search/layout.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sharding
{

/// For each input its dimensions' parts.
using Cuts = std::vector<std::vector<uint64_t>>;

/// Devices as cuts may use them.
struct Devices
{
    uint32_t count = 1;
    /// A matrix that all operators share: an axis is cut along whole dimensions of it. Its product
    /// is `count`. Empty: each operator has a matrix of its own.
    std::vector<uint32_t> matrix;
    /// No operator leaves devices out whose cuts could use more of them (MindSpore's
    /// fully_use_devices).
    bool all = false;
};

/// Axes cut into so many parts, with a device matrix of their own: digits one after another, the
/// last axis' inmost but for the devices that repeat the work.
Strategy WithParts(const std::vector<uint32_t>& parts, uint32_t devices);

/// All strategies of an operator, by the parts of its first input's dimensions, then the second's,
/// ascending.
std::vector<Strategy> StrategiesOf(const Operator& op, const Devices& devices);

Cuts CutsOf(const Operator& op, const Strategy& strategy);

/// "2,4".
std::string MatrixText(const std::vector<uint32_t>& matrix);

/// "((2,1),(1,4))".
std::string CutsText(const Cuts& cuts);
std::string StrategyText(const Operator& op, const Strategy& strategy);

/// The strategy with these cuts, or why there is none.
std::optional<Strategy> StrategyWith(const Operator& op,
                                     const Cuts& cuts,
                                     const Devices& devices,
                                     std::string* why);

/// Reads names and cuts from "dense=((2,1),(1,4));relu=((2,4))", or tells why the text is none.
std::optional<std::vector<std::pair<std::string, Cuts>>> ParseShards(const std::string& text,
                                                                     std::string* why);

/// The first dimension of the first input, cut into as many parts as there are devices, or the
/// most that go: data parallelism, as semi-automatic mode has it where nothing is given.
Strategy DataParallel(const Operator& op, const Devices& devices);

/// Strategies by operator's index, given by a user.
using Given = std::map<uint32_t, Strategy>;

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_STRATEGY_H
