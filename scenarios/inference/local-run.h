/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Serving where no message leaves a server: every iteration has its time by formulas, and nothing
 * of the network is simulated. A million iterations take seconds.
 */
#ifndef SCENARIOS_INFERENCE_LOCAL_RUN_H
#define SCENARIOS_INFERENCE_LOCAL_RUN_H

#include "scenarios/inference/controller.h"

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace serving
{

/// A stage of an instance in an iteration.
struct StageSpan
{
    int64_t ps = 0;                          ///< until it is done: the sum of `parts`
    std::array<int64_t, kTimeParts> parts{}; ///< ps
    int64_t hop = 0;                         ///< ps until the next stage has its activations
};

class LocalRun : public Backend
{
  public:
    using SpanOf = std::function<
        StageSpan(uint32_t instance, uint32_t stage, const std::vector<BatchLoad>& loads)>;
    /// \return ps that KV takes from engine to engine
    using TransferTime = std::function<int64_t(const TransferOrder& transfer)>;

    /// \param spec outlives this
    LocalRun(const ServingSpec& spec,
             std::vector<Request> requests,
             SpanOf spanOf,
             TransferTime transferTime = {});

    /// Once. \param goOn called now and then with the share that is done; false: the run ends
    ServingOutcome Run(const std::function<bool(double done)>& goOn = {});

    // Backend
    void Run(const IterationOrder& iteration) override;
    void Transfer(const TransferOrder& transfer) override;

  private:
    struct Event
    {
        int64_t time;
        uint64_t sequence; ///< of one time: the first that was made
        bool iteration;    ///< or a transfer
        uint32_t which;    ///< instance, or request

        bool operator<(const Event& other) const
        {
            return time != other.time ? time > other.time : sequence > other.sequence;
        }
    };

    void Add(int64_t time, bool iteration, uint32_t which);

    const ServingSpec& m_spec;
    SpanOf m_spanOf;
    TransferTime m_transferTime;
    std::vector<InstancePlace> m_places;
    Controller m_controller;
    int64_t m_now = 0;
    uint64_t m_sequence = 0;
    std::priority_queue<Event> m_events;
    std::vector<std::vector<int64_t>> m_free; ///< ps, by instance and stage: it has ended its last
    std::vector<std::array<double, kTimeParts>> m_seconds; ///< by instance, mean over stages
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_LOCAL_RUN_H
