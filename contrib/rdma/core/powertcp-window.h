/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PowerTCP and theta-PowerTCP, the sender's side, as pure window laws: told what an ACK brings
 * back, they answer with a window and a rate.
 *
 * V. Addanki, O. Michel, S. Schmid, "PowerTCP: Pushing the Performance Limits of Datacenter
 * Networks", NSDI 2022. The power of a link is its current (arrival rate: how its queue and its
 * sent bytes grow) times its voltage (bytes in its queue and in the pipe), section 3.1; b is the
 * link's rate, tau the base round-trip time.
 *
 * Algorithm 1, with telemetry, for each link of the path from two readings dt apart:
 *
 *   current        lambda = (qlen - last qlen) / dt + (txBytes - last txBytes) / dt
 *   voltage        nu = b tau + qlen
 *   power          Gamma' = lambda nu,   normalised by e = b^2 tau (an empty queue at a full link
 *                                        is 1)
 *   of the path    the largest, Gamma_norm, and its dt
 *   smoothed       Gamma = (Gamma (tau - dt) + Gamma_norm dt) / tau
 *   window         cwnd = gamma (cwnd_old / Gamma + beta) + (1 - gamma) cwnd     on each ACK
 *   rate           cwnd / tau
 *
 * cwnd_old, GetCwnd(ack.seq), is the window that the acknowledged packet was sent with, w(t -
 * theta) of the control law (section 3.3). It is noted once a round trip, so what counts until the
 * next note is acknowledged is the note before. Algorithm 2, with round-trip times only (theta), dt
 * between ACKs:
 *
 *   power          Gamma_norm = (d theta / dt + 1) theta / tau
 *   window         as above, but once a round trip
 *
 * At rest both have Gamma = 1 + q / (b tau) and a queue q of the sum of all flows' beta (section
 * 3.3); beta = HostBw tau / N for N flows of a host.
 *
 * What the pseudo code leaves open is here as in the authors' kernel module
 * (inet-tub/powertcp-linux, powertcp.c at e30810d and powertcp_defs.h):
 *
 *   current        at least 0 (a queue that drains faster than the line sends makes it negative)
 *   Gamma_norm     at least 0.01, before smoothing; a weight dt / tau is at most 1
 *   first Gamma    algorithm 1: not smoothed
 *   cwnd           at most HostBw tau, which it starts from: the rate is then the host's
 *   N              10 (default_expected_flows)
 *
 * What it does not leave open is as the paper has it, where the module (which the authors'
 * doc/module.md calls a proof of concept) takes short cuts: its get_cwnd() returns the window as
 * noted last, with the comparison to ack.seq commented out, and its algorithm 2 measures once a
 * round trip instead of at each ACK. With the last note w(n) the window answers in the round trip
 * after n to power that the window before n made, so, to first order about rest, ln w(n + 1) = ln
 * w(n) - ln w(n - 1): its roots have magnitude 1, and without much beta it swings instead of
 * resting. As algorithm 2 here measures at each ACK, its first power is of two ACKs and no round
 * trip: smoothed, from 1.
 *
 * Readings that are not of the same path are only noted. The authors' ns-3 code is another law:
 * powertcp-ns3-rates.h.
 *
 * Units: picoseconds, bytes, bits per second.
 */
#ifndef RDMA_CORE_POWERTCP_WINDOW_H
#define RDMA_CORE_POWERTCP_WINDOW_H

#include "added-bytes.h"
#include "answered-packets.h"
#include "hop-comparison.h"
#include "input-error.h"
#include "powertcp-power.h"
#include "telemetry-hop.h"
#include "units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rdma
{

struct PowertcpParameters
{
    Duration baseRtt;    ///< tau
    double gamma = 0.9;  ///< weight of the new window (section 4)
    uint32_t flows = 10; ///< N; the module's expected_flows
};

/// What both laws share: window, smoothing, the round trip.
class PowerLaw : public PowertcpLaw
{
  public:
    /// Starts at line rate. Throws std::invalid_argument on constants the law has no meaning for.
    PowerLaw(const PowertcpParameters& p, BitRate line)
        : PowertcpLaw(p.baseRtt, p.gamma, line, Error(p)),
          m_initial(static_cast<double>(line.bps) * m_tau / 8e12),
          m_increase(m_initial / p.flows),
          m_window(m_initial),
          m_noted(m_initial),
          m_old(m_initial)
    {
    }

    double Window() const
    {
        return m_window;
    }

    /// cwnd / tau, bits per second.
    double Rate() const
    {
        return m_window * 8e12 / m_tau;
    }

    double InitialWindow() const
    {
        return m_initial;
    }

    /// beta.
    double AdditiveIncrease() const
    {
        return m_increase;
    }

    /// What is wrong with these constants.
    static InputError Error(const PowertcpParameters& p)
    {
        const InputError error = WrongShare("Gamma", p.gamma);
        return !error && p.flows == 0 ? ErrorAt("Flows", "0 is no number of flows") : error;
    }

  protected:
    void Smooth(double power, double dt)
    {
        m_power += std::min(dt / m_tau, 1.0) * (std::max(power, 0.01) - m_power);
    }

    void UpdateWindow()
    {
        const double window = m_gamma * (m_old / m_power + m_increase) + (1 - m_gamma) * m_window;
        m_window = std::min(window, m_initial);
    }

    /// An ACK. \return whether it is the first for a packet sent after the last note: cwnd_old is
    /// that one then
    bool IsNewRoundTrip(uint64_t acked)
    {
        const bool is = acked > m_roundTrip;
        m_old = is ? m_noted : m_old;
        return is;
    }

    /// The window is that of packets from now on.
    void Note(uint64_t sent)
    {
        m_noted = m_window;
        m_roundTrip = sent;
    }

  private:
    double m_initial;         ///< HostBw tau
    double m_increase;        ///< beta
    double m_window;          ///< cwnd
    double m_noted;           ///< cwnd at m_roundTrip
    double m_old;             ///< cwnd_old
    uint64_t m_roundTrip = 0; ///< what was sent next at the last note
};

/// Algorithm 1.
class PowertcpWindow : public PowerLaw
{
  public:
    using PowerLaw::PowerLaw;

    /// An ACK. \param acked position up to which all is acknowledged \param sent position of what
    /// is sent next
    /// \param hops what the packet collected, of at most PowertcpPath::kMaxHops
    void OnAck(uint64_t acked, uint64_t sent, const TelemetryHop* hops, std::size_t n)
    {
        n = std::min(n, PowertcpPath::kMaxHops);
        if (n == 0 || n != m_path.Hops())
        {
            Note(sent);
        }
        else
        {
            const bool note = IsNewRoundTrip(acked);
            MeasurePower(hops, n);
            UpdateWindow();
            if (note)
            {
                Note(sent);
            }
        }
        m_path.Note(hops, n);
    }

  private:
    void MeasurePower(const TelemetryHop* hops, std::size_t n)
    {
        double largest = 0;
        double dtOfLargest = 0;
        m_path.ForEachPower(hops, n, m_tau, [&](double power, double dt) {
            power = std::max(power, 0.0); // of a current of at least 0
            if (dtOfLargest == 0 || power > largest)
            {
                largest = power;
                dtOfLargest = dt;
            }
        });
        if (dtOfLargest > 0)
        {
            Smooth(largest, m_measured ? dtOfLargest : m_tau);
            m_measured = true;
        }
    }

    bool m_measured = false; ///< Gamma is of a measurement
    PowertcpPath m_path;
};

/// Algorithm 2.
class ThetaPowertcpWindow : public PowerLaw
{
  public:
    using PowerLaw::PowerLaw;

    /// An ACK. \param acked position up to which all is acknowledged \param sent position of what
    /// is sent next
    void OnAck(uint64_t acked, uint64_t sent, int64_t rtt, int64_t now)
    {
        if (!m_last.Any())
        {
            Note(sent);
        }
        else
        {
            const auto step = m_last.To(rtt, now);
            if (!step)
            {
                return;
            }
            Smooth(std::max(step->gradient + 1, 0.0) * static_cast<double>(rtt) / m_tau, step->dt);
            if (IsNewRoundTrip(acked))
            {
                UpdateWindow();
                Note(sent);
            }
        }
        m_last.Note(rtt, now);
    }

  private:
    PowertcpTrip m_last;
};

inline const RegisteredCongestionControl kPowertcp{
    "powertcp",
    "PowerTCP (Addanki et al., NSDI 2022): window by the power of links, from telemetry in the "
    "packets (42 B each)",
    PowertcpPresets()};
inline const AnswersEachPacket kPowertcpAnswers{"powertcp"};
inline const AddsToData kPowertcpAdds{"powertcp", kHpccTelemetryBytes};
inline const ComparesHops kPowertcpComparesHops{"powertcp"};

inline const RegisteredCongestionControl kThetaPowertcp{
    "theta-powertcp",
    "theta-PowerTCP (Addanki et al., NSDI 2022): window by power as round-trip times show it",
    PowertcpPresets()};
inline const AnswersEachPacket kThetaPowertcpAnswers{"theta-powertcp"};

} // namespace rdma

#endif // RDMA_CORE_POWERTCP_WINDOW_H
