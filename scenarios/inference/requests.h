/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The requests that a run serves, from what was asked for. The same seed gives the same requests on
 * every machine. Arrivals, prompts and outputs are drawn apart: another rate keeps all lengths, and
 * only stretches Poisson and gamma arrivals, so that runs at several rates differ by the rate
 * alone.
 */
#ifndef SCENARIOS_INFERENCE_REQUESTS_H
#define SCENARIOS_INFERENCE_REQUESTS_H

#include "scenarios/inference/serving-spec.h"

#include <cstdint>
#include <vector>

namespace serving
{

/// Most tokens of a drawn length: the tail of a lognormal distribution ends there (assumed).
constexpr uint32_t kMostTokens = 10'000'000;

/// The mean of a length.
double MeanOf(const LengthSpec& length);

/// By arrival, at most spec.count. The first arrives at 0 (as with vLLM's benchmark client, which
/// waits after each request), those of a file as they do there, from the first one on.
/// \pre a file's requests are in spec.traced
std::vector<Request> MakeRequests(const RequestsSpec& spec);

} // namespace serving

#endif // SCENARIOS_INFERENCE_REQUESTS_H
