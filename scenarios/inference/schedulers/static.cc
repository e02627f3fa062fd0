/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Static batches, as FasterTransformer's: an idle engine takes the requests that wait, up to the
 * largest batch, and nobody joins or leaves until all have their tokens. Prompts are padded to the
 * longest. Those that are done stay in the batch, and are computed, until the last one is.
 */
#include "scenarios/inference/engine.h"

#include <algorithm>

namespace serving
{

namespace
{

class StaticScheduler : public Scheduler
{
  public:
    void Schedule(Engine& engine, Batch* batch) const override
    {
        auto& running = engine.Running();
        if (running.empty() && !Begin(engine))
        {
            return;
        }
        if (std::any_of(running.begin(), running.end(), [](const auto& one) {
                return one->inFlight;
            }))
        {
            return;
        }
        Engine::Padding& padding = engine.padding;
        for (const auto& request : running)
        {
            engine.Add(batch, request.get(), request->Tokens() - request->computed);
        }
        // What is computed is the padded batch.
        batch->load = {};
        for (uint32_t i = 0; i < padding.slots; ++i)
        {
            if (padding.step == 0)
            {
                batch->load.AddPrefill(0, padding.prompt);
                ++batch->load.logits;
            }
            else
            {
                batch->load.AddDecode(padding.prompt + padding.step - 1, 1);
            }
        }
        ++padding.step;
    }

  private:
    /// \return whether a batch begins
    static bool Begin(Engine& engine)
    {
        Engine::Padding padding;
        for (const auto& request : engine.Waiting())
        {
            const uint32_t prompt = std::max(padding.prompt, request->prompt);
            const uint32_t output = std::max(padding.output, request->output);
            const uint64_t blocks = engine.Blocks().BlocksFor(uint64_t{prompt} + output - 1);
            if (padding.slots == engine.Spec().maxBatch ||
                blocks * (padding.slots + 1) > engine.Blocks().All())
            {
                break;
            }
            padding.prompt = prompt;
            padding.output = output;
            ++padding.slots;
        }
        engine.padding = padding;
        for (uint32_t i = 0; i < padding.slots; ++i)
        {
            Live* const request = engine.Admit();
            engine.Blocks().Grow(&request->blocks, uint64_t{padding.prompt} + padding.output - 1);
        }
        return padding.slots > 0;
    }
};

const RegisteredScheduler g_static({"static",
                                    3,
                                    "batches that begin and end together",
                                    "static batches",
                                    MakeScheduler<StaticScheduler>,
                                    false});

} // namespace

} // namespace serving
