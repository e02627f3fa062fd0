/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Swift, the sender's side, as a pure window law: told the delays of a packet, it answers with a
 * window in packets, which may be less than one, and the time between packets that such a window
 * means.
 *
 * G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
 * SIGCOMM 2020, algorithm 1, with `delay` and `target` either of the fabric or of the end host:
 *
 *   ACK, delay < target      cwnd = cwnd + ai / cwnd x acked      cwnd >= 1
 *                            cwnd = cwnd + ai x acked             cwnd < 1
 *   ACK, else                cwnd = max(1 - beta (delay - target) / delay, 1 - max_mdf) cwnd    at
 *                            most once a round trip
 *   time-out                 cwnd = min_cwnd                      from the RETX_RESET_THRESHOLDth
 *                                                                 in a row on, else
 *                            cwnd = (1 - max_mdf) cwnd            at most once a round trip
 *   fast recovery            cwnd = (1 - max_mdf) cwnd            at most once a round trip
 *   always                   min_cwnd <= cwnd <= max_cwnd
 *   pacing                   rtt / cwnd from packet to packet if cwnd < 1, else none
 *
 * A round trip is over when now - t_last_decrease >= rtt. The pseudo code notes t_last_decrease
 * whenever cwnd <= cwnd_prev; taken literally each ACK that may not cut starts the wait anew, so
 * here it is noted when cwnd became less.
 *
 * Target of the fabric (section 3.5): topology scaling by the switches on the way and flow scaling,
 *
 *   target = base_target + hops h + max(0, min(alpha / sqrt(fcwnd) + beta_fs, fs_range)),
 *   alpha = fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd)),   beta_fs = -alpha /
 *                                                                         sqrt(fs_max_cwnd)
 *
 * Fabric delay is the round-trip time less what the receiving host took; the latter, smoothed, has
 * a target of its own (the NIC-Rx queue of the remote end; our NIC takes ACKs at once, so there is
 * no local one). The window is the lesser of fcwnd and ecwnd. Losses cut fcwnd.
 *
 * Units: picoseconds, packets.
 */
#ifndef RDMA_CORE_SWIFT_WINDOW_H
#define RDMA_CORE_SWIFT_WINDOW_H

#include "answered-packets.h"
#include "congestion-control.h"
#include "input-error.h"
#include "units.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace rdma
{

/// The paper names these constants but gives values for few of them; the rest are assumed.
/// csg-htsim (Broadcom/csg-htsim, sim/swift.cpp, whose comments call its values guesses) has the
/// same ai, beta, max_mdf, flow scaling and reset threshold, and others where SwiftHtsim() differs.
struct SwiftParameters
{
    double ai = 1;                          ///< additive increase, packets a round trip; assumed
    double beta = 0.8;                      ///< multiplicative decrease; assumed
    double maxMdf = 0.5;                    ///< most that one decrease takes; assumed
    Duration baseTarget = Microseconds(25); ///< assumed
    Duration perHop = Microseconds(1);      ///< h; assumed
    Duration fsRange = Microseconds(25);    ///< assumed: baseTarget
    double fsMinCwnd = 0.1;                 ///< the curve of section 3.5
    double fsMaxCwnd = 100;                 ///< the same
    Duration endpointTarget = Microseconds(25); ///< assumed: baseTarget
    double endpointWeight = 0.125;              ///< of the newest delay of the host; assumed
    double initialCwnd = 10;                    ///< assumed
    double minCwnd = 0.001;                     ///< section 3.4
    double maxCwnd = 1000;                      ///< assumed
    uint32_t retxResetThreshold = 5;            ///< assumed
};

/// csg-htsim's constants: base target 20 us, h = base target / 6.55, fs_range = 5 base targets,
/// max_cwnd 1,000 packets. Its min_cwnd is 10 bytes "to stay clear of rounding", and it has no
/// target of the end host: both as above here.
inline SwiftParameters
SwiftHtsim()
{
    SwiftParameters p;
    p.baseTarget = Microseconds(20);
    p.perHop = Duration(3053435); // 20 us / 6.55
    p.fsRange = Microseconds(100);
    return p;
}

class SwiftWindow
{
  public:
    /// What is wrong with these constants.
    static InputError Error(const SwiftParameters& p)
    {
        const auto share = [](const char* name, double value, bool one) -> InputError {
            if (value > 0 && (value < 1 || (one && value == 1)))
            {
                return {};
            }
            return ErrorAt(name,
                           std::to_string(value) +
                               (one ? " is not in (0, 1]" : " is not in (0, 1)"));
        };
        for (const InputError& error : {share("Beta", p.beta, true),
                                        share("MaxMdf", p.maxMdf, false),
                                        share("EndpointWeight", p.endpointWeight, true)})
        {
            if (error)
            {
                return error;
            }
        }
        if (!(p.ai > 0))
        {
            return ErrorAt("Ai", std::to_string(p.ai) + " is not above 0");
        }
        if (p.baseTarget.ps <= 0 || p.endpointTarget.ps <= 0)
        {
            return ErrorAt(p.baseTarget.ps <= 0 ? "BaseTarget" : "EndpointTarget",
                           "is not above 0");
        }
        if (p.perHop.ps < 0 || p.fsRange.ps < 0)
        {
            return ErrorAt(p.perHop.ps < 0 ? "PerHop" : "FsRange", "is negative");
        }
        if (!(p.fsMinCwnd > 0 && p.fsMinCwnd < p.fsMaxCwnd))
        {
            return ErrorAt("FsMinCwnd",
                           std::to_string(p.fsMinCwnd) + " is not between 0 and FsMaxCwnd, " +
                               std::to_string(p.fsMaxCwnd));
        }
        if (!(p.minCwnd > 0))
        {
            return ErrorAt("MinCwnd", std::to_string(p.minCwnd) + " is not above 0");
        }
        if (!(p.maxCwnd >= p.minCwnd))
        {
            return ErrorAt("MaxCwnd",
                           std::to_string(p.maxCwnd) + " is below MinCwnd, " +
                               std::to_string(p.minCwnd));
        }
        if (p.retxResetThreshold == 0)
        {
            return ErrorAt("RetxResetThreshold", "0 is no number of time-outs");
        }
        return {};
    }

    /// Throws std::invalid_argument on constants the law has no meaning for.
    explicit SwiftWindow(const SwiftParameters& p)
        : m_p(p),
          m_base(static_cast<double>(p.baseTarget.ps)),
          m_range(static_cast<double>(p.fsRange.ps)),
          m_alpha(m_range / (1 / std::sqrt(p.fsMinCwnd) - 1 / std::sqrt(p.fsMaxCwnd))),
          m_beta(-m_alpha / std::sqrt(p.fsMaxCwnd))
    {
        ThrowIf(Error(p), "Swift");
        m_fabric.cwnd = m_endpoint.cwnd = std::clamp(p.initialCwnd, p.minCwnd, p.maxCwnd);
    }

    /// An ACK. \param rtt of the packet that it answers \param host what of that it spent in the
    /// receiving host \param hops switches that it came through \param acked packets newly
    /// acknowledged
    void OnAck(int64_t now, int64_t rtt, int64_t host, uint32_t hops, double acked)
    {
        m_retransmissions = 0;
        m_rtt = rtt;
        m_host += m_p.endpointWeight * (static_cast<double>(host) - m_host);
        Adjust(m_fabric, static_cast<double>(rtt - host), FabricTarget(hops), acked, now);
        Adjust(m_endpoint, m_host, static_cast<double>(m_p.endpointTarget.ps), acked, now);
    }

    /// A NAK: packets were lost.
    void OnFastRecovery(int64_t now)
    {
        m_retransmissions = 0;
        Cut(now);
    }

    void OnTimeout(int64_t now)
    {
        if (++m_retransmissions >= m_p.retxResetThreshold)
        {
            Set(m_fabric, m_p.minCwnd, now);
        }
        else
        {
            Cut(now);
        }
    }

    double Window() const
    {
        return std::min(m_fabric.cwnd, m_endpoint.cwnd);
    }

    double FabricWindow() const
    {
        return m_fabric.cwnd;
    }

    double EndpointWindow() const
    {
        return m_endpoint.cwnd;
    }

    /// From packet to packet, ps; 0: not paced.
    double PacingDelay() const
    {
        return Window() < 1 ? static_cast<double>(m_rtt) / Window() : 0;
    }

    /// Target delay of the fabric, ps.
    double FabricTarget(uint32_t hops) const
    {
        const double flows = std::clamp(m_alpha / std::sqrt(m_fabric.cwnd) + m_beta, 0.0, m_range);
        return m_base + static_cast<double>(m_p.perHop.ps) * hops + flows;
    }

  private:
    struct State
    {
        double cwnd = 0;
        int64_t lastDecrease = std::numeric_limits<int64_t>::min() / 2;
    };

    void Adjust(State& w, double delay, double target, double acked, int64_t now)
    {
        if (delay < target)
        {
            Set(w, w.cwnd + (w.cwnd >= 1 ? m_p.ai / w.cwnd : m_p.ai) * acked, now);
        }
        else if (CanDecrease(w, now))
        {
            Set(w, std::max(1 - m_p.beta * (delay - target) / delay, 1 - m_p.maxMdf) * w.cwnd, now);
        }
    }

    void Cut(int64_t now)
    {
        if (CanDecrease(m_fabric, now))
        {
            Set(m_fabric, (1 - m_p.maxMdf) * m_fabric.cwnd, now);
        }
    }

    bool CanDecrease(const State& w, int64_t now) const
    {
        return now - w.lastDecrease >= m_rtt;
    }

    void Set(State& w, double cwnd, int64_t now)
    {
        cwnd = std::clamp(cwnd, m_p.minCwnd, m_p.maxCwnd);
        w.lastDecrease = cwnd < w.cwnd ? now : w.lastDecrease;
        w.cwnd = cwnd;
    }

    SwiftParameters m_p;
    double m_base;
    double m_range;
    double m_alpha; ///< of flow scaling, ps
    double m_beta;  ///< of flow scaling, ps
    State m_fabric;
    State m_endpoint;
    int64_t m_rtt = 0; ///< the last one
    double m_host = 0; ///< smoothed
    uint32_t m_retransmissions = 0;
};

enum SwiftPreset
{
    kSwiftSigcomm20,
    kSwiftHtsim
};

inline const RegisteredCongestionControl kSwift{
    "swift",
    "Swift (Kumar et al., SIGCOMM 2020): window, also below a packet, by round-trip times against "
    "a target",
    {{kSwiftSigcomm20,
      "sigcomm20",
      "Swift's paper: flow scaling from 0.1 to 100 packets; assumed: target 25 us, 1 us a hop, 25 "
      "us for flows, ai 1, beta 0.8, "
      "max_mdf 0.5",
      EcnHpcc19(Gbps(100))},
     {kSwiftHtsim,
      "csg-htsim",
      "the same law with csg-htsim's constants: target 20 us, 3.05 us a hop, 100 us for flows, "
      "windows to 1,000 packets",
      EcnHpcc19(Gbps(100))}}};
inline const AnswersEachPacket kSwiftAnswers{"swift"};

} // namespace rdma

#endif // RDMA_CORE_SWIFT_WINDOW_H
