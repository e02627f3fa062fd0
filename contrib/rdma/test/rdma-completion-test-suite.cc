/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Completion time on an idle path equals its closed form, rdma::IdealCompletion (whose own tests
 * compare it with the plain recurrence). The module keeps picoseconds whatever the resolution of
 * Time is, so the tests here, which run at nanoseconds, demand equality to the picosecond; a main
 * at picosecond resolution does the same (examples/rdma-incast.cc).
 */
#include "rdma-test-fabric.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// 4 x 14.0625 Gb/s x 64/66: InfiniBand FDR, no whole number of picoseconds a byte.
constexpr uint64_t FDR = 54545454545;

/// A chain host - switch - ... - host with these link rates and delays.
void
DescribeChain(Bed& bed, const std::vector<uint64_t>& rates, int64_t delayPs, uint32_t mtu)
{
    uint32_t last = bed.Host("a");
    for (size_t i = 0; i < rates.size(); ++i)
    {
        const uint32_t next =
            i + 1 == rates.size() ? bed.Host("b") : bed.Switch("s" + std::to_string(i));
        bed.Link(last, next, rates[i], delayPs);
        last = next;
    }
    bed.helper.SetNicAttribute("Mtu", UintegerValue(mtu));
    bed.Build();
}

std::string
ToString(const std::vector<uint64_t>& rates, uint32_t mtu, uint64_t bytes)
{
    std::string text = "rates";
    for (const uint64_t rate : rates)
    {
        text += " " + std::to_string(rate);
    }
    return text + ", MTU " + std::to_string(mtu) + ", " + std::to_string(bytes) + " B";
}

} // namespace

class RdmaCompletionByHandTestCase : public TestCase
{
  public:
    RdmaCompletionByHandTestCase()
        : TestCase("two packets over one switch, derived by hand")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        DescribeChain(bed, {100 * GBPS, 100 * GBPS}, US, 4096);
        bed.Connect(0, 1).first->PostWrite(5000, 42);
        Simulator::Run();
        // FIRST: 62 + RETH 16 + 4096 + 20 on the wire = 4194 B, 80 ps each: 335,520 ps.
        // LAST: 62 + 904 + 20 = 986 B: 78,880 ps.
        // The FIRST is through link 1 at 335,520, starts on link 2 after 1,000,000 + 500,000, ends
        // there at 2,171,040. The LAST waits for it there, ends at 2,249,920; + 1,000,000.
        const int64_t arrived = 3249920;
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "one message");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at, arrived, "last byte at the receiver");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].message.bytes, 5000, "all of it");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetIdealCompletion(0, 1, 5000, false), arrived, "ideal");
        // The ACK, 86 B = 6,880 ps a link: 2 x 6,880 + 2 x 1,000,000 + 500,000 later.
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, "one completion");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[0].at, arrived + 2513760, "ACK at the sender");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[0].id, 42, "the poster's own");
    }
};

class RdmaCompletionSweepTestCase : public TestCase
{
  public:
    RdmaCompletionSweepTestCase()
        : TestCase(
              "0 to 3 switches, mixed rates, all MTUs, 0 B to 8 MiB, with and without immediate")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::vector<uint64_t>> chains = {
            {100 * GBPS},
            {100 * GBPS, 100 * GBPS},
            {10 * GBPS, 100 * GBPS},
            {400 * GBPS,
             25 * GBPS}, // the queue outgrows XOFF: PFC must not cost the last link time
            {FDR, FDR, FDR},
            {25 * GBPS, 400 * GBPS, 10 * GBPS},
            {400 * GBPS, FDR, 100 * GBPS, 25 * GBPS},
            {100 * GBPS, 10 * GBPS, FDR, 400 * GBPS},
        };
        uint32_t runs = 0;
        for (const auto& rates : chains)
        {
            for (const uint32_t mtu : {256, 512, 1024, 2048, 4096})
            {
                for (const uint64_t bytes : std::initializer_list<
                         uint64_t>{0, 1, mtu - 1, mtu, mtu + 1, 3 * mtu + 2, 1000003, 8 << 20})
                {
                    if (bytes > 4000000 && mtu != 256 && mtu != 4096)
                    {
                        continue; // a long one each for the extremes
                    }
                    const bool immediate = bytes % 2;
                    // A delay that is no whole number of nanoseconds.
                    Bed bed;
                    DescribeChain(bed, rates, 123457, mtu);
                    RdmaQueuePair* qp = bed.Connect(0, 1).first;
                    // Not at time zero only.
                    Simulator::Schedule(NanoSeconds(17), [qp, bytes, immediate]() {
                        immediate ? qp->PostWriteWithImmediate(bytes, 1, 9)
                                  : qp->PostWrite(bytes, 1);
                    });
                    Simulator::Run();
                    const int64_t ideal = bed.fabric->GetIdealCompletion(0, 1, bytes, immediate);
                    NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(),
                                          1,
                                          ToString(rates, mtu, bytes));
                    NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at - 17 * NS,
                                          ideal,
                                          ToString(rates, mtu, bytes));
                    NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].message.bytes, bytes, "bytes");
                    NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "drops");
                    ++runs;
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(runs, 8 * (5 * 7 + 2), "all of them");
    }
};

class RdmaCompletionBackToBackTestCase : public TestCase
{
  public:
    RdmaCompletionBackToBackTestCase()
        : TestCase("posts in a row follow each other without a gap")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        DescribeChain(bed, {100 * GBPS, FDR}, US, 1024);
        RdmaQueuePair* qp = bed.Connect(0, 1).first;
        std::vector<rdma::FrameRun> all;
        std::vector<int64_t> ideal;
        for (const uint64_t bytes : {10000, 0, 1, 1024, 70000})
        {
            qp->PostWrite(bytes, bytes);
            // The frames of all posts so far are one train.
            const auto runs = rdma::RoceWriteRuns(rdma::Bytes(bytes), 1024);
            all.insert(all.end(), runs.begin(), runs.end());
            ideal.push_back(rdma::IdealCompletion(bed.fabric->GetPath(0, 1), all).ps);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), ideal.size(), "all");
        for (size_t i = 0; i < ideal.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[i].at, ideal[i], "message " << i);
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[i].message.sequence, i, "in order");
        }
    }
};

class RdmaCompletionLongTestCase : public TestCase
{
  public:
    RdmaCompletionLongTestCase()
        : TestCase("a post longer than 2^31 B is cut into requests; byte counts do not wrap")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        DescribeChain(bed, {400 * GBPS, 400 * GBPS}, US, 4096);
        const uint64_t bytes = (1ULL << 31) + 4096 + 1;
        const auto qps = bed.Connect(0, 1);
        std::map<RdmaOpcode, uint64_t> frames;
        std::vector<uint32_t> lengths;
        WatchFrames(bed.fabric->GetPorts()[0],
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame* frame, int64_t) {
                        ++frames[frame->opcode];
                        if (HasReth(frame->opcode))
                        {
                            lengths.push_back(frame->dmaLength);
                        }
                    });
        qps.first->PostWriteWithImmediate(bytes, 1, 5);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "one message, however many requests");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].message.bytes, bytes, "all of it");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].message.immediate, 5, "immediate");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at,
                              bed.fabric->GetIdealCompletion(0, 1, bytes, true),
                              "closed form");
        // 2^31 / 4096 = 524,288 packets: FIRST, MIDDLEs, LAST; then 4097 B: FIRST and LAST with
        // immediate.
        NS_TEST_EXPECT_MSG_EQ(frames[RdmaOpcode::WRITE_FIRST], 2, "requests");
        NS_TEST_EXPECT_MSG_EQ(frames[RdmaOpcode::WRITE_MIDDLE], 524286, "middles");
        NS_TEST_EXPECT_MSG_EQ(frames[RdmaOpcode::WRITE_LAST], 1, "end of the first request");
        NS_TEST_EXPECT_MSG_EQ(frames[RdmaOpcode::WRITE_LAST_IMM], 1, "end of the post");
        NS_TEST_EXPECT_MSG_EQ(lengths.at(0), 2147483648, "RETH of the first request");
        NS_TEST_EXPECT_MSG_EQ(lengths.at(1), 4097, "RETH of the second");
        NS_TEST_EXPECT_MSG_EQ(qps.first->GetBytesAcknowledged(), bytes, "acknowledged");
        NS_TEST_EXPECT_MSG_EQ(qps.second->GetBytesReceived(), bytes, "received");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 1, "one completion");
    }
};

class RdmaCompletionTestSuite : public TestSuite
{
  public:
    RdmaCompletionTestSuite()
        : TestSuite("rdma-completion", UNIT)
    {
        AddTestCase(new RdmaCompletionByHandTestCase, TestCase::QUICK);
        AddTestCase(new RdmaCompletionSweepTestCase, TestCase::QUICK);
        AddTestCase(new RdmaCompletionBackToBackTestCase, TestCase::QUICK);
        AddTestCase(new RdmaCompletionLongTestCase, TestCase::QUICK);
    }
};

static RdmaCompletionTestSuite g_rdmaCompletionTestSuite;
