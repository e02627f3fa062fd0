/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Additive increase, multiplicative decrease of a rate, as a pure law:
 *
 *   a CNP            rate = max(least, decrease x rate); the next increase is a period later
 *   every period     rate = min(line, rate + increase)
 *
 * Units: bit/s, picoseconds.
 */
#ifndef RDMA_CORE_AIMD_RATE_H
#define RDMA_CORE_AIMD_RATE_H

#include "congestion-control.h"
#include "input-error.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace rdma
{

struct AimdParameters
{
    double decrease = 0.5;
    uint64_t increase = 1000000000; ///< bit/s
    uint64_t least = 100000000;     ///< bit/s
    int64_t period = 20000000;      ///< ps
};

class AimdRate
{
  public:
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

    /// What is wrong with these constants, by the name of the ns-3 attribute.
    static InputError Error(const AimdParameters& p)
    {
        if (!(p.decrease > 0 && p.decrease < 1))
        {
            return ErrorAt("Decrease", std::to_string(p.decrease) + " is not in (0, 1)");
        }
        return {};
    }

    AimdRate(const AimdParameters& parameters, uint64_t line)
        : m_p(parameters),
          m_line(line),
          m_rate(line)
    {
        ThrowIf(Error(m_p), "AIMD");
    }

    uint64_t Rate() const
    {
        return m_rate;
    }

    /// When the rate next grows.
    int64_t NextIncrease() const
    {
        return m_next;
    }

    void OnCnp(int64_t now)
    {
        const auto rate = static_cast<uint64_t>(m_p.decrease * static_cast<double>(m_rate));
        m_rate = std::max(std::min(m_p.least, m_line), rate);
        m_next = now + m_p.period;
    }

    /// All periods since: nobody asks while there is nothing to send.
    void CatchUp(int64_t now)
    {
        for (; m_next <= now; m_next += m_p.period)
        {
            m_rate = std::min(m_line, m_rate + m_p.increase);
            if (m_rate == m_line)
            {
                m_next = NEVER;
                return;
            }
        }
    }

  private:
    AimdParameters m_p;
    uint64_t m_line;
    uint64_t m_rate;
    int64_t m_next{NEVER};
};

inline const RegisteredCongestionControl kAimd{"aimd",
                                               "additive increase, multiplicative decrease by CNPs",
                                               {}};

} // namespace rdma

#endif // RDMA_CORE_AIMD_RATE_H
