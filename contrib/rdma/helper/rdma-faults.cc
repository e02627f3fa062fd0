/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-faults.h"

#include "ns3/abort.h"
#include "ns3/callback.h"
#include "ns3/log.h"
#include "ns3/rdma-packets.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaFaults");

namespace
{

/// Random streams of links that may fail: beyond those that a fabric gives out one after another.
constexpr int64_t FIRST_STREAM = int64_t{1} << 40;

/// Kinds that lose frames: DOWN, BIT_ERRORS, SILENT_DROPS.
constexpr std::size_t LOSSY_KINDS = 3;

std::size_t
IndexOf(RdmaFaults::Kind kind)
{
    return kind == RdmaFaults::Kind::DOWN ? 0 : kind == RdmaFaults::Kind::BIT_ERRORS ? 1 : 2;
}

/// What a frame's loss says of who is hit: data of a queue pair does, and an ordinary packet to one
/// NIC, whatever is in it; and an answer, whose data waits for it.
void
NotePair(std::set<uint64_t>& pairs, const RdmaFrame& frame)
{
    if (IsData(frame.opcode) ||
        (frame.opcode == RdmaOpcode::ETHERNET && frame.dst != RdmaPacketAddresses::EVERYBODY))
    {
        pairs.insert(uint64_t{frame.src} << 32 | frame.dst);
    }
    else if (frame.opcode == RdmaOpcode::ACKNOWLEDGE || IsNdpAnswer(frame.opcode))
    {
        pairs.insert(RdmaFaults::ANSWERS | uint64_t{frame.dst} << 32 | frame.src);
    }
}

} // namespace

/// Notes whose frames are lost at an end: touched by the end's node, or between the nodes' events.
class RdmaFaults::Watcher
{
  public:
    explicit Watcher(RdmaPort& port)
    {
        port.TraceConnectWithoutContext("LinkDown", MakeCallback(&Watcher::OnLinkDown, this));
        port.TraceConnectWithoutContext("CutSent", MakeCallback(&Watcher::OnLinkDown, this));
        port.TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Watcher::OnCorrupt, this));
        port.TraceConnectWithoutContext("SilentDrop", MakeCallback(&Watcher::OnSilentDrop, this));
    }

    void Note(Kind kind, const RdmaFrame& frame)
    {
        NotePair(losses[IndexOf(kind)].pairs, frame);
    }

    std::array<Losses, LOSSY_KINDS> losses;

  private:
    void OnLinkDown(const RdmaPort*, const RdmaFrame* frame, int64_t)
    {
        Note(Kind::DOWN, *frame);
    }

    void OnCorrupt(const RdmaPort*, const RdmaFrame* frame, int64_t)
    {
        Note(Kind::BIT_ERRORS, *frame);
    }

    void OnSilentDrop(const RdmaPort*, const RdmaFrame* frame, int64_t)
    {
        Note(Kind::SILENT_DROPS, *frame);
    }
};

/// Notes whose frames a switch has no way for: touched by its node, or between the nodes' events.
class RdmaFaults::SwitchWatcher
{
  public:
    explicit SwitchWatcher(RdmaSwitchBase& device)
        : name(device.GetName())
    {
        device.TraceConnectWithoutContext("Drop", MakeCallback(&SwitchWatcher::OnDrop, this));
    }

    std::string name; //!< of the node
    // Since they were collected:
    std::set<uint64_t> pairs;    //!< for whom a link of this switch is dead
    std::set<uint64_t> unrouted; //!< that its tables, made without dead links, lead nowhere

    /// \return those that a fault is to blame for that is there \param here it cuts a cable of
    /// this switch
    std::set<uint64_t> Of(bool here) const
    {
        std::set<uint64_t> all = unrouted;
        if (here)
        {
            all.insert(pairs.begin(), pairs.end());
        }
        return all;
    }

  private:
    void OnDrop(const RdmaSwitchBase*,
                const RdmaPort*,
                const RdmaFrame* frame,
                RdmaSwitchBase::DropReason reason,
                int64_t)
    {
        if (reason == RdmaSwitchBase::NO_ROUTE)
        {
            NotePair(unrouted, *frame);
        }
        else if (reason == RdmaSwitchBase::DEAD_NEXT_HOP ||
                 reason == RdmaSwitchBase::LINK_DOWN) // what waited for a dead link
        {
            NotePair(pairs, *frame);
        }
    }
};

RdmaFaults::RdmaFaults(RdmaFabric& fabric, const Times& times)
    : m_fabric(fabric),
      m_times(times)
{
    NS_ABORT_MSG_IF(fabric.GetNRanks() > 1, "faults are of fabrics that one rank simulates");
}

RdmaFaults::~RdmaFaults() = default;

bool
RdmaFaults::Loses(Kind kind)
{
    return kind == Kind::DOWN || kind == Kind::BIT_ERRORS || kind == Kind::SILENT_DROPS;
}

uint32_t
RdmaFaults::Add(Fault fault)
{
    NS_LOG_FUNCTION(this);
    NS_ABORT_MSG_IF(fault.periodPs > 0 && fault.endPs < 0, "what comes and goes has to end");
    m_faults.push_back(std::move(fault));
    return GetN() - 1;
}

void
RdmaFaults::SetListener(Listener listener)
{
    NS_LOG_FUNCTION(this);
    m_listener = std::move(listener);
}

void
RdmaFaults::Start()
{
    NS_LOG_FUNCTION(this);
    if (GetN() == 0)
    {
        return;
    }
    m_fabric.ExpectFaults();
    m_records.resize(GetN());
    m_pairs.resize(GetN());
    m_strandedBefore.resize(GetN());
    m_active.resize(GetN());
    m_cables.resize(m_fabric.GetNEnds() / 2);
    m_flushed.resize(m_fabric.GetNEnds());
    m_watchers.resize(m_fabric.GetNEnds());
    for (uint32_t f = 0; f < GetN(); ++f)
    {
        const Fault& fault = m_faults[f];
        for (const uint32_t end : fault.ends)
        {
            if (!Loses(fault.kind) || m_watchers[end])
            {
                continue;
            }
            // Both ends, as each counts on what the other does.
            for (const uint32_t e : {end, end ^ 1})
            {
                m_fabric.GetPortOfEnd(e)->MayFail(FIRST_STREAM + 2 * int64_t{e});
            }
            m_watchers[end] = std::make_unique<Watcher>(*m_fabric.GetPortOfEnd(end));
        }
        if (!m_circuits || f != m_circuitFault)
        {
            Schedule(fault.beginPs, [this, f] { Begin(f); });
        }
    }
    if (std::any_of(m_faults.begin(), m_faults.end(), [](const Fault& fault) {
            return fault.kind == Kind::DOWN;
        }))
    {
        for (const Ptr<RdmaSwitchBase>& device : m_fabric.GetSwitches())
        {
            m_switchWatchers.push_back(std::make_unique<SwitchWatcher>(*device));
        }
    }
    if (m_circuits)
    {
        StartCircuits();
    }
}

void
RdmaFaults::Schedule(int64_t at, std::function<void()> what)
{
    Simulator::ScheduleWithContext(Simulator::NO_CONTEXT,
                                   RdmaClock::At(at) - Simulator::Now(),
                                   std::move(what));
}

void
RdmaFaults::Tell(Step step, uint32_t fault, uint32_t end, uint32_t links, std::string error)
{
    if (m_listener)
    {
        m_listener({step, fault, end, links, std::move(error), RdmaClock::Now()});
    }
}

// Cables -----------------------------------------------------------------------------------------

void
RdmaFaults::CutCables(uint32_t f)
{
    const Fault& fault = m_faults[f];
    const int64_t now = RdmaClock::Now();
    std::vector<std::pair<uint32_t, uint64_t>> cut;
    for (const uint32_t end : fault.ends)
    {
        if (end % 2)
        {
            continue; // the cable's other end was there
        }
        Cable& cable = m_cables[end / 2];
        cable.fault = f;
        if (cable.cuts++ == 0)
        {
            cut.emplace_back(end / 2, ++cable.changes);
            m_fabric.GetPortOfEnd(end)->Cut(now);
            m_fabric.GetPortOfEnd(end + 1)->Cut(now);
        }
    }
    for (const uint32_t end : fault.dead)
    {
        MarkDead(end);
        FailOver(end, f);
    }
    for (const auto& [link, change] : cut)
    {
        if (m_times.detectionPs == 0)
        {
            Detect(link, change);
            continue;
        }
        Schedule(now + m_times.detectionPs,
                 [this, link = link, change = change] { Detect(link, change); });
    }
}

void
RdmaFaults::MendCables(uint32_t f)
{
    std::vector<uint32_t> whole;
    for (const uint32_t end : m_faults[f].ends)
    {
        if (end % 2 == 0 && --m_cables[end / 2].cuts == 0)
        {
            whole.push_back(end / 2);
        }
    }
    if (Mend(whole))
    {
        ScheduleTables(f);
    }
}

/// \return whether a switch had known them as cut
bool
RdmaFaults::Mend(const std::vector<uint32_t>& links)
{
    const int64_t now = RdmaClock::Now();
    for (const uint32_t link : links)
    {
        ++m_cables[link].changes;
        m_fabric.GetPortOfEnd(2 * link)->Mend(now);
        m_fabric.GetPortOfEnd(2 * link + 1)->Mend(now);
    }
    bool wasKnown = false;
    for (const uint32_t link : links)
    {
        for (const uint32_t end : {2 * link, 2 * link + 1})
        {
            RdmaPort& port = *m_fabric.GetPortOfEnd(end);
            if (port.IsDown())
            {
                m_fabric.SetEndDead(end, false);
                port.SetLinkUp(true, now);
            }
            if (!m_failedOver.empty() && m_failedOver[end])
            {
                m_failedOver[end] = false;
                m_fabric.SetBondDead(end, false);
            }
        }
        wasKnown |= std::exchange(m_cables[link].known, false);
    }
    return wasKnown;
}

/// The switch at an end knows.
void
RdmaFaults::MarkDead(uint32_t end)
{
    RdmaPort& port = *m_fabric.GetPortOfEnd(end);
    RdmaSwitchBase* device = m_fabric.GetSwitch(m_fabric.GetNodeOfEnd(end));
    if (!device || port.IsDown())
    {
        return;
    }
    for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
    {
        port.ForEachQueued(p, [&](const RdmaFrame& frame) {
            m_watchers[end]->Note(Kind::DOWN, frame);
        });
    }
    m_fabric.SetEndDead(end, true); // so that pauses that end now find new ways
    const uint64_t before = device->GetDrops(RdmaSwitchBase::LINK_DOWN);
    port.SetLinkUp(false, RdmaClock::Now());
    m_flushed[end] += device->GetDrops(RdmaSwitchBase::LINK_DOWN) - before;
}

/// The host at an end knows, if its port is one of a bond.
void
RdmaFaults::FailOver(uint32_t end, uint32_t f)
{
    m_failedOver.resize(m_fabric.GetNEnds());
    if (!m_failedOver[end] && m_fabric.SetBondDead(end, true))
    {
        m_failedOver[end] = true;
        Tell(Step::DETECTED, f, end);
    }
}

void
RdmaFaults::Detect(uint32_t link, uint64_t change)
{
    Cable& cable = m_cables[link];
    if (cable.changes != change)
    {
        return; // it is whole again, or again cut
    }
    const int64_t now = RdmaClock::Now();
    for (const uint32_t end : {2 * link, 2 * link + 1})
    {
        const bool isSwitch = m_fabric.IsSwitch(m_fabric.GetNodeOfEnd(end));
        if (isSwitch && !m_fabric.GetPortOfEnd(end)->IsDown())
        {
            MarkDead(end);
            Tell(Step::DETECTED, cable.fault, end);
        }
        cable.known |= isSwitch;
        FailOver(end, cable.fault);
    }
    if (!cable.known)
    {
        return; // from host to host
    }
    for (uint32_t f = 0; f < GetN(); ++f)
    {
        if (m_active[f] && m_faults[f].kind == Kind::DOWN && m_records[f].detectedPs < 0 &&
            std::binary_search(m_faults[f].ends.begin(), m_faults[f].ends.end(), 2 * link))
        {
            m_records[f].detectedPs = now;
        }
    }
    ScheduleTables(cable.fault);
}

void
RdmaFaults::ScheduleTables(uint32_t f)
{
    if (m_times.convergencePs == 0)
    {
        MakeTables(f);
        return;
    }
    Schedule(RdmaClock::Now() + m_times.convergencePs, [this, f] { MakeTables(f); });
}

void
RdmaFaults::MakeTables(uint32_t f)
{
    std::vector<bool> down;
    uint32_t count = 0;
    bool same = true;
    for (uint32_t link = 0; link < m_cables.size(); ++link)
    {
        const bool out = m_cables[link].known || m_cables[link].drained;
        down.push_back(out);
        count += out;
        same &= out == m_fabric.IsLinkDown(link);
    }
    if (same)
    {
        return; // others were faster
    }
    const std::string error = m_fabric.SetLinksDown(std::move(down));
    const int64_t now = RdmaClock::Now();
    for (uint32_t g = 0; g < GetN() && error.empty(); ++g)
    {
        if (m_records[g].detectedPs >= 0 && m_records[g].reroutedPs < 0)
        {
            m_records[g].reroutedPs = now;
        }
    }
    Tell(Step::REROUTED, f, 0, count, error);
}

// What is lost -----------------------------------------------------------------------------------

uint64_t
RdmaFaults::LostAt(Kind kind, uint32_t end) const
{
    const RdmaPortCounters counters = m_fabric.GetPortOfEnd(end)->GetCounters();
    return kind == Kind::DOWN ? counters.linkDownLost + counters.linkDownSent +
                                    counters.linkDownQueued + m_flushed[end]
           : kind == Kind::BIT_ERRORS ? counters.corrupted
                                      : counters.silentDrops;
}

/// What is lost at its ends from now on is this fault's.
void
RdmaFaults::Own(uint32_t f)
{
    const Fault& fault = m_faults[f];
    if (!Loses(fault.kind))
    {
        return;
    }
    for (const uint32_t end : fault.ends)
    {
        Losses& losses = m_watchers[end]->losses[IndexOf(fault.kind)];
        if (losses.owner == f)
        {
            continue;
        }
        const uint64_t lost = LostAt(fault.kind, end);
        if (losses.owner >= 0)
        {
            m_records[losses.owner].framesLost += lost - losses.base;
            m_pairs[losses.owner].merge(losses.pairs);
        }
        losses.pairs.clear();
        losses.owner = f;
        losses.base = lost;
    }
}

uint64_t
RdmaFaults::CountStranded() const
{
    return m_fabric.GetDrops(RdmaSwitchBase::DEAD_NEXT_HOP) +
           m_fabric.GetDrops(RdmaSwitchBase::NO_ROUTE);
}

/// \return whether a cable of a fault is one of this node's
static bool
Touches(const RdmaFabric& fabric, const RdmaFaults::Fault& fault, const std::string& node)
{
    return std::any_of(fault.ends.begin(), fault.ends.end(), [&](uint32_t end) {
        return fabric.GetNodeName(fabric.GetNodeOfEnd(end)) == node;
    });
}

/// What found no way since the last time is due to the cuts that are there: at a switch whose next
/// hop is dead, to those of its own cables.
void
RdmaFaults::CollectStranded()
{
    for (const auto& watcher : m_switchWatchers)
    {
        const bool any = !watcher->pairs.empty() || !watcher->unrouted.empty();
        for (uint32_t f = 0; f < GetN() && any; ++f)
        {
            if (m_active[f] && m_faults[f].kind == Kind::DOWN)
            {
                m_pairs[f].merge(watcher->Of(Touches(m_fabric, m_faults[f], watcher->name)));
            }
        }
        watcher->pairs.clear();
        watcher->unrouted.clear();
    }
}

std::set<uint64_t>
RdmaFaults::GetPairs(uint32_t f) const
{
    const Fault& fault = m_faults[f];
    std::set<uint64_t> pairs = m_pairs[f];
    for (const auto& watcher : m_switchWatchers)
    {
        if (m_active[f] && fault.kind == Kind::DOWN)
        {
            pairs.merge(watcher->Of(Touches(m_fabric, fault, watcher->name)));
        }
    }
    for (const uint32_t end : Loses(fault.kind) ? fault.ends : std::vector<uint32_t>())
    {
        const Losses& losses = m_watchers[end]->losses[IndexOf(fault.kind)];
        if (losses.owner == f)
        {
            pairs.insert(losses.pairs.begin(), losses.pairs.end());
        }
    }
    return pairs;
}

RdmaFaults::Record
RdmaFaults::GetRecord(uint32_t f) const
{
    const Fault& fault = m_faults[f];
    Record record = m_records[f];
    if (m_active[f])
    {
        record.framesStranded += CountStranded() - m_strandedBefore[f];
    }
    for (const uint32_t end : Loses(fault.kind) ? fault.ends : std::vector<uint32_t>())
    {
        const Losses& losses = m_watchers[end]->losses[IndexOf(fault.kind)];
        if (losses.owner == f)
        {
            record.framesLost += LostAt(fault.kind, end) - losses.base;
        }
    }
    const std::set<uint64_t> pairs = GetPairs(f);
    record.pairsHit = static_cast<uint64_t>(
        std::count_if(pairs.begin(), pairs.end(), [](uint64_t p) { return !(p & ANSWERS); }));
    return record;
}

} // namespace ns3
