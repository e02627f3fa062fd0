/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-cut-through.h"

#include "rdma-switch.h"

#include "ns3/node.h"

#include <functional>

namespace ns3
{

RdmaCutThrough::RdmaCutThrough(RdmaSwitch& device,
                               const std::vector<Ptr<RdmaPort>>& ports,
                               int64_t latency)
    : m_device(device),
      m_inputs(ports.size()),
      m_context(ports.front()->GetNode()->GetId()),
      m_timer(this)
{
    m_due.reserve(ports.size());
    for (uint16_t i = 0; i < ports.size(); ++i)
    {
        RdmaPort& port = *ports[i];
        m_inputs[i].headers = port.GetSerialization(GetHeaderBytes(port.GetLineOverhead()));
        port.SetCutThrough(true);
        port.SetReceiveLatency(latency + m_inputs[i].headers);
        port.SetUser(this, i);
    }
}

void
RdmaCutThrough::Clear()
{
    for (Input& input : m_inputs)
    {
        if (RdmaFrame* frame = std::exchange(input.held, nullptr))
        {
            RdmaFramePool::Get().Free(frame);
        }
    }
}

void
RdmaCutThrough::OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now)
{
    const uint16_t in = port->GetPortIndex();
    Input& input = m_inputs[in];
    if (input.held) // at a resolution coarser than ps, or after the link has become slower
    {
        Store(in, now);
    }
    const uint16_t way = m_device.Find(*port, *frame, now);
    if (way != RdmaSwitchBase::NO_PORT)
    {
        RdmaPort* egress = PeekPointer(m_device.GetPort(way));
        if (egress->GetRate() <= port->GetRate() && egress->MayStart(frame->priority, now))
        {
            m_device.Pass(way, port, frame, now);
            return;
        }
    }
    const int64_t rest = port->GetSerialization(frame->wireBytes) - input.headers;
    input.held = frame;
    input.way = way;
    input.whole = now + std::max<int64_t>(0, rest);
    m_due.emplace_back(input.whole, in);
    std::push_heap(m_due.begin(), m_due.end(), std::greater<>());
    m_timer.ScheduleAt(input.whole, m_context);
}

void
RdmaCutThrough::Store(uint16_t in, int64_t now)
{
    Input& input = m_inputs[in];
    RdmaFrame* frame = std::exchange(input.held, nullptr);
    RdmaPort* port = PeekPointer(m_device.GetPort(in));
    if (RdmaPort::IsBad(*frame))
    {
        m_device.Forget();
        port->LoseBad(frame, now);
        return;
    }
    m_device.Pass(input.way, port, frame, now);
}

void
RdmaCutThrough::OnWhole()
{
    const int64_t tick = RdmaClock::Now();
    while (!m_due.empty() && m_due.front().first <= tick)
    {
        const auto [at, in] = m_due.front();
        std::pop_heap(m_due.begin(), m_due.end(), std::greater<>());
        m_due.pop_back();
        if (m_inputs[in].held && m_inputs[in].whole == at) // it may have gone on already
        {
            Store(in, at);
        }
    }
}

void
RdmaCutThrough::OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now)
{
    m_device.OnDequeue(port, frame, queueBytes, now);
}

RdmaFrame*
RdmaCutThrough::Pull(RdmaPort* port, uint8_t pausedMask, int64_t now)
{
    return m_device.Pull(port, pausedMask, now);
}

void
RdmaCutThrough::OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now)
{
    m_device.OnLinkDown(port, frames, now);
}

uint8_t
RdmaCutThrough::GetPausing(const RdmaPort* port) const
{
    return m_device.GetPausing(port);
}

RdmaPortUser*
RdmaCutThrough::GetDevice()
{
    return &m_device;
}

void
RdmaCutThrough::Prefetch(const NodeWindowBin& arrivals, uint32_t depth) const
{
    m_device.Prefetch(arrivals, depth);
}

uint32_t
RdmaCutThrough::GetDepths() const
{
    return m_device.GetDepths();
}

} // namespace ns3
