/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Strong types for sizes, rates and times. As texts ("100Gbps"): unit-strings.h.
 *
 * Shapes and units: Bytes is an unsigned 64-bit count of octets; BitRate an unsigned 64-bit number
 * of bits per second (0 means "not set"); Duration and TimePoint are signed 64-bit picoseconds,
 * which leaves 106 days of range. Nothing here knows ns-3.
 *
 * Serialization is the exact rational bytes * 8 / rate rounded to the nearest picosecond (half up):
 * FDR (54.54 Gb/s) or 100 Tb/s are no whole number of picoseconds a byte.
 */
#ifndef RDMA_CORE_UNITS_H
#define RDMA_CORE_UNITS_H

#include <cmath>
#include <cstdint>

namespace rdma
{

/// Comparisons of a quantity Q by its Number().
template <class Q>
struct Ordered
{
    friend constexpr bool operator==(Q a, Q b)
    {
        return a.Number() == b.Number();
    }

    friend constexpr bool operator!=(Q a, Q b)
    {
        return a.Number() != b.Number();
    }

    friend constexpr bool operator<(Q a, Q b)
    {
        return a.Number() < b.Number();
    }

    friend constexpr bool operator<=(Q a, Q b)
    {
        return a.Number() <= b.Number();
    }

    friend constexpr bool operator>(Q a, Q b)
    {
        return a.Number() > b.Number();
    }

    friend constexpr bool operator>=(Q a, Q b)
    {
        return a.Number() >= b.Number();
    }
};

/// One that can be added up: an amount, as no moment and no rate is. \tparam N of its Number()
template <class Q, class N>
struct Amount : Ordered<Q>
{
    friend constexpr Q operator+(Q a, Q b)
    {
        return Q(a.Number() + b.Number());
    }

    friend constexpr Q operator-(Q a, Q b)
    {
        return Q(a.Number() - b.Number());
    }

    friend constexpr Q operator*(Q a, N k)
    {
        return Q(a.Number() * k);
    }

    friend constexpr Q& operator+=(Q& a, Q b)
    {
        return a = a + b;
    }

    friend constexpr Q& operator-=(Q& a, Q b)
    {
        return a = a - b;
    }
};

/// A count of octets.
struct Bytes : Amount<Bytes, uint64_t>
{
    uint64_t value = 0;

    constexpr Bytes() = default;

    constexpr explicit Bytes(uint64_t v)
        : value(v)
    {
    }

    constexpr uint64_t Number() const
    {
        return value;
    }
};

/// A rate in bits per second.
struct BitRate : Ordered<BitRate>
{
    uint64_t bps = 0;

    constexpr BitRate() = default;

    constexpr explicit BitRate(uint64_t v)
        : bps(v)
    {
    }

    constexpr uint64_t Number() const
    {
        return bps;
    }
};

constexpr BitRate
Gbps(uint64_t g)
{
    return BitRate(g * 1000000000ULL);
}

constexpr BitRate
Mbps(uint64_t m)
{
    return BitRate(m * 1000000ULL);
}

/// A length of time in picoseconds.
struct Duration : Amount<Duration, int64_t>
{
    int64_t ps = 0;

    constexpr Duration() = default;

    constexpr explicit Duration(int64_t v)
        : ps(v)
    {
    }

    constexpr int64_t Number() const
    {
        return ps;
    }

    constexpr double Us() const
    {
        return static_cast<double>(ps) * 1e-6;
    }

    constexpr double Seconds() const
    {
        return static_cast<double>(ps) * 1e-12;
    }
};

constexpr Duration
Picoseconds(int64_t v)
{
    return Duration(v);
}

constexpr Duration
Nanoseconds(int64_t v)
{
    return Duration(v * 1000);
}

constexpr Duration
Microseconds(int64_t v)
{
    return Duration(v * 1000000);
}

constexpr Duration
Milliseconds(int64_t v)
{
    return Duration(v * 1000000000);
}

/// From seconds given as a floating-point number, to the nearest picosecond.
inline Duration
FromSeconds(double s)
{
    return Duration(std::llround(s * 1e12));
}

/// A moment of simulated time in picoseconds since its start.
struct TimePoint : Ordered<TimePoint>
{
    int64_t ps = 0;

    constexpr TimePoint() = default;

    constexpr explicit TimePoint(int64_t v)
        : ps(v)
    {
    }

    constexpr int64_t Number() const
    {
        return ps;
    }
};

constexpr TimePoint
operator+(TimePoint a, Duration b)
{
    return TimePoint(a.ps + b.ps);
}

constexpr TimePoint
operator-(TimePoint a, Duration b)
{
    return TimePoint(a.ps - b.ps);
}

constexpr Duration
operator-(TimePoint a, TimePoint b)
{
    return Duration(a.ps - b.ps);
}

/// Time on the wire of `bytes` at `rate`: bytes * 8 / rate, rounded to the nearest picosecond (half
/// up). The rate must not be zero.
inline Duration
SerializationTime(Bytes bytes, BitRate rate)
{
    const unsigned __int128 bitsTimesPs =
        static_cast<unsigned __int128>(bytes.value) * 8 * 1000000000000ULL;
    return Duration(static_cast<int64_t>((bitsTimesPs + rate.bps / 2) / rate.bps));
}

/// The same where times are counted in multiples of `unit`: cut to the largest one below, so a
/// whole one loses one too. But a unit of 1 ps (or less) is the above, which rounds.
/// That is what becomes of a double of seconds that ns-3 cuts to its resolution on the way through
/// a binary fraction of 64 bits: 8e-9 is a little less than 8 ns (ns-3.17's Seconds(), in HPCC's
/// code; its published completion times show it).
inline Duration
SerializationTime(Bytes bytes, BitRate rate, Duration unit)
{
    if (unit.ps <= 1)
    {
        return SerializationTime(bytes, rate);
    }
    const unsigned __int128 bitsTimesPs =
        static_cast<unsigned __int128>(bytes.value) * 8 * 1000000000000ULL;
    const unsigned __int128 step =
        static_cast<unsigned __int128>(rate.bps) * static_cast<unsigned __int128>(unit.ps);
    return Duration(bitsTimesPs ? static_cast<int64_t>((bitsTimesPs - 1) / step) * unit.ps : 0);
}

} // namespace rdma

#endif // RDMA_CORE_UNITS_H
