/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What models that run at once on one GPU do to each other, beyond the shares that they have: as
 * iGniter (F. Xu et al., IEEE TPDS 34(3), 2023; predict() of icloud-ecnu/igniter
 * i-Gniter/Algorithm/igniter-algorithm.py) has it,
 *
 *     t = copies + (idle + kernels x launch delay + active x (1 + cache use x sensitivity)) / clock
 *
 *   launch delay   the scheduler hands kernels of several processes out one after another
 *   cache use      of the L2, per cent, of all that run; of each a line in its throughput
 *   clock          above the limit of power it falls by so many MHz a watt
 *
 * Ours differs in two ways, both fitted (scripts/fit-multiplex): a model's own use of the cache
 * counts, too, and copies to and from the GPU are slowed by cache use as well.
 */
#ifndef SCENARIOS_MULTIPLEX_INTERFERENCE_H
#define SCENARIOS_MULTIPLEX_INTERFERENCE_H

#include "scenarios/multiplex/share-curve.h"

#include <cstdint>
#include <vector>

namespace multiplex
{

/// a + b x
struct Line
{
    double constant = 0;
    double slope = 0;

    double At(double x) const
    {
        return constant + slope * x;
    }
};

/// What interference needs to know of a model.
struct Profile
{
    double transfer = 0;    ///< s a sample, to and from the GPU
    double idle = 0;        ///< s a batch in which no kernel runs
    double kernels = 0;     ///< of a batch
    Line watt;              ///< above the idle GPU's, by samples/s of active time
    Line cache;             ///< per cent of the L2, by the same
    double sensitivity = 0; ///< share of active time that one per cent of cache use adds
    double wattOfShare = 0; ///< and, of a model without profile, by its share, W a per cent
    double cacheOfShare = 0;
};

/// One of the batches that run at once.
struct Running
{
    double alone = 0;  ///< s on its share
    double copies = 0; ///< s of it
    double active = 0; ///< s of it
    double kernels = 0;
    double sensitivity = 0;
    double cache = 0; ///< per cent
    double watt = 0;
};

/// A batch on its share, by its model's profile.
Running RunningOf(const ShareCurve& curve, const Profile& profile, uint32_t batch, double percent);

/// Seconds of each, while all of them run. Of one alone: as alone.
void Together(const std::vector<const Running*>& running, std::vector<double>* seconds);

/// A profile of a model that nobody has profiled: means of iGniter's four models. \param kernels of
/// a batch; 0: not known
Profile UsualProfile(double kernels);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_INTERFERENCE_H
