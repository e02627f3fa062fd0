/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How PFC carries congestion from hop to hop back to a sender that has no part in it.
 *
 *   h0 -> s0 -> s1 -> s2 -> s3 -> s4 -> sink      h0 sends at line rate
 *                                 ^ local senders, all at once from 100 us on
 *
 *   ./ns3 run "rdma-pfc-propagation --switches=5 --senders=15 --buffer=150000"
 *
 * s4 cannot send on what comes in, and its buffer fills: it pauses s3, whose buffer fills, which
 * pauses s2, and so on, until h0 stands still. The table shows when each switch sent its first XOFF
 * up the chain, how long after the hop behind it, and beside it what to expect by hand: they differ
 * by a fraction of a frame (0.33 us at 100 Gb/s). With a large buffer (--buffer=1000000) some hop
 * gets XON before the next one is full: the wave takes longer then, or ends.
 */
#include "ns3/core-module.h"
#include "ns3/rdma-fabric-helper.h"

#include <cmath>
#include <cstdio>

using namespace ns3;

int
main(int argc, char* argv[])
{
    uint32_t switches = 5;
    uint32_t senders = 15;
    uint64_t gbps = 100;
    uint64_t delayNs = 1000;
    uint64_t buffer = 150000;
    CommandLine cmd(__FILE__);
    cmd.AddValue("switches", "length of the chain", switches);
    cmd.AddValue("senders", "local senders at the last switch", senders);
    cmd.AddValue("rate", "of every link (Gb/s)", gbps);
    cmd.AddValue("delay", "of every link (ns)", delayNs);
    cmd.AddValue("buffer", "of a switch for each 100 Gb/s of its ports (bytes)", buffer);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_IF(!switches || !senders || !gbps, "switches, senders and rate: at least 1");
    Time::SetResolution(Time::PS);

    // Nodes: s0, s1, ...; h0, which is endpoint 0; the sink, endpoint 1; the local senders.
    std::vector<RdmaNodeSpec> nodes;
    std::vector<RdmaLinkSpec> links;
    const auto link = [&](uint32_t a, uint32_t b) {
        links.push_back({a, b, gbps * 1000000000, static_cast<int64_t>(delayNs) * 1000, 0});
    };
    for (uint32_t j = 0; j < switches; ++j)
    {
        nodes.push_back({"s" + std::to_string(j), true});
        link(j ? j - 1 : switches, j); // port 0 of each switch leads up the chain
    }
    for (uint32_t i = 0; i < senders + 2; ++i)
    {
        nodes.push_back({"h" + std::to_string(i), false});
        if (i > 0)
        {
            link(switches + i, switches - 1);
        }
    }
    RdmaFabricHelper helper;
    helper.SetSwitchAttribute("BufferPer100G", UintegerValue(buffer));
    std::string error;
    const auto fabric = helper.Build(nodes, links, error);
    NS_ABORT_MSG_UNLESS(fabric, error);

    // First XOFF of each switch up the chain (ps), and the bytes that it held of that port then.
    std::vector<int64_t> xoff(switches, -1);
    std::vector<uint64_t> held(switches);
    for (uint32_t j = 0; j < switches; ++j)
    {
        fabric->GetSwitches()[j]->TraceConnectWithoutContext(
            "Pfc",
            Callback<void, const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
                [&, j](const RdmaPort* port, uint8_t, bool pause, uint64_t stored, int64_t now) {
                    if (pause && xoff[j] < 0 && port->GetPortIndex() == 0)
                    {
                        xoff[j] = now;
                        held[j] = stored;
                    }
                }));
    }
    for (uint32_t i = 0; i < senders + 2; ++i)
    {
        if (i != 1)
        {
            RdmaQueuePair* qp = fabric->GetNic(i)->CreateQueuePair(3); // priority 3: lossless
            RdmaNic::Connect(qp, fabric->GetNic(1)->CreateQueuePair(3));
            Simulator::Schedule(MicroSeconds(i ? 100 : 0), [qp, gbps, i] {
                qp->PostWrite(gbps * 125 * (i ? 200 : 300), 0); // 300 us at line rate, or 200
            });
        }
    }
    Simulator::Run();

    // By hand, in us and bytes. A switch stores g + alpha B / (1 + n alpha) of each of n ports that
    // fill alike before XOFF (B: shared pool, g: guaranteed). At the last switch n = senders + 1
    // ports come in at line rate and share the way out, so each fills at (n - 1) / n of it. Every
    // other switch gets the pause after its 84 bytes and the cable, half a frame later (on average)
    // holds the first frame, and sends XOFF with the first whole frame that does not fit.
    const double usPerByte = 8e-3 / static_cast<double>(gbps);
    const double frame = 4178 * usPerByte; // 4,096 B, headers, preamble and gap
    const double cable = static_cast<double>(delayNs) / 1e3;
    const double n = senders + 1;
    double before = 100 + frame + cable + 0.5; // the local senders' frames are there; pipeline: 0.5
    std::printf("hop    first XOFF   after the hop behind     expected   stored then\n");
    for (uint32_t j = switches; j-- > 0;)
    {
        if (xoff[j] < 0)
        {
            std::printf("s%u sent none: it was told to go on before its buffer was full\n", j);
            break;
        }
        const rdma::SharedBuffer& b =
            DynamicCast<RdmaSwitch>(fabric->GetSwitches()[j])->GetBuffer();
        const double alpha = b.Config().alpha;
        const bool last = j + 1 == switches;
        const double room =
            static_cast<double>(b.SharedSize()) + 4158; // a frame does not count itself
        const double frames = (static_cast<double>(b.Config().guaranteedBytes) +
                               alpha * room / (1 + (last ? n : 1) * alpha)) /
                              4158; // in the buffer without preamble and gap
        const double expected = last ? frames * frame * n / (n - 1)
                                     : 84 * usPerByte + cable + (0.5 + std::floor(frames)) * frame;
        const double at = static_cast<double>(xoff[j]) / 1e6;
        std::printf("s%-3u %9.3f us           %9.3f us %9.3f us   %8.1f kB\n",
                    j,
                    at,
                    at - before,
                    expected,
                    static_cast<double>(held[j]) / 1e3);
        before = at;
    }
    std::printf("h0 was paused for %.1f us in all; frames dropped: %llu\n",
                static_cast<double>(fabric->GetNic(0)->GetPort()->GetCounters().pausedPs) / 1e6,
                static_cast<unsigned long long>(fabric->GetDrops(RdmaSwitch::HEADROOM_FULL)));
    Simulator::Destroy();
}
