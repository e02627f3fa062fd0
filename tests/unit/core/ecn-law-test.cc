/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/ecn-law.h"

#include <gtest/gtest.h>
#include <random>
#include <stdexcept>

using namespace rdma;

TEST(EcnLaw, TheCurveAt100Gbps)
{
    const EcnLaw law(EcnHpcc19(Gbps(100)));
    EXPECT_EQ(law.Probability(0), 0);
    EXPECT_EQ(law.Probability(400000), 0);
    EXPECT_NEAR(law.Probability(400001), 0.2 / 1200000, 1e-15);
    EXPECT_NEAR(law.Probability(1000000), 0.1, 1e-15);
    EXPECT_NEAR(law.Probability(1599999), 0.2, 2e-7);
    EXPECT_EQ(law.Probability(1600000), 1);
    EXPECT_EQ(law.Probability(~0ULL), 1);
}

TEST(EcnLaw, ThresholdsScaleWithTheRate)
{
    EXPECT_EQ(EcnHpcc19(Gbps(100)).kmin, Bytes(400000));
    EXPECT_EQ(EcnHpcc19(Gbps(25)).kmin, Bytes(100000));
    EXPECT_EQ(EcnHpcc19(Gbps(25)).kmax, Bytes(400000));
    EXPECT_EQ(EcnHpcc19(Gbps(400)).kmax, Bytes(6400000));
    EXPECT_EQ(EcnHpcc19(Gbps(100000)).kmax, Bytes(1600000000));
    EXPECT_EQ(EcnSigcomm15(Gbps(40)).kmin, Bytes(5000));
    EXPECT_EQ(EcnSigcomm15(Gbps(40)).kmax, Bytes(200000));
    EXPECT_EQ(EcnSigcomm15(Gbps(40)).pmax, 0.01);
    EXPECT_EQ(EcnSigcomm15(Gbps(100)).kmin, Bytes(12500));
}

TEST(EcnLaw, AStepWhenTheThresholdsMeet)
{
    const EcnLaw law({Bytes(30000), Bytes(30000), 1});
    EXPECT_EQ(law.Probability(29999), 0);
    EXPECT_EQ(law.Probability(30000), 1);
}

TEST(EcnLaw, DrawsOnlyBetweenTheThresholdsAndMarksAtTheRightRate)
{
    const EcnLaw law(EcnHpcc19(Gbps(100)));
    std::mt19937_64 random(1);
    uint32_t draws = 0;
    const auto draw = [&] {
        ++draws;
        return std::uniform_real_distribution<>(0, 1)(random);
    };
    EXPECT_FALSE(law.Marks(399999, draw));
    EXPECT_TRUE(law.Marks(1600000, draw));
    EXPECT_EQ(draws, 0u);
    uint32_t marks = 0;
    for (int i = 0; i < 100000; ++i)
    {
        marks += law.Marks(1000000, draw);
    }
    EXPECT_EQ(draws, 100000u);
    EXPECT_NEAR(marks, 10000, 4 * 95);                    // four standard deviations of a binomial
    EXPECT_FALSE(law.Marks(1000000, [] { return 0.1; })); // strictly below
    EXPECT_TRUE(law.Marks(1000000, [] { return 0.0999; }));
}

TEST(EcnLaw, ByTimeInTheQueue)
{
    const EcnLaw law(Duration(32000000), Duration(128000000), 0.5); // 32 us and 128 us
    EXPECT_EQ(law.Kmin(), 32000000u);
    EXPECT_EQ(law.Kmax(), 128000000u);
    EXPECT_EQ(law.Probability(31999999), 0);
    EXPECT_NEAR(law.Probability(80000000), 0.25, 1e-15);
    EXPECT_EQ(law.Probability(128000000), 1);
}

TEST(EcnLaw, NoneNeverMarks)
{
    const EcnLaw law;
    EXPECT_FALSE(law.Marks(UINT64_MAX - 1, [] { return 0.0; }));
}

TEST(EcnLaw, RefusesWhatIsNoCurve)
{
    EXPECT_THROW(EcnLaw({Bytes(2), Bytes(1), 0.5}), std::invalid_argument);
    EXPECT_THROW(EcnLaw({Bytes(1), Bytes(2), 1.5}), std::invalid_argument);
    EXPECT_THROW(EcnLaw({Bytes(1), Bytes(2), -0.1}), std::invalid_argument);
}
