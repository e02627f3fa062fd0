/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/unit-strings.h"
#include "contrib/rdma/core/units.h"

#include <gtest/gtest.h>
#include <random>

using namespace rdma;

TEST(Units, Arithmetic)
{
    EXPECT_EQ(Bytes(3) + Bytes(4), Bytes(7));
    EXPECT_EQ(Bytes(3) * 4, Bytes(12));
    Bytes b(1ULL << 40);
    b += Bytes(1);
    EXPECT_EQ(b, Bytes((1ULL << 40) + 1));
    b -= Bytes(1ULL << 40);
    EXPECT_EQ(b, Bytes(1));
    EXPECT_EQ(Gbps(100), BitRate(100000000000ULL));
    EXPECT_EQ(Microseconds(1), Nanoseconds(1000));
    EXPECT_EQ(Milliseconds(1), Microseconds(1000));
    EXPECT_EQ(Nanoseconds(1), Picoseconds(1000));
    EXPECT_EQ(TimePoint(5) + Duration(7) - TimePoint(2), Duration(10));
    EXPECT_EQ(Duration(7) * -2, Duration(-14));
    EXPECT_EQ(FromSeconds(1.5e-12), Duration(2)); // to the nearest, half away from zero
    EXPECT_EQ(FromSeconds(86400), Duration(86400LL * 1000000000000LL));
    EXPECT_DOUBLE_EQ(Microseconds(3).Us(), 3);
    EXPECT_DOUBLE_EQ(Microseconds(3).Seconds(), 3e-6);
}

TEST(Units, SerializationByHand)
{
    EXPECT_EQ(SerializationTime(Bytes(64), Gbps(400)), Picoseconds(1280));
    EXPECT_EQ(SerializationTime(Bytes(4096), Gbps(100)), Picoseconds(327680));
    EXPECT_EQ(SerializationTime(Bytes(0), Gbps(100)), Duration(0));
    // FDR: 4096 * 8 / 54.54 Gb/s = 600806.7473 ps.
    EXPECT_EQ(SerializationTime(Bytes(4096), BitRate(54540000000ULL)), Picoseconds(600807));
    // 100 Tb/s: a byte is 0.08 ps. 84 B are 6.72 ps, 4178 B 334.24 ps.
    EXPECT_EQ(SerializationTime(Bytes(84), Gbps(100000)), Picoseconds(7));
    EXPECT_EQ(SerializationTime(Bytes(4178), Gbps(100000)), Picoseconds(334));
    EXPECT_EQ(SerializationTime(Bytes(1), Gbps(100000)), Duration(0));
    // Half up: 1 B at 16 Tb/s is 0.5 ps.
    EXPECT_EQ(SerializationTime(Bytes(1), Gbps(16000)), Picoseconds(1));
    EXPECT_EQ(SerializationTime(Bytes(1), BitRate(16000000000001ULL)), Picoseconds(0));
    // A terabyte at 1 Gb/s, about 2.4 h, does not overflow on the way.
    EXPECT_EQ(SerializationTime(Bytes(1ULL << 40), Gbps(1)), Duration(8796093022208LL * 1000));
}

TEST(Units, SerializationIsTheNearestPicosecond)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; ++i)
    {
        const uint64_t bytes = random() % 10000;
        const uint64_t rate = 1 + random() % 100000000000000ULL;
        const auto ps =
            static_cast<unsigned __int128>(SerializationTime(Bytes(bytes), BitRate(rate)).ps);
        const unsigned __int128 exact =
            static_cast<unsigned __int128>(bytes) * 8 * 1000000000000ULL; // times the rate
        // |ps - exact / rate| <= 1/2, the upper half open
        ASSERT_LE(2 * ps * rate, 2 * exact + rate);
        ASSERT_GT(2 * ps * rate + rate, 2 * exact);
    }
}

TEST(Units, ParsesSizes)
{
    EXPECT_EQ(ParseBytes("4096"), Bytes(4096));
    EXPECT_EQ(ParseBytes("4096B"), Bytes(4096));
    EXPECT_EQ(ParseBytes("40MB"), Bytes(40000000));
    EXPECT_EQ(ParseBytes("25MiB"), Bytes(25ULL << 20));
    EXPECT_EQ(ParseBytes("1M"), Bytes(1ULL << 20));
    EXPECT_EQ(ParseBytes("1.5K"), Bytes(1536));
    EXPECT_EQ(ParseBytes(" 2 GiB "), Bytes(2ULL << 30));
    EXPECT_EQ(ParseBytes("1TB"), Bytes(1000000000000ULL));
    EXPECT_EQ(ParseBytes("5e8"), Bytes(500000000));
    EXPECT_EQ(ParseBytes("0"), Bytes(0));
    // As nccl-tests reads them: K, M and G in either case are powers of two.
    EXPECT_EQ(ParseBytes("1k"), Bytes(1ULL << 10));
    EXPECT_EQ(ParseBytes("2.5m"), Bytes(5ULL << 19));
    EXPECT_EQ(ParseBytes("1g"), Bytes(1ULL << 30));
    EXPECT_EQ(ParseBytes("1t"), Bytes(1ULL << 40));
    // Decimal fractions of decimal units, which no binary number is.
    EXPECT_EQ(ParseBytes("2.3MB"), Bytes(2300000));
    EXPECT_EQ(ParseBytes("0.1GB"), Bytes(100000000));
    EXPECT_EQ(ParseBytes("9007.199254740993TB"), Bytes(9007199254740993ULL)); // 2^53 + 1
    for (const char* bad :
         {"",     " ",    "MB",  "-1",   "-1MB", "1Mb",    "1mb",      "0x10",     "inf",   "nan",
          "1e30", "1,5K", "1.5", "1e-7", "0.1K", "1e-400", "1e-400GB", "0.0001kB", "1MB x", "1 2"})
    {
        EXPECT_FALSE(ParseBytes(bad)) << "'" << bad << "'";
    }
}

TEST(Units, ParsesRates)
{
    EXPECT_EQ(ParseBitRate("100Gbps"), Gbps(100));
    EXPECT_EQ(ParseBitRate("25Gb/s"), Gbps(25));
    EXPECT_EQ(ParseBitRate("400G"), Gbps(400));
    EXPECT_EQ(ParseBitRate("54.54Gbps"), BitRate(54540000000ULL));
    EXPECT_EQ(ParseBitRate("1e11bps"), Gbps(100));
    EXPECT_EQ(ParseBitRate("100Tbps"), Gbps(100000));
    EXPECT_EQ(ParseBitRate("50GB/s"), Gbps(400)); // bytes
    EXPECT_EQ(ParseBitRate("50GBps"), Gbps(400));
    EXPECT_EQ(ParseBitRate("0Gbps"), BitRate(0));
    for (const char* bad : {"",
                            "100",
                            "Gbps",
                            "-1Gbps",
                            "100GB",
                            "100gbps",
                            "1e300Gbps",
                            "0.4bps",
                            "1e-400Gbps",
                            "1e-10Gbps"})
    {
        EXPECT_FALSE(ParseBitRate(bad)) << "'" << bad << "'";
    }
}

TEST(Units, ParsesTimes)
{
    EXPECT_EQ(ParseDuration("500ns"), Nanoseconds(500));
    EXPECT_EQ(ParseDuration("1us"), Microseconds(1));
    EXPECT_EQ(ParseDuration("2.5ms"), Microseconds(2500));
    EXPECT_EQ(ParseDuration("1s"), Milliseconds(1000));
    EXPECT_EQ(ParseDuration("10ps"), Picoseconds(10));
    EXPECT_EQ(ParseDuration("2 min"), Milliseconds(120000));
    EXPECT_EQ(ParseDuration("0"), Duration(0));
    for (const char* bad : {"",
                            "1",
                            "us",
                            "-1us",
                            "1 sec",
                            "1US",
                            "107days",
                            "1e20s",
                            "3000h",
                            "0.4ps",
                            "1e-7us",
                            "1e-400s"})
    {
        EXPECT_FALSE(ParseDuration(bad)) << "'" << bad << "'";
    }
}

TEST(Units, PrintsForPeople)
{
    EXPECT_EQ(ToString(Bytes(0)), "0 B");
    EXPECT_EQ(ToString(Bytes(1023)), "1023 B");
    EXPECT_EQ(ToString(Bytes(4096)), "4 KiB");
    EXPECT_EQ(ToString(Bytes(25ULL << 20)), "25 MiB");
    EXPECT_EQ(ToString(Bytes(3ULL << 40)), "3 TiB");
    EXPECT_EQ(ToString(Gbps(100)), "100 Gb/s");
    EXPECT_EQ(ToString(Gbps(100000)), "100 Tb/s");
    EXPECT_EQ(ToString(BitRate(54540000000ULL)), "54.54 Gb/s");
    EXPECT_EQ(ToString(Microseconds(1500)), "1.5 ms");
    EXPECT_EQ(ToString(Picoseconds(1280)), "1.28 ns");
    EXPECT_EQ(ToString(Duration(0)), "0 ps");
    EXPECT_EQ(ToString(Microseconds(-2)), "-2 us");
}

TEST(Units, PrintedQuantitiesParseBack)
{
    EXPECT_EQ(ParseBytes(ToString(Bytes(25ULL << 20))), Bytes(25ULL << 20));
    EXPECT_EQ(ParseBitRate(ToString(BitRate(54540000000ULL))), BitRate(54540000000ULL));
    EXPECT_EQ(ParseDuration(ToString(Nanoseconds(500))), Nanoseconds(500));
}
