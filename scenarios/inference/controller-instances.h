/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a Controller knows of its instances.
 */
#ifndef SCENARIOS_INFERENCE_CONTROLLER_INSTANCES_H
#define SCENARIOS_INFERENCE_CONTROLLER_INSTANCES_H

#include "scenarios/inference/controller.h"

#include <deque>
#include <memory>
#include <vector>

namespace serving
{

struct Controller::EngineOf
{
    EngineOf(const ServingSpec& spec, uint64_t blocks)
        : engine(spec, blocks)
    {
    }

    Engine engine;
    std::deque<uint32_t> blocked; ///< requests that wait for blocks for their KV
    uint64_t coming = 0;          ///< requests whose KV is under way
    uint64_t requests = 0;        ///< given to it that it has not ended
};

struct Controller::Instance
{
    struct Iteration
    {
        uint32_t number;
        int64_t begin;
        std::vector<Batch> batches; ///< by engine
        std::vector<IterationRecord> records;
    };

    uint32_t pool = 0;
    std::vector<std::unique_ptr<EngineOf>> engines;
    std::deque<Iteration> underWay;
    uint32_t begun = 0;
    InstanceRecord record;
    // Time:
    int64_t accounted = 0;
    int64_t busy = 0;     ///< ps with an iteration under way
    int64_t kvOnly = 0;   ///< ps without one, while KV was under way to it
    double kvArea = 0;    ///< blocks x ps
    double batchArea = 0; ///< requests x ps of iterations
    double batchTime = 0; ///< ps of iterations
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_CONTROLLER_INSTANCES_H
