/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RED with an averaged queue: Floyd & Jacobson, "Random early detection gateways for congestion
 * avoidance", IEEE/ACM ToN 1(4), 1993.
 *
 *     a frame joins a queue of q bytes:   avg += w (q - avg)
 *     a frame joins an empty one:         avg *= (1 - w)^m, m frames could have been sent since
 *     Kmin <= avg < Kmax:                 pb = Pmax (avg - Kmin) / (Kmax - Kmin)
 *                                         marked with probability pb / (1 - c pb), c frames since
 *                                         the last mark: gaps are uniform, not geometric
 *     Kmax <= avg:                        marked
 *
 * After n frames that join a queue of q bytes, avg is q (1 - (1 - w)^n): with w = 0.002 (the
 * paper's) 63.2% after 500 frames. The curve and its thresholds are those of ecn-law.h.
 */
#ifndef RDMA_CORE_AVERAGE_RED_LAW_H
#define RDMA_CORE_AVERAGE_RED_LAW_H

#include "contrib/rdma/core/ecn-law.h"
#include "contrib/rdma/core/registered-part.h"

#include <cmath>
#include <cstdint>

namespace rdma
{

inline const RegisteredMarker kAverageRedMarker{
    MarkerName{{"red-average", "RED on an averaged queue (Floyd & Jacobson 1993)"}, true}};

/// Of one queue. Times are ps.
class AverageRedLaw
{
  public:
    static constexpr double kWeight = 0.002;

    AverageRedLaw() = default;

    AverageRedLaw(const EcnParameters& curve, double weight)
        : m_curve(curve),
          m_weight(weight)
    {
    }

    /// A frame joins a queue. \param waiting bytes without it \param serialization of the frame
    /// \param draw as EcnLaw::Marks has it \return whether it is marked
    template <class Draw>
    bool OnJoining(uint64_t waiting, int64_t serialization, int64_t now, Draw&& draw)
    {
        if (waiting == 0 && m_emptySince >= 0)
        {
            const auto could = static_cast<double>(now - m_emptySince);
            m_average *= std::pow(1 - m_weight, could / static_cast<double>(serialization));
        }
        else
        {
            m_average += m_weight * (static_cast<double>(waiting) - m_average);
        }
        m_emptySince = -1;
        const auto average = static_cast<uint64_t>(m_average);
        if (average < m_curve.Kmin())
        {
            m_since = 0;
            return false;
        }
        const double plain = m_curve.Probability(average);
        const double rest = 1 - static_cast<double>(m_since) * plain;
        if (plain < 1 && rest > plain && draw() >= plain / rest)
        {
            ++m_since;
            return false;
        }
        m_since = 0;
        return true;
    }

    /// A frame leaves. \param behind bytes that wait behind it \param end of its last bit
    void OnLeaving(uint64_t behind, int64_t end)
    {
        m_emptySince = behind ? -1 : end;
    }

    /// Bytes.
    double Average() const
    {
        return m_average;
    }

  private:
    EcnLaw m_curve;
    double m_weight = kWeight;
    double m_average = 0;
    int64_t m_emptySince = -1; ///< -1: something waits
    uint32_t m_since = 0;      ///< frames since the last mark
};

} // namespace rdma

#endif // RDMA_CORE_AVERAGE_RED_LAW_H
