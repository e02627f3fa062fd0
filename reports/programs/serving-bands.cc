/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How sure throughput and latencies are.
 */
#include "reports/base/human-text.h"
#include "reports/programs/serving-results.h"
#include "scenarios/compared/serving-band.h"

namespace reports
{

std::vector<ComparedNumber>
ComparedNumbers(const ServingResults& r)
{
    std::vector<ComparedNumber> numbers;
    const auto add = [&](const char* metric, double value) {
        if (value > 0 && !r.about.kind.empty())
        {
            numbers.push_back({metric, value, r.about.kind});
        }
    };
    add(compared::kOutputRate, r.statistics.outputPerS);
    for (const auto& [metric, times] : {std::make_pair(compared::kTtft, &r.statistics.ttftMs),
                                        {compared::kTpot, &r.statistics.tpotMs}})
    {
        add(metric, times->values ? times->mean : 0);
    }
    return numbers;
}

std::string
ServingBandsText(const ServingResults& r)
{
    std::string text;
    for (const ComparedNumber& number : ComparedNumbers(r))
    {
        const compared::Band* band = number.BandOf();
        const bool rate = number.metric == std::string(compared::kOutputRate);
        const auto shown = [rate](double value) {
            return rate ? HumanPerSecond(value) : HumanTime(1e3 * value);
        };
        const std::string words = band ? BandWords(*band) : "no rows like this";
        text += (text.empty() ? "" : "; ") + std::string(number.metric) + " ";
        text += band ? shown(number.value * band->least) + " to " + shown(number.value * band->most)
                     : "unknown";
        text += ": " + words;
    }
    return text;
}

} // namespace reports
