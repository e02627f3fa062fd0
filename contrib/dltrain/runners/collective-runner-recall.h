/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLECTIVE_RUNNER_RECALL_H
#define DLTRAIN_COLLECTIVE_RUNNER_RECALL_H

#include "collective-runner-foresight.h"
#include "collective-runner.h"
#include "contrib/dltrain/observers/recalled-loads.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/**
 * Collectives between servers that end as they did when they ran in packets (coll::RecallBook).
 * Ranks tell of launches and ends by notes between windows, so what is decided does not depend on
 * engine and threads. What follows from a decision comes two links later, at least.
 */
class CollectiveRunner::Recall final : private coll::RecallHost
{
  public:
    Recall(CollectiveRunner& runner, const scenario::RecallOptions& options);

    /// A plan is made, in an event without context or before the first one.
    void Add(uint32_t communicator, Plan* plan);

    /// Messages that no track has: nothing is recalled.
    void Distrust()
    {
        m_loads.GetNetwork().isOpaque = true;
    }

    /// In an event of a rank's server: RecalledLoads::BeginRound.
    void BeginRound(Rank rank, uint32_t round, int64_t now)
    {
        m_loads.BeginRound(rank, round, now);
    }

    // In events of a rank's server:

    /// It is about to launch. \return whether it is held
    bool Launch(Member& member, Part& part, int64_t now);

    /// A message has come for it. \return false: it has left
    bool Hear(Member& member, uint32_t sequence, coll::Lane lane, int64_t now)
    {
        if (!FindPart(member, sequence))
        {
            return sequence >= member.entered;
        }
        Part& part = GetPart(member, sequence);
        if (part.log && part.log->steps > 0)
        {
            NoteSteps(part, lane, now);
        }
        return true;
    }

    /// It leaves, after messages.
    void NoteEnd(const Member& member, const Part& part, int64_t now);
    /// It launches after it was held.
    void LaunchLate(Member& member, uint32_t sequence, int64_t now);
    /// It sends no more, and waits for OnEnd.
    void OnCut(const EventPayload& cut, int64_t now);
    /// It leaves, as it did before.
    void OnEnd(const EventPayload& end, int64_t now);

  private:
    using Path = Foresight::Path;

    /// What an episode sends out of an end of the fabric.
    struct Load
    {
        uint32_t end;
        uint64_t wireBytes;
        uint64_t frames;
        int64_t busy; ///< ps that the end is; 0: acknowledgements only
        bool inner;   ///< it is between switches
    };

    struct Track
    {
        uint32_t communicator;
        const Plan* plan;        ///< while one of its episodes is open
        std::vector<Path> paths; ///< by sender
        std::vector<Load> loads; ///< by end
        uint64_t bytes;          ///< of all messages between servers
    };

    /// An episode that some rank has launched.
    struct Open
    {
        uint32_t sequence = 0;
        uint32_t tag = 0;
        Rank last = 0;           ///< position of the rank that launched last
        int64_t lastAt = -1;     ///< ps
        int64_t end = 0;         ///< ps: the latest of the known ends
        uint32_t endings = 0;    ///< ranks that have left, or of which it is known when they will
        std::vector<bool> known; ///< by rank, of recalled ones
        int64_t stepsAt = 0;     ///< ps: the last time that ranks told of their steps
        uint32_t cuts = 0;       ///< ranks that are cut, or will be
        uint32_t cutSoFar = 0;
        std::map<uint32_t, Load> sent; ///< by end, of ranks that were cut
        uint64_t bytes = 0;            ///< of messages that those have sent
        bool isCounted = false;        ///< links have what was not sent
    };

    /// \return false: some are not known
    bool FindPaths(uint32_t communicator, const Plan& plan, std::vector<Path>* paths) const;
    /// What an episode sends over a path, of the first steps of its lane. \return bytes of messages
    uint64_t AddLoads(const Plan& plan,
                      const Path& path,
                      coll::StepIndex steps,
                      std::map<uint32_t, Load>* byEnd) const;
    /// \return positions that send to others of their server
    std::set<Rank> FindPassing(uint32_t communicator, const Plan& plan) const;
    /// A collective inside servers: it is told of where collectives between servers use its GPUs,
    /// too.
    void AddInside(uint32_t communicator, Plan* plan);
    /// What times follow from, in words.
    std::string ShapeOf(uint32_t communicator,
                        const Plan& plan,
                        const std::vector<Path>& paths) const;
    /// In an event of its server: a message of a rank that logs its steps has come.
    void NoteSteps(Part& part, coll::Lane lane, int64_t now);
    /// A rank has done so many.
    void OnSteps(uint32_t track, uint32_t episode, uint32_t steps, int64_t now);
    /// A rank was cut. \param steps by lane: done until then
    void OnStopped(uint32_t track,
                   uint32_t episode,
                   Rank position,
                   const std::vector<coll::StepIndex>& steps);
    /// Links get what was not sent, when that is known.
    void AddUnsent(uint32_t track, uint32_t episode);

    void ForgetEnded();
    /// What a rank of an episode will do. \param more what the event has as bytes
    void Tell(uint32_t track,
              uint32_t episode,
              uint32_t position,
              int64_t at,
              EventKind kind,
              int64_t more = 0);

    // coll::RecallHost
    void EndRecalled(uint32_t track, uint32_t episode, uint32_t position, int64_t at) override;
    void LaunchHeld(uint32_t track, uint32_t episode, uint32_t position, int64_t at) override;
    void Cut(uint32_t track, uint32_t episode, uint32_t position, int64_t at) override;

    CollectiveRunner& m_runner;
    coll::RecallSettings m_settings;
    RecalledLoads& m_loads;
    coll::RecallBook m_book;
    Foresight m_foresight;
    std::vector<Track> m_tracks;
    std::set<Rank> m_passing;                         ///< ranks: FindPassing, of all
    std::vector<std::pair<uint32_t, Plan*>> m_inside; ///< that nobody shares GPUs with, so far
    /// By track and episode: not over, or not long ago.
    std::map<std::pair<uint32_t, uint32_t>, Open> m_open;
    std::size_t m_mostOpen = 64; ///< from so many on, those that are over are forgotten
};

} // namespace dltrain

#endif // DLTRAIN_COLLECTIVE_RUNNER_RECALL_H
