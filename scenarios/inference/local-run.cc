/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/local-run.h"

#include <algorithm>
#include <utility>

namespace serving
{

namespace
{

/// Events between two calls of goOn.
constexpr uint64_t kEventsOfCall = 1024;

} // namespace

LocalRun::LocalRun(const ServingSpec& spec,
                   std::vector<Request> requests,
                   SpanOf spanOf,
                   TransferTime transferTime)
    : m_spec(spec),
      m_spanOf(std::move(spanOf)),
      m_transferTime(std::move(transferTime)),
      m_places(PlacesOf(spec)),
      m_controller(spec, std::move(requests), *this),
      m_seconds(m_places.size())
{
    for (const InstancePlace& place : m_places)
    {
        m_free.emplace_back(spec.pools[place.pool].pp);
    }
}

void
LocalRun::Add(int64_t time, bool iteration, uint32_t which)
{
    m_events.push({time, m_sequence++, iteration, which});
}

void
LocalRun::Run(const IterationOrder& iteration)
{
    std::vector<int64_t>& free = m_free[iteration.instance];
    std::array<double, kTimeParts>& seconds = m_seconds[iteration.instance];
    int64_t ready = m_now;
    for (uint32_t stage = 0; stage < free.size(); ++stage)
    {
        const StageSpan span = m_spanOf(iteration.instance, stage, iteration.loads);
        free[stage] = std::max(free[stage], ready) + span.ps;
        ready = free[stage] + span.hop;
        for (std::size_t i = 0; i < kTimeParts; ++i)
        {
            seconds[i] +=
                static_cast<double>(span.parts[i]) * 1e-12 / static_cast<double>(free.size());
        }
    }
    Add(free.back(), true, iteration.instance);
    for (const TransferOrder& part : iteration.byLayer)
    {
        // The last layer's KV leaves when it is computed.
        Add(free.back() + m_transferTime(part), false, part.request);
    }
}

void
LocalRun::Transfer(const TransferOrder& transfer)
{
    Add(m_now + m_transferTime(transfer), false, transfer.request);
}

ServingOutcome
LocalRun::Run(const std::function<bool(double done)>& goOn)
{
    const int64_t stop =
        m_spec.duration > 0 ? static_cast<int64_t>(m_spec.duration * 1e12) : INT64_MAX;
    for (uint64_t count = 0; !m_controller.IsDone(); ++count)
    {
        const int64_t arrival = m_controller.NextArrival();
        const bool arrives = m_events.empty() || arrival <= m_events.top().time;
        const int64_t next = arrives ? arrival : m_events.top().time;
        if (next > stop || next == INT64_MAX)
        {
            m_now = next > stop ? stop : m_now;
            break;
        }
        m_now = next;
        if (arrives)
        {
            m_controller.Arrive(m_now);
        }
        else
        {
            const Event event = m_events.top();
            m_events.pop();
            if (event.iteration)
            {
                m_controller.IterationEnded(event.which, m_now, m_now);
            }
            else
            {
                m_controller.TransferEnded(event.which, m_now, m_now);
            }
        }
        if (goOn && count % kEventsOfCall == 0 &&
            !goOn(static_cast<double>(m_controller.CountAnswered()) /
                  static_cast<double>(m_controller.CountRequests())))
        {
            break;
        }
    }
    return m_controller.TakeOutcome(m_now, m_seconds);
}

} // namespace serving
