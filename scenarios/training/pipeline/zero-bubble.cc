/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Zero bubble, ZB-H1 (Qi et al. 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section
 * 2.1 and table 2): backward is two passes, B for the inputs, which the stage before waits for, and
 * W for the weights, which nobody waits for. As 1F1B, but W of stage i lags i micro-batches behind
 * B, so stages have the same number of micro-batches (p) that are not done with, B starts
 * earlier on early stages, and the Ws fill the end:
 *
 *     p = 3, m = 4, F = B = W    time ->
 *     stage 0  F0 F1 F2  .  . B0 W0 F3 B1 W1 B2 W2 B3 W3
 *     stage 1   . F0 F1  . B0 F2 B1 W0 F3 B2 W1 B3 W2 W3
 *     stage 2   .  . F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3
 *
 * A bubble of (p - 1)(F + B - W) instead of 1F1B's (p - 1)(F + B + W), at the same peak of memory:
 * stage i holds p - i micro-batches for both passes and i for W only. That is exact for W not
 * above F and B, and at least p micro-batches; else the bubble is longer, as stage 0 waits
 * (p - 1) B for its first B whatever W is.
 *
 * The gradients are not averaged before the last W is done, so data parallelism hides less of its
 * all-reduce. The optimizer here waits as it does with 1F1B: the paper's validation after the step
 * is not modelled.
 */
#include "scenarios/training/pipeline/schedule.h"

#include <algorithm>

namespace training
{

namespace
{

class ZeroBubbleH1 final : public PipelineSchedule
{
  public:
    std::string Name() const override
    {
        return "zero-bubble";
    }

    std::string Description() const override
    {
        return "1f1b with the weights' part of backward delayed into the bubble (ZB-H1)";
    }

    std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                        uint32_t stage,
                                        uint32_t /* replica */,
                                        uint32_t step) const override
    {
        using Kind = PipelineAction::Kind;
        const uint32_t first = step * shape.microBatches;
        std::vector<PipelineAction> order;
        order.reserve(3 * size_t{shape.microBatches});
        uint32_t forward = 0;
        uint32_t weights = 0;
        for (; forward < std::min(shape.stages - stage, shape.microBatches); ++forward)
        {
            order.push_back({Kind::kForward, first + forward, 0});
        }
        for (uint32_t backward = 0; backward < shape.microBatches; ++backward)
        {
            order.push_back({Kind::kBackwardInput, first + backward, 0});
            if (backward >= stage)
            {
                order.push_back({Kind::kBackwardWeights, first + weights++, 0});
            }
            if (forward < shape.microBatches)
            {
                order.push_back({Kind::kForward, first + forward++, 0});
            }
        }
        while (weights < shape.microBatches)
        {
            order.push_back({Kind::kBackwardWeights, first + weights++, 0});
        }
        return order;
    }

    uint32_t InFlight(const PipelineShape& shape, uint32_t /* stage */) const override
    {
        return std::min(shape.stages, shape.microBatches);
    }

    uint32_t AwaitingBackwardInput(const PipelineShape& shape, uint32_t stage) const override
    {
        return std::min(shape.stages - stage, shape.microBatches);
    }

    double Bubble(const PipelineShape& shape, const PieceTimes& times) const override
    {
        const double b = times.backwardInput;
        return (shape.stages - 1) * std::max(b, times.forward + b - times.backwardWeights);
    }

    bool BubbleIsExact(const PipelineShape& shape, const PieceTimes& times) const override
    {
        return shape.stages == 1 ||
               (shape.microBatches >= shape.stages &&
                times.backwardWeights <= std::min(times.forward, times.backwardInput));
    }
};

const RegisteredPipeline<ZeroBubbleH1> g_zeroBubble;

} // namespace

} // namespace training
