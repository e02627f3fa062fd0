/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Circuits: cables that are cut and whole by a plan, which all switches know.
 */
#include "rdma-faults.h"

#include "ns3/abort.h"
#include "ns3/log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaFaultCircuits");

namespace
{

/// \return what the first of two ascending lists has and the second has not
std::vector<uint32_t>
Without(const std::vector<uint32_t>& these, const std::vector<uint32_t>& those)
{
    std::vector<uint32_t> left;
    std::set_difference(these.begin(),
                        these.end(),
                        those.begin(),
                        those.end(),
                        std::back_inserter(left));
    return left;
}

} // namespace

uint32_t
RdmaFaults::AddCircuits(Circuits circuits)
{
    NS_LOG_FUNCTION(this);
    NS_ABORT_MSG_IF(m_circuits || circuits.changes.empty(), "circuits have one plan, with changes");
    Fault fault{Kind::DOWN, {}, {}, 0, 0, NEVER};
    for (const uint32_t link : circuits.links)
    {
        fault.ends.insert(fault.ends.end(), {2 * link, 2 * link + 1});
    }
    m_circuits = std::make_unique<const Circuits>(std::move(circuits));
    m_circuitFault = Add(std::move(fault));
    return m_circuitFault;
}

const RdmaFaults::Circuits::Change&
RdmaFaults::GetChange(uint64_t change) const
{
    const std::size_t n = m_circuits->changes.size();
    const std::size_t again = m_circuits->again;
    return m_circuits->changes[change < n ? change : again + (change - again) % (n - again)];
}

int64_t
RdmaFaults::GetTimeOf(uint64_t change) const
{
    const std::size_t n = m_circuits->changes.size();
    const std::size_t again = m_circuits->again;
    const auto rounds =
        change < n ? int64_t{0} : static_cast<int64_t>((change - again) / (n - again));
    return GetChange(change).atPs + rounds * m_circuits->periodPs;
}

/// Before the first event, so that no frame finds circuits that are not there.
void
RdmaFaults::StartCircuits()
{
    RdmaClock::Update();
    Record& record = m_records[m_circuitFault];
    record.beginPs = RdmaClock::Now();
    m_active[m_circuitFault] = true;
    Own(m_circuitFault);
    m_lit = m_circuits->links;
    SetCircuits({});
    if (GetTimeOf(0) == 0)
    {
        ChangeCircuits(0);
        return;
    }
    MakeTables(m_circuitFault);
    ScheduleCircuits(0);
}

void
RdmaFaults::ScheduleCircuits(uint64_t change)
{
    const int64_t at =
        change < m_circuits->changes.size() || m_circuits->periodPs ? GetTimeOf(change) : NEVER;
    if (at < 0 || (m_circuits->periodPs && at >= m_circuits->untilPs))
    {
        return;
    }
    const int64_t drain = std::max(at - m_circuits->drainPs, RdmaClock::Now());
    if (drain < at)
    {
        Schedule(drain, [this, change] { DrainCircuits(change); });
    }
    Schedule(at, [this, change] { ChangeCircuits(change); });
}

void
RdmaFaults::DrainCircuits(uint64_t change)
{
    for (const uint32_t link : Without(m_lit, GetChange(change).up))
    {
        m_cables[link].drained = true;
    }
    MakeTables(m_circuitFault);
}

void
RdmaFaults::ChangeCircuits(uint64_t change)
{
    NS_LOG_INFO("change " << change << " of circuits");
    ++m_records[m_circuitFault].times;
    CollectStranded();
    Own(m_circuitFault);
    SetCircuits(GetChange(change).up);
    Tell(Step::CHANGED, m_circuitFault, 0, static_cast<uint32_t>(GetChange(change).up.size()));
    if (m_circuits->darkPs)
    {
        MakeTables(m_circuitFault);
        Schedule(RdmaClock::Now() + m_circuits->darkPs, [this] { LightCircuits(); });
    }
    else
    {
        LightCircuits();
    }
    ScheduleCircuits(change + 1);
}

/// Ends all circuits but these; those that are new are dark yet.
void
RdmaFaults::SetCircuits(const std::vector<uint32_t>& up)
{
    const int64_t now = RdmaClock::Now();
    for (const uint32_t link : Without(m_lit, up))
    {
        Cable& cable = m_cables[link];
        cable.fault = m_circuitFault;
        cable.drained = false;
        cable.known = true;
        if (cable.cuts++ == 0)
        {
            ++cable.changes;
            m_fabric.GetPortOfEnd(2 * link)->Cut(now);
            m_fabric.GetPortOfEnd(2 * link + 1)->Cut(now);
        }
        MarkDead(2 * link);
        MarkDead(2 * link + 1);
    }
    m_getting = Without(up, m_lit);
    m_lit = up;
}

void
RdmaFaults::LightCircuits()
{
    std::vector<uint32_t> whole;
    for (const uint32_t link : std::exchange(m_getting, {}))
    {
        if (--m_cables[link].cuts == 0)
        {
            whole.push_back(link);
        }
    }
    Mend(whole);
    MakeTables(m_circuitFault);
}

} // namespace ns3
