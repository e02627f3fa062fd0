/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_GRID_TIMER_H
#define RDMA_GRID_TIMER_H

#include "node-windows.h"
#include "rdma-event.h"

#include <atomic>
#include <cstdint>
#include <functional>

namespace ns3
{

/**
 * \ingroup rdma
 * Looks at the whole simulation at multiples of an interval, if somebody asked for it since: by an
 * event without a context, after all events of nodes of that time and ahead of others without one.
 *
 * Any event may arm it, also a node's, which has no business with other events of the whole
 * simulation: an engine that runs nodes apart stops at all multiples, armed or not. The interval
 * is to be many times a link's delay, or that costs time.
 */
class RdmaGridTimer
{
  public:
    using Callback = std::function<void(int64_t now)>;

    /// \param intervalPs more than 0 \param callback is told the time, ps
    RdmaGridTimer(int64_t intervalPs, Callback callback);
    ~RdmaGridTimer();

    RdmaGridTimer(const RdmaGridTimer&) = delete;
    RdmaGridTimer& operator=(const RdmaGridTimer&) = delete;

    /// Where several processes (NodeWindowRanks) have a timer of this kind each, all of them fire
    /// when one is armed. So what the timers see does not depend on which process has which node.
    /// \param kind from 1 on, a different one for each timer of a process; timers that are due at
    /// the same time fire by rising kind
    void LookTogether(uint8_t kind)
    {
        m_kind = kind;
    }

    static constexpr uint8_t ALONE = UINT8_MAX;

    /// \return ALONE: it looks by itself
    uint8_t GetKind() const
    {
        return m_kind;
    }

    /// From an event without a context; what is armed stays due when it is.
    void SetInterval(int64_t intervalPs);

    int64_t GetInterval() const
    {
        return m_interval;
    }

    /// The callback at the next multiple of the interval after now.
    void Arm()
    {
        const int64_t now = RdmaClock::Now();
        const int64_t due = m_due.load(std::memory_order_relaxed);
        if (due == NEVER || now < due - m_interval)
        {
            ArmAt((now / m_interval + 1) * m_interval);
        }
    }

    bool IsArmed() const
    {
        return m_due.load(std::memory_order_relaxed) != NEVER;
    }

    // The engine calls these.

    /// \return when it is due: a tick
    int64_t GetDueTick() const
    {
        return RdmaClock::TickAt(m_due.load(std::memory_order_relaxed));
    }

    /// \return the first multiple of the interval that is not before `tick`: a tick
    int64_t NextTick(int64_t tick) const;
    void Fire();
    /// Another process's is due: the callback, if `tick` is a multiple of this one's interval.
    void FireWithOthers(int64_t tick);

  private:
    static constexpr int64_t NEVER = INT64_MAX;

    void ArmAt(int64_t ps);
    void OnTimer();

    int64_t m_interval;
    uint8_t m_kind{ALONE};
    std::atomic<int64_t> m_due{NEVER}; //!< ps; of all who arm it the first, whichever thread's
    Callback m_callback;
    RdmaTimer<RdmaGridTimer, &RdmaGridTimer::OnTimer> m_timer; //!< with other engines
};

} // namespace ns3

#endif /* RDMA_GRID_TIMER_H */
