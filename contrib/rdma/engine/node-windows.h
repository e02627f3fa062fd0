/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOWS_H
#define NODE_WINDOWS_H

#include "node-window-grids.h"
#include "node-window-notes.h"
#include "node-window-team.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace ns3
{

class NodeWindowForeseen;
class NodeWindowRanks;
struct NodeWindowPlan;

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
 * The order of events is that of RdmaQuadHeapScheduler, (time, context, uid), as far as anybody can
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
    using Mail = NodeWindowMail;
    using Unit = NodeWindowUnit;

    static constexpr int64_t NEVER = Unit::NEVER;

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
        return Unit::Running();
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

    /// Makes one unit of the units of two nodes. To be called between windows.
    void Join(uint32_t context, uint32_t other);
    /// Keeps nodes together whose events share state: the thread that calls Run runs them, one
    /// after another. To be called before Run.
    void KeepTogether(uint32_t context);
    /// An event of these nodes takes as long as of others of this kind: threads get their share of
    /// each kind. Before Run. \param kind 0: as all are otherwise
    void SetKind(uint32_t context, uint8_t kind);
    /// It has events on this node. Of several who say so of one node, or of nodes that are one
    /// unit, the first is asked. Between windows.
    void AddAhead(uint32_t context, const NodeWindowAhead* ahead);
    void RemoveAhead(uint32_t context, const NodeWindowAhead* ahead);
    /// \param ticks no event of a unit reaches another sooner
    void SetLookAhead(int64_t ticks);
    /**
     * From the next Run on units of two sides take turns (NodeWindowTeam), if what units schedule
     * for others and for nobody, and what observers do, comes two look-aheads later. \param sideOf
     * by unit, in the order of UnitOf's first calls, 0 or 1: none sends anything to one of its own;
     * empty: all units run together. Between windows, with several ranks in all of them
     */
    void SetSides(const std::vector<uint8_t>& sideOf);

    uint32_t GetSides() const
    {
        return m_team.GetSides();
    }

    /// \return all units, those that have become part of another included
    std::deque<Unit>& GetUnitList()
    {
        return m_units;
    }

    // Threads ------------------------------------------------------------------------------------

    /**
     * From the next Run on. What happens does not depend on it. What the events of different nodes
     * touch in common, ns-3's objects included, must be safe then, or the nodes kept together.
     * \param threads at most MAX_THREADS
     * \param always whether also windows that gain nothing by it are run by all, and units change
     * threads now and then: for tests
     */
    void SetThreads(uint32_t threads, bool always)
    {
        m_team.SetThreads(threads, always);
    }

    static constexpr uint32_t MAX_THREADS = NodeWindowTeam::MAX_THREADS;

    uint32_t GetThreads() const
    {
        return m_team.GetThreads();
    }

    /// Whatever SetThreads says, there is one: what somebody listens with is not safe for more.
    void AllowOneThread()
    {
        m_team.AllowOne();
    }

    /// \return groups of nodes that run by themselves: links without delay join nodes
    uint32_t GetUnits() const
    {
        return m_unitCount;
    }

    /// \return whether the system has refused more threads
    bool WereThreadsRefused() const
    {
        return m_team.WereRefused();
    }

    /// \return the largest number of threads that were at work at once so far
    uint32_t GetThreadsUsed() const
    {
        return m_team.GetThreadsUsed();
    }

    /// \return the part of all events that were in windows run by several threads, 0 to 1
    double GetParallelShare() const;

    // Ranks --------------------------------------------------------------------------------------

    /// The simulation is that of several processes, and this one has the nodes that have events
    /// here. Before Run, which is collective then.
    void SetRanks(std::unique_ptr<NodeWindowRanks> ranks);

    /// \return null: there is one process
    NodeWindowRanks* GetRanks() const
    {
        return m_ranks.get();
    }

    /// \return the tick at which the window began that runs, or that was run last
    int64_t GetWindowBegin() const
    {
        return m_begin;
    }

    // Events -------------------------------------------------------------------------------------

    /// An event of a node. \param context of RdmaEventOrder: the node's, or of arrivals \return its
    /// uid
    uint32_t Schedule(Unit& unit, int64_t ts, uint32_t context, uintptr_t what)
    {
        const uint32_t uid = unit.uid++;
        unit.events.Push({ts, uint64_t{context} << 32 | uid, what});
        if (&unit != Unit::Running())
        {
            unit.shard->Register(unit, ts);
            int64_t& done = m_done[unit.side];
            done = ts < done ? ts : done; // at the time of an event without a node
        }
        else if (ts == unit.now && uint64_t{context} << 32 < unit.tie)
        {
            unit.Raise();
        }
        return uid;
    }

    /// Any event may call it. For another unit, `ts` is at least the look-ahead later.
    /// \param context of a node \return its uid
    uint32_t ScheduleNode(uint32_t context, int64_t ts, EventImpl* event);
    /// As ScheduleNode; what the event will need is fetched before it runs.
    void ScheduleForeseen(uint32_t context, int64_t ts, NodeWindowForeseen* event);
    /// Without a node. \param before whether it runs ahead of all nodes' events of its time
    /// \return its uid
    uint32_t ScheduleGlobal(int64_t ts, EventImpl* event, bool before = false);
    /// Any thread may call it: the event runs as soon as possible, without a node.
    void ScheduleFromElsewhere(EventImpl* event);

    /// Something came for a unit. Between windows, or by the event of a unit.
    /// \param shard the unit's: NodeWindowPorts::SetShard
    void Send(Unit& unit, uint32_t shard, const Mail& mail)
    {
        m_team.Send(unit, shard, mail);
    }

    /// Something arrives at a port of a unit. \param slot the port's, of Arrivals::SetPorts
    static void Expect(Unit& unit, uint32_t slot, int64_t ts)
    {
        unit.arrivals.Set(slot, ts);
        if (&unit != Unit::Running())
        {
            unit.shard->Register(unit, ts);
        }
    }

    /// \return whether it has not run, nor been removed
    bool IsPending(int64_t ts, uint32_t context, uint32_t uid, const EventImpl* event)
    {
        return Find(ts, context, uid, event, false);
    }

    /// An event of the caller's unit, or any one between windows.
    /// \return whether it was there: it is the caller's then
    bool Remove(int64_t ts, uint32_t context, uint32_t uid, const EventImpl* event)
    {
        return Find(ts, context, uid, event, true);
    }

    bool IsEmpty();

    // Running ------------------------------------------------------------------------------------

    /// Until nothing is left, or Stop.
    void Run();

    /// Called by a node's event, it holds at the window's end.
    void Stop()
    {
        m_stop.store(true, std::memory_order_relaxed);
    }

    /// \return whether Stop has ended the run, or will
    bool IsStopped() const
    {
        return m_stop.load(std::memory_order_relaxed);
    }

    int64_t Now() const
    {
        const Unit* unit = Unit::Running();
        return unit ? unit->now : m_now;
    }

    /// \return the node whose event runs, or Simulator::NO_CONTEXT
    uint32_t GetContext() const;

    /// \return whether an event would have run by now, in the running event's unit or, between
    /// windows, in any one. \param context of RdmaEventOrder, a node's or of arrivals
    bool HasPassed(int64_t ts, uint32_t context) const
    {
        if (const Unit* unit = Unit::Running())
        {
            return ts < unit->now || (ts == unit->now && context < unit->GetPlace());
        }
        return ts < m_now || (ts == m_now && !m_isBefore);
    }

    /// \return events so far, the spared ones included: as many as under other engines
    uint64_t GetEventCount() const;

    /// \return of these, events that were not needed: what they would have done was done in another
    /// one, or when somebody looked
    uint64_t GetSparedEvents() const;

    // Observers ----------------------------------------------------------------------------------

    /**
     * Tell an observer who listens to several nodes: (sink->*F)(payload), at once under other
     * engines and in events without a node; and else when the window is over, in the order of
     * (time, context, calls), as if all nodes shared one event set. Meanwhile Now is the time of
     * the call. The observer schedules nothing sooner than the look-ahead after that.
     *
     * Where the sink has a `void Prefetch(const Payload&, uint32_t depth) const`, it is called
     * shortly before, with 0, 1, ... NodeWindowNote::DEPTHS - 1 while others are told: to fetch
     * what F will need, at each depth by what those before have fetched.
     *
     * \tparam Payload is copied as bytes: it says all itself, as what it could point to goes on
     */
    template <auto F, class Sink, class Payload>
    static void Note(Sink* sink, const Payload& payload)
    {
        NoteWith<F>(sink, payload, false);
    }

    /// The same, told when the window is over, also where sides take turns and another one is still
    /// behind: in order among what is told so, by ranks with several. What it says is there before
    /// anything that this event sends to another node.
    template <auto F, class Sink, class Payload>
    static void NoteSoon(Sink* sink, const Payload& payload)
    {
        NoteWith<F>(sink, payload, true);
    }

  private:
    template <auto F, class Sink, class Payload>
    static void NoteWith(Sink* sink, const Payload& payload, bool soon)
    {
        static_assert(std::is_trivially_copyable_v<Payload> &&
                      sizeof(Payload) <= NodeWindowNote::BYTES);
        if (!InUnit())
        {
            (sink->*F)(payload);
            return;
        }
        NodeWindowNote& note = Unit::Running()->shard->AddNote();
        note.tell = [](void* to, const void* what) {
            Payload copy;
            std::memcpy(&copy, what, sizeof(copy));
            (static_cast<Sink*>(to)->*F)(copy);
        };
        note.prefetch = nullptr;
        if constexpr (CanPrefetch<void, Sink, const Payload&>::value)
        {
            note.prefetch = [](void* to, const void* what, uint32_t depth) {
                Payload copy;
                std::memcpy(&copy, what, sizeof(copy));
                static_cast<const Sink*>(to)->Prefetch(copy, depth);
            };
        }
        note.soon = soon;
        note.sink = sink;
        std::memcpy(note.payload, &payload, sizeof(payload));
    }

  public:
    /// Notes a call of a function, which is moved. If it has a Prefetch of its own, that is called
    /// as well.
    template <class Function>
    static void NoteCall(Function&& function)
    {
        if (!InUnit())
        {
            function();
            return;
        }
        NoteObject<std::decay_t<Function>>(std::forward<Function>(function));
    }

    /// Notes a call of a function that is constructed in the notes' own memory.
    /// \pre InUnit() \return it: what it knows may still be completed in this event
    template <class Stored, class... Arguments>
    static Stored& NoteObject(Arguments&&... arguments)
    {
        static_assert(alignof(Stored) <= NodeWindowNoteMemory::ALIGNMENT);
        NodeWindowShard& shard = *Unit::Running()->shard;
        NodeWindowNote& note = shard.AddNote();
        note.tell = [](void* stored, const void*) {
            auto* call = static_cast<Stored*>(stored);
            (*call)();
            call->~Stored();
        };
        note.prefetch = nullptr;
        if constexpr (CanPrefetch<void, Stored>::value)
        {
            note.prefetch = [](void* stored, const void*, uint32_t depth) {
                static_cast<const Stored*>(stored)->Prefetch(depth);
            };
        }
        auto* const stored = new (shard.noteMemory.Take(sizeof(Stored)))
            Stored(std::forward<Arguments>(arguments)...);
        note.sink = stored;
        return *stored;
    }

    /// \return of the note that is being told, whose it is among those of its time; else
    /// Simulator::NO_CONTEXT
    uint32_t GetNoteContext() const
    {
        return m_notes.GetContext();
    }

    /// Grid timers (RdmaGridTimer) register here.
    NodeWindowGrids& GetGrids()
    {
        return m_grids;
    }

  private:
    template <class, class Sink, class... Payload>
    struct CanPrefetch : std::false_type
    {
    };

    template <class Sink, class... Payload>
    struct CanPrefetch<std::void_t<decltype(std::declval<const Sink&>()
                                                .Prefetch(std::declval<Payload>()..., uint32_t{}))>,
                       Sink,
                       Payload...> : std::true_type
    {
    };

    using GlobalEvents = std::map<NodeWindowKey, EventImpl*>;

    /// \return whether it is pending. \param take whether it is the caller's from now on
    bool Find(int64_t ts, uint32_t context, uint32_t uid, const EventImpl* event, bool take);
    void AddUnit(uint32_t context);
    NodeWindowKey KeyNow(int64_t ts);
    void RunWindow(const NodeWindowPlan& plan, uint32_t side, int64_t cut);
    /// \return the next step, on which all ranks agree
    NodeWindowPlan MakePlan();
    /// \return how long a cut at what grid timers may be due at allows a window to be
    int64_t GridAfter(int64_t from);
    /// The events without a node, and grid timers, of that time and class.
    void RunGlobal(const NodeWindowPlan& plan);
    void RunGlobal(GlobalEvents& events);
    /// Takes the letters and notes of a side's units, which are for no node.
    void TakeWindow(uint32_t side);
    void DeliverLetters();
    void TakeFromElsewhere();
    /// Ports hear of what came without an event; what is still to come gets one.
    void Listen();

    static NodeWindows* g_active;

    int64_t m_lookAhead{LONGEST_PS};
    int64_t m_window{LONGEST_PS}; //!< its length: with two sides twice the look-ahead
    int64_t m_begin{0};
    /// For each side the time before which its nodes have no event.
    std::array<int64_t, NodeWindowTeam::MOST_SIDES> m_done{};
    int64_t m_now{0};
    int64_t m_last{0};      //!< time of the last event so far
    bool m_isBefore{false}; //!< an event runs that is ahead of the nodes' of its time
    std::atomic<bool> m_stop{false};
    uint64_t m_globalCount{0}; //!< events
    uint32_t m_globalUid{Unit::FIRST_UID};

    std::deque<Unit> m_units;
    std::vector<Unit*> m_unitOf; //!< by context
    uint32_t m_unitCount{0};     //!< without those that have become part of another
    NodeWindowTeam m_team{m_units};
    GlobalEvents m_before;
    GlobalEvents m_global;
    std::vector<NodeWindowLetter> m_letters; //!< sent in this window

    NodeWindowNotes m_notes{m_now};
    NodeWindowGrids m_grids;

    std::unique_ptr<NodeWindowRanks> m_ranks;

    struct Elsewhere;
    std::unique_ptr<Elsewhere> m_elsewhere;
};

} // namespace ns3

#endif /* NODE_WINDOWS_H */
