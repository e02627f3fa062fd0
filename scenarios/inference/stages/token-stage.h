/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * An iteration of a stage of a model with tokens, for one engine:
 *
 *     host, embedding | half a block | all-reduce | half a block | all-reduce | ... | head
 *                                                 | experts between dispatch and combine
 *
 * The time of kernels is IterationTime's for the whole stage; what is not experts or head is shared
 * out evenly over halves of blocks.
 *
 * Rows of collectives are rounded up to 1, 2, 4 or a multiple of 8 up to 512: sizes that vLLM
 * captures CUDA graphs for (cudagraph_capture_sizes of vllm/config).
 */
#ifndef SCENARIOS_INFERENCE_STAGES_TOKEN_STAGE_H
#define SCENARIOS_INFERENCE_STAGES_TOKEN_STAGE_H

#include "scenarios/inference/engine-collectives.h"
#include "scenarios/inference/iteration-time.h"
#include "scenarios/inference/stages/stage-costs.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace serving
{

/// The rows that a collective has for so many tokens.
uint32_t CapturedRows(uint32_t tokens);

class TokenStage : public StageCosts
{
  public:
    TokenStage(const scenario::ServingScenario& scenario,
               uint32_t pool,
               uint32_t stage,
               uint32_t firstGpu,
               scenario::CollectiveTimes& times);

    StageLoad TimesOf(const std::vector<BatchLoad>& loads, uint32_t engine) override;

    double KvLayerBytes() const override
    {
        return m_time.KvBytesPerToken() / m_time.Blocks();
    }

    uint32_t FirstBlock() const override
    {
        return m_cut.firstBlock;
    }

    uint32_t Blocks() const override
    {
        return m_time.Blocks();
    }

  private:
    /// Blocks of a dispatch and of a combine, by rows: experts are not chosen evenly.
    using Blocks2 =
        std::pair<std::shared_ptr<const coll::BlockSizes>, std::shared_ptr<const coll::BlockSizes>>;

    void MakeChain();
    /// ps of an all-reduce of the tensor group, in its server
    int64_t ReduceInside(uint64_t bytes);
    /// ps of a dispatch, or a combine, of the expert group, in its server
    int64_t ExchangeInside(coll::Op op,
                           uint64_t bytes,
                           const std::shared_ptr<const coll::BlockSizes>& blocks);
    /// ps of the library's, in a CUDA graph
    int64_t WithoutLaunch(uint32_t group,
                          coll::Op op,
                          uint64_t bytes,
                          const std::shared_ptr<const coll::BlockSizes>& blocks,
                          rdma::Duration launch);
    const Blocks2& BlocksOfRows(uint32_t rows, uint64_t dispatch, uint64_t combine);

    StageCut m_cut;
    IterationTime m_time;
    PeerLinks m_links;
    std::optional<IterationTime> m_draft; ///< at the last stage
    std::vector<double> m_expertShares;   ///< by rank of the expert group; empty: even
    double m_busiest = 0;                 ///< the largest of them
    std::map<uint32_t, Blocks2> m_blocks;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_STAGES_TOKEN_STAGE_H
