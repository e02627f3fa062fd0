/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the tests of packets as bytes have in common: bytes from text, CRCs bit by bit, and tshark.
 */
#ifndef TESTS_UNIT_CORE_WIRE_TOOLS_H
#define TESTS_UNIT_CORE_WIRE_TOOLS_H

#include "contrib/rdma/core/roce-wire.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

/// The fields of a transport packet that RoCEv2 and InfiniBand both have, each with a value that
/// tells its bytes apart.
template <class Fields>
void
FillTransport(Fields& f, rdma::RoceOpcode opcode, uint32_t payload)
{
    f.opcode = opcode;
    f.ackRequest = true;
    f.destinationQueuePair = 0x000456;
    f.psn = 0xfffffe;
    f.virtualAddress = 0x0123456789abcdefULL;
    f.remoteKey = 0xcafe0001;
    f.dmaLength = 0x80000000U;
    f.immediate = 0x11223344;
    f.msn = 0x010203;
    f.payload = payload;
}

inline std::vector<uint8_t>
FromHex(const std::string& text)
{
    std::vector<uint8_t> bytes;
    std::string digits;
    for (const char c : text)
    {
        if (c != ' ')
        {
            digits += c;
        }
        if (digits.size() == 2)
        {
            bytes.push_back(static_cast<uint8_t>(std::stoul(digits, nullptr, 16)));
            digits.clear();
        }
    }
    return bytes;
}

/// Remainder of the message times x^width, most significant bit of the register first, bits of a
/// byte from the least significant one on; all ones before, inverted after, its first bit the least
/// significant one of the result.
inline uint32_t
BitwiseCrc(const std::vector<uint8_t>& data, int width, uint32_t polynomial)
{
    const uint64_t top = 1ULL << (width - 1);
    const uint64_t all = (top << 1) - 1;
    uint64_t remainder = all;
    for (const uint8_t byte : data)
    {
        for (int bit = 0; bit < 8; ++bit)
        {
            const bool out = ((remainder & top) != 0) != ((byte >> bit & 1) != 0);
            remainder = (remainder << 1 & all) ^ (out ? polynomial : 0);
        }
    }
    uint32_t reflected = 0;
    for (int bit = 0; bit < width; ++bit)
    {
        reflected |= static_cast<uint32_t>(remainder >> bit & 1) << (width - 1 - bit);
    }
    return ~reflected & static_cast<uint32_t>(all);
}

/// Writes the records as a pcap file of a link type and returns what tshark makes of the fields, a
/// line a record.
inline std::vector<std::string>
Dissected(uint32_t linkType,
          const std::vector<std::vector<uint8_t>>& records,
          const std::vector<std::string>& fields,
          const std::string& options = "")
{
    const std::string name = "/tmp/wire-test-" + std::to_string(getpid());
    std::ofstream pcap(name + ".pcap", std::ios::binary);
    const auto put = [&](uint32_t value) { pcap.write(reinterpret_cast<const char*>(&value), 4); };
    put(0xa1b2c3d4); // microseconds, host byte order
    put(2 | 4 << 16);
    put(0);
    put(0);
    put(65535);
    put(linkType);
    for (size_t i = 0; i < records.size(); ++i)
    {
        put(1);
        put(static_cast<uint32_t>(i));
        put(static_cast<uint32_t>(records[i].size()));
        put(static_cast<uint32_t>(records[i].size()));
        pcap.write(reinterpret_cast<const char*>(records[i].data()),
                   static_cast<std::streamsize>(records[i].size()));
    }
    pcap.close();
    std::string command =
        "tshark -n -r " + name + ".pcap " + options + " -T fields -E separator='|'";
    for (const std::string& field : fields)
    {
        command += " -e " + field;
    }
    EXPECT_EQ(std::system((command + " > " + name + ".txt 2> " + name + ".err").c_str()), 0);
    std::vector<std::string> lines;
    std::ifstream in(name + ".txt");
    for (std::string line; std::getline(in, line);)
    {
        lines.push_back(line);
    }
    for (const char* suffix : {".pcap", ".txt", ".err"})
    {
        std::remove((name + suffix).c_str());
    }
    return lines;
}

#endif // TESTS_UNIT_CORE_WIRE_TOOLS_H
