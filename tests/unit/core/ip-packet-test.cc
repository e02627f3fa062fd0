/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What switches read of ordinary packets, and ECN's mark.
 */
#include "contrib/rdma/core/ip-packet.h"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

using namespace rdma;

namespace
{

using Bytes = std::vector<uint8_t>;

/// RFC 1071 over a header, written anew: add all words with the carry put back each time.
uint16_t
SumOfWords(const uint8_t* at, std::size_t size)
{
    uint32_t sum = 0;
    for (std::size_t i = 0; i < size; i += 2)
    {
        sum += static_cast<uint32_t>(at[i] << 8 | at[i + 1]);
        sum = sum > 0xffff ? sum - 0xffff : sum;
    }
    return static_cast<uint16_t>(sum);
}

Bytes
Ipv4(uint8_t words, uint8_t tos, uint8_t protocol, std::mt19937& random)
{
    Bytes packet(4U * words + 40);
    for (uint8_t& byte : packet)
    {
        byte = static_cast<uint8_t>(random());
    }
    packet[0] = static_cast<uint8_t>(0x40 | words);
    packet[1] = tos;
    packet[6] = 0x40; // don't fragment
    packet[7] = 0;
    packet[9] = protocol;
    packet[10] = packet[11] = 0;
    const auto sum = static_cast<uint16_t>(~SumOfWords(packet.data(), 4U * words));
    packet[10] = static_cast<uint8_t>(sum >> 8);
    packet[11] = static_cast<uint8_t>(sum);
    return packet;
}

TEST(IpPacketTest, AMarkedHeaderHasARightChecksumIfItHadOne)
{
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i)
    {
        const auto words = static_cast<uint8_t>(5 + i % 11);
        const auto tos = static_cast<uint8_t>(random());
        Bytes packet = Ipv4(words, tos, 6, random);
        const Bytes before = packet;
        ASSERT_EQ(MarkIpCe(kEtherTypeIpv4, packet.data(), packet.size()), 4U * words);
        EXPECT_EQ(packet[1], tos | 3);
        EXPECT_EQ(SumOfWords(packet.data(), 4U * words), 0xffff);
        for (std::size_t at = 0; at < packet.size(); ++at)
        {
            if (at != 1 && at != 10 && at != 11)
            {
                EXPECT_EQ(packet[at], before[at]);
            }
        }
        // A wrong one stays wrong, by as much: nobody has repaired it.
        packet = before;
        packet[11] ^= 1;
        MarkIpCe(kEtherTypeIpv4, packet.data(), packet.size());
        EXPECT_EQ(packet[10], before[10]);
        EXPECT_EQ(packet[11], before[11] ^ 1);
    }
}

TEST(IpPacketTest, NoChecksumStaysNone)
{
    std::mt19937 random(2);
    Bytes packet = Ipv4(5, 2, 17, random);
    packet[10] = packet[11] = 0;
    ASSERT_NE(SumOfWords(packet.data(), 20), 0xffff);
    MarkIpCe(kEtherTypeIpv4, packet.data(), packet.size());
    EXPECT_EQ(packet[10], 0);
    EXPECT_EQ(packet[11], 0);
    EXPECT_EQ(packet[1], 3);
}

TEST(IpPacketTest, FieldsOfIpv4)
{
    std::mt19937 random(3);
    for (const uint8_t words : {5, 6, 15})
    {
        for (unsigned tos = 0; tos < 256; ++tos)
        {
            const Bytes packet = Ipv4(words, static_cast<uint8_t>(tos), 17, random);
            const IpFields fields = ReadIp(kEtherTypeIpv4, packet.data(), packet.size());
            EXPECT_TRUE(fields.isIp);
            EXPECT_EQ(fields.dscp, tos >> 2);
            EXPECT_EQ(fields.ecn, tos & 3);
        }
    }
}

/// The 5-tuple makes the hash, and nothing else does.
TEST(IpPacketTest, TheHashIsOfTheFiveTuple)
{
    std::mt19937 random(4);
    for (const uint8_t words : {5, 8})
    {
        const std::size_t ports = 4U * words;
        const Bytes packet = Ipv4(words, 0, 6, random);
        const uint32_t hash = ReadIp(kEtherTypeIpv4, packet.data(), packet.size()).hash;
        const std::set<std::size_t> tuple =
            {9, 12, 13, 14, 15, 16, 17, 18, 19, ports, ports + 1, ports + 2, ports + 3};
        for (std::size_t at = 1; at < packet.size(); ++at)
        {
            Bytes other = packet;
            // Bit 4: 6, TCP, becomes 22, which has no ports; of the flags a reserved bit.
            other[at] ^= at == 6 ? 0x80 : 0x10;
            if (at == 7)
            {
                continue; // an offset: below
            }
            const uint32_t now = ReadIp(kEtherTypeIpv4, other.data(), other.size()).hash;
            EXPECT_EQ(now != hash, tuple.count(at) == 1) << "byte " << at;
        }
    }
}

TEST(IpPacketTest, FragmentsOfAPacketGoOneWay)
{
    std::mt19937 random(5);
    Bytes first = Ipv4(5, 0, 17, random);
    first[6] = 0x20; // more fragments
    Bytes last = first;
    last[6] = 0;
    last[7] = 185; // 8 B each
    std::fill(last.begin() + 20, last.end(), 0x55);
    EXPECT_EQ(ReadIp(kEtherTypeIpv4, first.data(), first.size()).hash,
              ReadIp(kEtherTypeIpv4, last.data(), last.size()).hash);
}

TEST(IpPacketTest, Ipv6)
{
    Bytes packet(64, 0);
    packet[0] = 0x60;
    for (std::size_t i = 8; i < 44; ++i)
    {
        packet[i] = static_cast<uint8_t>(i);
    }
    packet[6] = 6;
    for (unsigned traffic = 0; traffic < 256; ++traffic)
    {
        Bytes one = packet;
        one[0] = static_cast<uint8_t>(0x60 | traffic >> 4);
        one[1] = static_cast<uint8_t>(traffic << 4);
        const IpFields fields = ReadIp(kEtherTypeIpv6, one.data(), one.size());
        EXPECT_TRUE(fields.isIp);
        EXPECT_EQ(fields.dscp, traffic >> 2);
        EXPECT_EQ(fields.ecn, traffic & 3);
        EXPECT_EQ(MarkIpCe(kEtherTypeIpv6, one.data(), one.size()), 40U);
        EXPECT_EQ(ReadIp(kEtherTypeIpv6, one.data(), one.size()).ecn, 3);
        EXPECT_EQ(ReadIp(kEtherTypeIpv6, one.data(), one.size()).dscp, traffic >> 2);
    }
    std::set<uint32_t> hashes{ReadIp(kEtherTypeIpv6, packet.data(), packet.size()).hash};
    for (std::size_t at = 8; at < 44; ++at)
    {
        Bytes other = packet;
        other[at] ^= 1;
        hashes.insert(ReadIp(kEtherTypeIpv6, other.data(), other.size()).hash);
    }
    EXPECT_EQ(hashes.size(), 37U); // both addresses and both ports, each bit
}

/// Whatever comes, nothing is read behind its end (ASan), and what is no IP is none.
TEST(IpPacketTest, WhatIsNoIp)
{
    std::mt19937 random(6);
    for (int i = 0; i < 20000; ++i)
    {
        Bytes packet(random() % 70);
        for (uint8_t& byte : packet)
        {
            byte = static_cast<uint8_t>(random());
        }
        const uint16_t type = std::array<uint16_t, 4>{kEtherTypeIpv4,
                                                      kEtherTypeIpv6,
                                                      kEtherTypeArp,
                                                      0x88b5}[random() % 4];
        const IpFields fields = ReadIp(type, packet.data(), packet.size());
        const Bytes before = packet;
        const std::size_t header = MarkIpCe(type, packet.data(), packet.size());
        EXPECT_EQ(fields.isIp, header > 0);
        EXPECT_LE(header, packet.size());
        if (!fields.isIp)
        {
            EXPECT_EQ(packet, before);
            EXPECT_EQ(fields.hash, 0U);
        }
    }
}

} // namespace
