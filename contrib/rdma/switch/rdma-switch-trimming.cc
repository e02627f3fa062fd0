/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of an Ethernet switch that cuts payload off packets it has no room for: Handley et al.,
 * "Re-architecting datacenter networks and stacks for low latency and high performance" (NDP),
 * SIGCOMM 2017, as its authors' simulator has it (Broadcom/csg-htsim, sim/compositequeue.cpp).
 */
#include "rdma-switch.h"

#include "ns3/log.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwitchTrimming");

std::string
RdmaSwitch::StartTrimming(uint32_t largestFrameBytes)
{
    if (m_trimPackets == 0)
    {
        return {};
    }
    if (m_pfc)
    {
        return GetName() + ": ns3::RdmaSwitch::TrimPackets: a switch that trims does not pause its "
                           "peers; allowed with Pfc: 0";
    }
    m_trimBytes = uint64_t{m_trimPackets} * largestFrameBytes;
    m_trimLimits.clear();
    for (const auto& port : m_ports)
    {
        const uint64_t reference = m_trimRate.GetBitRate();
        const uint64_t data =
            reference ? std::max<uint64_t>(largestFrameBytes,
                                           rdma::ScaleToRate(rdma::Bytes(m_trimBytes),
                                                             rdma::BitRate(reference),
                                                             rdma::BitRate(port->GetRate()))
                                               .value)
                      : m_trimBytes;
        m_trimLimits.push_back({data, m_trimHeaderBytes ? m_trimHeaderBytes : 2 * data});
        for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
        {
            port->SetWeight(p, p == m_trimPriority ? TRIM_WEIGHT : largestFrameBytes);
        }
    }
    return {};
}

void
RdmaSwitch::Trim(RdmaPort* egress, RdmaFrame* frame, int64_t now)
{
    ++m_trimmed;
    m_trimmedBytes += frame->payload;
    const uint32_t padded = (frame->payload + 3U) & ~3U;
    frame->wireBytes =
        std::max(frame->wireBytes - padded, rdma::kMinimumFrameBytes + m_lineOverhead);
    frame->payload = 0;
    frame->flags |= RdmaFrame::TRIMMED;
    frame->priority = m_trimPriority;
    frame->dscp = m_trimDscp;
    if (frame->extra)
    {
        frame->extra->journey.reset(); // the packet will start anew
    }
    m_trimTrace(egress, frame, now);
}

RdmaFrame*
RdmaSwitch::MakeRoom(RdmaPort*& port, RdmaPort* egress, RdmaFrame* frame, int64_t now)
{
    const uint16_t index = egress->GetPortIndex();
    const uint32_t bytes = FrameBytes(frame);
    if (IsTrimmable(*frame))
    {
        const uint64_t queueBytes = egress->GetQueueBytes(frame->priority);
        if (queueBytes + bytes <= m_trimLimits[index].data)
        {
            return frame;
        }
        // Either the one that comes or the one that came last, so that it is not always the same
        // flow's.
        const RdmaFrame* last = egress->GetQueueBack(frame->priority);
        if (last && IsTrimmable(*last) && Draw(index) < 0.5)
        {
            const uint8_t priority = frame->priority;
            const uint32_t lastBytes = FrameBytes(last);
            // There is room for the one before the other's is free: the pool is not that small.
            if (m_buffer.Admit(port->GetPortIndex(),
                               priority,
                               bytes,
                               queueBytes - lastBytes,
                               index,
                               now) == rdma::SharedBuffer::Verdict::kStored)
            {
                frame->inPort = port->GetPortIndex();
                frame->time = now;
                if (frame->extra && frame->extra->journey)
                {
                    frame->extra->journey->Join(egress, *frame, now);
                }
                egress->ExchangeLast(priority, *frame, now); // `frame` is the other one now
                m_buffer.Release(frame->inPort, priority, lastBytes, index, now);
                port = PeekPointer(m_ports[frame->inPort]);
            }
        }
        Trim(egress, frame, now);
    }
    else if (frame->priority != m_trimPriority)
    {
        return frame;
    }
    const uint64_t headers = egress->GetQueueBytes(m_trimPriority);
    if (headers == 0 || headers + FrameBytes(frame) <= m_trimLimits[index].headers)
    {
        return frame;
    }
    if (m_trimReturn && (frame->flags & RdmaFrame::TRIMMED) && IsRequest(frame->opcode))
    {
        ++m_returned;
        const uint32_t sender = frame->src;
        frame->src = frame->dst;
        frame->dst = sender;
        frame->opcode = RdmaOpcode::RETURNED;
        Forward(port, frame, now);
        return nullptr;
    }
    Drop(egress, frame, HEADER_QUEUE_FULL, now);
    return nullptr;
}

} // namespace ns3
