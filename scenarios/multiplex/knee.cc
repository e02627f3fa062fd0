/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/knee.h"

#include <algorithm>
#include <cmath>

namespace multiplex
{

namespace
{

constexpr double STEP = 5;

/// Whether the latency there is known.
bool
IsKnown(const ShareCurve& curve, uint32_t batch, double percent)
{
    return curve.WhyNot(batch, percent).empty();
}

/// From where on each 10% bring under 5% of `scale`. \param scale s; 0: of the latency there
double
SteadyFrom(const ShareCurve& curve, uint32_t batch, double scale)
{
    double found = kWholeGpu;
    for (double from = kWholeGpu - STEP; from >= STEP; from -= STEP)
    {
        const double to = std::min(from + 10, kWholeGpu);
        if (!IsKnown(curve, batch, from) || !IsKnown(curve, batch, to))
        {
            break;
        }
        const double before = curve.Seconds(batch, from);
        const double fall = before - curve.Seconds(batch, to);
        if (fall >= 0.05 * (scale > 0 ? scale : before) * (to - from) / 10)
        {
            break;
        }
        found = from;
    }
    return found;
}

} // namespace

double
KneeOf(const ShareCurve& curve, uint32_t batch)
{
    const double least = KnownShare(curve, batch, 10);
    const double scale = curve.Seconds(batch, least) * least / 10;
    return SteadyFrom(curve, batch, scale);
}

double
FlatFrom(const ShareCurve& curve, uint32_t batch)
{
    return SteadyFrom(curve, batch, 0);
}

double
KnownShare(const ShareCurve& curve, uint32_t batch, double percent)
{
    while (percent < kWholeGpu && !IsKnown(curve, batch, percent))
    {
        percent = std::min(percent + 0.5, kWholeGpu);
    }
    return percent;
}

uint32_t
LeastKnownBatch(const ShareCurve& curve, uint32_t most)
{
    for (uint32_t batch = 1; batch <= most; ++batch)
    {
        if (IsKnown(curve, batch, kWholeGpu))
        {
            return batch;
        }
    }
    return 0;
}

uint32_t
LargestInTime(const ShareCurve& curve, double percent, const Need& need)
{
    for (const double part : {0.5, 1.0})
    {
        for (uint32_t batch = need.mostBatch; batch >= 1; --batch)
        {
            if (IsKnown(curve, batch, percent) && curve.Seconds(batch, percent) <= part * need.slo)
            {
                return batch;
            }
        }
    }
    return std::max(1U, LeastKnownBatch(curve, need.mostBatch));
}

RightSizes::RightSizes(const ShareCurve& curve, const Need& need)
{
    const uint32_t least = need.batch > 0 ? need.batch : 1;
    const uint32_t most = need.batch > 0 ? need.batch : need.mostBatch;
    for (const double part : {0.5, 1.0})
    {
        for (uint32_t batch = least; batch <= most; ++batch)
        {
            const double largest = need.percent > 0 ? need.percent : FlatFrom(curve, batch);
            double percent = need.percent > 0 ? need.percent : kShareUnit;
            for (; percent <= largest; percent += kShareUnit)
            {
                if (!IsKnown(curve, batch, percent))
                {
                    continue;
                }
                const double seconds = curve.Seconds(batch, percent);
                if (seconds <= part * need.slo)
                {
                    m_all.push_back({batch, percent, seconds, false});
                }
            }
        }
        if (!m_all.empty())
        {
            return;
        }
    }
    // No share up to there meets the SLO: the whole GPU.
    const double percent = need.percent > 0 ? need.percent : kWholeGpu;
    const uint32_t batch = need.batch > 0 ? need.batch : LargestInTime(curve, percent, need);
    const double known = KnownShare(curve, batch, percent);
    m_all.push_back({batch, percent, curve.Seconds(batch, known) * known / percent, false});
}

RightSize
RightSizes::For(double rate) const
{
    RightSize frugal; // keeps up
    double frugalValue = -1;
    RightSize fast; // does not
    double fastValue = -1;
    for (const RightSize& one : m_all)
    {
        const double throughput = one.batch / one.seconds;
        const double value = throughput / one.percent;
        if (throughput >= rate && value > frugalValue)
        {
            frugal = one;
            frugalValue = value;
        }
        if (throughput > fastValue)
        {
            fast = one;
            fastValue = throughput;
        }
    }
    frugal.keepsUp = true;
    return frugalValue > 0 ? frugal : fast;
}

double
LeastWork(const ShareCurve& curve, uint32_t batch)
{
    double least = INFINITY;
    for (double percent = kShareUnit; percent <= kWholeGpu; percent += kShareUnit)
    {
        if (IsKnown(curve, batch, percent))
        {
            least = std::min(least, curve.Seconds(batch, percent) * percent / kWholeGpu);
        }
    }
    return least;
}

} // namespace multiplex
