/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Credits by hand, and over random runs with losses.
 */
#include "contrib/rdma/core/ib/ib-credits.h"
#include "tests/unit/full.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <random>

using namespace rdma;

TEST(IbCredits, ByHand)
{
    IbCreditSender sender;
    IbCreditReceiver receiver(100);
    EXPECT_FALSE(sender.CanSend(1)); // before initialization
    EXPECT_EQ(sender.Available(), 0u);
    EXPECT_EQ(receiver.Fccl(), 100); // ABR 0 + 100 free
    EXPECT_EQ(receiver.Unadvertised(), 100u);
    sender.OnFlowControl(receiver.Advertise());
    EXPECT_EQ(receiver.LastAdvertised(), 100);
    EXPECT_EQ(receiver.Unadvertised(), 0u);
    EXPECT_EQ(sender.Available(), 100u);
    EXPECT_TRUE(sender.CanSend(100));
    EXPECT_FALSE(sender.CanSend(101));

    sender.OnSent(65);
    EXPECT_EQ(sender.Fctbs(), 65);
    EXPECT_TRUE(sender.CanSend(35));
    EXPECT_FALSE(sender.CanSend(36));
    EXPECT_EQ(IbBlocksUnderway(sender, receiver), 65u);

    ASSERT_TRUE(receiver.OnReceived(65));
    EXPECT_EQ(receiver.Abr(), 65u);
    EXPECT_EQ(receiver.Occupied(), 65u);
    EXPECT_EQ(receiver.Fccl(), 100); // 65 + 35: nothing is given back while the packet is there
    receiver.OnFreed(65);
    EXPECT_EQ(receiver.Fccl(), 165); // 65 + 100
    EXPECT_EQ(receiver.Unadvertised(), 65u);
    sender.OnFlowControl(receiver.Advertise());
    EXPECT_EQ(sender.Available(), 100u);
}

TEST(IbCredits, NeverGrantMoreThan2048Blocks)
{
    IbCreditSender sender;
    IbCreditReceiver receiver(10000);
    sender.OnFlowControl(receiver.Advertise());
    EXPECT_EQ(sender.Available(), 2048u);
    EXPECT_TRUE(sender.CanSend(2048));
    EXPECT_FALSE(sender.CanSend(2049));
    EXPECT_FALSE(sender.CanSend(5000)); // more than the modulus
    sender.OnSent(2048);
    EXPECT_FALSE(sender.CanSend(1));
    EXPECT_TRUE(receiver.OnReceived(2048));
    sender.OnFlowControl(receiver.Advertise()); // 2048 + 2048 mod 4096 = 0
    EXPECT_EQ(sender.Limit(), 0);
    EXPECT_EQ(sender.Available(), 2048u);
}

TEST(IbCredits, CountsWrap)
{
    IbCreditSender sender;
    IbCreditReceiver receiver(130);
    for (int i = 0; i < 5000; ++i) // 65 x 5,000 blocks: 79 times round
    {
        sender.OnFlowControl(receiver.Advertise());
        ASSERT_EQ(sender.Available(), 130u);
        ASSERT_TRUE(sender.CanSend(65));
        sender.OnSent(65);
        ASSERT_TRUE(receiver.OnReceived(65));
        ASSERT_EQ(sender.Fctbs(), receiver.Abr());
        receiver.OnFreed(65);
    }
    EXPECT_EQ(sender.Fctbs(), 65 * 5000 % 4096);
}

TEST(IbCredits, AFlowControlPacketReturnsWhatALostPacketTook)
{
    IbCreditLane a(0);
    IbCreditLane b(130);
    EXPECT_EQ(a.OnFlowControl(b.Make(3, IbFlowControlOp::kInit)), 0u);
    for (int i = 0; i < 2; ++i)
    {
        ASSERT_TRUE(a.sender.CanSend(65));
        a.sender.OnSent(65); // and is lost
    }
    // However often the receiver repeats its limit, the sender stays without credits ...
    a.OnFlowControl(b.Make(3));
    EXPECT_EQ(a.sender.Available(), 0u);
    EXPECT_EQ(IbBlocksUnderway(a.sender, b.receiver), 130u);
    // ... until the receiver is told what was sent.
    const IbFlowControl told = a.Make(3);
    EXPECT_EQ(told.fctbs, 130);
    EXPECT_EQ(told.vl, 3);
    EXPECT_EQ(told.op, IbFlowControlOp::kNormal);
    EXPECT_EQ(b.OnFlowControl(told), 130u);
    EXPECT_EQ(b.OnFlowControl(told), 0u); // again: nothing new
    a.OnFlowControl(b.Make(3));
    EXPECT_EQ(a.sender.Available(), 130u);
}

TEST(IbCredits, APacketWithoutRoomIsRefused)
{
    IbCreditReceiver receiver(66);
    EXPECT_TRUE(receiver.OnReceived(65));
    EXPECT_FALSE(receiver.OnReceived(2));
    EXPECT_EQ(receiver.Occupied(), 65u);
    EXPECT_EQ(receiver.Abr(), 65u);
    EXPECT_TRUE(receiver.OnReceived(1));
    EXPECT_FALSE(receiver.OnReceived(1));
    EXPECT_EQ(receiver.Free(), 0u);
}

TEST(IbCredits, TheLawFindsASenderThatSendsTooMuch)
{
    IbCreditSender sender;
    IbCreditReceiver receiver(100);
    sender.OnFlowControl(receiver.Advertise());
    EXPECT_TRUE(HoldsCredits(sender, receiver));
    sender.OnSent(100);
    EXPECT_TRUE(HoldsCredits(sender, receiver));
    sender.OnSent(1); // not allowed
    EXPECT_FALSE(HoldsCredits(sender, receiver));
    // A limit that was never given breaks it as well.
    IbCreditSender other;
    other.OnFlowControl(101);
    EXPECT_FALSE(HoldsCredits(other, receiver));
}

TEST(IbCredits, InitializationStartsFromZero)
{
    IbCreditLane a(50);
    IbCreditLane b(130);
    a.OnFlowControl(b.Make(0, IbFlowControlOp::kInit));
    b.OnFlowControl(a.Make(0, IbFlowControlOp::kInit));
    a.sender.OnSent(7);
    b.receiver.OnReceived(7);
    a.Initialize();
    b.Initialize();
    EXPECT_FALSE(a.sender.IsReady());
    EXPECT_FALSE(a.sender.CanSend(1));
    a.OnFlowControl(b.Make(0, IbFlowControlOp::kInit));
    EXPECT_EQ(a.sender.Fctbs(), 0);
    EXPECT_EQ(a.sender.Available(), 123u); // the 7 blocks are still there
    EXPECT_TRUE(HoldsCredits(a.sender, b.receiver));
}

namespace
{

/// What travels on a direction of the link, in order.
struct OnWire
{
    uint32_t blocks; ///< 0: a flow-control packet
    IbFlowControl control;
};

/// A link with one VL, one direction with data, and what became of all of its blocks.
class RandomLink
{
  public:
    RandomLink(uint64_t seed,
               uint32_t capacity,
               uint32_t largest,
               double dataLoss,
               double controlLoss,
               uint32_t shift = 0)
        : m_random(seed),
          m_near(0, shift),
          m_far(capacity, shift),
          m_largest(largest),
          m_dataLoss(dataLoss),
          m_controlLoss(controlLoss)
    {
        m_near.OnFlowControl(m_far.Make(0, IbFlowControlOp::kInit));
        m_far.OnFlowControl(m_near.Make(0, IbFlowControlOp::kInit));
    }

    void Step()
    {
        switch (m_random() % 8)
        {
        case 0:
        case 1:
        case 2:
            Send(1 + static_cast<uint32_t>(m_random() % m_largest));
            break;
        case 3:
        case 4:
            Arrive();
            break;
        case 5:
            Leave();
            break;
        case 6:
            ControlFromFar();
            ArriveBack();
            break;
        default:
            if (m_random() % 4 == 0)
            {
                m_forth.push_back({0, m_near.Make(0)});
            }
            Arrive();
        }
        Check();
    }

    bool Send(uint32_t blocks)
    {
        if (!m_near.sender.CanSend(blocks))
        {
            return false;
        }
        m_near.sender.OnSent(blocks);
        m_forth.push_back({blocks, {}});
        m_inFlight += blocks;
        m_sent += blocks;
        ++m_packets;
        return true;
    }

    void Arrive()
    {
        if (m_forth.empty())
        {
            return;
        }
        const OnWire w = m_forth.front();
        m_forth.pop_front();
        m_inFlight -= w.blocks;
        if (w.blocks == 0)
        {
            if (!Happens(m_controlLoss))
            {
                m_foundLost += m_far.OnFlowControl(w.control);
            }
        }
        else if (Happens(m_dataLoss))
        {
            m_lost += w.blocks;
        }
        else
        {
            ASSERT_TRUE(m_far.receiver.OnReceived(w.blocks)) << "a packet came without room for it";
            m_buffer.push_back(w.blocks);
            m_received += w.blocks;
        }
    }

    void Leave()
    {
        if (!m_buffer.empty())
        {
            m_far.receiver.OnFreed(m_buffer.front());
            m_freed += m_buffer.front();
            m_buffer.pop_front();
        }
    }

    void ControlFromFar()
    {
        m_back.push_back(m_far.Make(0));
    }

    void ArriveBack()
    {
        if (m_back.empty())
        {
            return;
        }
        const IbFlowControl control = m_back.front();
        m_back.pop_front();
        if (!Happens(m_controlLoss))
        {
            const uint32_t before = m_near.sender.Limit();
            m_near.OnFlowControl(control);
            ASSERT_LE(IbCreditDifference(m_near.sender.Limit(), before), kIbCreditWindow)
                << "the limit went back";
        }
    }

    void Check()
    {
        ASSERT_TRUE(HoldsCredits(m_near.sender, m_far.receiver));
        ASSERT_EQ(m_sent, m_received + m_lost + m_inFlight);
        ASSERT_EQ(m_received, m_freed + m_far.receiver.Occupied());
        ASSERT_LE(m_foundLost, m_lost);
        // FCTBS - ABR = what is in flight and the losses that are not yet known.
        ASSERT_EQ(IbBlocksUnderway(m_near.sender, m_far.receiver),
                  (m_inFlight + m_lost - m_foundLost) % (kIbCreditModulo << m_near.sender.Shift()));
    }

    /// From here on nothing is lost: all there is arrives and leaves, and one flow-control packet
    /// goes each way.
    void Calm()
    {
        m_dataLoss = m_controlLoss = 0;
        m_forth.push_back({0, m_near.Make(0)});
        while (!m_forth.empty())
        {
            Arrive();
        }
        while (!m_buffer.empty())
        {
            Leave();
        }
        ControlFromFar();
        while (!m_back.empty())
        {
            ArriveBack();
        }
        Check();
        // What large blocks do not tell: less than one of what was sent, less than one of the
        // limit.
        const uint32_t shift = m_near.sender.Shift();
        const uint32_t hidden = (1U << shift) - 1;
        ASSERT_LE(m_lost - m_foundLost, hidden);
        const uint32_t whole = std::min(m_far.receiver.Capacity(), kIbCreditWindow << shift);
        ASSERT_LE(m_near.sender.Available(), whole);
        ASSERT_GE(m_near.sender.Available() + 2 * hidden, whole) << "credits leaked";
    }

    void SetLoss(double data, double control)
    {
        m_dataLoss = data;
        m_controlLoss = control;
    }

    uint64_t Packets() const
    {
        return m_packets;
    }

    uint64_t Lost() const
    {
        return m_lost;
    }

  private:
    bool Happens(double probability)
    {
        return static_cast<double>(m_random() >> 11) * 0x1p-53 < probability;
    }

    std::mt19937_64 m_random;
    IbCreditLane m_near;
    IbCreditLane m_far;
    uint32_t m_largest;
    double m_dataLoss;
    double m_controlLoss;
    std::deque<OnWire> m_forth;
    std::deque<IbFlowControl> m_back;
    std::deque<uint32_t> m_buffer;
    uint64_t m_packets = 0;
    uint64_t m_inFlight = 0;
    uint64_t m_sent = 0;
    uint64_t m_received = 0;
    uint64_t m_freed = 0;
    uint64_t m_lost = 0;
    uint64_t m_foundLost = 0;
};

} // namespace

TEST(IbCredits, NothingIsLostOrLeakedOverMillionsOfPackets)
{
    const struct
    {
        uint32_t capacity;
        uint32_t largest;
        double dataLoss;
        double controlLoss;
        uint32_t shift = 0;
    } runs[] = {
        {66, 66, 0, 0},
        {66, 66, 0.01, 0.01},
        {130, 65, 0.1, 0.3},
        {300, 65, 0.5, 0.9},
        {2047, 66, 0.01, 0.1},
        {2048, 66, 0.01, 0.1},
        {2049, 66, 0.01, 0.1},
        {5000, 300, 0.02, 0.5},
        {20000, 2048, 0.05, 0.5},
        {1, 1, 0.3, 0.3},
        {70, 66, 0, 0, 1},
        {100, 66, 0.01, 0.1, 4},
        {4096, 66, 0.02, 0.2, 1},
        {5000, 66, 0.1, 0.5, 3},
        {200, 66, 0.3, 0.3, 6},
        {131072, 66, 0.01, 0.1, 6},
        {400000, 2000, 0.01, 0.1, 6},
    };

    uint64_t packets = 0;
    uint64_t seed = 1;
    for (const auto& run : runs)
    {
        RandomLink link(seed++,
                        run.capacity,
                        run.largest,
                        run.dataLoss,
                        run.controlLoss,
                        run.shift);
        for (int calm = 0; calm < (IsFull() ? 50 : 15); ++calm)
        {
            for (int i = 0; i < 60000; ++i)
            {
                link.Step();
                if (HasFatalFailure())
                {
                    FAIL() << "capacity " << run.capacity << ", seed " << seed - 1;
                }
            }
            link.Calm();
            if (HasFatalFailure())
            {
                FAIL() << "capacity " << run.capacity << ", seed " << seed - 1;
            }
            link.SetLoss(run.dataLoss, run.controlLoss);
        }
        packets += link.Packets();
        EXPECT_EQ(link.Lost() > 0, run.dataLoss > 0);
    }
    EXPECT_GT(packets, IsFull() ? 3000000u : 900000u);
}
