/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand packets as bytes: against the specification's example, against CRCs computed bit by
 * bit, there and back, and read by tshark.
 */
#include "contrib/rdma/core/ib/ib-wire.h"
#include "wire-tools.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

using namespace rdma;

namespace
{

std::vector<uint8_t>
Encoded(const IbFields& f)
{
    std::vector<uint8_t> bytes(EncodedIbBytes(f));
    EXPECT_EQ(EncodeIb(f, bytes.data(), bytes.size()), bytes.size());
    return bytes;
}

IbFields
Example(RoceOpcode opcode, uint32_t payload, bool global = false)
{
    IbFields f;
    f.vl = 3;
    f.sl = 5;
    f.dlid = 0x0102;
    f.slid = 0xbeef;
    f.queueKey = 0x80010000;
    f.sourceQueuePair = 0x00abcd;
    FillTransport(f, opcode, payload);
    f.global = global;
    f.trafficClass = 0x2a;
    f.flowLabel = 0x54321;
    f.hopLimit = 9;
    for (uint8_t i = 0; i < 16; ++i)
    {
        f.sgid[i] = i == 0 ? 0xfe : i == 1 ? 0x80 : i == 15 ? 1 : 0;
        f.dgid[i] = i == 15 ? 2 : f.sgid[i];
    }
    return f;
}

constexpr RoceOpcode kOpcodes[] = {RoceOpcode::kSendFirst,
                                   RoceOpcode::kSendMiddle,
                                   RoceOpcode::kSendLastWithImmediate,
                                   RoceOpcode::kSendOnly,
                                   RoceOpcode::kWriteFirst,
                                   RoceOpcode::kWriteMiddle,
                                   RoceOpcode::kWriteLast,
                                   RoceOpcode::kWriteLastWithImmediate,
                                   RoceOpcode::kWriteOnly,
                                   RoceOpcode::kWriteOnlyWithImmediate,
                                   RoceOpcode::kReadRequest,
                                   RoceOpcode::kReadResponseFirst,
                                   RoceOpcode::kReadResponseMiddle,
                                   RoceOpcode::kReadResponseOnly,
                                   RoceOpcode::kAcknowledge,
                                   RoceOpcode::kDatagramSendOnly,
                                   RoceOpcode::kDatagramSendOnlyWithImmediate,
                                   RoceOpcode::kCnp};

/// The i-th of packets of all kinds, with less than `most` bytes of payload.
IbFields
AnyPacket(int i, std::mt19937_64& random, uint32_t most)
{
    const RoceOpcode opcode = kOpcodes[i % std::size(kOpcodes)];
    return Example(opcode, HasPayload(opcode) ? static_cast<uint32_t>(random() % most) : 0);
}

} // namespace

// The packet without a GRH in the specification's examples of CRC calculation (vol. 1, 7.8): ICRC
// 96 25 b7 5a.
TEST(IbWire, IcrcOfTheSpecificationsExample)
{
    const auto packet = FromHex(
        "70 12 37 5c 00 0e 17 d2 0a 20 24 87 00 87 b1 b3 00 0d ec 2a 01 71 0a 1c 01 5d 40 02 "
        "38 f2 7a 05 00 00 00 0e bb 88 4d 85 fd 5c fb a4 72 8b c0 69 0e d4 00 00");
    const uint32_t icrc = IbIcrc(packet.data(), packet.size());
    EXPECT_EQ(icrc & 0xff, 0x96u);
    EXPECT_EQ(icrc >> 8 & 0xff, 0x25u);
    EXPECT_EQ(icrc >> 16 & 0xff, 0xb7u);
    EXPECT_EQ(icrc >> 24, 0x5au);
    // Read back: a WRITE only of 14 bytes, 2 of padding.
    auto whole = packet;
    for (int i = 0; i < 4; ++i)
    {
        whole.push_back(static_cast<uint8_t>(icrc >> 8 * i));
    }
    const uint16_t vcrc = IbVcrc(whole.data(), whole.size());
    whole.push_back(static_cast<uint8_t>(vcrc));
    whole.push_back(static_cast<uint8_t>(vcrc >> 8));
    const auto f = DecodeIb(whole.data(), whole.size());
    ASSERT_TRUE(f);
    EXPECT_EQ(f->vl, 7);
    EXPECT_EQ(f->sl, 1);
    EXPECT_EQ(f->dlid, 0x375c);
    EXPECT_EQ(f->slid, 0x17d2);
    EXPECT_EQ(f->opcode, RoceOpcode::kWriteOnly);
    EXPECT_EQ(f->partitionKey, 0x2487);
    EXPECT_EQ(f->destinationQueuePair, 0x87b1b3u);
    EXPECT_EQ(f->psn, 0x0dec2au);
    EXPECT_EQ(f->virtualAddress, 0x01710a1c015d4002ULL);
    EXPECT_EQ(f->remoteKey, 0x38f27a05u);
    EXPECT_EQ(f->dmaLength, 14u);
    EXPECT_EQ(f->payload, 14u);
}

TEST(IbWire, FieldsStandWhereTheSpecificationPutsThem)
{
    IbFields f = Example(RoceOpcode::kWriteOnlyWithImmediate, 5);
    f.fecn = true;
    const auto packet = Encoded(f);
    ASSERT_EQ(packet.size(), 8u + 12 + 16 + 4 + 8 + 4 + 2);
    // LRH: VL 3, version 0; SL 5, LNH 2; DLID; (54 - 2) / 4 = 13 words; SLID
    const auto expected = FromHex("30 52 0102 000d beef"
                                  // BTH: migrated, 3 bytes of padding; FECN; the A bit
                                  " 0b 70 ffff 80 000456 80 fffffe"
                                  " 0123456789abcdef cafe0001 80000000 11223344"
                                  " 00 01 02 03 04 00 00 00");
    EXPECT_EQ(std::vector<uint8_t>(packet.begin(), packet.end() - 6), expected);

    const auto global = Encoded(Example(RoceOpcode::kAcknowledge, 0, true));
    ASSERT_EQ(global.size(), 70u);
    // 17 words. GRH: version 6, class 2a, label 54321; BTH, AETH and ICRC are 20 bytes; next header
    // 1b; hop limit 9
    const auto head =
        FromHex("30 53 0102 0011 beef 62a54321 0014 1b 09 fe800000000000000000000000000001 "
                "fe800000000000000000000000000002 11 40 ffff 00 000456 80 fffffe 1f 010203");
    EXPECT_EQ(std::vector<uint8_t>(global.begin(), global.end() - 6), head);

    const auto cn = Encoded(Example(RoceOpcode::kCnp, 0));
    EXPECT_EQ(cn.size(), kIbCnBytes.value);
    EXPECT_EQ(cn[8], 0x80);
    EXPECT_EQ(cn[12], 0x40); // BECN
}

TEST(IbWire, CrcsEqualAnIndependentComputation)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 400; ++i)
    {
        IbFields f = AnyPacket(i, random, 4097);
        f.global = i % 3 == 0;
        f.psn = random() & 0xffffff;
        f.dlid = static_cast<uint16_t>(random());
        f.fecn = random() & 1;
        const auto packet = Encoded(f);
        const size_t n = packet.size();
        ASSERT_EQ(n, IbPacketBytes(f.opcode, f.payload, f.global).value);
        ASSERT_EQ(packet[n - 2] | packet[n - 1] << 8,
                  static_cast<int>(BitwiseCrc({packet.begin(), packet.end() - 2}, 16, 0x100B)));
        std::vector<uint8_t> masked(packet.begin(), packet.end() - 6);
        // By the specification's lists of fields that are replaced by ones.
        if (f.global)
        {
            for (size_t at = 0; at < 8; ++at)
            {
                masked[at] = 0xff;
            }
            masked[8] = 0x6f;
            masked[9] = masked[10] = masked[11] = masked[15] = 0xff;
        }
        else
        {
            masked[0] = 0xf0;
        }
        masked[f.global ? 52 : 12] = 0xff;
        const uint32_t icrc = BitwiseCrc(masked, 32, 0x04C11DB7);
        for (size_t k = 0; k < 4; ++k)
        {
            ASSERT_EQ(packet[n - 6 + k], icrc >> 8 * k & 0xff);
        }
        // What a switch changes leaves the ICRC alone and moves the VCRC.
        IbFields changed = f;
        changed.vl ^= 1;
        changed.fecn = !f.fecn;
        const auto other = Encoded(changed);
        ASSERT_TRUE(std::equal(packet.end() - 6, packet.end() - 2, other.end() - 6));
        ASSERT_FALSE(std::equal(packet.end() - 2, packet.end(), other.end() - 2));
        // What a router changes besides.
        changed.hopLimit -= 1;
        changed.flowLabel ^= 1;
        changed.slid ^= 1;
        const auto routed = Encoded(changed);
        ASSERT_EQ(std::equal(packet.end() - 6, packet.end() - 2, routed.end() - 6), f.global);
    }
}

TEST(IbWire, ThereAndBack)
{
    std::mt19937_64 random(2);
    for (int i = 0; i < 2000; ++i)
    {
        IbFields f = AnyPacket(i, random, 300);
        f.global = random() & 1;
        f.vl = random() & 0xf;
        f.sl = random() & 0xf;
        f.dlid = static_cast<uint16_t>(random());
        f.slid = static_cast<uint16_t>(random());
        f.fecn = random() & 1;
        f.becn = f.opcode == RoceOpcode::kCnp || (random() & 1);
        f.solicited = random() & 1;
        f.ackRequest = random() & 1;
        f.destinationQueuePair = random() & 0xffffff;
        f.psn = random() & 0xffffff;
        f.syndrome = NakSyndrome(kNakPsnSequenceError);
        auto packet = Encoded(f);
        const auto g = DecodeIb(packet.data(), packet.size());
        ASSERT_TRUE(g) << i;
        ASSERT_EQ(Encoded(*g), packet);
        ASSERT_EQ(g->opcode, f.opcode);
        ASSERT_EQ(g->payload, f.payload);
        ASSERT_EQ(g->fecn, f.fecn);
        ASSERT_EQ(g->becn, f.becn);
        // A flipped bit is always found, a missing or added byte too.
        const size_t bit = random() % (packet.size() * 8);
        packet[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
        ASSERT_FALSE(DecodeIb(packet.data(), packet.size())) << "bit " << bit;
        packet[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
        ASSERT_FALSE(DecodeIb(packet.data(), packet.size() - 1));
        packet.push_back(0);
        ASSERT_FALSE(DecodeIb(packet.data(), packet.size()));
    }
    // Bytes of any kind do no harm.
    for (int i = 0; i < 20000; ++i)
    {
        std::vector<uint8_t> bytes(random() % 120);
        for (uint8_t& b : bytes)
        {
            b = static_cast<uint8_t>(random());
        }
        if (bytes.size() > 8) // mostly past the first checks
        {
            bytes[0] &= 0xf0;
            bytes[1] |= 2;
            bytes[4] = 0;
            bytes[5] = static_cast<uint8_t>((bytes.size() - 2) / 4);
        }
        DecodeIb(bytes.data(), bytes.size());
    }
}

TEST(IbWire, NeverWritesBeyondTheBuffer)
{
    const auto f = Example(RoceOpcode::kWriteFirst, 4096);
    std::vector<uint8_t> buffer(EncodedIbBytes(f));
    EXPECT_THROW(EncodeIb(f, buffer.data(), buffer.size() - 1), std::length_error);
    EXPECT_NO_THROW(EncodeIb(f, buffer.data(), buffer.size()));
    EXPECT_THROW(EncodeIb(Example(RoceOpcode::kWriteFirst, 4097), buffer.data(), 1 << 20),
                 std::length_error);
}

TEST(IbWire, FlowControlPacket)
{
    const IbFlowControl f{IbFlowControlOp::kInit, 5, 0xabc, 0x123};
    const auto bytes = EncodeIbFlowControl(f);
    EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.begin() + 4), FromHex("1abc 5123"));
    EXPECT_EQ(bytes[4] | bytes[5] << 8,
              static_cast<int>(BitwiseCrc({bytes.begin(), bytes.begin() + 4}, 16, 0x100B)));
    const auto g = DecodeIbFlowControl(bytes);
    ASSERT_TRUE(g);
    EXPECT_EQ(g->op, f.op);
    EXPECT_EQ(g->vl, 5);
    EXPECT_EQ(g->fctbs, 0xabc);
    EXPECT_EQ(g->fccl, 0x123);
    for (int bit = 0; bit < 48; ++bit)
    {
        auto bad = bytes;
        bad[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
        EXPECT_FALSE(DecodeIbFlowControl(bad)) << bit;
    }
    EXPECT_FALSE(
        DecodeIbFlowControl(EncodeIbFlowControl({static_cast<IbFlowControlOp>(2), 0, 0, 0})));
}

namespace
{

/// An ERF record of a packet, at 1.5 s on interface 1.
std::vector<uint8_t>
Record(const std::vector<uint8_t>& packet)
{
    std::vector<uint8_t> r(kErfHeaderBytes + packet.size());
    PutErfHeader(r.data(), kErfInfiniband, TimePoint(1500000000000LL), packet.size(), 1);
    std::copy(packet.begin(), packet.end(), r.begin() + kErfHeaderBytes);
    return r;
}

std::string
Crcs(const std::vector<uint8_t>& packet)
{
    // tshark prints them as they stand, first byte first.
    char text[32];
    const uint8_t* e = packet.data() + packet.size();
    std::snprintf(text,
                  sizeof text,
                  "0x%02x%02x%02x%02x|0x%02x%02x",
                  e[-6],
                  e[-5],
                  e[-4],
                  e[-3],
                  e[-2],
                  e[-1]);
    return text;
}

} // namespace

TEST(IbWire, TsharkDissectsEveryPacket)
{
    if (std::system("command -v tshark > /dev/null 2>&1") != 0)
    {
        GTEST_SKIP() << "tshark is not installed";
    }
    std::vector<std::vector<uint8_t>> packets;
    std::vector<std::string> expected;
    // VL | SL | LNH | DLID | words | SLID | hop limit | opcode | PSN | destination QP | A | pad |
    // VA | DMA length | immediate | syndrome opcode | MSN | ICRC | VCRC
    const auto add = [&](const IbFields& f, const std::string& tail) {
        const auto packet = Encoded(f);
        packets.push_back(Record(packet));
        expected.push_back("|0x03|5|" + std::string(f.global ? "0x03" : "0x02") + "|258|" +
                           std::to_string(IbPacketWords(Bytes(packet.size()))) + "|48879|" +
                           (f.global ? "9" : "") + "|" + tail + "|" + Crcs(packet));
    };
    const std::string common = "|16777214|0x000456|1|";
    const std::string reth = "|0x0123456789abcdef|2147483648|";
    for (const bool global : {false, true})
    {
        add(Example(RoceOpcode::kSendFirst, 4096, global), "0" + common + "0|||||");
        // (Wireshark 4.0 takes a SEND without payload for RPC over RDMA, and a malformed one.)
        add(Example(RoceOpcode::kSendOnly, 64, global), "4" + common + "0|||||");
        add(Example(RoceOpcode::kWriteFirst, 4096, global), "6" + common + "0" + reth + "||");
        add(Example(RoceOpcode::kWriteMiddle, 256, global), "7" + common + "0|||||");
        add(Example(RoceOpcode::kWriteLast, 1, global), "8" + common + "3|||||");
        add(Example(RoceOpcode::kWriteOnlyWithImmediate, 3, global),
            "11" + common + "1" + reth + "11223344,11223344||");
        add(Example(RoceOpcode::kReadRequest, 0, global), "12" + common + "0" + reth + "||");
        add(Example(RoceOpcode::kReadResponseFirst, 1024, global), "13" + common + "0||||0|66051");
        add(Example(RoceOpcode::kAcknowledge, 0, global), "17" + common + "0||||0|66051");
    }
    std::vector<std::string> fields = {"_ws.malformed"};
    for (const char* field : {"lrh.vl",
                              "lrh.sl",
                              "lrh.lnh",
                              "lrh.dlid",
                              "lrh.pktlen",
                              "lrh.slid",
                              "grh.hoplmt",
                              "bth.opcode",
                              "bth.psn",
                              "bth.destqp",
                              "bth.a",
                              "bth.padcnt",
                              "reth.va",
                              "reth.dmalen",
                              "immdt",
                              "aeth.syndrome.opcode",
                              "aeth.msn",
                              "invariant.crc",
                              "variant.crc"})
    {
        fields.push_back(std::string("infiniband.") + field);
    }
    const auto lines = Dissected(kLinkTypeErf, packets, fields);
    ASSERT_EQ(lines.size(), expected.size());
    for (size_t i = 0; i < lines.size(); ++i)
    {
        EXPECT_EQ(lines[i], expected[i]) << "packet " << i;
    }
}

TEST(IbWire, TsharkReadsErfRecordsOfBothKinds)
{
    if (std::system("command -v tshark > /dev/null 2>&1") != 0)
    {
        GTEST_SKIP() << "tshark is not installed";
    }
    const auto control = [](const IbFlowControl& f) {
        std::vector<uint8_t> r(kErfFlowControlBytes);
        PutErfFlowControl(r.data(), TimePoint(1500000000000LL), f, 1);
        return r;
    };
    // The last two bits of FCTBS stand where a data packet says what follows its LRH.
    const auto lines = Dissected(kLinkTypeErf,
                                 {control({IbFlowControlOp::kInit, 0, 0, 128}),
                                  Record(Encoded(Example(RoceOpcode::kWriteMiddle, 256))),
                                  control({IbFlowControlOp::kNormal, 2, 4095, 77}),
                                  control({IbFlowControlOp::kNormal, 7, 4094, 4095}),
                                  control({IbFlowControlOp::kNormal, 7, 4093, 0})},
                                 {"_ws.malformed",
                                  "frame.time_epoch",
                                  "erf.wlen",
                                  "erf.flags.cap",
                                  "infiniband_link.op",
                                  "infiniband_link.fctbs",
                                  "infiniband_link.vl",
                                  "infiniband_link.fccl",
                                  "infiniband.bth.opcode"});
    const std::vector<std::string> expected = {"|T|48|1|1|0|0|128|",
                                               "|T|282|1|||||7",
                                               "|T|48|1|0|4095|2|77|",
                                               "|T|48|1|0|4094|7|4095|",
                                               "|T|48|1|0|4093|7|0|"};
    ASSERT_EQ(lines.size(), expected.size());
    for (size_t i = 0; i < lines.size(); ++i)
    {
        std::string line = lines[i];
        // The time of the file's own record header, 1 s and i us, or that of the ERF header:
        // versions differ.
        const size_t begin = line.find('|') + 1;
        line.replace(begin, line.find('|', begin) - begin, "T");
        EXPECT_EQ(line, expected[i]);
    }
    // 1.5 s: 0x1.8 in 2^-32 s, least significant byte first
    const auto header = control({});
    EXPECT_EQ(std::vector<uint8_t>(header.begin(), header.begin() + 16),
              FromHex("00 00 00 80 01 00 00 00 19 05 0040 0000 0030"));
}
