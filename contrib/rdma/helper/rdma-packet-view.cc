/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-packet-view.h"

#include "rdma-capture-encoder.h"

#include "ns3/abort.h"
#include "ns3/log.h"

#include <limits>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPacketView");

RdmaPacketView::RdmaPacketView(const RdmaFabric& fabric)
    : m_encoder(fabric.GetLinkLayer().MakeCaptureEncoder(fabric))
{
    const std::string wrong = Check(fabric);
    NS_ABORT_MSG_UNLESS(wrong.empty(), "RdmaPacketView: " << wrong);
}

RdmaPacketView::~RdmaPacketView() = default;

std::string
RdmaPacketView::Check(const RdmaFabric& fabric)
{
    return fabric.GetLinkLayer().MakeCaptureEncoder(fabric)->Check(fabric.GetFrameSizes());
}

Ptr<Packet>
RdmaPacketView::Make(const RdmaPort* from, const RdmaFrame& frame, int64_t now) const
{
    NS_LOG_FUNCTION(this << from << now);
    const size_t length =
        m_encoder->Encode({from, frame, now}, std::numeric_limits<uint32_t>::max());
    const uint32_t header = m_encoder->GetHeaderBytes();
    return Create<Packet>(m_encoder->GetBytes() + header, static_cast<uint32_t>(length - header));
}

} // namespace ns3
