/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run of requests came to.
 */
#include "scenarios/inference/controller-instances.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace serving
{

namespace
{

/// A run cannot keep up if, while the second half of its requests came, it began a smaller share of
/// them than this, and more than the rest of all waited at the end. Assumed, as the next one.
/// (Answers would not do: of a short run none comes before the last arrival.)
constexpr double kPaceOfArrivals = 0.95;
/// Of fewer requests nothing is said.
constexpr uint32_t kLeastRequestsOfPace = 20;

} // namespace

ServingOutcome
Controller::TakeOutcome(int64_t now, const std::vector<std::array<double, kTimeParts>>& seconds)
{
    ServingOutcome outcome;
    outcome.end = now;
    outcome.endedEarly = !IsDone();
    JudgePace(&outcome);
    for (std::size_t i = 0; i < m_instances.size(); ++i)
    {
        Instance& instance = *m_instances[i];
        Account(instance, now);
        InstanceRecord& record = instance.record;
        for (const auto& of : instance.engines)
        {
            record.kvPeak = std::max(record.kvPeak, of->engine.Blocks().Peak());
        }
        record.kvMean = now > 0 ? instance.kvArea / static_cast<double>(now) : 0;
        record.batchMean = instance.batchTime > 0 ? instance.batchArea / instance.batchTime : 0;
        record.seconds = seconds[i];
        double known = std::accumulate(seconds[i].begin(), seconds[i].end(), 0.0);
        const double busy = static_cast<double>(instance.busy) * 1e-12;
        if (known > busy)
        {
            // Iterations that the end of the run cuts short.
            for (double& part : record.seconds)
            {
                part *= busy / known;
            }
            known = busy;
        }
        const auto at = [&record](TimePart part) -> double& {
            return record.seconds[static_cast<std::size_t>(part)];
        };
        // What GPUs stand still for, while an iteration is under way, is another stage, another
        // engine, or the word that the last one has ended.
        const PoolSpec& pool = m_spec.pools[instance.pool];
        at(pool.pp > 1   ? TimePart::kPipeline
           : pool.dp > 1 ? TimePart::kExperts
           : pool.tp > 1 ? TimePart::kTensor
                         : TimePart::kHost) += busy - known;
        at(TimePart::kKv) += static_cast<double>(instance.kvOnly) * 1e-12;
        at(TimePart::kIdle) = static_cast<double>(now - instance.busy - instance.kvOnly) * 1e-12;
        outcome.instances.push_back(record);
    }
    outcome.requests = std::move(m_requests);
    outcome.iterations = std::move(m_iterations);
    std::stable_sort(
        outcome.iterations.begin(),
        outcome.iterations.end(),
        [](const IterationRecord& a, const IterationRecord& b) { return a.end < b.end; });
    outcome.load = std::move(m_samples);
    return outcome;
}

void
Controller::JudgePace(ServingOutcome* outcome) const
{
    using Kind = RequestsSpec::Kind;
    if (m_spec.requests.kind == Kind::kBurst || m_spec.requests.kind == Kind::kClosed)
    {
        return;
    }
    // In the second half of the arrivals: the queue of a system that keeps up does not grow.
    const uint32_t come = m_next;
    if (come < kLeastRequestsOfPace)
    {
        return;
    }
    const int64_t from = m_requests[come / 2].arrival;
    const int64_t until = m_requests[come - 1].arrival;
    if (until <= from)
    {
        return;
    }
    uint64_t begun = 0;
    uint64_t queued = 0;
    for (const RequestRecord& record : m_requests)
    {
        begun += record.scheduled > from && record.scheduled <= until;
        queued += record.arrival >= 0 && record.arrival <= until &&
                  (record.scheduled < 0 || record.scheduled > until);
    }
    const double span = static_cast<double>(until - from) * 1e-12;
    const uint32_t arrived = come - come / 2;
    // Where requests cannot join a batch, the next one always waits.
    const bool joins = RegisteredScheduler::Get(m_spec.scheduler).joins;
    uint64_t batches = 0;
    for (const auto& instance : m_instances)
    {
        batches += joins ? 0 : uint64_t{m_spec.maxBatch} * instance->engines.size();
    }
    if (static_cast<double>(begun) < kPaceOfArrivals * arrived &&
        static_cast<double>(queued) > (1 - kPaceOfArrivals) * come + static_cast<double>(batches))
    {
        outcome->arrivesPerS = arrived / span;
        outcome->beginsPerS = static_cast<double>(begun) / span;
    }
}

std::vector<std::string>
Controller::DescribeUnfinished() const
{
    uint64_t waiting = 0;
    uint64_t running = 0;
    uint64_t moving = 0;
    for (const auto& instance : m_instances)
    {
        for (const auto& of : instance->engines)
        {
            waiting += of->engine.CountWaiting();
            running += of->engine.CountRunning();
            moving += of->coming + of->blocked.size();
        }
    }
    return {std::to_string(m_requests.size() - m_answered) +
            " requests are not answered: " + std::to_string(running) + " run, " +
            std::to_string(waiting) + " wait, KV of " + std::to_string(moving) + " is to come"};
}

} // namespace serving
