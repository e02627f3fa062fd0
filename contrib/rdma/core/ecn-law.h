/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ECN marking by the instantaneous length of an egress queue: RED without averaging, as the DCQCN
 * paper's congestion point has it (Zhu et al., SIGCOMM 2015, section 3.1, figure 5) and as switch
 * chips do.
 *
 *   probability   1 |            +-------
 *                   |            |
 *            Pmax   |          . |          0                                        q < Kmin
 *                   |       .    |          Pmax (q - Kmin) / (Kmax - Kmin)   Kmin <= q < Kmax
 *               0   |----.       |          1                                Kmax <= q
 *                   +----+-------+-----> q
 *                       Kmin   Kmax
 *
 * Kmin = Kmax is DCTCP's step. Queue lengths are frame bytes (without preamble and gap); or q is
 * the time that a frame was queued, in ps, and so are Kmin and Kmax. (Papers leave open which side
 * Kmin and Kmax themselves are on.)
 */
#ifndef RDMA_CORE_ECN_LAW_H
#define RDMA_CORE_ECN_LAW_H

#include "units.h"

#include <stdexcept>

namespace rdma
{

/// The curve above.
struct EcnParameters
{
    Bytes kmin{400000};
    Bytes kmax{1600000};
    double pmax = 0.2; ///< in [0, 1]
};

/// A threshold given for a port of rate `at`, for a port of rate `port`: it stands for a delay, so
/// it scales with rate.
inline Bytes
ScaleToRate(Bytes bytes, BitRate at, BitRate port)
{
    return Bytes(
        static_cast<uint64_t>(static_cast<unsigned __int128>(bytes.value) * port.bps / at.bps));
}

/// Kmin 400 KB, Kmax 1,600 KB, Pmax 0.2 for 100 Gb/s, scaled with the rate (KB = 1,000 B): Li et
/// al., "HPCC", SIGCOMM 2019, section 5.1, and its artifact (simulation/run.py: 100 and 400 KB per
/// 25 Gb/s).
inline EcnParameters
EcnHpcc19(BitRate port)
{
    return {ScaleToRate(Bytes(400000), Gbps(100), port),
            ScaleToRate(Bytes(1600000), Gbps(100), port),
            0.2};
}

/// Kmin 5 KB, Kmax 200 KB, Pmax 1% for 40 Gb/s, scaled with the rate: Zhu et al., SIGCOMM 2015,
/// section 5.3, table 14.
inline EcnParameters
EcnSigcomm15(BitRate port)
{
    return {ScaleToRate(Bytes(5000), Gbps(40), port),
            ScaleToRate(Bytes(200000), Gbps(40), port),
            0.01};
}

/// The marking decision of one port.
class EcnLaw
{
  public:
    /// Never marks.
    EcnLaw() = default;

    /// By bytes in the queue. Throws std::invalid_argument if Kmin > Kmax or Pmax is not a
    /// probability.
    explicit EcnLaw(const EcnParameters& parameters)
        : EcnLaw(parameters.kmin.value, parameters.kmax.value, parameters.pmax)
    {
    }

    /// By time in the queue; as above.
    EcnLaw(Duration kmin, Duration kmax, double pmax)
        : EcnLaw(static_cast<uint64_t>(kmin.ps), static_cast<uint64_t>(kmax.ps), pmax)
    {
    }

    /// Below, nothing is marked.
    uint64_t Kmin() const
    {
        return m_kmin;
    }

    uint64_t Kmax() const
    {
        return m_kmax;
    }

    /// The probability of marking. \param length bytes, or ps
    double Probability(uint64_t length) const
    {
        if (length < m_kmin)
        {
            return 0;
        }
        if (length >= m_kmax)
        {
            return 1;
        }
        return m_slope * static_cast<double>(length - m_kmin);
    }

    /// Whether to mark: `draw()` gives a number uniform in [0, 1) and is called from Kmin to below
    /// Kmax only, so an uncongested port costs one comparison and no random number.
    template <typename Draw>
    bool Marks(uint64_t length, Draw&& draw) const
    {
        if (length < m_kmin)
        {
            return false;
        }
        return length >= m_kmax || draw() < m_slope * static_cast<double>(length - m_kmin);
    }

  private:
    EcnLaw(uint64_t kmin, uint64_t kmax, double pmax)
        : m_kmin(kmin),
          m_kmax(kmax),
          m_slope(kmax > kmin ? pmax / static_cast<double>(kmax - kmin) : 0)
    {
        if (kmin > kmax)
        {
            throw std::invalid_argument("ECN: Kmin is above Kmax");
        }
        if (!(pmax >= 0 && pmax <= 1))
        {
            throw std::invalid_argument("ECN: Pmax is not in [0, 1]");
        }
    }

    uint64_t m_kmin = UINT64_MAX;
    uint64_t m_kmax = UINT64_MAX;
    double m_slope = 0; ///< probability per unit above Kmin
};

} // namespace rdma

#endif // RDMA_CORE_ECN_LAW_H
