/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Faults come and go: what each does to its ends.
 */
#include "rdma-faults.h"

#include "ns3/log.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaFaultSteps");

void
RdmaFaults::Begin(uint32_t f)
{
    const Fault& fault = m_faults[f];
    const int64_t now = RdmaClock::Now();
    NS_LOG_INFO("fault " << f << " begins at " << now << " ps");
    Record& record = m_records[f];
    if (record.times++ == 0)
    {
        record.beginPs = now;
    }
    m_strandedBefore[f] = CountStranded();
    CollectStranded();
    record.endPs = NEVER;
    m_active[f] = true;
    Own(f);
    Tell(Step::BEGINS, f);
    if (fault.kind == Kind::DOWN)
    {
        CutCables(f);
    }
    else if (fault.kind == Kind::PAUSE_STORM)
    {
        Pause(f);
    }
    else
    {
        for (const uint32_t end : fault.ends)
        {
            Apply(f, end);
        }
    }
    const int64_t end =
        fault.periodPs > 0 ? std::min(fault.endPs, now + fault.periodPs - fault.upPs) : fault.endPs;
    if (end >= 0)
    {
        Schedule(std::max(end, now), [this, f] { End(f); });
    }
}

void
RdmaFaults::End(uint32_t f)
{
    const Fault& fault = m_faults[f];
    const int64_t now = RdmaClock::Now();
    CollectStranded();
    m_active[f] = false;
    Record& record = m_records[f];
    record.endPs = now;
    record.framesStranded += CountStranded() - m_strandedBefore[f];
    Tell(Step::ENDS, f);
    if (fault.kind == Kind::DOWN)
    {
        MendCables(f);
    }
    else if (fault.kind == Kind::PAUSE_STORM)
    {
        for (const uint32_t end : fault.ends)
        {
            m_fabric.GetPortOfEnd(end)->SendPause(static_cast<uint8_t>(fault.value), 0, now);
        }
    }
    else
    {
        for (const uint32_t end : fault.ends)
        {
            Apply(f, end);
        }
    }
    const int64_t next = now + fault.upPs;
    if (fault.periodPs > 0 && next < fault.endPs)
    {
        Schedule(next, [this, f] { Begin(f); });
    }
}

/// What all faults of this kind that are there make of an end.
void
RdmaFaults::Apply(uint32_t f, uint32_t end)
{
    const Kind kind = m_faults[f].kind;
    const RdmaLinkSpec& link = m_fabric.GetLink(end);
    double rate = static_cast<double>(link.rateBps);
    double errors = link.bitErrorRate;
    double pass = 1;
    for (uint32_t g = 0; g < GetN(); ++g)
    {
        const Fault& other = m_faults[g];
        if (m_active[g] && other.kind == kind &&
            std::binary_search(other.ends.begin(), other.ends.end(), end))
        {
            rate =
                std::min(rate,
                         other.value * (other.isShare ? static_cast<double>(link.rateBps) : 1.0));
            errors = std::max(errors, other.value);
            pass *= 1 - other.value;
        }
    }
    RdmaPort& port = *m_fabric.GetPortOfEnd(end);
    if (kind == Kind::BIT_ERRORS)
    {
        port.SetBitErrorRate(errors);
    }
    else if (kind == Kind::SILENT_DROPS)
    {
        port.SetSilentDrops(1 - pass);
    }
    else
    {
        // What is being sent ends as it began.
        port.SetRate(static_cast<uint64_t>(rate));
        if (RdmaSwitchBase* device = m_fabric.GetSwitch(m_fabric.GetNodeOfEnd(end)))
        {
            device->OnRateChange(port.GetPortIndex());
        }
    }
}

void
RdmaFaults::Pause(uint32_t f)
{
    const Fault& fault = m_faults[f];
    const int64_t now = RdmaClock::Now();
    if (!m_active[f])
    {
        return;
    }
    int64_t next = INT64_MAX;
    for (const uint32_t end : fault.ends)
    {
        RdmaPort& port = *m_fabric.GetPortOfEnd(end);
        port.SendPause(static_cast<uint8_t>(fault.value), UINT16_MAX, now);
        // Half of it: a refresh is there before it runs out.
        next = std::min(
            next,
            static_cast<int64_t>(256e12 * UINT16_MAX / static_cast<double>(port.GetRate())));
    }
    if (fault.endPs < 0 || now + next < fault.endPs)
    {
        Schedule(now + next, [this, f] { Pause(f); });
    }
}

} // namespace ns3
