/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pipeline schedules: in which order a stage computes the forward and backward passes of its
 * micro-batches. A schedule is one file that ends in a line like
 *
 *     const RegisteredPipeline<GPipe> g_gpipe;
 *
 * and is then found by name, listed, and proved by the tests, which go through the registry
 * (check.h proves an order, times.h says how long it takes).
 *
 * p stages, m micro-batches a step, v virtual stages (chunks of layers) on each stage's devices.
 * The model is cut into p v pieces; chunk c of stage s is piece c p + s (Megatron-LM's placement):
 *
 *     p = 2, v = 2     piece   0 -> 1 -> 2 -> 3 -> loss
 *                      stage   0    1    0    1
 *                      chunk   0    0    1    1
 *
 * or, where a schedule folds (PipelineSchedule::Folds), pieces go back along the stages in odd
 * chunks, and between two chunks of one stage there is no message:
 *
 *     p = 2, v = 2     piece   0 -> 1    2 -> 3 -> loss
 *                      stage   0    1    1    0
 *
 * A message follows the forward pass of a piece to the next piece, and the backward pass (the part
 * for the inputs, where the two are apart) to the piece before it. A device sends and receives in
 * the order of its actions: there is one stream a peer and direction, and it needs no reordering.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_SCHEDULE_H
#define SCENARIOS_TRAINING_PIPELINE_SCHEDULE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace training
{

struct PipelineAction
{
    enum class Kind : uint8_t
    {
        kForward,
        kBackward,        ///< gradients of inputs and weights in one go
        kBackwardInput,   ///< gradients of inputs, which the piece before waits for
        kBackwardWeights, ///< may come later
    };

    Kind kind = Kind::kForward;
    uint32_t microBatch =
        0;              ///< counts through all steps of the run: step s has s m ... s m + m - 1
    uint32_t chunk = 0; ///< chunk of this stage

    bool operator==(const PipelineAction& other) const
    {
        return kind == other.kind && microBatch == other.microBatch && chunk == other.chunk;
    }
};

struct PipelineShape
{
    uint32_t stages = 1;
    uint32_t microBatches = 1; ///< a step
    uint32_t virtualStages = 1;
    std::vector<uint32_t> replicas; ///< replicas of each stage; empty: one each
    uint32_t steps = 1;             ///< steps of the run: matters to schedules without a flush

    uint32_t Replicas(uint32_t stage) const
    {
        return replicas.empty() ? 1 : replicas[stage];
    }

    /// The replica that computes a micro-batch: round robin.
    uint32_t ReplicaOf(uint32_t stage, uint32_t microBatch) const
    {
        return microBatch % Replicas(stage);
    }

    uint32_t Pieces() const
    {
        return stages * virtualStages;
    }

    uint32_t MicroBatchesOfRun() const
    {
        return microBatches * steps;
    }
};

/// How long one micro-batch takes in one piece, in seconds (or any other unit).
struct PieceTimes
{
    double forward = 0;
    double backwardInput = 0;
    double backwardWeights = 0; ///< kBackward takes the sum of the two

    double Sum() const
    {
        return forward + backwardInput + backwardWeights;
    }
};

/// Why a schedule does not exist for a shape.
struct PipelineRefusal
{
    /// The number that would have to be another one.
    enum class Of : uint8_t
    {
        kShape, ///< no single one
        kMicroBatches,
        kVirtualStages,
        kReplicas,
    };

    Of of = Of::kShape;
    std::string why; ///< a sentence; for a number, the text after "is 4, ", with the allowed values
};

class PipelineSchedule
{
  public:
    virtual ~PipelineSchedule() = default;

    virtual std::string Name() const = 0;
    virtual std::string Description() const = 0; ///< one line for --help

    /// Whether the weights change only when the pipeline is empty. If not, every micro-batch is
    /// followed by an update of the stage's weights, and no step waits for the end of another.
    virtual bool Flushes() const;

    /// Whether odd chunks go back along the stages.
    virtual bool Folds() const;

    /// Virtual stages where the user names none.
    virtual uint32_t UsualVirtualStages() const;

    /// Whether a stage begins with the first micro-batch once it has passed the stages ahead, and
    /// has its last backward pass ahead of theirs, each with its first chunk. A step is then no
    /// shorter than a stage and its way there and back.
    virtual bool FillsInLine() const;

    /// Whether a forward and a backward pass of two micro-batches stand side by side, so that one
    /// computes while the other exchanges (paired-actions.h).
    virtual bool PairsPasses(uint32_t stages) const;

    /// The piece that is a chunk of a stage, and the stage of a piece; its chunk is piece / p.
    uint32_t PieceOf(const PipelineShape& shape, uint32_t stage, uint32_t chunk) const
    {
        return chunk * shape.stages +
               (Folds() && chunk % 2 == 1 ? shape.stages - 1 - stage : stage);
    }

    uint32_t StageOf(const PipelineShape& shape, uint32_t piece) const
    {
        const uint32_t place = piece % shape.stages;
        return Folds() && piece / shape.stages % 2 == 1 ? shape.stages - 1 - place : place;
    }

    /// Why this schedule does not exist; nothing if it does. This is the precondition of the other
    /// functions.
    std::optional<PipelineRefusal> WhyNot(const PipelineShape& shape) const;

    /// The actions of one replica of a stage in a step, in order. All steps in a row are the run.
    /// With a flush all steps are alike except for the numbers of the micro-batches. Without one a
    /// step ends with the backward pass of its last micro-batch on this replica. So the forward
    /// passes that fill the pipeline are in the first step, and the last step has fewer of them.
    virtual std::vector<PipelineAction> OrderOf(const PipelineShape& shape,
                                                uint32_t stage,
                                                uint32_t replica,
                                                uint32_t step) const = 0;

    /// The most micro-batches (times chunks) whose activations a replica of the stage holds: their
    /// forward pass has begun, their last backward pass has not ended.
    virtual uint32_t InFlight(const PipelineShape& shape, uint32_t stage) const = 0;

    /// The most that wait for their kBackwardInput: less than InFlight only where the passes are
    /// apart, as what a kBackwardWeights needs is less than what both need.
    virtual uint32_t AwaitingBackwardInput(const PipelineShape& shape, uint32_t stage) const;

    /// Versions of its weights that a replica of the stage has at once, the newest included.
    /// \param verticalSync a micro-batch takes at all stages the version that the first one had
    virtual uint32_t WeightVersions(const PipelineShape& shape,
                                    uint32_t stage,
                                    bool verticalSync) const;

    /// Updates of the stage's weights between the version that a gradient was computed with and
    /// the one it is added to, in the steady state.
    virtual uint32_t Staleness(const PipelineShape& shape, uint32_t stage, bool verticalSync) const;

    /// The time that a step takes longer than m v (F + B + W), all pieces taking the same time and
    /// messages none. Where `exact` is said to be false, a lower bound.
    virtual double Bubble(const PipelineShape& shape, const PieceTimes& times) const = 0;
    virtual bool BubbleIsExact(const PipelineShape& shape, const PieceTimes& times) const;

    /// Bubble over the time of computing: (p - 1)/m with GPipe.
    double BubbleOverIdeal(const PipelineShape& shape, const PieceTimes& times) const;

  protected:
    /// \pre what all schedules need holds: at least one stage, micro-batch, chunk and step, and one
    /// number of replicas a stage
    virtual std::optional<PipelineRefusal> WhyNotThis(const PipelineShape& shape) const;

    /// "one replica a stage", "one virtual stage": what most schedules cannot do otherwise.
    std::optional<PipelineRefusal> WhyNotPlain(const PipelineShape& shape) const;
    /// The two parts of WhyNotPlain.
    std::optional<PipelineRefusal> WhyNotReplicated(const PipelineShape& shape) const;
    std::optional<PipelineRefusal> WhyNotVirtual(const PipelineShape& shape) const;
};

/// nullptr: no such schedule.
const PipelineSchedule* FindPipelineSchedule(const std::string& name);

/// Sorted by name.
const std::vector<const PipelineSchedule*>& PipelineSchedules();

/// "1f1b, gpipe, ...": what an error message offers.
std::string PipelineScheduleNames();

/// Throws std::logic_error when the name is taken.
void RegisterPipeline(std::unique_ptr<PipelineSchedule> schedule);

template <class S>
struct RegisteredPipeline
{
    RegisteredPipeline()
    {
        RegisterPipeline(std::make_unique<S>());
    }
};

/// F F ... F, then B F as long as there are forward passes, then the remaining B: the pattern of
/// 1F1B.
/// \param mine micro-batches of one device, in order
/// \param warmup forward passes before the first backward pass, at least 1
std::vector<PipelineAction> OneForwardOneBackward(const std::vector<uint32_t>& mine,
                                                  uint32_t warmup);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_SCHEDULE_H
