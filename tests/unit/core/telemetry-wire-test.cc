/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Telemetry as bytes: the widths and units of HPCC's ns-3 code (int-header.h).
 */
#include "contrib/rdma/core/roce-wire.h"
#include "contrib/rdma/core/telemetry-wire.h"

#include <array>
#include <gtest/gtest.h>

namespace rdma
{
namespace
{

// 100 Gb/s is 2; 1,000,123 ns; 1,280,100 B are 10,000 units of 128 B and a rest; 8,079 B are 100
// units of 80 B and a rest.
TEST(TelemetryWord, HasTheFieldsOfAHop)
{
    const uint64_t word = TelemetryWord({1000123456, 1280100, 8079, 100000000000});
    EXPECT_EQ(word >> 61, 2U);
    EXPECT_EQ(word >> 37 & 0xffffff, 1000123U);
    EXPECT_EQ(word >> 17 & 0xfffff, 10000U);
    EXPECT_EQ(word & 0x1ffff, 100U);
}

// 2^24 ns and 2^20 units of 128 B later the numbers begin again; a queue is as long as it can be.
TEST(TelemetryWord, WrapsAround)
{
    const uint64_t word =
        TelemetryWord({(int64_t{1} << 24) * 1000 + 5000, 128UL << 20, 1UL << 40, 123});
    EXPECT_EQ(word >> 61, 7U);
    EXPECT_EQ(word >> 37 & 0xffffff, 5U);
    EXPECT_EQ(word >> 17 & 0xfffff, 0U);
    EXPECT_EQ(word & 0x1ffff, 0x1ffffU);
}

TEST(PutTelemetry, WritesFiveHopsAndTheirNumber)
{
    std::array<TelemetryHop, 8> hops{};
    for (size_t i = 0; i < hops.size(); ++i)
    {
        hops[i] = {static_cast<int64_t>(i) * 1000, 0, 0, 25000000000};
    }
    std::array<uint8_t, kHpccTelemetryBytes> bytes{};
    PutTelemetry(hops.data(), 2, bytes.data());
    EXPECT_EQ(bytes[8 + 3], 1 << 5); // bit 37 is bit 5 of the fourth byte
    EXPECT_EQ(bytes[16 + 3], 0);
    EXPECT_EQ(bytes[41], 2);
    PutTelemetry(hops.data(), hops.size(), bytes.data());
    EXPECT_EQ(bytes[41], 5); // the header has room for no more
    EXPECT_EQ(bytes[40], 0);
}

// Behind payload and padding, before the ICRC, which covers it: lengths and checksums are those of
// the whole.
TEST(EncodeRoce, HasWhatACongestionControlAdds)
{
    const std::array<uint8_t, 3> trailer{0xaa, 0xbb, 0xcc};
    RoceFields f;
    f.opcode = RoceOpcode::kWriteMiddle;
    f.payload = 13; // and 3 of padding
    std::array<uint8_t, 256> plain{};
    std::array<uint8_t, 256> with{};
    const size_t before = EncodeRoce(f, plain.data(), plain.size());
    f.trailer = trailer.data();
    f.trailerBytes = trailer.size();
    const size_t length = EncodeRoce(f, with.data(), with.size());
    EXPECT_EQ(length, EncodedRoceBytes(f.opcode, f.payload, 3));
    EXPECT_EQ(length, before + 3);
    const size_t at = before - kIcrcBytes;
    EXPECT_EQ(with[at], 0xaa);
    EXPECT_EQ(with[at + 2], 0xcc);
    EXPECT_EQ(with[at - 1], 0); // padding
    const size_t ip = length - kEthernetHeaderBytes;
    EXPECT_EQ(with[kEthernetHeaderBytes + 2] << 8 | with[kEthernetHeaderBytes + 3], int(ip));
    const uint32_t icrc = RoceIcrc(with.data() + kEthernetHeaderBytes, ip - kIcrcBytes);
    EXPECT_EQ(with[length - 4], icrc & 0xff);
}

} // namespace
} // namespace rdma
