/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How a tensor gets from one layout to another, as MindSpore infers it
 * (redistribution_operator_infer.cc of mindspore-ai/mindspore): while layouts differ, take the
 * first of these that moves anything:
 *
 *   split     a dimension that is whole gets a device digit that cuts no other: a slice, no message
 *   exchange  it gets a digit that cuts another dimension: an all-to-all
 *   gather    a digit is not wanted any more: an all-gather
 *
 * and if nothing moves, gather the first that is cut. Digits of the two layouts are split first
 * until they are the same ones. Where that cannot be (parts of 2 x 3 and of 3 x 2), the tensor is
 * gathered whole and split anew.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_REDISTRIBUTION_H
#define SCENARIOS_OPERATOR_SEARCH_REDISTRIBUTION_H

#include "scenarios/operator-search/layout.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sharding
{

enum class Move : uint8_t
{
    kSplit,
    kExchange,
    kGather,
};

/// "slice", "all-to-all", "all-gather".
const char* MoveName(Move move);

struct MoveStep
{
    Move move = Move::kSplit;
    Digits digits;     ///< of the devices that take part; one digit, or several of equal steps
    double before = 1; ///< part of the whole tensor that a device has before it
};

/// Steps one digit after another, in MindSpore's order.
std::vector<MoveStep> StepsBetween(const Layout& from, const Layout& to);

/// The same with equal steps in a row as one: a gather over two digits is one collective.
std::vector<MoveStep> MergedSteps(std::vector<MoveStep> steps);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_REDISTRIBUTION_H
