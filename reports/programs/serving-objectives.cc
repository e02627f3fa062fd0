/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Whether requests meet their objectives.
 */
#include "reports/programs/serving-statistics.h"

namespace reports
{

using serving::RequestRecord;

namespace
{

/// Of a time that is known only to be at least `least` while `open`.
SloVerdict
AtMost(int64_t objective, int64_t least, bool open)
{
    return least > objective ? SloVerdict::kNo : open ? SloVerdict::kUnknown : SloVerdict::kYes;
}

int64_t
InPs(double seconds)
{
    return static_cast<int64_t>(seconds * 1e12 + 0.5);
}

} // namespace

void
SloCount::Add(SloVerdict one)
{
    met += one == SloVerdict::kYes;
    missed += one == SloVerdict::kNo;
}

std::optional<double>
SloCount::Share() const
{
    return met + missed
               ? std::optional(static_cast<double>(met) / static_cast<double>(met + missed))
               : std::nullopt;
}

SloVerdict
MetObjectives::All() const
{
    for (const SloVerdict worst : {SloVerdict::kNo, SloVerdict::kUnknown})
    {
        if (ttft == worst || tpot == worst || e2e == worst)
        {
            return worst;
        }
    }
    return SloVerdict::kYes;
}

MetObjectives
MetBy(const RequestRecord& r, const serving::SloSpec& slo, int64_t end)
{
    MetObjectives met;
    if (slo.ttft > 0)
    {
        const bool open = r.firstToken < 0;
        met.ttft = AtMost(InPs(slo.ttft), (open ? end : r.firstToken) - r.arrival, open);
    }
    if (slo.tpot > 0 && r.output > 1)
    {
        const bool open = !r.Answered();
        met.tpot = r.firstToken < 0 ? SloVerdict::kUnknown
                                    : AtMost(InPs(slo.tpot * (r.output - 1)),
                                             (open ? end : r.lastToken) - r.firstToken,
                                             open);
    }
    if (slo.e2e > 0)
    {
        const bool open = !r.Answered();
        met.e2e = AtMost(InPs(slo.e2e), (open ? end : r.lastToken) - r.arrival, open);
    }
    return met;
}

} // namespace reports
