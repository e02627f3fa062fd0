/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-frame.h"

#include <mutex>
#include <ostream>
#include <vector>

namespace ns3
{

struct RdmaFramePool::All
{
    rdma::ObjectPool<RdmaFrame>::Depot frames;
    rdma::ObjectPool<RdmaFrameExtra>::Depot extras;
    rdma::ObjectPool<JourneyMemory>::Depot journeys;
    std::mutex mutex;
    std::vector<RdmaFramePool*> pools;
    std::vector<RdmaFramePool*> idle; //!< pools of threads that have ended
};

RdmaFramePool::RdmaFramePool(All& all)
    : m_frames(all.frames),
      m_extras(all.extras),
      m_journeys(all.journeys)
{
}

RdmaFramePool::All&
RdmaFramePool::GetAll()
{
    static All& all = *new All; // for the whole process: who frees last is not known
    return all;
}

RdmaFramePool&
RdmaFramePool::EnterThread()
{
    All& all = GetAll();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.idle.empty())
    {
        t_pool = new RdmaFramePool(all);
        all.pools.push_back(t_pool);
    }
    else
    {
        t_pool = all.idle.back();
        all.idle.pop_back();
    }
    return *t_pool;
}

void
RdmaFramePool::LeaveThread()
{
    if (t_pool)
    {
        All& all = GetAll();
        const std::lock_guard<std::mutex> lock(all.mutex);
        all.idle.push_back(t_pool);
        t_pool = nullptr;
    }
}

uint64_t
RdmaFramePool::GetLive()
{
    All& all = GetAll();
    const std::lock_guard<std::mutex> lock(all.mutex);
    uint64_t live = all.frames.GetOut();
    for (const RdmaFramePool* pool : all.pools)
    {
        live -= pool->m_frames.GetIdle();
    }
    return live;
}

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
    return "UNKNOWN";
}

std::ostream&
operator<<(std::ostream& out, const RdmaFrame& frame)
{
    out << GetOpcodeName(frame.opcode);
    if (frame.opcode == RdmaOpcode::PAUSE)
    {
        return out << " classes " << +frame.classEnable << " quanta " << frame.aux;
    }
    if (frame.opcode == RdmaOpcode::FLOW_CONTROL || frame.opcode == RdmaOpcode::PACKET)
    {
        return out << ' ' << frame.wireBytes << " B on the wire";
    }
    out << ' ' << frame.src << "->" << frame.dst << " qp " << frame.destQp << " psn " << frame.psn
        << ' ' << frame.payload << " B priority " << +frame.priority;
    const bool request = IsRequest(frame.opcode);
    const bool answer = frame.opcode == RdmaOpcode::ACKNOWLEDGE;

    const struct
    {
        bool set;
        const char* name;
    } flags[] = {
        {(frame.flags & RdmaFrame::ECT) != 0, "ECT"},
        {(frame.flags & RdmaFrame::CE) != 0, "CE"},
        {request && (frame.flags & RdmaFrame::ACK_REQUEST), "ACK_REQUEST"},
        {request && (frame.flags & RdmaFrame::RETRANSMITTED), "RETRANSMITTED"},
        {request && (frame.flags & RdmaFrame::TRIMMED), "TRIMMED"},
        {answer && (frame.flags & RdmaFrame::ECN_ECHO), "ECN_ECHO"},
        {answer && (frame.flags & RdmaFrame::NAK), "NAK"},
        {answer && (frame.flags & RdmaFrame::RNR_NAK), "RNR_NAK"},
        {answer && (frame.flags & RdmaFrame::FATAL_NAK), "FATAL_NAK"},
    };

    for (const auto& flag : flags)
    {
        if (flag.set)
        {
            out << ' ' << flag.name;
        }
    }
    return out;
}

} // namespace ns3
