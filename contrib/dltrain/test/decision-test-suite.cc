/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/dltrain/base/decision.h"

#include "ns3/test.h"

#include <stdexcept>

using namespace ns3;
using namespace dltrain;

namespace
{

/// What a process decides, another one reads.
class DecisionTextCase : public TestCase
{
  public:
    DecisionTextCase()
        : TestCase("Decisions as text, and texts that are none")
    {
    }

  private:
    void DoRun() override
    {
        workload::Notice notice;
        notice.wake = {{3, 1}, {0, 0}};
        notice.stop = {2, 4294967295};
        notice.checkpoint = true;
        const Decision round = DecisionOf(ToText({RoundEnded{7, notice}, 5}));
        const auto& read = std::get<RoundEnded>(round.what);
        NS_TEST_EXPECT_MSG_EQ(round.job, 5, "job");
        NS_TEST_EXPECT_MSG_EQ(read.attempt, 7, "attempt");
        NS_TEST_EXPECT_MSG_EQ((read.notice.stop == notice.stop), true, "stopped ranks");
        NS_TEST_ASSERT_MSG_EQ(read.notice.wake.size(), 2, "woken ranks");
        NS_TEST_EXPECT_MSG_EQ(read.notice.wake[0].rank, 3, "rank");
        NS_TEST_EXPECT_MSG_EQ(read.notice.wake[0].word, 1, "word");
        NS_TEST_EXPECT_MSG_EQ(read.notice.checkpoint, true, "checkpoint");
        NS_TEST_EXPECT_MSG_EQ(read.notice.measure || read.notice.end, false, "flags");

        const int64_t late = INT64_MAX;
        const Decision transfer = DecisionOf(ToText({TransferEnded{9, late, 2}}));
        NS_TEST_EXPECT_MSG_EQ(std::get<TransferEnded>(transfer.what).at, late, "time");
        NS_TEST_EXPECT_MSG_EQ(std::get<TransferEnded>(transfer.what).orders, 2, "orders");
        const Decision size = DecisionOf(ToText({SizeEnded{}}));
        NS_TEST_EXPECT_MSG_EQ(std::holds_alternative<SizeEnded>(size.what), true, "kind");

        const Decision chosen = DecisionOf(ToText({CollectiveChosen{1, 2, 3, 4, 5}}));
        NS_TEST_EXPECT_MSG_EQ(std::get<CollectiveChosen>(chosen.what).communicator, 2, "group");
        NS_TEST_EXPECT_MSG_EQ(std::get<CollectiveChosen>(chosen.what).index, 5, "collective");

        for (const char* const broken : {"", "x", "9 0 ", "3 0 1 ", "1 0 7 ", "2 0 0 0 0 0 99 1 "})
        {
            bool refused = false;
            try
            {
                DecisionOf(broken);
            }
            catch (const std::runtime_error&)
            {
                refused = true;
            }
            NS_TEST_EXPECT_MSG_EQ(refused, true, broken);
        }
    }
};

class DecisionTestSuite : public TestSuite
{
  public:
    DecisionTestSuite()
        : TestSuite("dltrain-decision", UNIT)
    {
        AddTestCase(new DecisionTextCase, TestCase::QUICK);
    }
};

const DecisionTestSuite g_decisionTestSuite;

} // namespace
