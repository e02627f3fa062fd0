/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pause propagation measured hop by hop: an incast at the end of a chain of switches stops, switch
 * by switch, a sender at its beginning (examples/rdma-pfc-propagation.cc; a chain whose end stops
 * all of a sudden is in rdma-buffer-test-suite.cc).
 */
#include "rdma-test-fabric.h"

#include <cmath>

using namespace ns3;
using namespace ns3::rdmatest;

/**
 * h0 - s0 - ... - s(N-1) - sink, and n - 1 local senders at s(N-1). C = 100 Gb/s, cables of d, P =
 * 500 ns; T1, T of a first and of any other full packet on the line, f its bytes in a buffer, E of
 * a PFC frame.
 *
 * The last switch. From t0 = start + T1 + d + P on, n ports come in at C and share the way out,
 * first in first out, so that each fills at C (n - 1) / n. With dynamic thresholds, g + alpha B /
 * (1 + n alpha) of each are stored at XOFF. That is a fluid: frames are whole (each port holds up
 * to one more or less, and what it holds lowers the threshold by alpha of that), the one that is
 * over the threshold counts, and the frame of each port that the egress is at; together less than
 * three frames of one port, each taking T n / (n - 1).
 *
 * The others are exact. Frame i of the chain's flow is admitted at s(j) at a(i, j) = (j + 1) (T1 +
 * d + P)
 * + i T and sent on T1 - T later (the first one holds up the second by that; frame 0 at once).
 * s(j), told to stop at q(j) = x(j + 1) + E + d, stores the frames from the first one with a(i, j)
 * + T1 - T >= q(j) on; m fit, m the largest with m f - g <= alpha (B - ((m - 1) f - g)); frame m
 * after that one raises XOFF at the moment x(j) when it is admitted.
 */
class RdmaIncastPropagationTestCase : public TestCase, ChainTimes
{
  public:
    RdmaIncastPropagationTestCase(uint32_t switches,
                                  uint32_t senders,
                                  int64_t delay,
                                  uint64_t bufferPer100G)
        : TestCase("an incast of " + std::to_string(senders + 1) + " behind " +
                   std::to_string(switches) + " switches pauses them one after the other, " +
                   std::to_string(bufferPer100G) + " B per 100G, cables of " +
                   std::to_string(delay / NS) + " ns"),
          m_switches(switches),
          m_senders(senders),
          m_delay(delay),
          m_bufferPer100G(bufferPer100G)
    {
    }

  private:
    static constexpr int64_t START = 100 * US;

    /// Frame i of the chain's flow at s(j).
    int64_t Admitted(int64_t i, int64_t j) const
    {
        return (j + 1) * (T1 + m_delay + P) + i * T;
    }

    void DoRun() override
    {
        const uint32_t n = m_senders + 1;
        Bed bed;
        for (uint32_t j = 0; j < m_switches; ++j)
        {
            bed.Switch("s" + std::to_string(j));
        }
        bed.Host("h0");
        bed.Host("sink");
        bed.Link(m_switches, 0, 100 * GBPS, m_delay);
        for (uint32_t j = 1; j < m_switches; ++j)
        {
            bed.Link(j - 1, j, 100 * GBPS, m_delay);
        }
        bed.Link(m_switches + 1, m_switches - 1, 100 * GBPS, m_delay);
        for (uint32_t i = 0; i < m_senders; ++i)
        {
            bed.Link(bed.Host("h" + std::to_string(i + 1)), m_switches - 1, 100 * GBPS, m_delay);
        }
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(m_bufferPer100G));
        bed.helper.SetNicAttribute("AckEvery", UintegerValue(65536)); // PFC frames wait for nothing
        bed.Build();

        std::vector<int64_t> xoff(m_switches, -1);
        std::vector<uint64_t> stored(m_switches);
        for (uint32_t j = 0; j < m_switches; ++j)
        {
            Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
                bed.Device(j),
                "Pfc",
                [&, j](const RdmaPort* port, uint8_t, bool pause, uint64_t bytes, int64_t now) {
                    if (pause && xoff[j] < 0 && port->GetPortIndex() == 0)
                    {
                        xoff[j] = now;
                        stored[j] = bytes;
                    }
                });
        }
        int64_t stopped = -1;
        Watch<const RdmaPort*, uint8_t, uint8_t, int64_t>(
            bed.fabric->GetNic(0)->GetPort(),
            "Paused",
            [&](const RdmaPort*, uint8_t paused, uint8_t, int64_t now) {
                stopped = paused && stopped < 0 ? now : stopped;
            });
        const uint64_t bytes = 600 * 4096;
        bed.Connect(0, 1).first->PostWrite(bytes, 0);
        for (uint32_t i = 0; i < m_senders; ++i)
        {
            RdmaQueuePair* qp = bed.Connect(2 + i, 1).first;
            Simulator::Schedule(MicroSeconds(START / US), [qp, bytes] { qp->PostWrite(bytes, 1); });
        }
        Simulator::Run();

        const double alpha = 1.0 / 8;
        const double g = 4096;
        const double f = FULL_FRAME;
        // The last switch: a fluid, to less than three frames of one port.
        const uint32_t last = m_switches - 1;
        const double share = static_cast<double>(n - 1) / n;
        const double pool = static_cast<double>(bed.Device(last)->GetBuffer().SharedSize());
        const double level = g + alpha * pool / (1 + n * alpha);
        const double fluid = static_cast<double>(START + T1 + m_delay + P) + level / f * T / share;
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(xoff[last]),
                                  fluid,
                                  3 * T / share,
                                  "XOFF of the last switch");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(stored[last]), level, 3 * f, "with so much");
        // All before it: to the picosecond.
        for (int64_t j = static_cast<int64_t>(last) - 1; j >= 0; --j)
        {
            const int64_t q = xoff[j + 1] + E + m_delay;
            int64_t held = 1;
            while (Admitted(held, j) + T1 - T < q)
            {
                ++held;
            }
            const double b = static_cast<double>(bed.Device(j)->GetBuffer().SharedSize());
            const int64_t m =
                static_cast<int64_t>(std::floor((g + alpha * (b + f) / (1 + alpha)) / f));
            NS_TEST_EXPECT_MSG_GT(m, 1, "something fits");
            NS_TEST_EXPECT_MSG_EQ(xoff[j], Admitted(held + m, j), "XOFF of switch " << j);
            NS_TEST_EXPECT_MSG_EQ(stored[j],
                                  static_cast<uint64_t>(m + 1) * FULL_FRAME,
                                  "stored at switch " << j);
        }
        NS_TEST_EXPECT_MSG_EQ(stopped, xoff[0] + E + m_delay, "the sender stands still");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), n, "all arrives in the end");
    }

    uint32_t m_switches;
    uint32_t m_senders;
    int64_t m_delay;
    uint64_t m_bufferPer100G;
};

class RdmaPfcPropagationTestSuite : public TestSuite
{
  public:
    RdmaPfcPropagationTestSuite()
        : TestSuite("rdma-pfc-propagation", UNIT)
    {
        AddTestCase(new RdmaIncastPropagationTestCase(5, 15, US, 150000), TestCase::QUICK);
        AddTestCase(new RdmaIncastPropagationTestCase(5, 3, US, 150000), TestCase::QUICK);
        AddTestCase(new RdmaIncastPropagationTestCase(8, 31, 700 * NS, 200000), TestCase::QUICK);
        AddTestCase(new RdmaIncastPropagationTestCase(1, 7, US, 150000), TestCase::QUICK);
        AddTestCase(new RdmaIncastPropagationTestCase(3, 63, 2 * US, 150000), TestCase::QUICK);
    }
};

static RdmaPfcPropagationTestSuite g_rdmaPfcPropagationTestSuite;
