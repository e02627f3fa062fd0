/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-bond.h"

#include "rdma-nic.h"
#include "rdma-packets.h"

#include "ns3/log.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaBond");

RdmaBond::End::End(RdmaBond& itsBond, RdmaNic* nic, Ptr<RdmaPort> itsPort)
    : bond(itsBond),
      own(nic),
      port(std::move(itsPort)),
      senders{nic}
{
    port->SetUser(this, 0);
}

void
RdmaBond::End::OnFrame(RdmaPort* from, RdmaFrame* frame, int64_t now)
{
    bond.Find(frame->dst, own)->OnFrame(from, frame, now);
}

void
RdmaBond::End::OnDequeue(RdmaPort* by, RdmaFrame* frame, uint64_t queueBytes, int64_t now)
{
    bond.Find(frame->src, own)->OnDequeue(by, frame, queueBytes, now);
}

RdmaFrame*
RdmaBond::End::Pull(RdmaPort* by, uint8_t pausedMask, int64_t now)
{
    const std::size_t n = senders.size();
    for (std::size_t i = 0; i < n; ++i)
    {
        const std::size_t at = (turn + i) % n;
        if (RdmaFrame* frame = senders[at]->PullBy(by, pausedMask, now))
        {
            turn = (at + 1) % n;
            return frame;
        }
    }
    return nullptr;
}

RdmaPortUser*
RdmaBond::End::GetDevice()
{
    return own;
}

RdmaBond::RdmaBond(std::vector<RdmaNic*> nics)
{
    for (RdmaNic* nic : nics)
    {
        m_ends.push_back(std::make_unique<End>(*this, nic, nic->GetPort()));
    }
}

RdmaBond::~RdmaBond() = default;

std::string
RdmaBond::Check(const RdmaNic& nic)
{
    if (nic.GetLimits())
    {
        return "has limits of a NIC (PcieBandwidth, MessageRate, QpCacheEntries)";
    }
    if (nic.GetPackets())
    {
        return "has ordinary packets (TCP, UDP)";
    }
    return nic.IsScanning() ? "has ns3::RdmaNic::Scheduling 'scan'" : "";
}

RdmaNic*
RdmaBond::Find(uint32_t endpoint, RdmaNic* other) const
{
    for (const auto& end : m_ends)
    {
        if (end->own->GetEndpoint() == endpoint)
        {
            return end->own;
        }
    }
    return other;
}

void
RdmaBond::SetDead(std::size_t port, bool dead, int64_t now)
{
    NS_LOG_FUNCTION(this << port << dead << now);
    m_ends[port]->dead = dead;
    for (const auto& end : m_ends)
    {
        end->senders.clear();
        end->turn = 0;
        end->port->SetPullMask(0);
    }
    const std::size_t n = m_ends.size();
    std::vector<RdmaPort*> left;
    for (const auto& end : m_ends)
    {
        if (!end->dead)
        {
            left.push_back(PeekPointer(end->port));
        }
    }
    for (std::size_t i = 0; i < n; ++i)
    {
        for (const auto& end : m_ends)
        {
            if (end->own == m_ends[i]->own ? !end->dead || left.empty()
                                           : !end->dead && m_ends[i]->dead)
            {
                end->senders.push_back(m_ends[i]->own);
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i)
    {
        // Answers go by the next one that works, so that several dead ports of many do not meet
        // at one; queue pairs by all that are left.
        std::size_t at = i;
        for (std::size_t k = 0; k < n && m_ends[at]->dead; ++k)
        {
            at = (i + k + 1) % n;
        }
        m_ends[i]->own->SendBy(m_ends[at]->port,
                               m_ends[at]->senders.size() > 1,
                               m_ends[i]->dead && left.size() > 1 ? left
                                                                  : std::vector<RdmaPort*>());
    }
    for (const auto& end : m_ends)
    {
        end->port->Kick(now);
    }
}

} // namespace ns3
