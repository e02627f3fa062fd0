/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Orca (Yu et al., OSDI'22, algorithm 1): each iteration has all requests that run, up to the
 * largest batch, and new ones in order with their whole prompts. KV memory for all tokens of a
 * request is reserved when it begins, so nobody is preempted.
 */
#include "scenarios/inference/engine.h"

namespace serving
{

namespace
{

class OrcaScheduler : public Scheduler
{
  public:
    void Schedule(Engine& engine, Batch* batch) const override
    {
        auto& waiting = engine.Waiting();
        while (!waiting.empty() && engine.CountRunning() < engine.Spec().maxBatch)
        {
            Live& first = *waiting.front();
            const uint32_t all = first.prompt + first.output - 1 + engine.DecodeTokens() - 1;
            if (!engine.Blocks().Grow(&first.blocks, first.OwnTokens(all)))
            {
                break;
            }
            engine.Admit();
        }
        for (const auto& request : engine.Running())
        {
            if (!request->inFlight)
            {
                engine.Add(batch,
                           request.get(),
                           request->Decodes() ? engine.DecodeTokens()
                                              : request->Tokens() - request->computed);
            }
        }
    }
};

const RegisteredScheduler g_orca({"orca",
                                  2,
                                  "iterations with whole prompts; KV of all tokens when admitted",
                                  "Orca",
                                  MakeScheduler<OrcaScheduler>});

} // namespace

} // namespace serving
