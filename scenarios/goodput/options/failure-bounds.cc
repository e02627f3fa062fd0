/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/goodput/options/failure-bounds.h"

#include "scenarios/asked/goodput.h"
#include "scenarios/goodput/failure-simulation.h"
#include "scenarios/options/format.h"

namespace scenario
{

std::vector<Error>
CheckFailures(const GoodputScenario& scenario, double rate)
{
    const double course = rate * scenario.duration;
    if (course * scenario.replications <= goodput::kMostFailures)
    {
        return {};
    }
    const std::string failures = Format("%.3g failures to simulate, %.0f at most; allowed: ",
                                        course * scenario.replications,
                                        goodput::kMostFailures);
    if (course > goodput::kMostFailures)
    {
        return {{"--duration",
                 scenario.values.Get(&asked::Goodput::duration),
                 failures + "up to " + SpanText(goodput::kMostFailures / rate) +
                     ", or longer times between failures",
                 ""}};
    }
    return {{"--replications",
             std::to_string(scenario.replications),
             failures + "up to " + Format("%.0f", goodput::kMostFailures / course) +
                 ", or a shorter --duration",
             ""}};
}

std::string
WhyNoStep(const GoodputScenario& scenario, double step)
{
    return "--duration=" + scenario.values.Get(&asked::Goodput::duration) +
           ": no step ends in it; allowed: from " + SpanText(step);
}

} // namespace scenario
