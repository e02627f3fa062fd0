/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Logarithm and exponential whose last bits are the same on every machine, unlike those of the C
 * library: sums and products alone, which IEEE 754 rounds exactly. Right to some 1e-15 of the
 * value.
 */
#ifndef SCENARIOS_TRAFFIC_PORTABLE_MATH_H
#define SCENARIOS_TRAFFIC_PORTABLE_MATH_H

#include <cmath>

namespace scenario
{

constexpr double kLn2 = 0.693147180559945309417;

/// \pre x is above 0
inline double
PortableLog(double x)
{
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752)
    {
        m *= 2;
        --exponent;
    }
    // log m = 2 artanh t, |t| at most 0.172: the first term left out is below 1e-18.
    const double t = (m - 1) / (m + 1);
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2)
    {
        sum = sum * t * t + 2.0 / k;
    }
    return sum * t + exponent * kLn2;
}

/// \pre |x| is below 700
inline double
PortableExp(double x)
{
    const double k = std::floor(x / kLn2 + 0.5);
    const double r = x - k * kLn2; // at most 0.35: 0.35^18 / 18! is below 1e-23
    double sum = 1;
    for (int n = 17; n >= 1; --n)
    {
        sum = 1 + sum * r / n;
    }
    return std::ldexp(sum, static_cast<int>(k));
}

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_PORTABLE_MATH_H
