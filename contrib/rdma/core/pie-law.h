/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PIE as a marker: Pan, Natarajan, Baker & White, RFC 8033 (2017), sections 4.1 to 4.4 and 5.1.
 *
 *     every T:   step = alpha (d - d0) + beta (d - dOld)       d: delay, d0: its target
 *                step is divided by 2048, 512, 128, 32, 8, 2 where p < 1e-6, 1e-5, ... 1e-1
 *                step <= 0.02 where p >= 0.1
 *                p += step, within [0, 1]
 *                p *= 1 - 1/64 where d and dOld are 0
 *     a frame joins: it is marked with probability p, but not during a burst's allowance, not while
 *                dOld < d0 / 2 and p < 0.2, and not if at most two mean packets wait
 *
 * The delay is the time in the queue of the frame that left last (the RFC allows it beside its
 * estimate by departure rate), and 0 once nothing waits. Where the RFC drops, frames are marked,
 * whatever p is (it drops from p = 0.1 on). Updates are made up for when the queue is looked at: in
 * between the delay does not change, so no timer is needed.
 *
 * The gains are for the RFC's target of 15 ms, and in proportion for others: alpha d0 is what
 * decides how a queue moves. Target and T of 20 us, as long as 250 kB take at 100 Gb/s: assumed.
 */
#ifndef RDMA_CORE_PIE_LAW_H
#define RDMA_CORE_PIE_LAW_H

#include "contrib/rdma/core/registered-part.h"

#include <algorithm>
#include <cstdint>

namespace rdma
{

inline const RegisteredMarker kPieMarker{
    MarkerName{{"pie", "by chance, as the time in the queue has been and grows (RFC 8033)"}}};

struct PieParameters
{
    int64_t target = 20 * 1000000LL;    ///< d0, ps
    int64_t update = 20 * 1000000LL;    ///< T, ps
    int64_t maxBurst = 200 * 1000000LL; ///< ps; the RFC's is ten targets, too
    double alpha = 0.125;               ///< 1/s, at a target of 15 ms
    double beta = 1.25;                 ///< 1/s, the same
    uint32_t meanPacket = 1500;         ///< bytes; the RFC's
};

/// Of one queue. Times are ps.
class PieLaw
{
  public:
    static constexpr double kReferenceTargetPs = 15e9; ///< of the gains

    PieLaw() = default;

    explicit PieLaw(const PieParameters& parameters)
        : m_parameters(parameters),
          m_allowance(parameters.maxBurst)
    {
        const double scale = 1e-12 * kReferenceTargetPs / static_cast<double>(parameters.target);
        m_alphaPerPs = parameters.alpha * scale;
        m_betaPerPs = parameters.beta * scale;
    }

    /// A frame joins a queue. \param waiting bytes without it \param draw gives a number uniform in
    /// [0, 1), and is called if chance decides \return whether it is marked
    template <class Draw>
    bool OnJoining(uint64_t waiting, int64_t now, Draw&& draw)
    {
        CatchUp(now);
        const bool low = m_before < m_parameters.target / 2 && m_probability < 0.2;
        if (m_allowance > 0 || low || waiting <= 2 * uint64_t{m_parameters.meanPacket})
        {
            return false;
        }
        return draw() < m_probability;
    }

    /// A frame leaves. \param behind bytes that wait behind it
    void OnLeaving(uint64_t behind, int64_t sojourn, int64_t now)
    {
        CatchUp(now);
        m_delay = behind ? sojourn : 0;
    }

    /// p. \pre what happened up to now has been told
    double Probability() const
    {
        return m_probability;
    }

  private:
    void CatchUp(int64_t now)
    {
        while (now - m_updated >= m_parameters.update)
        {
            if (m_delay == 0 && m_before == 0 && m_probability < 1e-12)
            {
                // Nothing moves any more; updates keep their places.
                m_probability = 0;
                m_allowance = m_parameters.maxBurst;
                m_updated += (now - m_updated) / m_parameters.update * m_parameters.update;
                return;
            }
            m_updated += m_parameters.update;
            Update();
        }
    }

    void Update()
    {
        const double p = m_probability;
        double step = m_alphaPerPs * static_cast<double>(m_delay - m_parameters.target) +
                      m_betaPerPs * static_cast<double>(m_delay - m_before);
        step /= p < 1e-6   ? 2048
                : p < 1e-5 ? 512
                : p < 1e-4 ? 128
                : p < 1e-3 ? 32
                : p < 1e-2 ? 8
                : p < 1e-1 ? 2
                           : 1;
        step = p >= 0.1 ? std::min(step, 0.02) : step;
        m_probability = std::clamp(p + step, 0.0, 1.0);
        if (m_delay == 0 && m_before == 0)
        {
            m_probability *= 1 - 1.0 / 64;
        }
        const int64_t half = m_parameters.target / 2;
        if (m_probability == 0 && m_delay < half && m_before < half)
        {
            m_allowance = m_parameters.maxBurst;
        }
        else
        {
            m_allowance = std::max<int64_t>(0, m_allowance - m_parameters.update);
        }
        m_before = m_delay;
    }

    PieParameters m_parameters;
    double m_alphaPerPs = 0;
    double m_betaPerPs = 0;
    double m_probability = 0;
    int64_t m_delay = 0;  ///< d
    int64_t m_before = 0; ///< dOld
    int64_t m_updated = 0;
    int64_t m_allowance = 0; ///< of a burst that is let through, ps
};

} // namespace rdma

#endif // RDMA_CORE_PIE_LAW_H
