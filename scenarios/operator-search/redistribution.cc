/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/redistribution.h"

#include <algorithm>
#include <array>

namespace sharding
{

const char*
MoveName(Move move)
{
    constexpr std::array<const char*, 3> kNames = {"slice", "all-to-all", "all-gather"};
    return kNames[static_cast<std::size_t>(move)];
}

namespace
{

/// Splits a digit, wherever a layout has it, so that its minor part counts `minor`.
void
SplitDigit(Layout* layout, const Digit& digit, uint32_t minor)
{
    for (Digits& dimension : *layout)
    {
        const auto at = std::find(dimension.begin(), dimension.end(), digit);
        if (at != dimension.end())
        {
            *at = {digit.stride * minor, digit.size / minor};
            dimension.insert(at + 1, {digit.stride, minor});
            return;
        }
    }
}

/// A digit of one layout that a digit of the other has only a part of, and where to split it.
struct Cut
{
    Digit digit;
    uint32_t minor = 0; ///< 0: nothing to do; 1: it cannot be
};

/// Splits the digit so that `stride` begins one, if that is inside of it.
Cut
CutAtStride(const Digit& digit, uint32_t stride)
{
    if (stride <= digit.stride || stride >= digit.stride * digit.size)
    {
        return {};
    }
    const bool whole = stride % digit.stride == 0 && digit.size % (stride / digit.stride) == 0;
    return {digit, whole ? stride / digit.stride : 1};
}

/// The next digit of `of` that has to be split because of the other layout.
Cut
NextCut(const Layout& of, const Layout& other)
{
    for (std::size_t d = 0; d < of.size(); ++d)
    {
        for (const Digit& digit : of[d])
        {
            for (const Digits& dimension : other)
            {
                for (const Digit& o : dimension)
                {
                    for (const uint32_t stride : {o.stride, o.stride * o.size})
                    {
                        const Cut cut = CutAtStride(digit, stride);
                        if (cut.minor > 0)
                        {
                            return cut;
                        }
                    }
                }
            }
        }
        // Parts of a dimension, counted from its major digit.
        uint32_t parts = 1;
        for (const Digit& digit : of[d])
        {
            uint32_t others = 1;
            for (const Digit& o : other[d])
            {
                others *= o.size;
                if (others > parts && others < parts * digit.size)
                {
                    const bool whole = others % parts == 0 && digit.size % (others / parts) == 0;
                    return {digit, whole ? digit.size / (others / parts) : 1};
                }
            }
            parts *= digit.size;
        }
    }
    return {};
}

/// \return whether the digits of both are the same ones now
bool
Refine(Layout* a, Layout* b)
{
    for (;;)
    {
        Cut cut = NextCut(*a, *b);
        cut = cut.minor > 0 ? cut : NextCut(*b, *a);
        if (cut.minor == 0)
        {
            return true;
        }
        if (cut.minor == 1)
        {
            return false;
        }
        SplitDigit(a, cut.digit, cut.minor);
        SplitDigit(b, cut.digit, cut.minor);
    }
}

double
PartOf(const Layout& layout)
{
    double part = 1;
    for (const Digits& digits : layout)
    {
        part /= CountOf(digits);
    }
    return part;
}

std::vector<MoveStep>
ByWholeTensor(const Layout& from, const Layout& to)
{
    std::vector<MoveStep> steps;
    double part = PartOf(from);
    for (const Digits& dimension : from)
    {
        for (auto digit = dimension.rbegin(); digit != dimension.rend(); ++digit)
        {
            steps.push_back({Move::kGather, {*digit}, part});
            part *= digit->size;
        }
    }
    for (const Digits& dimension : to)
    {
        for (const Digit& digit : dimension)
        {
            steps.push_back({Move::kSplit, {digit}, part});
            part /= digit.size;
        }
    }
    return steps;
}

/// A place of a dimension that a digit may cut: its digit in both layouts; size 1: none.
struct PlaceOfDigit
{
    Digit now;
    Digit wanted;
    bool done = false;
};

bool
IsCut(const Digit& digit)
{
    return digit.size > 1;
}

} // namespace

std::vector<MoveStep>
StepsBetween(const Layout& from, const Layout& to)
{
    if (from == to)
    {
        return {};
    }
    Layout a = from;
    Layout b = to;
    if (!Refine(&a, &b))
    {
        return ByWholeTensor(from, to);
    }
    std::vector<PlaceOfDigit> places;
    for (std::size_t d = 0; d < a.size(); ++d)
    {
        for (std::size_t i = 0; i < std::max(a[d].size(), b[d].size()); ++i)
        {
            PlaceOfDigit place;
            place.now = i < a[d].size() ? a[d][i] : Digit{};
            place.wanted = i < b[d].size() ? b[d][i] : Digit{};
            places.push_back(place);
        }
    }
    std::vector<MoveStep> steps;
    double part = PartOf(a);
    const auto add = [&](Move move, const Digit& digit) {
        steps.push_back({move, {digit}, part});
        part *= move == Move::kGather ? digit.size : move == Move::kSplit ? 1.0 / digit.size : 1;
    };
    const auto holder = [&](const Digit& digit) {
        return std::find_if(places.begin(), places.end(), [&digit](const PlaceOfDigit& p) {
            return !p.done && p.now == digit;
        });
    };
    const auto wantedBySome = [&](const Digit& digit) {
        return std::any_of(places.begin(), places.end(), [&digit](const PlaceOfDigit& p) {
            return p.wanted == digit;
        });
    };
    const auto left = [&] {
        bool some = false;
        for (PlaceOfDigit& p : places)
        {
            // A digit that stands where it is wanted cuts nothing else.
            p.done = p.done || p.now == p.wanted || (!IsCut(p.now) && !IsCut(p.wanted));
            some = some || !p.done;
        }
        return some;
    };
    while (left())
    {
        const std::size_t before = steps.size();
        for (bool moved = true; std::exchange(moved, false);)
        {
            for (PlaceOfDigit& p : places)
            {
                if (!p.done && !IsCut(p.now) && IsCut(p.wanted) && holder(p.wanted) == places.end())
                {
                    add(Move::kSplit, p.wanted);
                    p.now = p.wanted;
                    p.done = moved = true;
                }
            }
        }
        for (bool moved = true; std::exchange(moved, false);)
        {
            for (PlaceOfDigit& p : places)
            {
                const auto held =
                    !p.done && !IsCut(p.now) && IsCut(p.wanted) ? holder(p.wanted) : places.end();
                if (held != places.end())
                {
                    add(Move::kExchange, p.wanted);
                    held->now = {};
                    held->done = !IsCut(held->wanted);
                    p.now = p.wanted;
                    p.done = moved = true;
                }
            }
        }
        for (bool moved = true; std::exchange(moved, false);)
        {
            for (PlaceOfDigit& p : places)
            {
                if (!p.done && IsCut(p.now) && !wantedBySome(p.now))
                {
                    add(Move::kGather, p.now);
                    p.now = {};
                    p.done = !IsCut(p.wanted);
                    moved = true;
                }
            }
        }
        if (steps.size() == before)
        {
            const auto first = std::find_if(places.begin(), places.end(), [](const auto& p) {
                return !p.done && IsCut(p.now);
            });
            add(Move::kGather, first->now);
            first->now = {};
        }
    }
    return steps;
}

std::vector<MoveStep>
MergedSteps(std::vector<MoveStep> steps)
{
    std::vector<MoveStep> merged;
    for (MoveStep& step : steps)
    {
        if (!merged.empty() && merged.back().move == step.move)
        {
            Digits& digits = merged.back().digits;
            digits.insert(digits.end(), step.digits.begin(), step.digits.end());
            digits = Joined(std::move(digits));
        }
        else
        {
            merged.push_back(std::move(step));
        }
    }
    return merged;
}

} // namespace sharding
