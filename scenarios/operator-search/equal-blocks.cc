/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/equal-blocks.h"

#include <algorithm>

namespace sharding
{

using training::LayerSpec;
using training::ModelSpec;

namespace
{

bool
SameOperator(const training::Operator& a, const training::Operator& b)
{
    return a.kind == b.kind && a.role == b.role && a.columns == b.columns && a.inner == b.inner &&
           a.heads == b.heads && a.window == b.window && a.chunked == b.chunked &&
           a.takes == b.takes && a.rows.At(1, 64) == b.rows.At(1, 64) &&
           a.elements.At(1, 64) == b.elements.At(1, 64);
}

/// Whether two layers compute the same from the same shapes.
bool
AreAlike(const LayerSpec& a, const LayerSpec& b)
{
    if (!a.repeated || !b.repeated || a.parts.size() != b.parts.size() ||
        a.Parameters() != b.Parameters() || a.tiedTo != b.tiedTo)
    {
        return false;
    }
    for (std::size_t p = 0; p < a.parts.size(); ++p)
    {
        const auto& x = a.parts[p].operators;
        const auto& y = b.parts[p].operators;
        if (!std::equal(x.begin(), x.end(), y.begin(), y.end(), SameOperator))
        {
            return false;
        }
    }
    return true;
}

/// Windows of attention may alternate from block to block: periods up to this are looked for
/// (assumed; Gemma 3 has 6).
constexpr std::size_t kLongestPeriod = 8;

} // namespace

Row
RowFrom(const ModelSpec& model, std::size_t begin)
{
    Row best;
    for (std::size_t period = 1; period <= kLongestPeriod; ++period)
    {
        std::size_t end = begin + period;
        while (end < model.layers.size() && AreAlike(model.layers[end - period], model.layers[end]))
        {
            ++end;
        }
        const auto times = static_cast<uint32_t>(std::min(end, model.layers.size()) - begin) /
                           static_cast<uint32_t>(period);
        if (times > 1 && times * period > best.times * best.period)
        {
            best = {period, times};
        }
    }
    return best;
}

} // namespace sharding
