/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_UNIT_H
#define NODE_WINDOW_UNIT_H

#include "quad-heap.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

class EventImpl;
class NodeWindowShard;
struct NodeWindowUnit;

/// \ingroup rdma
/// A frame between units, as the engine sees it. (NodeWindowPortsOf knows its real type.)
struct NodeWindowFrame
{
};

/// \ingroup rdma
/// One end of a link between units, as the engine sees it.
class NodeWindowPort
{
};

/// An event of a unit.
struct NodeWindowEvent
{
    int64_t ts;     //!< ticks
    uint64_t tie;   //!< context << 32 | uid: RdmaEventOrder
    uintptr_t what; //!< EventImpl, NodeWindowForeseen | FORESEEN, or NodeWindowPort | PORT

    static constexpr uintptr_t PORT = 1;     //!< its transmitter is idle
    static constexpr uintptr_t FORESEEN = 2; //!< it says what it will need

    bool IsPort() const
    {
        return what & PORT;
    }

    bool IsForeseen() const
    {
        return what & FORESEEN;
    }

    /// \pre IsPort()
    NodeWindowPort* GetPort() const
    {
        return reinterpret_cast<NodeWindowPort*>(what & ~PORT);
    }

    /// \pre not IsPort()
    EventImpl* GetImpl() const
    {
        return reinterpret_cast<EventImpl*>(what & ~FORESEEN);
    }

    /// Time, context and uid.
    struct Rank
    {
        unsigned __int128 operator()(const NodeWindowEvent& event) const
        {
            return static_cast<unsigned __int128>(event.ts) << 64 | event.tie;
        }
    };
};

/// A frame that one unit has sent to another.
struct NodeWindowMail
{
    int64_t ts; //!< when it is delivered
    NodeWindowFrame* frame;
    uint16_t slot; //!< slot of the receiving port
    bool plain;    //!< nobody has to know of it before it is delivered
};

/// The same, and where it goes.
struct NodeWindowSent
{
    NodeWindowMail mail;
    NodeWindowUnit* to;
    uint32_t shard; //!< where that runs
};

/// A frame that arrives in a certain window.
struct NodeWindowArrival
{
    NodeWindowFrame* frame;
    uint64_t order; //!< ticks since the window began << 32 | slot << 16; less than 2^63

    uint32_t GetTicks() const
    {
        return static_cast<uint32_t>(order >> 32);
    }

    uint16_t GetSlot() const
    {
        return static_cast<uint16_t>(order >> 16);
    }
};

/**
 * \ingroup rdma
 * A vector of plain records, in a quarter of a cache line. Whoever adds one writes its parts where
 * they stay: a record that was put together elsewhere and is copied at once keeps a processor
 * waiting, which cannot read in one piece what it has just written in several.
 */
template <class T>
class NodeWindowList
{
  public:
    NodeWindowList() = default;

    ~NodeWindowList()
    {
        delete[] m_first;
    }

    NodeWindowList(const NodeWindowList&) = delete;
    NodeWindowList& operator=(const NodeWindowList&) = delete;

    /// \return room for one more, to be written
    T& Add()
    {
        if (m_size == m_capacity)
        {
            Grow();
        }
        return m_first[m_size++];
    }

    bool IsEmpty() const
    {
        return m_size == 0;
    }

    uint32_t GetSize() const
    {
        return m_size;
    }

    void Clear()
    {
        m_size = 0;
    }

    T* begin()
    {
        return m_first;
    }

    T* end()
    {
        return m_first + m_size;
    }

    const T* begin() const
    {
        return m_first;
    }

    const T* end() const
    {
        return m_first + m_size;
    }

  private:
    void Grow()
    {
        m_capacity = std::max(8U, 2 * m_capacity);
        T* first = new T[m_capacity];
        std::copy(begin(), end(), first);
        delete[] std::exchange(m_first, first);
    }

    T* m_first{nullptr};
    uint32_t m_size{0};
    uint32_t m_capacity{0};
};

/// The arrivals of a unit in a window, in the order in which they were sent.
using NodeWindowBin = NodeWindowList<NodeWindowArrival>;

/**
 * \ingroup rdma
 * When something arrives next at each port of a unit, of what is not in a NodeWindowBin: a port has
 * one such event at most. The first one is found by looking at all, without a branch that could be
 * foretold wrongly.
 */
class NodeWindowArrivals
{
  public:
    static constexpr int64_t NEVER = INT64_MAX;

    /// \param ports in the order of the contexts of their arrivals
    void SetPorts(std::vector<NodeWindowPort*> ports);

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

    /// \pre there is one
    uint32_t FirstSlot() const
    {
        return m_slot;
    }

    /// The first one has happened. Find must come before FirstTime and FirstSlot.
    void Clear()
    {
        m_times[m_slot] = NEVER;
    }

    /// Among ports of the same time the one with the least slot is first.
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

    const std::vector<NodeWindowPort*>& GetPorts() const
    {
        return m_ports;
    }

  private:
    std::vector<int64_t> m_times; //!< ticks
    int64_t m_first{NEVER};
    uint32_t m_slot{0};
    std::vector<NodeWindowPort*> m_ports;
};

/**
 * \ingroup rdma
 * The user of a unit's port (a NIC, a switch), which knows the memory that frames will need.
 */
class NodeWindowUser
{
  public:
    virtual ~NodeWindowUser() = default;

    /// Most of GetDepths.
    static constexpr uint32_t DEPTHS = 5;
    /// Depths of a user that needs little more than the frames and itself.
    static constexpr uint32_t FEW_DEPTHS = 2;

    /// Fetches into the cache what frames need that arrive or are made soon. \param depth the
    /// engine calls a few times, a while apart, with 0, 1, ... GetDepths() - 1; each call may read
    /// what the one before has fetched
    virtual void Prefetch(const NodeWindowBin&, uint32_t) const
    {
    }

    /// \return how many things that it needs for a frame each lead to the next
    virtual uint32_t GetDepths() const
    {
        return FEW_DEPTHS;
    }
};

/**
 * \ingroup rdma
 * Has events on a node, and knows what they will need.
 */
class NodeWindowAhead
{
  public:
    static constexpr uint32_t DEPTHS = NodeWindowUser::DEPTHS;

    virtual ~NodeWindowAhead() = default;
    /// The node's events before `until`, a tick, will soon run: PrefetchLine what they need, in
    /// turns of growing depth, each a while before the next, which looks at what the one before has
    /// fetched. \param depth 0 to DEPTHS - 1
    virtual void Prefetch(int64_t until, uint32_t depth) const = 0;
};

/**
 * \ingroup rdma
 * A logical process: a node, or several whose events are one sequence. Its bins and inbox are the
 * mailboxes that others write to.
 */
struct alignas(64) NodeWindowUnit
{
    static constexpr int64_t NEVER = INT64_MAX;
    /// The first event's uid: smaller numbers mean something else to ns-3 (EventId::UID).
    static constexpr uint32_t FIRST_UID = 4;

    /// \return whose event runs in this thread; null: none's, or with another engine
    static NodeWindowUnit* Running()
    {
        return t_running;
    }

    // Members that senders touch, in one cache line:

    /// The arrivals in this window (of the shard, or the last one, if that was not run to its end)
    /// and in the next two; bin w mod 3 has those of window w, each link's in order. The port's
    /// `inbox` has arrivals that come later, or that it has to know before.
    static constexpr uint32_t BINS = 3;
    std::array<NodeWindowBin, BINS> bins;
    int64_t bucket{NEVER};           //!< the first window that it is in the list of
    NodeWindowShard* shard{nullptr}; //!< where it runs

    int64_t now{0};  //!< time of the event that runs, or that ran last
    uint64_t tie{0}; //!< tie of that event

    /// A handful, two for each port at most, which stay in the cache while the unit runs.
    RdmaQuadHeap<NodeWindowEvent, NodeWindowEvent::Rank> events;
    uint32_t uid{FIRST_UID};               //!< uid of the next event
    int64_t quietUntil{0};                 //!< no arrival of this window, nor its end, is before
    int64_t spared{0};                     //!< NodeWindows::GetSparedEvents
    uint32_t raised{0};                    //!< Raise: the last context
    int64_t raisedAt{-1};                  //!< Raise: of this time
    bool together{false};                  //!< NodeWindows::KeepTogether
    bool foresees{false};                  //!< it has had events that say what they will need
    uint8_t depths{0};                     //!< NodeWindowUser::GetDepths of its ports' users, most
    uint8_t kind{0};                       //!< NodeWindows::SetKind
    uint8_t side{0};                       //!< NodeWindowTeam
    std::vector<NodeWindowMail> inbox;     //!< frames that ports take when they are sent
    NodeWindowList<NodeWindowSent> outbox; //!< what its ports have sent to other units
    NodeWindowArrivals arrivals;
    std::vector<const NodeWindowUser*> users; //!< users of its ports, each once
    const NodeWindowAhead* ahead{nullptr};    //!< whose events it runs, of several the first
    uint64_t load{0};                         //!< events since loads were balanced

    /// The event that runs does at once what it would schedule for `ts`, if nothing comes before.
    /// \param context a node's \return whether it may: it is then as if that event ran
    bool RunOn(int64_t ts, uint32_t context)
    {
        const NodeWindowEvent* front = events.Front();
        if (ts >= quietUntil || arrivals.FirstTime() <= ts || (front && front->ts <= ts))
        {
            return false;
        }
        now = ts;
        tie = uint64_t{context} << 32 | uid++;
        ++spared;
        return true;
    }

    /// The event that runs schedules one of its own time that would have come before it.
    void Raise()
    {
        const auto context = static_cast<uint32_t>(tie >> 32);
        raised = raisedAt == now && raised > context ? raised : context;
        raisedAt = now;
    }

    /// \return by which context the event that runs comes among those of its time, of all units:
    /// its own, or that of a later one which has scheduled it
    uint32_t GetPlace() const
    {
        const auto context = static_cast<uint32_t>(tie >> 32);
        return raisedAt == now && raised > context ? raised : context;
    }

    /// \return when it has something to do next, but for its inbox and bins; NEVER: it has nothing
    int64_t NextTime()
    {
        const NodeWindowEvent* front = events.Front();
        return front && front->ts < arrivals.FirstTime() ? front->ts : arrivals.FirstTime();
    }

    /// \return whether something is under way to it
    bool ExpectsMail() const
    {
        return !inbox.empty() || std::any_of(bins.begin(), bins.end(), [](const auto& bin) {
            return !bin.IsEmpty();
        });
    }

    /// \param ports in the order of the contexts of their arrivals: slots are counted along this
    void SetPorts(std::vector<NodeWindowPort*> ports);
    /// Lets the ports take their mail. (Templates: node-window-loop.h, node-window-prefetch.h.)
    template <class Port>
    void TakeInbox();

    // These fetch what the unit will need in a window. They run in turns, a while apart; each reads
    // what the one before has fetched.

    // \param bin of that window
    void PrefetchLists(const NodeWindowBin& bin) const;
    template <class Port>
    void PrefetchPorts(const NodeWindowBin& bin) const;
    /// \param cut its events before that, a tick, will run \param depth NodeWindowUser::Prefetch
    template <class Port>
    void PrefetchState(const NodeWindowBin& bin, int64_t cut, uint32_t depth) const;

    /// \return whether it looks further ahead than a switch has to: what it is told of leads from
    /// one thing to the next
    bool IsDeep() const;

    /// The unit that runs in this thread. The library is loaded with the program, so the
    /// variable's place is known by then.
    [[gnu::tls_model("initial-exec")]] static inline thread_local NodeWindowUnit* t_running =
        nullptr;
};

} // namespace ns3

#endif /* NODE_WINDOW_UNIT_H */
