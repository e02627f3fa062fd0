/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recall: which collectives run in packets, and when the others end.
 *
 * Fixture: groups of ranks that run one collective after another. In packets a rank leaves
 * `behind[rank]` after the last launch of its group, and then launches the next one.
 */
#include "collectives/recall/recall-book.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace
{

constexpr int64_t kDelay = 2;

class Bed : public coll::RecallHost
{
  public:
    struct Group
    {
        std::vector<int64_t> behind;
        uint32_t episodes;
        int64_t begins = 0;
        int64_t pause = 0; ///< of a rank between two
        uint32_t track = 0;
        std::vector<uint32_t> done;              ///< by rank
        std::vector<std::vector<int64_t>> ends;  ///< by episode and rank; -1: not yet
        std::vector<std::vector<int64_t>> began; ///< the same
        std::set<uint32_t> inPackets;
    };

    explicit Bed(uint32_t checks = 4, double error = 0.01)
        : network({error, checks, kDelay}),
          book({error, checks, kDelay}, *this, network, false)
    {
    }

    /// \param slowness of an episode in packets: factor on its times
    std::function<double(uint32_t group, uint32_t episode)> slowness = [](uint32_t, uint32_t) {
        return 1.0;
    };

    /// \param inner ports between switches
    void Add(const Group& group,
             const std::string& shape,
             const std::vector<uint32_t>& ports,
             bool inner = true)
    {
        const auto number = static_cast<uint32_t>(groups.size());
        Group& its = groups.emplace_back(group);
        std::vector<coll::RecallLoad> loads;
        for (const uint32_t port : ports)
        {
            loads.push_back({port, 1, inner});
        }
        its.track = book.AddTrack(number, shape, static_cast<uint32_t>(group.behind.size()), loads);
        its.done.assign(its.behind.size(), 0);
        its.ends.assign(its.episodes, std::vector<int64_t>(its.behind.size(), -1));
        its.began = its.ends;
    }

    void Run()
    {
        for (uint32_t g = 0; g < groups.size(); ++g)
        {
            for (uint32_t rank = 0; rank < groups[g].behind.size(); ++rank)
            {
                At(groups[g].begins, [this, g, rank] { Launch(g, rank); });
            }
        }
        while (!m_events.empty())
        {
            const auto first = m_events.begin();
            m_now = first->first.first;
            const std::function<void()> what = first->second;
            m_events.erase(first);
            what();
        }
    }

    void EndRecalled(uint32_t track, uint32_t episode, uint32_t position, int64_t at) override
    {
        EXPECT_GE(at, m_now + (at > m_now ? 0 : kDelay));
        m_endsAt[{track, episode, position}] = at;
        At(at, [this, track, episode, position] {
            if (m_endsAt.at({track, episode, position}) == m_now)
            {
                End(track, episode, position);
            }
        });
    }

    void Cut(uint32_t track, uint32_t episode, uint32_t, int64_t at) override
    {
        EXPECT_GE(at, m_now + kDelay);
        groups[track].inPackets.erase(episode);
        cut.insert({track, episode});
    }

    void LaunchHeld(uint32_t track, uint32_t episode, uint32_t position, int64_t at) override
    {
        EXPECT_GE(at, m_now + kDelay);
        At(at, [this, track, episode, position] { Send(track, episode, position); });
    }

    /// When it is told when all will leave an episode in packets, behind its last launch; 0: never.
    int64_t foresees = 0;
    double lie = 1; ///< factor on what is foreseen
    std::map<coll::RecallBook::Answer, uint32_t> answers;

    std::vector<Group> groups;
    std::set<std::pair<uint32_t, uint32_t>> cut; ///< group and episode
    uint32_t episodesOfRound = 0;                ///< 0: there are no rounds
    coll::RecallNetwork network;
    coll::RecallBook book;

  private:
    void At(int64_t when, std::function<void()> what)
    {
        m_events.emplace(std::pair(when, m_number++), std::move(what));
    }

    void Launch(uint32_t g, uint32_t rank)
    {
        Group& group = groups[g];
        const uint32_t episode = group.done[rank];
        const uint32_t round = episodesOfRound ? episode / episodesOfRound : 0;
        if (episodesOfRound && episode % episodesOfRound == 0)
        {
            network.rounds.Begin(round, m_now);
        }
        const bool held = book.IsHeld(group.track, episode, group.track, round);
        group.began[episode][rank] = m_now;
        if (!held)
        {
            Send(group.track, episode, rank);
        }
        book.OnLaunch(group.track, episode, rank, round, m_now, held);
    }

    void Send(uint32_t g, uint32_t episode, uint32_t)
    {
        Group& group = groups[g];
        group.inPackets.insert(episode);
        if (++m_sending[{g, episode}] < group.behind.size())
        {
            return;
        }
        if (foresees > 0)
        {
            At(m_now + foresees,
               [this, g, episode, launched = m_now] { Foresee(g, episode, launched); });
        }
        const double factor = slowness(g, episode);
        for (uint32_t rank = 0; rank < group.behind.size(); ++rank)
        {
            const auto behind =
                static_cast<int64_t>(factor * static_cast<double>(group.behind[rank]));
            At(m_now + behind, [this, g, episode, rank] {
                if (cut.count({g, episode}))
                {
                    return;
                }
                book.OnEnd(groups[g].track, episode, rank, m_now);
                End(g, episode, rank);
            });
        }
    }

    void Foresee(uint32_t g, uint32_t episode, int64_t launched)
    {
        std::vector<int64_t> ends;
        for (const int64_t behind : groups[g].behind)
        {
            ends.push_back(launched + static_cast<int64_t>(lie * static_cast<double>(behind)));
        }
        ++answers[book.OnForeseen(groups[g].track, episode, m_now, ends, 1e-4)];
    }

    void End(uint32_t g, uint32_t episode, uint32_t rank)
    {
        Group& group = groups[g];
        ASSERT_EQ(group.ends[episode][rank], -1) << "a rank ends twice";
        group.ends[episode][rank] = m_now;
        ASSERT_EQ(group.done[rank], episode);
        if (++group.done[rank] < group.episodes)
        {
            At(m_now + group.pause, [this, g, rank] { Launch(g, rank); });
        }
    }

    std::map<std::pair<int64_t, uint64_t>, std::function<void()>> m_events;
    std::map<std::pair<uint32_t, uint32_t>, std::size_t> m_sending;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int64_t> m_endsAt;
    int64_t m_now = 0;
    uint64_t m_number = 0;
};

int64_t
LastOf(const std::vector<int64_t>& times)
{
    return *std::max_element(times.begin(), times.end());
}

TEST(RecallBook, ALoneGroupRunsChecksInPackets)
{
    Bed bed;
    bed.Add({{1000, 1000, 1000}, 45}, "ring", {1, 2, 3});
    bed.Run();
    // N recalled ones, and a check, for N of 1, 4, 16, as checks agree fully: 0 | 1 | 2 | 3 .. 6 |
    // 7 | 8 .. 23 | 24 | 25 .. 40 | 41.
    EXPECT_EQ(bed.groups[0].inPackets, (std::set<uint32_t>{0, 2, 7, 24, 41}));
    for (uint32_t episode = 0; episode < 45; ++episode)
    {
        EXPECT_EQ(bed.groups[0].ends[episode][1], 1000 * (episode + 1)); // as in packets
    }
    const coll::RecallStatistics s = bed.book.GetStatistics();
    EXPECT_EQ(s.episodes, 45u);
    EXPECT_EQ(s.recalled, 40u);
    EXPECT_EQ(s.checks, 4u);
    EXPECT_EQ(s.missMost, 0);
    EXPECT_EQ(bed.network.doubt.lost.Get(), 0);
}

TEST(RecallBook, AtMostSoManyAreRecalledInARow)
{
    Bed bed(0);
    bed.Add({{1000, 1000}, 12}, "ring", {1, 2});
    bed.Run();
    EXPECT_EQ(bed.groups[0].inPackets, (std::set<uint32_t>{0, 2, 4, 6, 8, 10}));
}

TEST(RecallBook, OneOfSeveralThatAreAlikeLeads)
{
    Bed bed;
    for (uint32_t g = 0; g < 8; ++g)
    {
        bed.Add({{900, 1000}, 3}, "ring", {2 * g, 2 * g + 1});
    }
    bed.Run();
    std::size_t first = 0;
    for (const Bed::Group& group : bed.groups)
    {
        first += group.inPackets.count(0);
        for (uint32_t episode = 0; episode < 3; ++episode)
        {
            // All wait for the leader, which launches kDelay late; its ends are known kDelay later.
            const int64_t last = LastOf(group.began[episode]);
            EXPECT_GE(LastOf(group.ends[episode]), last + 1000);
            EXPECT_LE(LastOf(group.ends[episode]), last + 1000 + 2 * kDelay);
        }
    }
    EXPECT_EQ(first, 1u);
    // One record, and a check after 8 that were recalled with nobody in packets.
    const coll::RecallStatistics s = bed.book.GetStatistics();
    EXPECT_EQ(s.episodes, 24u);
    EXPECT_GE(s.recalled, 21u);
}

TEST(RecallBook, GroupsThatShareAPortAreInPacketsTogether)
{
    Bed bed;
    bed.Add({{1000, 1000}, 10}, "ring", {1, 2});
    bed.Add({{1000, 1000}, 10}, "ring", {2, 3});
    bed.Add({{1000, 1000}, 10}, "ring", {4, 5});
    bed.Run();
    EXPECT_EQ(bed.groups[0].inPackets.size(), 10u); // there are no rounds
    EXPECT_EQ(bed.groups[1].inPackets.size(), 10u);
    // Alone, and checked when as many were recalled of all three that are alike.
    EXPECT_EQ(bed.groups[2].inPackets, (std::set<uint32_t>{0, 4}));
    EXPECT_EQ(bed.book.GetStatistics().shared, 2u);
}

TEST(RecallBook, GroupsThatShareAPortAreRecalledByRounds)
{
    Bed bed(2);
    bed.episodesOfRound = 3;
    // A round's second collective is slower, whatever was before it.
    bed.slowness = [](uint32_t, uint32_t episode) { return episode % 3 == 1 ? 2.0 : 1.0; };
    bed.Add({{1000, 1000}, 45}, "ring", {1, 2});
    bed.Add({{1000, 1000}, 45}, "ring", {2, 3});
    bed.Run();
    // Rounds 0 | 1 | 2 3 | 4 5 | 6 7 | 8 .. 11 | 12 13 | 14, as those in packets agree.
    std::set<uint32_t> inPackets;
    for (const uint32_t round : {0U, 2U, 3U, 6U, 7U, 12U, 13U})
    {
        inPackets.insert({3 * round, 3 * round + 1, 3 * round + 2});
    }
    EXPECT_EQ(bed.groups[0].inPackets, inPackets);
    EXPECT_EQ(bed.groups[1].inPackets, inPackets);
    for (uint32_t episode = 0; episode < 45; ++episode)
    {
        const std::vector<int64_t>& began = bed.groups[1].began[episode];
        const std::vector<int64_t>& ends = bed.groups[1].ends[episode];
        EXPECT_EQ(ends[0] - began[0], episode % 3 == 1 ? 2000 : 1000); // as at its place
    }
    // The first of two leads in.
    EXPECT_EQ(bed.network.rounds.Ended(60000).GetChecks(), 3u);
    EXPECT_EQ(bed.network.rounds.GetMissMost(), 0);
}

TEST(RecallBook, GroupsThatMeetAtANicAreSeenTo)
{
    // The same port of a host, and not one between switches: what does not meet is recalled.
    for (const bool doMeet : {false, true})
    {
        Bed bed;
        bed.Add({{100, 100}, 10, 0, 900}, "ring", {1, 2}, false);
        bed.Add({{100, 100}, 10, doMeet ? 50 : 500, 900}, "ring", {2, 3}, false);
        bed.Run();
        EXPECT_EQ(bed.book.GetStatistics().shared, doMeet ? 2u : 0u);
        EXPECT_EQ(bed.book.GetStatistics().recalled > 0, !doMeet);
        EXPECT_EQ(bed.network.doubt.blind.Get() > 0, doMeet); // those that it did not know of
    }
}

TEST(RecallBook, NothingIsRecalledBesideWhatNobodyFollows)
{
    Bed bed;
    bed.network.isOpaque = true;
    bed.Add({{1000, 1000}, 10}, "ring", {1, 2});
    bed.Run();
    EXPECT_EQ(bed.groups[0].inPackets.size(), 10u);
}

TEST(RecallBook, AMissMakesChecksFrequentAgain)
{
    Bed bed;
    bed.slowness = [](uint32_t, uint32_t episode) { return episode < 20 ? 1 : 1.1; };
    bed.Add({{1000, 1000}, 60}, "ring", {1, 2});
    bed.Run();
    const coll::RecallStatistics s = bed.book.GetStatistics();
    EXPECT_NEAR(s.missMost, 0.1 / 1.1, 1e-3); // of the new time
    // 24 is the first check of slow ones: then N is 1 again.
    const std::set<uint32_t>& in = bed.groups[0].inPackets;
    EXPECT_EQ(in, (std::set<uint32_t>{0, 2, 7, 24, 26, 31, 48}));
    // What the check shows is what is recalled from then on.
    EXPECT_EQ(bed.groups[0].ends[25][0] - bed.groups[0].ends[24][0], 1100);
    // The stated error has the part of recalled time that checks have missed by, on average.
    EXPECT_GT(s.uncertainTime, 0.005 * static_cast<double>(s.recalledTime));
}

TEST(RecallBook, WhatIsForeseenIsOver)
{
    using Answer = coll::RecallBook::Answer;
    Bed bed;
    bed.foresees = 50;
    bed.Add({{500, 1000}, 45}, "ring", {1, 2});
    bed.Run();
    const coll::RecallStatistics s = bed.book.GetStatistics();
    // The first one, and the second, which has one before it; the first check runs to its end.
    EXPECT_EQ(bed.answers[Answer::TEST], 1u);
    EXPECT_EQ(s.foreseen, bed.answers[Answer::STOP]);
    EXPECT_EQ(s.foreseen, 5u); // with three checks behind it
    EXPECT_EQ(s.episodes, s.recalled + s.foreseen + 1);
    EXPECT_EQ(s.missMost, 0);
    for (uint32_t episode = 1; episode < 45; ++episode)
    {
        const std::vector<int64_t>& ends = bed.groups[0].ends[episode];
        EXPECT_EQ(ends[1] - bed.groups[0].ends[episode - 1][1], 1000); // as in packets
    }
    // At least what it is told that foresight misses.
    EXPECT_GE(s.uncertainTime, 0.99e-4 * static_cast<double>(s.recalledTime));
}

TEST(RecallBook, WrongForesightEnds)
{
    using Answer = coll::RecallBook::Answer;
    Bed bed;
    bed.foresees = 50;
    bed.lie = 1.05;
    bed.Add({{500, 1000}, 45}, "ring", {1, 2});
    bed.Run();
    const coll::RecallStatistics s = bed.book.GetStatistics();
    EXPECT_EQ(bed.answers[Answer::TEST], 1u);
    EXPECT_GT(bed.answers[Answer::STAY], 0u);
    EXPECT_LE(s.foreseen, 2u); // before the test
    EXPECT_GT(s.uncertainTime, 0.04 * static_cast<double>(s.recalledTime));
}

TEST(RecallBook, RanksThatLaunchFarApartBeginInPackets)
{
    // Ranks that leave at different times launch the next one as far apart: the second episode is
    // unlike the first, and all others are like it.
    Bed bed;
    bed.Add({{500, 1000}, 20}, "ring", {1, 2});
    bed.Run();
    const std::set<uint32_t>& in = bed.groups[0].inPackets;
    EXPECT_EQ(in.count(0) + in.count(1), 2u);
    // A check is two: what is recalled has nothing of its own in the network for the next one.
    EXPECT_LT(in.size(), 10u);
    EXPECT_GE(bed.book.GetStatistics().checks, 1u);
    // The first recalled one behind those in packets. All others hold their launches.
    EXPECT_LE(bed.cut.size(), 1 + bed.book.GetStatistics().checks);
    // Of a check's first one, what it had in common with the recalled one before: half of it.
    EXPECT_LE(bed.network.doubt.lost.Get(), 500 * bed.book.GetStatistics().checks);
    for (uint32_t episode = 1; episode < 20; ++episode)
    {
        const std::vector<int64_t>& ends = bed.groups[0].ends[episode];
        EXPECT_EQ(ends[1] - ends[0], 500);
        EXPECT_EQ(ends[1] - bed.groups[0].ends[episode - 1][1], 1000); // as in packets
    }
}

TEST(RecallBook, EveryRankEndsOnceAndNoneTooSoon)
{
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round)
    {
        Bed bed(random() % 5, 0.01 * (1 + random() % 10));
        const uint32_t groups = 1 + random() % 6;
        for (uint32_t g = 0; g < groups; ++g)
        {
            Bed::Group group;
            group.behind.resize(1 + random() % 5);
            for (int64_t& behind : group.behind)
            {
                behind = 100 + static_cast<int64_t>(random() % 3) * (random() % 100);
            }
            group.episodes = 1 + random() % 30;
            group.begins = random() % 3 * 100;
            group.pause = random() % 2 * 50;
            const auto shape = std::to_string(group.behind.size()) + (random() % 2 ? "a" : "b");
            bed.Add(group, shape, {g + (random() % 2 ? 10U : 0U), 100 + g}, random() % 2);
        }
        bed.episodesOfRound = random() % 2 * 3;
        const uint32_t seed = random();
        bed.slowness = [seed](uint32_t g, uint32_t episode) {
            return 1 + 0.2 * ((seed + g * 7 + episode) % 5 == 0);
        };
        bed.Run();
        uint64_t episodes = 0;
        for (const Bed::Group& group : bed.groups)
        {
            episodes += group.episodes;
            for (uint32_t episode = 0; episode < group.episodes; ++episode)
            {
                const int64_t last = LastOf(group.began[episode]);
                for (const int64_t end : group.ends[episode])
                {
                    ASSERT_GE(end, last + kDelay) << "round " << round;
                }
            }
        }
        const coll::RecallStatistics s = bed.book.GetStatistics();
        EXPECT_EQ(s.episodes, episodes);
        uint64_t inPackets = 0;
        for (const Bed::Group& group : bed.groups)
        {
            inPackets += group.inPackets.size();
        }
        EXPECT_EQ(s.recalled, episodes - inPackets);
    }
}

} // namespace
