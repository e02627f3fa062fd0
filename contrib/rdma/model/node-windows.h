/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOWS_H
#define NODE_WINDOWS_H

#include "quad-heap.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

namespace ns3
{

class EventImpl;
class RdmaGridTimer;
class RdmaPort;
struct RdmaFrame;

/// An event of a unit.
struct NodeWindowEvent
{
    int64_t ts;     //!< ticks
    uint64_t tie;   //!< context << 32 | uid: RdmaEventOrder
    uintptr_t what; //!< EventImpl, or RdmaPort | PORT

    static constexpr uintptr_t PORT = 1; //!< its transmitter is idle

    /// Time, context and uid.
    struct Rank
    {
        unsigned __int128 operator()(const NodeWindowEvent& event) const
        {
            return static_cast<unsigned __int128>(event.ts) << 64 | event.tie;
        }
    };
};

/**
 * \ingroup rdma
 * The node-window engine: what NodeWindowSimulatorImpl, ns-3's face of it, runs on.
 *
 *     time ->   |  window k  |  window k+1  |
 *     node 1    |xx x  x     |              |    each node's events, in their order;
 *     node 2    |   x x xx   |  then these  |    nodes one after another
 *     ...                    ^ what crosses links, notes, events without a node
 *
 * A window is as long as the shortest delay of a link between units. Nothing that a unit does in a
 * window can reach another unit before the window is over, so a unit is run to the window's end on
 * its own, while its state is in the cache: it is loaded once for dozens of events. (The idea is
 * that of conservative parallel simulation with a look-ahead: Chandy & Misra 1979, and of UNISON,
 * Bai et al., EuroSys 2024, for one thread's caches.) A unit is a node, or nodes that a link
 * without delay joins.
 *
 * The order of events is that of QuadHeapScheduler, (time, context, uid), as far as anybody can
 * see: a node sees its own events in that order; events without a node (Simulator::NO_CONTEXT) run
 * between windows, when all nodes have done what comes before; and what observers of several nodes
 * are told (Note) is told between windows, sorted.
 *
 * At one time: "before" events, the nodes' events, grid timers, events without a node.
 */
class NodeWindows
{
  public:
    using Event = NodeWindowEvent;
    /// A handful, two for each port at most, which stay in the cache while the unit runs.
    using Events = QuadHeap<Event, Event::Rank>;

    /// What came over a link: frames, linked, by arrival.
    struct Mail
    {
        RdmaFrame* first;
        RdmaFrame* last;
        int64_t ts;    //!< of the first one
        uint32_t slot; //!< of the port that gets it
    };

    static constexpr int64_t NEVER = INT64_MAX;
    /// Of the first event: smaller ones mean something else to ns-3 (EventId::UID).
    static constexpr uint32_t FIRST_UID = 4;

    /**
     * When something arrives next at each port of a unit: the most frequent events by far, of which
     * a port has one at most. The first one is found by looking at all, without a branch that could
     * be foretold wrongly.
     */
    class Arrivals
    {
      public:
        /// \param ports in the order of the contexts of their arrivals
        void SetPorts(std::vector<RdmaPort*> ports);

        void Set(uint32_t slot, int64_t ts)
        {
            m_times[slot] = ts;
            if (ts <= m_first)
            {
                Find();
            }
        }

        /// \return NEVER: there is none
        int64_t FirstTime() const
        {
            return m_first;
        }

        RdmaPort* First() const
        {
            return m_ports[m_slot];
        }

        /// The first one has happened. Find must come before FirstTime and First.
        void Clear()
        {
            m_times[m_slot] = NEVER;
        }

        /// Of one time the least port.
        void Find()
        {
            const std::size_t size = m_times.size();
            const int64_t* times = m_times.data();
            int64_t first = NEVER;
            uint32_t slot = 0;
            for (std::size_t i = 0; i < size; ++i)
            {
                const bool less = times[i] < first;
                first = less ? times[i] : first;
                slot = less ? static_cast<uint32_t>(i) : slot;
            }
            m_first = first;
            m_slot = slot;
        }

        const void* GetMemory() const
        {
            return m_times.data();
        }

        const std::vector<RdmaPort*>& GetPorts() const
        {
            return m_ports;
        }

      private:
        std::vector<int64_t> m_times; //!< ticks
        int64_t m_first{NEVER};
        uint32_t m_slot{0};
        std::vector<RdmaPort*> m_ports;
    };

    /// Nodes whose events are one sequence.
    struct alignas(64) Unit
    {
        Events events;
        int64_t now{0};          //!< of the event that runs, or that ran last
        uint64_t tie{0};         //!< the same event's
        int64_t bucket{NEVER};   //!< the first window that it is in the list of
        uint32_t uid{FIRST_UID}; //!< of the next event
        Arrivals arrivals;
        std::vector<Mail> inbox;       //!< for its ports
        std::vector<RdmaPort*> outbox; //!< its ports that have sent something to other units

        /// \return when it has something to do next; NEVER: it has nothing
        int64_t NextTime()
        {
            const Event* front = events.Front();
            return front && front->ts < arrivals.FirstTime() ? front->ts : arrivals.FirstTime();
        }
    };

    /// Windows are no longer, so that Simulator::Stop is soon heard: ticks of 1 ms.
    static constexpr int64_t LONGEST_PS = 1000000000;

    /// \return the engine of this simulation; null: it has another one
    static NodeWindows* Active()
    {
        return g_active;
    }

    /// \return whether an event of a node runs, in a window of this engine
    static bool InUnit()
    {
        return g_active && g_active->m_current;
    }

    NodeWindows();
    ~NodeWindows();
    NodeWindows(const NodeWindows&) = delete;
    NodeWindows& operator=(const NodeWindows&) = delete;

    // Units --------------------------------------------------------------------------------------

    /// \param context a node's number
    Unit& UnitOf(uint32_t context)
    {
        if (context >= m_unitOf.size() || !m_unitOf[context])
        {
            AddUnit(context);
        }
        return *m_unitOf[context];
    }

    /// These two are one unit from now on. Between windows.
    void Join(uint32_t context, uint32_t other);
    /// \param ticks no event of a unit reaches another sooner
    void SetLookAhead(int64_t ticks);

    // Events -------------------------------------------------------------------------------------

    /// Of a node. \param context RdmaEventOrder's, of a node or of arrivals \return its uid
    uint32_t Schedule(Unit& unit, int64_t ts, uint32_t context, uintptr_t what)
    {
        const uint32_t uid = unit.uid++;
        unit.events.Push({ts, uint64_t{context} << 32 | uid, what});
        if (&unit != m_current)
        {
            Register(unit, ts);
        }
        return uid;
    }

    /// By any event: of another unit than the one that runs at least the look-ahead later.
    /// \param context of a node \return its uid
    uint32_t ScheduleNode(uint32_t context, int64_t ts, EventImpl* event);
    /// Without a node. \param before whether it runs ahead of all nodes' events of its time
    /// \return its uid
    uint32_t ScheduleGlobal(int64_t ts, EventImpl* event, bool before = false);
    /// By any thread: as soon as may be, without a node.
    void ScheduleFromElsewhere(EventImpl* event);

    /// Something came for a unit. Between windows, or by the event of a unit.
    void Send(Unit& unit, const Mail& mail)
    {
        unit.inbox.push_back(mail);
        Register(unit, mail.ts);
    }

    /// Its ports get what came.
    static void TakeMail(Unit& unit);

    /// This port has something for another unit: it is asked for that when its unit has run.
    void AddToOutbox(RdmaPort* port)
    {
        m_current->outbox.push_back(port);
    }

    /// Something arrives at a port of a unit. \param slot the port's, of Arrivals::SetPorts
    void Expect(Unit& unit, uint32_t slot, int64_t ts)
    {
        unit.arrivals.Set(slot, ts);
        if (&unit != m_current)
        {
            Register(unit, ts);
        }
    }

    /// There is something for this unit at this time.
    void Register(Unit& unit, int64_t ts)
    {
        if (ts < unit.bucket * m_window || unit.bucket == NEVER)
        {
            AddToBucket(unit, ts);
        }
    }

    /// \return whether it has not run, nor been removed
    bool IsPending(int64_t ts, uint32_t context, uint32_t uid, const EventImpl* event)
    {
        return Find(ts, context, uid, event, false);
    }

    /// \return whether it was there: it is the caller's then
    bool Remove(int64_t ts, uint32_t context, uint32_t uid, const EventImpl* event)
    {
        return Find(ts, context, uid, event, true);
    }

    bool IsEmpty();

    // Running ------------------------------------------------------------------------------------

    /// Until nothing is left, or Stop.
    void Run();

    /// Of a node's event: at the window's end.
    void Stop()
    {
        m_stop = true;
    }

    /// \return whether Stop has ended the run, or will
    bool IsStopped() const
    {
        return m_stop;
    }

    int64_t Now() const
    {
        return m_current ? m_current->now : m_now;
    }

    /// \return the node whose event runs, or Simulator::NO_CONTEXT
    uint32_t GetContext() const;

    uint64_t GetEventCount() const
    {
        return m_eventCount;
    }

    // Observers ----------------------------------------------------------------------------------

    /**
     * Tell an observer who listens to several nodes: (sink->*F)(payload), at once under other
     * engines and in events without a node; and else when the window is over, in the order of
     * (time, context, calls), as if all nodes shared one event set. Meanwhile Now is the time of
     * the call. The observer schedules nothing sooner than the look-ahead after that.
     *
     * \tparam Payload is copied as bytes: it says all itself, as what it could point to goes on
     */
    template <auto F, class Sink, class Payload>
    static void Note(Sink* sink, const Payload& payload)
    {
        static_assert(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= NOTE_BYTES);
        if (!InUnit())
        {
            (sink->*F)(payload);
            return;
        }
        NoteRecord& note = g_active->AddNote();
        note.tell = [](void* to, const void* what) {
            Payload copy;
            std::memcpy(&copy, what, sizeof(copy));
            (static_cast<Sink*>(to)->*F)(copy);
        };
        note.sink = sink;
        std::memcpy(note.payload, &payload, sizeof(payload));
    }

    /// The same for what is not so simple: a function, which is moved.
    template <class Function>
    static void NoteCall(Function&& function)
    {
        if (!InUnit())
        {
            function();
            return;
        }
        using Stored = std::decay_t<Function>;
        NoteRecord& note = g_active->AddNote();
        note.tell = [](void* stored, const void*) {
            auto* call = static_cast<Stored*>(stored);
            (*call)();
            delete call;
        };
        note.sink = new Stored(std::forward<Function>(function));
    }

    void AddGrid(RdmaGridTimer* timer);
    void RemoveGrid(RdmaGridTimer* timer);

  private:
    static constexpr std::size_t NOTE_BYTES = 104;

    struct NoteRecord
    {
        int64_t ts;
        uint32_t context;
        void (*tell)(void* sink, const void* payload);
        void* sink;
        alignas(8) unsigned char payload[NOTE_BYTES];
    };

    /// Of an event without a node: by who scheduled it, for what was scheduled for one time.
    struct GlobalKey
    {
        int64_t ts;
        int64_t scheduled;
        uint32_t context; //!< of the event that scheduled it
        uint32_t uid;     //!< counted by that event's unit

        bool operator<(const GlobalKey& other) const;
    };

    using GlobalEvents = std::map<GlobalKey, EventImpl*>;

    /// An event that one unit has scheduled for another.
    struct Letter
    {
        GlobalKey key;
        uint32_t to; //!< context
        EventImpl* event;
    };

    /// Windows that are kept in lists, one bit of m_filled each; of later ones units wait in a
    /// heap.
    static constexpr int64_t RING = 64;

    struct FarUnit
    {
        int64_t bucket;
        Unit* unit;

        bool operator<(const FarUnit& other) const
        {
            return bucket > other.bucket; // the least on top
        }
    };

    /// \return whether it is pending. \param take whether it is the caller's from now on
    bool Find(int64_t ts, uint32_t context, uint32_t uid, const EventImpl* event, bool take);
    void AddUnit(uint32_t context);
    void AddToBucket(Unit& unit, int64_t ts);
    /// \return the first window that some unit has something in; NEVER: there is none
    int64_t FirstBucket();
    GlobalKey KeyNow(int64_t ts);
    void RunBucket(int64_t bucket, int64_t cut);
    void RunUnit(Unit& unit, int64_t cut);
    static void Prefetch(const Unit& unit);
    /// \return whether there was one before `cut`
    bool RunGlobal(int64_t cut);
    void RunGlobal(GlobalEvents& events);
    void EndWindow();
    void DeliverLetters();
    void TellNotes();
    void TakeFromElsewhere();
    NoteRecord& AddNote();
    int64_t NextGrid(int64_t from);
    /// \return the timer that is due first, or null
    RdmaGridTimer* FirstGrid() const;

    static NodeWindows* g_active;

    Unit* m_current{nullptr}; //!< null: between windows
    int64_t m_window{LONGEST_PS};
    int64_t m_base{0}; //!< the window that was run last
    int64_t m_now{0};
    int64_t m_last{0}; //!< of all events so far
    bool m_stop{false};
    uint64_t m_eventCount{0};
    uint32_t m_globalUid{FIRST_UID};

    std::deque<Unit> m_units;
    std::vector<Unit*> m_unitOf; //!< by context
    std::array<std::vector<Unit*>, RING> m_ring;
    uint64_t m_filled{0}; //!< bit s: m_ring[s] is not empty
    std::priority_queue<FarUnit> m_far;
    std::vector<Unit*> m_running; //!< of this window
    GlobalEvents m_before;
    GlobalEvents m_global;
    std::vector<Letter> m_letters;
    std::vector<NoteRecord> m_notes;
    std::vector<uint32_t> m_noteOrder;
    std::vector<RdmaGridTimer*> m_grids;
    int64_t m_nextGrid{-1};

    struct Elsewhere;
    Elsewhere* m_elsewhere;
};

} // namespace ns3

#endif /* NODE_WINDOWS_H */
