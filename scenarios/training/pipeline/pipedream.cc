/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PipeDream (Harlap et al. 2018, arXiv 1806.03377; Narayanan et al., SOSP'19): 1F1B that never
 * flushes. What is called a micro-batch here is PipeDream's minibatch: each is followed by an
 * update of the weights, and a step is m of them. So the run fills its pipeline once, in the first
 * step, empties it once, in the last one, and has no bubble in between:
 *
 *     p = 3, m = 4, two steps; | after the step's last backward pass
 *     stage 0   F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 | F6 B4 F7 B5 B6 B7
 *     stage 1      F0 F1 B0 F2 B1 F3 B2 F4 B3 | F5 B4 F6 B5 F7 B6 B7
 *     stage 2         F0 B0 F1 B1 F2 B2 F3 B3 | F4 B4 F5 B5 F6 B6 F7 B7
 *
 * Stages may be replicated ("2-1-1"): 1F1B-RR gives micro-batch m to replica m mod R. Its replicas
 * average the gradients of a round (m = q R ... q R + R - 1), so a stage's weights are updated once
 * a round. With S the replicas of the stage and of all later ones, a replica has K = ceil(S / R)
 * micro-batches in flight: runtime.py of github.com/msr-fiddle/pipedream begins with
 * floor((S - 1) / R) forward passes before it takes turns. On the first stage K is the paper's NOAM
 * (number of active minibatches). The micro-batches of a run must come out even, as there
 * (num_iterations). K keeps all busy if every stage has one replica; if not, the way of a
 * micro-batch through the pipeline and back may take longer than K of them keep the stage busy:
 * balanced stages of 2-1-1, 7-1 and 15-1 have no bubble, those of 9-5-1-1 lose 8%.
 *
 * Weight stashing: a backward pass uses the weights that its forward pass used, so a replica has
 * K versions (num_versions in main_with_runtime.py), and a gradient is K - 1 updates old. Without
 * more, a micro-batch meets newer weights on later stages. Vertical sync: it takes on every stage
 * the version that was the newest on the first one when it came in; then all stages are as stale
 * as the first and keep as many versions: those of the micro-batches in flight, and the newer ones
 * that are not in use yet. (Versions are counted in updates, and those of stages with different
 * numbers of replicas are updates of as many micro-batches: the same version is then the one
 * that contains as many micro-batches, rounded up.)
 */
#include "scenarios/training/pipeline/schedule.h"

#include <algorithm>
#include <numeric>

namespace training
{

namespace
{

class PipeDream final : public PipelineSchedule
{
  public:
    std::string Name() const override
    {
        return "pipedream";
    }

    std::string Description() const override
    {
        return "1f1b without a flush: an update after every micro-batch, old weights stashed";
    }

    bool Flushes() const override
    {
        return false;
    }

    std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                        uint32_t stage,
                                        uint32_t replica,
                                        uint32_t step) const override
    {
        // Backward passes of this replica before the end of the step before, and of this one.
        const uint64_t from = Mine(shape, stage, replica, uint64_t{step} * shape.microBatches);
        const uint64_t to = Mine(shape, stage, replica, (step + 1ULL) * shape.microBatches);
        const uint64_t all = Mine(shape, stage, replica, shape.MicroBatchesOfRun());
        const uint32_t warmup = Depth(shape, stage);
        const auto number = [&](uint64_t index) {
            return static_cast<uint32_t>(index * shape.Replicas(stage) + replica);
        };
        // The forward pass before backward pass i is pass i + warmup - 1; the first steps catch up.
        std::vector<PipelineAction> order;
        uint64_t forward = from == 0 ? 0 : std::min<uint64_t>(from + warmup - 1, all);
        for (uint64_t backward = from; backward < to; ++backward)
        {
            for (; forward < std::min<uint64_t>(backward + warmup, all); ++forward)
            {
                order.push_back({PipelineAction::Kind::kForward, number(forward), 0});
            }
            order.push_back({PipelineAction::Kind::kBackward, number(backward), 0});
        }
        return order;
    }

    uint32_t InFlight(const PipelineShape& shape, uint32_t stage) const override
    {
        return std::min(Depth(shape, stage), RoundsOfRun(shape, stage));
    }

    uint32_t WeightVersions(const PipelineShape& shape,
                            uint32_t stage,
                            bool verticalSync) const override
    {
        // As many as are in flight hold different versions, once the pipeline is full.
        return std::min(Staleness(shape, stage, verticalSync) + 1, RoundsOfRun(shape, stage));
    }

    uint32_t Staleness(const PipelineShape& shape, uint32_t stage, bool verticalSync) const override
    {
        if (!verticalSync)
        {
            return Depth(shape, stage) - 1;
        }
        const uint32_t microBatches = (Depth(shape, 0) - 1) * shape.Replicas(0);
        return (microBatches + shape.Replicas(stage) - 1) / shape.Replicas(stage);
    }

    /// The bubble of a whole run, which fills and empties the pipeline once.
    double Bubble(const PipelineShape& shape, const PieceTimes& times) const override
    {
        return (shape.stages - 1) * times.Sum();
    }

    bool BubbleIsExact(const PipelineShape& shape, const PieceTimes& /* times */) const override
    {
        return std::all_of(shape.replicas.begin(), shape.replicas.end(), [](uint32_t r) {
            return r == 1;
        });
    }

  protected:
    std::optional<PipelineRefusal> WhyNotThis(const PipelineShape& shape) const override
    {
        if (const auto why = WhyNotVirtual(shape))
        {
            return why;
        }
        for (uint32_t stage = 0; stage < shape.stages; ++stage)
        {
            if (shape.MicroBatchesOfRun() % shape.Replicas(stage) != 0)
            {
                return PipelineRefusal{
                    PipelineRefusal::Of::kMicroBatches,
                    "but pipedream gives the " + std::to_string(shape.Replicas(stage)) +
                        " replicas of stage " + std::to_string(stage) +
                        " as many micro-batches each; allowed: multiples of " +
                        std::to_string(std::accumulate(
                            shape.replicas.begin(),
                            shape.replicas.end(),
                            uint64_t{1},
                            [](uint64_t all, uint32_t one) { return std::lcm(all, one); }))};
            }
        }
        return std::nullopt;
    }

  private:
    /// Micro-batches in flight that keep the stage busy.
    static uint32_t Depth(const PipelineShape& shape, uint32_t stage)
    {
        uint32_t later = 0;
        for (uint32_t s = stage; s < shape.stages; ++s)
        {
            later += shape.Replicas(s);
        }
        return (later + shape.Replicas(stage) - 1) / shape.Replicas(stage);
    }

    static uint32_t RoundsOfRun(const PipelineShape& shape, uint32_t stage)
    {
        return shape.MicroBatchesOfRun() / shape.Replicas(stage);
    }

    /// How many of the first `count` micro-batches are the replica's.
    static uint64_t Mine(const PipelineShape& shape,
                         uint32_t stage,
                         uint32_t replica,
                         uint64_t count)
    {
        const uint32_t replicas = shape.Replicas(stage);
        return count / replicas + (count % replicas > replica ? 1 : 0);
    }
};

const RegisteredPipeline<PipeDream> g_pipeDream;

} // namespace

} // namespace training
