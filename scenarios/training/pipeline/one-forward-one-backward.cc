/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * 1F1B with a flush, also called PipeDream-flush: Megatron-LM's schedule without interleaving
 * (forward_backward_pipelining_without_interleaving of
 * megatron/core/pipeline_parallel/schedules.py: stage i begins with p - i - 1 forward passes, then
 * takes one forward and one backward pass in turns). The bubble is GPipe's, but stage i holds only
 * min(p - i, m) micro-batches.
 *
 *     p = 3, m = 5; B drawn as long as F    time ->
 *     stage 0  F0 F1 F2  .  . B0 F3 B1 F4 B2  . B3  . B4
 *     stage 1   . F0 F1  . B0 F2 B1 F3 B2 F4 B3  . B4  .
 *     stage 2   .  . F0 B0 F1 B1 F2 B2 F3 B3 F4 B4  .  .
 */
#include "scenarios/training/pipeline/schedule.h"

#include <algorithm>
#include <numeric>

namespace training
{

namespace
{

class OneForwardOneBackwardFlush final : public PipelineSchedule
{
  public:
    std::string Name() const override
    {
        return "1f1b";
    }

    std::string Description() const override
    {
        return "one forward and one backward pass in turns, then a flush (PipeDream-flush)";
    }

    bool FillsInLine() const override
    {
        return true;
    }

    bool PairsPasses(uint32_t stages) const override
    {
        return stages == 1;
    }

    std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                        uint32_t stage,
                                        uint32_t /* replica */,
                                        uint32_t step) const override
    {
        std::vector<uint32_t> mine(shape.microBatches);
        std::iota(mine.begin(), mine.end(), step * shape.microBatches);
        return OneForwardOneBackward(mine, shape.stages - stage);
    }

    uint32_t InFlight(const PipelineShape& shape, uint32_t stage) const override
    {
        return std::min(shape.stages - stage, shape.microBatches);
    }

    double Bubble(const PipelineShape& shape, const PieceTimes& times) const override
    {
        return (shape.stages - 1) * times.Sum();
    }
};

const RegisteredPipeline<OneForwardOneBackwardFlush> g_oneForwardOneBackward;

} // namespace

} // namespace training
