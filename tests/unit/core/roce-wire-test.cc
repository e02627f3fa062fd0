/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Frames as bytes: against captures of real adapters, against a CRC computed bit by bit, and read
 * by tshark.
 */
#include "contrib/rdma/core/icrc.h"
#include "contrib/rdma/core/roce-wire.h"
#include "wire-tools.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace rdma;

namespace
{

std::vector<uint8_t>
Encoded(const RoceFields& f)
{
    std::vector<uint8_t> bytes(EncodedRoceBytes(f.opcode, f.payload));
    EXPECT_EQ(EncodeRoce(f, bytes.data(), bytes.size()), bytes.size());
    return bytes;
}

std::vector<uint8_t>
Encoded(const PfcFields& f)
{
    std::vector<uint8_t> bytes(kEncodedPfcBytes);
    EXPECT_EQ(EncodePfc(f, bytes.data(), bytes.size()), bytes.size());
    return bytes;
}

/// The ICRC by the specification's list of masked fields, from a whole frame (Ethernet header to
/// padding).
uint32_t
BitwiseIcrc(const std::vector<uint8_t>& frameWithoutIcrc)
{
    std::vector<uint8_t> image(8, 0xff);
    for (size_t i = 14; i < frameWithoutIcrc.size(); ++i)
    {
        // Offsets from the IPv4 header: ToS, TTL, header checksum; UDP checksum; FECN, BECN and
        // reserved of the BTH.
        const size_t at = i - 14;
        const bool varies =
            at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27 || at == 32;
        image.push_back(varies ? 0xff : frameWithoutIcrc[i]);
    }
    return BitwiseCrc(image, 32, 0x04C11DB7);
}

uint32_t
TrailingIcrc(const std::vector<uint8_t>& frame)
{
    const size_t n = frame.size();
    return frame[n - 4] | static_cast<uint32_t>(frame[n - 3]) << 8 |
           static_cast<uint32_t>(frame[n - 2]) << 16 | static_cast<uint32_t>(frame[n - 1]) << 24;
}

struct Interface
{
    MacAddress mac;
    uint32_t ip;
};

/// With ECT(0).
RoceFields
Between(const Interface& from, const Interface& to, uint8_t dscp)
{
    RoceFields f;
    f.destinationMac = to.mac;
    f.sourceMac = from.mac;
    f.sourceIp = from.ip;
    f.destinationIp = to.ip;
    f.dscp = dscp;
    f.ecn = 2;
    return f;
}

RoceFields
Example(RoceOpcode opcode, uint32_t payload)
{
    RoceFields f =
        Between({{0x02, 0, 0, 0, 0, 1}, 0x0a000001}, {{0x02, 0, 0, 0, 0, 2}, 0x0a000102}, 26);
    f.sourcePort = 0xc123;
    f.syndrome = AckSyndrome();
    FillTransport(f, opcode, payload);
    return f;
}

} // namespace

// A CNP captured on a ConnectX-4 Lx, as printed in the test suite of scapy (test/contrib/roce.uts).
TEST(RoceWire, ReproducesACapturedCnpToTheByte)
{
    const auto captured = FromHex("e41d 2dab 2bc2 7cfe 9064 3b32 0800 45c2 "
                                  "003c 718c 4000 4011 9161 0a00 1101 0a00 "
                                  "1201 0000 12b7 0028 0000 8100 ffff 4000 "
                                  "0118 0000 0000 0000 0000 0000 0000 0000 "
                                  "0000 0000 0000 82fd 002a");
    RoceFields f = Between({{0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32}, 0x0a001101},
                           {{0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2}, 0x0a001201},
                           48);
    f.identification = 0x718c;
    f.sourcePort = 0;
    f.opcode = RoceOpcode::kCnp;
    f.destinationQueuePair = 0x000118;
    EXPECT_EQ(Encoded(f), captured);
}

// An unreliable-connected SEND from the same suite: another opcode, padding, a UDP checksum, ICRC
// 78 f3 53 f3.
TEST(RoceWire, IcrcOfAPublishedSend)
{
    const auto packet =
        FromHex("4501 0040 0478 4000 4011 b4d5 c0a8 0007 c0a8 0007 c000 12b7 002c aca2 "
                "2460 ffff 0000 00d3 00cf 1710 4630 818b e289 35d9 0e9a 9550 5401 be88 5e50 0000");
    const uint32_t icrc = RoceIcrc(packet.data(), packet.size());
    EXPECT_EQ(icrc & 0xff, 0x78u);
    EXPECT_EQ(icrc >> 8 & 0xff, 0xf3u);
    EXPECT_EQ(icrc >> 16 & 0xff, 0x53u);
    EXPECT_EQ(icrc >> 24, 0xf3u);
}

TEST(RoceWire, FieldsStandWhereTheStandardsPutThem)
{
    const auto frame = Encoded(Example(RoceOpcode::kWriteOnlyWithImmediate, 5));
    ASSERT_EQ(frame.size(), 14u + 20 + 8 + 12 + 16 + 4 + 8 + 4);
    const auto expected =
        FromHex("020000000002 020000000001 0800"
                // IPv4: length 20 + 8 + 12 + 16 + 4 + 8 + 4 = 72; DSCP 26 and ECT(0): 0x6a
                " 45 6a 0048 0000 4000 40 11 0000 0a000001 0a000102"
                " c123 12b7 0034 0000"
                // BTH: migrated, 3 bytes of padding; the A bit
                " 0b 70 ffff 00 000456 80 fffffe"
                " 0123456789abcdef cafe0001 80000000 11223344"
                " 00 01 02 03 04 00 00 00");
    for (size_t i = 0; i < expected.size(); ++i)
    {
        if (i != 24 && i != 25) // the IPv4 checksum has a test of its own
        {
            EXPECT_EQ(frame[i], expected[i]) << "byte " << i;
        }
    }
    // An IPv4 header with its checksum in place sums to all ones.
    uint32_t sum = 0;
    for (size_t i = 14; i < 34; i += 2)
    {
        sum += static_cast<uint32_t>(frame[i]) << 8 | frame[i + 1];
    }
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);

    auto ack = Example(RoceOpcode::kAcknowledge, 0);
    ack.syndrome = NakSyndrome(kNakPsnSequenceError);
    const auto nak = Encoded(ack);
    EXPECT_EQ(nak.size() + 4, kAckFrameBytes.value);
    EXPECT_EQ(nak[14 + 20 + 8 + 12], 0x60);
    EXPECT_EQ(AckSyndrome(), 0x1f);
    EXPECT_EQ(RnrNakSyndrome(1), 0x21);
}

TEST(RoceWire, IcrcEqualsAnIndependentComputation)
{
    std::mt19937_64 random(1);
    const RoceOpcode opcodes[] = {RoceOpcode::kWriteFirst,
                                  RoceOpcode::kWriteMiddle,
                                  RoceOpcode::kWriteLast,
                                  RoceOpcode::kWriteLastWithImmediate,
                                  RoceOpcode::kWriteOnly,
                                  RoceOpcode::kWriteOnlyWithImmediate,
                                  RoceOpcode::kAcknowledge,
                                  RoceOpcode::kCnp};
    for (int i = 0; i < 400; ++i)
    {
        const RoceOpcode opcode = opcodes[i % 8];
        RoceFields f = Example(opcode, i % 8 < 6 ? static_cast<uint32_t>(random() % 4097) : 0);
        f.sourceIp = static_cast<uint32_t>(random());
        f.destinationIp = static_cast<uint32_t>(random());
        f.dscp = random() % 64;
        f.ttl = static_cast<uint8_t>(random());
        f.psn = random() & 0xffffff;
        f.destinationQueuePair = random() & 0xffffff;
        auto frame = Encoded(f);
        ASSERT_EQ(frame.size() + 4, FrameBytes(opcode, f.payload).value);
        const uint32_t icrc = TrailingIcrc(frame);
        frame.resize(frame.size() - 4);
        ASSERT_EQ(icrc, BitwiseIcrc(frame));
        // What routers and switches change on the way changes nothing.
        f.ttl -= 1;
        f.ecn = 3;
        f.dscp ^= 1;
        ASSERT_EQ(TrailingIcrc(Encoded(f)), icrc);
        f.psn ^= 1;
        ASSERT_NE(TrailingIcrc(Encoded(f)), icrc);
    }
}

TEST(RoceWire, PfcFrame)
{
    PfcFields f;
    f.sourceMac = {2, 0, 0, 0, 0, 9};
    f.classEnable = 0x08;
    f.quanta[3] = 0xffff;
    auto expected =
        FromHex("0180c2000001 020000000009 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000");
    expected.resize(60);
    EXPECT_EQ(Encoded(f), expected);
    std::vector<uint8_t> small(59);
    EXPECT_THROW(EncodePfc(f, small.data(), small.size()), std::length_error);
}

TEST(RoceWire, NeverWritesBeyondTheBuffer)
{
    const auto f = Example(RoceOpcode::kWriteFirst, 4096);
    std::vector<uint8_t> buffer(EncodedRoceBytes(f.opcode, f.payload));
    EXPECT_THROW(EncodeRoce(f, buffer.data(), buffer.size() - 1), std::length_error);
    EXPECT_NO_THROW(EncodeRoce(f, buffer.data(), buffer.size()));
    EXPECT_THROW(EncodeRoce(Example(RoceOpcode::kWriteFirst, 70000), buffer.data(), 1 << 20),
                 std::length_error);
}

// What tshark makes of them. Its output: one line a frame, fields separated by '|'.
TEST(RoceWire, TsharkDissectsEveryFrame)
{
    if (std::system("command -v tshark > /dev/null 2>&1") != 0)
    {
        GTEST_SKIP() << "tshark is not installed";
    }
    std::vector<std::vector<uint8_t>> frames;
    std::vector<std::string> expected;
    const auto write = [&](RoceOpcode opcode, uint32_t payload, const std::string& line) {
        frames.push_back(Encoded(Example(opcode, payload)));
        expected.push_back(line);
    };
    // tshark prints an immediate twice, once as a number. The fields after the head:
    // opcode | PSN | destination QP | A | pad | VA | rkey | DMA length | immediate | syndrome
    // opcode | error | MSN
    const std::string common = "|16777214|0x000456|1|";
    const std::string reth = "|0x0123456789abcdef|0xcafe0001|2147483648|";
    write(RoceOpcode::kWriteFirst, 4096, "6" + common + "0" + reth + "|||");
    write(RoceOpcode::kWriteMiddle, 4096, "7" + common + "0|||||||");
    write(RoceOpcode::kWriteLast, 1, "8" + common + "3|||||||");
    write(RoceOpcode::kWriteLastWithImmediate, 2, "9" + common + "2||||11223344,11223344|||");
    write(RoceOpcode::kWriteOnly, 4096, "10" + common + "0" + reth + "|||");
    write(RoceOpcode::kWriteOnly, 0, "10" + common + "0" + reth + "|||");
    write(RoceOpcode::kWriteOnlyWithImmediate,
          3,
          "11" + common + "1" + reth + "11223344,11223344|||");
    write(RoceOpcode::kAcknowledge, 0, "17" + common + "0|||||0||66051");
    RoceFields nak = Example(RoceOpcode::kAcknowledge, 0);
    nak.syndrome = NakSyndrome(kNakPsnSequenceError);
    frames.push_back(Encoded(nak));
    expected.push_back("17" + common + "0|||||3|0|66051");
    RoceFields cnp = Example(RoceOpcode::kCnp, 0);
    cnp.ackRequest = false;
    cnp.psn = 0;
    frames.push_back(Encoded(cnp));
    expected.push_back("129|0|0x000456|0|0|||||||");
    PfcFields pause;
    pause.sourceMac = {2, 0, 0, 0, 0, 9};
    pause.classEnable = 0x08;
    pause.quanta[3] = 0xffff;
    frames.push_back(Encoded(pause));
    expected.push_back("|||||||||||");

    const std::vector<std::string> fields = {"frame.protocols",
                                             "ip.checksum.status",
                                             "_ws.malformed",
                                             "_ws.expert.message",
                                             "macc.opcode",
                                             "macc.cbfc.pause_time.c3",
                                             "infiniband.bth.opcode",
                                             "infiniband.bth.psn",
                                             "infiniband.bth.destqp",
                                             "infiniband.bth.a",
                                             "infiniband.bth.padcnt",
                                             "infiniband.reth.va",
                                             "infiniband.reth.r_key",
                                             "infiniband.reth.dmalen",
                                             "infiniband.immdt",
                                             "infiniband.aeth.syndrome.opcode",
                                             "infiniband.aeth.syndrome.error_code",
                                             "infiniband.aeth.msn"};
    const auto lines = Dissected(1, frames, fields, "-o ip.check_checksum:TRUE"); // Ethernet
    ASSERT_EQ(lines.size(), expected.size());
    for (size_t at = 0; at < lines.size(); ++at)
    {
        const std::string& line = lines[at];
        const bool mac = at + 1 == expected.size();
        const std::string head = mac ? "eth:ethertype:macc||||0x0101|65535|" : "";
        SCOPED_TRACE(line);
        if (mac)
        {
            EXPECT_EQ(line, head + expected[at]);
            continue;
        }
        EXPECT_EQ(line.rfind("eth:ethertype:ip:udp:infiniband", 0), 0u); // possibly ":data"
        EXPECT_EQ(line.substr(line.find('|')), "|1|||||" + expected[at]);
    }
}
