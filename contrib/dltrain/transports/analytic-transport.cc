/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytic-transport.h"

#include <algorithm>

namespace dltrain
{

namespace
{

NetworkKind g_analyticKind("analytic", [](const NetworkParts& parts) -> std::unique_ptr<Transport> {
    return std::make_unique<AnalyticTransport>(parts);
});

} // namespace

AnalyticTransport::AnalyticTransport(const NetworkParts& parts)
    : FormulaTransport(parts),
      m_out(parts.fabric.GetNEndpoints()),
      m_in(parts.fabric.GetNEndpoints()),
      m_events(this)
{
}

std::vector<rdma::PathLink>
AnalyticTransport::FindPath(uint32_t channel)
{
    return m_fabric.GetPath(m_channels[channel].from, m_channels[channel].to);
}

void
AnalyticTransport::SetFrames(uint32_t channel,
                             const std::vector<rdma::FrameRun>& frames,
                             int64_t ideal)
{
    const Channel& on = m_channels[channel];
    const auto workOn = [&frames](const rdma::PathLink& link) {
        return rdma::IdealCompletion(
                   {{link.rate, rdma::Duration(0), rdma::Duration(0), link.timeUnit}},
                   frames)
            .ps;
    };
    Work& work = Reach(m_workOf, channel);
    work.out = workOn(on.path.front());
    work.in = workOn(on.path.back());
    work.slowest = 0;
    for (const rdma::PathLink& link : on.path)
    {
        work.slowest = std::max(work.slowest, workOn(link));
    }
    work.ideal = ideal;
    work.tail = ideal - work.slowest;
    if (on.mostBps)
    {
        // Its frames begin that far apart; the last one then goes as fast as all others do.
        const Paced paced = PacedOf(on, frames);
        const int64_t onLink =
            rdma::SerializationTime(frames.back().wireBytes, on.path.front().rate)
                .ps; // at the slowest, or less
        work.ideal += std::max<int64_t>(0, paced.lastBegins + onLink - work.slowest);
        work.slowest = std::max(work.slowest, paced.all);
    }
}

void
AnalyticTransport::OnPosted(uint32_t message)
{
    Progress& progress = Reach(m_progressOf, message);
    progress = {};
    progress.work = m_workOf[m_messages[message].channel];
}

void
AnalyticTransport::Send(uint32_t channel, int64_t now)
{
    const Channel& on = m_channels[channel];
    const uint32_t index = on.head;
    Progress& progress = m_progressOf[index];
    progress.begun = now;
    m_out[on.from].server.Add(rdma::Duration(progress.work.out),
                              LevelOf(on.name.priority),
                              index,
                              rdma::TimePoint(now));
    Wake(m_out, EventKind::OUT, on.from);
    m_events.Schedule(now + progress.work.ideal - progress.work.in,
                      ContextOf(on.to),
                      {EventKind::REACH, index});
}

void
AnalyticTransport::Wake(std::vector<Side>& sides, EventKind kind, uint32_t endpoint)
{
    sides[endpoint].Wake([&](int64_t at) {
        m_events.Schedule(at, ContextOf(endpoint), {kind, endpoint});
    });
}

void
AnalyticTransport::OnEvent(const Event& event, int64_t now)
{
    switch (event.kind)
    {
    case EventKind::REACH: {
        const Channel& on = m_channels[m_messages[event.which].channel];
        m_in[on.to].server.Add(rdma::Duration(m_progressOf[event.which].work.in),
                               LevelOf(on.name.priority),
                               event.which,
                               rdma::TimePoint(now));
        Wake(m_in, EventKind::IN, on.to);
        return;
    }
    case EventKind::ARRIVE:
        m_progressOf[event.which].arrived = true;
        DeliverIfThere(event.which, now);
        return;
    case EventKind::OUT:
    case EventKind::IN:
        break;
    }
    const bool out = event.kind == EventKind::OUT;
    std::vector<Side>& sides = out ? m_out : m_in;
    sides[event.which].Woken(now, [&](uint64_t cookie) {
        const auto message = static_cast<uint32_t>(cookie);
        if (out)
        {
            OnOut(message, now);
            return;
        }
        m_progressOf[message].served = true;
        DeliverIfThere(message, now);
    });
    Wake(sides, event.kind, event.which);
}

void
AnalyticTransport::OnOut(uint32_t message, int64_t now)
{
    const Progress& progress = m_progressOf[message];
    const uint32_t channel = m_messages[message].channel;
    m_events.Schedule(std::max(now + progress.work.tail, progress.begun + progress.work.ideal),
                      ContextOf(m_channels[channel].to),
                      {EventKind::ARRIVE, message});
    // The next one cannot pass the slowest link before this one has.
    Next(channel, std::max(now, progress.begun + progress.work.slowest));
}

void
AnalyticTransport::DeliverIfThere(uint32_t message, int64_t now)
{
    if (m_progressOf[message].served && m_progressOf[message].arrived)
    {
        Arrived(message, now);
    }
}

} // namespace dltrain
