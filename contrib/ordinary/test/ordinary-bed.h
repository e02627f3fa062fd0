/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A fabric whose hosts have ns-3's own stack, and flows of its own applications.
 */
#ifndef ORDINARY_BED_H
#define ORDINARY_BED_H

#include "contrib/rdma/test/rdma-test-fabric.h"

#include "ns3/application-container.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ordinary-stack.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/rdma-packet-helper.h"
#include "ns3/tcp-socket-factory.h"

#include <memory>
#include <string>
#include <vector>

namespace ns3
{
namespace ordinarytest
{

using namespace rdmatest;

/// Of Ethernet on the line: preamble 8, header 14, FCS 4, gap 12.
constexpr uint32_t LINE = 38;
/// Of TCP in a full packet of 1,500 B: IPv4 20, TCP 20, time stamps 12.
constexpr uint32_t SEGMENT = 1500 - 52;

/// Segments that fill packets, buffers that a window of 100 Gb/s fits in. For all of a test.
inline void
SetTcp(uint32_t mtu = 1500, const std::string& control = "ns3::TcpNewReno")
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mtu - 52));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(control)));
}

/// A fabric with stacks.
class OrdinaryBed : public Bed
{
  public:
    using Bed::Bed;

    void BuildAll(const std::string& control = "ns3::TcpNewReno")
    {
        SetTcp(1500, control);
        Build();
        std::string error;
        stack = OrdinaryStack::Install(*fabric, packets, 5000, error);
        NS_ABORT_MSG_IF(!stack, error);
    }

    /// \return what receives it. \param bytes 0: without end \param arp whether the two ask for
    /// each other's address
    Ptr<PacketSink> Bulk(uint32_t from,
                         uint32_t to,
                         uint64_t bytes,
                         uint16_t port = 9,
                         bool arp = false)
    {
        if (!arp)
        {
            stack->Introduce(from, to);
        }
        const InetSocketAddress address(stack->GetAddress(to), port);
        PacketSinkHelper sink("ns3::TcpSocketFactory", address);
        ApplicationContainer at = sink.Install(stack->GetNode(to));
        BulkSendHelper source("ns3::TcpSocketFactory", address);
        source.SetAttribute("MaxBytes", UintegerValue(bytes));
        source.SetAttribute("SendSize", UintegerValue(65536));
        source.Install(stack->GetNode(from));
        return DynamicCast<PacketSink>(at.Get(0));
    }

    void DestroyAll()
    {
        stack.reset();
        Destroy();
    }

    RdmaPacketHelper packets;
    std::unique_ptr<OrdinaryStack> stack;
};

/// Checks the laws when it ends.
class OrdinaryCase : public TestCase
{
  public:
    using TestCase::TestCase;

  protected:
    /// Laws of NICs and switches; at the end of a run nothing is left.
    void CheckLaws(OrdinaryBed& bed)
    {
        for (uint32_t e = 0; e < bed.fabric->GetNEndpoints(); ++e)
        {
            const Ptr<RdmaPackets> packets = bed.fabric->GetNic(e)->GetPackets();
            const RdmaPacketCounters& c = packets->GetCounters();
            NS_TEST_EXPECT_MSG_EQ(c.accepted,
                                  c.sent + c.lostWithLink + packets->GetWaiting(),
                                  "packets of endpoint " << e);
        }
        for (const auto& device : bed.fabric->GetSwitches())
        {
            uint64_t dropped = 0;
            for (uint8_t r = 0; r < RdmaSwitchBase::DROP_REASONS; ++r)
            {
                dropped += device->GetDrops(static_cast<RdmaSwitchBase::DropReason>(r));
            }
            uint64_t queued = 0;
            for (uint16_t p = 0; p < device->GetNPorts(); ++p)
            {
                for (uint8_t priority = 0; priority < RdmaPort::PRIORITIES; ++priority)
                {
                    const RdmaFrame* f = device->GetPort(p)->GetQueueFront(priority);
                    for (; f && device->GetPort(p)->GetQueueBytes(priority); f = f->next)
                    {
                        ++queued;
                    }
                }
            }
            NS_TEST_EXPECT_MSG_EQ(device->GetReceived(),
                                  device->GetForwarded() + dropped + queued,
                                  "frames of switch " << device->GetName());
        }
    }

    void End(OrdinaryBed& bed)
    {
        CheckLaws(bed);
        bed.DestroyAll();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "frames left over");
    }
};

} // namespace ordinarytest
} // namespace ns3

#endif /* ORDINARY_BED_H */
