/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_UNIT_H
#define NODE_WINDOW_UNIT_H

#include "quad-heap.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class NodeWindowShard;
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

/// What came over a link: frames, linked, by arrival.
struct NodeWindowMail
{
    RdmaFrame* first;
    RdmaFrame* last;
    int64_t ts;    //!< of the first one
    uint16_t slot; //!< of the port that gets it
    bool each;     //!< every frame is to be looked at when they come, as some may be no data
};

/**
 * \ingroup rdma
 * When something arrives next at each port of a unit: the most frequent events by far, of which a
 * port has one at most. The first one is found by looking at all, without a branch that could be
 * foretold wrongly.
 */
class NodeWindowArrivals
{
  public:
    static constexpr int64_t NEVER = INT64_MAX;

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

    /// Its own lines will be needed soon.
    void Prefetch() const
    {
        __builtin_prefetch(m_times.data());
        __builtin_prefetch(m_ports.data());
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

/**
 * \ingroup rdma
 * Nodes whose events are one sequence.
 */
struct alignas(64) NodeWindowUnit
{
    static constexpr int64_t NEVER = INT64_MAX;
    /// Of the first event: smaller ones mean something else to ns-3 (EventId::UID).
    static constexpr uint32_t FIRST_UID = 4;

    /// \return whose event runs in this thread; null: none's, or with another engine
    static NodeWindowUnit* Running()
    {
        return t_running;
    }

    /// A handful, two for each port at most, which stay in the cache while the unit runs.
    QuadHeap<NodeWindowEvent, NodeWindowEvent::Rank> events;
    int64_t now{0};                  //!< of the event that runs, or that ran last
    uint64_t tie{0};                 //!< the same event's
    int64_t bucket{NEVER};           //!< the first window that it is in the list of
    uint32_t uid{FIRST_UID};         //!< of the next event
    bool together{false};            //!< NodeWindows::KeepTogether
    uint8_t kind{0};                 //!< NodeWindows::SetKind
    NodeWindowShard* shard{nullptr}; //!< where it runs
    NodeWindowArrivals arrivals;
    std::vector<NodeWindowMail> inbox; //!< for its ports
    std::vector<RdmaPort*> outbox;     //!< its ports that have sent something to other units
    uint64_t load{0};                  //!< events since loads were balanced

    /// \return when it has something to do next; NEVER: it has nothing
    int64_t NextTime()
    {
        const NodeWindowEvent* front = events.Front();
        return front && front->ts < arrivals.FirstTime() ? front->ts : arrivals.FirstTime();
    }

    /// Its ports get what came.
    void TakeMail();
    /// Their lines will be needed soon: what it begins with is where its ports take what came, and
    /// that; and where it goes out, if there is so much that all of it will be needed.
    void Prefetch() const;

    /// Of this thread. The library is loaded with the program, so its place is known by then.
    [[gnu::tls_model("initial-exec")]] static inline thread_local NodeWindowUnit* t_running =
        nullptr;
};

} // namespace ns3

#endif /* NODE_WINDOW_UNIT_H */
