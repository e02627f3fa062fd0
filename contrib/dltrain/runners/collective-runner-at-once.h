/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLECTIVE_RUNNER_AT_ONCE_H
#define DLTRAIN_COLLECTIVE_RUNNER_AT_ONCE_H

#include "collective-runner.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dltrain
{

/**
 * Works out a collective inside one server when its last rank has launched, as long as nobody else
 * uses the links of its GPUs:
 *
 *     rank 0 launches | rank 1 launches | ... | the last one launches: all ends are known
 *                                             |---- one event for each time of an end ---->
 *
 * The ranks' messages are run apart from the event loop, in a model of the server's links of their
 * own (topo::ScaleUpModel, "Run apart"), in the order in which they would have been posted. Ranks
 * that launch with the same delays as before end as they did before: nothing is run again. The ends
 * are the same to the picosecond as those of messages that are events (`--in-server=one-by-one`).
 *
 * It holds the GPUs' ports (ScaleUpTransport::Hold). When anybody else posts a message from or to
 * one of these GPUs, the messages are run again up to then, and what is under way goes to the
 * server's links: the ranks go on message by message.
 *
 * Only collectives in which every rank needs data of every other: no rank ends before all have
 * launched. A communicator has one, for one collective at a time. In events of its server only.
 */
class CollectiveRunner::AtOnce final : public ScaleUpBorrower
{
  public:
    /// \return whether collectives of a plan may be worked out at once
    static bool Suits(const CollectiveRunner& runner, const Communicator& comm, const Plan& plan);

    AtOnce(CollectiveRunner& runner, const Member& first);
    ~AtOnce() override;

    AtOnce(const AtOnce&) = delete;
    AtOnce& operator=(const AtOnce&) = delete;

    /// A rank is about to launch. \return whether that is all: it is told when the rank's part ends
    bool Launch(Member& member, const Part& part, int64_t now);

    /// The event at which parts end. \param turn as of the event
    void OnEnds(uint32_t turn, int64_t now);

    /// Bytes that ranks have sent and do not know of yet. \param until messages that arrive sooner
    /// have arrived
    uint64_t CountSent(int64_t until);

    // ScaleUpBorrower
    void GiveBack(int64_t now) override;

    void Prefetch(int64_t, uint32_t) const override
    {
    }

    /// Gives the messages back to the server's links. Also between the nodes' events.
    void End(int64_t now, int64_t until);

  private:
    /// Collectives to run as messages after somebody else has posted, at most.
    static constexpr uint32_t MOST_REST = 64;
    /// Ways to launch that are known, at most; a new one takes the place of the oldest.
    static constexpr std::size_t MOST_KNOWN = 8;

    /// A rank that has launched.
    struct Launched
    {
        Rank position;
        int64_t at;                 ///< ps
        reports::PathRecord* entry; ///< the path of its entry, held
    };

    /// Where a path of messages began, and how long it is.
    struct Origin
    {
        Rank rank = 0;         ///< position of the rank whose launch has caused the first
        uint32_t messages = 0; ///< 0: the launch itself
    };

    /// A rank's or switch's part.
    struct Actor
    {
        Member* member = nullptr;
        Rank as = 0; ///< in the schedule
        std::vector<LaneState> lanes;
        uint32_t lanesLeft = 0;
        uint64_t sent = 0; ///< bytes
        bool launched = false;
        bool ended = false;
    };

    /// A message under way in a run.
    struct Sent
    {
        Rank from; ///< position
        Rank to;
        coll::Lane lane;
        ChannelId channel;
        uint64_t bytes;
        int64_t posted; ///< ps
        Origin origin;  ///< of its cause
    };

    /// When a part has ended.
    struct PartEnd
    {
        int64_t at; ///< ps; of Known since the first launch
        Rank position;
        uint64_t sent; ///< bytes
        Origin origin; ///< of the path on which it leaves
        bool byLaunch; ///< nothing was left to wait for when it launched
    };

    /// Ends of a way to launch.
    struct Known
    {
        uint32_t plan;                                  ///< Plan::id
        std::vector<std::pair<Rank, int64_t>> launches; ///< position, ps since the first
        std::vector<PartEnd> ends;                      ///< in their order
        uint64_t bytes;                                 ///< over links
    };

    std::vector<Member>& Members();
    /// Whether some rank has launched already, or has got messages.
    bool HasBegun(const Part& part);
    void Begin(const Part& part);
    /// All ranks have launched.
    void WorkOut(int64_t now);
    const Known& FindKnown();
    /// Runs the messages from the launches on. \param until ps: what arrives then has not arrived
    void Run(int64_t until);
    void RunLaunch(Actor& actor, const Origin& origin, int64_t now);
    void RunArrival(const Sent& sent, int64_t now);
    void RunSteps(Actor& actor, coll::Lane lane, const Origin& origin, int64_t now);
    void RunEnd(Actor& actor, const Origin& origin, int64_t now, bool byLaunch);
    Actor& ActorAt(Rank position);
    /// The state of a run becomes that of the ranks.
    void TellRanks();
    /// \return held
    reports::PathRecord* PathTo(const Origin& origin, Rank position, int64_t at);
    const Launched& LaunchOf(Rank position) const;
    void ScheduleEnds(int64_t now);
    void EndPart(const PartEnd& end, int64_t now);
    /// It has nothing to do with the collective any more.
    void Clear();
    void Rest();

    CollectiveRunner& m_runner;
    ScaleUpTransport& m_inside;
    const uint32_t m_communicator;
    const uint32_t m_server;
    std::vector<uint32_t> m_gpus; ///< to hold
    const Plan* m_plan = nullptr; ///< null: there is no collective
    uint32_t m_sequence = 0;
    uint32_t m_tag = 0;
    uint32_t m_turn = 0; ///< counts beginnings and ends
    std::vector<Launched> m_launches;
    std::vector<PartEnd> m_ends; ///< empty: not known yet
    std::size_t m_ended = 0;     ///< of m_ends
    uint64_t m_bytes = 0;        ///< over links
    uint32_t m_rest = 0;
    uint32_t m_nextRest = 1;
    std::vector<Known> m_known;
    std::size_t m_oldest = 0; ///< of m_known
    // of a run
    std::unique_ptr<topo::ScaleUpModel> m_model; ///< null: nothing was run yet
    std::vector<Actor> m_actors;                 ///< ranks by position, then switches
    std::vector<Sent> m_sent;
    std::vector<uint32_t> m_freeSent;
    std::vector<PartEnd> m_runEnds;
    uint64_t m_arrived = 0; ///< bytes
};

} // namespace dltrain

#endif // DLTRAIN_COLLECTIVE_RUNNER_AT_ONCE_H
