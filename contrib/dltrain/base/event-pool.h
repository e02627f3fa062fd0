/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_EVENT_POOL_H
#define DLTRAIN_EVENT_POOL_H

#include "contrib/rdma/core/object-pool.h"

#include "ns3/node-window-foreseen.h"
#include "ns3/rdma-event.h"

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace dltrain
{

/**
 * One-shot events that carry a small payload, recycled: a run schedules hundreds of millions of
 * them (a message inside a server, the end of a computation), so none may cost an allocation. Their
 * memory belongs to the thread that schedules them, not to the pool: memory that one event gives
 * back is in the cache for the next one of any pool.
 *
 * \tparam Owner has `void OnEvent(const Payload&, int64_t nowPs)`, and may have
 * `void PrefetchEvent(const Payload&, uint32_t depth) const`: ns3::NodeWindowForeseen's
 */
template <class Owner, class Payload>
class EventPool
{
  public:
    explicit EventPool(Owner* owner)
        : m_shared(new Shared{owner, 0})
    {
    }

    ~EventPool()
    {
        // Pending events keep the shared state, and find no owner to call.
        m_shared->owner = nullptr;
        if (m_shared->pending == 0)
        {
            delete m_shared;
        }
    }

    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;

    /// Call OnEvent(payload, at) at `at` (ps), in the context of node `context`.
    void Schedule(int64_t at, uint32_t context, const Payload& payload)
    {
        auto* event = new Event(m_shared, at, payload); // the event set has the reference
        if (ns3::NodeWindows* windows = ns3::NodeWindows::Active())
        {
            windows->ScheduleForeseen(context, ns3::RdmaClock::TickAt(at), event);
            return;
        }
        ns3::Simulator::ScheduleWithContext(context,
                                            ns3::RdmaClock::At(at) - ns3::Simulator::Now(),
                                            event);
    }

    /// \return whether one is still to come
    bool IsPending() const
    {
        return m_shared->pending > 0;
    }

  private:
    /// The state that events and their pool share: touched by the owner's events only.
    struct Shared
    {
        Owner* owner;        ///< null: the owner is gone
        std::size_t pending; ///< events
    };

    template <class T, class = void>
    struct Foresees : std::false_type
    {
    };

    template <class T>
    struct Foresees<T,
                    std::void_t<decltype(std::declval<const T&>()
                                             .PrefetchEvent(std::declval<const Payload&>(), 0U))>>
        : std::true_type
    {
    };

    class Event final : public ns3::NodeWindowForeseen
    {
      public:
        static constexpr bool FORESEEN = Foresees<Owner>::value;

        Event(Shared* shared, int64_t at, const Payload& payload)
            : m_shared(shared),
              m_at(at),
              m_payload(payload)
        {
            ++m_shared->pending;
        }

        ~Event() override
        {
            if (m_shared)
            {
                Leave();
            }
        }

        void Prefetch([[maybe_unused]] uint32_t depth) const override
        {
            if constexpr (FORESEEN)
            {
                if (m_shared->owner)
                {
                    m_shared->owner->PrefetchEvent(m_payload, depth);
                }
            }
        }

        static void* operator new(std::size_t)
        {
            return rdma::ThreadPools<Memory>::Get().Allocate();
        }

        static void operator delete(void* memory)
        {
            rdma::ThreadPools<Memory>::Get().Free(static_cast<Memory*>(memory));
        }

      protected:
        void Notify() override
        {
            Owner* owner = m_shared->owner;
            Leave();
            if (owner)
            {
                owner->OnEvent(m_payload, m_at);
            }
        }

      private:
        /// It is no longer pending.
        void Leave()
        {
            Shared* shared = std::exchange(m_shared, nullptr);
            if (--shared->pending == 0 && !shared->owner)
            {
                delete shared;
            }
        }

        Shared* m_shared; ///< null: it has happened
        int64_t m_at;
        Payload m_payload;
    };

    /// The memory of an event, or the address of the next free piece.
    union Memory {
        Memory* next;
        alignas(64) unsigned char bytes[sizeof(Event)];
    };

    Shared* m_shared;
};

} // namespace dltrain

#endif // DLTRAIN_EVENT_POOL_H
