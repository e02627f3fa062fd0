/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/names.h"
#include "topologies/scale-up-model.h"
#include "topologies/server.h"

#include <gtest/gtest.h>
#include <random>

namespace
{

using rdma::Bytes;
using rdma::TimePoint;
using topo::ScaleUp;
using topo::ScaleUpModel;

TEST(Servers, Presets)
{
    const auto& presets = topo::ServerPresets();
    ASSERT_GE(presets.size(), 9u);
    for (const auto& server : presets)
    {
        EXPECT_GT(server.gpus, 0u) << server.name;
        EXPECT_GT(server.nics, 0u) << server.name;
        EXPECT_GT(server.source.size(), 20u)
            << server.name << ": every constant cites a document or says assumed";
        EXPECT_NO_THROW(ScaleUpModel(server.scaleUp, server.gpus));
    }
    // GB/s, one direction: reference/hardware.json.
    const std::pair<const char*, double> rates[] = {{"dgx-1-p100", 80},
                                                    {"dgx-1-v100", 150},
                                                    {"dgx-a100", 300},
                                                    {"dgx-h100", 450},
                                                    {"dgx-b200", 900}};
    for (const auto& [name, gigabytes] : rates)
    {
        const auto* server = topo::FindServer(presets, name);
        ASSERT_TRUE(server) << name;
        EXPECT_EQ(server->scaleUp.perGpu.bps, static_cast<uint64_t>(gigabytes * 8e9)) << name;
    }
    // PCIe: transfers a second, 16 lanes, 128b/130b; acknowledgements, credits, skip sets; headers
    // of packets with 256 B: see server-presets.cc.
    const std::pair<const char*, double> buses[] = {{"pcie3-v100", 8},
                                                    {"pcie4-a100", 16},
                                                    {"pcie5-h100", 32}};
    for (const auto& [name, gigatransfers] : buses)
    {
        const auto* server = topo::FindServer(presets, name);
        ASSERT_TRUE(server) << name;
        const double raw = gigatransfers * 1e9 * 16 * 128 / 130;
        const double payload = raw * (1 - 8. / 168 - 8. / 168 - 4. / 1538) * 256 / (256 + 8 + 16);
        EXPECT_NEAR(static_cast<double>(server->scaleUp.perGpu.bps) / payload, 1, 1e-4) << name;
        EXPECT_NEAR(static_cast<double>(server->scaleUp.hostBridge.bps) / (4 * payload), 1, 1e-4)
            << name;
    }
    EXPECT_EQ(topo::FindServer(presets, "DGX-A100"), topo::FindServer(presets, "dgx-a100"));
    EXPECT_EQ(topo::FindServer(presets, "DGX_A100"), topo::FindServer(presets, "dgx-a100"));
    EXPECT_EQ(topo::FindServer(presets, "dgx-a10"), nullptr);
    EXPECT_EQ(topo::NearestName("dgx-a10", topo::ServerNames(presets)), "dgx-a100");
    ASSERT_TRUE(topo::FindServerForGpu(presets, "a100"));
    EXPECT_EQ(topo::FindServerForGpu(presets, "A100")->name, "dgx-a100")
        << "the first, not the PCIe one";
    EXPECT_EQ(topo::FindServerForGpu(presets, "V100")->name, "dgx-1-v100");
    EXPECT_EQ(topo::FindServerForGpu(presets, "TPU"), nullptr);
}

std::string
Errors(const std::string& text)
{
    std::vector<topo::Error> errors;
    const auto servers = topo::ReadServers(text, "my.json", errors);
    EXPECT_NE(servers.has_value(), !errors.empty());
    std::string all;
    for (const auto& e : errors)
    {
        all += topo::ToString(e) + "\n";
    }
    return all;
}

TEST(Servers, ReadErrors)
{
    const std::string scaleUp =
        R"("scale_up": {"kind": "nvswitch", "per_gpu": "2400Gbps", "latency": "1us"})";
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1, )" +
                     scaleUp + "}]}"),
              "");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 0, "nics": 1, )" +
                     scaleUp + "}]}"),
              "my.json: /servers/0/gpus: 0 is not a whole number from 1 to 1024\n");
    // As --nics-per-server has it.
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 65, )" +
                     scaleUp + "}]}"),
              "my.json: /servers/0/nics: 65 is not a whole number from 1 to 64\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1,
                        "scale_up": {"kind": "nvswitch", "per_gpu": "2147483648Gbps", "latency": "1us"}}]})"),
              "my.json: /servers/0/scale_up/per_gpu: \"2147483648Gbps\" is not a rate such as "
              "100Gbps, 25Gb/s or 400G, 1Mbps to 1000Tbps\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nicks": 1, )" +
                     scaleUp + "}]}"),
              "my.json: /servers/0/nicks: unknown key (did you mean nics?); allowed are name, gpu, "
              "gpus, nics, nic_rate, scale_up or source\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 65, )" +
                     scaleUp + "}]}"),
              "my.json: /servers/0/nics: 65 is not a whole number from 1 to 64\n");
    EXPECT_NE(
        Errors(
            R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1, "nic_rate": "1kbps", )" +
            scaleUp + "}]}"),
        "");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1,
                        "scale_up": {"kind": "nvswich", "per_gpu": "300GB/s", "latency": "1us"}}]})"),
              "my.json: /servers/0/scale_up/kind: \"nvswich\" is not nvswitch, nvlink-mesh or pcie "
              "(did you mean "
              "nvswitch?)\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1,
                        "scale_up": {"kind": "pcie", "per_gpu": "10Kbps", "latency": "2s"}}]})"),
              "my.json: /servers/0/scale_up/host_bridge: is missing\n"
              "my.json: /servers/0/scale_up/per_gpu: \"10Kbps\" is not a rate such as 100Gbps, "
              "25Gb/s or 400G, "
              "1Mbps to 1000Tbps\n"
              "my.json: /servers/0/scale_up/latency: \"2s\" is more than 1 s\n");
    EXPECT_EQ(Errors("[]"), "my.json: /: a list is not an object with servers\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", }]})").find("my.json:1:28: malformed JSON: "),
              0u);
}

// ---------------------------------------------------------------------------------------------
// The scale-up law. Fixture: 8 Gb/s a port, so a byte takes 1 ns; latency 100 ns. Times in ns.

constexpr int64_t kNs = 1000;

ScaleUp
Slow(ScaleUp::Kind kind = ScaleUp::kNvSwitch)
{
    ScaleUp s;
    s.kind = kind;
    s.perGpu = rdma::Gbps(8);
    s.latency = rdma::Nanoseconds(100);
    return s;
}

/// Arrival in ns.
int64_t
Send(ScaleUpModel& m, uint32_t from, uint32_t to, uint64_t bytes, int64_t nowNs)
{
    const TimePoint t = m.Transfer(from, to, Bytes(bytes), TimePoint(nowNs * kNs));
    EXPECT_EQ(t.ps % kNs, 0);
    return t.ps / kNs;
}

TEST(ScaleUpModel, Idle)
{
    ScaleUpModel m(Slow(), 4);
    EXPECT_EQ(Send(m, 0, 1, 1000, 50), 50 + 100 + 1000);
    EXPECT_EQ(m.IdleTime(Bytes(1000)), rdma::Nanoseconds(1100));
    EXPECT_EQ(m.IdleTime(Bytes(0)), rdma::Nanoseconds(100));
    EXPECT_EQ(m.BytesPosted(), Bytes(1000));
    EXPECT_EQ(m.Gpus(), 4u);
}

TEST(ScaleUpModel, OneSenderQueues)
{
    // Both leave by GPU 0's egress port: the second starts at 1000, to whomever it goes.
    ScaleUpModel m(Slow(), 4);
    EXPECT_EQ(Send(m, 0, 1, 1000, 0), 1100);
    EXPECT_EQ(Send(m, 0, 2, 500, 10), 1000 + 100 + 500);
}

TEST(ScaleUpModel, IncastOfThree)
{
    // GPU 3's ingress takes one after the other: last bytes at L + D, L + 2 D, L + 3 D, as a
    // saturated port must.
    ScaleUpModel m(Slow(), 4);
    EXPECT_EQ(Send(m, 0, 3, 1000, 0), 1100);
    EXPECT_EQ(Send(m, 1, 3, 1000, 0), 2100);
    EXPECT_EQ(Send(m, 2, 3, 1000, 0), 3100);
    // GPU 1 waited until 1000 to start, so its next message starts at 2000; GPU 0 is free since
    // 1000.
    EXPECT_EQ(Send(m, 1, 0, 10, 0), 2000 + 100 + 10);
    EXPECT_EQ(Send(m, 0, 1, 10, 0), 1000 + 100 + 10);
    // Once idle again, no memory of it.
    EXPECT_EQ(Send(m, 2, 3, 7, 5000), 5107);
}

TEST(ScaleUpModel, LatencyIsHiddenInBackToBackMessages)
{
    // Ingress of GPU 1 is busy from 100 to 1100. A message of GPU 2 posted at 1000 arrives from
    // 1100 on: no wait.
    ScaleUpModel m(Slow(), 3);
    EXPECT_EQ(Send(m, 0, 1, 1000, 0), 1100);
    EXPECT_EQ(Send(m, 2, 1, 1000, 1000), 2100);
}

TEST(ScaleUpModel, RingAndBothDirectionsDoNotDisturbEachOther)
{
    ScaleUpModel m(Slow(), 8);
    for (uint32_t i = 0; i < 8; ++i)
    {
        EXPECT_EQ(Send(m, i, (i + 1) % 8, 1000, 0), 1100);
    }
    ScaleUpModel both(Slow(), 2);
    EXPECT_EQ(Send(both, 0, 1, 1000, 0), 1100);
    EXPECT_EQ(Send(both, 1, 0, 1000, 0), 1100);
}

TEST(ScaleUpModel, EmptyAndSelf)
{
    ScaleUpModel m(Slow(), 2);
    Send(m, 0, 1, 1000, 0);
    EXPECT_EQ(Send(m, 0, 1, 0, 0), 100) << "no bytes: latency only, past the queue";
    EXPECT_EQ(Send(m, 1, 1, 1000, 7), 7) << "nothing to cross";
    EXPECT_EQ(m.BytesPosted(), Bytes(1000));
}

TEST(ScaleUpModel, PcieSharesTheHostBridge)
{
    // Bridge of 16 Gb/s (0.5 ns a byte), ports of 8: four disjoint transfers of 1000 B enter it
    // every 500 ns.
    ScaleUp s = Slow(ScaleUp::kPcie);
    s.hostBridge = rdma::Gbps(16);
    ScaleUpModel m(s, 8);
    for (uint32_t i = 0; i < 4; ++i)
    {
        EXPECT_EQ(Send(m, 2 * i, 2 * i + 1, 1000, 0), 500 * i + 100 + 1000);
    }
    // A bridge of 4 Gb/s (2 ns a byte) is slower than a port and sets the pace.
    s.hostBridge = rdma::Gbps(4);
    ScaleUpModel slow(s, 8);
    EXPECT_EQ(Send(slow, 0, 1, 1000, 0), 2100);
    EXPECT_EQ(Send(slow, 2, 3, 1000, 0), 4100);
    EXPECT_EQ(slow.IdleTime(Bytes(1000)), rdma::Nanoseconds(2100));
}

TEST(ScaleUpModel, RoundsToTheNearestPicosecond)
{
    // 300 GB/s: 10/3 ps a byte. 1 B: 3.33 -> 3; 2 B: 6.67 -> 7; 3 B: 10; 1 GB: 10^10/3 ms.
    ScaleUp s = Slow();
    s.perGpu = rdma::Gbps(2400);
    s.latency = rdma::Duration(0);
    const ScaleUpModel m(s, 2);
    EXPECT_EQ(m.IdleTime(Bytes(1)).ps, 3);
    EXPECT_EQ(m.IdleTime(Bytes(2)).ps, 7);
    EXPECT_EQ(m.IdleTime(Bytes(3)).ps, 10);
    EXPECT_EQ(m.IdleTime(Bytes(1000000000)).ps, 3333333333);
    for (const uint64_t gbps : {1ull, 126ull, 640ull, 3600ull, 7200ull})
    {
        s.perGpu = rdma::Gbps(gbps);
        for (uint64_t bytes = 1; bytes <= (1ull << 40); bytes *= 7)
        {
            EXPECT_NEAR(static_cast<double>(ScaleUpModel(s, 2).IdleTime(Bytes(bytes)).ps),
                        static_cast<double>(rdma::SerializationTime(Bytes(bytes), s.perGpu).ps),
                        1.0);
        }
    }
}

TEST(ScaleUpModel, NoPortCarriesMoreThanItsRate)
{
    // Random traffic in time order: at every ingress port, arrivals are at least their own duration
    // apart, and no message is faster than idle.
    ScaleUpModel m(Slow(), 5);
    std::mt19937 rng(1);
    std::vector<int64_t> last(5, 0);
    int64_t now = 0;
    for (int i = 0; i < 20000; ++i)
    {
        now += rng() % 400;
        const uint32_t from = rng() % 5;
        const uint32_t to = (from + 1 + rng() % 4) % 5;
        const uint64_t bytes = 1 + rng() % 2000;
        const int64_t arrival = Send(m, from, to, bytes, now);
        ASSERT_GE(arrival, now + 100 + static_cast<int64_t>(bytes));
        ASSERT_GE(arrival, last[to] + static_cast<int64_t>(bytes));
        last[to] = arrival;
    }
}

TEST(ScaleUpModel, BadSpecs)
{
    ScaleUp s = Slow(ScaleUp::kPcie);
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument) << "no bridge";
    s = Slow();
    s.perGpu = rdma::BitRate(1);
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument);
    s = Slow();
    s.latency = rdma::Duration(-1);
    EXPECT_THROW(ScaleUpModel(s, 2), std::invalid_argument);
}

} // namespace
