/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rates and times by hand from signalling rate and coding.
 */
#include "contrib/rdma/core/ib/ib-link.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace rdma;

TEST(IbLink, DataRatesOfFourLanes)
{
    // Gb/s: signalling x 4 x coding.
    const struct
    {
        const char* name;
        uint64_t bps;
    } expected[] = {
        {"SDR", 8000000000ULL},    // 10 x 8/10
        {"DDR", 16000000000ULL},   // 20 x 8/10
        {"QDR", 32000000000ULL},   // 40 x 8/10
        {"FDR10", 40000000000ULL}, // 41.25 x 64/66
        {"FDR", 54545454545ULL},   // 56.25 x 64/66 = 600/11 = 54.545454545 45...
        {"EDR", 100000000000ULL},  // 103.125 x 64/66
        {"HDR", 200000000000ULL},  // 212.5 x 16/17
        {"NDR", 400000000000ULL},
        {"XDR", 800000000000ULL},
    };

    ASSERT_EQ(std::size(expected), kIbGenerations.size());
    for (const auto& e : expected)
    {
        const auto link = ParseIbLink(e.name);
        ASSERT_TRUE(link) << e.name;
        EXPECT_EQ(link->width, 4);
        EXPECT_EQ(link->Rate().bps, e.bps) << e.name;
        EXPECT_STREQ(GenerationOf(link->speed).name, e.name);
    }
    // 600/11 exactly: 56.25e9 x 64 / 66 as a fraction.
    const IbExactRate fdr = IbLink{IbSpeed::kFdr, 4}.ExactRate();
    EXPECT_EQ(fdr.numerator * 11, fdr.denominator * 600000000000ULL);
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.SignallingRate().bps), 103125000000ULL);
}

TEST(IbLink, WidthsMultiply)
{
    for (const IbGeneration& g : kIbGenerations)
    {
        const IbExactRate lane = IbLink{g.speed, 1}.ExactRate();
        for (const uint8_t width : kIbWidths)
        {
            const IbExactRate r = IbLink{g.speed, width}.ExactRate();
            EXPECT_EQ(r.numerator, lane.numerator * width);
            EXPECT_EQ(r.denominator, lane.denominator);
        }
    }
    EXPECT_FALSE(IsIbWidth(0));
    EXPECT_FALSE(IsIbWidth(3));
    EXPECT_FALSE(IsIbWidth(16));
    EXPECT_EQ(ParseIbLink("SDR-12x")->Rate().bps, 24000000000ULL);
    EXPECT_EQ(ParseIbLink("HDR100")->Rate().bps, 100000000000ULL);
    EXPECT_EQ(ParseIbLink("NDR200")->Rate().bps, 200000000000ULL);
}

TEST(IbLink, SerializationIsExact)
{
    // 4,124 B of a 4,096 B packet with its delimiters on EDR 4x: 32,992 bits at 100 Gb/s.
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.SerializationTime(Bytes(4124)).ps), 329920);
    // On FDR 4x: 32,992 bits x 11 / 600 Gb/s = 604,853.33 ps.
    EXPECT_EQ((IbLink{IbSpeed::kFdr, 4}.SerializationTime(Bytes(4124)).ps), 604853);
    // A million of them: 604,853,333,333.3 ps; no rounding piles up.
    EXPECT_EQ((IbLink{IbSpeed::kFdr, 4}.SerializationTime(Bytes(4124000000ULL)).ps),
              604853333333LL);
    // The rounded rate gives the same for packets.
    const IbLink fdr{IbSpeed::kFdr, 4};
    for (uint64_t bytes = 1; bytes < 5000; ++bytes)
    {
        ASSERT_EQ(fdr.SerializationTime(Bytes(bytes)), SerializationTime(Bytes(bytes), fdr.Rate()))
            << bytes;
    }
}

TEST(IbLink, CreditTimeoutIsThatOfOneLane)
{
    // 65,536 symbols of 10 bits at 2.5 Gb/s: 262.144 us, whatever the width.
    for (const uint8_t width : kIbWidths)
    {
        EXPECT_EQ((IbLink{IbSpeed::kSdr, width}.CreditTimeout().ps), 262144000);
    }
    EXPECT_EQ((IbLink{IbSpeed::kSdr, 4}.SymbolTimes(1).ps), 4000);
    EXPECT_EQ((IbLink{IbSpeed::kQdr, 4}.CreditTimeout().ps), 65536000);
    // 65,536 x 8 x 11 / 150 ns = 38,447.78666 ns
    EXPECT_EQ((IbLink{IbSpeed::kFdr, 4}.CreditTimeout().ps), 38447787);
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.CreditTimeout().ps), 20971520);
    EXPECT_EQ((IbLink{IbSpeed::kXdr, 4}.CreditTimeout().ps), 2621440);
}

TEST(IbLink, DelimitersFillTheColumns)
{
    // LRH to ICRC are 4n bytes; + 2 of VCRC + 2 delimiters are 4n + 4.
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.LineBytes(4122)), 4124u);
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 1}.LineBytes(4122)), 4124u);
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.LineBytes(6)),
              8u); // a flow-control packet: two columns of 4x
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 8}.LineBytes(4122)), 4128u);
    EXPECT_EQ((IbLink{IbSpeed::kSdr, 12}.LineBytes(6)), 12u);
}

TEST(IbLink, FecAddsACodewordAndTheDecoder)
{
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.FecLatency().ps), 0);
    EXPECT_EQ((IbLink{IbSpeed::kQdr, 4}.FecLatency().ps), 0);
    // 5,280 bits at 103.125 Gb/s = 51.2 ns
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.FecLatency(kIbRs528).ps), 51200 + kIbFecDecoderPs);
    // 2,720 bits at 212.5 Gb/s = 12.8 ns; at 425 Gb/s 6.4 ns; 5,440 bits at 850 Gb/s the same
    EXPECT_EQ((IbLink{IbSpeed::kHdr, 4}.FecLatency().ps), 12800 + kIbFecDecoderPs);
    // HDR on two lanes and one has RS(544,514): 5,440 bits at 106.25 Gb/s = 51.2 ns
    EXPECT_STREQ((IbLink{IbSpeed::kHdr, 2}.Fec().name), "RS(544,514)");
    EXPECT_EQ((IbLink{IbSpeed::kHdr, 2}.FecLatency().ps), 51200 + kIbFecDecoderPs);
    EXPECT_EQ((IbLink{IbSpeed::kHdr, 1}.FecLatency().ps), 102400 + kIbFecDecoderPs);
    EXPECT_EQ((IbLink{IbSpeed::kNdr, 2}.FecLatency().ps), 12800 + kIbFecDecoderPs);
    // 2,710 bits at 103.125 Gb/s = 26.279 ns; four codewords of 5,440 bits at 850 Gb/s = 25.6 ns
    EXPECT_EQ((IbLink{IbSpeed::kEdr, 4}.FecLatency(kIbRs271).ps), 26279 + kIbFecDecoderPs);
    EXPECT_EQ((IbLink{IbSpeed::kXdr, 4}.FecLatency(kIbRs544Quad).ps), 25600 + kIbFecDecoderPs);
    EXPECT_EQ((IbLink{IbSpeed::kXdr, 4}.FecLatency(kIbRs544Double).ps), 12800 + kIbFecDecoderPs);
    EXPECT_EQ((IbLink{IbSpeed::kNdr, 4}.FecLatency().ps), 6400 + kIbFecDecoderPs);
    EXPECT_EQ((IbLink{IbSpeed::kXdr, 4}.FecLatency().ps), 6400 + kIbFecDecoderPs);
}

TEST(IbLink, FecOfARateIsThatOfTheNicOrOfFourLanes)
{
    const IbLink hdr100{IbSpeed::kHdr, 2};
    EXPECT_EQ(IbFecDelay(Gbps(100), hdr100).ps, 88200);               // not EDR's, which has none
    EXPECT_EQ(IbFecDelay(Gbps(100), IbLink{IbSpeed::kNdr, 4}).ps, 0); // EDR
    EXPECT_EQ(IbFecDelay(Gbps(400), hdr100).ps, 43400);               // NDR behind an HDR100 NIC
    EXPECT_EQ(IbFecDelay(Gbps(123), hdr100).ps, 0);
    EXPECT_EQ(IbFecDelay(Gbps(400), hdr100, &kIbNoFec).ps, 0);
    EXPECT_EQ(IbFecDelay(Gbps(100), IbLink{IbSpeed::kEdr, 4}, &kIbRs528).ps, 88200); // 51.2 + 37 ns
    for (const IbFecName& code : kIbFecNames)
    {
        EXPECT_EQ(code.fec.codewordBits == 0, code.fec.decoderPs == 0) << code.name;
    }
}

TEST(IbLink, Names)
{
    EXPECT_EQ(*ParseIbLink("edr"), (IbLink{IbSpeed::kEdr, 4}));
    EXPECT_EQ(*ParseIbLink("EDR-1x"), (IbLink{IbSpeed::kEdr, 1}));
    EXPECT_EQ(*ParseIbLink("edr-12X"), (IbLink{IbSpeed::kEdr, 12}));
    EXPECT_EQ(*ParseIbLink("FDR-10"), (IbLink{IbSpeed::kFdr10, 4}));
    EXPECT_EQ(*ParseIbLink("FDR10-1x"), (IbLink{IbSpeed::kFdr10, 1}));
    for (const char* bad : {"",
                            "E",
                            "EDR-",
                            "EDR-x",
                            "EDR-3x",
                            "EDR-04x",
                            "EDR-4",
                            "EDR-4y",
                            "EDR-4x4x",
                            "GDR",
                            "-4x",
                            "HDR100-4x",
                            "EDR -4x",
                            "EDR-120x"})
    {
        EXPECT_FALSE(ParseIbLink(bad)) << bad;
    }
    std::set<std::string> seen;
    for (const std::string& name : IbLinkNames())
    {
        EXPECT_TRUE(ParseIbLink(name)) << name;
        EXPECT_TRUE(seen.insert(name).second) << name << " twice";
        EXPECT_EQ(NearestIbLinkName(name), name);
    }
    for (const IbGeneration& g : kIbGenerations)
    {
        EXPECT_EQ(&GenerationOf(g.speed), &g);
        for (const uint8_t width : kIbWidths)
        {
            const IbLink link{g.speed, width};
            EXPECT_EQ(*ParseIbLink(ToString(link)), link);
        }
    }
    EXPECT_EQ(NearestIbLinkName("EDRR"), "EDR");
    EXPECT_EQ(NearestIbLinkName("EDR-3x"), "EDR-1x");
    EXPECT_EQ(NearestIbLinkName("HDR10O"), "HDR100");
    EXPECT_EQ(NearestIbLinkName("100GbE"), "");
}

TEST(IbLink, NicKindsSayWhatTheyAre)
{
    for (const IbNicKind& kind : kIbNicKinds)
    {
        ASSERT_TRUE(ParseIbLink(kind.name)) << kind.name;
        EXPECT_EQ(*ParseIbLink(kind.name), kind.link) << kind.name;
        // "... : 100 Gb/s of data"
        const double gbps = static_cast<double>(kind.link.Rate().bps) * 1e-9;
        const std::string text = kind.description;
        EXPECT_NEAR(std::stod(text.substr(text.find(": ") + 2)), gbps, 0.05) << kind.name;
        EXPECT_EQ(std::stoul(text), kind.link.width) << kind.name;
    }
}
