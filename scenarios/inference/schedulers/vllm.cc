/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * vLLM V1 (Scheduler.schedule of vllm/v1/core/sched/scheduler.py, v0.8 and later): requests that
 * run come first, in their order, each with all that it has not computed, within a budget of
 * tokens. If one finds no KV blocks, the last that runs gives up its own and waits, first of all.
 * Then, if nobody had to, waiting requests begin in order, with as much of their prompts as the
 * budget leaves (chunked prefill), or all of it.
 */
#include "scenarios/inference/admission.h"
#include "scenarios/inference/engine.h"
#include "scenarios/inference/preemption.h"

#include <algorithm>

namespace serving
{

namespace
{

class VllmScheduler : public Scheduler
{
  public:
    void Schedule(Engine& engine, Batch* batch) const override
    {
        uint32_t budget = engine.Spec().tokenBudget;
        const bool stalled = !Running(engine, batch, &budget);
        // (vLLM turns again at once if nothing runs.)
        if (!stalled && (batch->preempted == 0 || batch->IsEmpty()))
        {
            Waiting(engine, batch, budget);
        }
    }

  private:
    static uint32_t Wanted(const Engine& engine, const Live& request)
    {
        return request.Decodes() ? engine.DecodeTokens() : request.Tokens() - request.computed;
    }

    /// \return false: one stalls
    static bool Running(Engine& engine, Batch* batch, uint32_t* budget)
    {
        auto& running = engine.Running();
        for (std::size_t i = 0; i < running.size() && *budget > 0; ++i)
        {
            Live* const request = running[i].get();
            if (request->inFlight)
            {
                continue;
            }
            const uint32_t tokens = std::min(Wanted(engine, *request), *budget);
            const Taken taken = TakeBlocks(engine, request, tokens, batch);
            if (taken != Taken::kBlocks)
            {
                return taken == Taken::kNone;
            }
            engine.Add(batch, request, tokens);
            *budget -= tokens;
        }
        return true;
    }

    static void Waiting(Engine& engine, Batch* batch, uint32_t most)
    {
        const ServingSpec& spec = engine.Spec();
        AdmitWaiting(engine, batch, most, [&](Live& request, uint32_t budget, uint32_t* tokens) {
            const uint32_t wanted = Wanted(engine, request);
            *tokens = std::min(wanted, budget);
            return (wanted <= budget || spec.chunkedPrefill) &&
                   engine.Blocks().Grow(&request.blocks,
                                        request.OwnTokens(request.computed + *tokens));
        });
    }
};

const RegisteredScheduler g_vllm({"vllm",
                                  1,
                                  "vLLM V1: running requests first, then waiting ones, by a budget",
                                  "vLLM V1",
                                  MakeScheduler<VllmScheduler>,
                                  true,
                                  true,
                                  true});

} // namespace

} // namespace serving
