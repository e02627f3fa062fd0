/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PLB, the sender's side, as a pure law: when a connection takes another path.
 *
 * M. A. Qureshi et al., "PLB: Congestion Signals are Simple and Effective for Network Load
 * Balancing", SIGCOMM 2022, as Linux has it (net/ipv4/tcp_plb.c; the constants and their names in
 * the paper: Documentation/networking/ip-sysctl.rst, tcp_plb_*):
 *
 *   a round is a round trip; it is congested if at least half of its ACKs are of marked packets
 *   after M = 3 congested rounds in a row a connection takes another path as soon as nothing is in
 *   flight, so that nothing is overtaken, after N = 12 at once; then it counts anew
 *   after a time-out it keeps its path for 60 s to 120 s, by chance
 */
#ifndef RDMA_CORE_PLB_ROUNDS_H
#define RDMA_CORE_PLB_ROUNDS_H

#include <cstdint>

namespace rdma
{

struct PlbParameters
{
    uint32_t idleRounds = 3;          ///< M; 0: never because it is idle
    uint32_t rounds = 12;             ///< N
    double threshold = 0.5;           ///< share of ACKs that are marked
    int64_t suspend = 60000000000000; ///< ps
};

class PlbRounds
{
  public:
    /// Packets are acknowledged. \param acked the first PSN that is not \param next the next to be
    /// sent, so that the round ends when all before is acknowledged
    void OnAck(bool marked, uint64_t acked, uint64_t next, const PlbParameters& p)
    {
        ++m_acks;
        m_marked += marked;
        if (acked < m_roundEnd)
        {
            return;
        }
        const bool congested =
            static_cast<double>(m_marked) >= p.threshold * static_cast<double>(m_acks);
        m_congested = congested ? m_congested + (m_congested < p.rounds) : 0;
        m_acks = m_marked = 0;
        m_roundEnd = next;
    }

    /// Before a packet is sent. \return whether it takes another path, which is counted
    bool Repaths(bool idle, int64_t now, const PlbParameters& p)
    {
        const bool due =
            m_congested >= p.rounds || (idle && p.idleRounds > 0 && m_congested >= p.idleRounds);
        if (!due || now < m_suspended)
        {
            return false;
        }
        m_congested = 0;
        return true;
    }

    /// \param chance in [0, 1)
    void OnTimeout(int64_t now, double chance, const PlbParameters& p)
    {
        m_suspended =
            now + p.suspend + static_cast<int64_t>(chance * static_cast<double>(p.suspend));
        m_congested = 0;
    }

    uint32_t CongestedRounds() const
    {
        return m_congested;
    }

  private:
    uint64_t m_roundEnd = 0; ///< PSN
    uint32_t m_acks = 0;     ///< of this round
    uint32_t m_marked = 0;
    uint32_t m_congested = 0; ///< rounds in a row
    int64_t m_suspended = 0;  ///< keeps its path until then, ps
};

} // namespace rdma

#endif // RDMA_CORE_PLB_ROUNDS_H
