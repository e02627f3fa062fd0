/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requests of a file: when each arrives, how long its prompt and its answer are.
 *
 *   CSV with a line of names   arrival_s,input_tokens,output_tokens, and the names of others:
 *                              Azure's traces   TIMESTAMP,ContextTokens,GeneratedTokens
 *                              BurstGPT         Timestamp,Model,Request tokens,Response tokens,...
 *                              Splitwise        arrival_timestamp,prompt_size,token_size
 *                              Vidur            arrived_at,num_prefill_tokens,num_decode_tokens
 *                              requests.csv of an earlier run of dlserve
 *   a JSON object a line       Mooncake's traces: timestamp (ms), input_length, output_length,
 *                              hash_ids; or the names of CSV
 *   a JSON list                of such objects; or of conversations as ShareGPT has them: the first
 *                              question and its answer, 4 characters a token
 *
 * Names are compared without case, blanks, '-' and '_'; a note names other columns. A time is a
 * number, or a date with a time of day; the first arrival is 0. Files may be packed by gzip.
 *
 * Formats: Azure/AzurePublicDataset (AzureLLMInferenceDataset2023.md, ...2024.md);
 * HPMLL/BurstGPT README.md; Mutinifni/splitwise-sim README.md; microsoft/vidur
 * data/processed_traces; kvcache-ai/Mooncake README.md, whose hash_ids stand for blocks of 512
 * tokens; ShareGPT as vLLM's benchmarks read it (vllm/benchmarks/datasets.py).
 */
#ifndef SCENARIOS_FORMATS_REQUESTS_REQUEST_TRACE_H
#define SCENARIOS_FORMATS_REQUESTS_REQUEST_TRACE_H

#include "scenarios/inference/serving-spec.h"
#include "topologies/error.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace formats
{

/// An estimate for English text: OpenAI's help page "What are tokens and how to count them?".
constexpr double kCharactersOfToken = 4;

/// Tokens of a block that a hash id of Mooncake's traces stands for.
constexpr uint32_t kMooncakeBlock = 512;

constexpr uint32_t kMostRequests = 10'000'000;

struct RequestTrace
{
    std::vector<serving::Request> requests; ///< by arrival; without arrivals -1, in file order
    bool hasArrivals = true;
    bool estimated = false;  ///< tokens from characters
    uint64_t left = 0;       ///< requests without tokens, which are left out
    std::string note;        ///< names columns that are not used; empty: none
    double prefixShare = -1; ///< tokens of prompts in blocks of earlier ones; -1: not known
};

/// Only lines with these values in these columns; "*": any.
using RequestFilter = std::vector<std::pair<std::string, std::string>>;

/// A file with several values in a column gpu, model or run holds several runs: the filter must
/// choose. \return nothing after an error
std::optional<RequestTrace> ReadRequestTrace(const std::string& file,
                                             const RequestFilter& filter,
                                             std::vector<topo::Error>& errors);

/// The same of a text. \param file its name, for errors
std::optional<RequestTrace> ParseRequestTrace(const std::string& text,
                                              const std::string& file,
                                              const RequestFilter& filter,
                                              std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_REQUESTS_REQUEST_TRACE_H
