/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How HPCC's ns-3 code reacts, where that is not what the papers have: for those who replay its
 * results, beside the laws of the papers and never instead of them. Facts of
 * alibaba-edu/High-Precision-Congestion-Control and of the fork that the golden runs come from
 * (kwzhao/High-Precision-Congestion-Control, with MAX_RATE), simulation/src/point-to-point/
 * model/rdma-hw.cc and simulation/src/network/utils/int-header.h:
 *
 *   all     one rate a flow, in whole bits per second, cut after every step; the window is its
 *           share of the fixed one. Positions: a reaction "once a round trip" comes with the first
 *           ACK beyond what had been sent at the last.
 *   HPCC    works on the rate instead of the window, from the port's rate (not MAX_RATE, which
 *           bounds the result); telemetry in units of 128 B and 80 B; queues relative to the fixed
 *           window instead of B T.
 *   DCTCP   alpha counts ACKs, over one more packet than were in flight; the rate gains a constant
 *           a round trip unless it was just cut.
 *   TIMELY  once a round trip; a cut is not bounded by MAX_RATE; HAI after five increases of any
 *           kind.
 *
 * DCQCN there is DcqcnRate's kPeriodic. Units: as the laws'.
 */
#ifndef RDMA_CORE_HPCC_CODE_RATES_H
#define RDMA_CORE_HPCC_CODE_RATES_H

#include "congestion-control.h"
#include "telemetry-hop.h"
#include "units.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rdma
{

/// What all of them start from.
struct HpccCodeLimits
{
    uint64_t port = 0;    ///< rate of the port, bit/s
    uint64_t maximum = 0; ///< at most that: MAX_RATE
    uint64_t minimum = 0; ///< MIN_RATE
};

/// A rate within those limits, and the position up to which the last reaction looked.
class HpccCodeLaw
{
  public:
    uint64_t Rate() const
    {
        return m_rate;
    }

  protected:
    explicit HpccCodeLaw(const HpccCodeLimits& limits)
        : m_limits(limits),
          m_rate(limits.maximum)
    {
    }

    HpccCodeLimits m_limits;
    uint64_t m_rate;
    uint64_t m_lastUpdate = 0;
};

class HpccCodeRate : public HpccCodeLaw
{
  public:
    struct Parameters
    {
        double target = 0.95;     ///< U_TARGET
        uint32_t miThreshold = 5; ///< MI_THRESH
        bool fastReact = true;    ///< FAST_REACT
        uint64_t increase = 0;    ///< RATE_AI
        uint32_t multiple = 1;    ///< INT_MULTI
        uint64_t window = 0;      ///< FIXED_WIN
        uint64_t baseRttNs = 0;   ///< BASE_RTT
    };

    static constexpr std::size_t kMaxHops = 5;

    HpccCodeRate(const Parameters& parameters, const HpccCodeLimits& limits)
        : HpccCodeLaw(limits),
          m_p(parameters),
          m_reference(limits.port)
    {
    }

    void OnAck(uint64_t acked, uint64_t sent, const TelemetryHop* hops, std::size_t n)
    {
        n = std::min(n, kMaxHops);
        const bool update = acked > m_lastUpdate;
        if (m_lastUpdate == 0)
        {
            m_lastUpdate = sent;
            Keep(hops, n);
            return;
        }
        if (!update && !m_p.fastReact)
        {
            return;
        }
        const double byteUnit = 128. * m_p.multiple;
        double largest = 0;
        uint64_t tau = 0;
        for (std::size_t i = 0; i < n; ++i)
        {
            const Hop now = Read(hops[i]);
            const uint64_t time = (now.timeNs - m_last[i].timeNs) & ((1U << 24) - 1);
            const uint64_t sentUnits = (now.bytes - m_last[i].bytes) & ((1U << 20) - 1);
            const double tx =
                static_cast<double>(sentUnits) * byteUnit * 8 / (static_cast<double>(time) * 1e-9);
            const double queue =
                static_cast<double>(std::min(now.queue, m_last[i].queue)) * 80 * m_p.multiple;
            const double line = now.rate;
            const double u = tx / line + queue * static_cast<double>(m_limits.maximum) / line /
                                             static_cast<double>(m_p.window);
            if (u > largest)
            {
                largest = u;
                tau = time;
            }
            m_last[i] = now;
        }
        tau = std::min(tau, m_p.baseRttNs);
        m_utilization = (m_utilization * static_cast<double>(m_p.baseRttNs - tau) +
                         largest * static_cast<double>(tau)) /
                        static_cast<double>(m_p.baseRttNs);
        const double excess = m_utilization / m_p.target;
        const bool multiplicative = excess >= 1 || m_stage >= m_p.miThreshold;
        // A nearly idle path gives more than 64 bits hold.
        const double base = static_cast<double>(m_reference) / (multiplicative ? excess : 1);
        m_rate = (base < 1e18 ? static_cast<uint64_t>(base) : 1000000000000000000U) + m_p.increase;
        m_rate = std::min(std::max(m_rate, m_limits.minimum), m_limits.maximum);
        if (update)
        {
            m_reference = m_rate;
            m_stage = multiplicative ? 0 : m_stage + 1;
            m_lastUpdate = std::max(m_lastUpdate, sent);
        }
    }

  private:
    struct Hop
    {
        uint32_t timeNs; ///< 24 bits
        uint32_t bytes;  ///< 20 bits, in units
        uint32_t queue;  ///< 17 bits, in units
        double rate;
    };

    Hop Read(const TelemetryHop& hop) const
    {
        return {static_cast<uint32_t>(hop.time / 1000) & ((1U << 24) - 1),
                static_cast<uint32_t>(hop.txBytes / (128 * m_p.multiple)) & ((1U << 20) - 1),
                static_cast<uint32_t>(hop.queueBytes / (80 * m_p.multiple)) & ((1U << 17) - 1),
                static_cast<double>(hop.rateBps)};
    }

    void Keep(const TelemetryHop* hops, std::size_t n)
    {
        for (std::size_t i = 0; i < n; ++i)
        {
            m_last[i] = Read(hops[i]);
        }
    }

    Parameters m_p;
    uint64_t m_reference;
    double m_utilization = 1;
    uint32_t m_stage = 0;
    std::array<Hop, kMaxHops> m_last{};
};

class DctcpCodeRate : public HpccCodeLaw
{
  public:
    struct Parameters
    {
        double g = 1 / 16.;    ///< EWMA_GAIN
        uint64_t increase = 0; ///< DCTCP_RATE_AI
        uint32_t packet = 1000;
    };

    DctcpCodeRate(const Parameters& parameters, const HpccCodeLimits& limits)
        : HpccCodeLaw(limits),
          m_p(parameters)
    {
    }

    void OnAck(bool marked, uint64_t acked, uint64_t sent)
    {
        m_marks += marked;
        const bool batch = acked > m_lastUpdate;
        if (batch && m_lastUpdate == 0)
        {
            m_lastUpdate = sent;
            m_batch = sent / m_p.packet + 1;
        }
        else if (batch)
        {
            const double share =
                std::min(1.0, static_cast<double>(m_marks) / static_cast<double>(m_batch));
            m_alpha = (1 - m_p.g) * m_alpha + m_p.g * share;
            m_lastUpdate = sent;
            m_marks = 0;
            m_batch = (sent - acked) / m_p.packet + 1;
        }
        if (m_reduced && acked > m_reduceEnd)
        {
            m_reduced = false;
        }
        if (marked && !m_reduced)
        {
            m_rate =
                std::max(m_limits.minimum,
                         static_cast<uint64_t>(static_cast<double>(m_rate) * (1 - m_alpha / 2)));
            m_reduced = true;
            m_reduceEnd = sent;
        }
        if (!m_reduced && batch)
        {
            m_rate = std::min(m_limits.maximum, m_rate + m_p.increase);
        }
    }

  private:
    Parameters m_p;
    double m_alpha = 1;
    uint64_t m_marks = 0;
    uint64_t m_batch = 0;
    uint64_t m_reduceEnd = 0;
    bool m_reduced = false;
};

class TimelyCodeRate : public HpccCodeLaw
{
  public:
    struct Parameters
    {
        double alpha = 0.875;
        double beta = 0.8;         ///< TIMELY_BETA
        uint64_t tLowNs = 50000;   ///< TIMELY_T_LOW
        uint64_t tHighNs = 500000; ///< TIMELY_T_HIGH
        uint64_t minRttNs = 20000;
        uint64_t increase = 0;      ///< RATE_AI
        uint64_t hyperIncrease = 0; ///< RATE_HAI
    };

    TimelyCodeRate(const Parameters& parameters, const HpccCodeLimits& limits)
        : HpccCodeLaw(limits),
          m_p(parameters),
          m_current(limits.port)
    {
    }

    void OnAck(uint64_t rttNs, uint64_t acked, uint64_t sent)
    {
        if (acked <= m_lastUpdate)
        {
            return;
        }
        if (m_lastUpdate != 0)
        {
            const double rtt = static_cast<double>(rttNs);
            const double difference =
                (1 - m_p.alpha) * m_difference + m_p.alpha * (rtt - static_cast<double>(m_lastRtt));
            const double gradient = difference / static_cast<double>(m_p.minRttNs);
            if (rttNs < m_p.tLowNs || (rttNs <= m_p.tHighNs && gradient <= 0))
            {
                m_rate = std::min(m_limits.maximum,
                                  m_current + (m_stage < 5 ? m_p.increase : m_p.hyperIncrease));
                ++m_stage;
            }
            else
            {
                const double factor =
                    rttNs > m_p.tHighNs
                        ? 1 - m_p.beta * (1 - static_cast<double>(m_p.tHighNs) / rtt)
                        : std::max(0.0, 1 - m_p.beta * gradient);
                m_rate = std::max(m_limits.minimum,
                                  static_cast<uint64_t>(static_cast<double>(m_current) * factor));
                m_stage = 0;
            }
            m_current = m_rate;
            m_difference = difference;
        }
        if (sent > m_lastUpdate)
        {
            m_lastUpdate = sent;
            m_lastRtt = rttNs;
        }
    }

  private:
    Parameters m_p;
    uint64_t m_current;
    double m_difference = 0;
    uint64_t m_lastRtt = 0;
    uint32_t m_stage = 0;
};

/// The preset of the laws that this code has too, DCQCN among them.
inline CongestionPreset
HpccCodePreset(int value)
{
    return {value,
            "hpcc-code",
            "reactions as HPCC's ns-3 code has them, to replay its results (with --compat=hpcc); "
            "parameters as ns-3 attributes",
            EcnHpcc19(Gbps(100))};
}

} // namespace rdma

#endif // RDMA_CORE_HPCC_CODE_RATES_H
