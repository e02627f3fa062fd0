/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How this module is compiled: the same numbers whatever the processor.
 */
#include "ns3/test.h"

using namespace ns3;

/// A product and a sum are rounded one after the other. Fused, where a processor can and its
/// tuning finds it worth while, they are rounded once, and the last digit of a result depends on
/// the machine that built the module.
class RdmaArithmeticTestCase : public TestCase
{
  public:
    RdmaArithmeticTestCase()
        : TestCase("a product is rounded before it is added to")
    {
    }

  private:
    void DoRun() override
    {
        // (1 + e)^2 = 1 + 2 e + e^2, whose last term has no room in 53 bits.
        volatile double e = 1.0 / (1 << 30);
        volatile double sum = -(1 + 2 * e);
        const double x = 1 + e;
        NS_TEST_ASSERT_MSG_EQ(x * x + sum, 0, "a product and a sum were fused");
    }
};

class RdmaArithmeticTestSuite : public TestSuite
{
  public:
    RdmaArithmeticTestSuite()
        : TestSuite("rdma-arithmetic", UNIT)
    {
        AddTestCase(new RdmaArithmeticTestCase, TestCase::QUICK);
    }
};

static RdmaArithmeticTestSuite g_rdmaArithmeticTestSuite;
