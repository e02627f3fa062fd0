/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a served request, an iteration and a run came to: what the results are made of. Times are
 * ps of simulated time; -1: it never happened.
 */
#ifndef SCENARIOS_INFERENCE_SERVING_RECORD_H
#define SCENARIOS_INFERENCE_SERVING_RECORD_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace serving
{

struct RequestRecord
{
    uint32_t id = 0; ///< by arrival
    int64_t arrival = -1;
    int64_t scheduled = -1;  ///< begin of the first iteration that it is in
    int64_t firstToken = -1; ///< the first token is out
    int64_t lastToken = -1;  ///< all are; -1: it was not answered before the end of the run
    uint32_t prompt = 0;
    uint32_t output = 0;    ///< tokens asked for
    uint32_t produced = 0;  ///< tokens out
    uint32_t cached = 0;    ///< tokens of the prompt from the prefix cache
    uint32_t instance = 0;  ///< of the prompt: counted over all pools
    uint32_t decodedBy = 0; ///< instance of the other tokens
    uint32_t preemptions = 0;
    int64_t kvBegin = -1;  ///< split: its KV begins to travel
    int64_t kvEnd = -1;    ///< and has arrived
    int64_t kvBlocked = 0; ///< of this, ps for which it waited for blocks of the decoding engine
    uint64_t kvBytes = 0;
    int64_t beside = 0; ///< ps beside the engine, which its client waits: ServingSpec::answerTime

    bool Answered() const
    {
        return lastToken >= 0;
    }

    // Seconds, of an answered request.
    double Ttft() const
    {
        return static_cast<double>(firstToken - arrival + beside) * 1e-12;
    }

    /// Mean time between tokens after the first; of one token 0.
    double Tpot() const
    {
        return output > 1 ? static_cast<double>(lastToken - firstToken) * 1e-12 / (output - 1) : 0;
    }

    double EndToEnd() const
    {
        return static_cast<double>(lastToken - arrival + beside) * 1e-12;
    }

    double Queued() const
    {
        return static_cast<double>(scheduled - arrival) * 1e-12;
    }
};

/// Where an instance's time goes.
enum class TimePart : uint8_t
{
    kProducts,  ///< projections, MLPs, experts
    kAttention, ///< and its KV
    kTensor,    ///< waiting for tensor parallel collectives
    kPipeline,  ///< activations between stages
    kExperts,   ///< dispatch and combine
    kKv,        ///< waiting for KV while nothing else can run
    kDraft,     ///< the draft model
    kHost,      ///< scheduling, sampling, launches
    kIdle,      ///< no request
    kRepeated,  ///< tokens of preempted requests, computed again
};
constexpr std::size_t kTimeParts = 10;
/// "products", "attention", "tensor", ...: as in stats.json.
constexpr std::array<const char*, kTimeParts> kTimePartNames = {"products",
                                                                "attention",
                                                                "tensor",
                                                                "pipeline",
                                                                "experts",
                                                                "kv",
                                                                "draft",
                                                                "host",
                                                                "idle",
                                                                "recomputed"};

struct IterationRecord
{
    uint32_t number = 0;   ///< of the instance
    uint32_t instance = 0; ///< counted over all pools
    uint32_t engine = 0;   ///< of the instance
    int64_t begin = 0;
    int64_t end = 0;
    uint32_t prefillTokens = 0;
    uint32_t decodeTokens = 0;
    uint32_t requests = 0; ///< in it
    uint32_t running = 0;  ///< of the engine
    uint32_t waiting = 0;  ///< at the engine
    uint32_t preempted = 0;
    uint64_t kvBlocks = 0;   ///< in use
    uint32_t recomputed = 0; ///< tokens whose KV was lost by preemption
    uint32_t tokensOut = 0;  ///< of answers
};

/// What an instance did over the run.
struct InstanceRecord
{
    std::string name; ///< "instance 0", "prefill 1", "decode 0"
    uint32_t gpus = 0;
    uint32_t firstGpu = 0;
    uint32_t engines = 1;
    uint64_t iterations = 0;
    uint64_t requests = 0; ///< it has answered, or whose prompt it has done
    uint64_t tokensIn = 0;
    uint64_t tokensOut = 0;
    uint64_t preemptions = 0;
    uint64_t kvBlocksOfEngine = 0;
    uint64_t kvPeak = 0;  ///< blocks, largest of its engines
    double kvMean = 0;    ///< mean over time of blocks in use, of all engines
    double batchMean = 0; ///< requests in an iteration, mean over time with iterations
    std::array<double, kTimeParts> seconds{}; ///< sums to the run's time
};

/// A point of the queues over time: changes only, for plots.
struct LoadSample
{
    int64_t time = 0;
    uint32_t instance = 0;
    uint32_t waiting = 0;
    uint32_t running = 0;
    uint64_t kvBlocks = 0;
};

struct ServingOutcome
{
    std::vector<RequestRecord> requests;     ///< by id; also those that were not answered
    std::vector<IterationRecord> iterations; ///< in order of their ends
    std::vector<InstanceRecord> instances;
    std::vector<LoadSample> load; ///< at beginnings of iterations and rests, in order of time
    int64_t end = 0;              ///< of the run
    bool endedEarly = false;      ///< --duration, or it cannot keep up
    /// It cannot keep up: requests a second that arrive and that engines begin; 0: it can.
    double arrivesPerS = 0;
    double beginsPerS = 0;
    uint64_t networkBytes = 0; ///< of messages between servers that were simulated
    std::vector<std::string> notes;
};

} // namespace serving

#endif // SCENARIOS_INFERENCE_SERVING_RECORD_H
