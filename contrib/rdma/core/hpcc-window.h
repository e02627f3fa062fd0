/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HPCC, the sender's side, as a pure window law: told what an ACK brings back, it answers with a
 * window and a rate.
 *
 * Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1 (line numbers
 * below are its own):
 *
 *   utilisation of a link   u' = min(qLen, last qLen) / (B T) + txRate / B,  txRate from two
 *                                                                            readings     lines 3-6
 *   of the path             the largest u', of the link where tau is the time between its readings
 *                           lines 7-9
 *   inflight bytes          U = (1 - tau / T) U + tau / T u,  tau at most T
 *                                                             lines 9-11
 *   multiplicative          W = Wc / (U / eta) + W_AI       if U >= eta or incStage >= maxStage
 *                                                           lines 13-18
 *   additive                W = Wc + W_AI                   otherwise
 *                                                           lines 19-24
 *   reference window Wc = W and a step of incStage once a round trip: on the first ACK for a packet
 *                           sent after the last time                                    lines 26-30
 *   rate                    R = W / T                                                   line 31
 *
 * T is the base round-trip time. The first ACK has no reading before it and only leaves its own.
 * The pseudo code has no bounds: W stays at or below W_init = B_NIC T, and at or above minimumRate
 * T (the authors' code: MinRate 100 Mb/s).
 *
 * Units: picoseconds, bytes, bits per second.
 */
#ifndef RDMA_CORE_HPCC_WINDOW_H
#define RDMA_CORE_HPCC_WINDOW_H

#include "added-bytes.h"
#include "answered-packets.h"
#include "congestion-control.h"
#include "hop-comparison.h"
#include "hpcc-code-rates.h"
#include "input-error.h"
#include "telemetry-hop.h"
#include "units.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rdma
{

/// The paper's constants (sections 3.3, 5.1).
struct HpccParameters
{
    Duration baseRtt;      ///< T
    double eta = 0.95;     ///< target utilisation
    uint32_t maxStage = 5; ///< additive steps before a multiplicative one
    uint32_t flows =
        100; ///< N: W_AI = W_init (1 - eta) / N keeps so many flows' steps below the headroom
    BitRate minimumRate = Mbps(100);
};

class HpccWindow
{
  public:
    static constexpr std::size_t kMaxHops = 8;

    /// What is wrong with these constants.
    static InputError Error(const HpccParameters& p)
    {
        if (!(p.eta > 0 && p.eta <= 1))
        {
            return ErrorAt("Eta", std::to_string(p.eta) + " is not in (0, 1]");
        }
        if (p.flows == 0)
        {
            return ErrorAt("Flows", "0 is no number of flows");
        }
        return {};
    }

    /// Starts at line rate. Throws std::invalid_argument on constants the law has no meaning for.
    HpccWindow(const HpccParameters& parameters, BitRate line)
        : m_p(parameters),
          m_baseRtt(static_cast<double>(parameters.baseRtt.ps)),
          m_initial(static_cast<double>(line.bps) * m_baseRtt / 8e12),
          m_minimum(std::min(m_initial,
                             static_cast<double>(parameters.minimumRate.bps) * m_baseRtt / 8e12)),
          m_increase(m_initial * (1 - parameters.eta) / parameters.flows),
          m_window(m_initial),
          m_reference(m_initial)
    {
        ThrowIf(Error(parameters), "HPCC");
        if (parameters.baseRtt.ps <= 0 || line.bps == 0)
        {
            throw std::invalid_argument(
                "HPCC: base round-trip time and line rate must be positive");
        }
    }

    /// An ACK. \param acked position up to which all is acknowledged \param sent position of what
    /// is sent next
    /// \param hops what the packet collected, of at most kMaxHops
    void OnAck(uint64_t acked, uint64_t sent, const TelemetryHop* hops, std::size_t n)
    {
        n = std::min(n, kMaxHops);
        if (n == 0 || n != m_hops) // no reading before, or not of this path
        {
            m_lastUpdate = sent;
        }
        else
        {
            const bool update = acked > m_lastUpdate; // line 27
            MeasureInflight(hops, n);
            ComputeWindow(update);
            m_lastUpdate = update ? sent : m_lastUpdate;
        }
        m_hops = n;
        std::copy_n(hops, n, m_last.begin()); // line 32
    }

    /// The same of a packet that says U itself (PINT). Its first round trip is only listened to.
    void OnAck(uint64_t acked, uint64_t sent, double utilization)
    {
        if (m_lastUpdate == 0)
        {
            m_lastUpdate = sent;
            return;
        }
        const bool update = acked > m_lastUpdate;
        m_utilization = utilization;
        ComputeWindow(update);
        m_lastUpdate = update ? sent : m_lastUpdate;
    }

    double Window() const
    {
        return m_window;
    }

    /// R = W / T, bits per second.
    double Rate() const
    {
        return m_window * 8e12 / m_baseRtt;
    }

    /// U of the last ACK.
    double Utilization() const
    {
        return m_utilization;
    }

    double InitialWindow() const
    {
        return m_initial;
    }

    double AdditiveIncrease() const
    {
        return m_increase;
    }

  private:
    void MeasureInflight(const TelemetryHop* hops, std::size_t n)
    {
        double u = 0;
        double tau = 0;
        for (std::size_t i = 0; i < n; ++i)
        {
            const double time = static_cast<double>(hops[i].time - m_last[i].time);
            if (time <= 0) // of the same moment, or overtaken
            {
                continue;
            }
            const double rate = static_cast<double>(hops[i].rateBps);
            const double tx =
                static_cast<double>(hops[i].txBytes - m_last[i].txBytes) * 8e12 / time;
            const double queue =
                static_cast<double>(std::min(hops[i].queueBytes, m_last[i].queueBytes));
            const double of = queue * 8e12 / (rate * m_baseRtt) + tx / rate;
            if (of > u)
            {
                u = of;
                tau = time;
            }
        }
        const double weight = std::min(tau, m_baseRtt) / m_baseRtt;
        m_utilization = (1 - weight) * m_utilization + weight * u;
    }

    void ComputeWindow(bool update)
    {
        const bool multiplicative = m_utilization >= m_p.eta || m_stage >= m_p.maxStage;
        const double window =
            (multiplicative ? m_reference / (m_utilization / m_p.eta) : m_reference) + m_increase;
        m_window = std::clamp(window, m_minimum, m_initial);
        if (update)
        {
            m_stage = multiplicative ? 0 : m_stage + 1;
            m_reference = m_window;
        }
    }

    HpccParameters m_p;
    double m_baseRtt;
    double m_initial; ///< W_init
    double m_minimum;
    double m_increase;        ///< W_AI
    double m_window;          ///< W
    double m_reference;       ///< Wc
    double m_utilization = 1; ///< U: a new flow takes the path for full
    uint32_t m_stage = 0;     ///< incStage
    uint64_t m_lastUpdate = 0;
    std::size_t m_hops = 0;
    std::array<TelemetryHop, kMaxHops> m_last{};
};

enum HpccPreset
{
    kHpccSigcomm19,
    kHpccCode ///< HpccCodeRate
};

inline const RegisteredCongestionControl kHpcc{
    "hpcc",
    "HPCC (Li et al., SIGCOMM 2019): window by what the switches say in the packets (42 B of "
    "telemetry each)",
    {{kHpccSigcomm19,
      "sigcomm19",
      "HPCC's paper: eta 0.95, maxStage 5, W_AI for 100 flows",
      EcnHpcc19(Gbps(100))},
     HpccCodePreset(kHpccCode)}};
inline const AnswersEachPacket kHpccAnswers{"hpcc"};
inline const AddsToData kHpccAdds{"hpcc", kHpccTelemetryBytes};
inline const ComparesHops kHpccComparesHops{"hpcc"};

} // namespace rdma

#endif // RDMA_CORE_HPCC_WINDOW_H
