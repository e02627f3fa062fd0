/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PowerTCP and theta-PowerTCP as their authors' ns-3 code has them (inet-tub/ns3-datacenter,
 * simulator/ns-3.35, src/point-to-point/model/rdma-hw.cc, UpdateRatePower, and rdma-queue-pair.cc,
 * GetWin; constants of examples/PowerTCP/config-burst.txt), as pure rate laws. Beside
 * powertcp-window.h, which has the papers' symbols:
 *
 *   reference      R, the rate after the last whole round trip; each ACK starts from it, as with
 *                  HPCC's fast reaction
 *   power          as algorithm 1, but a link of negative current does not count at all
 *   rate           gamma (R / (Gamma / 0.95) + 150 Mb/s) + (1 - gamma) R        gamma 0.9
 *   theta: power   max(d theta / dt + 1, 0.5) theta / (1.05 tau), tau the least round trip seen
 *   theta: rate    gamma (R / Gamma + 150 Mb/s) + (1 - gamma) R                 gamma 0.7
 *   both           100 Mb/s <= rate <= the line's;   window = rate tau
 *
 * 150 Mb/s is N = 167 flows at that code's hosts of 25 Gb/s. (The floor of 0.5 is of theta alone
 * there: with telemetry it is commented out.)
 *
 * Units: picoseconds, bytes, bits per second.
 */
#ifndef RDMA_CORE_POWERTCP_NS3_RATES_H
#define RDMA_CORE_POWERTCP_NS3_RATES_H

#include "input-error.h"
#include "powertcp-power.h"
#include "telemetry-hop.h"
#include "units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rdma
{

struct PowertcpNs3Parameters
{
    Duration baseRtt;     ///< tau
    double gamma = 0.9;   ///< theta: 0.7
    double target = 0.95; ///< U_TARGET; not of theta
    BitRate additiveIncrease = Mbps(150);
    BitRate minimumRate = Mbps(100); ///< MIN_RATE; at most the line's
};

class PowertcpNs3Law : public PowertcpLaw
{
  public:
    /// Starts at line rate. Throws std::invalid_argument on constants the law has no meaning for.
    PowertcpNs3Law(const PowertcpNs3Parameters& p, BitRate line)
        : PowertcpLaw(p.baseRtt, p.gamma, line, Error(p)),
          m_p(p),
          m_line(static_cast<double>(line.bps)),
          m_minimum(std::min(m_line, static_cast<double>(p.minimumRate.bps))),
          m_reference(m_line),
          m_rate(m_line)
    {
    }

    /// What is wrong with these constants.
    static InputError Error(const PowertcpNs3Parameters& p)
    {
        const InputError error = WrongShare("Gamma", p.gamma);
        return error ? error : WrongShare("Target", p.target);
    }

    /// Bits per second.
    double Rate() const
    {
        return m_rate;
    }

    /// Bytes.
    double Window() const
    {
        return m_rate * m_tau / 8e12;
    }

  protected:
    /// \param target what the power is divided by \param update whether it is of a new round trip
    void React(double power, double dt, double target, bool update)
    {
        const double weight = std::min(dt / m_tau, 1.0);
        m_power = m_power * (1 - weight) + power * weight;
        const double increase = static_cast<double>(m_p.additiveIncrease.bps);
        m_rate =
            m_gamma * (m_reference / (m_power / target) + increase) + (1 - m_gamma) * m_reference;
        m_rate = std::clamp(m_rate, m_minimum, m_line);
        m_reference = update ? m_rate : m_reference;
    }

    const PowertcpNs3Parameters& Parameters() const
    {
        return m_p;
    }

    uint64_t m_lastUpdate = 0; ///< what was sent next then; 0: nothing is known yet

  private:
    PowertcpNs3Parameters m_p;
    double m_line;
    double m_minimum;
    double m_reference; ///< R
    double m_rate;
};

/// With telemetry.
class PowertcpNs3Rate : public PowertcpNs3Law
{
  public:
    using PowertcpNs3Law::PowertcpNs3Law;

    /// An ACK; as PowertcpWindow::OnAck.
    void OnAck(uint64_t acked, uint64_t sent, const TelemetryHop* hops, std::size_t n)
    {
        n = std::min(n, PowertcpPath::kMaxHops);
        const bool update = acked > m_lastUpdate;
        if (m_lastUpdate == 0 || n == 0 || n != m_path.Hops())
        {
            m_lastUpdate = sent;
        }
        else
        {
            double largest = 0;
            double dtOfLargest = 0;
            m_path.ForEachPower(hops, n, m_tau, [&](double power, double dt) {
                if (power > largest)
                {
                    largest = power;
                    dtOfLargest = dt;
                }
            });
            React(largest, dtOfLargest, Parameters().target, update);
            m_lastUpdate = update ? std::max(m_lastUpdate, sent) : m_lastUpdate;
        }
        m_path.Note(hops, n);
    }

  private:
    PowertcpPath m_path;
};

/// With round-trip times.
class ThetaPowertcpNs3Rate : public PowertcpNs3Law
{
  public:
    using PowertcpNs3Law::PowertcpNs3Law;

    /// An ACK; as ThetaPowertcpWindow::OnAck.
    void OnAck(uint64_t acked, uint64_t sent, int64_t rtt, int64_t now)
    {
        const double theta = static_cast<double>(rtt);
        const bool update = acked > m_lastUpdate;
        m_tau = rtt > 0 ? std::min(m_tau, theta) : m_tau;
        if (m_lastUpdate == 0)
        {
            m_lastUpdate = sent;
        }
        else
        {
            const auto step = m_last.To(rtt, now);
            if (!step)
            {
                return;
            }
            const double current = std::max(step->gradient + 1, 0.5);
            React(current * theta / (1.05 * m_tau), step->dt, 1, update);
            m_lastUpdate = update ? std::max(m_lastUpdate, sent) : m_lastUpdate;
        }
        m_last.Note(rtt, now);
    }

  private:
    PowertcpTrip m_last;
};

} // namespace rdma

#endif // RDMA_CORE_POWERTCP_NS3_RATES_H
