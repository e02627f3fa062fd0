/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PULL_QUEUE_H
#define RDMA_PULL_QUEUE_H

#include "ns3/rdma-event.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

class RdmaNic;
class RdmaQueuePair;

/**
 * \ingroup rdma
 * The pulls that a NIC owes to those who send to it: one queue for all its connections, which take
 * turns, a pull at a time, and no faster than the packets that they ask for can come in: one each
 * time that a full packet takes on the NIC's line (RdmaNic::PullRate). NDP (Handley et al., SIGCOMM
 * 2017); its authors' simulator: Broadcom/csg-htsim, sim/ndp.cpp, NdpPullPacer.
 */
class RdmaPullQueue
{
  public:
    explicit RdmaPullQueue(RdmaNic* nic);

    /// \return whether a pull may go at once, with an answer: nobody waits, and it is time
    bool Take(int64_t now);
    /// A connection owes a pull and is not in the queue. Its recovery gives it when its turn comes.
    /// \param urgent before all that are not (a connection may stand among both)
    void Add(RdmaQueuePair* qp, bool urgent, int64_t now);

  private:
    void OnTurn();
    /// \param turn when this turn was to be: at most now
    void Serve(int64_t now, int64_t turn);
    void GoOnFrom(int64_t now, uint32_t packets);

    /// Who waits, in turn.
    struct Ring
    {
        std::vector<RdmaQueuePair*> places = std::vector<RdmaQueuePair*>(16); //!< a power of two
        uint64_t first{0}; //!< whose turn is next
        uint64_t end{0};

        bool IsEmpty() const
        {
            return first == end;
        }

        void PushBack(RdmaQueuePair* qp);
        RdmaQueuePair* PopFront();
    };

    bool IsEmpty() const
    {
        return m_rings[0].IsEmpty() && m_rings[1].IsEmpty();
    }

    RdmaNic* m_nic;
    std::array<Ring, 2> m_rings; //!< the second: urgent
    int64_t m_next{0};           //!< no pull before this time, ps
    bool m_pending{false};
    bool m_serving{false};
    RdmaTimer<RdmaPullQueue, &RdmaPullQueue::OnTurn> m_timer;
};

} // namespace ns3

#endif /* RDMA_PULL_QUEUE_H */
