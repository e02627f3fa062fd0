/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/nearest-name.h"
#include "topologies/names.h"
#include "topologies/scale-up/scale-up-model.h"
#include "topologies/server.h"

#include <gtest/gtest.h>

namespace
{

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
    const std::pair<const char*, double> rates[] = {
        {"dgx-1-p100", 80},         {"dgx-1-v100", 150},    {"dgx-a100", 300},
        {"dgx-h100", 450},          {"dgx-b200", 900},      {"gb200-nvl72", 900},
        {"a100-nvlink-pairs", 300}, {"dgx-2h", 150},        {"big-basin", 80},
        {"jean-zay", 300},          {"hgx-h800", 200},      {"hgx-h20", 450},
        {"hgx-a800", 200},          {"gb300-nvl72", 900},   {"mi300x-8", 7 * 64},
        {"mi325x-8", 7 * 64},       {"mi355x-8", 7 * 76.5}, {"pipedream-a", 15.75},
        {"pipedream-b", 15.75},     {"pcie3-k80", 15.75},   {"pcie3-v100", 15.75},
        {"pcie4-a100", 31.5},       {"pcie5-h100", 63}};
    for (const auto& [name, gigabytes] : rates)
    {
        const auto* server = topo::FindServer(presets, name);
        ASSERT_TRUE(server) << name;
        EXPECT_EQ(server->scaleUp.perGpu.bps, static_cast<uint64_t>(gigabytes * 8e9)) << name;
    }
    // The share of it that messages get: NVIDIA/nccl src/graph/topo.h, GB/s a link over the link's
    // rate (P100 18 of 20, V100 and A100 20 of 25, H100 20.6 of 25, B200 40.1 of 50, PCIe 3.0 x16
    // 12 of 15.75).
    const std::pair<const char*, double> shares[] = {{"dgx-1-p100", 18 / 20.},
                                                     {"dgx-1-v100", 20 / 25.},
                                                     {"dgx-a100", 20 / 25.},
                                                     {"dgx-h100", 20.6 / 25},
                                                     {"dgx-h200", 20.6 / 25},
                                                     {"polaris", 20 / 25.},
                                                     {"gb200-nvl72", 40.1 / 50},
                                                     {"a100-nvlink-pairs", 20 / 25.},
                                                     // Of 900 GB/s four B200s reached 673.
                                                     {"dgx-b200", 673. / 900},
                                                     {"dgx-2h", 20 / 25.},
                                                     {"big-basin", 18 / 20.},
                                                     {"jean-zay", 20 / 25.},
                                                     {"pipedream-a", 12 / 15.75},
                                                     {"pipedream-b", 12 / 15.75},
                                                     {"pcie3-k80", 12 / 15.75},
                                                     {"pcie3-v100", 12 / 15.75},
                                                     {"pcie4-a100", 24 / 31.5},
                                                     {"pcie5-h100", 48 / 63.}};
    for (const auto& [name, share] : shares)
    {
        EXPECT_NEAR(topo::FindServer(presets, name)->scaleUp.efficiency, share, 0.0025) << name;
    }
    // The latencies of NCCL's ring, LL and Simple (src/graph/tuning.cc).
    for (const auto& server : presets)
    {
        const bool pcie = server.scaleUp.kind == topo::ScaleUp::kPcie;
        EXPECT_EQ(server.scaleUp.latency, rdma::Nanoseconds(pcie ? 1000 : 600)) << server.name;
        EXPECT_EQ(server.scaleUp.bulkLatency, rdma::Nanoseconds(pcie ? 5700 : 3400)) << server.name;
    }

    // Published machines: GPUs, NICs, Gb/s each (server-presets.cc names the papers).
    struct Machine
    {
        const char* name;
        const char* gpu;
        uint32_t gpus;
        uint32_t nics;
        uint64_t gigabits;
    };

    for (const Machine& m : {Machine{"dgx-2h", "V100", 16, 8, 100},
                             Machine{"big-basin", "P100", 8, 1, 50},
                             Machine{"jean-zay", "A100", 8, 4, 100},
                             Machine{"pipedream-a", "TitanX-Pascal", 1, 1, 25},
                             Machine{"pipedream-b", "V100-16GB", 1, 1, 10}})
    {
        const auto* server = topo::FindServer(presets, m.name);
        ASSERT_TRUE(server) << m.name;
        EXPECT_EQ(server->gpu, m.gpu) << m.name;
        EXPECT_EQ(server->gpus, m.gpus) << m.name;
        EXPECT_EQ(server->nics, m.nics) << m.name;
        EXPECT_EQ(server->nicRate.bps, m.gigabits * 1000000000) << m.name;
    }
    EXPECT_EQ(topo::FindServer(presets, "DGX-A100"), topo::FindServer(presets, "dgx-a100"));
    EXPECT_EQ(topo::FindServer(presets, "DGX_A100"), topo::FindServer(presets, "dgx-a100"));
    EXPECT_EQ(topo::FindServer(presets, "dgx-a10"), nullptr);
    EXPECT_EQ(rdma::NearestName("dgx-a10", topo::ServerNames(presets)), "dgx-a100");
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
        all += e.Sentence() + "\n";
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
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 129, )" +
                     scaleUp + "}]}"),
              "my.json: /servers/0/nics: 129 is not a whole number from 1 to 128\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1,
                        "scale_up": {"kind": "nvswitch", "per_gpu": "2147483648Gbps", "latency": "1us"}}]})"),
              "my.json: /servers/0/scale_up/per_gpu: \"2147483648Gbps\" is not a rate such as "
              "100Gbps, 25Gb/s, 400G or 50GBps (bytes), 1Mbps to 1000Tbps\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nicks": 1, )" +
                     scaleUp + "}]}"),
              "my.json: /servers/0/nicks: unknown key (did you mean nics?); allowed are name, "
              "base, gpu, gpus, nics, nic_rate, scale_up, library or source\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 129, )" +
                     scaleUp + "}]}"),
              "my.json: /servers/0/nics: 129 is not a whole number from 1 to 128\n");
    EXPECT_EQ(
        Errors(
            R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1, "nic_rate": "1bps", )" +
            scaleUp + "}]}"),
        "my.json: /servers/0/nic_rate: \"1bps\" is not a rate such as 100Gbps, 25Gb/s, 400G or "
        "50GBps (bytes), "
        "1kbps "
        "to 1000Tbps\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1,
                        "scale_up": {"kind": "nvswich", "per_gpu": "300GB/s", "latency": "1us"}}]})"),
              "my.json: /servers/0/scale_up/kind: \"nvswich\" is not nvswitch, nvlink-mesh, pcie "
              "or nvlink-islands "
              "(did you mean "
              "nvswitch?)\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1,
                        "scale_up": {"kind": "pcie", "per_gpu": "10Kbps", "latency": "2s"}}]})"),
              "my.json: /servers/0/scale_up/host_bridge: is missing\n"
              "my.json: /servers/0/scale_up/per_gpu: \"10Kbps\" is not a rate such as 100Gbps, "
              "25Gb/s, 400G or 50GBps (bytes), "
              "1Mbps to 1000Tbps\n"
              "my.json: /servers/0/scale_up/latency: \"2s\" is more than 1 s\n");
    const auto scaleUpErrors = [](const std::string& more) {
        return Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 1,
                          "scale_up": {"kind": "nvswitch", "per_gpu": "1Tbps", "latency": "1us", )" +
                      more + "}}]}");
    };
    EXPECT_EQ(scaleUpErrors(R"("efficiency": 1, "bulk_latency": "1us")"), "");
    EXPECT_EQ(scaleUpErrors(R"("efficiency": 0)"),
              "my.json: /servers/0/scale_up/efficiency: 0 is not a number from 0.001 to 1\n");
    EXPECT_EQ(scaleUpErrors(R"("efficiency": "0.8")"),
              "my.json: /servers/0/scale_up/efficiency: \"0.8\" is not a number from 0.001 to 1\n");
    // So small that its rate was no whole bit a second.
    EXPECT_EQ(scaleUpErrors(R"("efficiency": 1e-300)"),
              "my.json: /servers/0/scale_up/efficiency: 1e-300 is not a number from 0.001 to 1\n");
    EXPECT_EQ(scaleUpErrors(R"("efficiency": 0.001)"), "");
    EXPECT_EQ(scaleUpErrors(R"("bulk_latency": "999ns")"),
              "my.json: /servers/0/scale_up/bulk_latency: \"999ns\" is less than latency, 1 us\n");
    EXPECT_EQ(scaleUpErrors(R"("bulk_latency": "2s")"),
              "my.json: /servers/0/scale_up/bulk_latency: \"2s\" is more than 1 s\n");
    // Islands: what they need, and what has no meaning without them.
    EXPECT_EQ(scaleUpErrors(R"("island": 2)"),
              "my.json: /servers/0/scale_up/island: 2 has no meaning for nvswitch, only for "
              "nvlink-islands\n");
    const auto islandErrors = [](const std::string& more) {
        return Errors(R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 4, "nics": 1,
                          "scale_up": {"kind": "nvlink-islands", "per_gpu": "1Tbps",
                                       "latency": "1us")" +
                      more + "}}]}");
    };
    const std::string pcie = R"(, "between": {"kind": "pcie", "per_gpu": "252Gbps",
                                              "host_bridge": "504Gbps", "latency": "1us"})";
    EXPECT_EQ(islandErrors(R"(, "island": 2)" + pcie), "");
    EXPECT_EQ(islandErrors(""),
              "my.json: /servers/0/scale_up/island: is missing\n"
              "my.json: /servers/0/scale_up/between: is missing\n");
    EXPECT_EQ(islandErrors(R"(, "island": 1)" + pcie),
              "my.json: /servers/0/scale_up/island: 1 is not a whole number from 2 to 1024\n");
    EXPECT_EQ(
        islandErrors(R"(, "island": 2, "between": {"kind": "nvswitch", "per_gpu": "252Gbps",
                                                       "latency": "1us"})"),
        "my.json: /servers/0/scale_up/between/kind: \"nvswitch\" is not what connects islands; "
        "allowed: pcie\n");
    EXPECT_EQ(Errors("[]"), "my.json: /: a list is not an object with servers\n");
    EXPECT_EQ(Errors(R"({"servers": [{"name": "x", }]})").find("my.json:1:28: malformed JSON: "),
              0u);
}

// bigscience's all_reduce_bench-a100-n4.txt: 4 GB among 32 GPUs of 4 servers take 1.5289 to 1.5312
// s, through one port of 100 Gb/s in and one out; each byte goes 2 (n - 1)/n times over every link
// of the ring.
TEST(Servers, JeanZaysPortsCarryWhatWasMeasured)
{
    const topo::ServerSpec& server = *topo::FindServer(topo::ServerPresets(), "jean-zay");
    const topo::LibraryModel& library = server.library;
    const double measured = 8 * 4e9 * 2 * 31 / 32 / 1.53 / 100e9;
    EXPECT_NEAR(library.Of(topo::Protocol::kSimple).outsideShare, measured, 0.001);
    EXPECT_NEAR(library.Of(topo::Protocol::kExchange).outsideShare, measured, 0.001);
    EXPECT_NEAR(library.Of(topo::Protocol::kLl).outsideShare, measured / 2, 0.001); // flags
    EXPECT_FALSE(library.Of(topo::Protocol::kLl128).betweenServers);
    // Inside, as the other server of 8 A100.
    const topo::LibraryModel& dgx = topo::FindServer(topo::ServerPresets(), "dgx-a100")->library;
    EXPECT_EQ(library.launch, dgx.launch);
    EXPECT_EQ(library.Of(topo::Protocol::kSimple).inside, dgx.Of(topo::Protocol::kSimple).inside);
}

TEST(Servers, Library)
{
    const auto read = [](const std::string& library, std::vector<topo::Error>* errors) {
        return topo::ReadServers(
            R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 2,
                "scale_up": {"kind": "nvswitch", "per_gpu": "1Tbps", "latency": "700ns",
                             "bulk_latency": "4us"})" +
                library + "}]}",
            "my.json",
            *errors);
    };
    std::vector<topo::Error> errors;
    // Nothing said: latencies of the links, NCCL's beyond them.
    auto servers = read("", &errors);
    ASSERT_TRUE(servers);
    const topo::LibraryModel& expected = servers->at(0).library;
    EXPECT_EQ(expected.Of(topo::Protocol::kLl).inside, rdma::Nanoseconds(700));
    EXPECT_EQ(expected.Of(topo::Protocol::kSimple).inside, rdma::Microseconds(4));
    EXPECT_DOUBLE_EQ(expected.Of(topo::Protocol::kLl).outsideShare, 0.5);
    EXPECT_EQ(expected.exchangeNics, 0u);

    // What is said replaces that, one by one.
    servers = read(R"(, "library": {"launch": "9us", "exchange_nics": 1,
                      "ll": {"inside": "1us", "inside_share": 0.25},
                      "ll128": {"between_servers": false}})",
                   &errors);
    ASSERT_TRUE(servers);
    const topo::LibraryModel& said = servers->at(0).library;
    EXPECT_EQ(said.launch, rdma::Microseconds(9));
    EXPECT_EQ(said.exchangeNics, 1u);
    EXPECT_EQ(said.Of(topo::Protocol::kLl).inside, rdma::Microseconds(1));
    EXPECT_DOUBLE_EQ(said.Of(topo::Protocol::kLl).insideShare, 0.25);
    EXPECT_DOUBLE_EQ(said.Of(topo::Protocol::kLl).outsideShare, 0.5);
    EXPECT_FALSE(said.Of(topo::Protocol::kLl128).betweenServers);
    EXPECT_TRUE(said.Of(topo::Protocol::kSimple).betweenServers);

    EXPECT_EQ(said.channels.inServer, 0u);
    // As another one's but for what is said.
    servers = read(R"(, "library": {"base": "DGX-H200", "ll": {"inside": "600ns"},
                       "channels": {"a_nic": 2}})",
                   &errors);
    ASSERT_TRUE(servers);
    const topo::LibraryModel& based = servers->at(0).library;
    const topo::LibraryModel& h200 = topo::FindServer(topo::ServerPresets(), "dgx-h200")->library;
    EXPECT_EQ(based.Of(topo::Protocol::kLl).inside, rdma::Nanoseconds(600));
    EXPECT_EQ(based.Of(topo::Protocol::kLl).insideShare, h200.Of(topo::Protocol::kLl).insideShare);
    EXPECT_EQ(based.Of(topo::Protocol::kNvls).insideShare,
              h200.Of(topo::Protocol::kNvls).insideShare);
    EXPECT_NE(based.Of(topo::Protocol::kNvls).insideShare,
              based.Of(topo::Protocol::kSimple).insideShare);
    EXPECT_EQ(based.launch, h200.launch);
    EXPECT_EQ(based.channels.aNic, 2u);
    EXPECT_EQ(based.channels.most, h200.channels.most);
    std::vector<topo::Error> unknown;
    EXPECT_FALSE(read(R"(, "library": {"base": "dgx-h20"})", &unknown));
    ASSERT_EQ(unknown.size(), 1u);
    EXPECT_EQ(
        unknown[0].Sentence(),
        "my.json: /servers/0/library/base: \"dgx-h20\" is no preset (did you mean dgx-h200?)");

    servers = read(R"(, "library": {"channels": {"inside": "160Gbps", "outside": "100Gbps",
                                                 "in_server": 32, "a_nic": 4, "most": 16}})",
                   &errors);
    ASSERT_TRUE(servers);
    const topo::ExchangeChannels& channels = servers->at(0).library.channels;
    EXPECT_EQ(channels.inside, rdma::Gbps(160));
    EXPECT_EQ(channels.outside, rdma::Gbps(100));
    EXPECT_EQ(channels.inServer, 32u);
    EXPECT_EQ(channels.aNic, 4u);
    EXPECT_EQ(channels.most, 16u);
    // They are of use together only.
    std::vector<topo::Error> missing;
    EXPECT_FALSE(read(R"(, "library": {"channels": {"inside": "160Gbps"}})", &missing));
    ASSERT_EQ(missing.size(), 4u);
    EXPECT_EQ(missing[0].Sentence(), "my.json: /servers/0/library/channels/outside: is missing");

    // A burst of messages, and what a library expects: each of two keys is of use with the other.
    servers = read(R"(, "library": {"exchange": {"bulk_from": 2000000, "bulk_share": 0.25},
                                    "expects": {"nic_rate": "120Gbps", "net_latency": "10us"}})",
                   &errors);
    ASSERT_TRUE(servers);
    const topo::LibraryModel& bulk = servers->at(0).library;
    EXPECT_EQ(bulk.Of(topo::Protocol::kExchange).bulkFrom, 2000000u);
    EXPECT_DOUBLE_EQ(bulk.Of(topo::Protocol::kExchange).bulkShare, 0.25);
    EXPECT_EQ(bulk.Of(topo::Protocol::kSimple).bulkFrom, 0u);
    EXPECT_EQ(bulk.expects.nicRate, rdma::Gbps(120));
    EXPECT_EQ(bulk.expects.netLatency, rdma::Microseconds(10));
    EXPECT_EQ(bulk.expects.netOverhead, rdma::Microseconds(1)); // NCCL's, but for AMD's CPUs
    // What Polaris' library expects is of its NVLinks, and not of this switch's.
    servers = read(R"(, "library": {"base": "polaris"})", &errors);
    ASSERT_TRUE(servers);
    EXPECT_EQ(servers->at(0).library.expects.nicRate.bps, 0u);
    std::vector<topo::Error> wrong;
    EXPECT_FALSE(read(R"(, "library": {"exchange": {"bulk_from": 2000000}})", &wrong));
    EXPECT_FALSE(read(R"(, "library": {"ll": {"bulk_from": 0, "bulk_share": 1}})", &wrong));
    EXPECT_FALSE(read(R"(, "library": {"expects": {"net_latency": "1us"}})", &wrong));
    ASSERT_EQ(wrong.size(), 3u);
    EXPECT_EQ(wrong[0].Sentence(), "my.json: /servers/0/library/exchange/bulk_share: is missing");
    EXPECT_EQ(wrong[1].Sentence(),
              "my.json: /servers/0/library/ll/bulk_from: 0 is not a whole number from 1 to "
              "1099511627776");
    EXPECT_EQ(wrong[2].Sentence(), "my.json: /servers/0/library/expects/nic_rate: is missing");
    std::vector<topo::Error> pcie;
    EXPECT_FALSE(topo::ReadServers(
        R"({"servers": [{"name": "x", "gpu": "A100", "gpus": 8, "nics": 2,
            "scale_up": {"kind": "pcie", "per_gpu": "100Gbps", "host_bridge": "100Gbps",
                         "latency": "1us"},
            "library": {"expects": {"nic_rate": "1Gbps"}}}]})",
        "my.json",
        pcie));
    ASSERT_EQ(pcie.size(), 1u);
    EXPECT_EQ(pcie[0].Sentence(),
              "my.json: /servers/0/library/expects: has no meaning for pcie, only for nvswitch and "
              "nvlink-mesh");

    // Bus bandwidths by rising numbers of GPUs.
    servers = read(R"(, "library": {"fall": [{"gpus": 16, "all_reduce": 300, "all_gather": 200,
                                              "reduce_scatter": 100}], "fall_a_gpu": 27})",
                   &errors);
    ASSERT_TRUE(servers);
    ASSERT_EQ(servers->at(0).library.fall.size(), 1u);
    EXPECT_DOUBLE_EQ(servers->at(0).library.fall[0].allGather, 200e9);
    EXPECT_DOUBLE_EQ(servers->at(0).library.fallAGpu, 27e9);
    std::vector<topo::Error> falls;
    EXPECT_FALSE(read(R"(, "library": {"fall": [{"gpus": 16, "all_reduce": 300}]})", &falls));
    EXPECT_FALSE(read(R"(, "library": {"fall": [
        {"gpus": 16, "all_reduce": 3, "all_gather": 2, "reduce_scatter": 2},
        {"gpus": 16, "all_reduce": 3, "all_gather": 2, "reduce_scatter": 2}]})",
                      &falls));
    ASSERT_EQ(falls.size(), 3u);
    EXPECT_EQ(falls[0].Sentence(), "my.json: /servers/0/library/fall/0/all_gather: is missing");
    EXPECT_EQ(
        falls[2].Sentence(),
        "my.json: /servers/0/library/fall/1/gpus: is not above the number of the entry before");

    EXPECT_FALSE(read(R"(, "library": {"lunch": "9us"})", &errors));
    EXPECT_FALSE(read(R"(, "library": {"exchange_nics": 0}, "source": "x")", &errors));
    EXPECT_FALSE(read(R"(, "library": {"ll": {"inside_share": 0}})", &errors));
    EXPECT_FALSE(read(R"(, "library": {"simple": {"outside": "2s"}})", &errors));
    EXPECT_FALSE(read(R"(, "library": {"simple": {"between_servers": false}})", &errors));
    std::string all;
    for (const auto& e : errors)
    {
        all += e.Sentence() + "\n";
    }
    EXPECT_EQ(
        all,
        "my.json: /servers/0/library/lunch: unknown key (did you mean launch?); allowed are "
        "base, launch, exchange_launch, exchange_nics, post, ll, ll128, simple, exchange, nvls, "
        "channels, expects, fall, fall_a_gpu or source\n"
        "my.json: /servers/0/library/exchange_nics: 0 is not a whole number from 1 to 128\n"
        "my.json: /servers/0/library/ll/inside_share: 0 is not a number from 0.001 to 1\n"
        "my.json: /servers/0/library/simple/outside: \"2s\" is more than 1 s\n"
        "my.json: /servers/0/library/simple/between_servers: false: one protocol has to work "
        "everywhere, and that is simple; allowed: true\n");
}

// A preset but for what is said, in a list or alone.
TEST(Servers, Base)
{
    const auto read = [](const std::string& text) {
        std::vector<topo::Error> errors;
        const auto servers = topo::ReadServers(text, "my.json", errors);
        EXPECT_TRUE(servers) << text << (errors.empty() ? "" : errors[0].Sentence());
        return servers ? servers->back() : topo::ServerSpec{};
    };
    const topo::ServerSpec& h100 = *topo::FindServer(topo::ServerPresets(), "dgx-h100");
    const topo::ServerSpec alone = read(R"({"name": "x", "base": "DGX-H100", "nics": 4,
                                            "scale_up": {"per_gpu": "1600Gbps"}})");
    EXPECT_EQ(alone.name, "x");
    EXPECT_EQ(alone.gpu, "H100");
    EXPECT_EQ(alone.gpus, 8u);
    EXPECT_EQ(alone.nics, 4u);
    EXPECT_EQ(alone.nicRate, rdma::Gbps(400));
    EXPECT_EQ(alone.source, "as dgx-h100");
    EXPECT_EQ(alone.scaleUp.perGpu, rdma::Gbps(1600));
    EXPECT_DOUBLE_EQ(alone.scaleUp.efficiency, h100.scaleUp.efficiency);
    EXPECT_TRUE(alone.scaleUp.adds);
    EXPECT_EQ(alone.library.launch, h100.library.launch);
    // Of other links nothing holds, and the library is what NCCL expects of them.
    const topo::ServerSpec pcie = read(R"({"servers": [
        {"name": "x", "base": "dgx-h100", "gpus": 4, "source": "mine"},
        {"name": "y", "base": "x", "scale_up": {"kind": "pcie", "per_gpu": "504Gbps",
                                                "host_bridge": "2016Gbps", "latency": "1us"}}]})");
    EXPECT_EQ(pcie.gpus, 4u);
    EXPECT_DOUBLE_EQ(pcie.scaleUp.efficiency, 1);
    EXPECT_FALSE(pcie.scaleUp.adds);
    EXPECT_EQ(pcie.library.launch, topo::ExpectedLibrary(pcie.scaleUp).launch);
    EXPECT_EQ(Errors(R"({"name": "x", "base": "dgx-h10"})"),
              "my.json: /base: \"dgx-h10\" is no preset (did you mean dgx-h100?)\n");
    EXPECT_EQ(Errors(R"({"base": "dgx-h100"})"), "my.json: /name: is missing\n");
    EXPECT_EQ(Errors(R"({"name": "x", "base": "dgx-h100", "scale_up": {"kind": "pcie"}})"),
              "my.json: /scale_up/host_bridge: is missing\n"
              "my.json: /scale_up/per_gpu: is missing\n"
              "my.json: /scale_up/latency: is missing\n");
}

TEST(Servers, SwitchesThatAdd)
{
    // NVLink SHARP came with the NVSwitch of Hopper servers.
    for (const topo::ServerSpec& server : topo::ServerPresets())
    {
        const bool adds = server.name == "dgx-h100" || server.name == "dgx-h200" ||
                          server.name == "dgx-b200" || server.name == "gb200-nvl72" ||
                          server.name == "gb300-nvl72" || server.name == "hgx-h800" ||
                          server.name == "hgx-h20" || server.name == "aws-p5";
        EXPECT_EQ(server.scaleUp.adds, adds) << server.name;
    }
    const auto errorsOf = [](const std::string& kind, const std::string& bridge) {
        std::vector<topo::Error> errors;
        topo::ReadServers(R"({"servers": [{"name": "s", "gpu": "A100", "gpus": 4, "nics": 1,
            "scale_up": {"kind": ")" +
                              kind + R"(", "per_gpu": "100Gbps", "latency": "1us", "adds": true)" +
                              bridge + "}}]}",
                          "my.json",
                          errors);
        return errors.empty() ? std::string() : errors.front().Sentence();
    };
    EXPECT_EQ(errorsOf("nvswitch", ""), "");
    const std::string refusal = "my.json: /servers/0/scale_up/adds: true is only for the switch "
                                "of kind nvswitch; allowed: false";
    EXPECT_EQ(errorsOf("nvlink-mesh", ""), refusal);
    EXPECT_EQ(errorsOf("pcie", R"(, "host_bridge": "100Gbps")"), refusal);
}

} // namespace
