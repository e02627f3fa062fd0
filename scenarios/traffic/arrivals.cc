/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/arrivals.h"

#include "contrib/rdma/core/set-up-phase.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace scenario
{

namespace
{

/// Times are kept in 1/1024 ps: gaps of 100 ns would be off by 10^-5 in whole picoseconds.
constexpr uint64_t kTick = 1024;

/// Mean gap in ticks between events of so many bytes (times 1024) at a load (of 10^9) of a rate. At
/// least 1; saturates.
uint64_t
MeanGap(Wide bytes1024, uint64_t rateBps, uint64_t load)
{
    constexpr uint64_t kLongest = UINT64_MAX / 4;
    if (bytes1024 >> 50 != 0) // the product below has more than 128 bits; a quotient of doubles is
                              // the same everywhere too
    {
        const double gap = static_cast<double>(bytes1024) * 8e21 /
                           (static_cast<double>(rateBps) * static_cast<double>(load));
        return gap > static_cast<double>(kLongest)
                   ? kLongest
                   : std::max<uint64_t>(1, static_cast<uint64_t>(gap));
    }
    const Wide gap =
        bytes1024 * 8000000000000ULL * 1000000000ULL / (static_cast<Wide>(rateBps) * load);
    return gap > kLongest ? kLongest : std::max<uint64_t>(1, static_cast<uint64_t>(gap));
}

uint64_t
TotalRate(const ArrivalOptions& o)
{
    return std::accumulate(o.hostRates.begin(), o.hostRates.end(), uint64_t{0});
}

uint64_t
IncastGap(const ArrivalOptions& o)
{
    return MeanGap(static_cast<Wide>(o.incastBytesPerFlow1024) * o.incastFanIn,
                   TotalRate(o),
                   o.incastLoad);
}

/// a + b, at most 2^63: later than all that is simulated.
uint64_t
Later(uint64_t a, uint64_t b)
{
    return std::min<uint64_t>(1ULL << 63, a + std::min<uint64_t>(b, 1ULL << 62));
}

/// Turns time in which a source is on into time.
class OnOff
{
  public:
    /// Times from `end` on need not be exact.
    OnOff(const ArrivalOptions& o, uint64_t end, Random* random)
        : m_kind(o.periods),
          m_on(static_cast<uint64_t>(o.meanOn.ps) * kTick),
          m_off(static_cast<uint64_t>(o.meanOff.ps) * kTick),
          m_end(end),
          m_random(random)
    {
        if (m_on == 0)
        {
            m_left = UINT64_MAX;
            return;
        }
        // It begins on with the share of time in which it is. A period of constant length is under
        // way; the others have no memory, or (Pareto) would have an infinite mean rest, and begin
        // anew.
        const bool on = m_random->Below(m_on + m_off) < m_on;
        const auto rest = [this](uint64_t mean) {
            return m_kind == PeriodKind::kConstant && mean ? m_random->Below(mean) + 1
                                                           : Period(mean);
        };
        if (!on)
        {
            m_shift = rest(m_off);
        }
        m_left = on ? rest(m_on) : Period(m_on);
    }

    /// When a source has been on for `gap` longer than at the last call.
    uint64_t After(uint64_t gap)
    {
        m_active = Later(m_active, gap);
        if (m_on == 0 || Later(m_active, m_shift) >= m_end)
        {
            return Later(m_active, m_shift);
        }
        while (gap > m_left && m_shift < m_end)
        {
            gap -= m_left;
            m_shift = Later(m_shift, Period(m_off));
            m_left = Period(m_on);
        }
        m_left -= std::min(gap, m_left);
        return Later(m_active, m_shift);
    }

  private:
    uint64_t Period(uint64_t mean)
    {
        const uint64_t p = m_kind == PeriodKind::kConstant      ? mean
                           : m_kind == PeriodKind::kExponential ? m_random->Exponential(mean)
                                                                : m_random->Pareto(mean);
        return mean ? std::max<uint64_t>(1, p) : 0;
    }

    PeriodKind m_kind;
    uint64_t m_on;
    uint64_t m_off;
    uint64_t m_end;
    Random* m_random;
    uint64_t m_active = 0; ///< time on so far
    uint64_t m_shift = 0;  ///< time off so far
    uint64_t m_left = 0;   ///< rest of this on period
};

void
AddIncasts(const ArrivalOptions& o, std::vector<Arrival>* arrivals)
{
    Random random(o.seed, kIncastStream);
    const uint64_t gap = IncastGap(o);
    const uint64_t end = static_cast<uint64_t>(o.until.ps) * kTick;
    const uint32_t hosts = static_cast<uint32_t>(o.hostRates.size());
    std::vector<uint32_t> order(hosts);
    std::iota(order.begin(), order.end(), 0);
    for (uint64_t t = o.incastPeriodic ? gap / 2 : random.Exponential(gap); t < end;
         t = Later(t, o.incastPeriodic ? gap : random.Exponential(gap)))
    {
        // The first host of a shuffle receives, the next ones send.
        for (uint32_t i = 0; i <= o.incastFanIn; ++i)
        {
            std::swap(order[i], order[i + random.Below(hosts - i)]);
        }
        for (uint32_t i = 1; i <= o.incastFanIn; ++i)
        {
            arrivals->push_back({rdma::TimePoint(static_cast<int64_t>(t / kTick)),
                                 o.incastBytes,
                                 order[i],
                                 order[0],
                                 true});
        }
    }
}

} // namespace

double
ExpectedArrivals(const ArrivalOptions& o)
{
    const double ticks = static_cast<double>(o.until.ps) * kTick;
    double flows = 0;
    for (const uint64_t rate : o.hostRates)
    {
        flows +=
            o.load ? ticks / static_cast<double>(MeanGap(o.bytesPerFlow1024, rate, o.load)) : 0;
    }
    return flows + (o.incastLoad ? ticks / static_cast<double>(IncastGap(o)) * o.incastFanIn : 0);
}

double
ExpectedPeriods(const ArrivalOptions& o)
{
    const double both = static_cast<double>(o.meanOn.ps) + static_cast<double>(o.meanOff.ps);
    return o.meanOn.ps > 0 && o.load
               ? static_cast<double>(o.until.ps) / both * static_cast<double>(o.hostRates.size())
               : 0;
}

std::vector<Arrival>
MakeArrivals(const ArrivalOptions& o)
{
    std::vector<Arrival> arrivals;
    const uint32_t hosts = static_cast<uint32_t>(o.hostRates.size());
    const uint64_t end = static_cast<uint64_t>(o.until.ps) * kTick;
    const rdma::SetUpPhase phase("making flows", hosts);
    for (uint32_t h = 0; o.load && h < hosts; ++h)
    {
        phase.Done(h);
        Random random(o.seed, kHostStream + h);
        uint64_t gap = MeanGap(o.bytesPerFlow1024, o.hostRates[h], o.load);
        if (o.meanOn.ps > 0)
        {
            const Wide on = static_cast<Wide>(gap) * static_cast<uint64_t>(o.meanOn.ps);
            gap = std::max<uint64_t>(
                1,
                static_cast<uint64_t>(on / static_cast<uint64_t>(o.meanOn.ps + o.meanOff.ps)));
        }
        OnOff clock(o, end, &random);
        for (uint64_t t = clock.After(random.Exponential(gap)); t < end;
             t = clock.After(random.Exponential(gap)))
        {
            const uint32_t other = static_cast<uint32_t>(random.Below(hosts - 1));
            arrivals.push_back({rdma::TimePoint(static_cast<int64_t>(t / kTick)),
                                o.sizes->Draw(&random),
                                h,
                                other + (other >= h),
                                false});
        }
    }
    if (o.incastLoad)
    {
        AddIncasts(o, &arrivals);
    }
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
        return std::tie(a.start.ps, a.src) < std::tie(b.start.ps, b.src);
    });
    return arrivals;
}

} // namespace scenario
