/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/closed-loop.h"

#include <cmath>

namespace multiplex
{

namespace
{

constexpr double SHARPNESS = 4;

/// The cycle of the network alone.
double
NetworkCycle(double delay, double link, double gpu, uint32_t processes)
{
    double atLink = 0; // processes there, on average
    double atGpu = 0;
    double cycle = 0;
    for (uint32_t n = 1; n <= processes; ++n)
    {
        const double linkSeconds = link * (1 + atLink);
        const double gpuSeconds = gpu * (1 + atGpu);
        cycle = delay + linkSeconds + gpuSeconds;
        if (cycle <= 0)
        {
            return 0;
        }
        atLink = n * linkSeconds / cycle;
        atGpu = n * gpuSeconds / cycle;
    }
    return cycle;
}

} // namespace

double
CycleSeconds(const LoopTimes& times, uint32_t processes)
{
    const double network = NetworkCycle(times.own, times.link, times.gpu, processes);
    const double longer = std::fmax(times.host, network);
    if (longer <= 0)
    {
        return 0;
    }
    // Over the longer one, so that no power overflows.
    const double shorter = std::fmin(times.host, network) / longer;
    return longer * std::pow(1 + std::pow(shorter, SHARPNESS), 1 / SHARPNESS);
}

double
DelaySeconds(const LoopTimes& times, uint32_t processes)
{
    const double wanted = CycleSeconds(times, processes);
    double low = times.own;
    double high = times.own + times.host + wanted;
    // The cycle grows with the delay.
    for (int i = 0; i < 60; ++i)
    {
        const double middle = (low + high) / 2;
        (NetworkCycle(middle, times.link, times.gpu, processes) < wanted ? low : high) = middle;
    }
    return (low + high) / 2;
}

} // namespace multiplex
