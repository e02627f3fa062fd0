/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ECN marking by the instantaneous length of an egress queue: RED without averaging, as the DCQCN paper's
 * congestion point has it (Zhu et al., SIGCOMM 2015, section 3.1, figure 5) and as switch chips do.
 *
 *   probability   1 |            +-------
 *                   |            |
 *            Pmax   |          . |          0                                        q <= Kmin
 *                   |       .    |          Pmax (q - Kmin) / (Kmax - Kmin)   Kmin < q <= Kmax
 *               0   |----.       |          1                                 Kmax < q
 *                   +----+-------+-----> q
 *                       Kmin   Kmax
 *
 * Kmin = Kmax is DCTCP's step. Queue lengths are frame bytes (without preamble and gap).
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

/// A threshold given for a port of rate `at`, for a port of rate `port`: it stands for a delay, so it scales with rate.
inline Bytes
ScaleToRate(Bytes bytes, BitRate at, BitRate port)
{
    return Bytes(static_cast<uint64_t>(static_cast<unsigned __int128>(bytes.value) * port.bps / at.bps));
}

/// Kmin 400 KB, Kmax 1,600 KB, Pmax 0.2 for 100 Gb/s, scaled with the rate (KB = 1,000 B): Li et al., "HPCC", SIGCOMM
/// 2019, section 5.1, and its artifact (simulation/run.py: 100 and 400 KB per 25 Gb/s).
inline EcnParameters
EcnHpcc19(BitRate port)
{
    return {ScaleToRate(Bytes(400000), Gbps(100), port), ScaleToRate(Bytes(1600000), Gbps(100), port), 0.2};
}

/// Kmin 5 KB, Kmax 200 KB, Pmax 1% for 40 Gb/s, scaled with the rate: Zhu et al., SIGCOMM 2015, section 5.3, table 14.
inline EcnParameters
EcnSigcomm15(BitRate port)
{
    return {ScaleToRate(Bytes(5000), Gbps(40), port), ScaleToRate(Bytes(200000), Gbps(40), port), 0.01};
}

/// The marking decision of one port and priority.
class EcnLaw
{
  public:
    /// Throws std::invalid_argument if Kmin > Kmax or Pmax is not a probability.
    explicit EcnLaw(const EcnParameters& parameters)
        : m_p(parameters),
          m_slope(parameters.kmax > parameters.kmin
                      ? parameters.pmax / static_cast<double>((parameters.kmax - parameters.kmin).value)
                      : 0)
    {
        if (m_p.kmin > m_p.kmax)
        {
            throw std::invalid_argument("ECN: Kmin is above Kmax");
        }
        if (!(m_p.pmax >= 0 && m_p.pmax <= 1))
        {
            throw std::invalid_argument("ECN: Pmax is not in [0, 1]");
        }
    }

    /// The probability of marking at this queue length.
    double Probability(Bytes queue) const
    {
        if (queue <= m_p.kmin)
        {
            return 0;
        }
        if (queue > m_p.kmax)
        {
            return 1;
        }
        return m_slope * static_cast<double>((queue - m_p.kmin).value);
    }

    /// Whether to mark: `draw()` gives a number uniform in [0, 1) and is called between Kmin and Kmax only, so an
    /// uncongested port costs one comparison and no random number.
    template <typename Draw>
    bool Marks(Bytes queue, Draw&& draw) const
    {
        if (queue <= m_p.kmin)
        {
            return false;
        }
        return queue > m_p.kmax || draw() < m_slope * static_cast<double>((queue - m_p.kmin).value);
    }

    const EcnParameters& Parameters() const { return m_p; }

  private:
    EcnParameters m_p;
    double m_slope; ///< probability per byte above Kmin
};

} // namespace rdma

#endif // RDMA_CORE_ECN_LAW_H
