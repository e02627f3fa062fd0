/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_TEAM_H
#define NODE_WINDOW_TEAM_H

#include "node-window-balancer.h"
#include "node-window-parallelism.h"
#include "node-window-shard.h"
#include "node-window-unit.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

class NodeWindowThreadPool;

/**
 * \ingroup rdma
 * The threads that run the units of node windows, each those of its shard, where that is faster
 * than one of them (NodeWindowParallelism); and who has which units (NodeWindowBalancer). What
 * units send to those of another shard lies with the sender's until the next window.
 *
 * Where every link joins units of two different sides, these can take turns:
 *
 *     time ->   0    1    2    3    4    5     look-aheads
 *     side 0    |   2nd   |   4th   |          windows, in the order in which they run: each begins
 *     side 1   1st   |   3rd   |   5th   |     in the middle of one of the other side
 *
 * When a window of one side is run, the other side has run to its middle, one look-ahead before its
 * end: nothing that is under way gets there before the end. So what a unit needs is fetched once
 * for twice as many events. A thread has a shard for each side, which it fills with what its units
 * of the other one send.
 */
class NodeWindowTeam
{
  public:
    using Mail = NodeWindowMail;
    using Shards = std::vector<std::unique_ptr<NodeWindowShard>>;
    using Unit = NodeWindowUnit;

    static constexpr uint32_t MAX_THREADS = 64;

    static constexpr uint32_t MOST_SIDES = 2;

    /// \param units outlive this; there may be more of them between windows
    explicit NodeWindowTeam(std::deque<Unit>& units);
    ~NodeWindowTeam();

    NodeWindowTeam(const NodeWindowTeam&) = delete;
    NodeWindowTeam& operator=(const NodeWindowTeam&) = delete;

    /// From the next Begin on. \param threads at most MAX_THREADS \param always whether also
    /// windows that gain nothing by it are run by all, and units change threads now and then: for
    /// tests
    void SetThreads(uint32_t threads, bool always);

    /// Whatever SetThreads says, there is one.
    void AllowOne()
    {
        m_oneOnly = true;
    }

    uint32_t GetThreads() const
    {
        return m_oneOnly ? 1 : m_threads;
    }

    /// \return whether the system has refused more threads
    bool WereRefused() const
    {
        return m_refused;
    }

    /// \return the largest number of threads that were at work at once so far
    uint32_t GetThreadsUsed() const
    {
        return m_parallelEvents ? CountThreads() : 1;
    }

    /// \return events in windows that several threads ran
    uint64_t GetParallelEvents() const
    {
        return m_parallelEvents;
    }

    uint64_t GetEventCount() const;

    const Shards& GetShards() const
    {
        return m_shards;
    }

    /// From the next Begin on. \param sides 1 or 2: units say which is theirs, NodeWindowUnit::side
    void SetSides(uint32_t sides)
    {
        m_sidesNext = sides;
    }

    uint32_t GetSides() const
    {
        return m_sides;
    }

    /// A run begins. \param most threads that there is anything to do for
    void Begin(uint32_t most);
    /// It ends, by an exception it may be.
    void End();

    /// \param lookAhead ticks: a window is as long, with two sides twice \param now all has run
    /// before that
    void SetLookAhead(int64_t lookAhead, int64_t now);

    /// \return the length of a window, ticks
    int64_t GetWindow() const
    {
        return m_window;
    }

    /// \return when the first window begins that some unit of a side has something in, a tick;
    /// NEVER: there is none
    int64_t FirstBegin(uint32_t side);

    /// Something came for a unit. Between windows, or by the event of a unit.
    /// \param shard the unit's: NodeWindowPorts::SetShard
    void Send(Unit& unit, uint32_t shard, const Mail& mail)
    {
        const Unit* here = Unit::Running();
        if (m_parallel && here && here->shard->GetIndex() != shard)
        {
            here->shard->Post(m_turn, shard, unit, mail);
            return;
        }
        unit.shard->Add(unit, mail);
    }

    /// Delivers mail that is on its way to units. To be called between windows.
    void DeliverPosts();

    /// Runs all units of a side that have something in a window, up to `cut`. \param begin
    /// FirstBegin
    void Run(uint32_t side, int64_t begin, int64_t cut);
    /// Ends the window, when its letters and notes have been taken: units may move.
    void EndWindow();

  private:
    /// \return whether several threads have run it: it was worth it
    bool RunTogether();
    /// A thread's part of that.
    void RunShard(uint32_t index);
    /// Finds anew which units have something when, by the windows that there are now.
    void RegisterAll();
    void Assign(Unit& unit, uint32_t thread);
    void Balance();
    /// Takes back the mail of all units, as it was sent, before the length of windows changes.
    std::vector<std::pair<Unit*, Mail>> TakeMail();
    void GiveBack(const std::vector<std::pair<Unit*, Mail>>& mail);
    /// RegisterAll follows. \param now all has run before that
    void PlaceWindows(int64_t now);

    uint32_t CountThreads() const
    {
        return static_cast<uint32_t>(m_shards.size()) / m_sides;
    }

    NodeWindowShard& ShardOf(uint32_t thread, uint32_t side) const
    {
        return *m_shards[thread * m_sides + side];
    }

    std::deque<Unit>& m_units;
    Shards m_shards; //!< by thread and side
    uint32_t m_sides{1};
    uint32_t m_sidesNext{1};
    int64_t m_lookAhead{1};
    int64_t m_window{1};
    uint32_t m_side{0};                         //!< that runs, or ran last
    std::array<int64_t, MOST_SIDES> m_bucket{}; //!< window of each side that runs, or ran last
    int64_t m_cut{0};
    uint32_t m_threads{1};
    bool m_always{false};
    bool m_refused{false};                        //!< there cannot be more
    bool m_oneOnly{false};                        //!< there must not be more
    std::unique_ptr<NodeWindowThreadPool> m_pool; //!< null: not needed so far
    NodeWindowParallelism m_parallelism;
    std::unique_ptr<NodeWindowBalancer> m_balancer; //!< null: there is one shard
    bool m_parallel{false};                         //!< several threads run this window
    uint32_t m_turn{0};                             //!< turn of posts
    uint64_t m_eventsBefore{0};                     //!< events of shards that are no more
    uint64_t m_parallelEvents{0};
    uint64_t m_windowEvents{0};
};

} // namespace ns3

#endif /* NODE_WINDOW_TEAM_H */
