/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One engine: the requests that wait at it and that it runs, its KV blocks, and the batches that
 * its scheduler makes of them.
 *
 *     Take --> waiting --Schedule--> running --> (iteration) --> End --> answered
 *                 ^                     |
 *                 +----- preempted <----+     blocks given back, all tokens computed anew
 *
 * Tokens of a request: `prompt` + `produced`. KV of the first `computed` of them is in its blocks.
 * An iteration computes some that follow; when it has computed them all, one more token is out.
 */
#ifndef SCENARIOS_INFERENCE_ENGINE_H
#define SCENARIOS_INFERENCE_ENGINE_H

#include "scenarios/inference/batch-load.h"
#include "scenarios/inference/kv-blocks.h"
#include "scenarios/inference/scheduler.h"
#include "scenarios/inference/serving-spec.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace serving
{

/// A request at an engine.
struct Live
{
    uint32_t id = 0;
    uint32_t prompt = 0;   ///< tokens
    uint32_t output = 0;   ///< tokens after which it leaves the engine
    uint32_t produced = 0; ///< tokens out
    uint32_t computed = 0; ///< tokens with KV
    uint32_t cached = 0;   ///< of the prompt, in the prefix cache: they have no blocks of its own
    uint32_t lost = 0;     ///< the first of these had KV before a preemption
    uint32_t preemptions = 0;
    uint32_t asked = 0;    ///< tokens that it waits to have blocks for
    bool inFlight = false; ///< in an iteration that has not ended
    bool held = false;     ///< it has all tokens, and keeps its blocks until Release
    bool withKv = false;   ///< it has come with KV of another engine, and waits
    BlockTable blocks;

    uint32_t Tokens() const
    {
        return prompt + produced;
    }

    /// \return tokens that need blocks, of the first so many
    uint32_t OwnTokens(uint32_t tokens) const
    {
        return tokens > cached ? tokens - cached : 0;
    }

    /// It has its prompt's KV, and goes on token by token.
    bool Decodes() const
    {
        return computed + 1 == Tokens() && produced > 0;
    }
};

/// An iteration of an engine.
struct Batch
{
    struct Entry
    {
        Live* request = nullptr;
        uint32_t tokens = 0; ///< that it computes
        bool decodes = false;
    };

    std::vector<Entry> entries;
    BatchLoad load;
    uint32_t preempted = 0;

    bool IsEmpty() const
    {
        return entries.empty();
    }
};

/// \return tokens that must fit into the KV cache for a request to run alone
uint64_t LeastTokens(const ServingSpec& spec, PoolRole role, const Request& request);

class Engine
{
  public:
    /// \param spec outlives this \param blocks KV blocks
    Engine(const ServingSpec& spec, uint64_t blocks);

    /// A request comes, behind those that wait. \return it, until it is answered
    Live* Take(std::unique_ptr<Live> request);

    /// Makes the next iteration. \return empty: nothing can run
    Batch Schedule();

    /// Hears of tokens that an iteration has put out, and whether the request has all of them; then
    /// it is gone after the call. \return whether its blocks are kept, until Release
    using Told = std::function<bool(Live& request, uint32_t tokens, bool done)>;
    /// The iteration has ended. \param accepted drafts that the model agrees with, of a request
    void End(const Batch& batch, const Told& told, const std::function<uint32_t()>& accepted);

    /// Blocks for a request that comes with KV of another engine. \return false: not now
    bool Reserve(Live* request)
    {
        return m_blocks.Grow(&request->blocks, request->OwnTokens(request->computed));
    }

    /// KV of a request that was kept has left.
    void Release(Live* request);

    uint32_t CountRunning() const
    {
        return static_cast<uint32_t>(m_running.size());
    }

    uint32_t CountWaiting() const
    {
        return static_cast<uint32_t>(m_waiting.size() + m_unseen.size());
    }

    /// \return blocks in use and, of those that wait, that their tokens will need
    uint64_t AskedBlocks() const;

    const KvBlocks& Blocks() const
    {
        return m_blocks;
    }

    const ServingSpec& Spec() const
    {
        return m_spec;
    }

    // For schedulers:

    KvBlocks& Blocks()
    {
        return m_blocks;
    }

    std::deque<std::unique_ptr<Live>>& Waiting()
    {
        return m_waiting;
    }

    std::vector<std::unique_ptr<Live>>& Running()
    {
        return m_running;
    }

    /// One that waits runs. \param index among those that wait
    Live* Admit(std::size_t index = 0);
    /// The last that runs, and is in no iteration, waits, first of all, and has no KV any more.
    /// \return it; null: there is none
    Live* PreemptLast();
    /// \return who that would be
    const Live* LastToPreempt() const;
    /// \return the first from this one on that waits with KV of another engine; as many as wait:
    /// there is none
    std::size_t FindWithKv(std::size_t from) const;
    /// The last that waits with KV of another engine loses it. \return whether there was one
    bool DropLastWaiting();
    /// A request computes so many of its tokens in this batch.
    void Add(Batch* batch, Live* request, uint32_t tokens);

    /// Tokens of a decoding request in an iteration: one, and the drafts to be checked.
    uint32_t DecodeTokens() const
    {
        return 1 + (m_spec.speculation ? m_spec.speculation->tokens : 0);
    }

    /// Length that all prompts of a static batch are padded to, and tokens of its longest output.
    struct Padding
    {
        uint32_t prompt = 0;
        uint32_t output = 0;
        uint32_t slots = 0; ///< requests that it began with: they stay in it
        uint32_t step = 0;  ///< iterations done
    };

    Padding padding;     ///< of the static batch under way
    uint32_t waited = 0; ///< iterations in a row that a scheduler has waited with prompts

  private:
    void LoseKv(Live* request);
    /// Requests that have come wait, if it is time to look for them.
    void Poll();

    const ServingSpec& m_spec;
    std::unique_ptr<Scheduler> m_scheduler;
    KvBlocks m_blocks;
    std::deque<std::unique_ptr<Live>> m_waiting;
    std::deque<std::unique_ptr<Live>> m_unseen; ///< have come since the engine last looked
    std::size_t m_seen = 0;                     ///< of these, at the last look (ServingSpec::ahead)
    uint32_t m_sinceLook = 0;                   ///< iterations of decoding
    std::vector<std::unique_ptr<Live>> m_running;
    std::vector<std::unique_ptr<Live>> m_held; ///< answered, but for their KV
    uint64_t m_asked = 0;                      ///< Live::asked of those that wait
    uint64_t m_withKv = 0;                     ///< those that wait with KV
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_ENGINE_H
