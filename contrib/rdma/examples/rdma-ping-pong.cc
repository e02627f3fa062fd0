/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Latency, bandwidth and a ping-pong of two hosts, as the perftest programs measure them on
 * hardware (ib_send_lat, ib_write_bw, ...), beside the closed forms of an idle path.
 *
 *   ./ns3 run "rdma-ping-pong --rate=400Gbps --delay=500ns --mtu=4096"
 *
 * Latencies end when the last byte is there: at the receiver, of a READ at who asked. The
 * difference to the closed form is 0 to the picosecond. Bandwidth of a long stream is the line rate
 * times payload over wire bytes. In the ping-pong a server answers each SEND when its completion
 * queue tells of it.
 */
#include "ns3/core-module.h"
#include "ns3/data-rate.h"
#include "ns3/rdma-completion-queue.h"
#include "ns3/rdma-fabric-helper.h"

#include <cstdio>
#include <functional>

using namespace ns3;

namespace
{

struct Options
{
    DataRate rate{"100Gbps"};
    Time delay{MicroSeconds(1)};
    uint32_t mtu{4096};
};

/// Hosts "a" and "b" with so many switches between them.
std::unique_ptr<RdmaFabric>
BuildChain(const Options& options, uint32_t switches)
{
    std::vector<RdmaNodeSpec> nodes{{"a", false}};
    std::vector<RdmaLinkSpec> links;
    for (uint32_t i = 0; i <= switches; ++i)
    {
        nodes.push_back(i < switches ? RdmaNodeSpec{"s" + std::to_string(i), true}
                                     : RdmaNodeSpec{"b", false});
        links.push_back({i, i + 1, options.rate.GetBitRate(), options.delay.GetPicoSeconds(), 0});
    }
    RdmaFabricHelper helper;
    helper.SetNicAttribute("Mtu", UintegerValue(options.mtu));
    std::string error;
    auto fabric = helper.Build(nodes, links, error);
    NS_ABORT_MSG_UNLESS(fabric, error);
    return fabric;
}

/// Notes when messages arrive, and READs are complete.
struct Clock : RdmaNicUser
{
    void OnCompletion(RdmaQueuePair*, const RdmaWorkRequest& r, RdmaStatus, int64_t now) override
    {
        if (r.operation == RdmaOperation::READ)
        {
            ends.push_back(now);
        }
    }

    void OnMessage(RdmaQueuePair*, const RdmaMessage&, int64_t now) override
    {
        ends.push_back(now);
    }

    std::vector<int64_t> ends;
};

/// `count` requests in a row on an idle network. \return when each ended, ps
std::vector<int64_t>
Measure(RdmaFabric& fabric, RdmaOperation operation, uint64_t bytes, uint32_t count)
{
    Clock clock;
    RdmaQueuePair* ends[2];
    for (uint32_t i = 0; i < 2; ++i)
    {
        fabric.GetNic(i)->SetUser(&clock);
        ends[i] = fabric.GetNic(i)->CreateQueuePair(3);
    }
    RdmaNic::Connect(ends[0], ends[1]);
    const int64_t start = RdmaClock::Now();
    for (uint64_t id = 0; id < count; ++id)
    {
        ends[1]->PostReceive(bytes, id);
        ends[0]->Post({operation, bytes, id});
    }
    Simulator::Run();
    for (int64_t& end : clock.ends)
    {
        end -= start;
    }
    return clock.ends;
}

void
PingPong(RdmaFabric& fabric, uint64_t bytes, uint32_t rounds)
{
    Ptr<RdmaCompletionQueue> queue[2];
    RdmaQueuePair* ends[2];
    std::function<void()> answer[2];
    uint32_t messages = 0;
    const int64_t start = RdmaClock::Now();
    int64_t last = start;
    for (uint32_t i = 0; i < 2; ++i)
    {
        fabric.GetNic(i)->SetUser(nullptr);
        queue[i] = CreateObject<RdmaCompletionQueue>();
        RdmaQueuePairInit init;
        init.receiveQueue = PeekPointer(queue[i]);
        ends[i] = fabric.GetNic(i)->CreateQueuePair(init);
        answer[i] = [&, i]() {
            RdmaWorkCompletion done;
            while (queue[i]->Poll(done))
            {
                last = done.time;
                ends[i]->PostReceive(bytes, 0);
                if (++messages < 2 * rounds)
                {
                    ends[i]->PostSend(bytes, 0);
                }
            }
            queue[i]->RequestNotify(answer[i]);
        };
    }
    RdmaNic::Connect(ends[0], ends[1]);
    for (uint32_t i = 0; i < 2; ++i)
    {
        ends[i]->PostReceive(bytes, 0);
        answer[i]();
    }
    ends[0]->PostSend(bytes, 0);
    Simulator::Run();
    std::printf("\n%u round trips of %lu B SENDs: %.3f us each way\n",
                rounds,
                static_cast<unsigned long>(bytes),
                (last - start) / 2e6 / rounds);
}

} // namespace

int
main(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("rate", "of every link", options.rate);
    cmd.AddValue("delay", "of every link, one way", options.delay);
    cmd.AddValue("mtu", "payload of a packet: 256, 512, 1024, 2048 or 4096 B", options.mtu);
    cmd.Parse(argc, argv);
    Time::SetResolution(Time::PS);

    const RdmaOperation operations[] = {RdmaOperation::SEND,
                                        RdmaOperation::WRITE,
                                        RdmaOperation::READ};
    std::printf("Latency, us (difference to the closed form, ns)\n%8s %9s", "switches", "bytes");
    for (const RdmaOperation operation : operations)
    {
        std::printf(" %20s", GetOperationName(operation));
    }
    std::printf("\n");
    for (uint32_t switches = 0; switches <= 3; ++switches)
    {
        for (const uint64_t bytes : {2, 64, 1024, 4096, 65536, 1 << 20, 8 << 20})
        {
            std::printf("%8u %9lu", switches, static_cast<unsigned long>(bytes));
            for (const RdmaOperation operation : operations)
            {
                const auto fabric = BuildChain(options, switches);
                const int64_t took = Measure(*fabric, operation, bytes, 1).back();
                const int64_t ideal = fabric->GetIdealCompletion(0, 1, bytes, false, operation);
                std::printf(" %11.3f (%6.3f)", took / 1e6, (took - ideal) / 1e3);
                Simulator::Destroy();
            }
            std::printf("\n");
        }
    }

    std::printf("\nBandwidth of 64 messages of 1 MiB, Gb/s (payload over wire bytes, %%)\n%9s", "");
    for (const RdmaOperation operation : operations)
    {
        const auto fabric = BuildChain(options, 1);
        const std::vector<int64_t> ends = Measure(*fabric, operation, 1 << 20, 64);
        // From the end of the first one on: then the pipe is full.
        const double rate = 63.0 * (8 << 20) * 1000 / static_cast<double>(ends[63] - ends[0]);
        std::printf(" %11.3f (%6.3f)", rate, rate * 1e11 / options.rate.GetBitRate());
        Simulator::Destroy();
    }
    std::printf("\n");

    const auto fabric = BuildChain(options, 1);
    PingPong(*fabric, 64, 1000);
    Simulator::Destroy();
}
