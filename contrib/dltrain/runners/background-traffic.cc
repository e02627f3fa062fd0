/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "background-traffic.h"

#include "contrib/dltrain/transports/flow-transport.h"
#include "reports/base/human-text.h"
#include "reports/schema/quantiles.h"
#include "reports/stats/loss-counts.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dltrain
{

namespace
{

/// In flows.csv, so that they are no flow's of the job, which count from 0.
constexpr uint32_t FIRST_FLOW = 1000000000;
/// The names of channels of an epoch differ from those of all jobs, and of the epochs before.
constexpr uint32_t FIRST_JOB = 1U << 15; // those of jobs are below: ChannelName has 16 bits

} // namespace

BackgroundTraffic::BackgroundTraffic(const scenario::Background& spec,
                                     const std::string& network,
                                     SocketStack* stack,
                                     ns3::RdmaFabric& fabric,
                                     TraceCollector& collector,
                                     bool warmup)
    : m_spec(spec),
      m_collector(collector),
      m_places(fabric),
      m_transport(MakeFlowTransport(network,
                                    spec.protocol,
                                    stack,
                                    {fabric, collector, m_places},
                                    spec.repeats)),
      m_owner(collector.AddOwner("background", true)),
      m_isWarmup(warmup),
      m_nextFlow(FIRST_FLOW)
{
    if (spec.protocol.IsOrdinary())
    {
        collector.SetOwnerOfOrdinary(m_owner);
    }
}

BackgroundTraffic::~BackgroundTraffic() = default;

void
BackgroundTraffic::Start(bool lasting)
{
    m_lasting = lasting;
    BeginEpoch();
}

void
BackgroundTraffic::BeginEpoch()
{
    const int64_t now = ns3::RdmaClock::Now();
    while (!m_epochs.empty() && !m_spec.repeats &&
           m_epochs.front().runner->GetCounts().ended == m_epochs.front().flows.size())
    {
        m_past += m_epochs.front().runner->GetCounts();
        m_epochs.pop_front();
    }
    m_isOver = !m_lasting && m_collector.GetFailed() > GetCounts().failed;
    if (m_isOver)
    {
        return;
    }
    ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                        ns3::RdmaClock::At(m_spec.epoch.ps),
                                        [this] { BeginEpoch(); });
    if (m_spec.repeats && m_begun > 0)
    {
        return;
    }
    Epoch& epoch = m_epochs.emplace_back();
    epoch.flows = m_spec.flows(m_begun);
    for (scenario::Flow& flow : epoch.flows)
    {
        flow.start.ps += now;
    }
    FlowJob job{epoch.flows, m_all};
    job.operation = m_spec.operation;
    job.queuePairs = m_spec.queuePairs;
    // An epoch's flows are done long before its number comes again.
    job.number = FIRST_JOB + m_begun % FIRST_JOB;
    job.firstFlow = m_nextFlow;
    job.repeats = m_spec.repeats;
    job.isWarmup = &m_isWarmup;
    job.isOver = &m_isOver;
    ++m_begun;
    m_nextFlow += static_cast<uint32_t>(epoch.flows.size());
    epoch.runner = std::make_unique<FlowRunner>(
        job,
        *m_transport,
        m_places,
        *this,
        [this](const std::string& tag) { return m_collector.Tag("background " + tag, m_owner); });
    epoch.runner->Start();
}

void
BackgroundTraffic::StartMeasuring(int64_t now)
{
    m_isWarmup = false;
    m_measuredFrom = now;
    m_warmup = GetCounts();
}

RunControl::JobSight
BackgroundTraffic::SeeOthers(const ns3::RdmaFabric& fabric) const
{
    const auto* mine = dynamic_cast<const ns3::RdmaNicUser*>(m_transport.get());
    RunControl::JobSight sight;
    // endpoint, number: queue pairs that receive for others
    std::set<std::pair<uint32_t, uint32_t>> others;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const ns3::RdmaNic& nic = *fabric.GetNic(e); // there is one process
        for (uint32_t i = 0; i < nic.GetNQueuePairs(); ++i)
        {
            const ns3::RdmaQueuePair& qp = *nic.GetQueuePair(i);
            if (qp.GetUser() == mine)
            {
                continue;
            }
            if (qp.GetState() == ns3::RdmaQueuePair::State::ERROR)
            {
                sight.failed = true;
                continue; // its posts are never sent
            }
            others.insert({e, qp.GetNumber()});
            // These numbers never decrease, except the sent bytes of a queue pair that rests.
            const uint64_t acknowledged = qp.GetBytesAcknowledged();
            const uint64_t waits = qp.GetBytesPosted() - acknowledged;
            sight.waits = sight.waits || waits > 0;
            // Not what waits for a time-out beside a NIC that is paused now and then.
            const bool unsent =
                waits > 0 && qp.GetCongestionState().bytesSent < qp.GetBytesPosted();
            const bool paused = nic.GetPort()->GetPausedMask() >> qp.GetPriority() & 1;
            sight.held = sight.held || (unsent && paused);
            sight.moved += qp.GetBytesPosted() + acknowledged + qp.GetBytesReceived() +
                           (waits ? qp.GetCongestionState().bytesSent : 0);
        }
    }
    for (const auto& port : fabric.GetPorts())
    {
        for (uint8_t priority = 0; priority < 8 && !sight.held; ++priority)
        {
            port->ForEachQueued(priority, [&](const ns3::RdmaFrame& frame) {
                sight.held = sight.held || (ns3::IsData(frame.opcode) &&
                                            others.count({frame.dst, frame.destQp}) > 0);
            });
        }
    }
    return sight;
}

FlowCounts
BackgroundTraffic::GetCounts() const
{
    FlowCounts counts = m_past;
    for (const Epoch& epoch : m_epochs)
    {
        counts += epoch.runner->GetCounts();
    }
    return counts;
}

double
BackgroundTraffic::GetLoad(int64_t end) const
{
    const auto bits = 8 * static_cast<double>(GetCounts().postedBytes - m_warmup.postedBytes);
    const double seconds = static_cast<double>(end - m_measuredFrom) * 1e-12;
    return seconds > 0 ? bits / seconds / static_cast<double>(m_spec.rateBps) : 0;
}

struct BackgroundTraffic::Told
{
    const BackgroundTraffic& of;
    const reports::FlowTotals& totals;
    FlowCounts counts;
    int64_t end;

    /// Who waited for whom.
    const reports::Interference* Waits() const
    {
        return of.m_collector.GetInterference();
    }

    static const Told& Itself(const Told& t)
    {
        return t;
    }
};

const reports::Object<BackgroundTraffic::Told>&
BackgroundTraffic::Keys()
{
    using T = Told;
    using reports::Key;
    using reports::Object;
    static const auto offers = [](const T& t) { return t.of.m_spec.offered.load > 0; };
    static const Object<T> first{
        {"pattern: Who sends to whom", [](const T& t) { return t.of.m_spec.pattern; }},
        {"hosts (count): Hosts that take part", [](const T& t) { return t.of.m_spec.hosts; }},
        Key<T>("protocol: Protocol of the flows, if not RDMA",
               [](const T& t) { return t.of.m_spec.protocol.Name(); })
            .Only([](const T& t) { return t.of.m_spec.protocol.IsOrdinary(); }),
        Key<T>("load (0 to 1): Load asked for, of the links of these hosts",
               [](const T& t) { return t.of.m_spec.offered.load; })
            .Only(offers),
        Key<T>("incast_load (0 to 1): Load of incasts asked for",
               [](const T& t) { return t.of.m_spec.offered.incastLoad; })
            .Only(offers),
        Key<T>("measured_load (0 to 1): Load of the flows that began in the measured time",
               [](const T& t) { return t.of.GetLoad(t.end); })
            .NullUnless([](const T& t) { return !t.of.m_isWarmup; }),
        {"flows_begun (count): Flows that began in the measured time",
         [](const T& t) { return t.counts.posted - t.of.m_warmup.posted; }},
        {"bytes_begun (B): Size of these",
         [](const T& t) { return t.counts.postedBytes - t.of.m_warmup.postedBytes; }},
        {"flows (count): Of these: arrived in it", [](const T& t) { return t.totals.fct.Count(); }},
        {"bytes (B): Size of these", [](const T& t) { return t.totals.bytes; }},
        {"failed (count): Flows whose senders gave up; whole run",
         [](const T& t) { return t.counts.failed; }}};
    // Of TCP's and UDP's packets the waits, and their causes, are not known.
    static const Object<T> waits{
        Key<T>(
            "job: Waits of the job's messages",
            [](const T& t) { return t.Waits()->ToJson(0, "job"); },
            reports::Interference::Words()),
        Key<T>(
            "background: Waits of the background's messages; null: TCP or UDP",
            [](const T& t) { return t.Waits()->ToJson(t.of.m_owner, "job"); },
            reports::Interference::Words())
            .NullUnless([](const T& t) { return !t.of.m_spec.protocol.IsOrdinary(); })};
    static const Object<T> last{
        {"fct_us (us): Completion time of the flows",
         [](const T& t) { return reports::ToJson(reports::QuantilesOf(t.totals.fct, 1e6)); },
         reports::QuantileWords()},
        {"fct_slowdown (ratio): Completion time over that on the idle network",
         [](const T& t) { return reports::ToJson(reports::QuantilesOf(t.totals.slowdown)); },
         reports::QuantileWords()},
        Key<T>("interference: Who waited for whom in switches", T::Itself, waits)
            .Only([](const T& t) { return t.Waits() != nullptr; })};
    static const reports::JoinedKeys words({&first, &reports::LossWords(), &last});
    static const Object<T> keys{{"background: With --background: flows beside the job",
                                 [](const T& t) {
                                     reports::Json json = first.ToJson(t);
                                     AddLosses(*t.of.m_transport, json);
                                     last.AddTo(json, t);
                                     return json;
                                 },
                                 static_cast<const reports::Shape&>(words)}};
    return keys;
}

const reports::RegisteredKeys BackgroundTraffic::g_keys(reports::Section::kOthers,
                                                        BackgroundTraffic::Keys());

void
BackgroundTraffic::AddTo(nlohmann::ordered_json& stats, int64_t end) const
{
    Keys().AddTo(stats, {*this, m_collector.GetFlows().GetTotals(m_owner), GetCounts(), end});
}

void
BackgroundTraffic::Print(std::ostream& os, int64_t end) const
{
    const reports::FlowTotals& totals = m_collector.GetFlows().GetTotals(m_owner);
    const bool ordinary = m_spec.protocol.IsOrdinary();
    os << "Background       " << m_spec.pattern << (ordinary ? " by " + m_spec.protocol.Text() : "")
       << " among " << m_spec.hosts << " hosts: ";
    if (m_isWarmup)
    {
        os << "nothing measured\n";
        return;
    }
    const double asked = m_spec.offered.load + m_spec.offered.incastLoad;
    if (asked > 0)
    {
        os << reports::Format("asked for %.3g%%, ", 100 * asked);
    }
    os << reports::Format("flows that began make %.3g", 100 * GetLoad(end))
       << (ordinary ? "% of their links' rate, without headers" : "% of their links' rate");
    if (totals.fct.Count() == 0)
    {
        os << ", no flow ended" << LossesText(*m_transport) << "\n";
        return;
    }
    const reports::Quantiles fct = reports::QuantilesOf(totals.fct, 1e6);
    const reports::Quantiles slowdown = reports::QuantilesOf(totals.slowdown);
    os << "; " << reports::HumanCount(totals.fct.Count()) << " flows, "
       << reports::HumanBytes(static_cast<double>(totals.bytes)) << LossesText(*m_transport) << "\n"
       << "                 completion p50 " << reports::HumanTime(fct.p50) << "   p99 "
       << reports::HumanTime(fct.p99) << "   slowdown p50 " << reports::Format("%.3g", slowdown.p50)
       << "   p99 " << reports::Format("%.3g", slowdown.p99) << "\n";
}

} // namespace dltrain
