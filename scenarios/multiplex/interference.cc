/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/interference.h"

#include <algorithm>

namespace multiplex
{

namespace
{

// A V100 by iGniter's profile (tests/golden/multiplex/igniter-profile.json, "hardware"), and the
// three constants that are fitted to its pairs: scripts/fit-multiplex prints all of them.
constexpr double IDLE_WATT = 53.5;
constexpr double LIMIT_WATT = 300;
constexpr double MAX_MHZ = 1530;
constexpr double MHZ_PER_WATT = 1.0254;
constexpr double LAUNCH_DELAY = 6.0116e-6; // s a kernel, for each other process
constexpr double CACHE = 0.4838;
constexpr double COPIES = 0.8922 / 100; // a per cent of cache use

} // namespace

Running
RunningOf(const ShareCurve& curve, const Profile& profile, uint32_t batch, double percent)
{
    Running running;
    running.alone = curve.Seconds(batch, percent);
    running.copies = std::min(profile.transfer * batch, running.alone / 2);
    running.active = std::max(running.alone - running.copies - profile.idle, 0.1 * running.alone);
    running.kernels = profile.kernels;
    running.sensitivity = profile.sensitivity;
    const double throughput = batch / running.active;
    running.cache =
        std::clamp(profile.cache.At(throughput) + profile.cacheOfShare * percent, 0.0, 100.0);
    running.watt = std::max(0.0, profile.watt.At(throughput) + profile.wattOfShare * percent);
    return running;
}

void
Together(const std::vector<const Running*>& running, std::vector<double>* seconds)
{
    seconds->resize(running.size());
    double cache = 0;
    double watt = IDLE_WATT;
    for (const Running* const one : running)
    {
        cache += one->cache;
        watt += one->watt;
    }
    const double clock =
        std::max(0.5, 1 - MHZ_PER_WATT * std::max(0.0, watt - LIMIT_WATT) / MAX_MHZ);
    const double delay = LAUNCH_DELAY * static_cast<double>(running.size() - 1);
    for (std::size_t i = 0; i < running.size(); ++i)
    {
        const Running& one = *running[i];
        (*seconds)[i] = running.size() == 1 ? one.alone // its clock, too, is in what was measured
                                            : one.copies * (1 + COPIES * cache) +
                                                  (one.alone - one.copies + delay * one.kernels +
                                                   one.active * CACHE * one.sensitivity * cache) /
                                                      clock;
    }
}

Profile
UsualProfile(double kernels)
{
    // Means of iGniter's alexnet, resnet50, vgg19 and ssd (igniter-profile.json). Power and cache
    // use are nearly proportional to the share, whatever the model: 2.6, 2.8 and 2.4 W, and 0.31,
    // 0.35 and 0.31% of the L2 a per cent of the GPU at 10, 50 and 100%.
    Profile profile;
    profile.idle = 73e-6;
    profile.kernels = kernels > 0 ? kernels : 55;
    profile.sensitivity = 0.0022;
    profile.wattOfShare = 2.6;
    profile.cacheOfShare = 0.32;
    return profile;
}

} // namespace multiplex
