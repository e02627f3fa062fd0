/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_BALANCER_H
#define NODE_WINDOW_BALANCER_H

#include "node-window-unit.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Load balancing: which thread runs which units (logical processes), so that all have the same to
 * do: by the events that units had, and
 * by how long the threads took for them.
 */
class NodeWindowBalancer
{
  public:
    /// \param threads 2 or more \param shuffles whether units go round, however even: for tests
    explicit NodeWindowBalancer(uint32_t threads, bool shuffles = false)
        : m_busy(threads),
          m_shuffles(shuffles)
    {
    }

    /// A thread was at work for so long, s.
    void AddBusy(uint32_t thread, double s)
    {
        m_busy[thread].s += s;
    }

    /// Some windows are over. \return whether units should be distributed anew: the first time, and
    /// when one thread had much more to do than the others, looked at less and less often
    bool EndPeriod();

    /// \return whether units have gone to threads
    bool HasDistributed() const
    {
        return m_distributed;
    }

    /**
     * Units that are to stay together are the first thread's. The others go in their order, which
     * is that of the nodes, from thread to thread, so that neighbours stay neighbours; those of
     * each kind and side by themselves, as an event of one may take longer than of another, and
     * sides take turns. \param threadOf
     * in: who has them; out: who gets them
     */
    void Distribute(const std::deque<NodeWindowUnit>& units, std::vector<uint32_t>& threadOf);

  private:
    /// A line each: all write at once.
    struct alignas(64) Busy
    {
        double s{0};
    };

    bool IsUneven() const;
    /// Forgets the time measured so far.
    void Restart();
    void Shuffle(const std::deque<NodeWindowUnit>& units, std::vector<uint32_t>& threadOf);
    /// \param left for the first thread, of events of this kind \param share of each other one
    void DistributeKind(uint32_t kind,
                        double left,
                        double share,
                        const std::deque<NodeWindowUnit>& units,
                        std::vector<uint32_t>& threadOf) const;
    void Weigh(const std::deque<NodeWindowUnit>& units, const std::vector<uint32_t>& threadOf);

    std::vector<Busy> m_busy;
    /// Cost of an event of a unit that is kept together, in events of other units: assumed, until
    /// it has been measured.
    double m_weight{1.5};
    bool m_shuffles;
    uint32_t m_distributions{0};
    bool m_distributed{false};
    uint32_t m_periods{0}; //!< since it was looked at
    uint32_t m_interval{1};
};

} // namespace ns3

#endif /* NODE_WINDOW_BALANCER_H */
