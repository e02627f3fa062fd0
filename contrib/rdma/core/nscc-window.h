/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NSCC, the sender's congestion control of Ultra Ethernet's transport, as a pure window law. From
 * the Ultra Ethernet Consortium's simulator (ultraethernet/uet-htsim, sim/uec.cpp: initNsccParams,
 * updateCwndOnAck_NSCC, updateCwndOnNack_NSCC, quick_adapt, fulfill_adjustment), whose README says
 * that its defaults follow the UE specification's; the specification itself was not opened.
 *
 * An ACK tells whether its packet was marked (ECN) and how long it was in queues (its round trip
 * less the least one): four cases.
 *
 *                     delay < target                     delay >= target
 *     not marked      proportional increase:             fair increase:
 *                     alpha bytes (target - delay)       fi bytes
 *     marked          nothing: another path              multiplicative decrease, at most one a
 *                                                        round trip: by gamma (avg - target) / avg
 *
 * What the increases add up to is given to the window, divided by it, once 8 packets or a round
 * trip have been acknowledged, with eta bytes a round trip. A window of ACKs with next to no delay
 * increases it fast.
 *
 * Quick adapt: each base round trip + target it looks whether packets were trimmed or lost, or a
 * delay was above 4 targets; if less than maxwnd / 2^gate has arrived since, the window becomes
 * what has arrived, and what was in flight then is not looked at. Else a trimmed packet takes its
 * size off the window.
 *
 * Constants scale with the network: a = its bandwidth-delay product / (100 Gb/s x 12 us),
 * b = target / 12 us. Units: bytes, ps.
 */
#ifndef RDMA_CORE_NSCC_WINDOW_H
#define RDMA_CORE_NSCC_WINDOW_H

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace rdma
{

struct NsccParameters
{
    double packet = 0;             ///< payload of a full one
    int64_t networkRtt = 0;        ///< ps, to the farthest host
    uint64_t lineBps = 0;          ///< bit/s
    int64_t targetDelay = 0;       ///< ps
    uint32_t gate = 3;             ///< of quick adapt: maxwnd / 2^gate
    double gamma = 0.8;            ///< of the multiplicative decrease
    double leastFactor = 0.5;      ///< that it leaves
    double alpha = 4;              ///< proportional increase, packets x a x b a target
    double fairIncrease = 5;       ///< packets x a
    double eta = 0.15;             ///< packets x a, once a round trip
    double fastIncrease = 0.25;    ///< x a of what is acknowledged
    double delayWeight = 0.0125;   ///< of a packet in the mean of delays
    double initialWindow = 0;      ///< bytes; 0: the largest
    double windowOfProducts = 1.5; ///< largest window, in bandwidth-delay products
};

class NsccWindow
{
  public:
    static constexpr int64_t REFERENCE_RTT = 12000000; ///< ps
    static constexpr double REFERENCE_BYTES = 150000;  ///< 100 Gb/s x 12 us
    static constexpr int64_t NO_DELAY = 1000000;       ///< ps: less is next to none
    static constexpr uint32_t PACKETS_TO_ADJUST = 8;
    static constexpr int64_t FAR_OFF = 4; ///< targets: quick adapt

    /// Throws std::invalid_argument on constants that the law has no meaning for.
    explicit NsccWindow(const NsccParameters& parameters)
        : m_p(parameters),
          m_baseRtt(parameters.networkRtt)
    {
        if (m_p.packet <= 0 || m_p.networkRtt <= 0 || m_p.lineBps == 0 || m_p.targetDelay <= 0)
        {
            throw std::invalid_argument("NSCC: packet, round trip, rate and target delay must be "
                                        "positive");
        }
        const double scale = Product(m_p.networkRtt) / REFERENCE_BYTES;
        const double b = static_cast<double>(m_p.targetDelay) / static_cast<double>(REFERENCE_RTT);
        m_alpha = m_p.alpha * m_p.packet * scale * b / static_cast<double>(m_p.targetDelay);
        m_fair = m_p.fairIncrease * m_p.packet * scale;
        m_eta = m_p.eta * m_p.packet * scale;
        m_fast = m_p.fastIncrease * scale;
        m_largest = m_p.windowOfProducts * Product(m_baseRtt);
        m_window = m_p.initialWindow > 0 ? m_p.initialWindow : m_largest;
        KeepInBounds();
    }

    /// Bytes that may be in flight.
    double Window() const
    {
        return m_window;
    }

    double Largest() const
    {
        return m_largest;
    }

    /// Mean of delays, ps.
    double MeanDelay() const
    {
        return m_meanDelay;
    }

    int64_t BaseRtt() const
    {
        return m_baseRtt;
    }

    /// An ACK. \param newly bytes that it tells the arrival of \param marked its packet was
    /// \param rtt of its packet, ps; -1: unknown \param inFlight bytes, without those
    void OnAck(double newly, bool marked, int64_t rtt, double inFlight, int64_t now)
    {
        m_achieved += newly;
        m_received += newly;
        m_ignored += newly;
        double delay = m_meanDelay;
        if (rtt >= 0)
        {
            HearRoundTrip(rtt);
            delay = static_cast<double>(rtt - m_baseRtt);
            Average(delay, marked);
        }
        if (QuickAdapt(false, marked, delay, inFlight, now))
        {
            return;
        }
        const auto target = static_cast<double>(m_p.targetDelay);
        if (!marked && delay >= target)
        {
            m_increase += m_fair * newly;
        }
        else if (!marked)
        {
            Increase(newly, delay, target);
        }
        else if (delay >= target)
        {
            Decrease(target, now);
        }
        KeepInBounds();
        if (m_received > PACKETS_TO_ADJUST * m_p.packet || now - m_adjusted > m_p.networkRtt)
        {
            m_window += m_increase / m_window;
            if (now - m_adjusted >= m_p.networkRtt)
            {
                m_window += m_eta;
                m_adjusted = now;
            }
            m_increase = m_received = 0;
        }
        KeepInBounds();
    }

    /// A packet of so many bytes has been trimmed. \param inFlight bytes, with it
    void OnTrimmed(double bytes, double inFlight, int64_t now)
    {
        m_ignored += bytes;
        Average(static_cast<double>(m_p.networkRtt), true);
        m_trigger = true;
        if (!QuickAdapt(true, true, 0, inFlight, now))
        {
            m_window -= bytes;
            KeepInBounds();
        }
    }

    /// So many bytes were lost: a time-out.
    void OnLost(double bytes)
    {
        m_window -= bytes;
        KeepInBounds();
    }

  private:
    double Product(int64_t rtt) const
    {
        return static_cast<double>(rtt) * static_cast<double>(m_p.lineBps) / 8e12;
    }

    void KeepInBounds()
    {
        m_window = std::max(m_p.packet, std::min(m_window, m_largest));
    }

    void HearRoundTrip(int64_t rtt)
    {
        if (rtt < m_baseRtt)
        {
            m_baseRtt = rtt;
            m_largest = m_p.windowOfProducts * Product(rtt);
        }
    }

    void Average(double delay, bool marked)
    {
        // A long delay that no switch has marked counts for little: a quarter of a round trip.
        const double sample = !marked && delay > static_cast<double>(m_p.targetDelay)
                                  ? 0.25 * static_cast<double>(m_baseRtt)
                                  : delay;
        m_meanDelay += m_p.delayWeight * (sample - m_meanDelay);
    }

    void Increase(double newly, double delay, double target)
    {
        if (delay < static_cast<double>(NO_DELAY))
        {
            m_idle += newly;
            if (m_idle > m_window || m_isFast)
            {
                m_window += newly * m_fast;
                m_isFast = true;
                return;
            }
        }
        else
        {
            m_idle = 0;
        }
        m_isFast = false;
        m_increase += m_alpha * newly * (target - delay);
    }

    void Decrease(double target, int64_t now)
    {
        m_isFast = false;
        m_idle = 0;
        if (m_meanDelay > target && now - m_decreased > m_baseRtt)
        {
            m_window *=
                std::max(1 - m_p.gamma * (m_meanDelay - target) / m_meanDelay, m_p.leastFactor);
            m_decreased = now;
        }
    }

    /// Returns whether what has come is not to be looked at.
    bool QuickAdapt(bool lost, bool marked, double delay, double inFlight, int64_t now)
    {
        bool done = m_ignored < m_toIgnore && marked;
        if (!done && now > m_lookAt)
        {
            if (m_lookAt != 0 &&
                (m_trigger || lost || delay > static_cast<double>(FAR_OFF * m_p.targetDelay)) &&
                m_achieved < m_largest / static_cast<double>(1ULL << m_p.gate))
            {
                m_window = std::max(m_achieved, m_p.packet);
                m_toIgnore = inFlight;
                m_ignored = 0;
                m_trigger = false;
                done = true;
            }
            m_achieved = 0;
            m_lookAt = now + m_baseRtt + m_p.targetDelay;
        }
        if (done)
        {
            m_increase = m_received = 0;
        }
        return done;
    }

    NsccParameters m_p;
    double m_alpha;
    double m_fair;
    double m_eta;
    double m_fast;
    double m_largest;
    double m_window;
    double m_meanDelay = 0; ///< ps
    double m_increase = 0;  ///< bytes x bytes, to be divided by the window
    double m_received = 0;  ///< since the increase was given
    double m_achieved = 0;  ///< since quick adapt looked
    double m_ignored = 0;
    double m_toIgnore = 0;
    double m_idle = 0; ///< acknowledged in a row with next to no delay
    int64_t m_baseRtt; ///< ps
    int64_t m_adjusted = 0;
    int64_t m_decreased = 0;
    int64_t m_lookAt = 0; ///< quick adapt's next time; 0: it has not begun
    bool m_trigger = false;
    bool m_isFast = false;
};

} // namespace rdma

#endif // RDMA_CORE_NSCC_WINDOW_H
