/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A stage of a plain network (plain-layers.h), for one engine. Every pass has the same samples, so
 * its times and sizes are known from the beginning:
 *
 *     [gather] | layers | all-reduce | layers | all-reduce | ... | send to the next stage
 *
 * Each GPU of a tensor group sends 1 / tp of what leaves a stage. If the next stage needs all of
 * it, its tensor group gathers these shares first.
 */
#ifndef SCENARIOS_INFERENCE_STAGES_PLAIN_STAGE_H
#define SCENARIOS_INFERENCE_STAGES_PLAIN_STAGE_H

#include "scenarios/inference/plain-layers.h"
#include "scenarios/inference/stages/stage-costs.h"

#include <cstdint>
#include <vector>

namespace serving
{

/// What a pass of one instance computes and sends. Bytes are those of buffers: of a collective that
/// of one GPU, of a pipeline's cut what all of a tensor group send together.
struct PlainPass
{
    struct Cuts
    {
        uint32_t count = 0;
        uint64_t bytes = 0;
        uint64_t denseBytes = 0; ///< without --send-share
    };

    uint32_t batch = 0;  ///< samples
    uint32_t layers = 0; ///< of the model
    double seconds = 0;  ///< of kernels, one GPU of each stage
    Cuts reduces;        ///< all-reduces of tensor groups
    Cuts gathers;        ///< all-gathers of tensor groups
    Cuts sends;          ///< activations between stages

    uint64_t Bytes() const
    {
        return reduces.bytes + gathers.bytes + sends.bytes;
    }

    uint64_t DenseBytes() const
    {
        return reduces.denseBytes + gathers.denseBytes + sends.denseBytes;
    }
};

/// \pre the scenario is plain
PlainPass PlainPassOf(const scenario::ServingScenario& scenario);

class PlainStage : public StageCosts
{
  public:
    PlainStage(const scenario::ServingScenario& scenario,
               uint32_t pool,
               uint32_t stage,
               uint32_t firstGpu,
               scenario::CollectiveTimes& times);

    StageLoad TimesOf(const std::vector<BatchLoad>& loads, uint32_t engine) override;

    double KvLayerBytes() const override
    {
        return 0;
    }

    uint32_t FirstBlock() const override
    {
        return m_first;
    }

    uint32_t Blocks() const override
    {
        return m_layers;
    }

  private:
    uint32_t m_first = 0; ///< layer
    uint32_t m_layers = 0;
    StageLoad m_load;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_STAGES_PLAIN_STAGE_H
