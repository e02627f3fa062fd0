/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A fabric that several processes simulate together, without MPI: records, gateways, and the parts
 * of a fabric side by side in one simulator, which must do what the whole does.
 */
#include "rdma-test-fabric.h"

#include "ns3/hpcc-congestion-ops.h"
#include "ns3/ib-congestion-ops.h"
#include "ns3/rdma-base-rtt.h"
#include "ns3/rdma-channel.h"
#include "ns3/rdma-frame-record.h"
#include "ns3/rdma-gateway.h"
#include "ns3/swift-congestion-ops.h"
#include "ns3/timely-congestion-ops.h"

#include <algorithm>
#include <random>
#include <sstream>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// What ns-3's MPI interfaces put before a packet: time, (guarantee,) node, device.
constexpr uint32_t MPI_HEADER = 8 + 8 + 4 + 4;

/// All that crosses, as text.
std::string
Text(const RdmaFrame& f, uint32_t link, int64_t at)
{
    std::ostringstream text;
    text << at << ' ' << link << ' ' << f.wireBytes << ' ' << f.src << ' ' << f.dst << ' '
         << f.route.GetKey() << ' ' << f.destQp << ' ' << f.psn << ' ' << f.aux << ' '
         << f.dmaLength << ' ' << f.payload << ' ' << +static_cast<uint8_t>(f.opcode) << ' '
         << +f.priority << ' ' << +f.flags << ' ' << +f.classEnable;
    if (f.extra && f.extra->hasTag)
    {
        const RdmaFrameTag& t = f.extra->tag;
        text << " tag " << t.port << ' ' << t.told << ' ' << +t.congestion << ' '
             << +t.toldCongestion << ' ' << +t.kind << ' ' << +t.phase << ' ' << t.epoch << ' '
             << t.sent << ' ' << t.tail;
    }
    if (f.extra && f.extra->rank)
    {
        text << " rank " << f.extra->rank;
    }
    if (f.extra && f.extra->hasTelemetry)
    {
        const RdmaTelemetry& t = f.extra->telemetry;
        text << " telemetry " << t.sent << ' ' << t.held << ' ' << +t.switches << ' ' << t.collects
             << ' ' << +t.hops;
        for (uint32_t i = 0; i < t.hops; ++i)
        {
            text << " hop " << t.hop[i].time << ' ' << t.hop[i].txBytes << ' '
                 << t.hop[i].queueBytes << ' ' << t.hop[i].rateBps;
        }
    }
    return text.str();
}

/// A data packet in the middle of a large message, in a fabric of 1,024 hosts.
RdmaFrame
TypicalFrame()
{
    RdmaFrame frame{};
    frame.wireBytes = FULL_WIRE;
    frame.src = 700;
    frame.dst = 3;
    frame.route = RdmaRoute::OfFlow(0x89abcdef);
    frame.destQp = 1000;
    frame.psn = 0xfedcba;
    frame.payload = 4096;
    frame.opcode = RdmaOpcode::WRITE_MIDDLE;
    frame.priority = 3;
    frame.flags = RdmaFrame::ECT | RdmaFrame::CE;
    return frame;
}

/// What such a frame has of HPCC behind `hops` switches, arriving `at`: a hop every 2 us.
RdmaTelemetry
TypicalTelemetry(uint8_t hops, int64_t at)
{
    RdmaTelemetry telemetry{};
    telemetry.Start(at - (hops + 1) * 2 * US, true);
    for (uint8_t i = 0; i < hops; ++i)
    {
        telemetry.hop[i] = {at - (hops - i) * 2 * US, 5000000000, 70000, 100 * GBPS};
    }
    telemetry.hops = telemetry.switches = hops;
    return telemetry;
}

RdmaFrame*
AllocateFrame(const RdmaFrame& like, const RdmaTelemetry* telemetry = nullptr)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    *frame = like;
    frame->extra = nullptr;
    if (telemetry)
    {
        frame->extra = RdmaFramePool::Get().AllocateExtra();
        frame->extra->hasTelemetry = true;
        frame->extra->telemetry = *telemetry;
    }
    return frame;
}

} // namespace

class RdmaFrameRecordTestCase : public TestCase
{
  public:
    RdmaFrameRecordTestCase()
        : TestCase("a record has every field of a frame and of its telemetry, and of most frames "
                   "some 28 B")
    {
    }

  private:
    void DoRun() override
    {
        uint8_t buffer[RdmaFrameRecord::MAX_BYTES];
        const auto roundTrip = [&](const RdmaFrame& like,
                                   uint32_t link,
                                   int64_t at,
                                   int64_t base,
                                   const RdmaTelemetry* telemetry = nullptr) {
            RdmaFrame* frame = AllocateFrame(like, telemetry);
            const uint8_t* end = RdmaFrameRecord::Write(buffer, *frame, link, at, base);
            RdmaFrame* read = RdmaFramePool::Get().Allocate();
            uint32_t readLink;
            int64_t readAt;
            const uint8_t* readEnd =
                RdmaFrameRecord::Read(buffer, end, *read, readLink, readAt, base);
            NS_TEST_EXPECT_MSG_EQ((end == readEnd), true, "as long as written");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(end - buffer,
                                        RdmaFrameRecord::GetMaxBytes(*frame),
                                        "within bounds");
            NS_TEST_EXPECT_MSG_EQ(Text(*read, readLink, readAt),
                                  Text(*frame, link, at),
                                  "the same");
            NS_TEST_EXPECT_MSG_EQ((read->extra != nullptr), (telemetry != nullptr), "nothing more");
            RdmaFramePool::Get().Free(frame);
            RdmaFramePool::Get().Free(read);
            return end - buffer;
        };
        // 3 time (500 ns), 1 link, 2 source, 1 destination, 4 hash, 3 + 3, 1 aux, 1 DMA length,
        // 2 wire bytes, 2 payload, 4: 27 B.
        NS_TEST_EXPECT_MSG_EQ(roundTrip(TypicalFrame(), 5, 1500 * NS, 1000 * NS), 27, "typical");
        // More: 2, 4 sent (12 us, 24 bits), 1 held; of each of five hops 4 time (2 us are 21 bits,
        // which is 3; 4 us and more 4), 5 sent (33 bits), 3 queue, 6 rate (37 bits). 27 + 7 +
        // 5 x 18 - 1.
        const RdmaTelemetry typical = TypicalTelemetry(5, 1500 * NS);
        NS_TEST_EXPECT_MSG_EQ(roundTrip(TypicalFrame(), 5, 1500 * NS, 1000 * NS, &typical),
                              123,
                              "with telemetry");
        // What switches tell each other, with telemetry and without: 8 B, and three numbers of 7
        // bits a byte: 70,000 has 17, five and seven millions 23.
        const std::vector<std::pair<RdmaFrameTag, int>> tags = {
            {RdmaFrameTag{3, 0xffff, 7, 0}, 8 + 3},
            {RdmaFrameTag{0x1234, 5, 0, 9}, 8 + 3},
            {RdmaFrameTag{9, 0, 0, 0, 2, 1, 70000, 5000000, 7000000}, 8 + 3 + 4 + 4}};
        for (const auto& [tag, bytes] : tags)
        {
            for (const bool both : {false, true})
            {
                RdmaFrame* frame = AllocateFrame(TypicalFrame(), both ? &typical : nullptr);
                if (!both)
                {
                    frame->extra = RdmaFramePool::Get().AllocateExtra();
                }
                frame->extra->hasTag = true;
                frame->extra->tag = tag;
                const uint8_t* end =
                    RdmaFrameRecord::Write(buffer, *frame, 5, 1500 * NS, 1000 * NS);
                NS_TEST_EXPECT_MSG_EQ(end - buffer, (both ? 123 : 27) + bytes, "as long");
                RdmaFrame* read = RdmaFramePool::Get().Allocate();
                uint32_t link;
                int64_t at;
                RdmaFrameRecord::Read(buffer, end, *read, link, at, 1000 * NS);
                NS_TEST_EXPECT_MSG_EQ(Text(*read, link, at),
                                      Text(*frame, 5, 1500 * NS),
                                      "the same");
                RdmaFramePool::Get().Free(frame);
                RdmaFramePool::Get().Free(read);
            }
        }
        // What queue disciplines go by: 4 B.
        for (const uint32_t rank : {1U, UINT32_MAX})
        {
            RdmaFrame* frame = AllocateFrame(TypicalFrame(), nullptr);
            frame->extra = RdmaFramePool::Get().AllocateExtra();
            frame->extra->rank = rank;
            const uint8_t* end = RdmaFrameRecord::Write(buffer, *frame, 5, 1500 * NS, 1000 * NS);
            NS_TEST_EXPECT_MSG_EQ(end - buffer, 27 + 4, "as long");
            RdmaFrame* read = RdmaFramePool::Get().Allocate();
            uint32_t link;
            int64_t at;
            RdmaFrameRecord::Read(buffer, end, *read, link, at, 1000 * NS);
            NS_TEST_EXPECT_MSG_EQ(Text(*read, link, at), Text(*frame, 5, 1500 * NS), "the same");
            RdmaFramePool::Get().Free(frame);
            RdmaFramePool::Get().Free(read);
        }
        // The largest value of every field, and nothing.
        RdmaFrame largest;
        std::memset(static_cast<void*>(&largest), 0xff, sizeof(largest));
        largest.destQp = largest.psn = 0xffffff; // 24 bits
        RdmaTelemetry most{};
        most.Start(INT64_MIN, true);
        most.held = INT64_MIN;
        most.switches = UINT8_MAX;
        most.hops = RdmaTelemetry::MAX_HOPS;
        most.hop.fill({INT64_MIN, UINT64_MAX, UINT64_MAX, UINT64_MAX});
        const RdmaTelemetry none{};
        roundTrip(largest, UINT32_MAX, INT64_MAX, 0);
        roundTrip(largest, UINT32_MAX, INT64_MAX, 0, &most);
        roundTrip(RdmaFrame{}, 0, 0, 0);
        roundTrip(RdmaFrame{}, 0, 0, 0, &none);
        // Any bits of a frame; a field that is not carried would differ.
        std::mt19937_64 random(1);
        for (int i = 0; i < 10000; ++i)
        {
            RdmaFrame frame;
            uint64_t words[sizeof(RdmaFrame) / 8];
            for (uint64_t& word : words)
            {
                word = random() >> random() % 64;
            }
            std::memcpy(static_cast<void*>(&frame), words, sizeof(frame));
            frame.destQp &= 0xffffff;
            frame.psn &= 0xffffff;
            const auto number = [&random] { return random() >> random() % 64; };
            RdmaTelemetry telemetry{};
            telemetry.Start(static_cast<int64_t>(number()), random() % 2);
            telemetry.held = static_cast<int64_t>(number());
            telemetry.switches = static_cast<uint8_t>(random());
            telemetry.hops = static_cast<uint8_t>(random() % (RdmaTelemetry::MAX_HOPS + 1));
            for (uint32_t hop = 0; hop < telemetry.hops; ++hop)
            {
                telemetry.hop[hop] = {static_cast<int64_t>(number()), number(), number(), number()};
            }
            const int64_t base = static_cast<int64_t>(random() >> 2);
            roundTrip(frame,
                      static_cast<uint32_t>(random()),
                      base + static_cast<int64_t>(random() >> 2 >> random() % 60),
                      base,
                      i % 2 ? &telemetry : nullptr);
        }
    }
};

class RdmaGatewayTestCase : public TestCase
{
  public:
    RdmaGatewayTestCase()
        : TestCase("many frames in a message of at most 2,000 B, each with its picosecond; held "
                   "back no longer than said; messages of one time in any order")
    {
    }

  private:
    void DoRun() override
    {
        GlobalValue::Bind("SchedulerType", StringValue("ns3::QuadHeapScheduler"));
        RdmaClock::Update();
        const rdma::LookAhead split{400 * NS, 600 * NS};
        RdmaGateway from(1, 0, split);
        RdmaGateway to(0, 1, split);
        // The receiving end of two links, of long delay so that nothing is delivered meanwhile.
        std::vector<Ptr<RdmaPort>> ports;
        std::vector<std::string> received;
        for (uint32_t link = 0; link < 2; ++link)
        {
            const auto node = CreateObject<Node>();
            const auto port = CreateObject<RdmaPort>();
            const auto other = CreateObject<RdmaPort>();
            node->AddDevice(port);
            CreateObject<Node>()->AddDevice(other);
            CreateObject<RdmaChannel>()->Attach(port, other);
            WatchFrames(port,
                        "PhyRx",
                        [&received, link](const RdmaPort*, const RdmaFrame* frame, int64_t now) {
                            received.push_back(Text(*frame, link, now));
                        });
            ports.push_back(port);
            from.AddLink(nullptr);
            to.AddLink(PeekPointer(port));
        }

        struct Message
        {
            int64_t sent;
            int64_t receiveAt;
            Ptr<Packet> packet;
        };

        std::vector<Message> messages;
        from.SetTransport([&](Ptr<Packet> packet, int64_t receiveAt) {
            messages.push_back({RdmaClock::Now(), receiveAt, packet});
            NS_TEST_EXPECT_MSG_LT_OR_EQ(packet->GetSerializedSize() + MPI_HEADER,
                                        RdmaGateway::MAX_MESSAGE_BYTES,
                                        "fits into a message of ns-3's MPI interfaces");
        });
        std::vector<std::string> notes;
        to.SetNoteCallback([&notes](const std::string& note) { notes.push_back(note); });

        // 1,000 frames within 10 us, then one alone; link 0 and 1 by turns, each in order.
        std::vector<std::string> expected;
        std::vector<int64_t> sentAt;
        const auto send = [&](uint32_t i) {
            RdmaFrame* frame = RdmaFramePool::Get().Allocate();
            *frame = TypicalFrame();
            frame->psn = i;
            // The least that is possible: the delay of the link and a picosecond.
            const int64_t at = RdmaClock::Now() + split.holdPs + split.lookAheadPs + 1 + i % 3;
            expected.push_back(Text(*frame, i % 2, at));
            sentAt.push_back(RdmaClock::Now());
            from.Send(i % 2, frame, at, at);
        };
        for (uint32_t i = 0; i < 1000; ++i)
        {
            Simulator::Schedule(NanoSeconds(100 + 10 * i), [&send, i]() { send(i); });
        }
        Simulator::Schedule(NanoSeconds(50000), [&send]() { send(1000); });
        Simulator::Schedule(NanoSeconds(50000), [&from]() {
            from.SendNote("well done");
            from.SendNote(std::string(5000, 'x'));
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(from.GetFramesSent(), 1001, "sent");
        NS_TEST_EXPECT_MSG_EQ(from.GetMessagesSent(), messages.size(), "counted");
        // 41 frames in 400 ns, of some 27 B: below the limit. So 25 messages; then the one that is
        // sent before the notes, and those.
        NS_TEST_EXPECT_MSG_EQ(messages.size(), 25 + 1 + 2, "many in a message");
        for (const Message& message : messages)
        {
            NS_TEST_EXPECT_MSG_EQ(message.receiveAt,
                                  message.sent + split.lookAheadPs,
                                  "look-ahead");
        }
        Simulator::Destroy();

        // What is received, each pair of messages in the wrong order, at one time.
        RdmaClock::Update();
        for (std::size_t i = 0; i + 1 < messages.size(); i += 2)
        {
            std::swap(messages[i], messages[i + 1]);
        }
        for (const Message& message : messages)
        {
            to.Receive(message.packet);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(to.GetFramesReceived(), 1001, "received");
        NS_TEST_EXPECT_MSG_EQ(notes.size(), 2, "both notes");
        NS_TEST_EXPECT_MSG_EQ(notes[0], "well done", "the first");
        NS_TEST_EXPECT_MSG_GT(notes[1].size(), 1500, "the second as far as it fits");
        std::sort(expected.begin(), expected.end());
        std::sort(received.begin(), received.end());
        NS_TEST_EXPECT_MSG_EQ((expected == received), true, "every frame, to the picosecond");
        Simulator::Destroy();
        GlobalValue::Bind("SchedulerType", StringValue("ns3::MapScheduler"));
    }
};

/// A full message goes at once, and the one after it is held from its own first frame.
class RdmaGatewayFullTestCase : public TestCase
{
  public:
    RdmaGatewayFullTestCase()
        : TestCase("a full message does not wait")
    {
    }

  private:
    void DoRun() override
    {
        RdmaClock::Update();
        RdmaGateway gateway(1, 0, {400 * NS, 600 * NS});
        gateway.AddLink(nullptr);
        std::vector<int64_t> sent;
        gateway.SetTransport(
            [&sent](Ptr<Packet> packet, int64_t) { sent.push_back(RdmaClock::Now()); });
        const auto send = [&gateway](uint32_t frames) {
            for (uint32_t i = 0; i < frames; ++i)
            {
                RdmaFrame* frame = RdmaFramePool::Get().Allocate();
                *frame = TypicalFrame();
                gateway.Send(0, frame, RdmaClock::Now() + 2 * US, RdmaClock::Now() + 2 * US);
            }
        };
        // 27 B a record (28 when its time takes four bytes) in 1,880 less 13: full at 65 to 68.
        Simulator::Schedule(NanoSeconds(100), [&send]() { send(69); });
        Simulator::Schedule(NanoSeconds(1000), [&send]() { send(1); });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(sent.size(), 3, "messages");
        NS_TEST_EXPECT_MSG_EQ(sent[0], 100 * NS, "full");
        NS_TEST_EXPECT_MSG_EQ(sent[1], 500 * NS, "what was left, 400 ns after its first frame");
        NS_TEST_EXPECT_MSG_EQ(sent[2], 1400 * NS, "the next");
        Simulator::Destroy();
    }
};

/// Long and short records by turns: no message is too long, and none is lost.
class RdmaGatewayTelemetryTestCase : public TestCase
{
  public:
    RdmaGatewayTelemetryTestCase()
        : TestCase("messages have room for telemetry, and for as many frames without as ever")
    {
    }

  private:
    void DoRun() override
    {
        RdmaClock::Update();
        RdmaGateway from(1, 0, {400 * NS, 600 * NS});
        RdmaGateway to(0, 1, {400 * NS, 600 * NS});
        const auto port = CreateObject<RdmaPort>();
        const auto other = CreateObject<RdmaPort>();
        CreateObject<Node>()->AddDevice(port);
        CreateObject<Node>()->AddDevice(other);
        CreateObject<RdmaChannel>()->Attach(port, other);
        std::vector<std::string> received;
        WatchFrames(port, "PhyRx", [&](const RdmaPort*, const RdmaFrame* frame, int64_t now) {
            received.push_back(Text(*frame, 0, now));
        });
        from.AddLink(nullptr);
        to.AddLink(PeekPointer(port));
        std::vector<uint32_t> sizes;
        from.SetTransport([&](Ptr<Packet> packet, int64_t) {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(packet->GetSerializedSize() + MPI_HEADER,
                                        RdmaGateway::MAX_MESSAGE_BYTES,
                                        "fits into a message of ns-3's MPI interfaces");
            sizes.push_back(packet->GetSize());
            to.Receive(packet);
        });
        std::vector<std::string> expected;
        const auto send = [&](uint32_t frames, uint8_t hops) {
            for (uint32_t i = 0; i < frames; ++i)
            {
                const int64_t at = RdmaClock::Now() + 2 * US + expected.size() * NS;
                const RdmaTelemetry telemetry = TypicalTelemetry(hops, at);
                RdmaFrame* frame = AllocateFrame(TypicalFrame(), hops ? &telemetry : nullptr);
                expected.push_back(Text(*frame, 0, at));
                from.Send(0, frame, at, at);
            }
        };
        for (uint8_t hops = 1; hops <= RdmaTelemetry::MAX_HOPS; ++hops)
        {
            Simulator::Schedule(MicroSeconds(10 * hops), [&send, hops]() {
                for (uint32_t i = 0; i < 20; ++i)
                {
                    send(hops, 0);
                    send(3, hops);
                }
            });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((expected == received), true, "every frame, in order");
        // A record of 27 to 178 B finds no room where a longer one might not have: a message has
        // at least what is left of MAX_PAYLOAD_BYTES then, but for the last of each time.
        const auto shortOnes = std::count_if(sizes.begin(), sizes.end(), [](uint32_t size) {
            return size < RdmaGateway::MAX_PAYLOAD_BYTES - RdmaFrameRecord::MAX_BYTES;
        });
        NS_TEST_EXPECT_MSG_LT_OR_EQ(shortOnes, RdmaTelemetry::MAX_HOPS, "full messages");
        Simulator::Destroy();
    }
};

namespace
{

/// 16 hosts, 4 leaves, 2 spines; some bits are lost, buffers are small.
struct Description
{
    std::vector<RdmaNodeSpec> nodes;
    std::vector<RdmaLinkSpec> links;

    Description()
    {
        for (uint32_t i = 0; i < 16; ++i)
        {
            nodes.push_back({"h" + std::to_string(i), false});
        }
        for (uint32_t i = 0; i < 6; ++i)
        {
            nodes.push_back({"s" + std::to_string(i), true});
        }
        for (uint32_t i = 0; i < 16; ++i)
        {
            links.push_back({i, 16 + i / 4, 100 * GBPS, US, 1e-8});
        }
        for (uint32_t leaf = 0; leaf < 4; ++leaf)
        {
            for (uint32_t spine = 0; spine < 2; ++spine)
            {
                // Different delays: cut links of one pair of ranks need not be alike.
                links.push_back({16 + leaf, 20 + spine, 100 * GBPS, US + spine * 300 * NS, 1e-8});
            }
        }
    }
};

/// Flow i of the test.
struct TestFlow
{
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
};

std::vector<TestFlow>
Flows()
{
    std::vector<TestFlow> flows;
    for (uint32_t i = 1; i < 16; ++i)
    {
        flows.push_back({i, 0, 300000 + 1000 * i});         // an incast
        flows.push_back({i, (i + 5) % 16, 200000});         // all alike: ties
        flows.push_back({(i + 8) % 16, i ^ 1, 64 * i + 1}); // small ones
    }
    return flows;
}

/// What is simulated.
struct Kind
{
    std::string name;
    std::string recovery;
    TypeId cc;
    uint8_t lanes{0}; //!< InfiniBand's; 0: Ethernet
    bool adaptive{false};
};

std::vector<Kind>
Kinds()
{
    return {{"go-back-N", "go-back-n", RdmaDcqcnCongestionOps::GetTypeId()},
            {"selective repeat", "selective-repeat", RdmaDcqcnCongestionOps::GetTypeId()},
            {"HPCC", "go-back-n", RdmaHpccCongestionOps::GetTypeId()},
            {"Swift", "selective-repeat", RdmaSwiftCongestionOps::GetTypeId()},
            {"TIMELY", "go-back-n", RdmaTimelyCongestionOps::GetTypeId()},
            {"InfiniBand", "go-back-n", RdmaNoneCongestionOps::GetTypeId(), 1},
            {"InfiniBand, four VLs, congestion control, adaptive routing",
             "out-of-order",
             IbCongestionOps::GetTypeId(),
             4,
             true}};
}

/// Everything that happened, as text, whatever the number of parts.
class Outcome
{
  public:
    void Run(const std::vector<uint32_t>& rankOfNode, uint32_t ranks, const Kind& kind)
    {
        GlobalValue::Bind("SchedulerType", StringValue("ns3::QuadHeapScheduler"));
        const Description description;
        std::vector<std::unique_ptr<RdmaFabric>> parts;
        Notes notes;
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            RdmaFabricHelper helper;
            if (kind.lanes)
            {
                IbFabricConfig config;
                config.lanes = kind.lanes;
                config.laneBuffer = 16384;
                helper.SetInfiniBand(config);
                helper.SetSwitchAttribute("CongestionThreshold", UintegerValue(12));
                helper.SetSwitchAttribute("LoadBalancer",
                                          StringValue(kind.adaptive ? "adaptive" : ""));
            }
            else
            {
                helper.SetSwitchAttribute("BufferPer100G", UintegerValue(150000));
                helper.SetSwitchAttribute("EcnKmin", UintegerValue(10000));
                helper.SetSwitchAttribute("EcnKmax", UintegerValue(60000));
            }
            helper.SetNicAttribute("TimeoutExponent", UintegerValue(9)); // 2 ms
            helper.SetNicAttribute("InitialPsn", UintegerValue(0xfffff0));
            helper.SetNicAttribute("LossRecovery", StringValue(kind.recovery));
            helper.SetCongestionOps(
                DynamicCast<RdmaCongestionOps>(ObjectFactory(kind.cc.GetName()).Create()));
            if (ranks > 1)
            {
                helper.SetPartition({rankOfNode, rank, ranks});
            }
            std::string error;
            parts.push_back(helper.Build(description.nodes, description.links, error));
            NS_ABORT_MSG_IF(!parts.back(), error);
            for (uint32_t e = 0; e < parts.back()->GetNEndpoints(); ++e)
            {
                if (parts.back()->IsLocal(e))
                {
                    parts.back()->GetNic(e)->SetUser(&notes);
                }
            }
        }
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (const auto& gateway : parts[rank]->GetGateways())
            {
                RdmaGateway* to = Gateway(*parts[gateway->GetRank()], rank);
                gateway->SetTransport([to](Ptr<Packet> packet, int64_t receiveAt) {
                    const Time delay = RdmaClock::At(receiveAt) - Simulator::Now();
                    Simulator::Schedule(delay, &RdmaGateway::Receive, to, packet);
                });
            }
        }
        const std::vector<TestFlow> flows = Flows();
        for (uint32_t i = 0; i < flows.size(); ++i)
        {
            const auto priority = static_cast<uint8_t>(kind.lanes ? i % kind.lanes : 3);
            for (const auto& part : parts)
            {
                const auto ends = part->ConnectQueuePairs(flows[i].from, flows[i].to, priority);
                if (ends.first)
                {
                    ends.first->PostWrite(flows[i].bytes, i);
                }
            }
        }
        Simulator::Run();
        Collect(parts, notes);
        Simulator::Destroy();
        GlobalValue::Bind("SchedulerType", StringValue("ns3::MapScheduler"));
    }

    std::vector<std::string> lines; //!< sorted
    uint64_t marks{0};
    uint64_t pauses{0};
    uint64_t stalls{0};
    uint64_t blocksLost{0};
    uint64_t rerouted{0};
    uint64_t corrupted{0};
    uint64_t retransmitted{0};
    uint64_t crossed{0};
    uint64_t messages{0};
    uint64_t arrived{0};

  private:
    static RdmaGateway* Gateway(const RdmaFabric& fabric, uint32_t rank)
    {
        for (const auto& gateway : fabric.GetGateways())
        {
            if (gateway->GetRank() == rank)
            {
                return gateway.get();
            }
        }
        return nullptr;
    }

    void Collect(const std::vector<std::unique_ptr<RdmaFabric>>& parts, const Notes& notes)
    {
        uint64_t received = 0;
        for (const auto& part : parts)
        {
            for (uint32_t i = 0; i < part->GetPorts().size(); ++i)
            {
                const RdmaPort& port = *part->GetPorts()[i];
                const RdmaPortCounters& c = port.GetCounters();
                std::ostringstream text;
                text << port.GetName() << ' ' << part->GetLinkName(part->GetEnd(i)) << ' '
                     << c.txFrames << ' ' << c.txWireBytes << ' ' << c.txDataFrames << ' '
                     << c.rxFrames << ' ' << c.rxWireBytes << ' ' << c.corrupted << ' '
                     << c.ecnMarks << ' ' << c.pausesSent << ' ' << c.resumesSent << ' '
                     << c.pausesReceived << ' ' << c.pausedPs << ' ' << c.maxQueueBytes << ' '
                     << c.creditStalls << ' ' << c.creditUpdatesSent << ' '
                     << c.creditUpdatesReceived << ' ' << c.creditBlocksLost;
                for (uint32_t lane = 0; port.GetCredits() && lane < RdmaPort::PRIORITIES; ++lane)
                {
                    const IbLinkCredits::Lane& l = port.GetCredits()->lanes[lane];
                    text << ' ' << l.sender.Fctbs() << ' ' << l.sender.Limit() << ' '
                         << l.receiver.Abr() << ' ' << l.receiver.Occupied() << ' ' << l.toldFccl;
                }
                lines.push_back(text.str());
            }
            const RdmaPortCounters ports = part->GetPortTotals();
            const RdmaNicCounters nics = part->GetNicTotals();
            marks += ports.ecnMarks;
            pauses += ports.pausesSent;
            stalls += ports.creditStalls;
            blocksLost += ports.creditBlocksLost;
            rerouted += part->GetRerouted();
            corrupted += ports.corrupted;
            retransmitted += nics.retransmittedPackets;
            for (uint32_t e = 0; e < part->GetNEndpoints(); ++e)
            {
                if (!part->IsLocal(e))
                {
                    continue;
                }
                const RdmaNicCounters& c = part->GetNic(e)->GetCounters();
                std::ostringstream text;
                text << "nic " << e << ' ' << part->GetBdpCap(e) << ' ' << c.dataPackets << ' '
                     << c.retransmittedPackets << ' ' << c.acksSent << ' ' << c.naksSent << ' '
                     << c.cnpsSent << ' ' << c.timeouts << ' ' << c.ecnMarkedReceived << ' '
                     << c.outOfOrderDropped << ' ' << c.duplicatesReceived;
                lines.push_back(text.str());
            }
            for (const auto& device : part->GetSwitches())
            {
                std::ostringstream text;
                text << device->GetName() << ' ' << device->GetReceived() << ' '
                     << device->GetForwarded() << ' ' << device->GetRerouted();
                if (const auto ethernet = DynamicCast<RdmaSwitch>(device))
                {
                    text << ' ' << ethernet->GetBuffer().StoredPeak() << ' '
                         << ethernet->GetBuffer().HeadroomPeak();
                }
                lines.push_back(text.str());
            }
            for (const auto& gateway : part->GetGateways())
            {
                crossed += gateway->GetFramesSent();
                messages += gateway->GetMessagesSent();
                received += gateway->GetFramesReceived();
            }
        }
        for (const auto& m : notes.messages)
        {
            std::ostringstream text;
            text << "message " << m.qp->GetPeerEndpoint() << ' ' << m.qp->GetNic()->GetEndpoint()
                 << ' ' << m.qp->GetNumber() << ' ' << m.qp->GetPeerNumber() << ' '
                 << m.qp->GetTransport().GetName() << ' ' << m.message.bytes << ' ' << m.at;
            lines.push_back(text.str());
        }
        for (const auto& c : notes.completions)
        {
            std::ostringstream text;
            text << "completion " << c.id << ' ' << +static_cast<uint8_t>(c.status) << ' ' << c.at;
            lines.push_back(text.str());
        }
        std::sort(lines.begin(), lines.end());
        arrived = notes.messages.size();
        NS_ABORT_MSG_IF(crossed != received, "frames were lost between ranks");
    }
};

} // namespace

class RdmaPartsTestCase : public TestCase
{
  public:
    explicit RdmaPartsTestCase(const Kind& kind)
        : TestCase("parts of a fabric do what the whole does, to the picosecond: " + kind.name),
          m_kind(kind)
    {
    }

  private:
    void DoRun() override
    {
        Outcome whole;
        whole.Run({}, 1, m_kind);
        NS_TEST_EXPECT_MSG_EQ(whole.arrived, Flows().size(), "all arrived");
        NS_TEST_EXPECT_MSG_GT(whole.marks, 0, "marks");
        if (m_kind.lanes)
        {
            NS_TEST_EXPECT_MSG_GT(whole.stalls, 0, "waits for credits");
            NS_TEST_EXPECT_MSG_GT(whole.blocksLost, 0, "credits that were lost with packets");
            NS_TEST_EXPECT_MSG_EQ((whole.rerouted > 0), m_kind.adaptive, "other ways");
        }
        else
        {
            NS_TEST_EXPECT_MSG_GT(whole.pauses, 0, "pauses");
        }
        NS_TEST_EXPECT_MSG_GT(whole.corrupted, 0, "bit errors");
        NS_TEST_EXPECT_MSG_GT(whole.retransmitted, 0, "retransmissions");
        NS_TEST_EXPECT_MSG_EQ(whole.crossed, 0, "nothing crosses");

        // Two halves: hosts 0 to 7 with leaves 0, 1 and spine 0.
        std::vector<uint32_t> halves(22, 0);
        for (uint32_t node = 8; node < 16; ++node)
        {
            halves[node] = 1;
        }
        halves[18] = halves[19] = halves[21] = 1;
        Compare(whole, halves, 2, !m_kind.lanes); // credits hold frames apart
        // Any partition, links of hosts cut too; a rank may have no switch at all.
        std::mt19937_64 random(7);
        for (const uint32_t ranks : {2, 3, 5})
        {
            std::vector<uint32_t> any;
            for (uint32_t node = 0; node < 22; ++node)
            {
                any.push_back(static_cast<uint32_t>(random() % ranks));
            }
            Compare(whole, any, ranks, false);
        }
    }

    void Compare(const Outcome& whole,
                 const std::vector<uint32_t>& rankOfNode,
                 uint32_t ranks,
                 bool many)
    {
        Outcome parts;
        parts.Run(rankOfNode, ranks, m_kind);
        NS_TEST_EXPECT_MSG_GT(parts.crossed, 1000, "frames cross");
        if (many)
        {
            NS_TEST_EXPECT_MSG_GT(parts.crossed, 2 * parts.messages, "many in a message");
        }
        NS_TEST_ASSERT_MSG_EQ(parts.lines.size(), whole.lines.size(), "as much happened");
        for (std::size_t i = 0; i < parts.lines.size(); ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(parts.lines[i], whole.lines[i], "the same happened");
        }
    }

    Kind m_kind;
};

class RdmaPartsOfPathsTestCase : public TestCase
{
  public:
    explicit RdmaPartsOfPathsTestCase(const std::string& recovery)
        : TestCase("a part knows names, paths and BDP caps of the whole, and has little of the "
                   "rest; " +
                   recovery),
          m_recovery(recovery)
    {
    }

  private:
    void DoRun() override
    {
        const Description description;
        RdmaFabricHelper helper;
        helper.SetNicAttribute("LossRecovery", StringValue(m_recovery));
        std::string error;
        const auto whole = helper.Build(description.nodes, description.links, error);
        std::vector<uint32_t> rankOfNode(22, 1);
        rankOfNode[0] = rankOfNode[16] = 0; // a host and its leaf
        helper.SetPartition({rankOfNode, 0, 2});
        const auto part = helper.Build(description.nodes, description.links, error);
        NS_TEST_ASSERT_MSG_EQ((whole && part), true, error);
        NS_TEST_EXPECT_MSG_EQ(part->GetNEndpoints(), 16, "all endpoints have a number");
        NS_TEST_EXPECT_MSG_EQ(part->GetPorts().size(), 1 + 6, "a host's port and a leaf's");
        NS_TEST_EXPECT_MSG_EQ(part->GetSwitches().size(), 1, "a switch");
        for (uint32_t e = 0; e < 16; ++e)
        {
            NS_TEST_EXPECT_MSG_EQ(part->IsLocal(e), (e == 0), "one NIC");
            NS_TEST_EXPECT_MSG_EQ(part->GetEndpointName(e), whole->GetEndpointName(e), "names");
            // Computed from ports by the NIC, from links by the fabric.
            NS_TEST_EXPECT_MSG_EQ(part->GetBdpCap(e), whole->GetNic(e)->GetBdpCap(), "BDP cap");
            for (uint32_t to = 0; to < 16; ++to)
            {
                if (to != e)
                {
                    NS_TEST_EXPECT_MSG_EQ(part->GetIdealCompletion(e, to, 100000, false),
                                          whole->GetIdealCompletion(e, to, 100000, false),
                                          "ideal completion time");
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(part->GetNic(0)->GetBdpCap(),
                              whole->GetNic(0)->GetBdpCap(),
                              "the NIC's own");
        for (uint32_t i = 0; i < part->GetPorts().size(); ++i)
        {
            const Ptr<RdmaPort> same = whole->GetPorts()[part->GetEnd(i)];
            const Ptr<RdmaPort> port = part->GetPorts()[i];
            NS_TEST_EXPECT_MSG_EQ(port->GetName(), same->GetName(), "name");
            NS_TEST_EXPECT_MSG_EQ(port->GetIfIndex(), same->GetIfIndex(), "interface");
            NS_TEST_EXPECT_MSG_EQ(port->GetPeer()->GetName(), same->GetPeer()->GetName(), "peer");
            NS_TEST_EXPECT_MSG_EQ(port->GetPeer()->GetIfIndex(),
                                  same->GetPeer()->GetIfIndex(),
                                  "interface of a ghost");
        }
        // Hosts 1 to 3 and the spines are behind the leaf: 5 cut links, 1 us the shortest.
        NS_TEST_ASSERT_MSG_EQ(part->GetGateways().size(), 1, "one gateway");
        const rdma::LookAhead& split = part->GetGateways()[0]->GetLookAhead();
        NS_TEST_EXPECT_MSG_EQ(split.lookAheadPs + split.holdPs, US - NS, "of the shortest link");
        // Random streams: the whole takes one for each end of a lossy link and each switch.
        NS_TEST_EXPECT_MSG_EQ(part->GetNodes().GetN(), 22, "all nodes exist");
        NS_TEST_EXPECT_MSG_EQ(part->GetNodes().Get(5)->GetNDevices(), 0, "a remote one is bare");
        Simulator::Destroy();
    }

    std::string m_recovery;
};

class RdmaPartsErrorsTestCase : public TestCase
{
  public:
    RdmaPartsErrorsTestCase()
        : TestCase("partitions that cannot be simulated are refused with a reason, by every rank")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<RdmaNodeSpec> nodes = {{"a", false}, {"s", true}, {"b", false}};
        const auto refuse =
            [&](const RdmaPartition& partition, int64_t delayPs, const std::string& why) {
                RdmaFabricHelper helper;
                helper.SetPartition(partition);
                std::string error;
                const auto fabric =
                    helper.Build(nodes,
                                 {{0, 1, 100 * GBPS, delayPs, 0}, {1, 2, 100 * GBPS, US, 0}},
                                 error);
                NS_TEST_EXPECT_MSG_EQ((fabric == nullptr), true, why);
                NS_TEST_EXPECT_MSG_NE(error.find(why), std::string::npos, error);
                Simulator::Destroy();
            };
        for (const uint32_t rank : {0, 1, 2}) // one that has nothing to do with the link too
        {
            refuse({{0, 1, 2}, rank, 3}, 0, "link a->s is cut between ranks 0 and 1");
            refuse({{0, 1, 2}, rank, 3}, 1999, "delay of 1999 ps"); // at a resolution of 1 ns
        }
        refuse({{0, 1}, 0, 2}, US, "the partition has 2 nodes");
        refuse({{0, 1, 1}, 2, 2}, US, "rank 2 of 2");
        refuse({{0, 1, 2}, 0, 2}, US, "gives a node to rank 2 of 2");
        // Without cut: a delay of 0 is allowed.
        RdmaFabricHelper helper;
        helper.SetPartition({{0, 0, 1}, 0, 2});
        std::string error;
        const auto fabric =
            helper.Build(nodes, {{0, 1, 100 * GBPS, 0, 0}, {1, 2, 100 * GBPS, US, 0}}, error);
        NS_TEST_ASSERT_MSG_EQ((fabric != nullptr), true, error);
        Simulator::Destroy();
    }
};

class RdmaRanksTestSuite : public TestSuite
{
  public:
    RdmaRanksTestSuite()
        : TestSuite("rdma-ranks", UNIT)
    {
        AddTestCase(new RdmaFrameRecordTestCase, TestCase::QUICK);
        AddTestCase(new RdmaGatewayTestCase, TestCase::QUICK);
        AddTestCase(new RdmaGatewayFullTestCase, TestCase::QUICK);
        AddTestCase(new RdmaGatewayTelemetryTestCase, TestCase::QUICK);
        for (const Kind& kind : Kinds())
        {
            AddTestCase(new RdmaPartsTestCase(kind), TestCase::QUICK);
        }
        for (const char* recovery : {"selective-repeat", "out-of-order"})
        {
            AddTestCase(new RdmaPartsOfPathsTestCase(recovery), TestCase::QUICK);
        }
        AddTestCase(new RdmaPartsErrorsTestCase, TestCase::QUICK);
    }
};

static RdmaRanksTestSuite g_rdmaRanksTestSuite;
