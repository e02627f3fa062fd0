/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-mpi.h"

#include "ns3/boolean.h"
#include "ns3/mpi-interface.h"
#include "ns3/mpi-receiver.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/rdma-event.h"
#include "ns3/rdma-gateway.h"
#include "ns3/simple-channel.h"
#include "ns3/simple-net-device.h"

namespace ns3
{

std::string
ConnectRanksByMpi(RdmaFabric& fabric)
{
    if (fabric.GetNRanks() < 2)
    {
        return {};
    }
    if (!MpiInterface::IsEnabled() || MpiInterface::GetSize() != fabric.GetNRanks() ||
        MpiInterface::GetSystemId() != fabric.GetRank())
    {
        return "ns-3's MpiInterface is not enabled, or has other ranks than the partition";
    }
    // The simulator finds the look-ahead at point-to-point devices, and sends to a device of a
    // node: every rank has a node for it, and on it a device for each other rank, by number.
    const uint32_t self = fabric.GetRank();
    const NodeContainer& nodes = fabric.GetGatewayNodes();
    for (const auto& gateway : fabric.GetGateways())
    {
        const uint32_t peer = gateway->GetRank();
        const auto channel = CreateObject<SimpleChannel>();
        channel->SetAttribute("Delay",
                              TimeValue(RdmaClock::At(gateway->GetLookAhead().lookAheadPs)));
        Ptr<SimpleNetDevice> here;
        for (const uint32_t rank : {self, peer})
        {
            const auto device = CreateObject<SimpleNetDevice>();
            device->SetAttribute("PointToPointMode", BooleanValue(true));
            nodes.Get(rank)->AddDevice(device);
            device->SetChannel(channel);
            here = here ? here : device;
        }
        const auto receiver = CreateObject<MpiReceiver>();
        receiver->SetReceiveCallback(MakeCallback(&RdmaGateway::Receive, gateway.get()));
        here->AggregateObject(receiver);
        const uint32_t node = nodes.Get(peer)->GetId();
        const uint32_t device = self < peer ? self : self - 1;
        gateway->SetTransport([node, device](Ptr<Packet> message, int64_t receiveAt) {
            MpiInterface::SendPacket(message, RdmaClock::At(receiveAt), node, device);
        });
    }
    return {};
}

} // namespace ns3
