/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Normally distributed numbers that are the same with every standard library and on every machine.
 */
#ifndef SCENARIOS_TRAFFIC_NORMAL_H
#define SCENARIOS_TRAFFIC_NORMAL_H

#include <cstdint>
#include <random>

namespace scenario
{

/// Normal draws without logarithms or exponentials, whose last bits depend on the machine. The
/// density at k + x, k whole and x in [0, 1), is as
///
///   exp(-(k + x)^2 / 2) = exp(-1/2)^k  exp(-1/2)^(k (k - 1))  exp(-x (2k + x) / 2)
///
/// so k is the number of coins of exp(-1/2) that come up in a row, kept with the second factor and
/// then x with the third, each as so many coins.
class Normal
{
  public:
    explicit Normal(uint64_t seed)
        : m_engine(seed)
    {
    }

    double Draw()
    {
        for (;;)
        {
            uint32_t k = 0;
            while (Coin(0.5))
            {
                ++k;
            }
            if (!Coins(k < 2 ? 0 : k * (k - 1), 0.5))
            {
                continue;
            }
            const double x = Uniform();
            // k + 1 coins, as a coin's exponent is at most 1.
            if (Coins(k + 1, x * (2 * k + x) / (2 * k + 2)))
            {
                return (m_engine() >> 63 ? 1 : -1) * (k + x);
            }
        }
    }

    /// In [0, 1).
    double Uniform()
    {
        return static_cast<double>(m_engine() >> 11) * 0x1p-53;
    }

  private:
    bool Coins(uint32_t count, double exponent)
    {
        bool all = true;
        for (uint32_t i = 0; i < count && all; ++i)
        {
            all = Coin(exponent);
        }
        return all;
    }

    /// True with probability exp(-exponent), exponent at most 1: that the run of draws that
    /// descends from it has n of them is exponent^n / n! - exponent^(n + 1) / (n + 1)!, so that n
    /// is even has the series of the exponential function.
    bool Coin(double exponent)
    {
        bool even = true;
        double last = exponent;
        for (double next = Uniform(); next < last; next = Uniform())
        {
            last = next;
            even = !even;
        }
        return even;
    }

    std::mt19937_64 m_engine;
};

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_NORMAL_H
