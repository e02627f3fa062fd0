/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_EVENT_POOL_H
#define DLTRAIN_EVENT_POOL_H

#include "ns3/rdma-event.h"

#include <memory>
#include <vector>

namespace dltrain
{

/**
 * One-shot events that carry a small payload, recycled: a run schedules hundreds of millions of
 * them (a message inside a server, the end of a computation), so none may cost an allocation.
 *
 * \tparam Owner has `void OnEvent(const Payload&, int64_t nowPs)`
 */
template <class Owner, class Payload>
class EventPool
{
  public:
    explicit EventPool(Owner* owner)
        : m_shared(std::make_shared<Shared>(Shared{owner, {}, 0}))
    {
    }

    ~EventPool()
    {
        // Events still pending hold the pool's shared part, and find nobody to call.
        m_shared->owner = nullptr;
        m_shared->free.clear();
    }

    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;

    /// Call OnEvent(payload, at) at `at` (ps), in the context of node `context`.
    void Schedule(int64_t at, uint32_t context, const Payload& payload)
    {
        ns3::Ptr<Event> event;
        if (m_shared->free.empty())
        {
            event = ns3::Ptr<Event>(new Event(m_shared), false);
            ++m_shared->made;
        }
        else
        {
            event = m_shared->free.back();
            m_shared->free.pop_back();
        }
        event->at = at;
        event->payload = payload;
        event->Ref(); // the event set's
        ns3::Simulator::ScheduleWithContext(context,
                                            ns3::RdmaClock::At(at) - ns3::Simulator::Now(),
                                            ns3::PeekPointer(event));
    }

    /// \return whether one is still to come
    bool IsPending() const
    {
        return m_shared->free.size() < m_shared->made;
    }

  private:
    class Event;

    struct Shared
    {
        Owner* owner;
        std::vector<ns3::Ptr<Event>> free;
        std::size_t made;
    };

    class Event : public ns3::EventImpl
    {
      public:
        explicit Event(std::shared_ptr<Shared> shared)
            : m_shared(std::move(shared))
        {
        }

        int64_t at{0};
        Payload payload{};

      protected:
        void Notify() override
        {
            Owner* owner = m_shared->owner;
            if (!owner)
            {
                return;
            }
            const int64_t now = at;
            const Payload copy = payload;
            // Free for reuse before the call: what it schedules next may take this very object.
            m_shared->free.push_back(ns3::Ptr<Event>(this));
            owner->OnEvent(copy, now);
        }

      private:
        std::shared_ptr<Shared> m_shared;
    };

    std::shared_ptr<Shared> m_shared;
};

} // namespace dltrain

#endif // DLTRAIN_EVENT_POOL_H
