/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-frame-text.h"

namespace ns3
{

const char*
GetOpcodeName(RdmaOpcode opcode)
{
    switch (opcode)
    {
    case RdmaOpcode::SEND_FIRST:
        return "SEND_FIRST";
    case RdmaOpcode::SEND_MIDDLE:
        return "SEND_MIDDLE";
    case RdmaOpcode::SEND_LAST:
        return "SEND_LAST";
    case RdmaOpcode::SEND_LAST_IMM:
        return "SEND_LAST_IMM";
    case RdmaOpcode::SEND_ONLY:
        return "SEND_ONLY";
    case RdmaOpcode::SEND_ONLY_IMM:
        return "SEND_ONLY_IMM";
    case RdmaOpcode::WRITE_FIRST:
        return "WRITE_FIRST";
    case RdmaOpcode::WRITE_MIDDLE:
        return "WRITE_MIDDLE";
    case RdmaOpcode::WRITE_LAST:
        return "WRITE_LAST";
    case RdmaOpcode::WRITE_LAST_IMM:
        return "WRITE_LAST_IMM";
    case RdmaOpcode::WRITE_ONLY:
        return "WRITE_ONLY";
    case RdmaOpcode::WRITE_ONLY_IMM:
        return "WRITE_ONLY_IMM";
    case RdmaOpcode::READ_REQUEST:
        return "READ_REQUEST";
    case RdmaOpcode::READ_RESPONSE_FIRST:
        return "READ_RESPONSE_FIRST";
    case RdmaOpcode::READ_RESPONSE_MIDDLE:
        return "READ_RESPONSE_MIDDLE";
    case RdmaOpcode::READ_RESPONSE_LAST:
        return "READ_RESPONSE_LAST";
    case RdmaOpcode::READ_RESPONSE_ONLY:
        return "READ_RESPONSE_ONLY";
    case RdmaOpcode::ACKNOWLEDGE:
        return "ACKNOWLEDGE";
    case RdmaOpcode::UD_SEND_ONLY:
        return "UD_SEND_ONLY";
    case RdmaOpcode::UD_SEND_ONLY_IMM:
        return "UD_SEND_ONLY_IMM";
    case RdmaOpcode::CNP:
        return "CNP";
    case RdmaOpcode::NDP_ACK:
        return "NDP_ACK";
    case RdmaOpcode::NDP_NACK:
        return "NDP_NACK";
    case RdmaOpcode::NDP_PULL:
        return "NDP_PULL";
    case RdmaOpcode::RETURNED:
        return "RETURNED";
    case RdmaOpcode::REQUEST_TO_SEND:
        return "REQUEST_TO_SEND";
    case RdmaOpcode::PAUSE:
        return "PAUSE";
    case RdmaOpcode::PACKET:
        return "PACKET";
    case RdmaOpcode::FLOW_CONTROL:
        return "FLOW_CONTROL";
    case RdmaOpcode::ETHERNET:
        return "ETHERNET";
    }
    return "OTHER"; // of a transport that has opcodes of its own
}

std::ostream&
operator<<(std::ostream& out, const RdmaFrame& frame)
{
    out << GetOpcodeName(frame.opcode);
    switch (frame.opcode)
    {
    case RdmaOpcode::PAUSE:
        return out << " priorities " << +frame.classEnable << " quanta " << frame.aux;
    case RdmaOpcode::FLOW_CONTROL:
        return out << " lane " << +frame.priority;
    case RdmaOpcode::PACKET:
    case RdmaOpcode::ETHERNET:
        return out << " wire " << frame.wireBytes << " priority " << +frame.priority;
    default:
        break;
    }
    out << " " << frame.src << "->" << frame.dst << " qp " << frame.destQp << " psn " << frame.psn;
    if (IsData(frame.opcode))
    {
        out << " payload " << frame.payload;
    }
    out << " wire " << frame.wireBytes << " priority " << +frame.priority;
    out << (frame.flags & RdmaFrame::ECT ? " ECT" : "")
        << (frame.flags & RdmaFrame::CE ? " CE" : "");
    return out;
}

} // namespace ns3
