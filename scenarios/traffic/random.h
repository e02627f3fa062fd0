/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Seeded randomness that gives the same numbers with every standard library: the engine
 * std::mt19937_64 is fully specified by the C++ standard, its distributions are not, so the
 * arithmetic is ours.
 */
#ifndef SCENARIOS_TRAFFIC_RANDOM_H
#define SCENARIOS_TRAFFIC_RANDOM_H

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace scenario
{

class Random
{
  public:
    /// Different purposes of one run take different `stream`s, so that one more draw here changes
    /// nothing there.
    explicit Random(uint64_t seed, uint64_t stream = 0)
        : m_engine(seed * 0x9E3779B97F4A7C15ULL + stream)
    {
    }

    /// Uniform in [0, n); n > 0. Without bias: draws in the incomplete last block are thrown away.
    uint64_t Below(uint64_t n)
    {
        const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
        uint64_t draw = m_engine();
        while (draw >= limit)
        {
            draw = m_engine();
        }
        return draw % n;
    }

    /// Exponential with this mean: von Neumann's comparisons (Various techniques used in connection
    /// with random digits, 1951), which need no logarithm, whose last bit depends on the machine. A
    /// uniform x is taken with probability exp(-x): the run of descending draws that it begins ends
    /// with an even draw; for each x thrown away the result is larger by one mean.
    uint64_t Exponential(uint64_t mean)
    {
        __extension__ using Wide = unsigned __int128;
        for (uint64_t wholes = 0;; ++wholes)
        {
            const uint64_t x = m_engine();
            uint64_t last = x;
            bool even = true;
            for (uint64_t next = m_engine(); next < last; next = m_engine())
            {
                last = next;
                even = !even;
            }
            if (even)
            {
                const Wide value =
                    static_cast<Wide>(mean) * wholes + (static_cast<Wide>(mean) * x >> 64);
                return value > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(value);
            }
        }
    }

    /// Pareto with shape 2 and this mean: heavy-tailed, its variance is infinite. (Of shape 2,
    /// because a square root is exact to the last bit everywhere, IEEE 754, and another power is
    /// not.) At most 2^62.
    uint64_t Pareto(uint64_t mean)
    {
        const double u = static_cast<double>((m_engine() >> 11) + 1) / 9007199254740992.0;
        const double value = static_cast<double>(mean) / 2 / std::sqrt(u);
        return value > 4.6e18 ? 1ULL << 62 : static_cast<uint64_t>(value);
    }

    /// Fisher-Yates.
    template <class T>
    void Shuffle(std::vector<T>* v)
    {
        for (size_t i = v->size(); i > 1; --i)
        {
            std::swap((*v)[i - 1], (*v)[Below(i)]);
        }
    }

  private:
    std::mt19937_64 m_engine;
};

/// \return a seed of another generator, by a stream of this seed
inline uint64_t
SeedOf(uint64_t seed, uint64_t stream)
{
    return Random(seed, stream).Below(UINT64_MAX);
}

/// Streams in use.
constexpr uint64_t kPlacementStream = 1;
constexpr uint64_t kPatternStream = 2;
constexpr uint64_t kStartStream = 3;
constexpr uint64_t kSizeStream = 4;
constexpr uint64_t kIncastStream = 5;
constexpr uint64_t kBackgroundStream = 1ULL << 33; ///< and on: one an epoch
constexpr uint64_t kHostStream = 1ULL << 32;       ///< and on: one a host
constexpr uint64_t kJobStream = 1ULL << 34;        ///< and on: one a job but the first
constexpr uint64_t kFailureStream = 1ULL << 35;    ///< and on: one a replication of dlgoodput
constexpr uint64_t kRequestStream = 1ULL << 36;    ///< and two more: dlserve's requests
constexpr uint64_t kDraftStream = 1ULL << 38;      ///< dlserve's accepted drafts
constexpr uint64_t kMultiplexStream = 1ULL << 37;  ///< and on: one a model of a mix

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_RANDOM_H
