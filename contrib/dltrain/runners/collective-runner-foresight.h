/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLECTIVE_RUNNER_FORESIGHT_H
#define DLTRAIN_COLLECTIVE_RUNNER_FORESIGHT_H

#include "collective-runner.h"
#include "collectives/recall/ring-recurrence.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dltrain
{

/**
 * Rings in packets whose end follows from their first steps (coll::RingRecurrence). Ranks note when
 * they have done steps; at some numbers of steps, when all ranks have, it is tried between windows.
 * Lanes are rings of their own: what they share shows in what they miss. Messages inside servers
 * are not relayed as long as steps are noted.
 */
class CollectiveRunner::Foresight final
{
  public:
    /// A channel of a schedule between servers.
    struct Path
    {
        Rank from; ///< position
        Rank to;
        coll::Lane lane;
        uint32_t fromEndpoint; ///< of the fabric
        uint32_t toEndpoint;
        Transport::Way way;
    };

    /// What it finds out.
    struct Ends
    {
        std::vector<int64_t> at;   ///< ps, by position: when the rank leaves
        std::vector<int64_t> late; ///< of that for what was before and is not in the network
        double miss;               ///< of the times that were checked, as a share
    };

    explicit Foresight(CollectiveRunner& runner)
        : m_runner(runner)
    {
    }

    /// A track begins. \param paths all between servers
    void Add(uint32_t track,
             uint32_t communicator,
             const Plan& plan,
             const std::vector<Path>& paths);

    /// A track begins of which nothing is foreseen.
    void Skip(uint32_t track)
    {
        m_rings.resize(std::max<std::size_t>(m_rings.size(), track + 1));
    }

    /// In an event of a rank's server: it launches in packets.
    void Begin(Part& part, int64_t now) const;

    /// The same: a message has come. \return the number of steps that all its lanes have done now,
    /// if it is one of those to try it at; else 0
    static uint32_t Hear(Part& part, coll::Lane lane, int64_t now)
    {
        StepLog& log = *part.log;
        uint32_t& done = log.done[lane];
        if (done == log.steps)
        {
            return 0;
        }
        log.times[lane * log.steps + done] = now;
        ++done;
        return IsTried(done) && AreAll(log, done) ? done : 0;
    }

    // Between windows:

    /// It runs to its end in packets. \param late Ends::late, or empty
    void Stay(uint32_t track, uint32_t sequence, const std::vector<int64_t>& late) const;
    /// A rank has done so many steps. \return when all will leave; nothing: not known
    std::optional<Ends> Try(uint32_t track, uint32_t sequence, uint32_t steps);
    /// A rank leaves without having sent all it would have.
    void NoteEnd(uint32_t communicator,
                 uint32_t track,
                 uint32_t sequence,
                 Rank position,
                 int64_t at);

  private:
    /// Of the steps at which it is tried, the first; each further one is twice as many.
    /// RingRecurrence needs a third to learn from: where a server has eight GPUs, a message has
    /// passed it then.
    static constexpr uint32_t kFirst = 24;
    static constexpr uint32_t kMost = 192;
    /// Other sizes of messages than these are for longer tables than anybody needs.
    static constexpr std::size_t kSizes = 8;

    struct Lane
    {
        std::vector<Rank> order; ///< positions along the ring
        coll::RingRecurrence recurrence;
    };

    struct Ring
    {
        uint32_t communicator;
        uint32_t steps;
        uint32_t noted; ///< the first steps
        std::vector<Lane> lanes;
        /// By lane and position: how long before the rank it ended, ps, last time.
        std::vector<std::vector<int64_t>> early;
    };

    /// An episode whose ranks leave without having sent all.
    struct Gone
    {
        uint32_t track;
        uint32_t left = 0;
        std::vector<int64_t> ends; ///< by position
    };

    /// Of a communicator.
    struct Group
    {
        /// By sequence and number of steps: ranks that have done them.
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> ranks;
        std::map<uint32_t, Gone> gone; ///< by sequence: the newest ones
    };

    static bool IsTried(uint32_t steps)
    {
        return steps == kFirst || steps == 2 * kFirst || steps == 4 * kFirst || steps == kMost;
    }

    static bool AreAll(const StepLog& log, uint32_t done)
    {
        for (const uint32_t its : log.done)
        {
            if (its < done)
            {
                return false;
            }
        }
        return true;
    }

    /// \return nothing: it is no ring, or its messages share ports with others of its own
    std::optional<Ring> MakeRing(uint32_t communicator,
                                 const Plan& plan,
                                 const std::vector<Path>& paths) const;
    /// \return nothing: too many sizes
    std::optional<coll::RingShape> ShapeOf(uint32_t communicator,
                                           const Plan& plan,
                                           const std::vector<Rank>& order,
                                           coll::Lane lane,
                                           const std::map<Rank, const Path*>& paths) const;
    /// When positions along a lane had done their first steps.
    coll::RingTimes TimesOf(const Ring& ring,
                            coll::Lane lane,
                            uint32_t sequence,
                            uint32_t steps) const;
    void StopNoting(const Ring& ring, uint32_t sequence, const std::vector<int64_t>& late) const;
    /// What the messages of the one before, which were not sent, would have delayed.
    void AddDelay(const Ring& ring,
                  coll::Lane lane,
                  uint32_t sequence,
                  const coll::RingTimes& times,
                  std::vector<int64_t>* ends) const;

    CollectiveRunner& m_runner;
    std::vector<std::optional<Ring>> m_rings; ///< by track
    std::map<uint32_t, Group> m_groups;       ///< by communicator
};

} // namespace dltrain

#endif // DLTRAIN_COLLECTIVE_RUNNER_FORESIGHT_H
