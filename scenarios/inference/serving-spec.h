/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve simulates: requests, the instances of a model that serve them, and how they share
 * out their work. Made by the options' layer (scenarios/inference/options), every field resolved.
 *
 *     pool       instances that are alike and do the same part of a request
 *     instance   one copy of the model: pp stages of dp x tp GPUs. With dp > 1 (experts spread over
 *                tp x dp GPUs) its dp engines run their iterations in step
 *     engine     one scheduler with its KV blocks
 *
 * GPUs of an instance follow one another: GPU = first + (stage x dp + engine) x tp + t.
 */
#ifndef SCENARIOS_INFERENCE_SERVING_SPEC_H
#define SCENARIOS_INFERENCE_SERVING_SPEC_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace serving
{

/// A number of tokens, or a distribution of them.
struct LengthSpec
{
    enum class Kind : uint8_t
    {
        kFixed,     ///< `first`
        kUniform,   ///< integers from `first` to `second`, both included
        kLognormal, ///< of mean `first` and coefficient of variation `second`, at least 1
    };

    Kind kind = Kind::kFixed;
    double first = 0;
    double second = 0;
};

/// A request as it comes.
struct Request
{
    int64_t arrival = 0; ///< ps; -1: when an earlier one is answered, as in a closed loop
    uint32_t prompt = 0; ///< tokens, at least 1
    uint32_t output = 0; ///< tokens asked for, at least 1
};

struct RequestsSpec
{
    enum class Kind : uint8_t
    {
        kPoisson,  ///< times between arrivals are exponential
        kGamma,    ///< gamma, of mean 1 / rate and coefficient of variation `cv`
        kConstant, ///< one every 1 / rate
        kBurst,    ///< all at once
        kClosed,   ///< `clients` users: each sends the next request when the last one is answered
        kFile,     ///< arrivals and lengths of a file
    };

    Kind kind = Kind::kPoisson;
    double rate = 0; ///< requests a second
    double cv = 1;
    uint32_t clients = 0;
    uint32_t count = 0; ///< requests in all
    LengthSpec prompt;  ///< with a file, `first` 0: as it has them
    LengthSpec output;
    std::string file;
    /// Requests of the file, by arrival; -1: the file has no arrivals. A `rate` stretches
    /// arrivals, or makes Poisson's.
    std::shared_ptr<const std::vector<Request>> traced = nullptr;
    uint64_t seed = 1;
};

/// What the instances of a pool do.
enum class PoolRole : uint8_t
{
    kBoth,
    kPrefill, ///< the prompt and the first token
    kDecode,  ///< the other tokens
};

struct PoolSpec
{
    PoolRole role = PoolRole::kBoth;
    uint32_t instances = 1;
    uint32_t tp = 1;
    uint32_t pp = 1;
    uint32_t dp = 1; ///< engines of an instance
    /// dp 1: ranks of the tensor group have whole experts, instead of a cut of each.
    bool wholeExperts = false;
    uint32_t firstGpu = 0; ///< of its first instance

    uint32_t GpusOfInstance() const
    {
        return tp * pp * dp;
    }
};

/// A draft model proposes tokens, the model checks them in one pass.
struct SpeculationSpec
{
    std::string draft;   ///< name of a model, or a file
    uint32_t tokens = 0; ///< proposed in a step (K)
    double accept = 0;   ///< probability of each, given those before it
};

/// Only a share of activations is sent at a cut.
struct SparseSpec
{
    enum class Codec : uint8_t
    {
        kNone,    ///< a share that both sides know
        kIndex,   ///< 4 bytes an element that is sent
        kBitmask, ///< a bit an element
    };

    double share = 1; ///< 0 to 1, above 0
    Codec codec = Codec::kNone;
    bool prunedFlops = false; ///< what is not sent is not computed either
};

/// Objective of a request: at most so many seconds; 0: none.
struct SloSpec
{
    double ttft = 0;
    double tpot = 0;
    double e2e = 0;

    bool Any() const
    {
        return ttft > 0 || tpot > 0 || e2e > 0;
    }
};

/// What of a GPU's memory KV has.
struct KvRoom
{
    enum class Of : uint8_t
    {
        kAll,    ///< a share of all, with parameters and activations (vLLM)
        kFree,   ///< a share of what these leave (TensorRT-LLM)
        kStatic, ///< a share of all, with parameters; activations lie outside (SGLang)
    };

    Of of = Of::kAll;
    double share = 0.9;
};

struct ServingSpec
{
    RequestsSpec requests;
    std::vector<PoolSpec> pools;        ///< one of kBoth; or kPrefill and kDecode
    std::string scheduler = "vllm";     ///< name (scheduler.h)
    std::string router = "round-robin"; ///< name (router.h)
    uint32_t maxBatch = 256;            ///< requests of an engine that run at once
    uint32_t tokenBudget = 2048;        ///< tokens of an iteration of an engine
    bool chunkedPrefill = true;
    /// A scheduler that waits with prompts (SchedulerEntry::waits) has fewer than `waitShare` of
    /// the token budget in an iteration at most `waitIterations` times in a row; 0: it does not
    /// wait.
    uint32_t waitIterations = 0;
    double waitShare = 0;
    uint32_t pollInterval = 1; ///< iterations of decoding between looks for new requests
    /// Iterations are scheduled one ahead: a busy engine has a request that comes at its second
    /// look.
    bool ahead = false;
    /// s, of a request beside the engine, a part of the time to its first token: HTTP, tokenizer.
    double answerTime = 0;
    double answerToken = 0; ///< s, the same for each token of the prompt
    uint32_t kvBlock = 16;  ///< tokens
    /// KV blocks of an engine, by pool: what GPU memory has room for, or as asked for.
    std::vector<uint64_t> kvBlocks;
    double prefixCache = 0;           ///< share of a prompt's tokens that are in the cache
    std::string kvTransfer = "whole"; ///< name (kv-transfer.h)
    std::optional<SpeculationSpec> speculation;
    SparseSpec sparse;
    SloSpec slo;
    double duration = 0;         ///< s, then the run ends; 0: with the last request
    uint32_t warmupRequests = 0; ///< the first ones are in no statistics
    double dollarsPerGpuHour = 0;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_SERVING_SPEC_H
