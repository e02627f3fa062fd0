/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The CRC; the ICRC of whole packets is tested with the frames (roce-wire-test.cc).
 */
#include "contrib/rdma/core/icrc.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

using namespace rdma;

namespace
{

/// The definition: one bit at a time, no table.
uint32_t
BitwiseCrc(const std::vector<uint8_t>& data)
{
    uint32_t crc = 0xffffffffU;
    for (const uint8_t byte : data)
    {
        for (int bit = 0; bit < 8; ++bit)
        {
            const uint32_t out = (crc ^ (static_cast<uint32_t>(byte) >> bit)) & 1;
            crc = (crc >> 1) ^ (out ? 0xEDB88320U : 0);
        }
    }
    return ~crc;
}

} // namespace

TEST(Crc32, CheckValueOfTheStandard)
{
    // The published check value of CRC-32/ISO-HDLC.
    const std::string digits = "123456789";
    Crc32 crc;
    crc.Add(reinterpret_cast<const uint8_t*>(digits.data()), digits.size());
    EXPECT_EQ(crc.Value(), 0xCBF43926U);
    EXPECT_EQ(Crc32().Value(), 0u);
}

TEST(Crc32, EqualsTheBitwiseDefinitionHoweverItIsCut)
{
    std::mt19937 random(1);
    for (int i = 0; i < 500; ++i)
    {
        std::vector<uint8_t> data(random() % 300);
        for (auto& byte : data)
        {
            byte = static_cast<uint8_t>(random());
        }
        const size_t cut = data.empty() ? 0 : random() % data.size();
        Crc32 crc;
        crc.Add(data.data(), cut);
        crc.Add(data.data() + cut, data.size() - cut);
        ASSERT_EQ(crc.Value(), BitwiseCrc(data)) << "step " << i;
    }
}
