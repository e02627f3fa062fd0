/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_GRIDS_H
#define NODE_WINDOW_GRIDS_H

#include <cstdint>
#include <vector>

namespace ns3
{

class RdmaGridTimer;

/**
 * \ingroup rdma
 * The grid timers of a simulation, for the engine: windows end where one may be due.
 */
class NodeWindowGrids
{
  public:
    void Add(RdmaGridTimer* timer);
    void Remove(RdmaGridTimer* timer);

    bool IsEmpty() const
    {
        return m_timers.empty();
    }

    /// \return the timer that is due first, or null
    RdmaGridTimer* First() const;
    /// \return the first tick, not before `from`, at which a timer may be due; INT64_MAX: none
    int64_t Next(int64_t from);
    /// \return whether the timer that is due at this tick, of this kind, is of this process
    bool IsOwn(int64_t at, uint8_t kind) const;
    /// A timer of this kind is due: it fires, or with a kind that all processes look at together
    /// those of this process fire with another one's.
    void Fire(int64_t at, uint8_t kind);

  private:
    std::vector<RdmaGridTimer*> m_timers;
    int64_t m_next{-1};
};

} // namespace ns3

#endif /* NODE_WINDOW_GRIDS_H */
