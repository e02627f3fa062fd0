/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Waiting requests of schedulers with a budget of tokens beside decoding.
 */
#ifndef SCENARIOS_INFERENCE_ADMISSION_H
#define SCENARIOS_INFERENCE_ADMISSION_H

#include "scenarios/inference/engine.h"

#include <cstddef>
#include <cstdint>

namespace serving
{

/// Admits waiting requests in their order while the budget of tokens lasts. Where one has no room
/// and nothing runs, the last waiting one gives up its blocks.
/// \param takes bool(Live& request, uint32_t budget, uint32_t* tokens): takes the blocks of a
/// request and says how many of its tokens go into the batch; false: it has no room
template <class Takes>
void
AdmitWaiting(Engine& engine, Batch* batch, uint32_t budget, Takes&& takes)
{
    auto& waiting = engine.Waiting();
    while (!waiting.empty() && budget > 0 && engine.CountRunning() < engine.Spec().maxBatch)
    {
        std::size_t index = 0;
        uint32_t tokens = 0;
        if (!takes(*waiting[index], budget, &tokens))
        {
            // One behind that has come with its KV need not wait for it: both would for ever.
            index = engine.FindWithKv(1);
            if (index == waiting.size() || !takes(*waiting[index], budget, &tokens))
            {
                if (engine.CountRunning() > 0 || !engine.DropLastWaiting())
                {
                    return;
                }
                ++batch->preempted;
                continue;
            }
        }
        engine.Add(batch, engine.Admit(index), tokens);
        budget -= tokens;
    }
}

} // namespace serving

#endif // SCENARIOS_INFERENCE_ADMISSION_H
