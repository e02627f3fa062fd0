/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One of each: SEND, WRITE with immediate, READ, a SEND whose receiver is not ready, a lost packet,
 * and a datagram, between two hosts on a switch; what the completion queues say, and, with --pcap,
 * a capture of it all for Wireshark.
 *
 *   ./ns3 run "rdma-verbs --pcap=."          then: wireshark capture.pcapng
 */
#include "ns3/core-module.h"
#include "ns3/rdma-completion-queue.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-pcap-helper.h"

#include <cstdio>

using namespace ns3;

namespace
{

void
Print(const char* host, const RdmaWorkCompletion& done)
{
    std::printf("%10.3f us  %s: %-7s id %lu, %6lu B, %s",
                done.time / 1e6,
                host,
                GetOperationName(done.operation),
                static_cast<unsigned long>(done.id),
                static_cast<unsigned long>(done.bytes),
                GetStatusName(done.status));
    if (done.hasImmediate)
    {
        std::printf(", immediate %u", done.immediate);
    }
    std::printf("\n");
}

void
Check(RdmaPostResult result)
{
    NS_ABORT_MSG_UNLESS(result == RdmaPostResult::POSTED, "the request could not be posted");
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string folder;
    std::string recovery = "go-back-n";
    double bitErrorRate = 0;
    CommandLine cmd(__FILE__);
    cmd.AddValue("pcap", "folder for capture.pcapng", folder);
    cmd.AddValue("recovery", "go-back-n or selective-repeat", recovery);
    cmd.AddValue("bit-error-rate", "of both links", bitErrorRate);
    cmd.Parse(argc, argv);
    Time::SetResolution(Time::PS);

    RdmaFabricHelper helper;
    helper.SetNicAttribute("MinRnrTimer", UintegerValue(1));     // 10 us
    helper.SetNicAttribute("TimeoutExponent", UintegerValue(5)); // 131 us
    helper.SetNicAttribute("LossRecovery", StringValue(recovery));
    std::string error;
    const auto fabric = helper.Build(
        {{"a", false}, {"b", false}, {"switch", true}},
        {{0, 2, 100000000000, 1000000, bitErrorRate}, {1, 2, 100000000000, 1000000, bitErrorRate}},
        error);
    NS_ABORT_MSG_UNLESS(fabric, error);
    RdmaPcapHelper pcap(*fabric);
    pcap.SetFormat(RdmaPcapHelper::Format::PCAPNG);
    error = folder.empty() ? "" : pcap.EnablePcap(folder, "a,b");
    NS_ABORT_MSG_UNLESS(error.empty(), error);

    // Two queue pairs a host, a connected one and one for datagrams, and one completion queue.
    const char* const names[] = {"a", "b"};
    Ptr<RdmaCompletionQueue> queue[2];
    RdmaQueuePair* connected[2];
    RdmaQueuePair* datagrams[2];
    for (uint32_t i = 0; i < 2; ++i)
    {
        queue[i] = CreateObject<RdmaCompletionQueue>();
        queue[i]->TraceConnectWithoutContext("Completion", MakeBoundCallback(&Print, names[i]));
        RdmaQueuePairInit init;
        init.sendQueue = init.receiveQueue = PeekPointer(queue[i]);
        connected[i] = fabric->GetNic(i)->CreateQueuePair(init);
        init.service = RdmaService::UD;
        datagrams[i] = fabric->GetNic(i)->CreateQueuePair(init);
        for (const auto state : {RdmaQueuePair::State::INIT,
                                 RdmaQueuePair::State::READY_TO_RECEIVE,
                                 RdmaQueuePair::State::READY_TO_SEND})
        {
            error = datagrams[i]->Modify(state);
            NS_ABORT_MSG_UNLESS(error.empty(), error);
        }
    }
    RdmaNic::Connect(connected[0], connected[1]);

    Check(connected[1]->PostReceive(20000, 1));
    Check(connected[1]->PostReceive(0, 2)); // a WRITE with immediate takes one, but no room
    Check(connected[0]->PostSend(20000, 101));
    Check(connected[0]->PostWriteWithImmediate(10001, 102, 7));
    Check(connected[0]->PostRead(30000, 103));
    Check(connected[0]->PostSend(3, 104)); // no receive request is left: refused, until 40 us
    Simulator::Schedule(MicroSeconds(40), [&]() { Check(connected[1]->PostReceive(64, 3)); });

    Check(datagrams[0]->PostReceive(4096, 4));
    RdmaSendRequest datagram(RdmaOperation::SEND, 1000, 105);
    datagram.hasImmediate = true;
    datagram.immediate = 8;
    datagram.peerEndpoint = 0;
    datagram.peerNumber = datagrams[0]->GetNumber();
    Check(datagrams[1]->Post(datagram));
    Simulator::Run();

    const RdmaNicCounters sum = fabric->GetNicTotals();
    std::printf("data packets %lu (%lu B), READ requests %lu, ACKs %lu, NAKs %lu (RNR %lu), "
                "retransmitted %lu, time-outs %lu, lost %lu\n",
                static_cast<unsigned long>(sum.dataPackets),
                static_cast<unsigned long>(sum.dataBytes),
                static_cast<unsigned long>(sum.readRequests),
                static_cast<unsigned long>(sum.acksSent),
                static_cast<unsigned long>(sum.naksSent),
                static_cast<unsigned long>(sum.rnrNaksSent),
                static_cast<unsigned long>(sum.retransmittedPackets),
                static_cast<unsigned long>(sum.timeouts),
                static_cast<unsigned long>(fabric->GetPortTotals().corrupted));
    Simulator::Destroy();
}
