/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fault-run.h"

#include "reports/base/human-text.h"

#include "ns3/object-factory.h"
#include "ns3/rdma-switch.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace dltrain
{

using ns3::RdmaFaults;
using scenario::FaultKind;

FaultRun::FaultRun(const scenario::FaultPlan& plan, ns3::RdmaFabric& fabric, EventCollector& events)
    : m_plan(plan),
      m_fabric(fabric),
      m_events(events),
      m_faults(fabric, {plan.detection.ps, plan.convergence.ps})
{
    for (std::size_t i = 0; i < plan.faults.size(); ++i)
    {
        const scenario::Fault& fault = plan.faults[i];
        if (fault.IsOfNetwork())
        {
            m_numbers.emplace_back(fault.circuits
                                       ? m_faults.AddCircuits(TranslateCircuits(*fault.circuits))
                                       : m_faults.Add(Translate(fault)));
            m_indices.push_back(i);
        }
        else
        {
            m_numbers.emplace_back();
            m_ofGpus[i];
        }
    }
    m_faults.SetListener([this](const RdmaFaults::Event& event) { OnEvent(event); });
}

RdmaFaults::Circuits
FaultRun::TranslateCircuits(const topo::CircuitPlan& plan)
{
    RdmaFaults::Circuits out;
    out.links = plan.links;
    for (const topo::CircuitPlan::Change& change : plan.changes)
    {
        out.changes.push_back({change.at.ps, change.up});
    }
    out.again = plan.again;
    out.periodPs = plan.every.ps;
    out.untilPs = plan.until.ps;
    out.darkPs = plan.dark.ps;
    out.drainPs = plan.drain.ps;
    return out;
}

RdmaFaults::Fault
FaultRun::Translate(const scenario::Fault& fault) const
{
    RdmaFaults::Fault out{};
    out.ends = fault.ends;
    out.dead = fault.dead;
    out.value = fault.value;
    out.beginPs = fault.at.ps;
    out.endPs = fault.length.ps ? fault.at.ps + fault.length.ps : RdmaFaults::NEVER;
    switch (fault.kind)
    {
    case FaultKind::kRate:
    case FaultKind::kLaneDown:
        out.kind = RdmaFaults::Kind::RATE;
        out.isShare = fault.kind == FaultKind::kLaneDown;
        out.value = out.isShare ? fault.value : static_cast<double>(fault.rate.bps);
        break;
    case FaultKind::kBitErrors:
        out.kind = RdmaFaults::Kind::BIT_ERRORS;
        break;
    case FaultKind::kDrop:
        out.kind = RdmaFaults::Kind::SILENT_DROPS;
        break;
    case FaultKind::kPauseStorm: {
        out.kind = RdmaFaults::Kind::PAUSE_STORM;
        ns3::UintegerValue lossless;
        ns3::ObjectFactory("ns3::RdmaSwitch")
            .Create<ns3::RdmaSwitch>()
            ->GetAttribute("LosslessPriorities", lossless);
        out.value = static_cast<double>(lossless.Get());
        break;
    }
    default:
        out.kind = RdmaFaults::Kind::DOWN;
        break;
    }
    if (fault.kind == FaultKind::kFlap)
    {
        out.periodPs = fault.period.ps;
        out.upPs = std::llround(static_cast<double>(fault.period.ps) * (1 - fault.duty));
    }
    return out;
}

void
FaultRun::Start()
{
    m_faults.Start();
    for (const auto& [index, none] : m_ofGpus)
    {
        ScheduleOfGpu(index);
    }
}

void
FaultRun::ScheduleOfGpu(std::size_t index)
{
    const scenario::Fault& fault = m_plan.faults[index];
    const auto at = [](int64_t ps, std::function<void()> what) {
        ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                            ns3::RdmaClock::At(ps),
                                            std::move(what));
    };
    at(fault.at.ps, [this, index] {
        OfGpu& of = m_ofGpus[index];
        of.begun = ns3::RdmaClock::Now();
        of.missed = m_whyMissed ? m_whyMissed(index) : std::string();
        Write(of.begun,
              m_plan.faults[index].where,
              m_plan.faults[index].what + " begins" +
                  (of.missed.empty() ? "" : " and hits nobody: " + of.missed));
    });
    if (fault.length.ps)
    {
        at(fault.at.ps + fault.length.ps, [this, index] {
            m_ofGpus[index].ended = ns3::RdmaClock::Now();
            Write(ns3::RdmaClock::Now(),
                  m_plan.faults[index].where,
                  m_plan.faults[index].what + " ends");
        });
    }
}

void
FaultRun::Write(int64_t now, const std::string& where, const std::string& details)
{
    reports::EventLog& log = m_events.GetLog();
    if (log.Count(reports::EventLog::FAULT))
    {
        log.Write(now, reports::EventLog::FAULT, where, details);
    }
}

void
FaultRun::OnEvent(const RdmaFaults::Event& event)
{
    const scenario::Fault& fault = m_plan.faults[m_indices[event.fault]];
    switch (event.step)
    {
    case RdmaFaults::Step::BEGINS:
        Write(event.now, fault.where, fault.what + " begins");
        return;
    case RdmaFaults::Step::ENDS:
        Write(event.now, fault.where, fault.what + " ends");
        return;
    case RdmaFaults::Step::DETECTED:
        Write(event.now,
              m_fabric.GetLinkName(event.end),
              m_fabric.GetNodeName(m_fabric.GetNodeOfEnd(event.end)) +
                  " knows that the link is dead, and " +
                  (m_fabric.IsSwitch(m_fabric.GetNodeOfEnd(event.end)) ? "leaves it out"
                                                                       : "sends by other ports"));
        return;
    case RdmaFaults::Step::CHANGED:
        Write(event.now,
              fault.where,
              "circuits change: " + std::to_string(event.links) +
                  (event.links == 1 ? " circuit" : " circuits") + " from now on");
        return;
    case RdmaFaults::Step::REROUTED:
        Write(event.now,
              "*",
              event.error.empty() ? "all switches have new tables, " +
                                        (event.links ? "without " + std::to_string(event.links) +
                                                           (event.links == 1 ? " link" : " links")
                                                     : std::string("with all links"))
                                  : "no new tables, the old ones stay: " + event.error);
        return;
    }
}

void
FaultRun::NoteBond(reports::FaultRecord& record, const scenario::Fault& fault) const
{
    const uint32_t bond = m_fabric.GetBond();
    if (bond == 1 || !fault.IsCut())
    {
        return;
    }
    for (const uint32_t end : fault.ends)
    {
        const uint32_t node = m_fabric.GetNodeOfEnd(end);
        if (m_fabric.IsSwitch(node))
        {
            continue;
        }
        double all = 0;
        double left = 0;
        const uint32_t first = m_fabric.GetPortNumber(end) / bond * bond;
        for (uint32_t port = first; port < first + bond; ++port)
        {
            const uint32_t other = m_fabric.GetEndsOfNode(node)[port];
            const double rate = static_cast<double>(m_fabric.GetLink(other).rateBps) / 1e9;
            all += rate;
            left += std::binary_search(fault.ends.begin(), fault.ends.end(), other) ? 0 : rate;
        }
        record.nicGbpsLeft = record.nicGbps == 0 ? left : std::min(left, record.nicGbpsLeft);
        record.nicGbps = std::max(record.nicGbps, all);
    }
}

std::vector<reports::FaultRecord>
FaultRun::GetRecords() const
{
    std::vector<reports::FaultRecord> records;
    for (std::size_t i = 0; i < m_plan.faults.size(); ++i)
    {
        reports::FaultRecord record = reports::RecordOf(m_plan.faults[i]);
        if (m_numbers[i])
        {
            const RdmaFaults::Record of = m_faults.GetRecord(*m_numbers[i]);
            record.begun = of.beginPs;
            record.ended = of.endPs;
            record.detected = of.detectedPs;
            record.rerouted = of.reroutedPs;
            record.times = of.times;
            record.framesLost = of.framesLost;
            record.framesWithoutWay = of.framesStranded;
            record.pairsHit = of.pairsHit;
            NoteBond(record, m_plan.faults[i]);
        }
        else
        {
            record.begun = m_ofGpus.at(i).begun;
            record.ended = m_ofGpus.at(i).ended;
            record.missed = m_ofGpus.at(i).missed;
            record.times = record.begun >= 0;
        }
        records.push_back(std::move(record));
    }
    return records;
}

void
FaultRun::AddTo(reports::LinkNotes& notes) const
{
    const std::vector<reports::FaultRecord> records = GetRecords();
    for (std::size_t i = 0; i < records.size(); ++i)
    {
        const reports::FaultRecord& record = records[i];
        if (!record.ofNetwork || record.begun < 0)
        {
            continue;
        }
        reports::LinkNotes::Fault note;
        note.words = record.what + " on " + record.where;
        note.begin = record.begun;
        note.end = record.ended < 0 ? INT64_MAX : record.ended;
        note.losesFrames = record.losesFrames;
        const FaultKind kind = m_plan.faults[i].kind;
        const bool onlyLoses = kind == FaultKind::kBitErrors || kind == FaultKind::kDrop ||
                               kind == FaultKind::kCircuits;
        if (onlyLoses && record.framesLost == 0)
        {
            continue; // it did nothing
        }
        note.onlyLoses = onlyLoses;
        const std::set<uint64_t> pairs = m_faults.GetPairs(*m_numbers[i]);
        for (const uint64_t pair : pairs)
        {
            (pair & RdmaFaults::ANSWERS ? note.unanswered : note.pairs)
                .push_back(pair & ~RdmaFaults::ANSWERS);
        }
        for (const uint32_t end : m_plan.faults[i].ends)
        {
            // A rate that the link has anyway is none of its troubles.
            if (kind == FaultKind::kRate &&
                m_plan.faults[i].rate.bps >= m_fabric.GetLink(end).rateBps)
            {
                continue;
            }
            // Messages know the ends that send them. For frames that are lost on arrival that is
            // the other end. A pause storm holds up its peer, too.
            if (!onlyLoses)
            {
                note.ends.push_back(end);
            }
            if (onlyLoses || kind == FaultKind::kPauseStorm)
            {
                note.ends.push_back(end ^ 1);
            }
        }
        notes.Add(std::move(note));
    }
}

std::vector<std::string>
FaultRun::DescribeActive() const
{
    std::vector<std::string> lines;
    for (const reports::FaultRecord& record : GetRecords())
    {
        if (record.begun >= 0 && record.ended < 0)
        {
            lines.push_back("fault " + record.what + " on " + record.where + " since " +
                            reports::HumanTime(static_cast<double>(record.begun) / 1e6));
        }
    }
    return lines;
}

int64_t
QueuePairPatience::GetPs() const
{
    return std::llround(4.096e6 * std::ldexp(1.0, static_cast<int>(exponent)) * tries);
}

QueuePairPatience
GetPatience(const ns3::RdmaNic& nic)
{
    ns3::UintegerValue exponent;
    ns3::UintegerValue retries;
    nic.GetAttribute("TimeoutExponent", exponent);
    nic.GetAttribute("RetryCount", retries);
    return {static_cast<uint32_t>(exponent.Get()), static_cast<uint32_t>(retries.Get() + 1)};
}

std::string
DescribeTimeOuts(const ns3::RdmaFabric& fabric)
{
    // ProcessGroupNCCL's default time-out, 10 minutes: pytorch/pytorch, pull request 110947.
    constexpr double WATCHDOG_S = 600;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (!fabric.IsLocal(e))
        {
            continue;
        }
        const QueuePairPatience patience = GetPatience(*fabric.GetNic(e));
        char text[200];
        if (patience.exponent == 0)
        {
            std::snprintf(
                text,
                sizeof(text),
                "time-outs: a queue pair that hears nothing waits for ever "
                "(RdmaNic::TimeoutExponent is 0), PyTorch's watchdog ends a job on NCCL after %g s",
                WATCHDOG_S);
            return text;
        }
        std::snprintf(text,
                      sizeof(text),
                      "time-outs: a queue pair that hears nothing gives up after %.3g s "
                      "(4.096 us x 2^%u x %u), PyTorch's watchdog ends a job on NCCL after %g s",
                      static_cast<double>(patience.GetPs()) * 1e-12,
                      patience.exponent,
                      patience.tries,
                      WATCHDOG_S);
        return text;
    }
    return {};
}

} // namespace dltrain
