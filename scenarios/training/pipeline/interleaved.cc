/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Interleaved 1F1B (Narayanan et al., SC'21, arXiv 2104.04473): a device has v chunks of layers,
 * and takes micro-batches in groups of p through one chunk after the other, so the pipeline fills
 * and empties in v-th parts: a bubble of (p - 1)/(v m) over the time of computing, for v times the
 * messages. As in Megatron-LM (get_schedule_table and get_pp_rank_microbatches of
 * megatron/core/pipeline_parallel/schedules.py): the device's k-th pass is given by a table,
 *
 *     k          0   1 ..p-1 | p ..2p-1 |      | v p ...
 *     batch      0   1       | 0 ..     | ...  | p ...       (the group's p micro-batches,
 *     chunk      0   0       | 1 ..     | ...  | 0            chunk after chunk)
 *
 * backward passes the same with chunk v - 1 - c; 2 (p - i - 1) + (v - 1) p forward passes come
 * before the turns of one forward and one backward pass on stage i.
 *
 *     p = 2, m = 2, v = 2 (a..b: chunk 0 and 1)
 *     stage 0   Fa0 Fa1 Fb0 Fb1 Bb0 Bb1 Ba0 Ba1 (2 + 2 = m v before the first backward pass)
 *     stage 1       Fa0 Fa1 Fb0 Bb0 Fb1 Bb1 Ba0 Ba1
 *
 * m must be a multiple of p. Megatron-LM's groups of another size (at least p, and the last one of
 * at least p) are not here; with groups of p, its default, it refuses the same.
 */
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/training/pipeline/schedule.h"

#include <algorithm>

namespace training
{

namespace
{

class Interleaved final : public PipelineSchedule
{
  public:
    std::string Name() const override
    {
        return "interleaved";
    }

    std::string Description() const override
    {
        return "1f1b with several chunks of layers on each device (Megatron-LM's virtual stages)";
    }

    bool FillsInLine() const override
    {
        return true;
    }

    bool PairsPasses(uint32_t stages) const override
    {
        return stages > 1;
    }

    std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                        uint32_t stage,
                                        uint32_t /* replica */,
                                        uint32_t step) const override
    {
        const uint32_t passes = shape.microBatches * shape.virtualStages;
        const uint32_t warmup = Warmup(shape, stage);
        const auto pass = [&](PipelineAction::Kind kind, uint32_t k) {
            const uint32_t group = k / (shape.stages * shape.virtualStages);
            const uint32_t inGroup = k % (shape.stages * shape.virtualStages);
            const uint32_t chunk = inGroup / shape.stages;
            const bool forward = kind == PipelineAction::Kind::kForward;
            return PipelineAction{kind,
                                  step * shape.microBatches + group * shape.stages +
                                      inGroup % shape.stages,
                                  forward ? chunk : shape.virtualStages - 1 - chunk};
        };
        std::vector<PipelineAction> order;
        order.reserve(2 * size_t{passes});
        uint32_t forward = 0;
        for (; forward < warmup; ++forward)
        {
            order.push_back(pass(PipelineAction::Kind::kForward, forward));
        }
        for (uint32_t backward = 0; backward < passes; ++backward)
        {
            if (forward < passes)
            {
                order.push_back(pass(PipelineAction::Kind::kForward, forward++));
            }
            order.push_back(pass(PipelineAction::Kind::kBackward, backward));
        }
        return order;
    }

    uint32_t InFlight(const PipelineShape& shape, uint32_t stage) const override
    {
        // The forward pass of a turn comes before its backward pass.
        return std::min(Warmup(shape, stage) + 1, shape.microBatches * shape.virtualStages);
    }

    double Bubble(const PipelineShape& shape, const PieceTimes& times) const override
    {
        return (shape.stages - 1) * times.Sum();
    }

  protected:
    using Of = PipelineRefusal::Of;

    std::optional<PipelineRefusal> WhyNotThis(const PipelineShape& shape) const override
    {
        if (const auto why = WhyNotReplicated(shape))
        {
            return why;
        }
        if (shape.stages < 2)
        {
            return PipelineRefusal{
                Of::kShape,
                "interleaved needs at least 2 stages: with 1 there is nothing to interleave"};
        }
        if (shape.virtualStages < 2)
        {
            return PipelineRefusal{
                Of::kVirtualStages,
                "with which interleaved is 1f1b; allowed: at least 2, or " +
                    scenario::Spell(&scenario::asked::Training::pipelineSchedule) + "=1f1b"};
        }
        if (shape.microBatches % shape.stages != 0)
        {
            return PipelineRefusal{Of::kMicroBatches,
                                   "but interleaved takes micro-batches in groups of the " +
                                       std::to_string(shape.stages) +
                                       " stages; allowed: multiples of " +
                                       std::to_string(shape.stages)};
        }
        return std::nullopt;
    }

  private:
    static uint32_t Warmup(const PipelineShape& shape, uint32_t stage)
    {
        return std::min(2 * (shape.stages - stage - 1) + (shape.virtualStages - 1) * shape.stages,
                        shape.microBatches * shape.virtualStages);
    }
};

const RegisteredPipeline<Interleaved> g_interleaved;

} // namespace

} // namespace training
