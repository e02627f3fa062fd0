/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/layout.h"

#include <algorithm>

namespace sharding
{

uint32_t
CountOf(const Digits& digits)
{
    uint32_t count = 1;
    for (const Digit& digit : digits)
    {
        count *= digit.size;
    }
    return count;
}

Digits
Joined(Digits digits)
{
    std::sort(digits.begin(), digits.end());
    Digits joined;
    for (const Digit& digit : digits)
    {
        if (!joined.empty() && joined.back().stride * joined.back().size == digit.stride)
        {
            joined.back().size *= digit.size;
        }
        else
        {
            joined.push_back(digit);
        }
    }
    return joined;
}

Digits
Others(const Digits& digits, uint32_t ranks)
{
    Digits others;
    uint32_t next = 1; // strides below are done
    for (const Digit& digit : Joined(digits))
    {
        if (digit.stride > next)
        {
            others.push_back({next, digit.stride / next});
        }
        next = digit.stride * digit.size;
    }
    if (ranks > next)
    {
        others.push_back({next, ranks / next});
    }
    return Joined(std::move(others));
}

std::vector<std::vector<coll::Rank>>
GroupsAlong(const Digits& digits, uint32_t ranks)
{
    std::vector<uint32_t> offsets{0};
    for (const Digit& digit : Joined(digits))
    {
        const std::size_t before = offsets.size();
        for (uint32_t i = 1; i < digit.size; ++i)
        {
            for (std::size_t k = 0; k < before; ++k)
            {
                offsets.push_back(offsets[k] + i * digit.stride);
            }
        }
    }
    std::sort(offsets.begin(), offsets.end());
    std::vector<std::vector<coll::Rank>> groups;
    for (coll::Rank rank = 0; rank < ranks; ++rank)
    {
        const bool first = std::all_of(digits.begin(), digits.end(), [rank](const Digit& digit) {
            return rank / digit.stride % digit.size == 0;
        });
        if (first)
        {
            auto& group = groups.emplace_back();
            for (const uint32_t offset : offsets)
            {
                group.push_back(rank + offset);
            }
        }
    }
    return groups;
}

std::string
DigitsName(const Digits& digits)
{
    std::string name;
    for (const Digit& digit : digits)
    {
        name += (name.empty() ? "" : "+") + std::to_string(digit.size) +
                (digit.stride > 1 ? "x" + std::to_string(digit.stride) : "");
    }
    return name.empty() ? "1" : name;
}

std::vector<uint32_t>
Strategy::AllParts() const
{
    std::vector<uint32_t> parts;
    for (const Digits& axis : digits)
    {
        parts.push_back(CountOf(axis));
    }
    return parts;
}

namespace
{

/// Digits of the axes that are in no dimension of an operand.
Digits
DigitsBeside(const Operator& op, const Strategy& strategy, const Operand& operand)
{
    Digits beside;
    for (uint32_t a = 0; a < op.axes.size(); ++a)
    {
        const bool inside =
            std::find(operand.axes.begin(), operand.axes.end(), static_cast<int32_t>(a)) !=
            operand.axes.end();
        if (!inside)
        {
            beside.insert(beside.end(), strategy.digits[a].begin(), strategy.digits[a].end());
        }
    }
    return beside;
}

} // namespace

Digits
SummedDigits(const Operator& op, const Strategy& strategy)
{
    Digits summed;
    for (uint32_t a = 0; a < op.axes.size(); ++a)
    {
        if (op.axes[a].summed)
        {
            summed.insert(summed.end(), strategy.digits[a].begin(), strategy.digits[a].end());
        }
    }
    return Joined(std::move(summed));
}

Digits
GradientDigits(const Operator& op, const Strategy& strategy, uint32_t input)
{
    return Joined(DigitsBeside(op, strategy, op.inputs[input]));
}

Digits
CopyDigits(const Layout& layout, uint32_t ranks)
{
    Digits own;
    for (const Digits& digits : layout)
    {
        own.insert(own.end(), digits.begin(), digits.end());
    }
    return Others(own, ranks);
}

Layout
LayoutOf(const Operand& operand, const Strategy& strategy)
{
    Layout layout;
    for (const int32_t axis : operand.axes)
    {
        layout.push_back(axis == kNone ? Digits{} : strategy.digits[static_cast<uint32_t>(axis)]);
    }
    return layout;
}

double
SliceOf(const TensorInfo& tensor, const Layout& layout)
{
    double elements = tensor.Elements();
    for (const Digits& digits : layout)
    {
        elements /= CountOf(digits);
    }
    return elements;
}

std::string
PartsText(const Layout& layout)
{
    std::string text;
    for (const Digits& digits : layout)
    {
        text += (text.empty() ? "" : ",") + std::to_string(CountOf(digits));
    }
    return "(" + text + ")";
}

} // namespace sharding
