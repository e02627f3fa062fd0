/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_SHARD_H
#define NODE_WINDOW_SHARD_H

#include "node-window-scale.h"
#include "node-window-unit.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

namespace ns3
{

class EventImpl;

/// Order of events that are not in a unit's event set, or not yet: by time, and at the same time by
/// the event that scheduled them.
struct NodeWindowKey
{
    int64_t ts;
    int64_t scheduled;
    uint32_t context; //!< context of the event that scheduled it
    uint32_t uid;     //!< counted by that event's unit

    bool operator<(const NodeWindowKey& other) const;
};

/// An event that one unit has scheduled for another, or for the whole simulation.
struct NodeWindowLetter
{
    NodeWindowKey key;
    uint32_t to; //!< context: RdmaEventOrder
    EventImpl* event;
};

/// A record for an observer of several nodes.
struct NodeWindowNote
{
    static constexpr std::size_t BYTES = 104;
    static constexpr uint32_t DEPTHS = 4; //!< depths of `prefetch`: NodeWindows::Note

    /// As it is: whoever adds one says all that is read.
    NodeWindowNote() // NOLINT(modernize-use-equals-default): that would clear the payload
    {
    }

    int64_t ts;
    uint32_t context;
    bool soon; //!< NodeWindows::NoteSoon
    void (*tell)(void* sink, const void* payload);
    void (*prefetch)(void* sink, const void* payload, uint32_t depth); //!< null: nothing
    void* sink;
    alignas(8) unsigned char payload[BYTES];
};

/**
 * \ingroup rdma
 * Memory for what notes say that has no room in them: taken piece by piece in a window, and all of
 * it given back when they have been told.
 */
class NodeWindowNoteMemory
{
  public:
    static constexpr std::size_t ALIGNMENT = 64;

    void* Take(std::size_t bytes);

    /// Frees all that was taken.
    void Clear()
    {
        m_block = 0;
        m_used = 0;
    }

  private:
    struct alignas(ALIGNMENT) Line
    {
        unsigned char bytes[ALIGNMENT];
    };

    struct Block
    {
        std::unique_ptr<Line[]> memory;
        std::size_t size; //!< in lines, as all sizes here
    };

    static constexpr std::size_t BLOCK = 1024;

    std::vector<Block> m_blocks;
    std::size_t m_block{0}; //!< taken from now
    std::size_t m_used{0};  //!< lines of that block
};

/**
 * \ingroup rdma
 * Units that one thread runs: which of them have something in which window, and what their events
 * leave for the window's end. In a window a shard is its thread's alone; between windows it is
 * that of whoever runs the engine.
 */
class alignas(64) NodeWindowShard
{
  public:
    using Unit = NodeWindowUnit;
    static constexpr int64_t NEVER = Unit::NEVER;

    /// \param index of all \param shards how many there are
    NodeWindowShard(uint32_t index, uint32_t shards);

    uint32_t GetIndex() const
    {
        return m_index;
    }

    /// Forgets which units have something when. \param window ticks \param early window 0 begins so
    /// much before time 0 \param base the first window
    void Reset(int64_t window, int64_t early, int64_t base);

    /// Names the shard that gets what units of this shard send to units of the same thread: with
    /// sides (NodeWindowTeam) the thread's other one. \param near outlives this, or is this
    void SetNear(NodeWindowShard& near)
    {
        m_near = &near;
    }

    /// \return the index of the shard that has what the running thread may add to at once
    uint32_t GetNear() const
    {
        return m_near->m_index;
    }

    /// \return the window of a time, a tick
    int64_t WindowOf(int64_t ts) const
    {
        return (ts + m_early) / m_window;
    }

    /// \return the first tick of a window
    int64_t BeginOf(int64_t bucket) const
    {
        return bucket * m_window - m_early;
    }

    /// There is something for a unit of this shard at this time.
    void Register(Unit& unit, int64_t ts)
    {
        if (unit.bucket == NEVER || ts < BeginOf(unit.bucket))
        {
            AddToBucket(unit, WindowOf(ts));
        }
    }

    /// A window is run from now on.
    void Begin(int64_t bucket)
    {
        m_base = bucket;
        m_begin = BeginOf(bucket);
        for (uint32_t i = 0; i < Unit::BINS; ++i)
        {
            m_bin[i] = static_cast<uint32_t>((bucket + i) % Unit::BINS);
        }
    }

    /// Something is on its way to a unit of this shard.
    void Add(Unit& unit, const NodeWindowMail& mail)
    {
        const int64_t since = mail.ts - m_begin;
        const int64_t windows = WindowsIn(since);
        if (windows == Unit::BINS || !mail.plain || m_window > LONGEST_OF_BINS)
        {
            unit.inbox.push_back(mail);
            Register(unit, mail.ts);
            return;
        }
        const auto ticks = static_cast<uint64_t>(since - windows * m_window);
        NodeWindowArrival& arrival = unit.bins[m_bin[static_cast<std::size_t>(windows)]].Add();
        arrival.frame = mail.frame;
        arrival.order = ticks << 32 | uint64_t{mail.slot} << 16;
        if (m_base + windows < unit.bucket)
        {
            AddToBucket(unit, m_base + windows);
        }
    }

    /// A unit of this shard has run, or has come here: when it is to run next.
    void RegisterNext(Unit& unit)
    {
        const int64_t next = unit.NextTime();
        int64_t bucket = next == NEVER ? NEVER : WindowOf(next);
        for (uint32_t i = 0; i < Unit::BINS; ++i)
        {
            if (!unit.bins[m_bin[i]].IsEmpty())
            {
                bucket = std::min(bucket, m_base + i);
                break;
            }
        }
        if (bucket < unit.bucket)
        {
            AddToBucket(unit, bucket);
        }
    }

    /// Gives the caller all that the bins of a unit hold.
    template <class Function>
    void EmptyBins(Unit& unit, Function take)
    {
        for (uint32_t i = 0; i < Unit::BINS; ++i)
        {
            NodeWindowBin& bin = unit.bins[m_bin[i]];
            for (const NodeWindowArrival& arrival : bin)
            {
                take(NodeWindowMail{m_begin + i * m_window + arrival.GetTicks(),
                                    arrival.frame,
                                    arrival.GetSlot(),
                                    true});
            }
            bin.Clear();
        }
    }

    /// \return the first window that a unit has something in, but for what is posted; NEVER: there
    /// is none
    int64_t FirstBucket();

    /// \return how many units have something in a window of the next few, or more
    std::size_t GetCrowd(int64_t bucket) const
    {
        return m_ring[static_cast<std::size_t>(bucket % RING)].size();
    }

    // Mail to units of other shards, in a window that several threads run: it lies here until their
    // own threads take it.

    /// A unit of this shard posts mail. \param turn 0 and 1 in turns, by window
    void Post(uint32_t turn, uint32_t shard, Unit& unit, const NodeWindowMail& mail)
    {
        m_posts[turn][shard].list.push_back({&unit, mail});
        if (mail.ts < m_firstPost)
        {
            m_firstPost = mail.ts;
        }
    }

    /// Takes what `from` has posted for units of this shard. \param turn of that window
    void TakePosts(uint32_t turn, NodeWindowShard& from);

    /// \return when the first of what is posted here arrives; NEVER: nothing is
    int64_t GetFirstPost() const
    {
        return m_firstPost;
    }

    /// Nothing that was posted lies here any more.
    void ForgetPosts()
    {
        m_firstPost = NEVER;
    }

    /// Runs all units that have something in a window, up to `cut`.
    void Run(int64_t bucket, int64_t cut);
    /// The same, compiled for a class of ports: node-window-loop.h.
    template <class Port>
    void RunPorts(int64_t bucket, int64_t cut);

    /// Adds a note, which is told at the end of the window that a unit of this shard runs in.
    NodeWindowNote& AddNote();

    uint64_t GetEventCount() const
    {
        return m_eventCount;
    }

    /// \return when the last event was, a tick
    int64_t GetLast() const
    {
        return m_last;
    }

    // The window's end takes these.
    std::vector<NodeWindowLetter> letters;
    std::vector<NodeWindowNote> notes;
    NodeWindowNoteMemory noteMemory;

  private:
    /// Windows that are kept in lists, one bit of m_filled each; of later ones units wait in a
    /// heap.
    static constexpr int64_t RING = 64;

    /// Fewer units that have something in a window are in the cache anyway.
    static constexpr std::size_t MANY = 64;
    /// With fewer units, part of their state is still in the cache: measured
    /// (NodeWindowShard::Prefetch).
    static constexpr std::size_t VERY_MANY = 256;
    static constexpr uint64_t NONE = UINT64_MAX; //!< NodeWindowArrival::order behind the last one

    struct FarUnit
    {
        int64_t bucket;
        Unit* unit;

        bool operator<(const FarUnit& other) const
        {
            return bucket > other.bucket; // the least on top
        }
    };

    struct Posted
    {
        Unit* unit;
        NodeWindowMail mail;
    };

    /// Written by one thread in a window, and by another in the next.
    struct alignas(64) Posts
    {
        std::vector<Posted> list;
    };

    /// Windows of more ticks have no bins: NodeWindowArrival::order.
    static constexpr int64_t LONGEST_OF_BINS = int64_t{1} << 31;

    /// \param since m_begin, ticks \return so many windows, at most Unit::BINS. Most mail arrives
    /// in the next one, or in the one behind that: no division
    int64_t WindowsIn(int64_t since) const
    {
        return (since >= m_window) + (since >= 2 * m_window) + (since >= Unit::BINS * m_window);
    }

    void AddToBucket(Unit& unit, int64_t bucket);

    /// \return how many units share the cache in this window: with sides the other one's as well
    std::size_t GetRunning() const
    {
        // The list has some several times.
        const std::size_t listed = m_near == this ? m_running.size() : 2 * m_running.size();
        return std::min(listed, NodeWindowScale::units);
    }

    /// Hands over what a unit has sent.
    void EmptyOutbox(Unit& unit);
    /// Prefetches the place where Add will write it.
    void PrefetchBin(const NodeWindowSent& sent) const;
    template <class Port>
    void RunUnit(Unit& unit, int64_t cut);
    /// Moves a bin into m_due, in the order of arrival.
    void TakeDue(NodeWindowBin& bin);
    /// \param place of the unit in m_running that is run next
    template <class Port>
    void Prefetch(std::size_t place, int64_t cut) const;

    uint32_t m_index;
    NodeWindowShard* m_near{this};
    int64_t m_window{1};
    int64_t m_early{0};
    int64_t m_base{0};                        //!< the window that was run last
    int64_t m_begin{0};                       //!< its begin, ticks
    std::array<uint32_t, Unit::BINS> m_bin{}; //!< where units have it, and the next ones
    uint64_t m_filled{0};                     //!< bit s: m_ring[s] is not empty
    int64_t m_firstPost{NEVER};
    int64_t m_last{0};
    uint64_t m_eventCount{0};
    std::array<std::vector<Unit*>, RING> m_ring;
    std::priority_queue<FarUnit> m_far;
    std::vector<Unit*> m_running;         //!< units that run in this window
    std::vector<NodeWindowArrival> m_due; //!< at the unit that runs; NONE behind them
    std::vector<int64_t> m_keys;
    std::array<std::vector<Posts>, 2> m_posts; //!< by turn, and by shard
};

} // namespace ns3

#endif /* NODE_WINDOW_SHARD_H */
