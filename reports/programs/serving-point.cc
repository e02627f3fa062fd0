/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/serving-point.h"

#include <algorithm>

namespace reports
{

namespace
{

using nlohmann::json;

double
NumberIn(const json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

Quantiles
QuantilesIn(const json& object, const char* key)
{
    const json none = json::object();
    const json& of = object.contains(key) ? object[key] : none;
    Quantiles q;
    q.p50 = NumberIn(of, "p50");
    q.p90 = NumberIn(of, "p90");
    q.p99 = NumberIn(of, "p99");
    q.p999 = NumberIn(of, "p999");
    q.max = NumberIn(of, "max");
    q.mean = NumberIn(of, "mean");
    return q;
}

} // namespace

std::optional<ServingPoint>
PointIn(double rate, const json& stats)
{
    if (!stats.is_object() || !stats.contains("serving") || !stats["serving"].is_object())
    {
        return std::nullopt;
    }
    const json& serving = stats["serving"];
    ServingPoint point;
    point.rate = rate;
    point.requests = static_cast<uint64_t>(NumberIn(serving, "measured"));
    point.requestsPerS = NumberIn(serving, "requests_per_s");
    point.outputPerS = NumberIn(serving, "output_tokens_per_s");
    point.ttftMs = QuantilesIn(serving, "ttft_ms");
    point.tpotMs = QuantilesIn(serving, "tpot_ms");
    point.e2eMs = QuantilesIn(serving, "e2e_ms");
    if (const auto slo = serving.find("slo"); slo != serving.end() && slo->is_object())
    {
        const auto share = slo->find("attainment");
        if (share != slo->end() && share->is_number())
        {
            point.attainment = share->get<double>();
        }
        point.goodput = NumberIn(*slo, "goodput_per_s");
    }
    if (const auto pools = serving.find("pools"); pools != serving.end() && pools->is_array())
    {
        for (const json& pool : *pools)
        {
            point.kvPeak = std::max(point.kvPeak, NumberIn(pool, "kv_peak"));
        }
    }
    point.keepsUp = !serving.contains("arrives_per_s");
    point.steady = !serving.value("too_short", false);
    return point;
}

} // namespace reports
