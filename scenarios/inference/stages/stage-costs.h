/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * An iteration of a stage as a chain of computing and communicating, for one engine. What the
 * chain consists of depends on the model: TokenStage (token-stage.h) has blocks whose work depends
 * on the batch; PlainStage (plain-stage.h) has layers that take the same time in every pass.
 *
 * A collective of GPUs that are all in one server takes the time of the tuner's formula and is part
 * of computing (kTensor, kExperts). So a stage in one server is a single span of time.
 */
#ifndef SCENARIOS_INFERENCE_STAGES_STAGE_COSTS_H
#define SCENARIOS_INFERENCE_STAGES_STAGE_COSTS_H

#include "collectives/core/block-sizes.h"
#include "scenarios/collective/collective-times.h"
#include "scenarios/inference/batch-load.h"
#include "scenarios/inference/serving-record.h"
#include "scenarios/job/serving-scenario.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace serving
{

/// A member of the chain of a stage.
struct StageOp
{
    enum class Kind : uint8_t
    {
        kCompute,
        kReduce,   ///< all-reduce, or another collective, of the tensor group
        kDispatch, ///< all-to-all of the expert group
        kCombine,  ///< and back
    };

    Kind kind = Kind::kCompute;
    // kCompute, multiples of StageLoad's times:
    uint16_t halves = 0;
    uint16_t experts = 0;
    uint16_t reduces = 0;           ///< all-reduces inside the server
    uint16_t exchanges = 0;         ///< pairs of dispatch and combine inside the server
    uint16_t repeatedReduces = 0;   ///< between servers, as long as the mean of those before
    uint16_t repeatedExchanges = 0; ///< the same of pairs of dispatch and combine
    bool first = false;             ///< with what comes before the first block
    bool last = false;              ///< and what comes after the last one
    int64_t fixed = 0;              ///< ps, whatever the load is
    // kReduce:
    coll::Op op = coll::Op::kAllReduce;
    uint64_t bytes = 0; ///< 0: StageLoad::reduceBytes
};

/// An iteration of an engine at a stage: times in ps.
struct StageLoad
{
    int64_t before = 0;         ///< host, and what the last stage's draft model takes
    int64_t half = 0;           ///< of a block, without experts
    int64_t experts = 0;        ///< of a block with experts
    int64_t after = 0;          ///< head and sampling
    int64_t reduce = 0;         ///< an all-reduce inside the server
    int64_t exchange = 0;       ///< dispatch and combine inside the server
    uint64_t reduceBytes = 0;   ///< of an all-reduce between servers
    uint64_t dispatchBytes = 0; ///< of a rank, to all of the expert group
    uint64_t combineBytes = 0;
    std::shared_ptr<const coll::BlockSizes> dispatchBlocks; ///< null: equal ones
    std::shared_ptr<const coll::BlockSizes> combineBlocks;
    uint64_t sendBytes = 0;                  ///< activations to the next stage, of one GPU
    std::array<int64_t, kTimeParts> parts{}; ///< of all computing

    /// A collective of the tensor group between servers; `ranks` is left.
    coll::Collective ReduceOf(const StageOp& op) const
    {
        coll::Collective what;
        what.op = op.op;
        what.bytes = op.bytes > 0 ? op.bytes : reduceBytes;
        return what;
    }

    /// A dispatch, or a combine, between servers; `ranks` is left.
    coll::Collective ExchangeOf(bool dispatch) const
    {
        coll::Collective what;
        what.blocks = dispatch ? dispatchBlocks : combineBlocks;
        what.op = what.blocks ? coll::Op::kAllToAllV : coll::Op::kAllToAll;
        what.bytes = what.blocks ? what.blocks->LargestInput()
                     : dispatch  ? dispatchBytes
                                 : combineBytes;
        return what;
    }

    /// ps of a member that computes
    int64_t Span(const StageOp& op) const
    {
        return op.fixed + (op.first ? before : 0) + op.halves * half + op.experts * experts +
               op.reduces * reduce + op.exchanges * exchange + (op.last ? after : 0);
    }
};

/// A stage of the instances of a pool.
class StageCosts
{
  public:
    virtual ~StageCosts() = default;
    StageCosts(const StageCosts&) = delete;
    StageCosts& operator=(const StageCosts&) = delete;

    /// \param loads of all engines of the instance \param engine whose
    StageLoad LoadOf(const std::vector<BatchLoad>& loads, uint32_t engine);

    /// Bytes of KV of a token in one layer, of one GPU.
    virtual double KvLayerBytes() const = 0;

    /// Blocks, or layers, of the stages before this one.
    virtual uint32_t FirstBlock() const = 0;
    virtual uint32_t Blocks() const = 0;

    const std::vector<StageOp>& Chain() const
    {
        return m_chain;
    }

    /// Members of the chain with all collectives of the tensor group that differ.
    const std::vector<StageOp>& Reduces() const
    {
        return m_reduces;
    }

    bool TensorInside() const
    {
        return m_tensorInside;
    }

    bool ExpertsInside() const
    {
        return m_expertsInside;
    }

  protected:
    /// LoadOf, with what is computed again among the other parts.
    virtual StageLoad TimesOf(const std::vector<BatchLoad>& loads, uint32_t engine) = 0;

    StageCosts(const scenario::ServingScenario& scenario,
               uint32_t pool,
               uint32_t stage,
               uint32_t firstGpu,
               scenario::CollectiveTimes& times);

    /// Once.
    void SetChain(std::vector<StageOp> chain);

    const scenario::ServingScenario& m_scenario;
    const PoolSpec& m_pool;
    scenario::CollectiveTimes& m_times;
    uint32_t m_tensorGroup = 0; ///< CollectiveTimes::GroupOf
    uint32_t m_expertGroup = 0;
    bool m_tensorInside = true;
    bool m_expertsInside = true;
    double m_reduceShare = 1; ///< SparseReduceShare
    double m_sendShare = 1;   ///< SparseSendShare

  private:
    std::vector<StageOp> m_chain;
    std::vector<StageOp> m_reduces;
};

/// \param scenario outlives it, as `times` \param firstGpu of an instance of the pool
std::unique_ptr<StageCosts> MakeStageCosts(const scenario::ServingScenario& scenario,
                                           uint32_t pool,
                                           uint32_t stage,
                                           uint32_t firstGpu,
                                           scenario::CollectiveTimes& times);

} // namespace serving

#endif // SCENARIOS_INFERENCE_STAGES_STAGE_COSTS_H
