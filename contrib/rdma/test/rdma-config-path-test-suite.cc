/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NICs by configuration path: attributes and trace sources of all of them, on nodes with one NIC
 * and with several, of both kinds of fabric.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-host.h"

#include <map>

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaConfigPathTestCase : public TestCase
{
  public:
    RdmaConfigPathTestCase(uint32_t nics, bool infiniBand)
        : TestCase(std::to_string(nics) + " NICs a node, " +
                   (infiniBand ? "InfiniBand" : "Ethernet")),
          m_nics(nics),
          m_infiniBand(infiniBand)
    {
    }

  private:
    static constexpr uint32_t HOSTS = 3;

    void OnCompletion(std::string context,
                      RdmaQueuePair*,
                      const RdmaWorkRequest& request,
                      RdmaStatus,
                      int64_t)
    {
        m_completions[context] += request.id;
    }

    void OnFrame(const RdmaPort*, const RdmaFrame*, int64_t)
    {
        ++m_frames;
    }

    void DoRun() override
    {
        Bed bed;
        for (uint32_t h = 0; h < HOSTS; ++h)
        {
            bed.Host("h" + std::to_string(h));
        }
        // A network of its own for each number of a NIC.
        for (uint32_t n = 0; n < m_nics; ++n)
        {
            const uint32_t s = bed.Switch("s" + std::to_string(n));
            for (uint32_t h = 0; h < HOSTS; ++h)
            {
                bed.Link(h, s, 100 * GBPS);
            }
        }
        if (m_infiniBand)
        {
            bed.helper.SetInfiniBand({});
        }
        bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        bed.Build();
        const uint32_t first = bed.fabric->GetNodes().Get(0)->GetId();
        const auto node = [&](uint32_t h) { return "/NodeList/" + std::to_string(first + h); };

        // All of them, and those of one node in the order of their ports.
        const std::string all = "/NodeList/*/$ns3::RdmaHost/NicList/*";
        NS_TEST_EXPECT_MSG_EQ(Config::LookupMatches(all).GetN(), HOSTS * m_nics, "all NICs");
        for (uint32_t h = 0; h < HOSTS; ++h)
        {
            for (uint32_t n = 0; n < m_nics; ++n)
            {
                const auto matches =
                    Config::LookupMatches(node(h) + "/$ns3::RdmaHost/NicList/" + std::to_string(n));
                NS_TEST_ASSERT_MSG_EQ(matches.GetN(), 1, "one");
                const Ptr<RdmaNic> nic = bed.fabric->GetNic(h * m_nics + n);
                NS_TEST_EXPECT_MSG_EQ(matches.Get(0), nic, "that one");
                NS_TEST_EXPECT_MSG_EQ(nic->GetPort()->GetIfIndex(), n, "of that port");
            }
        }
        // A node aggregates one object of a kind: its NIC, if that is the only one.
        NS_TEST_EXPECT_MSG_EQ(Config::LookupMatches("/NodeList/*/$ns3::RdmaNic").GetN(),
                              (m_nics == 1 ? HOSTS : 0),
                              "the short path");
        NS_TEST_EXPECT_MSG_EQ(
            Config::LookupMatches("/NodeList/*/DeviceList/*/$ns3::RdmaPort").GetN(),
            2 * HOSTS * m_nics,
            "ports, as ever");
        for (const std::string& kind :
             {std::string("RdmaSwitchBase"), std::string(m_infiniBand ? "IbSwitch" : "RdmaSwitch")})
        {
            NS_TEST_EXPECT_MSG_EQ(Config::LookupMatches("/NodeList/*/$ns3::" + kind).GetN(),
                                  bed.fabric->GetSwitches().size(),
                                  kind);
        }

        // Attributes.
        Config::Set(all + "/RetryCount", UintegerValue(5));
        Config::Set(node(1) + "/$ns3::RdmaHost/NicList/" + std::to_string(m_nics - 1) +
                        "/RetryCount",
                    UintegerValue(2));
        for (uint32_t e = 0; e < HOSTS * m_nics; ++e)
        {
            UintegerValue retries;
            bed.fabric->GetNic(e)->GetAttribute("RetryCount", retries);
            NS_TEST_EXPECT_MSG_EQ(retries.Get(), (e == 2 * m_nics - 1 ? 2 : 5), "endpoint " << e);
        }
        NS_TEST_EXPECT_MSG_EQ(Config::SetFailSafe(all + "/RetryCount", UintegerValue(8)),
                              false,
                              "checked as any attribute");

        // Trace sources, with the path as context.
        Config::Connect(all + "/Completion",
                        MakeCallback(&RdmaConfigPathTestCase::OnCompletion, this));
        Config::ConnectWithoutContext("/NodeList/*/DeviceList/*/$ns3::RdmaPort/PhyTx",
                                      MakeCallback(&RdmaConfigPathTestCase::OnFrame, this));
        std::map<std::string, uint64_t> expected;
        for (uint32_t h = 0; h < HOSTS; ++h)
        {
            for (uint32_t n = 0; n < m_nics; ++n)
            {
                const uint64_t id = 1 + h * m_nics + n;
                bed.Connect(h * m_nics + n, (h + 1) % HOSTS * m_nics + n)
                    .first->PostWrite(10000, id);
                expected[node(h) + "/$ns3::RdmaHost/NicList/" + std::to_string(n) + "/Completion"] =
                    id;
            }
        }
        // Congestion controls of queue pairs: two at each NIC, one way and the other.
        NS_TEST_EXPECT_MSG_EQ(
            Config::LookupMatches(all + "/CongestionOpsList/*/$ns3::DcqcnCongestionOps").GetN(),
            2 * HOSTS * m_nics,
            "of every queue pair");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((m_completions == expected), true, "each NIC told of its own");
        NS_TEST_EXPECT_MSG_GT(m_frames, HOSTS * m_nics * 6, "three packets and two links each");
    }

    uint32_t m_nics;
    bool m_infiniBand;
    std::map<std::string, uint64_t> m_completions;
    uint32_t m_frames{0};
};

class RdmaConfigPathTestSuite : public TestSuite
{
  public:
    RdmaConfigPathTestSuite()
        : TestSuite("rdma-config-path", UNIT)
    {
        for (const uint32_t nics : {1U, 2U, 8U})
        {
            for (const bool infiniBand : {false, true})
            {
                AddTestCase(new RdmaConfigPathTestCase(nics, infiniBand), TestCase::QUICK);
            }
        }
    }
};

static RdmaConfigPathTestSuite g_rdmaConfigPathTestSuite;
