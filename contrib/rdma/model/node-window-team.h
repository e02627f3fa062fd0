/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_TEAM_H
#define NODE_WINDOW_TEAM_H

#include "node-window-deal.h"
#include "node-window-pace.h"
#include "node-window-shard.h"
#include "node-window-unit.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace ns3
{

class NodeWindowCrew;

/**
 * \ingroup rdma
 * The threads that run the units of node windows, each those of its shard, where that is faster
 * than one of them (NodeWindowPace); and who has which units (NodeWindowDeal). What units send to
 * those of another shard lies with the sender's until the next window.
 */
class NodeWindowTeam
{
  public:
    using Mail = NodeWindowMail;
    using Shards = std::vector<std::unique_ptr<NodeWindowShard>>;
    using Unit = NodeWindowUnit;

    static constexpr uint32_t MAX_THREADS = 64;

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
        return m_parallelEvents ? static_cast<uint32_t>(m_shards.size()) : 1;
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

    /// A run begins. \param most threads that there is anything to do for
    void Begin(uint32_t most);
    /// It ends, by an exception it may be.
    void End();

    /// \param window ticks \param base the window that was run last
    void SetWindow(int64_t window, int64_t base);

    /// \return the first window that some unit has something in; NEVER: there is none
    int64_t FirstBucket();

    /// Something came for a unit. Between windows, or by the event of a unit.
    /// \param shard the unit's: RdmaPort::SetPeerShard
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

    /// What is on its way to units lies with them from now on. Between windows.
    void DeliverPosts();

    /// All units that have something in a window, up to `cut`.
    void Run(int64_t bucket, int64_t cut);
    /// What that left for the window's end has been done: units may move.
    void EndWindow();

  private:
    /// \return whether several threads have run it: it was worth it
    bool RunTogether();
    /// A thread's part of that.
    void RunShard(uint32_t index);
    void RegisterAll();
    void Assign(Unit& unit, uint32_t shard);
    void Deal();

    std::deque<Unit>& m_units;
    Shards m_shards;
    int64_t m_window{1};
    int64_t m_bucket{0}; //!< that is run, or was run last
    int64_t m_cut{0};
    uint32_t m_threads{1};
    bool m_always{false};
    bool m_refused{false};                  //!< there cannot be more
    bool m_oneOnly{false};                  //!< there must not be more
    std::unique_ptr<NodeWindowCrew> m_crew; //!< null: not needed so far
    NodeWindowPace m_pace;
    std::unique_ptr<NodeWindowDeal> m_deal; //!< null: there is one shard
    bool m_parallel{false};                 //!< several threads run this window
    uint32_t m_turn{0};                     //!< of posts
    uint64_t m_eventsBefore{0};             //!< of shards that are no more
    uint64_t m_parallelEvents{0};
    uint64_t m_windowEvents{0};
};

} // namespace ns3

#endif /* NODE_WINDOW_TEAM_H */
