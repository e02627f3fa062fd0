/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Prompts first, in iterations of their own: SGLang (Scheduler.get_next_batch_to_run of
 * python/sglang/srt/managers/scheduler.py) and vLLM to 0.6 (Scheduler._schedule_default of
 * vllm/core/scheduler.py). While prompts wait and have room, nobody decodes. A prompt is whole, or
 * as much as the budget leaves with chunkedPrefill. A request that finds no KV block while it
 * decodes takes those of the last one that runs.
 */
#include "scenarios/inference/engine.h"
#include "scenarios/inference/preemption.h"

#include <algorithm>

namespace serving
{

namespace
{

class PrefillFirstScheduler : public Scheduler
{
  public:
    void Schedule(Engine& engine, Batch* batch) const override
    {
        uint32_t budget = engine.Spec().tokenBudget;
        for (const auto& request : engine.Running())
        {
            // The rest of a prompt, whose blocks it has.
            if (!request->inFlight && !request->Decodes() && budget > 0)
            {
                const uint32_t tokens = std::min(request->Tokens() - request->computed, budget);
                engine.Add(batch, request.get(), tokens);
                budget -= tokens;
            }
        }
        Waiting(engine, batch, budget);
        if (batch->IsEmpty())
        {
            Decode(engine, batch);
        }
    }

  private:
    static void Waiting(Engine& engine, Batch* batch, uint32_t budget)
    {
        const ServingSpec& spec = engine.Spec();
        auto& waiting = engine.Waiting();
        const uint32_t most = spec.tokenBudget;
        while (!waiting.empty() && engine.CountRunning() < spec.maxBatch)
        {
            std::size_t index = 0;
            uint32_t tokens = 0;
            const auto fits = [&] {
                Live& request = *waiting[index];
                if (request.Decodes())
                {
                    tokens = 0; // it has come with its KV, and decodes with the others
                    return true;
                }
                const uint32_t wanted = request.Tokens() - request.computed;
                const bool cut = spec.chunkedPrefill || wanted > most;
                tokens = std::min(wanted, budget);
                return tokens > 0 && (tokens == wanted || cut) &&
                       engine.Blocks().Grow(&request.blocks, request.OwnTokens(request.Tokens()));
            };
            if (!fits())
            {
                index = engine.FindWithKv(1);
                if (index == waiting.size() || !fits())
                {
                    if (engine.CountRunning() > 0 || budget == 0 || !engine.DropLastWaiting())
                    {
                        return;
                    }
                    ++batch->preempted;
                    continue;
                }
            }
            Live* const request = engine.Admit(index);
            if (tokens > 0)
            {
                engine.Add(batch, request, tokens);
                budget -= tokens;
            }
        }
    }

    static void Decode(Engine& engine, Batch* batch)
    {
        auto& running = engine.Running();
        for (std::size_t i = 0; i < running.size(); ++i)
        {
            Live* const request = running[i].get();
            if (request->inFlight)
            {
                continue;
            }
            const Taken taken = TakeBlocks(engine, request, engine.DecodeTokens(), batch);
            if (taken != Taken::kBlocks)
            {
                return;
            }
            engine.Add(batch, request, engine.DecodeTokens());
        }
    }
};

const RegisteredScheduler g_prefillFirst({"prefill-first",
                                          4,
                                          "prompts first, in iterations of their own (SGLang, "
                                          "vLLM to 0.6)",
                                          "prompts first",
                                          MakeScheduler<PrefillFirstScheduler>,
                                          true,
                                          true,
                                          true,
                                          false,
                                          true});

} // namespace

} // namespace serving
