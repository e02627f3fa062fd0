/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TensorRT-LLM's capacity scheduler GUARANTEED_NO_EVICT with its micro-batch scheduler
 * (cpp/tensorrt_llm/batch_manager: capacityScheduler, microBatchScheduler): a request begins when
 * KV for its prompt and its whole answer is free, so nobody is preempted. All that decode come
 * first, then prompts within the budget of tokens: whole, or in chunks with chunkedPrefill or where
 * one is above the budget.
 *
 * Prompts may wait for more of them (batch_wait_timeout_iters and batch_wait_max_tokens_ratio of
 * the PyTorch backend: _waiting_requests of pyexecutor/py_executor.py): while requests decode, and
 * an iteration with the prompts would have fewer tokens than a share of the budget, at most so many
 * iterations in a row.
 */
#include "scenarios/inference/admission.h"
#include "scenarios/inference/engine.h"

#include <algorithm>

namespace serving
{

namespace
{

class NoEvictScheduler : public Scheduler
{
  public:
    void Schedule(Engine& engine, Batch* batch) const override
    {
        const ServingSpec& spec = engine.Spec();
        uint32_t budget = spec.tokenBudget;
        bool prompts = false; // that have begun
        for (const auto& request : engine.Running())
        {
            if (request->inFlight)
            {
                continue;
            }
            if (!request->Decodes())
            {
                prompts = true;
                continue;
            }
            engine.Add(batch, request.get(), engine.DecodeTokens());
            budget -= std::min(budget, engine.DecodeTokens());
        }
        if (!batch->IsEmpty() && !prompts && Waits(engine, budget))
        {
            return;
        }
        for (const auto& request : engine.Running())
        {
            if (!request->inFlight && !request->Decodes() && budget > 0)
            {
                const uint32_t tokens = std::min(request->Tokens() - request->computed, budget);
                engine.Add(batch, request.get(), tokens);
                budget -= tokens;
            }
        }
        Begin(engine, batch, budget);
    }

  private:
    /// \param budget tokens that are left beside decoding
    static bool Waits(Engine& engine, uint32_t budget)
    {
        const ServingSpec& spec = engine.Spec();
        if (spec.waitIterations == 0)
        {
            return false;
        }
        uint32_t left = budget;
        uint32_t requests = engine.CountRunning();
        for (const auto& request : engine.Waiting())
        {
            const uint32_t wanted = request->Tokens() - request->computed;
            if (wanted > left || requests == spec.maxBatch)
            {
                break;
            }
            left -= wanted;
            ++requests;
        }
        const bool any = requests > engine.CountRunning();
        const uint32_t tokens = spec.tokenBudget - left;
        if (any && tokens < spec.waitShare * spec.tokenBudget &&
            engine.waited < spec.waitIterations)
        {
            ++engine.waited;
            return true;
        }
        engine.waited = any ? 0 : engine.waited;
        return false;
    }

    /// \param most beside decoding: no more ever fits
    static void Begin(Engine& engine, Batch* batch, uint32_t most)
    {
        const ServingSpec& spec = engine.Spec();
        AdmitWaiting(engine, batch, most, [&](Live& request, uint32_t budget, uint32_t* tokens) {
            const uint32_t wanted =
                request.Decodes() ? engine.DecodeTokens() : request.Tokens() - request.computed;
            const bool cut = spec.chunkedPrefill || wanted > most;
            *tokens = std::min(wanted, budget);
            // The last token's KV is not kept; drafts behind it are computed.
            const uint32_t all = request.prompt + request.output - 1 + engine.DecodeTokens() - 1;
            return (*tokens == wanted || cut) &&
                   engine.Blocks().Grow(&request.blocks, request.OwnTokens(all));
        });
    }
};

const RegisteredScheduler g_noEvict({"no-evict",
                                     5,
                                     "KV of prompt and answer reserved, prompts beside decoding by "
                                     "a budget (TensorRT-LLM)",
                                     "TensorRT-LLM, no eviction",
                                     MakeScheduler<NoEvictScheduler>,
                                     true,
                                     true,
                                     true,
                                     true,
                                     true});

} // namespace

} // namespace serving
