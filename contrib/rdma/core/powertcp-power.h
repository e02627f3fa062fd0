/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the PowerTCP laws share (powertcp-window.h, powertcp-ns3-rates.h; symbols as there): their
 * names, constants, and what power is made of. The power of each link of a path, from two readings
 * of its telemetry, is
 *
 *   power   lambda nu / (b^2 tau),   lambda = (qlen - last qlen + txBytes - last txBytes) / dt,
 *                                    nu = b tau + qlen
 *
 * It is negative if the current lambda is: what that counts for is up to the law. Without telemetry
 * it is made of the round-trip times of two ACKs.
 *
 * Units: picoseconds, bytes, bits per second.
 */
#ifndef RDMA_CORE_POWERTCP_POWER_H
#define RDMA_CORE_POWERTCP_POWER_H

#include "congestion-control.h"
#include "input-error.h"
#include "telemetry-hop.h"
#include "units.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdma
{

enum PowertcpPreset
{
    kPowertcpNsdi22,
    kPowertcpNsdi22Ns3 ///< PowertcpNs3Rate, ThetaPowertcpNs3Rate
};

inline std::vector<CongestionPreset>
PowertcpPresets()
{
    return {{kPowertcpNsdi22,
             "nsdi22",
             "PowerTCP's paper, and its authors' Linux module where that leaves things open: gamma "
             "0.9, "
             "beta for 10 flows of a host",
             EcnHpcc19(Gbps(100))},
            {kPowertcpNsdi22Ns3,
             "nsdi22-ns3",
             "as in its authors' ns-3 code: rate + 150 Mb/s, eta 0.95, gamma 0.9; theta: floor "
             "0.5, 1.05 "
             "tau, gamma 0.7",
             EcnHpcc19(Gbps(100))}};
}

/// What all of them have.
class PowertcpLaw
{
  public:
    /// Smoothed and normalised.
    double Power() const
    {
        return m_power;
    }

  protected:
    /// Throws std::invalid_argument on constants the law has no meaning for. \param error of them
    PowertcpLaw(Duration baseRtt, double gamma, BitRate line, const InputError& error)
        : m_tau(static_cast<double>(baseRtt.ps)),
          m_gamma(gamma)
    {
        ThrowIf(error, "PowerTCP");
        if (baseRtt.ps <= 0 || line.bps == 0)
        {
            throw std::invalid_argument(
                "PowerTCP: base round-trip time and line rate must be positive");
        }
    }

    static InputError WrongShare(const char* parameter, double value)
    {
        if (value > 0 && value <= 1)
        {
            return {};
        }
        return ErrorAt(parameter, std::to_string(value) + " is not in (0, 1]");
    }

    double m_tau;
    double m_gamma;
    double m_power = 1; ///< Gamma: a new flow takes the path for full
};

/// The round-trip time of the last ACK.
class PowertcpTrip
{
  public:
    struct Step
    {
        double dt;
        double gradient; ///< d theta / dt
    };

    /// Whether there was one.
    bool Any() const
    {
        return m_rtt >= 0;
    }

    /// From the last to this one; nothing if both are of one moment: of several at once the first
    /// counts.
    std::optional<Step> To(int64_t rtt, int64_t now) const
    {
        const double dt = static_cast<double>(now - m_time);
        if (dt <= 0)
        {
            return std::nullopt;
        }
        return Step{dt, static_cast<double>(rtt - m_rtt) / dt};
    }

    void Note(int64_t rtt, int64_t now)
    {
        m_rtt = rtt;
        m_time = now;
    }

  private:
    int64_t m_rtt = -1; ///< theta
    int64_t m_time = 0;
};

/// The last readings of a path, and the powers since.
class PowertcpPath
{
  public:
    static constexpr std::size_t kMaxHops = 8;

    /// Hops of the last readings; 0: there are none.
    std::size_t Hops() const
    {
        return m_hops;
    }

    /// Notes the readings. \param n at most kMaxHops
    void Note(const TelemetryHop* hops, std::size_t n)
    {
        m_hops = n;
        std::copy_n(hops, n, m_last.begin());
    }

    /// Calls each(power, dt) for every link of which time has passed since the last reading (others
    /// are of the same moment, or overtaken). \param n Hops()
    template <class Each>
    void ForEachPower(const TelemetryHop* hops, std::size_t n, double tau, Each each) const
    {
        for (std::size_t i = 0; i < n; ++i)
        {
            const double dt = static_cast<double>(hops[i].time - m_last[i].time);
            if (dt <= 0)
            {
                continue;
            }
            const double queue = static_cast<double>(hops[i].queueBytes);
            const double came = queue - static_cast<double>(m_last[i].queueBytes) +
                                static_cast<double>(hops[i].txBytes - m_last[i].txBytes);
            const double b = static_cast<double>(hops[i].rateBps) / 8e12; // bytes per ps
            each(came / dt * (b * tau + queue) / (b * b * tau), dt);
        }
    }

  private:
    std::size_t m_hops = 0;
    std::array<TelemetryHop, kMaxHops> m_last{};
};

} // namespace rdma

#endif // RDMA_CORE_POWERTCP_POWER_H
