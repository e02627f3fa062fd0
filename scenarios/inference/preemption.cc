/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/preemption.h"

namespace serving
{

Taken
TakeBlocks(Engine& engine, Live* request, uint32_t tokens, Batch* batch)
{
    while (!engine.Blocks().Grow(&request->blocks, request->OwnTokens(request->computed + tokens)))
    {
        if (engine.LastToPreempt() != request)
        {
            engine.PreemptLast();
        }
        else if (!engine.DropLastWaiting()) // of those that have come with KV
        {
            if (engine.Running().back().get() != request)
            {
                return Taken::kStalls; // or two would preempt themselves in turn, for ever
            }
            engine.PreemptLast();
            ++batch->preempted;
            return Taken::kNone;
        }
        ++batch->preempted;
    }
    return Taken::kBlocks;
}

} // namespace serving
