/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-capture-encoder.h"

namespace ns3
{

std::string
RdmaCaptureEncoder::NoReader(const char* whose, const char* more)
{
    return std::string("the frames are not ") + whose +
           " (RdmaNic::HeaderBytes, ExtensionHeaders, AckFrameBytes, CnpFrameBytes, "
           "RdmaPort::LineOverhead" +
           more + "), so no reader of captures would understand them";
}

void
RdmaCaptureEncoder::SetTransport(rdma::TransportFields& f, const RdmaFrame& frame)
{
    f.opcode = static_cast<rdma::RoceOpcode>(frame.opcode);
    f.ackRequest = frame.flags & RdmaFrame::ACK_REQUEST;
    f.destinationQueuePair = frame.destQp;
    f.psn = frame.psn;
    f.dmaLength = frame.dmaLength;
    f.sourceQueuePair = frame.dmaLength;
    f.immediate = frame.aux;
    f.syndrome = static_cast<uint8_t>(frame.dmaLength);
    f.msn = frame.aux;
}

void
RdmaCaptureEncoder::PutPayload(size_t at, uint32_t payload, uint32_t kept)
{
    for (size_t i = 0; at + i < kept; ++i)
    {
        m_buffer[at + i] = i < payload ? static_cast<uint8_t>(i) : 0;
    }
}

void
RdmaCaptureEncoder::Put16(uint8_t* at, size_t value)
{
    at[0] = static_cast<uint8_t>(value >> 8);
    at[1] = static_cast<uint8_t>(value);
}

} // namespace ns3
