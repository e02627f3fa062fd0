/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * REPS, the sender's side, as a pure law: which entropy (the bits of a header that switches hash)
 * each packet takes.
 *
 * T. Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and
 * Failure Mitigation", arXiv 2407.21625. Its first page was read; steps and numbers are as a
 * summary and public code have them, and assumed to be the paper's: a ring of 8 entropies whose
 * packets came back unmarked. Each is taken once, the oldest first; while there is none a packet
 * takes one by chance. A failure, seen as a time-out, freezes it: then those of the ring go round
 * again and again, used or not, and nothing is tried by chance. After the freezing time the first
 * unmarked ACK ends that: the ring is emptied and some packets explore anew, as in Ultra Ethernet's
 * simulator (csg-htsim, sim/uec_mp.cpp: 16 packets, resetBuffer).
 */
#ifndef RDMA_CORE_REPS_ENTROPIES_H
#define RDMA_CORE_REPS_ENTROPIES_H

#include <array>
#include <cstdint>

namespace rdma
{

class RepsEntropies
{
  public:
    static constexpr uint32_t kRing = 8;

    /// \param chance() a number by chance \return of the next packet
    template <class Chance>
    uint16_t Next(const Chance& chance)
    {
        if (m_explore > 0 || m_cached == 0 || (m_fresh == 0 && !m_frozen))
        {
            m_explore -= m_explore > 0;
            return static_cast<uint16_t>(chance());
        }
        if (m_fresh > 0)
        {
            const uint32_t oldest = (m_head + kRing - m_fresh) % kRing;
            --m_fresh;
            return m_ring[oldest];
        }
        // Frozen: round those there are, which are the ring's first until it has been full.
        m_round = (m_round + 1) % m_cached;
        return m_ring[m_round];
    }

    /// A packet is acknowledged. \param explore packets by chance after a freezing
    void OnAck(uint16_t entropy, bool marked, int64_t now, uint32_t explore)
    {
        if (marked)
        {
            return;
        }
        if (m_frozen && now >= m_thaw)
        {
            // What went round is few paths, used again and again: forget it.
            m_frozen = false;
            m_explore = explore;
            m_head = m_fresh = m_cached = 0;
        }
        m_ring[m_head] = entropy;
        m_head = (m_head + 1) % kRing;
        m_fresh += m_fresh < kRing;
        m_cached += m_cached < kRing;
    }

    /// A packet is taken for lost. \param freezing ps
    void OnFailure(int64_t now, int64_t freezing)
    {
        if (!m_frozen && m_explore == 0)
        {
            m_frozen = true;
            m_thaw = now + freezing;
        }
    }

    /// \return entropies that came back unmarked and have not been taken since
    uint32_t Fresh() const
    {
        return m_fresh;
    }

    bool IsFrozen() const
    {
        return m_frozen;
    }

  private:
    std::array<uint16_t, kRing> m_ring{};
    uint32_t m_head = 0;   ///< the next is written here
    uint32_t m_fresh = 0;  ///< those before m_head that have not been taken
    uint32_t m_cached = 0; ///< that have ever been written, at most kRing
    uint32_t m_round = 0;
    uint32_t m_explore = 0; ///< packets that still go by chance
    bool m_frozen = false;
    int64_t m_thaw = 0; ///< ps
};

} // namespace rdma

#endif // RDMA_CORE_REPS_ENTROPIES_H
