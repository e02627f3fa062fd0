/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Some hosts send to one through a switch, all at once.
 *
 *   ./ns3 run "rdma-incast --senders=8 --bytes=1000000 --cc=dcqcn --pcap=h0"
 *
 * With one sender the completion time is the closed form of an idle path, to the picosecond.
 */
#include "one-switch.h"

#include "ns3/core-module.h"
#include "ns3/node-windows.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-pcap-helper.h"

#include <iostream>

using namespace ns3;

/// Hears of messages at their receiver and of completions at their sender, and prints them in the
/// order of time: under node windows a host may be ahead of another one.
class Printer : public RdmaNicUser
{
  public:
    struct Completion
    {
        uint64_t id;
        bool failed;
        int64_t now; ///< ps
    };

    struct Arrival
    {
        uint64_t bytes;
        uint32_t from;
        int64_t now;
    };

    void PrintCompletion(const Completion& done)
    {
        std::cout << "post " << done.id << " acknowledged at " << done.now / 1e6 << " us"
                  << (done.failed ? ", failed" : "") << "\n";
    }

    void PrintArrival(const Arrival& arrival)
    {
        std::cout << arrival.bytes << " B from endpoint " << arrival.from << " at "
                  << arrival.now / 1e6 << " us\n";
    }

    void OnCompletion(RdmaQueuePair*,
                      const RdmaWorkRequest& request,
                      RdmaStatus status,
                      int64_t now) override
    {
        NodeWindows::Note<&Printer::PrintCompletion>(
            this,
            Completion{request.id, status != RdmaStatus::SUCCESS, now});
    }

    void OnMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now) override
    {
        NodeWindows::Note<&Printer::PrintArrival>(
            this,
            Arrival{message.bytes, qp->GetPeerEndpoint(), now});
    }
};

int
main(int argc, char* argv[])
{
    uint32_t senders = 8;
    uint64_t bytes = 1000000;
    bool pfc = true;
    std::string cc = "dcqcn";
    std::string capture;
    CommandLine cmd(__FILE__);
    cmd.AddValue("senders", "how many hosts send", senders);
    cmd.AddValue("bytes", "how much each", bytes);
    cmd.AddValue("pfc", "priority flow control", pfc);
    cmd.AddValue("cc", "congestion control: dcqcn or none", cc);
    cmd.AddValue("pcap", "capture: all, a node, node:port, a->b; separated by commas", capture);
    cmd.Parse(argc, argv);
    Time::SetResolution(Time::PS); // 64 B at 400 Gb/s are 1.28 ns

    // Host h0, the senders h1, h2, ..., and one switch.
    const OneSwitch network(senders + 1);
    RdmaFabricHelper helper;
    helper.SetSwitchAttribute("Pfc", BooleanValue(pfc));
    bool known = false;
    ObjectFactory ops;
    ops.SetTypeId(RdmaCongestionOps::LookupByName(cc, known));
    NS_ABORT_MSG_UNLESS(known, "no congestion control is called " << cc);
    helper.SetCongestionOps(ops.Create<RdmaCongestionOps>());
    std::string error;
    const auto fabric = helper.Build(network.nodes, network.links, error);
    NS_ABORT_MSG_UNLESS(fabric, error);
    RdmaPcapHelper pcap(*fabric);
    error = capture.empty() ? "" : pcap.EnablePcap(".", capture);
    NS_ABORT_MSG_UNLESS(error.empty(), error);

    std::cout.precision(12);
    Printer printer;
    for (uint32_t i = 0; i <= senders; ++i)
    {
        fabric->GetNic(i)->SetUser(&printer);
    }
    for (uint32_t i = 1; i <= senders; ++i)
    {
        RdmaQueuePair* from = fabric->GetNic(i)->CreateQueuePair(3);
        RdmaNic::Connect(from, fabric->GetNic(0)->CreateQueuePair(3));
        from->PostWrite(bytes, i);
    }
    Simulator::Run();
    const RdmaPortCounters ports = fabric->GetPortTotals();
    std::cout << "alone it takes " << fabric->GetIdealCompletion(1, 0, bytes, false) / 1e6
              << " us; ECN marks " << ports.ecnMarks << ", pauses " << ports.pausesSent
              << ", retransmitted " << fabric->GetNicTotals().retransmittedPackets << "\n";
    Simulator::Destroy();
}
