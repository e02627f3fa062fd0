/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recall: collectives that have run in packets are not run again when they come again, but end as
 * they did then.
 *
 *     packets | recall | packets | recall recall | packets | recall recall recall recall | ...
 *     record             check                     check
 *
 * An *episode* is one collective of one group. Its record is how far apart the ranks launched, and
 * when each left, behind the last launch. A *track* is all equal collectives of one group; a
 * *shape* is all tracks that are alike: same operation, bytes and algorithm, over paths of the same
 * rates and delays. A record of any of them serves all.
 *
 * All ranks leave after all have launched. When the last one has, there is a record with launches
 * as far apart: the episode is recalled; or one is being made by a track that is in packets now: it
 * ends with that; or neither: it makes one. Until then nobody knows, so ranks begin in packets, and
 * are told to stop when it is recalled (Cut). Where it was recalled behind the same collective
 * before, they hold their launches instead (IsHeld), and launch late if there is no record.
 *
 * An episode in packets may be foreseen from its first steps (OnForeseen): then it is over, and its
 * ends are as if they had happened. Checks are foreseen, too. Some that are foreseen run to their
 * end all the same, and if such a one misses, no more of its shape are foreseen.
 *
 * After N recalled episodes a track, one of a shape is run in packets, as a check: N = 1, 2, 4, ...
 * while checks agree, 1 again when one does not. Of alike records the newest is kept.
 *
 * Some collectives begin while messages of the group's last one still wait for the network. Behind
 * one that was recalled they would find it empty, and tell too little. So such a one makes a record
 * or is a check only behind one in packets, or if it is foreseen: whoever foresees knows what was
 * before. The one before is in packets the next time that it comes at the same place.
 *
 * Collectives of groups that share a port between switches, or that were under way at the same
 * port at the same time, are recalled by rounds (RecallRounds), each as in its place in the last
 * round in packets. Messages of two ranks are not, unless collectives are: what is recalled of them
 * at the same time, and uses the same ports, is slowed as it would be (RecallFlows), and what was
 * in packets beside others makes no record.
 *
 * Times are ps. Whoever calls has one order of calls, whatever runs at once: between windows.
 */
#ifndef COLLECTIVES_RECALL_RECALL_BOOK_H
#define COLLECTIVES_RECALL_RECALL_BOOK_H

#include "collectives/recall/recall-network.h"
#include "collectives/recall/recall-records.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coll
{

/// Carries out what a RecallBook decides.
class RecallHost
{
  public:
    virtual ~RecallHost() = default;
    /// A rank leaves a recalled episode. If it is called again before, the last one counts.
    virtual void EndRecalled(uint32_t track, uint32_t episode, uint32_t position, int64_t at) = 0;
    /// A rank that is in packets sends no more, and waits for EndRecalled.
    virtual void Cut(uint32_t track, uint32_t episode, uint32_t position, int64_t at) = 0;
    /// A rank that was held launches after all, in packets.
    virtual void LaunchHeld(uint32_t track, uint32_t episode, uint32_t position, int64_t at) = 0;
};

/// What was recalled so far, and how well.
struct RecallStatistics
{
    uint64_t episodes = 0;
    uint64_t recalled = 0;
    uint64_t foreseen = 0; ///< began in packets
    uint64_t checks = 0;
    double missSum = 0; ///< of checks: largest difference of an end, over the duration
    double missMost = 0;
    int64_t recalledTime = 0; ///< ps, of the group that was recalled longest
    /// ps by which the time may be wrong, as records may be: what was recalled, times the miss of
    /// checks
    double uncertainTime = 0;
    uint32_t shared = 0; ///< tracks that share a port with another group
    uint32_t tracks = 0;
};

class RecallBook final : private RecallFlowUser
{
  public:
    /// \param network outlives this
    /// \param areMessages of two ranks, which launch at once, and cannot be cut
    RecallBook(const RecallSettings& settings,
               RecallHost& host,
               RecallNetwork& network,
               bool areMessages);

    /// Before the first rank launches.
    /// \param group that its ranks are
    /// \param shape equal for tracks that are alike
    /// \param loads of the ports that its messages use
    /// \param first by rank, what it may send before the others launch; or empty
    /// \param isRecalledAlone else it is recalled by rounds only
    /// \return its number
    uint32_t AddTrack(uint32_t group,
                      const std::string& shape,
                      uint32_t ranks,
                      std::vector<RecallLoad> loads,
                      std::vector<std::vector<RecallLoad>> first = {},
                      bool isRecalledAlone = true);

    /// When a rank launches, at any time. \param episode counts the rank's on this track
    /// \param behind track of the rank's last one of the group
    bool IsHeld(uint32_t track, uint32_t episode, uint32_t behind, uint32_t round) const
    {
        const Track& its = m_tracks[track];
        if (m_network.isOpaque)
        {
            return false;
        }
        if (IsShared(m_groups[its.group]))
        {
            return m_network.rounds.IsRecalled(round) && !its.records.IsEmpty();
        }
        return episode < its.held.size() && its.held[episode] &&
               (m_areMessages || its.recalledBehind.count(behind));
    }

    /// \param round that the rank is in \param held what IsHeld said
    void OnLaunch(uint32_t track,
                  uint32_t episode,
                  uint32_t position,
                  uint32_t round,
                  int64_t now,
                  bool held);
    /// An episode in packets tells nothing: something else delays it. \pre areMessages
    void Abandon(uint32_t track, uint32_t episode);
    /// A rank has left an episode that ran in packets.
    void OnEnd(uint32_t track, uint32_t episode, uint32_t position, int64_t now);

    /// The answer to what is foreseen.
    enum class Answer : uint8_t
    {
        STOP, ///< it is over in packets: ranks are cut, and leave then
        STAY, ///< it runs to its end, as if nobody knew it
        TEST, ///< the same, to see whether that is right: of OnEnd, that is what `ends` say
    };

    /// All ranks of an episode will leave then. What its group's last one, which is not in the
    /// network, would have done to it is in that. \param ends by rank \param miss as a share of the
    /// episode's time
    Answer OnForeseen(uint32_t track,
                      uint32_t episode,
                      int64_t now,
                      const std::vector<int64_t>& ends,
                      double miss);

    RecallStatistics GetStatistics() const;

    /// All groups are recalled by rounds from now on.
    void JoinAll();

  private:
    /// \return of an episode, for RecallFlows
    static uint64_t NameOf(uint32_t track, uint32_t number)
    {
        return static_cast<uint64_t>(track) << 32U | number;
    }

    struct Episode
    {
        std::vector<bool> held; ///< by rank
        bool leads = false;     ///< others wait for its ends
        bool tells = false;     ///< in packets, behind and beside what is in packets
        bool isForeseen = false;
        RecallTimes foreseen; ///< by rank: what a test has to show; empty: it is none
        /// The group's last one had not ended when its first rank launched, so that both were under
        /// way together.
        bool joined = false;
        bool behindPackets = false;  ///< that one was in packets
        bool isBeside = false;       ///< what shares its ports and is not in packets
        uint32_t packets = 0;        ///< number of RecallFlows
        std::vector<uint32_t> early; ///< the same, until all have launched
        uint32_t round = 0;
        uint32_t place = 0; ///< in the round: of the group's
        uint32_t launched = 0;
        uint32_t ended = 0;
        int64_t last = 0;  ///< launch
        int64_t until = 0; ///< ps: when the group's last one ends, if it was recalled
        RecallContext context;
        RecallTimes launches; ///< by rank
        RecallTimes ends;     ///< by rank; -1: has not left
        RecallTimes before;   ///< by rank, when all have launched
    };

    struct Track
    {
        uint32_t shape;
        uint32_t group;
        uint32_t ranks;
        bool isRecalledAlone;
        std::vector<bool> held; ///< by episode, as far as it is decided
        /// Tracks of the group behind which it was recalled the last time: the same is expected.
        std::set<uint32_t> recalledBehind;
        uint32_t behind = RecallContext::kNothing; ///< the group's track before its last one
        std::map<uint32_t, Episode> open;
        RecallRecords records; ///< if shared: its own
        std::vector<RecallLoad> loads;
        std::vector<std::vector<RecallLoad>> first; ///< by rank
        int64_t recalled = 0;                       ///< ps
    };

    struct Group
    {
        bool inPackets = false; ///< its last episode
        uint32_t open = 0;      ///< episodes in packets that have not ended
        int64_t end = 0;        ///< of its last recalled one
        uint32_t owner = 0;     ///< of RecallFlows
        uint32_t lastTrack = RecallContext::kNothing;
        uint32_t last = RecallContext::kNothing; ///< shape of its last episode
        RecallHistory history;
        bool isShared = false; ///< it is recalled by rounds
        uint32_t episodes = 0;
        uint32_t meetings = 0; ///< of these were under way with others' at the same port
        uint32_t round = 0;
        uint32_t place = 0; ///< of its next one in the round
    };

    using EpisodeName = std::pair<uint32_t, uint32_t>; ///< track, number

    static constexpr EpisodeName kNone{UINT32_MAX, UINT32_MAX};

    struct Shape
    {
        uint32_t tracks = 0;
        RecallRecords records;
        EpisodeName leader = kNone; ///< in packets now
        bool isForeseen = false;    ///< an episode was
        bool isMisled = false;      ///< one that was ended otherwise
        uint32_t known = 0;         ///< that were foreseen, tests included
        double missForeseen = 0;    ///< the largest that was told, or that a test has shown
        uint64_t step = 1;          ///< N
        uint64_t since = 0;         ///< recalled since the last check
        uint64_t checks = 0;
        double missSum = 0;
        double missMost = 0;
        RecallSpan span;                  ///< recalled
        RecallSpan unchecked;             ///< the same, of records that no other one has confirmed
        std::vector<EpisodeName> waiting; ///< all ranks launched, for the leader's ends
        uint32_t inVain = 0;              ///< episodes that were held in vain
        uint32_t rest = 0;                ///< episodes not to hold
        uint32_t byGroup = RecallContext::kNothing; ///< makes its next record
        uint32_t checker = 0;                       ///< track that runs checks
    };

    bool IsShared(const Group& group) const
    {
        return m_areMessages ? m_network.meet : group.isShared;
    }

    bool DecideNext(uint32_t track) const;
    static void NoteMatch(Track& track, bool isRecalled);
    bool IsCheckDue(const Track& track) const;
    /// Whether the group is to make the shape's next record, behind one in packets.
    bool Takes(uint32_t group, Shape& shape);
    void Settle(uint32_t track, uint32_t number);
    void SettleMessage(uint32_t track, uint32_t number, const RecallRecord* record);
    bool Follows(const Shape& shape, const Episode& episode) const;
    void Follow(uint32_t track, uint32_t number);
    /// It is not recalled. Others may wait for its ends, if there is none else.
    void StayInPackets(uint32_t track, uint32_t number);
    /// A rank has launched before others.
    void NoteEarly(const Track& track, uint32_t position, int64_t now, bool held, Episode* episode);
    void BeginPackets(Group& group, const Track& track, Episode& episode);
    /// It ends as others do, and its ranks send no more.
    void Stop(uint32_t track, uint32_t number);
    /// Those of its ranks that are held launch now.
    void LaunchAll(uint32_t track, uint32_t number);
    void Recall(uint32_t track, uint32_t number, const RecallRecord& record);
    // RecallFlowUser
    void EndPart(uint64_t flow, uint32_t part, int64_t at) override;
    /// A rank leaves one that ran in packets. \param known when that is known
    void End(uint32_t track, uint32_t number, uint32_t position, int64_t at, int64_t known);
    void Count(Track& track, int64_t from, int64_t until, bool isChecked);
    /// \return what recalled ones are expected to miss, as a share
    static double ExpectedMiss(const Shape& shape);
    /// Whether one that could be foreseen runs to its end.
    static bool IsTest(Shape& shape);
    /// It has.
    void FinishTest(Shape& shape, const Episode& episode);
    void Keep(Track& track, const Episode& episode);
    void NoteMiss(Shape& shape, double miss);

    // recall-book-shared.cc
    void SettleShared(uint32_t track, uint32_t number);
    /// Its group and those that are under way at the same ports may be recalled by rounds from now
    /// on.
    void JoinUsers(uint32_t track, uint32_t number);
    void Join(uint32_t group, uint32_t other);
    static bool MeetsOften(const Group& group);
    void KeepShared(Track& track, const Episode& episode, RecallRecord record);

    RecallSettings m_settings;
    RecallHost& m_host;
    RecallNetwork& m_network;
    bool m_areMessages;
    std::deque<Track> m_tracks;
    std::deque<Shape> m_shapes;
    std::unordered_map<std::string, uint32_t> m_shapeOf;
    std::unordered_map<uint32_t, uint32_t> m_groupOfPort; ///< between switches
    std::vector<Group> m_groups;
    std::map<uint32_t, uint32_t> m_groupOfOwner; ///< of RecallFlows
    RecallStatistics m_statistics;
};

} // namespace coll

#endif // COLLECTIVES_RECALL_RECALL_BOOK_H
