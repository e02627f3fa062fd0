// SPDX-License-Identifier: GPL-2.0-only
#include "reports/tables/event-log.h"
#include "scratch-folder.h"

namespace reports
{
namespace
{

class EventLogFile : public ScratchFolder
{
};

TEST_F(EventLogFile, HasTotalsOfTheWholeRunAndOfItsMeasuredPart)
{
    EventLog log(Path("network_events.log"), 2);
    for (int i = 0; i < 5; ++i)
    {
        if (i == 3)
        {
            log.StartMeasuring(3);
        }
        log.Count(EventLog::PAUSE);
        log.Write(i, EventLog::PAUSE, "here", "");
    }
    log.Finish(10);
    const std::string text = ReadAll(Path("network_events.log"));
    for (const char* line : {"\n# total pause 5, measured 2\n",
                             "\n# total drop 0, measured 0\n",
                             "note * measuring starts\n"})
    {
        EXPECT_NE(text.find(line), std::string::npos) << line;
    }
}

// Two ranks, each with lines of its own; the other one's come as the text that it would send.
TEST_F(EventLogFile, OfSeveralRanksIsInTheOrderOfTime)
{
    std::string sent;
    {
        EventLog other("", 10);
        EventLog::Order order{20, 7, 0};
        other.KeepLines([&order] { return order; });
        other.Count(EventLog::DROP);
        other.Write(20, EventLog::DROP, "s1:2", "data, buffer full");
        order = {40, 7, 0};
        other.Count(EventLog::PAUSE);
        other.Write(40, EventLog::PAUSE, "s1:3", "prio 3");
        other.MergeRanks([](uint64_t n) { return n; },
                         [&sent](const std::string& mine) {
                             sent = mine;
                             return std::vector<std::string>{};
                         });
    }
    EventLog first(Path("log"), 10);
    EventLog::Order order{10, 8, 0};
    first.KeepLines([&order] { return order; });
    first.Count(EventLog::PAUSE);
    first.Write(10, EventLog::PAUSE, "s0:1", "prio 3");
    order = {40, 8, 1};
    first.Count(EventLog::PAUSE);
    first.Write(40, EventLog::PAUSE, "s0:2", "prio 3");
    order = {40, 8, 0};
    first.Count(EventLog::PAUSE);
    first.Write(5, EventLog::PAUSE, "s0:3", "prio 3");        // it tells of what was before
    first.MergeRanks([](uint64_t n) { return n + (n == 3); }, // three pauses here, one there
                     [&sent](const std::string& mine) {
                         return std::vector<std::string>{mine, sent};
                     });
    first.Finish(50);
    const std::string text = ReadAll(Path("log"));
    const std::size_t begin = text.find("0.00001 pause");
    ASSERT_NE(begin, std::string::npos) << text;
    EXPECT_EQ(text.substr(begin, text.find("# total") - begin),
              "0.00001 pause s0:1 prio 3\n"
              "0.00002 drop s1:2 data, buffer full\n"
              "0.00004 pause s1:3 prio 3\n" // of one time: by context and port
              "0.000005 pause s0:3 prio 3\n"
              "0.00004 pause s0:2 prio 3\n");
    EXPECT_NE(text.find("# total pause 4, measured 4\n"), std::string::npos) << text;
}

} // namespace
} // namespace reports
