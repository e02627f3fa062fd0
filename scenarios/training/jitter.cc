/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/jitter.h"

#include <algorithm>
#include <random>

namespace training
{

namespace
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

  private:
    double Uniform()
    {
        return static_cast<double>(m_engine() >> 11) * 0x1p-53;
    }

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

/// Neighbouring numbers to far ones (the finalizer of splitmix64).
uint64_t
Mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

} // namespace

double
JitterOf(const Jitter& jitter, coll::Rank rank, uint32_t step)
{
    if (jitter.sigma == 0)
    {
        return 1;
    }
    const uint64_t which = static_cast<uint64_t>(rank) << 32 | step % jitter.period;
    Normal normal(Mixed(Mixed(jitter.seed + 0x9E3779B97F4A7C15ULL) + which));
    return std::max(0.0, 1 + jitter.sigma * normal.Draw());
}

double
SpreadOf(double sigma, uint64_t seed, coll::Rank rank)
{
    return JitterOf({sigma, Mixed(seed ^ 0xD6E8FEB86659FD93ULL)}, rank, 0);
}

} // namespace training
