/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The size of an iteration: what the times of its kernels and the bytes of its collectives depend
 * on.
 */
#ifndef SCENARIOS_INFERENCE_BATCH_LOAD_H
#define SCENARIOS_INFERENCE_BATCH_LOAD_H

#include <cstdint>

namespace serving
{

struct BatchLoad
{
    uint32_t tokens = 0;          ///< computed in it: rows of all products but the head
    uint32_t logits = 0;          ///< rows of the head
    uint32_t decodeSequences = 0; ///< requests that compute one token, or check drafts
    uint32_t decodeTokens = 0;    ///< of these
    uint64_t decodeContext = 0; ///< sum over them of tokens whose KV they read, their own included
    uint32_t prefillSequences = 0;
    uint32_t prefillTokens = 0;
    uint64_t prefillContext = 0; ///< sum over them of tokens whose KV they read, their own included
    /// Sum over them of pairs (query, key) that attention sees: n tokens behind c see n c + n (n +
    /// 1) / 2.
    uint64_t prefillPairs = 0;

    /// Parts of prefill...: tokens whose KV was lost by preemption.
    uint32_t repeatedSequences = 0; ///< all of whose tokens here are such
    uint32_t repeatedTokens = 0;
    uint64_t repeatedContext = 0;
    uint64_t repeatedPairs = 0;

    /// A prompt's tokens, or a part of them. \param before tokens with KV \param again the first
    /// of the fresh ones, which had KV before a preemption
    void AddPrefill(uint64_t before, uint64_t fresh, uint64_t again = 0)
    {
        if (again > 0)
        {
            repeatedTokens += static_cast<uint32_t>(again);
            repeatedPairs += again * before + again * (again + 1) / 2;
            repeatedSequences += again == fresh;
            repeatedContext += again == fresh ? before + fresh : 0;
        }
        ++prefillSequences;
        prefillTokens += static_cast<uint32_t>(fresh);
        tokens += static_cast<uint32_t>(fresh);
        prefillContext += before + fresh;
        prefillPairs += fresh * before + fresh * (fresh + 1) / 2;
    }

    /// \param fresh 1, or more with drafts
    void AddDecode(uint64_t before, uint64_t fresh)
    {
        ++decodeSequences;
        decodeTokens += static_cast<uint32_t>(fresh);
        tokens += static_cast<uint32_t>(fresh);
        decodeContext += before + fresh;
        logits += static_cast<uint32_t>(fresh);
    }

    /// The iteration as it would be if no request had lost its KV.
    BatchLoad WithoutRepeats() const
    {
        BatchLoad rest = *this;
        rest.tokens -= repeatedTokens;
        rest.prefillSequences -= repeatedSequences;
        rest.prefillTokens -= repeatedTokens;
        rest.prefillContext -= repeatedContext;
        rest.prefillPairs -= repeatedPairs;
        rest.repeatedSequences = rest.repeatedTokens = 0;
        rest.repeatedContext = rest.repeatedPairs = 0;
        return rest;
    }
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_BATCH_LOAD_H
