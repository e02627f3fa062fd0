/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A function of a count, tabulated once and interpolated: every whole number up to 64, then 16
 * points an octave. Between points it is linear, so what grows at the points grows everywhere.
 */
#ifndef SCENARIOS_INFERENCE_KERNELS_CURVE_H
#define SCENARIOS_INFERENCE_KERNELS_CURVE_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace serving
{

class Curve
{
  public:
    Curve() = default;

    /// \param at its value for a count from 1 on; 0 has the value 0
    template <typename F>
    explicit Curve(F&& at)
    {
        m_values.reserve(kPoints);
        for (std::size_t i = 0; i < kPoints; ++i)
        {
            m_values.push_back(i == 0 ? 0 : at(CountAt(i)));
        }
    }

    double At(double count) const
    {
        if (m_values.empty() || count <= 0)
        {
            return 0;
        }
        double place = count;
        if (count > kWhole)
        {
            int exponent = 0;
            const double mantissa = std::frexp(count / kWhole, &exponent); // in [0.5, 1)
            place = kWhole + kOctave * ((exponent - 1) + (2 * mantissa - 1));
        }
        // Beyond the last point it goes on as between the last two.
        const std::size_t below = std::min(static_cast<std::size_t>(place), kPoints - 2);
        if (place < 1)
        {
            return m_values[1]; // less than one is as long as one
        }
        return m_values[below] + (place - below) * (m_values[below + 1] - m_values[below]);
    }

  private:
    static constexpr double kWhole = 64;
    static constexpr double kOctave = 16;
    static constexpr std::size_t kOctaves = 14; // up to 1,048,576
    static constexpr std::size_t kPoints = 64 + 16 * kOctaves + 1;

    static double CountAt(std::size_t i)
    {
        if (i <= 64)
        {
            return static_cast<double>(i);
        }
        const double octaves = (static_cast<double>(i) - kWhole) / kOctave;
        const double whole = std::floor(octaves);
        return kWhole * std::exp2(whole) * (1 + octaves - whole);
    }

    std::vector<double> m_values;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_KERNELS_CURVE_H
