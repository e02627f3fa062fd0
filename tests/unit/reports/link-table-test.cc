// SPDX-License-Identifier: GPL-2.0-only
#include "reports/schema/written.h"
#include "reports/tables/link-table.h"
#include "scratch-folder.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

namespace reports
{
namespace
{

constexpr int64_t US = 1000000; // ps

class LinkTableFile : public ScratchFolder
{
  protected:
    const std::vector<LinkTable::Link> m_links{{"a->s", "a", "s", 100}, {"s->a", "s", "a", 100}};
};

TEST_F(LinkTableFile, HasSharesOfTheIntervalAsFarAsItWasMeasured)
{
    LinkTable table(Path("links.csv"), m_links, 10 * US, 100);
    table.Add({10 * US, 5 * US, 0, 0, 0, 0, 0}); // of the warm-up
    table.StartMeasuring(14 * US);
    // 6 of the interval's 10 us are measured: 3 us are half of them, and more than all is all.
    table.Add({20 * US, 3 * US, 9 * US, 700, 2, 900, 0});
    table.Add({20 * US, -5, 0, 800, 0, 800, 1});
    table.Add({25 * US, 1 * US, 0, 0, 0, 0, 1}); // the last one, of 5 us
    table.Close(25 * US);
    EXPECT_EQ(ReadAll(Path("links.csv")),
              HeaderOf("links.csv") +
                  "\n20,a->s,a,s,100,0.5,700,1,2,900\n20,s->a,s,a,100,0,800,0,0,800\n"
                  "25,s->a,s,a,100,0.2,0,0,0,0\n");
}

TEST_F(LinkTableFile, MergesPairsOfIntervalsWhenItIsFull)
{
    LinkTable table(Path("links.csv"), m_links, 10 * US, 5);
    table.StartMeasuring(0);
    // One link is busy for 4 of each 10 us, the other for 2 in every second interval.
    for (int64_t t = 10; t <= 40; t += 10)
    {
        const auto n = static_cast<uint64_t>(t);
        table.Add({t * US, 4 * US, US, t == 30 ? 300 : n, 1, 100 - n, 0});
        if (t % 20)
        {
            table.Add({t * US, 2 * US, 0, 50, 0, 0, 1});
        }
        table.EndInterval(t * US);
    }
    // There are enough at 30 us, but no grid of twice the interval has that time; at 40 us six...
    EXPECT_EQ(table.GetInterval(), 20 * US);
    EXPECT_EQ(table.GetRows(), 4U); // ...become those of two links in two intervals
    table.Close(40 * US);
    const auto rows = ReadRows(Path("links.csv"));
    ASSERT_EQ(rows.size(), 4U);
    const std::vector<std::string>
        first{"20", "a->s", "a", "s", "100", "0.4", "20", "0.1", "2", "90"};
    EXPECT_EQ(rows[0], first);
    EXPECT_EQ(rows[1][5], "0.1"); // 2 of 20 us
    EXPECT_EQ(rows[1][6], "0");   // none at 20 us, or it would have a row
    EXPECT_EQ(rows[2][6], "40");  // at the end, whatever there was at 30 us
    EXPECT_EQ(rows[2][9], "70");  // at 30 us
    EXPECT_FALSE(std::filesystem::exists(Path("links.csv.part")));
}

// A cable of 100 Gb/s has 10 from 15 to 30 us, and never stops sending from 10 to 30: 5 us as ever,
// and 15 us at a tenth, 1.5 us of the cable's own rate.
TEST_F(LinkTableFile, SharesOutWhatARateThatChangesAllows)
{
    LinkTable table(Path("links.csv"), m_links, 10 * US, 100);
    const auto rateOf = [](uint32_t link, int64_t from, int64_t until) {
        if (link == 1)
        {
            return 0.0; // always the cable's
        }
        const int64_t slow =
            std::max<int64_t>(0, std::min(until, 30 * US) - std::max(from, 15 * US));
        const int64_t all = until - from;
        return (static_cast<double>(all - slow) * 100 + static_cast<double>(slow) * 10) /
               static_cast<double>(all);
    };
    table.SetRates(rateOf, [] {
        return std::vector<LinkTable::RateChange>{{15 * US, 0}, {30 * US, 0}};
    });
    table.StartMeasuring(0);
    table.Add({10 * US, 4 * US, 0, 0, 0, 0, 1});
    table.Add({20 * US, 5 * US + US / 2, 0, 0, 0, 0, 0});
    table.Add({30 * US, 2 * US, 0, 0, 0, 0, 0}); // a frame too many: all of it
    table.Add({65 * US, 1 * US, 0, 0, 0, 0, 1});
    table.Close(65 * US);
    // Where nobody saw the changing one: the first interval, and the two from 30 us on.
    EXPECT_EQ(ReadAll(Path("links.csv")),
              HeaderOf("links.csv") + "\n10,a->s,a,s,100,0,0,0,0,0\n10,s->a,s,a,100,0.4,0,0,0,0\n"
                                      "20,a->s,a,s,55,1,0,0,0,0\n30,a->s,a,s,10,1,0,0,0,0\n"
                                      "40,a->s,a,s,100,0,0,0,0,0\n50,a->s,a,s,100,0,0,0,0,0\n"
                                      "65,s->a,s,a,100,0.2,0,0,0,0\n");
}

// Merged, an interval has what both allowed and carried: half of it at 100 Gb/s, idle, half at 50,
// of which a half was used: 2.5 us x 100 of 10 x 100 + 10 x 50.
TEST_F(LinkTableFile, MergesIntervalsOfSeveralRates)
{
    LinkTable table(Path("links.csv"), m_links, 10 * US, 1);
    table.SetRates(
        [](uint32_t, int64_t from, int64_t until) {
            return from >= 10 * US ? 50.0 : until <= 10 * US ? 100.0 : 75.0;
        },
        [] {
            return std::vector<LinkTable::RateChange>{{10 * US, 0}};
        });
    table.StartMeasuring(0);
    table.Add({20 * US, 5 * US / 2, 0, 0, 0, 0, 0});
    table.EndInterval(20 * US);
    EXPECT_EQ(table.GetInterval(), 20 * US);
    table.Close(20 * US);
    const auto rows = ReadRows(Path("links.csv"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0][4] + " " + rows[0][5], "75 0.166667"); // 2.5 of 15 us at the cable's rate
}

// Ranks have rows of their own, and their intervals double later than those of one process.
TEST_F(LinkTableFile, IsTheSameWheneverItsIntervalDoubles)
{
    const auto fill = [this](const std::string& name, std::size_t rowLimit) {
        LinkTable table(Path(name), m_links, 10 * US, rowLimit);
        table.StartMeasuring(0);
        uint64_t state = 7;
        for (int64_t t = 10; t <= 160; t += 10)
        {
            for (uint32_t link = 0; link < 2; ++link)
            {
                state = state * 6364136223846793005U + 1442695040888963407U;
                const uint64_t queued = (state >> 40) % 3 * 100;
                // A table whose interval is longer is looked at less often.
                if (t * US % table.GetInterval() == 0 && queued)
                {
                    table.Add({t * US, 0, 0, queued, 0, 0, link});
                }
            }
            if (t * US % table.GetInterval() == 0)
            {
                table.EndInterval(t * US);
            }
        }
        table.MergeRanks(
            160 * US,
            [](int64_t) { return 40 * US; },
            [](const std::vector<LinkTable::Row>& mine) { return mine; });
        std::vector<std::string> queues; // of those that have any at the end of an interval
        for (const std::vector<std::string>& row : ReadRows(Path(name)))
        {
            if (row[6] != "0")
            {
                queues.push_back(row[0] + " " + row[1] + " " + row[6]);
            }
        }
        return queues;
    };
    const std::vector<std::string> never = fill("never.csv", 1000);
    EXPECT_GT(never.size(), 2U);
    EXPECT_EQ(fill("once.csv", 12), never);
    EXPECT_EQ(fill("early.csv", 9), never);
}

// Two processes, one of which looked every 20 us and saw the same link as the other.
TEST_F(LinkTableFile, OfSeveralRanksIsOneTableOnTheCoarsestGrid)
{
    std::vector<LinkTable::Row> sent;
    LinkTable other("", m_links, 20 * US, 100);
    other.StartMeasuring(0);
    other.Add({20 * US, 2 * US, 0, 50, 0, 0, 1});
    other.Add({40 * US, 8 * US, 0, 0, 0, 0, 1}); // it looked after the end, at 34 us
    other.MergeRanks(
        34 * US,
        [](int64_t interval) { return interval; },
        [&sent](const std::vector<LinkTable::Row>& mine) {
            sent = mine;
            return std::vector<LinkTable::Row>{};
        });
    LinkTable first(Path("links.csv"), m_links, 10 * US, 100);
    first.StartMeasuring(0);
    first.Add({10 * US, 1 * US, 0, 0, 0, 0, 0});
    first.Add({20 * US, 3 * US, 0, 0, 0, 0, 0});
    first.Add({20 * US, 2 * US, 0, 70, 0, 0, 1});
    first.MergeRanks(
        34 * US,
        [](int64_t interval) { return std::max(interval, 20 * US); },
        [&sent](std::vector<LinkTable::Row> rows) {
            rows.insert(rows.end(), sent.begin(), sent.end());
            return rows;
        });
    EXPECT_EQ(first.GetInterval(), 20 * US);
    const auto rows = ReadRows(Path("links.csv"));
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0][0] + rows[0][1] + rows[0][5], "20a->s0.2");
    EXPECT_EQ(rows[1][0] + rows[1][1] + rows[1][5] + rows[1][6], "20s->a0.270");
    EXPECT_EQ(rows[2][0] + rows[2][1], "34s->a");
    EXPECT_EQ(rows[2][5], "0.571429"); // 8 of 14 us
}

// Whoever looks how often, and whenever the intervals doubled: rows of an interval add up to those
// of the parts it was looked at in, a share above all of a part included, and the table ends with
// as few rows as the limit allows.
TEST_F(LinkTableFile, IsTheSameHoweverManyLooked)
{
    std::mt19937 random(11);
    constexpr int64_t kEnd = 1280 * US;
    for (int seed = 0; seed < 20; ++seed)
    {
        std::vector<LinkTable::Row> rows; // every 10 us
        for (int64_t time = 10 * US; time <= kEnd; time += 10 * US)
        {
            for (uint32_t link = 0; link < 2; ++link)
            {
                if (random() % 4)
                {
                    const auto busy = static_cast<int64_t>(random() % (12 * US));
                    rows.push_back({time, busy, 0, 0, random() % 3, random() % 100, link});
                }
            }
        }
        const auto text = [this](const char* name) {
            std::string all;
            for (const std::vector<std::string>& row : ReadRows(Path(name)))
            {
                for (const std::string& field : row)
                {
                    all += field + " ";
                }
            }
            return all;
        };
        const std::size_t limit = 20 + random() % 60;
        LinkTable one(Path("one.csv"), m_links, 10 * US, limit);
        one.StartMeasuring(0);
        // As a sampler does: it looks when the interval of the table is over.
        std::map<uint32_t, LinkTable::Row> since;
        for (std::size_t i = 0; i <= rows.size(); ++i)
        {
            const int64_t before = i ? rows[i - 1].time : 0;
            const int64_t now = i < rows.size() ? rows[i].time : kEnd + 10 * US;
            for (int64_t at = before; at < now && at; at += 10 * US)
            {
                if (at % one.GetInterval() == 0 || at == kEnd)
                {
                    for (auto& [link, row] : since)
                    {
                        row.time = at;
                        one.Add(row);
                    }
                    since.clear();
                    one.EndInterval(at);
                }
            }
            if (i < rows.size())
            {
                LinkTable::Row& into = since.emplace(rows[i].link, LinkTable::Row{}).first->second;
                into.link = rows[i].link;
                into.busyPs += rows[i].busyPs;
                into.marks += rows[i].marks;
                into.queuePeakBytes = std::max(into.queuePeakBytes, rows[i].queuePeakBytes);
            }
        }
        one.Close(kEnd);

        LinkTable first(Path("two.csv"), m_links, 10 * US, limit);
        first.StartMeasuring(0);
        for (const LinkTable::Row& row : rows)
        {
            if (row.link == 0)
            {
                first.Add(row);
            }
        }
        first.MergeRanks(
            kEnd,
            [](int64_t interval) { return interval; },
            [&rows](std::vector<LinkTable::Row> mine) {
                std::copy_if(rows.begin(),
                             rows.end(),
                             std::back_inserter(mine),
                             [](const LinkTable::Row& row) { return row.link == 1; });
                return mine;
            });
        EXPECT_LT(one.GetRows(), limit);
        EXPECT_EQ(one.GetInterval(), first.GetInterval());
        EXPECT_EQ(text("one.csv"), text("two.csv")) << "seed " << seed;
    }
}

} // namespace
} // namespace reports
