/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PINT's telemetry for HPCC: one byte a packet instead of HPCC's 42, the utilisation of the busiest
 * link on its way. Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020,
 * as the ns-3 code of HPCC's authors has it (alibaba-edu/High-Precision-Congestion-Control,
 * simulation/src/point-to-point/model/pint.{h,cc}, switch-node.cc: CC mode 10). The paper itself
 * was not opened.
 *
 *   a switch, for a port    U = (1 - dt/T) U + dt/T (qLen / (B T) + bytes / (B dt))   T: base RTT
 *                           dt: since the last such packet, at most T; bytes: sent in it
 *   in a packet             p = the largest of encode(U) on its way
 *   encode(U)               1.05^p = 512 U, p rounded up or down by chance so that the mean is
 *                           right
 *
 * That code computes U by tables of logarithms, as a switch would; here it is exact.
 *
 * Units: ps, bytes, bit/s.
 */
#ifndef RDMA_CORE_PINT_H
#define RDMA_CORE_PINT_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rdma
{

/// Wire size: 8 bits hold 512^2 = 1.05^255.7 (Pint::get_n_bits).
constexpr uint32_t kPintBytes = 1;

constexpr double kPintBase = 1.05; ///< PINT_LOG_BASE, its default
constexpr double kPintScale = 512; ///< max_concurrent: the least utilisation is 1/512

/// \param random 32 bits by chance. Returns the code of a utilisation.
inline uint8_t
PintEncode(double utilization, uint32_t random)
{
    const double value = std::max(1.0, std::ceil(utilization * kPintScale));
    const double power = std::log(value) / std::log(kPintBase);
    const double low = std::floor(power);
    const double below = std::pow(kPintBase, low);
    const double share = (value - below) / (below * (kPintBase - 1));
    const double code = low + (static_cast<double>(random) < share * 4294967296.0 ? 1 : 0);
    return static_cast<uint8_t>(std::min(code, 255.0));
}

inline double
PintDecode(uint8_t code)
{
    return std::pow(kPintBase, code) / kPintScale;
}

/// What a switch keeps of a port.
class PintLink
{
  public:
    /// A packet leaves. \param sent bytes by the port before it \param queue bytes behind it
    /// \param rate of the port, bit/s \param period T. Returns the port's utilisation.
    double OnPacket(int64_t now, uint64_t sent, uint64_t queue, uint64_t rate, int64_t period)
    {
        const auto t = static_cast<double>(period);
        const auto since = static_cast<double>(std::max<int64_t>(1, now - m_last));
        const double weight = std::min(t, since) / t;
        const double perRound = static_cast<double>(rate) * t / 8e12; // B T
        const double perTime = static_cast<double>(rate) * since / 8e12;
        m_utilization =
            (1 - weight) * m_utilization + weight * (static_cast<double>(queue) / perRound +
                                                     static_cast<double>(sent - m_sent) / perTime);
        m_last = now;
        m_sent = sent;
        return m_utilization;
    }

  private:
    double m_utilization = 0;
    int64_t m_last = 0;
    uint64_t m_sent = 0;
};

} // namespace rdma

#endif // RDMA_CORE_PINT_H
