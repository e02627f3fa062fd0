/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PACKET_VIEW_H
#define RDMA_PACKET_VIEW_H

#include "rdma-fabric.h"

#include "ns3/packet.h"

#include <memory>
#include <string>

namespace ns3
{

class RdmaCaptureEncoder;

/**
 * \ingroup rdma
 * A frame as an ns3::Packet with the bytes that are on the wire, for sinks of trace sources
 * (RdmaPort's PhyTx and PhyRx, RdmaSwitchBase's Drop and EcnMark) that want to read headers or to
 * hand packets on:
 *
 *     RdmaPacketView view(*fabric);
 *     void Sent(const RdmaPort* port, const RdmaFrame* frame, int64_t now)
 *     {
 *         Ptr<Packet> packet = view.Make(port, *frame, now); // Ethernet, IPv4, UDP, BTH, ..., ICRC
 *     }
 *
 * A frame is no packet (rdma-frame.h): this makes one each time that it is asked, which takes as
 * long as a capture of the frame. Bytes are those of RdmaPcapHelper, which says what of them is
 * made up: of RoCEv2 from the Ethernet header to the ICRC, without FCS; of InfiniBand from the LRH
 * to the VCRC. One thread at a time.
 */
class RdmaPacketView
{
  public:
    /// \param fabric outlives this; it aborts if Check says anything
    explicit RdmaPacketView(const RdmaFabric& fabric);
    ~RdmaPacketView();

    /// \return why frames of this fabric are no reader's (RdmaNic::HeaderBytes and its like), or
    /// nothing
    static std::string Check(const RdmaFabric& fabric);

    /// \param from the port that sends it: what PhyTx tells; RdmaPort::GetPeer of what PhyRx tells
    /// \param now ps
    Ptr<Packet> Make(const RdmaPort* from, const RdmaFrame& frame, int64_t now) const;

  private:
    std::unique_ptr<RdmaCaptureEncoder> m_encoder;
};

} // namespace ns3

#endif /* RDMA_PACKET_VIEW_H */
