/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPipe (Huang et al. 2019, arXiv 1811.06965): all forward passes of a step, then all backward
 * passes, then the update. The bubble is (p - 1)/(m + p - 1) of the step; a stage holds all m
 * micro-batches, which is why GPipe recomputes activations.
 *
 *     p = 3, m = 4          time ->
 *     stage 0   F0 F1 F2 F3  .  .  .  . B0 B1 B2 B3
 *     stage 1    . F0 F1 F2 F3  .  . B0 B1 B2 B3  .
 *     stage 2    .  . F0 F1 F2 F3 B0 B1 B2 B3  .  .
 *
 * Backward passes go in the order of the forward passes here; in the reverse order a step takes as
 * long.
 */
#include "scenarios/training/pipeline/schedule.h"

namespace training
{

namespace
{

class GPipe final : public PipelineSchedule
{
  public:
    std::string Name() const override
    {
        return "gpipe";
    }

    std::string Description() const override
    {
        return "all forward passes, then all backward passes; holds all micro-batches of a step";
    }

    bool FillsInLine() const override
    {
        return true;
    }

    std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                        uint32_t /* stage */,
                                        uint32_t /* replica */,
                                        uint32_t step) const override
    {
        std::vector<PipelineAction> order;
        for (const auto kind : {PipelineAction::Kind::kForward, PipelineAction::Kind::kBackward})
        {
            for (uint32_t i = 0; i < shape.microBatches; ++i)
            {
                order.push_back({kind, step * shape.microBatches + i, 0});
            }
        }
        return order;
    }

    uint32_t InFlight(const PipelineShape& shape, uint32_t /* stage */) const override
    {
        return shape.microBatches;
    }

    double Bubble(const PipelineShape& shape, const PieceTimes& times) const override
    {
        return (shape.stages - 1) * times.Sum();
    }
};

const RegisteredPipeline<GPipe> g_gpipe;

} // namespace

} // namespace training
