/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs of the controller without a network, for tests: iterations take times that are easy to sum.
 */
#ifndef TESTS_UNIT_SCENARIOS_SERVING_SERVED_RUN_H
#define TESTS_UNIT_SCENARIOS_SERVING_SERVED_RUN_H

#include "scenarios/inference/local-run.h"
#include "scenarios/inference/requests.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace served
{

constexpr int64_t kMs = 1'000'000'000; ///< ps

constexpr uint64_t kMostCalls = 2'000;

/// ps of an iteration of a stage: `fixed`, and so much a token and a token of context.
struct Cost
{
    int64_t fixed = kMs;
    int64_t token = 0;
    int64_t context = 0;
    int64_t hop = 0;

    int64_t Of(const serving::BatchLoad& load) const
    {
        return fixed + token * load.tokens +
               context * static_cast<int64_t>(load.decodeContext + load.prefillContext);
    }
};

inline serving::ServingSpec
OneInstance(uint64_t kvBlocks = 1'000'000)
{
    serving::ServingSpec spec;
    spec.pools = {serving::PoolSpec{}};
    spec.kvBlocks = {kvBlocks};
    spec.requests.kind = serving::RequestsSpec::Kind::kBurst;
    return spec;
}

/// A prefill and a decode pool of so many instances.
inline serving::ServingSpec
SplitInstances(uint32_t prefill, uint32_t decode, uint64_t kvBlocks = 1'000'000)
{
    serving::ServingSpec spec = OneInstance();
    serving::PoolSpec first;
    first.role = serving::PoolRole::kPrefill;
    first.instances = prefill;
    serving::PoolSpec second;
    second.role = serving::PoolRole::kDecode;
    second.instances = decode;
    second.firstGpu = prefill;
    spec.pools = {first, second};
    spec.kvBlocks = {kvBlocks, kvBlocks};
    return spec;
}

inline serving::RequestsSpec
Drawn(serving::RequestsSpec::Kind kind, uint32_t count, uint32_t prompt, uint32_t output)
{
    serving::RequestsSpec requests;
    requests.kind = kind;
    requests.rate = 100;
    requests.count = count;
    requests.prompt = {serving::LengthSpec::Kind::kFixed, static_cast<double>(prompt), 0};
    requests.output = {serving::LengthSpec::Kind::kFixed, static_cast<double>(output), 0};
    return requests;
}

/// Engines of an instance wait for the slowest. \param transfer ps a token of KV \param sent gets
/// tokens of KV that travelled, by request
inline serving::ServingOutcome
Serve(const serving::ServingSpec& spec,
      const Cost& cost,
      std::vector<serving::Request> requests,
      int64_t transfer = 0,
      std::map<uint32_t, uint64_t>* sent = nullptr)
{
    serving::LocalRun run(
        spec,
        std::move(requests),
        [&cost](uint32_t, uint32_t, const std::vector<serving::BatchLoad>& loads) {
            serving::StageSpan span;
            for (const serving::BatchLoad& load : loads)
            {
                span.ps = std::max(span.ps, cost.Of(load));
            }
            span.parts[static_cast<std::size_t>(serving::TimePart::kProducts)] = span.ps;
            span.hop = cost.hop;
            return span;
        },
        [transfer, sent](const serving::TransferOrder& order) {
            if (sent)
            {
                (*sent)[order.request] += order.tokens;
            }
            return transfer * order.tokens;
        });
    // Many more calls than any run needs: one that goes on for ever fails.
    uint64_t calls = 0;
    return run.Run([&calls](double) { return ++calls < kMostCalls; });
}

inline serving::ServingOutcome
Serve(const serving::ServingSpec& spec, const Cost& cost, int64_t transfer = 0)
{
    return Serve(spec, cost, serving::MakeRequests(spec.requests), transfer);
}

} // namespace served

#endif // TESTS_UNIT_SCENARIOS_SERVING_SERVED_RUN_H
