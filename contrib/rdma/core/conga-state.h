/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What CONGA's switches keep (M. Alizadeh et al., "CONGA: Distributed Congestion-Aware Load
 * Balancing for Datacenters", SIGCOMM 2014):
 *
 *   DRE     discounting rate estimator of a link: a register X grows by what is sent and every
 *           Tdre falls by the share alpha, so it stands near R tau at the rate R, tau = Tdre /
 *           alpha; the link's congestion is X / (C tau) in 2^Q steps
 *   to      at the leaf that sends: congestion of the way by each of its ports to another leaf, as
 *           that leaf has told; what has not been told for a long time fades to 0
 *   from    at the leaf that receives: what arrived by each port of the other leaf, to be told back
 *
 * Constants as the ns-3 model of ConWeave's authors has them (conweave-ns3,
 * src/point-to-point/model/conga-routing.cc: Tdre 200 us, alpha 0.2, Q 3, ageing 10 ms). How a
 * value fades (one step each further eighth of the ageing time) and in which order values are told
 * (in turns, those that changed first) is assumed.
 *
 * Nothing here has a timer: what falls with time is computed when it is read.
 *
 * Units: bytes, ps.
 */
#ifndef RDMA_CORE_CONGA_STATE_H
#define RDMA_CORE_CONGA_STATE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace rdma
{

struct CongaParameters
{
    int64_t period = 200000000; ///< Tdre, ps
    double alpha = 0.2;         ///< in (0, 1)
    uint32_t bits = 3;          ///< Q, 1 to 8
    int64_t age = 10000000000;  ///< ps
};

/// Load of one link, in one direction.
class CongaRate
{
  public:
    void Add(uint32_t bytes, int64_t now, const CongaParameters& p)
    {
        Fall(now, p);
        m_register += bytes;
    }

    /// \return 0 to 2^Q - 1 \param bitRate of the link
    uint8_t Congestion(uint64_t bitRate, int64_t now, const CongaParameters& p)
    {
        Fall(now, p);
        // C tau in bytes.
        const double full =
            static_cast<double>(bitRate) / 8e12 * static_cast<double>(p.period) / p.alpha;
        const double steps = static_cast<double>(1U << p.bits);
        return static_cast<uint8_t>(std::min(steps - 1, std::floor(m_register / full * steps)));
    }

    double Register() const
    {
        return m_register;
    }

  private:
    void Fall(int64_t now, const CongaParameters& p)
    {
        const int64_t periods = now / p.period - m_period;
        if (periods > 0)
        {
            m_register *=
                periods == 1 ? 1 - p.alpha : std::pow(1 - p.alpha, static_cast<double>(periods));
            m_period += periods;
        }
    }

    double m_register = 0;
    int64_t m_period = 0; ///< that m_register is of
};

/// What one leaf keeps of one other: by its own ports, and by the other's.
class CongaPair
{
  public:
    /// What a frame tells: nothing if `port` is kNothing.
    struct Told
    {
        uint16_t port;
        uint8_t congestion;
    };

    static constexpr uint16_t kNothing = 0xffff;

    /// The other leaf has told of the way by one of the ports here.
    void Learn(uint16_t port, uint8_t congestion, int64_t now)
    {
        At(m_to, port) = {now, congestion, false, true};
    }

    /// \return of the way by one of the ports here; 0 if nothing was told
    uint8_t To(uint16_t port, int64_t now, const CongaParameters& p) const
    {
        if (port >= m_to.size() || !m_to[port].known)
        {
            return 0;
        }
        const int64_t late = now - m_to[port].at - p.age;
        const int64_t faded = late < 0 ? 0 : 1 + late / std::max<int64_t>(1, p.age / 8);
        return static_cast<uint8_t>(std::max<int64_t>(0, m_to[port].congestion - faded));
    }

    /// A frame has come that left the other leaf by this port of it.
    void Arrived(uint16_t port, uint8_t congestion, int64_t now)
    {
        Value& value = At(m_from, port);
        value.changed = value.changed || !value.known || value.congestion != congestion;
        value.congestion = congestion;
        value.at = now;
        value.known = true;
    }

    /// \return what the next frame to the other leaf tells
    Told Tell()
    {
        const size_t n = m_from.size();
        size_t any = n;
        for (size_t i = 0; i < n; ++i)
        {
            const size_t port = (m_next + i) % n;
            if (m_from[port].changed)
            {
                any = port;
                break;
            }
            any = m_from[port].known && any == n ? port : any;
        }
        if (any == n)
        {
            return {kNothing, 0};
        }
        m_from[any].changed = false;
        m_next = any + 1;
        return {static_cast<uint16_t>(any), m_from[any].congestion};
    }

  private:
    struct Value
    {
        int64_t at = 0;
        uint8_t congestion = 0;
        bool changed = false; ///< since it was told
        bool known = false;
    };

    static Value& At(std::vector<Value>& values, uint16_t port)
    {
        if (port >= values.size())
        {
            values.resize(port + size_t{1});
        }
        return values[port];
    }

    std::vector<Value> m_to;
    std::vector<Value> m_from;
    size_t m_next = 0;
};

} // namespace rdma

#endif // RDMA_CORE_CONGA_STATE_H
