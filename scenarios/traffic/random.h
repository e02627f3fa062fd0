/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Seeded randomness that gives the same numbers with every standard library: the engine std::mt19937_64 is fully
 * specified by the C++ standard, its distributions are not, so the arithmetic is ours.
 */
#ifndef SCENARIOS_TRAFFIC_RANDOM_H
#define SCENARIOS_TRAFFIC_RANDOM_H

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace scenario
{

class Random
{
  public:
    /// Different purposes of one run take different `stream`s, so that one more draw here changes nothing there.
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

/// Streams in use.
constexpr uint64_t kPlacementStream = 1;
constexpr uint64_t kPatternStream = 2;
constexpr uint64_t kStartStream = 3;

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_RANDOM_H
