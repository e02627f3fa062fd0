/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The small languages in values of dlserve's options: lengths, arrivals, objectives, pools.
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_SERVING_WORDS_H
#define SCENARIOS_INFERENCE_OPTIONS_SERVING_WORDS_H

#include "scenarios/inference/serving-spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// A value, or the problem with the text: "allowed: ...".
template <class T>
struct Worded
{
    std::optional<T> value;
    std::string problem;
    std::string nearest = {};
};

/// Rates of requests, 1/s.
constexpr double kLeastRate = 1e-6;
constexpr double kMostRate = 1e6;
constexpr uint32_t kMostClients = 1'000'000;
constexpr uint32_t kMostDegree = 1'000'000;

/// "512", "uniform:128-2048", "lognormal:512:1.2".
Worded<serving::LengthSpec> ParseLength(const std::string& text);
/// The same as text.
std::string LengthText(const serving::LengthSpec& length);

/// "poisson:8", "poisson", "gamma:8:2", "gamma::2", "constant:8", "burst:100", "closed:16": kind,
/// rate, cv, clients and count, 0 where there is none.
Worded<serving::RequestsSpec> ParseArrivals(const std::string& text);

/// "ttft:500ms", "tpot:50ms", "e2e:10s"; '=' for ':' as well.
Worded<serving::SloSpec> ParseSlo(const std::vector<std::string>& parts);
/// The same as text.
std::string SloText(const serving::SloSpec& slo);

/// "prefill:2x(tp=4),decode:2x(tp=2,pp=2)": a pool's `dp` is its ep / tp.
Worded<std::vector<serving::PoolSpec>> ParseSplit(const std::string& text);

/// "llama3.2-1b:4:0.7": the draft is not looked up.
Worded<serving::SpeculationSpec> ParseSpeculation(const std::string& text);

/// "free:0.9", "all:0.9", "static:0.85".
Worded<serving::KvRoom> ParseKvRoom(const std::string& text);

/// "20:0.9": iterations and share of the token budget; "20": all of it.
struct BatchWait
{
    uint32_t iterations = 0;
    double share = 1;
};

Worded<BatchWait> ParseBatchWait(const std::string& text);

/// "90%", "0.9".
Worded<double> ParseShare(const std::string& text);

/// "1..16", "1..16:5": rates at equal distances, 8 by default (assumed).
Worded<std::vector<double>> ParseSweep(const std::string& text);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_SERVING_WORDS_H
