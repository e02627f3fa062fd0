/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLECTIVE_RUNNER_H
#define DLTRAIN_COLLECTIVE_RUNNER_H

#include "collectives/core/schedule.h"
#include "collectives/schedules/dimension-times.h"
#include "collectives/tuner/exchange-rates.h"
#include "contrib/dltrain/base/event-pool.h"
#include "contrib/dltrain/base/lane-arrivals.h"
#include "contrib/dltrain/transports/interconnect.h"
#include "library-times.h"
#include "reports/base/records.h"
#include "reports/stats/cut-off-record.h"
#include "scenarios/job/scenario.h"

#include "ns3/prefetch-line.h"

#include <boost/container/small_vector.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace reports
{
class CollectivePaths;
struct PathRecord;
} // namespace reports

namespace dltrain
{

using coll::Rank;

using reports::CollectiveRecord;

/// Hears of collectives.
class CollectiveUser
{
  public:
    virtual ~CollectiveUser() = default;
    /// A rank has done its part; now is part.left. \param cookie what Start was given
    /// \param path on which it leaves, held by the caller; null: not noted
    virtual void OnRankDone(const reports::CollectivePart& part,
                            uint64_t cookie,
                            reports::PathRecord* path) = 0;
};

/**
 * Runs schedules (collectives/core/schedule.h). There is a channel for each (sender, receiver,
 * lane), of the transport that serves the two ranks.
 *
 * Ranks share only schedules, which all read. Each counts its collectives, keeps its own lanes and
 * opens its own channels. A receiver learns everything from the message: the channel's name and
 * cookie tell communicator, sender and lane, and the immediate tells the collective of the
 * communicator. Messages that arrive before the rank has entered its collective are counted and
 * wait (NCCL's eager buffers, without a limit on their size: assumed). reports::CollectiveJoin
 * makes the record of a whole collective from the parts of its ranks.
 *
 * Memory: one LaneState a rank and lane of each collective under way; steps are computed, never
 * stored. A communicator keeps a schedule for each of its different collectives. Channels are kept,
 * with the state of their congestion control, as NCCL keeps its connections: direct all-to-all
 * makes n (n-1).
 *
 * Switches that take part (coll::NetworkNode) are members, too, after the ranks. A server's switch
 * begins when the first of its ranks does. A switch between servers begins with the first message,
 * whose immediate tells the collective: the number of the plan, and the lower bits of the sequence.
 *
 * Several runners, of several jobs, share a fabric: each job has an interconnect of its own.
 */
class CollectiveRunner : public TransportUser, private LeaveUser
{
  public:
    /// ps: no collective between servers is faster than two links. An engine that runs servers
    /// apart relies on it.
    static int64_t LeastBetween(const topo::Topology& topology);

    /// \param cluster hosts of ranks: rank r is GPU r mod g of logical server r / g; outlives this
    /// \param interconnect shared with other users
    /// \param job job of the channels that it opens
    CollectiveRunner(const scenario::ClusterSpec& cluster,
                     const scenario::CollectiveOptions& options,
                     Interconnect& interconnect,
                     CollectiveUser* user,
                     uint32_t job = 0);
    ~CollectiveRunner() override;

    /// Note what ranks left their collectives after. \param paths must outlive this
    void SetPaths(reports::CollectivePaths* paths)
    {
        m_paths = paths;
        m_interconnect.CarryCauses();
    }

    /// Sends of a GPU that stands still wait until it goes on. \param speeds by rank; kept. Before
    /// the first event.
    void SetSpeeds(const std::map<Rank, training::SpeedProfile>* speeds)
    {
        m_speeds = speeds->empty() ? nullptr : speeds;
    }

    /// In an event of a rank's server, or before the first one: it begins a round of its job.
    void BeginRound(Rank rank, uint32_t round, int64_t now);

    /// Somebody else sends messages that are no collectives, and not in the order of rounds.
    void Distrust();

    /// Is told when messages of a rank begin to fail, in words, by an event of its server.
    void SetFailureListener(std::function<void(const std::string& what)> listener)
    {
        m_onFailure = std::move(listener);
    }

    /// Between the nodes' events: nothing happens any more, and what comes is not heard. What ranks
    /// enter all the same does not begin, and is kept for GetEntered.
    void Abort()
    {
        EndRelays();
        m_aborted = true;
    }

    /// A collective that a rank is in.
    struct Entered
    {
        uint32_t sequence;
        coll::Collective what;
        uint32_t tag;
        uint64_t cookie;
    };

    /// \return what a rank has entered and not left, in their order
    std::vector<Entered> GetEntered(uint32_t communicator, Rank position) const;
    /// \return how many collectives of the communicator a rank has entered
    uint32_t CountEntered(uint32_t communicator, Rank position) const;

    /// \param ranks in communicator order. \param priority of its packets
    /// \return the communicator's number
    uint32_t AddCommunicator(std::vector<Rank> ranks, uint8_t priority = 3);

    /// \return why this collective cannot run as asked for, in a sentence; empty: it can
    std::string WhyNot(uint32_t communicator, const coll::Collective& what) const;

    /// Whether it has a schedule for the collective.
    bool Knows(uint32_t communicator, const coll::Collective& what) const
    {
        return FindPlan(communicator, what) != nullptr;
    }

    /// Makes a collective's schedule, before the first event or in an event without context.
    /// Collectives that ranks enter in their own events must have been prepared.
    void Prepare(uint32_t communicator, const coll::Collective& what);
    /// Gives the schedules back. \pre no rank is in a collective of this communicator
    void Forget(uint32_t communicator);

    /**
     * A rank enters the communicator's next collective (each rank counts its own). All ranks must
     * ask for the same. \param what of as many ranks as the communicator has \param tag work
     * requests carry it as their id
     */
    void Start(uint32_t communicator,
               Rank position,
               const coll::Collective& what,
               uint32_t tag,
               uint64_t cookie,
               int64_t now);

    uint32_t GetNRanks(uint32_t communicator) const;

    /// \return whether this one of several Ranks (processes) simulates the rank's server
    bool IsHere(Rank globalRank) const
    {
        return m_interconnect.GetPlaces().IsHere(globalRank);
    }

    /// \return ns-3 node id of the server a rank lives in
    uint32_t ContextOf(Rank globalRank) const
    {
        return m_interconnect.GetPlaces().ContextOf(globalRank);
    }

    /// \return bytes sent so far by all ranks together
    uint64_t GetBytes() const;

    /// \return one line for each collective that has not ended: the number of ranks in it, and the
    /// reason why some of them wait; and one line for messages that failed
    std::vector<std::string> DescribeUnfinished() const;

    /// \return for collectives with failed messages, the ranks that are cut off from each other
    std::vector<reports::CutOffRecord> GetCutOff() const;

    /// Collective among processes with hosts, when nothing happens any more: the first one knows
    /// what stands of the others' ranks, for GetCutOff.
    void MergeRanks();

    // TransportUser
    void OnDelivered(const Delivery& delivery, int64_t now) override;
    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override;
    void Prefetch(uint64_t cookie, const reports::PathRecord* cause, uint32_t turn) const override;

  private:
    /// A lane of a rank in a collective under way.
    struct LaneState
    {
        // The step at `index`, if not at the end: coll::Step. The two peers are apart, so that they
        // are not read together right after they were written one by one: that would stall a
        // processor.
        Rank recvPeer = coll::kNoRank;
        coll::StepIndex index = 0;
        uint64_t sendBytes = 0;
        Rank sendPeer = coll::kNoRank;
        coll::StepIndex steps = 0;
        LaneArrivals arrivals;
        bool started = false; ///< the collective's launch is over

        void SetStep(const coll::Step& step)
        {
            recvPeer = step.recvPeer;
            sendPeer = step.sendPeer;
            sendBytes = step.sendBytes;
        }
    };

    /// How a collective is done: read by all ranks, written by none.
    struct Plan
    {
        const coll::Algorithm* algorithm;
        std::unique_ptr<const coll::Schedule> schedule;
        std::optional<topo::Protocol> protocol;
        LibraryTimes times;
        bool ownNic = false;  ///< messages to other servers begin with the NIC beside the GPU
        bool ownNics = false; ///< and end at that beside the other (--peer-nic=own)
        coll::ExchangeRates rates = {}; ///< most that a pair gets
        bool limited = false; ///< messages between servers go over channels with that limit
        std::vector<Rank> positions = {}; ///< by network node: index of its member
        uint32_t number = 0;              ///< in Communicator::numbered
        int64_t formula = -1; ///< ps from the last entry on, instead of messages; -1: messages
        coll::DimensionTimetable timetable; ///< of such a formula by dimension
        uint32_t id = 0;                    ///< among all that there ever were, from 1 on
        uint64_t parts = 1;                 ///< Schedule::PartsOfMessage
        bool relays = false;                ///< messages may pass servers by Relay
        bool atOnce = false;                ///< AtOnce may work it out
        std::vector<uint64_t> bytesOf = {}; ///< bytes that ranks send, without messages
        uint32_t track = UINT32_MAX;        ///< Recall's number; UINT32_MAX: it is never recalled
        uint32_t trackOfGroup = 0;          ///< of its communicator
        bool between = false;               ///< with a formula: several servers
    };

    /// Passing on along a ring inside a server (collective-runner-relay.h).
    class Relay;
    /// A collective inside a server (collective-runner-at-once.h).
    class AtOnce;
    /// Collectives that end as they did before (collective-runner-recall.h).
    class Recall;
    /// Rings whose end follows from their first steps (collective-runner-foresight.h).
    class Foresight;

    /// When a rank did the first steps of its part: at step 0 it launched, then messages came.
    struct StepLog
    {
        uint32_t steps;             ///< room, of a lane; 0: no more are noted
        int64_t late = 0;           ///< ps: the rank leaves so much later than it would
        std::vector<uint32_t> done; ///< by lane
        std::vector<int64_t> times; ///< ps, by lane and step
    };

    /// A rank's part of a collective, or a switch's.
    struct Part
    {
        const Plan* plan = nullptr; ///< null: not entered, but something has come for it
        boost::container::small_vector<LaneState, 1> lanes;
        uint64_t bytesSent = 0;
        uint32_t sequence = 0;
        uint32_t tag = 0;
        Rank as = 0; ///< in the schedule
        uint16_t lanesLeft = 0;
        bool used = false; ///< Member::part
        // behind what a message needs
        int64_t entered = 0; ///< ps
        uint64_t cookie = 0;
        uint32_t episode = 0;                 ///< of Recall
        int64_t endsAt = -1;                  ///< ps: when Recall makes it leave
        reports::PathRecord* entry = nullptr; ///< while Recall holds the launch; held
        std::unique_ptr<StepLog> log;         ///< of Foresight; null: nothing is noted
    };

    /// Where a rank sends.
    struct Connection
    {
        Rank peer = coll::kNoRank; ///< position
        bool inside = false;       ///< a server
        bool toUnit = false;       ///< a switch between servers
        bool limited = false;      ///< Plan::limited
        bool ownNics = false;      ///< Plan::ownNics
        uint16_t rail = 0;
        uint32_t plan = 0; ///< Plan::id, of the one that it was used for last
        ChannelId channel = 0;
        Transport* transport = nullptr;
    };

    /// Messages of a rank that failed.
    struct Failure
    {
        uint64_t messages = 0;
        std::set<Rank> to; ///< positions
        int64_t since = 0; ///< ps
        std::string first; ///< in words
    };

    /// The unfinished state of a rank, as bytes: a message to another rank that has failed or, if
    /// there is none, the collective that it is in.
    struct Standing
    {
        uint32_t communicator = 0;
        Rank position = 0;
        Rank failedTo = coll::kNoRank; ///< position
        uint32_t plan = 0; ///< Plan::id: all processes make the same ones in the same order
        uint64_t bytes = 0;
    };

    /// \return by communicator and position, of a rank's in that order
    std::vector<Standing> FindStanding() const;

    /// The kinds of members.
    enum class Kind : uint8_t
    {
        RANK,
        SERVER_SWITCH,
        FABRIC_SWITCH,
    };

    /// A rank in a communicator, or a switch: touched in events of its own server only. With
    /// thousands of ranks a message finds it in no cache. So the data that a message needs are
    /// together, and first: LINES.
    struct alignas(64) Member
    {
        uint32_t communicator = 0;
        Rank position = 0;
        Rank rank = 0;        ///< place, for a switch
        uint32_t server = 0;  ///< server among the hosts of Places
        uint32_t context = 0; ///< ns-3 node id of the server
        Kind kind = Kind::RANK;
        bool causeGiven = false;              ///< given to a message: the member must not drop it
        bool gotInside = false;               ///< its current action is caused by a message inside
        uint32_t entered = 0;                 ///< collectives so far
        reports::PathRecord* cause = nullptr; ///< cause of current posts: see CollectivePaths
        Connection last;                      ///< for lane 0: the connection used last
        uint64_t bytesSent = 0;               ///< in all
        Relay* relay = nullptr;               ///< relay whose first or last member it is; else null
        Part part;                            ///< part in a collective it has not left, if used
        // seldom needed
        int64_t postsFrom = 0; ///< when its next message can be given to a NIC (LibraryTimes::post)
        std::map<uint32_t, Part> others;     ///< by sequence: if it is in several
        std::vector<uint32_t> episodes;      ///< entered so far, by Plan::trackOfGroup
        uint32_t lastTrack = UINT32_MAX;     ///< Plan::track of the last
        std::vector<Connection> lastOfLanes; ///< by lane, as `last`: of the first few
        std::unordered_map<uint64_t, Connection> connections; ///< by ConnectionKey
        std::unique_ptr<Failure> failure;                     ///< null: none

        static constexpr std::size_t LINES = 3; ///< cache lines of 64 bytes that a message needs

        void PrefetchLines() const
        {
            const char* first = reinterpret_cast<const char*>(this);
            ns3::PrefetchLines(first, first + 64 * LINES);
        }
    };

    /// Ranks of several servers that have entered a collective with a formula.
    struct Meeting
    {
        uint32_t entered = 0;
        int64_t last = -1; ///< ps: the last entry so far
        Rank position = 0; ///< of it; of several the first
    };

    struct Communicator
    {
        std::vector<Rank> ranks;
        uint8_t priority = 3; ///< ChannelName
        coll::Placement placement;
        std::vector<Member> members;              ///< by position: ranks, then switches
        std::unordered_map<uint64_t, Rank> nodes; ///< positions of switches, by NodeKey
        std::vector<const Plan*> numbered;        ///< plans with switches between servers
        std::unique_ptr<AtOnce> atOnce;           ///< null: none so far
        std::optional<bool> mayAggregate;         ///< the switches have room; unknown at first
        /// By sequence: the number of ranks that have entered a collective with a formula. The last
        /// one ends it for all. All ranks are in one server.
        std::map<uint32_t, uint32_t> meetings;
        /// The same of several servers, between the nodes' events.
        std::map<uint32_t, Meeting> meetingsBetween;
        std::unordered_multimap<uint64_t, Plan> plans; ///< by the collective's bytes
        uint32_t tracks = 0;                           ///< of Recall
    };

    static uint64_t ConnectionKey(Rank to, coll::Lane lane, uint16_t rail, const Plan& plan)
    {
        return static_cast<uint64_t>(to) << 32 | static_cast<uint64_t>(lane) << 16 |
               static_cast<uint64_t>(plan.limited) << 15 |
               static_cast<uint64_t>(plan.ownNics) << 14 | rail;
    }

    static uint64_t NodeKey(const coll::NetworkNode& node)
    {
        return static_cast<uint64_t>(node.kind) << 32 | node.where;
    }

    /// A message that a rank sends.
    struct Message
    {
        const Plan* plan;
        uint64_t bytes;
        uint32_t sequence;
        uint32_t tag;
    };

    enum class EventKind : uint8_t
    {
        LEAVE,        ///< a rank is done
        LAUNCH,       ///< it begins
        SEND,         ///< the software latency before a send is over
        MEET,         ///< the time by formula is over
        MEET_BETWEEN, ///< the same, of several servers
        SEND_OUT,     ///< Relay::SendOut
        AT_ONCE,      ///< AtOnce::OnEnds
        RECALLED,     ///< Recall::OnEnd
        LAUNCH_HELD,  ///< it begins, and Recall has held it
        CUT,          ///< Recall::OnCut
    };

    /// The payload of a rank's event.
    struct EventPayload
    {
        EventKind kind;
        coll::Lane lane;
        Rank to; ///< position
        Member* member;
        uint32_t sequence;
        uint32_t tag;
        uint64_t bytes;
        const Plan* plan;
        reports::PathRecord* path; ///< cause, held
    };

    /// Checks at compile time that the data that a message needs are in Member::LINES.
    static void CheckLines();

    using Events = EventPool<CollectiveRunner, EventPayload>;
    friend Events;
    void OnEvent(const EventPayload& payload, int64_t now);
    void PrefetchEvent(const EventPayload& payload, uint32_t depth) const;

    /// \return null: not prepared
    const Plan* FindPlan(uint32_t communicator, const coll::Collective& what) const;
    /// Whether ExchangeRates may slow messages between servers down.
    bool CanBeLimited(const Plan& plan, const coll::Placement& placement) const;
    /// Makes the plan of a choice, with the library's times.
    Plan MakePlan(const coll::Choice& choice,
                  std::unique_ptr<const coll::Schedule> schedule,
                  const Communicator& comm) const;
    /// --in-server=formula, of ranks of one server; --collective-times=formula, of all.
    void TakeFormula(Plan* plan, const coll::Placement& placement) const;
    /// --network=dims: likewise of collectives by dimension.
    void TakeTimetable(Plan* plan, const Communicator& comm) const;
    /// Plan::bytesOf
    static void CountBytes(Plan* plan);
    /// As asked for, else as the tuner chooses; where switches have no room, as it does without.
    coll::Choice Choose(Communicator& comm, const coll::Collective& what);
    /// Asks the switches between servers for room, once.
    bool MayAggregate(Communicator& comm);
    void AddMember(uint32_t communicator, Kind kind, Rank place);
    /// Members of the switches that the communicator's collectives may use.
    void AddNodes(uint32_t communicator);
    /// Lanes before their first step. \return the part
    Part& Enter(Member& member, uint32_t sequence, const Plan& plan, Rank as, int64_t now);
    /// A switch takes part from now on.
    void StartNode(Member& node, uint32_t sequence, const Plan& plan, int64_t now);
    /// The switch of a rank's server does, if the collective has it.
    void StartServerSwitch(const Member& member, uint32_t sequence, const Plan& plan, int64_t now);
    /// \param as in the schedule
    static void SetStep(const Plan& plan, Rank as, coll::Lane lane, LaneState& state);
    /// \return TransportPost::mostBps of a message inside a server
    static uint64_t MostInside(const Plan& plan, uint64_t bytes);
    /// The immediate of a message to a switch between servers; StartUnit takes it apart.
    static uint32_t UnitImmediate(const Plan& plan, uint32_t sequence);
    uint32_t StartUnit(Member& unit, uint32_t immediate, int64_t now);
    void Schedule(const Member& member, int64_t at, const EventPayload& payload);
    /// Its software is about to send a message to another server.
    void ScheduleSend(const Member& member,
                      int64_t at,
                      bool gotInside,
                      const EventPayload& payload);
    /// A rank's lanes begin.
    void Launch(Member& member, Part& part, int64_t now);
    /// The same, whatever was tried to do without messages.
    void LaunchLanes(Member& member, Part& part, int64_t now);
    /// Its communicator's AtOnce, if any, takes the launch. \return whether it does
    bool LaunchAtOnce(Member& member, const Part& part, int64_t now);
    /// A rank has entered a collective with a formula.
    void Meet(Member& member, const Part& part, int64_t now);
    /// The same of several servers. Between the nodes' events.
    void MeetBetween(const Member& member, uint32_t sequence, int64_t now);
    /// A rank's last lane has ended.
    void EndRank(Member& member, const Part& part, int64_t now);
    void Leave(Member& member, uint32_t sequence, reports::PathRecord* path, int64_t now);
    // LeaveUser
    void OnLeave(const Leaving& leaving, int64_t now) override;
    /// \return null: the member has left it, or nothing is known of it so far
    static const Part* FindPart(const Member& member, uint32_t sequence);
    /// \return the same, a new one if need be
    static Part& GetPart(Member& member, uint32_t sequence);
    static void ErasePart(Member& member, uint32_t sequence);
    /// \return the member's cause, held for a message or an event
    reports::PathRecord* HoldCause(Member& member);
    void DropCause(Member& member);
    /// A message from another server may be passed on inside this one by a Relay.
    /// \return whether it is; then the member's cause is no longer its own
    bool PassOn(Member& member, uint32_t sequence, coll::Lane lane, int64_t now);
    /// Gives the state of relays back to the ranks. Between the nodes' events.
    void EndRelays() const;
    /// \return bytes that ranks have sent and only relays have counted
    uint64_t CountRelayed() const;
    /// The member's cause is the path of this message.
    void Deliver(Member& member, uint32_t sequence, coll::Lane lane, Rank from, int64_t now);
    void Advance(Member& member, Part& part, coll::Lane lane, int64_t now);
    void Send(Member& member, Part& part, Rank to, coll::Lane lane, uint64_t bytes, int64_t now);
    /// \return when the member's GPU can send, ps: now, later, or SpeedProfile::NEVER
    int64_t CanSendAt(const Member& member, int64_t now) const;
    void Transfer(Member& member, const Message& message, const Connection& connection);
    const Connection& GetConnection(Member& member, const Plan& plan, Rank to, coll::Lane lane);
    /// The one used last becomes that to this member.
    void Change(Connection& last, Member& member, const Plan& plan, Rank to, coll::Lane lane);
    /// \return name of the channel of a connection
    ChannelName NameOf(const Member& member,
                       const Plan& plan,
                       Rank to,
                       coll::Lane lane,
                       uint16_t rail) const;
    /// Whatever was used last.
    const Connection& FindConnection(Member& member,
                                     const Plan& plan,
                                     Rank to,
                                     coll::Lane lane,
                                     uint16_t rail);
    uint16_t RailOf(const Member& member, const Plan& plan, Rank to, coll::Lane lane) const;
    /// \return nothing if all ranks have left it
    std::string DescribeUnfinished(const Communicator& comm, uint32_t sequence) const;

    scenario::CollectiveOptions m_options;
    Interconnect& m_interconnect;
    CollectiveUser* m_user;
    uint32_t m_job;
    const scenario::ClusterSpec& m_cluster;
    std::deque<Communicator> m_communicators;
    std::function<void(const std::string& what)> m_onFailure; ///< empty: there is no listener
    bool m_aborted = false;
    uint32_t m_plans = 0; ///< made so far
    /// States of all processes, if MergeRanks was called.
    std::optional<std::vector<Standing>> m_standing;
    reports::CollectivePaths* m_paths = nullptr;
    const std::map<Rank, training::SpeedProfile>* m_speeds = nullptr; ///< null: all are as ever
    std::deque<Events> m_events;                                      ///< by server
    std::vector<std::unique_ptr<Relay>> m_relays; ///< by server; null: none so far
    std::unique_ptr<Recall> m_recall;             ///< null: nothing is recalled
    coll::DimensionTurns m_turns;                 ///< of collectives with timetables
};

} // namespace dltrain

#endif // DLTRAIN_COLLECTIVE_RUNNER_H
