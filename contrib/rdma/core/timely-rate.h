/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TIMELY and patched TIMELY, the sender's side, as pure rate laws: told a round-trip time for each completed segment,
 * they answer with a rate.
 *
 * R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1:
 *
 *   rtt_diff = (1 - alpha) rtt_diff + alpha (new_rtt - prev_rtt),   gradient = rtt_diff / minRTT
 *   new_rtt < T_low      rate = rate + delta
 *   new_rtt > T_high     rate = rate (1 - beta (1 - T_high / new_rtt))
 *   gradient <= 0        rate = rate + N delta      N = 5 after five such completions in a row, else 1 (HAI, 4.3)
 *   else                 rate = rate (1 - beta gradient)
 *
 * It has no fixed point: the queue at which the gradient is 0 can be any. The patch (Y. Zhu et al., "ECN or Delay: Lessons
 * Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, section 4.3, algorithm 2) adds one, between T_low and T_high:
 *
 *   error = (new_rtt - RTT_ref) / RTT_ref
 *   w = 0, 2 gradient + 1/2, 1           for gradient <= -1/4, between, >= 1/4
 *   rate = delta (1 - w) + rate (1 - beta w error),   beta = 0.008
 *
 * With RTT_ref at T_low, N flows on a link C rest at error = N delta / (beta C): there gradient = 0 and w = 1/2.
 *
 * Units: picoseconds, bits per second.
 */
#ifndef RDMA_CORE_TIMELY_RATE_H
#define RDMA_CORE_TIMELY_RATE_H

#include "units.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace rdma
{

struct TimelyParameters
{
    bool patched = false;
    double alpha = 0.875; ///< weight of the newest difference (the authors' snippet; the paper calls it an EWMA weight)
    double beta = 0.8;    ///< 0.008 if patched
    BitRate delta = Mbps(10);
    Duration tLow = Microseconds(50);
    Duration tHigh = Microseconds(500);
    Duration minRtt = Microseconds(20);
    Duration rttReference{0};  ///< patched; 0: tLow
    uint32_t hyperAfter = 5;   ///< completions with gradient <= 0 in a row
    uint32_t hyperFactor = 5;  ///< N
    BitRate minimumRate = Mbps(10); ///< assumed: delta
};

class TimelyRate
{
  public:
    /// Starts at line rate. Throws std::invalid_argument on constants the law has no meaning for.
    TimelyRate(const TimelyParameters& parameters, BitRate line)
        : m_p(parameters),
          m_line(static_cast<double>(line.bps)),
          m_rate(m_line)
    {
        if (line.bps == 0 || m_p.minRtt.ps <= 0 || m_p.tLow.ps <= 0 || m_p.tHigh < m_p.tLow || !(m_p.alpha > 0 && m_p.alpha <= 1) ||
            !(m_p.beta > 0 && m_p.beta <= 1))
        {
            throw std::invalid_argument("TIMELY: times and rates must be positive, T_low at most T_high, alpha and beta in (0, 1]");
        }
        m_p.rttReference = m_p.rttReference.ps > 0 ? m_p.rttReference : m_p.tLow;
    }

    /// A segment is complete.
    void OnRtt(Duration rtt)
    {
        const double now = static_cast<double>(rtt.ps);
        if (m_previous < 0)
        {
            m_previous = now;
            return;
        }
        m_difference = (1 - m_p.alpha) * m_difference + m_p.alpha * (now - m_previous);
        m_previous = now;
        const double gradient = m_difference / static_cast<double>(m_p.minRtt.ps);
        const double delta = static_cast<double>(m_p.delta.bps);
        m_negative = gradient <= 0 ? m_negative + 1 : 0;
        if (rtt < m_p.tLow)
        {
            m_rate += delta;
        }
        else if (rtt > m_p.tHigh)
        {
            m_rate *= 1 - m_p.beta * (1 - static_cast<double>(m_p.tHigh.ps) / now);
        }
        else if (m_p.patched)
        {
            const double w = std::clamp(2 * gradient + 0.5, 0.0, 1.0);
            const double reference = static_cast<double>(m_p.rttReference.ps);
            m_rate = delta * (1 - w) + m_rate * (1 - m_p.beta * w * (now - reference) / reference);
        }
        else if (gradient <= 0)
        {
            m_rate += delta * (m_negative >= m_p.hyperAfter ? m_p.hyperFactor : 1);
        }
        else
        {
            m_rate *= std::max(0.0, 1 - m_p.beta * gradient);
        }
        m_rate = std::clamp(m_rate, std::min(m_line, static_cast<double>(m_p.minimumRate.bps)), m_line);
    }

    /// Bits per second.
    double Rate() const { return m_rate; }

  private:
    TimelyParameters m_p;
    double m_line;
    double m_rate;
    double m_previous = -1;  ///< prev_rtt, ps; -1: none
    double m_difference = 0; ///< rtt_diff, ps
    uint32_t m_negative = 0; ///< completions in a row without a positive gradient
};

} // namespace rdma

#endif // RDMA_CORE_TIMELY_RATE_H
