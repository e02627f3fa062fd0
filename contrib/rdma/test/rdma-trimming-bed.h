/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A fabric whose switches trim, for the tests of the transports that need it: NDP, EQDS, UET.
 */
#ifndef RDMA_TRIMMING_BED_H
#define RDMA_TRIMMING_BED_H

#include "rdma-test-fabric.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace ns3
{
namespace rdmatest
{

/// A fabric whose switches trim and spray.
class TrimmingBed : public Bed
{
  public:
    /// \param transport as RdmaNic::LossRecovery knows it
    explicit TrimmingBed(const std::string& transport)
    {
        helper.SetNicAttribute("LossRecovery", StringValue(transport));
        helper.SetNicAttribute("AckPriority", UintegerValue(5));
        helper.SetSwitchAttribute("Pfc", BooleanValue(false));
        helper.SetSwitchAttribute("TrimPackets", UintegerValue(8));
        helper.SetSwitchAttribute("LoadBalancer", StringValue("spray"));
    }

    /// `leaves` leaves of `hosts` hosts each, and as many spines; h0 .. on leaf 0.
    void LeafSpine(uint32_t leaves, uint32_t hosts)
    {
        for (uint32_t h = 0; h < leaves * hosts; ++h)
        {
            Host("h" + std::to_string(h));
        }
        std::vector<uint32_t> leaf;
        for (uint32_t l = 0; l < leaves; ++l)
        {
            leaf.push_back(Switch("l" + std::to_string(l)));
        }
        for (uint32_t h = 0; h < leaves * hosts; ++h)
        {
            Link(h, leaf[h / hosts], 100 * GBPS);
        }
        for (uint32_t s = 0; s < hosts; ++s)
        {
            const uint32_t spine = Switch("s" + std::to_string(s));
            for (const uint32_t l : leaf)
            {
                Link(l, spine, 100 * GBPS);
            }
        }
    }

    /// A message that is expected to arrive once and whole.
    void Send(uint32_t from, uint32_t to, uint64_t bytes)
    {
        const auto [sender, receiver] = Connect(from, to);
        sent.push_back({sender, receiver, bytes});
        sender->PostWrite(bytes, sent.size() - 1);
    }

    struct Sent
    {
        RdmaQueuePair* sender;
        RdmaQueuePair* receiver;
        uint64_t bytes;
    };

    std::vector<Sent> sent;

    RdmaNicCounters Totals() const
    {
        return fabric->GetNicTotals();
    }

    /// \return when the last message arrived, ps
    int64_t LastArrival() const
    {
        int64_t last = 0;
        for (const Notes::Message& message : notes.messages)
        {
            last = std::max(last, message.at);
        }
        return last;
    }
};

/// Wire bytes of the packets of one WRITE: 62 B of headers, the RETH's 16 in the first, padding to
/// 4, preamble and gap 20.
inline std::vector<uint32_t>
Wires(uint64_t bytes, uint32_t mtu)
{
    std::vector<uint32_t> wires;
    uint64_t rest = bytes;
    do
    {
        const auto payload = static_cast<uint32_t>(std::min<uint64_t>(rest, mtu));
        wires.push_back(82 + (payload + 3) / 4 * 4 + (wires.empty() ? 16 : 0));
        rest -= payload;
    } while (rest);
    return wires;
}

/// Whether a frame is of those that a test loses.
using Loses = std::function<bool(const RdmaFrame&)>;

inline Loses
LosesOf(RdmaOpcode opcode)
{
    return [opcode](const RdmaFrame& frame) { return frame.opcode == opcode; };
}

/// What all these transports send.
inline std::map<std::string, Loses>
KindsToLose()
{
    return {
        {"whole packets",
         [](const RdmaFrame& f) { return IsRequest(f.opcode) && !(f.flags & RdmaFrame::TRIMMED); }},
        {"headers",
         [](const RdmaFrame& f) { return IsRequest(f.opcode) && (f.flags & RdmaFrame::TRIMMED); }},
        {"ACKs", LosesOf(RdmaOpcode::NDP_ACK)},
        {"NACKs", LosesOf(RdmaOpcode::NDP_NACK)},
        {"pulls", LosesOf(RdmaOpcode::NDP_PULL)},
        {"anything", [](const RdmaFrame&) { return true; }}};
}

/// A test case that can check such beds.
class TrimmingTestCase : public TestCase
{
  public:
    using TestCase::TestCase;

  protected:
    /// Each message has arrived once and whole, each post is complete, and packets add up.
    /// \return packets of all messages
    uint64_t CheckArrived(TrimmingBed& bed, const std::string& what)
    {
        uint64_t packets = 0;
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), bed.sent.size(), what << ": messages");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), bed.sent.size(), what << ": posts");
        for (const Notes::Completion& completion : bed.notes.completions)
        {
            NS_TEST_EXPECT_MSG_EQ((completion.status == RdmaStatus::SUCCESS), true, what);
        }
        for (const TrimmingBed::Sent& sent : bed.sent)
        {
            NS_TEST_EXPECT_MSG_EQ(sent.receiver->GetBytesReceived(), sent.bytes, what);
            NS_TEST_EXPECT_MSG_EQ(sent.sender->GetBytesAcknowledged(), sent.bytes, what);
            packets += Wires(sent.bytes, 4096).size();
        }
        const RdmaNicCounters nics = bed.Totals();
        // Sent for the first time and again.
        NS_TEST_EXPECT_MSG_EQ(nics.dataPackets, packets + nics.retransmittedPackets, what);
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), 0, what << ": frames left");
        return packets;
    }

    /// Five hosts send to one, and one of so many of the frames is lost. \return how many were
    static uint32_t RunWithLosses(TrimmingBed& bed, const Loses& loses, uint32_t share)
    {
        bed.Star(6, 100 * GBPS);
        bed.Build();
        std::mt19937 random(share);
        std::vector<std::unique_ptr<Loser>> losers;
        for (uint32_t h = 0; h < 6; ++h)
        {
            losers.push_back(
                std::make_unique<Loser>(bed.fabric->GetNic(h)->GetPort(),
                                        [&random, &loses, share](const RdmaFrame& frame, int64_t) {
                                            return loses(frame) && random() % share == 0;
                                        }));
        }
        for (uint32_t s = 1; s < 6; ++s)
        {
            bed.Send(s, 0, 600011 + s);
        }
        Simulator::Run();
        uint32_t lost = 0;
        for (const auto& loser : losers)
        {
            lost += loser->lost;
        }
        return lost;
    }
};

} // namespace rdmatest
} // namespace ns3

#endif /* RDMA_TRIMMING_BED_H */
