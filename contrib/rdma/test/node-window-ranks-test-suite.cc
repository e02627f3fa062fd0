/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What several processes that run node windows agree on, without MPI: each rank is a thread here.
 * Whole runs in processes are compared by tests/system/programs/ranks.py.
 */
#include "ns3/node-window-ranks.h"
#include "ns3/test.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace ns3;

namespace
{

/// Carries messages between threads: all give theirs, then all take.
class Exchange
{
  public:
    explicit Exchange(uint32_t ranks)
        : m_all(ranks)
    {
    }

    void Run(uint32_t rank,
             const std::vector<NodeWindowRanks::Bytes>& to,
             std::vector<NodeWindowRanks::Bytes>& from)
    {
        m_all[rank] = to;
        Meet();
        for (uint32_t other = 0; other < m_all.size(); ++other)
        {
            if (other != rank)
            {
                from[other] = m_all[other][rank];
            }
        }
        Meet();
    }

  private:
    void Meet()
    {
        std::unique_lock<std::mutex> lock(m_mutex);
        const uint64_t round = m_round;
        if (++m_here == m_all.size())
        {
            m_here = 0;
            ++m_round;
            m_wake.notify_all();
            return;
        }
        m_wake.wait(lock, [&] { return m_round != round; });
    }

    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::size_t m_here{0};
    uint64_t m_round{0};
    std::vector<std::vector<NodeWindowRanks::Bytes>> m_all; //!< by sender, then by receiver
};

/// Plans of a round, by rank, and how many words each says.
struct Round
{
    std::vector<NodeWindowPlan> plans;
    std::vector<uint32_t> words;

    Round(uint32_t ranks, uint32_t seed)
    {
        std::mt19937_64 random(seed);
        const auto draw = [&random] {
            return random() % 3 ? static_cast<int64_t>(random() % 1000) : INT64_MAX;
        };
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            const auto number = [&random] { return static_cast<int64_t>(random() % 1000); };
            const NodeWindowPlan::Sides begin{draw(), draw()};
            const NodeWindowPlan::Sides done{number(), number()};
            plans.push_back(
                {begin, done, draw(), draw(), draw(), draw(), number(), random() % 10 == 0, 0});
            words.push_back(random() % 4 ? 0 : static_cast<uint32_t>(random() % 3));
        }
    }

    /// The least, or largest, of all.
    template <class Field>
    int64_t Least(Field field) const
    {
        int64_t least = INT64_MAX;
        for (const NodeWindowPlan& plan : plans)
        {
            least = std::min(least, field(plan));
        }
        return least;
    }

    std::vector<std::string> Words(uint32_t number) const
    {
        std::vector<std::string> all;
        for (uint32_t rank = 0; rank < words.size(); ++rank)
        {
            for (uint32_t i = 0; i < words[rank]; ++i)
            {
                all.push_back(std::to_string(number) + " of " + std::to_string(rank) +
                              std::string(i * 100, '!'));
            }
        }
        return all;
    }
};

class AgreeTestCase : public TestCase
{
  public:
    AgreeTestCase()
        : TestCase("ranks agree on the least of their plans, hear all words in one order, and read "
                   "what was posted to them")
    {
    }

  private:
    static constexpr uint32_t ROUNDS = 300;

    /// What a rank posts to another one, or to itself, in a round: none, one or several; some are
    /// empty.
    static std::vector<std::string> Posts(uint32_t number, uint32_t from, uint32_t to)
    {
        std::vector<std::string> posts;
        for (uint32_t i = 0; i < (number + 3 * from + to) % 4; ++i)
        {
            posts.emplace_back((number * from + i) % 5 * 51, static_cast<char>('a' + to + i));
        }
        return posts;
    }

    /// What one of them finds wrong; assertions are for the main thread.
    static std::string Run(uint32_t rank, uint32_t ranks, Exchange& exchange)
    {
        NodeWindowRanks self(rank, ranks, [&](const auto& to, auto& from) {
            exchange.Run(rank, to, from);
        });
        std::vector<std::string> heard;
        self.SetListener([&heard](const std::string& word) { heard.push_back(word); });
        // Two readers; of both all is read before the end is told.
        std::vector<std::string> read;
        for (const char* reader : {"a", "b"})
        {
            self.AddReader([&read, reader](uint32_t from, const uint8_t* at, const uint8_t* end) {
                read.push_back(reader + std::to_string(from) + ":" + std::string(at, end));
            });
        }
        self.SetAllRead([&read] { read.emplace_back("all"); });
        std::string wrong;
        for (uint32_t number = 0; number < ROUNDS; ++number)
        {
            const Round round(ranks, 100 * ranks + number);
            for (const std::string& word : round.Words(number))
            {
                if (word.rfind(std::to_string(number) + " of " + std::to_string(rank), 0) == 0)
                {
                    self.Say(word);
                }
            }
            for (uint32_t to = 0; to < ranks; ++to)
            {
                for (const std::string& text : Posts(number, rank, to))
                {
                    self.Post(to, text.size() % 2, text.data(), text.size());
                }
            }
            const NodeWindowPlan all = self.Agree(round.plans[rank], 1, 2);
            const bool any = self.Deliver();
            const auto expect = [&](bool right, const char* what) {
                wrong += right ? "" : std::to_string(number) + ": " + what + "; ";
            };
            using Plan = NodeWindowPlan;
            for (const int side : {0, 1})
            {
                const auto begin = [side](const Plan& plan) { return plan.begin[side]; };
                const auto done = [side](const Plan& plan) { return plan.done[side]; };
                expect(all.begin[side] == round.Least(begin), "begin");
                expect(all.done[side] == round.Least(done), "done");
            }
            expect(all.before == round.Least([](const Plan& p) { return p.before; }), "before");
            expect(all.grid == round.Least([](const Plan& p) { return p.grid; }), "grid");
            expect(all.behind == round.Least([](const Plan& p) { return p.behind; }), "behind");
            expect(all.waiting == round.Least([](const Plan& p) { return p.waiting; }), "waiting");
            int64_t last = 0;
            bool stop = false;
            for (const NodeWindowPlan& plan : round.plans)
            {
                last = std::max(last, plan.last);
                stop |= plan.stop;
            }
            expect(all.last == last, "last");
            expect(all.stop == stop, "stop");
            expect(all.IsEmpty() == (std::min({all.begin[0],
                                               all.begin[1],
                                               all.before,
                                               all.grid,
                                               all.behind,
                                               all.waiting}) == INT64_MAX),
                   "empty");
            expect(heard == round.Words(number), "words");
            expect(any == !heard.empty(), "whether there were words");
            heard.clear();
            std::vector<std::string> posted;
            for (uint32_t from = 0; from < ranks; ++from)
            {
                for (const std::string& text : Posts(number, from, rank))
                {
                    posted.push_back((text.size() % 2 ? "b" : "a") + std::to_string(from) + ":" +
                                     text);
                }
            }
            posted.emplace_back("all");
            expect(read == posted, "posts");
            read.clear();
            expect(self.Least(number * (rank + 1)) == number, "least");
        }
        return wrong;
    }

    void DoRun() override
    {
        for (const uint32_t ranks : {2U, 3U, 5U})
        {
            Exchange exchange(ranks);
            std::vector<std::string> wrong(ranks);
            std::vector<std::thread> threads;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                threads.emplace_back([&, rank] { wrong[rank] = Run(rank, ranks, exchange); });
            }
            for (std::thread& thread : threads)
            {
                thread.join();
            }
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                NS_TEST_EXPECT_MSG_EQ(wrong[rank], "", "rank " << rank << " of " << ranks);
            }
        }
    }
};

/// Which side's window comes first, and what it has to wait for. Delay 10, so windows are 20 long:
/// side 0's begin at 0, 20, ..., side 1's at -10, 10, ...
class PlanTestCase : public TestCase
{
  public:
    PlanTestCase()
        : TestCase("the side that is behind comes first, and neither runs past what both wait for")
    {
    }

  private:
    static constexpr int64_t NEVER = INT64_MAX;

    void DoRun() override
    {
        NodeWindowPlan plan{{0, 10}, {0, 0}, NEVER, NEVER, NEVER, NEVER, 0, false, 0};
        NS_TEST_EXPECT_MSG_EQ(plan.Side(), 0, "0 is before 10");
        NS_TEST_EXPECT_MSG_EQ(plan.First(), 0, "and first");
        NS_TEST_EXPECT_MSG_EQ(plan.Until(), NEVER, "nothing is in the way");
        // At the start both have something at 0, side 1 in a window that began before.
        plan.begin = {0, -10};
        NS_TEST_EXPECT_MSG_EQ(plan.Side(), 1, "the window that began first");
        // Side 0 was cut at 15; what side 1 has may be from 10 on.
        plan.begin = {0, 10};
        plan.done = {15, 10};
        NS_TEST_EXPECT_MSG_EQ(plan.Side(), 1, "it is behind");
        NS_TEST_EXPECT_MSG_EQ(plan.First(), 10, "from 10 on");
        plan.done = {15, 15};
        NS_TEST_EXPECT_MSG_EQ(plan.Side(), 0, "of equal ones the window that began first");
        plan.begin = {NEVER, 30};
        NS_TEST_EXPECT_MSG_EQ(plan.Side(), 1, "side 0 has nothing");
        NS_TEST_EXPECT_MSG_EQ(plan.First(), 30, "but side 1");
        // What is ahead of the nodes' events of its time, and what is behind them.
        plan.before = 40;
        NS_TEST_EXPECT_MSG_EQ(plan.Until(), 40, "not at 40");
        plan.grid = 35;
        NS_TEST_EXPECT_MSG_EQ(plan.Until(), 36, "at 35, but not at 36");
        plan.behind = 31;
        NS_TEST_EXPECT_MSG_EQ(plan.Until(), 32, "at 31");
        NS_TEST_EXPECT_MSG_EQ(plan.IsEmpty(), false, "there is something");
        plan = {{NEVER, NEVER}, {15, 15}, NEVER, NEVER, NEVER, 14, 14, false, 0};
        NS_TEST_EXPECT_MSG_EQ(plan.IsEmpty(), false, "somebody has to be told");
        plan.waiting = NEVER;
        NS_TEST_EXPECT_MSG_EQ(plan.IsEmpty(), true, "all is over");
    }
};

class NodeWindowRanksTestSuite : public TestSuite
{
  public:
    NodeWindowRanksTestSuite()
        : TestSuite("node-window-ranks", UNIT)
    {
        AddTestCase(new AgreeTestCase, TestCase::QUICK);
        AddTestCase(new PlanTestCase, TestCase::QUICK);
    }
};

NodeWindowRanksTestSuite g_nodeWindowRanksTestSuite;

} // namespace
