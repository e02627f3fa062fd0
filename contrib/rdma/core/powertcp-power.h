/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The power of each link of a path, from two readings of its telemetry: what both PowerTCP laws
 * begin with (powertcp-window.h, powertcp-ns3-rates.h; symbols as there).
 *
 *   power   lambda nu / (b^2 tau),   lambda = (qlen - last qlen + txBytes - last txBytes) / dt,
 *                                    nu = b tau + qlen
 *
 * It is negative if the current lambda is: what that counts for is up to the law.
 *
 * Units: picoseconds, bytes, bits per second.
 */
#ifndef RDMA_CORE_POWERTCP_POWER_H
#define RDMA_CORE_POWERTCP_POWER_H

#include "telemetry-hop.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace rdma
{

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
