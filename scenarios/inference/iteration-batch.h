/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What an inference iteration has to compute: tokens of prompts, and of sequences that decode.
 */
#ifndef SCENARIOS_INFERENCE_ITERATION_BATCH_H
#define SCENARIOS_INFERENCE_ITERATION_BATCH_H

#include <algorithm>

namespace serving
{

/// The batch of an iteration, as sums over its sequences and chunks.
struct IterationBatch
{
    double decodeSequences = 0;
    /// New tokens of these: as many as sequences, more with speculative decoding; 0: as many.
    double decodeTokens = 0;
    double decodeContext = 0; ///< keys that they read, own ones included, summed over sequences
    double prefillChunks = 0;
    double prefillTokens = 0; ///< new tokens of chunks
    /// Sum over chunks of new x (before + (new + 1) / 2): pairs of a query and a key that it sees.
    double prefillPairs = 0;
    double prefillContext = 0; ///< sum over chunks of before + new: keys that are read
    double prefillLongest = 0; ///< the largest of these; 0: their mean
    double logitsRows = 0;     ///< rows of logits: sequences that get a token
    /// Pairs of a token and a routed expert on this rank, a block; less than 0: an even share.
    double expertPairs = -1;
    /// Experts of this rank that get any token, a block; less than 0: as many as with tokens that
    /// choose at random.
    double expertsHit = -1;
    /// Tokens of the whole expert-parallel group; less than 0: this rank's own (replicated ones).
    double groupTokens = -1;

    void AddDecode(double context, double tokens = 1)
    {
        decodeSequences += 1;
        decodeTokens += tokens;
        decodeContext += context;
        logitsRows += tokens;
    }

    /// \param last the prompt ends with it, so it gets a token
    void AddChunk(double tokens, double before, bool last = true)
    {
        prefillChunks += 1;
        prefillTokens += tokens;
        prefillPairs += tokens * (before + (tokens + 1) / 2);
        prefillContext += before + tokens;
        prefillLongest = std::max(prefillLongest, before + tokens);
        logitsRows += last ? 1 : 0;
    }

    double DecodeTokens() const
    {
        return decodeTokens > 0 ? decodeTokens : decodeSequences;
    }

    double Tokens() const
    {
        return DecodeTokens() + prefillTokens;
    }
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_ITERATION_BATCH_H
