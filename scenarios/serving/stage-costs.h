/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * An iteration of a stage as a chain of computing and communicating, for one engine:
 *
 *     host, embedding | half a block | all-reduce | half a block | all-reduce | ... | head
 *                                                 | experts between dispatch and combine
 *
 * The time of kernels is IterationTime's for the whole stage; what is not experts or head is shared
 * out evenly over halves of blocks. A collective of GPUs that are all in one server takes the time
 * of the tuner's formula and is part of computing (kTensor, kExperts). So a stage in one server is
 * a single span of time.
 *
 * Rows of collectives are rounded up to 1, 2, 4 or a multiple of 8 up to 512: sizes that vLLM
 * captures CUDA graphs for (cudagraph_capture_sizes of vllm/config).
 */
#ifndef SCENARIOS_SERVING_STAGE_COSTS_H
#define SCENARIOS_SERVING_STAGE_COSTS_H

#include "collectives/block-sizes.h"
#include "scenarios/options/collective/collective-times.h"
#include "scenarios/run/serving-scenario.h"
#include "scenarios/serving/batch-load.h"
#include "scenarios/serving/iteration-time.h"
#include "scenarios/serving/serving-record.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace serving
{

/// The rows that a collective has for so many tokens.
uint32_t CapturedRows(uint32_t tokens);

/// A member of the chain of a stage.
struct StageOp
{
    enum class Kind : uint8_t
    {
        kCompute,
        kReduce,   ///< all-reduce of the tensor group
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

    /// A dispatch, or a combine, between servers; `ranks` is left.
    coll::Collective ExchangeOf(bool dispatch) const
    {
        coll::Collective what;
        what.blocks = dispatch ? dispatchBlocks : combineBlocks;
        what.op = what.blocks ? coll::Op::kAllToAllV : coll::Op::kAllToAll;
        what.bytes = dispatch ? dispatchBytes : combineBytes;
        return what;
    }

    /// ps of a member that computes
    int64_t Span(const StageOp& op) const
    {
        return (op.first ? before : 0) + op.halves * half + op.experts * experts +
               op.reduces * reduce + op.exchanges * exchange + (op.last ? after : 0);
    }
};

/// A stage of the instances of a pool.
class StageCosts
{
  public:
    /// \param scenario outlives this \param firstGpu of an instance of the pool
    StageCosts(const scenario::ServingScenario& scenario,
               uint32_t pool,
               uint32_t stage,
               uint32_t firstGpu,
               scenario::CollectiveTimes& times);

    const std::vector<StageOp>& Chain() const
    {
        return m_chain;
    }

    /// \param loads of all engines of the instance \param engine whose
    StageLoad LoadOf(const std::vector<BatchLoad>& loads, uint32_t engine);

    /// Bytes of KV of a token in one layer, of one GPU.
    double KvLayerBytes() const
    {
        return m_time.KvBytesPerToken() / m_time.Blocks();
    }

    /// Of one GPU.
    double ParameterBytes() const
    {
        return m_time.ParameterBytes();
    }

    uint32_t FirstBlock() const
    {
        return m_cut.firstBlock;
    }

    uint32_t Blocks() const
    {
        return m_time.Blocks();
    }

    bool TensorInside() const
    {
        return m_tensorInside;
    }

    bool ExpertsInside() const
    {
        return m_expertsInside;
    }

  private:
    /// Blocks of a dispatch and of a combine, by rows: experts are not chosen evenly.
    using Blocks2 =
        std::pair<std::shared_ptr<const coll::BlockSizes>, std::shared_ptr<const coll::BlockSizes>>;

    void MakeChain();
    const Blocks2& BlocksOfRows(uint32_t rows, uint64_t dispatch, uint64_t combine);

    const scenario::ServingScenario& m_scenario;
    const PoolSpec& m_pool;
    StageCut m_cut;
    IterationTime m_time;
    std::optional<IterationTime> m_draft; ///< at the last stage
    scenario::CollectiveTimes& m_times;
    uint32_t m_tensorGroup = 0; ///< CollectiveTimes::GroupOf
    uint32_t m_expertGroup = 0;
    bool m_tensorInside = true;
    bool m_expertsInside = true;
    double m_reduceShare = 1; ///< SparseReduceShare
    double m_sendShare = 1;
    std::vector<double> m_expertShares; ///< by rank of the expert group; empty: even
    double m_busiest = 0;               ///< the largest of them
    std::map<uint32_t, Blocks2> m_blocks;
    std::vector<StageOp> m_chain;
};

} // namespace serving

#endif // SCENARIOS_SERVING_STAGE_COSTS_H
