// SPDX-License-Identifier: GPL-2.0-only
#include "reports/tables/queue-pair-table.h"
#include "scratch-folder.h"

#include <cmath>
#include <map>

namespace reports
{
namespace
{

constexpr int64_t US = 1000000; // ps

class QueuePairTableFile : public ScratchFolder
{
  protected:
    const std::vector<std::string> m_names{"a", "b:1", "b:2"};
};

TEST_F(QueuePairTableFile, ChoosesByPatterns)
{
    const QueuePairTable table(m_names, {"a->b", "b:2->*"});
    EXPECT_TRUE(table.ChoosesFrom(0));
    EXPECT_FALSE(table.ChoosesFrom(1));
    EXPECT_TRUE(table.Chooses(0, 1)) << "a port of the host";
    EXPECT_TRUE(table.Chooses(2, 0));
    EXPECT_FALSE(table.Chooses(1, 2));
}

TEST_F(QueuePairTableFile, HasARowForEachMomentOfAChange)
{
    QueuePairTable table(m_names, {"all"});
    const uint32_t one = table.AddQueuePair(0, 1, 7);
    const uint32_t other = table.AddQueuePair(1, 0, 2);
    table.Add({0, 3, 100000000000, QueuePairTable::NO_WINDOW, one});
    table.Add({5 * US, QueuePairTable::NO_FLOW, 50000000000, 4096, other});
    table.Add({6 * US, 3, 50000000000, QueuePairTable::NO_WINDOW, one});
    table.Add({6 * US, 3, 50000000000, 8192, one}); // its window, in the same moment
    table.Write(Path("queue_pairs.csv"));
    EXPECT_EQ(ReadAll(Path("queue_pairs.csv")),
              HeaderOf("queue_pairs.csv") +
                  "\n0,a,b:1,7,3,100,\n5,b:1,a,2,,50,4096\n6,a,b:1,7,3,50,8192\n");
    EXPECT_EQ(
        table.ToJson().dump(),
        R"({"rows":3,"changes":3,"interval_us":0.0,"queue_pairs":2,"queue_pairs_left_out":0})");
}

TEST_F(QueuePairTableFile, LeavesOutWhatComesAfterSoManyQueuePairs)
{
    QueuePairTable table(m_names, {"all"});
    for (uint32_t i = 0; i < QueuePairTable::MOST_QUEUE_PAIRS; ++i)
    {
        EXPECT_EQ(table.AddQueuePair(0, 1, 2 + i), i);
    }
    EXPECT_EQ(table.AddQueuePair(0, 1, 5000), QueuePairTable::LEFT_OUT);
    EXPECT_EQ(table.ToJson()["queue_pairs_left_out"], 1);
}

// 1,000 changes of two queue pairs at odd times, in at most 50 rows.
TEST_F(QueuePairTableFile, KeepsTheLastChangeOfEachIntervalWhenItIsFull)
{
    constexpr std::size_t LIMIT = 50;
    QueuePairTable all(m_names, {"all"});
    QueuePairTable few(m_names, {"all"}, LIMIT);
    for (QueuePairTable* table : {&all, &few})
    {
        table->AddQueuePair(0, 1, 2);
        table->AddQueuePair(1, 2, 2);
    }
    for (int64_t i = 0; i < 1000; ++i)
    {
        const auto window = static_cast<uint64_t>(i);
        for (QueuePairTable* table : {&all, &few})
        {
            table->Add({i * i * 700 + i, 0, 1, window, static_cast<uint32_t>(i * i % 3 % 2)});
        }
    }
    EXPECT_EQ(all.GetRows(), 1000U);
    EXPECT_EQ(few.GetChanges(), all.GetChanges());
    EXPECT_LE(few.GetRows(), LIMIT);
    EXPECT_GT(few.GetRows(), LIMIT / 4) << "no more is left out than need be";
    ASSERT_GT(few.GetInterval(), 0);
    all.Write(Path("all.csv"));
    few.Write(Path("few.csv"));
    const double interval = static_cast<double>(few.GetInterval()) / 1e6;
    // Interval and queue pair of a row; time 0 shares the first interval.
    const auto of = [interval](const std::vector<std::string>& row) {
        const double n = std::ceil(std::stod(row[0]) / interval - 1e-9);
        return std::make_pair(std::max(1.0, n), row[1]);
    };
    std::map<std::pair<double, std::string>, std::vector<std::string>> last;
    for (const auto& row : ReadRows(Path("all.csv")))
    {
        last[of(row)] = row;
    }
    const auto kept = ReadRows(Path("few.csv"));
    EXPECT_EQ(kept.size(), last.size()) << "a row an interval";
    for (const auto& row : kept)
    {
        EXPECT_EQ(row, last[of(row)]);
    }
}

} // namespace
} // namespace reports
