/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/aimd-rate.h"

#include <gtest/gtest.h>

TEST(AimdRate, ByHand)
{
    constexpr int64_t us = 1000000;
    rdma::AimdRate law({}, 100000000000); // half, 1 Gb/s in 20 us, line 100 Gb/s
    EXPECT_EQ(law.Rate(), 100000000000u);
    EXPECT_EQ(law.NextIncrease(), rdma::AimdRate::NEVER);
    law.OnCnp(0);
    EXPECT_EQ(law.Rate(), 50000000000u);
    law.CatchUp(19 * us);
    EXPECT_EQ(law.Rate(), 50000000000u);
    law.CatchUp(61 * us); // 20, 40, 60
    EXPECT_EQ(law.Rate(), 53000000000u);
    EXPECT_EQ(law.NextIncrease(), 80 * us);
    law.CatchUp(5000 * us); // 47 more
    EXPECT_EQ(law.Rate(), 100000000000u);
    EXPECT_EQ(law.NextIncrease(), rdma::AimdRate::NEVER);
}

TEST(AimdRate, RefusesWhatIsNoDecrease)
{
    rdma::AimdParameters parameters;
    parameters.decrease = 1;
    EXPECT_EQ(rdma::AimdRate::Error(parameters).where, "Decrease");
    EXPECT_THROW(rdma::AimdRate(parameters, 1), std::invalid_argument);
}
