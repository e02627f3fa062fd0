/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which part of a tensor each device has.
 *
 * Devices are a matrix: rank r has a digit along each of its dimensions. A cut axis takes one
 * dimension or several, and its part has their digits' number. MindSpore's device matrix and tensor
 * map say the same (mindspore/ccsrc/frontend/parallel/tensor_layout of mindspore-ai/mindspore).
 *
 *   ((2,1),(1,4)) of a product on 8:   matrix 2 x 1 x 4 (rows, inner, columns)
 *
 *     rank          0 1 2 3 4 5 6 7
 *     part of rows  0 0 0 0 1 1 1 1     digit {stride 4, size 2}
 *     of columns    0 1 2 3 0 1 2 3     digit {stride 1, size 4}
 *
 * Devices that the cuts leave repeat the work; their dimension is the last, as MindSpore has it.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_LAYOUT_H
#define SCENARIOS_OPERATOR_SEARCH_LAYOUT_H

#include "collectives/core/schedule.h"
#include "scenarios/operator-search/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sharding
{

/// (rank / stride) % size.
struct Digit
{
    uint32_t stride = 1;
    uint32_t size = 1;

    bool operator==(const Digit& o) const
    {
        return stride == o.stride && size == o.size;
    }

    bool operator<(const Digit& o) const
    {
        return stride != o.stride ? stride < o.stride : size < o.size;
    }
};

/// Major first. None has size 1.
using Digits = std::vector<Digit>;

/// Devices that the digits number.
uint32_t CountOf(const Digits& digits);

/// The same set of digits, ascending by stride, neighbours joined: groups of ranks that differ in
/// these digits only have one form.
Digits Joined(Digits digits);

/// Digits of `ranks` devices that are in none of the given ones, joined.
Digits Others(const Digits& digits, uint32_t ranks);

/// The groups of ranks that differ in these digits only, each ascending.
std::vector<std::vector<coll::Rank>> GroupsAlong(const Digits& digits, uint32_t ranks);

/// "4", "2x4": size and, unless it is 1, the stride of each digit.
std::string DigitsName(const Digits& digits);

/// How an operator is cut: for each axis its digits.
struct Strategy
{
    std::vector<Digits> digits;

    uint32_t Parts(uint32_t axis) const
    {
        return CountOf(digits[axis]);
    }

    /// Parts of an operand's dimension.
    uint32_t Parts(const Operand& operand, std::size_t dimension) const
    {
        const int32_t axis = operand.axes[dimension];
        return axis == kNone ? 1 : Parts(static_cast<uint32_t>(axis));
    }

    std::vector<uint32_t> AllParts() const;

    bool operator==(const Strategy& o) const
    {
        return digits == o.digits;
    }
};

/// All digits of the summed axes: the devices whose partial sums make the output. Joined.
Digits SummedDigits(const Operator& op, const Strategy& strategy);

/// Digits of the axes that are cut, and in no dimension of an input: the devices whose partial
/// sums make its gradient. Joined.
Digits GradientDigits(const Operator& op, const Strategy& strategy, uint32_t input);

/// For each dimension of a tensor its digits.
using Layout = std::vector<Digits>;

Layout LayoutOf(const Operand& operand, const Strategy& strategy);

/// All devices that hold the same part of a tensor.
Digits CopyDigits(const Layout& layout, uint32_t ranks);

/// Elements of a tensor that a device has.
double SliceOf(const TensorInfo& tensor, const Layout& layout);

/// "(2,4)": parts of each dimension.
std::string PartsText(const Layout& layout);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_LAYOUT_H
