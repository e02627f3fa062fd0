/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_EVENT_H
#define RDMA_EVENT_H

#include "node-windows.h"
#include "rdma-event-order.h"

#include "ns3/assert.h"
#include "ns3/event-impl.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * The module counts time in picoseconds whatever the resolution of ns3::Time is. Events fire at the
 * first tick not before their time; ports remember the exact picosecond, so that at a coarser
 * resolution (native tests run at ns) rounding does not add up from frame to frame. At picosecond
 * resolution, which every main sets, both are the same.
 */
class RdmaClock
{
  public:
    /// \return the current tick, in ps
    static int64_t Now()
    {
        const NodeWindows* windows = NodeWindows::Active();
        return TicksToPs(windows ? windows->Now() : Simulator::Now().GetTimeStep());
    }

    /// \param ps a time in ps
    /// \return the first Time not before it
    static Time At(int64_t ps)
    {
        return TimeStep(TickAt(ps));
    }

    /// \return the same, in ticks
    static int64_t TickAt(int64_t ps)
    {
        const int64_t unit = PsPerTick();
        return unit == 1 ? ps : (unit > 1 ? (ps + unit - 1) / unit : ps * -unit);
    }

    static int64_t TicksToPs(int64_t ticks)
    {
        const int64_t unit = PsPerTick();
        return unit == 1 ? ticks : (unit > 1 ? ticks * unit : ticks / -unit);
    }

    /// To be called once the resolution is final and before the first event (RdmaFabricHelper
    /// does).
    static void Update();

  private:
    /// > 0: picoseconds a tick; < 0: minus the ticks a picosecond (resolution finer than ps)
    static int64_t PsPerTick()
    {
        return g_psPerTick;
    }

    static int64_t g_psPerTick;
};

/**
 * \ingroup rdma
 * An event object that its owner makes once and schedules again and again: nothing is allocated per
 * event. It may be pending several times at once; a fired event finds out what is due, nothing is
 * ever cancelled. It lives on the heap under reference counts and outlives its owner, who disowns
 * it (a scheduler may still hold it).
 *
 * \tparam T owner
 * \tparam F what to call
 */
template <class T, void (T::*F)()>
class RdmaEvent : public EventImpl
{
  public:
    explicit RdmaEvent(T* owner)
        : m_owner(owner)
    {
    }

    void Disown()
    {
        m_owner = nullptr;
    }

  protected:
    void Notify() override
    {
        if (m_owner)
        {
            (m_owner->*F)();
        }
    }

  private:
    T* m_owner;
};

/**
 * \ingroup rdma
 * Owner's handle of an RdmaEvent, which is made when first scheduled.
 */
template <class T, void (T::*F)()>
class RdmaTimer
{
  public:
    explicit RdmaTimer(T* owner)
        : m_owner(owner)
    {
    }

    ~RdmaTimer()
    {
        if (m_event)
        {
            m_event->Disown();
        }
    }

    RdmaTimer(const RdmaTimer&) = delete;
    RdmaTimer& operator=(const RdmaTimer&) = delete;

    /// Fire at `ps`. \param context a node, of arrivals, or without one: RdmaEventOrder
    void ScheduleAt(int64_t ps, uint32_t context)
    {
        if (!m_event)
        {
            m_event = Ptr<RdmaEvent<T, F>>(new RdmaEvent<T, F>(m_owner), false);
        }
        NS_ASSERT_MSG(RdmaClock::TickAt(ps) >= RdmaClock::TickAt(RdmaClock::Now()),
                      "an event in the past");
        m_event->Ref(); // the event set's
        EventImpl* event = PeekPointer(m_event);
        NodeWindows* windows = NodeWindows::Active();
        if (!windows || RdmaEventOrder::IsGlobal(context))
        {
            Simulator::ScheduleWithContext(windows ? context : RdmaEventOrder::ContextOf(context),
                                           RdmaClock::At(ps) - Simulator::Now(),
                                           event);
            return;
        }
        windows->Schedule(windows->UnitOf(RdmaEventOrder::NodeOf(context)),
                          RdmaClock::TickAt(ps),
                          context,
                          reinterpret_cast<uintptr_t>(event));
    }

  private:
    T* m_owner;
    Ptr<RdmaEvent<T, F>> m_event; //!< null: not used yet
};

} // namespace ns3

#endif /* RDMA_EVENT_H */
