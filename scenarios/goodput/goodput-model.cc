/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/goodput/goodput-model.h"

#include <algorithm>
#include <cmath>

namespace goodput
{

namespace
{

/// Causes after which the job goes on without a replica.
bool
Leaves(const Job& job, const Source& source)
{
    return job.policy == Policy::kShrink && source.takesServer && job.replicas > 1;
}

/// Failures a second that take a server.
double
RateOfServers(const Job& job)
{
    double rate = 0;
    for (const Source& source : job.sources)
    {
        rate += source.takesServer ? source.Rate() : 0;
    }
    return rate;
}

/// Checkpoints of an uninterrupted run end so far from one another.
double
Spacing(const Job& job, double interval)
{
    return job.stall + std::max(interval, job.behind);
}

/// Of the causes that go back to a checkpoint; without waiting for repairs.
double
GoodputOfRestarts(const Job& job, double interval)
{
    double rate = 0;
    double back = 0; // rate times q
    for (const Source& source : job.sources)
    {
        rate += Leaves(job, source) ? 0 : source.Rate();
    }
    for (const Source& source : job.sources)
    {
        back += Leaves(job, source) ? 0 : source.Rate() * std::exp(-rate * job.RecoveryOf(source));
    }
    if (rate <= 0)
    {
        return std::isinf(interval) ? 1 : interval / Spacing(job, interval);
    }
    if (std::isinf(interval))
    {
        return 0; // no work is ever safe
    }
    // expm1: rates are small, and the difference of two large numbers is what counts.
    return back * interval * std::exp(-rate * (interval + job.stall + job.behind)) /
           -std::expm1(-rate * Spacing(job, interval));
}

double
GoodputOfShrinking(const Job& job, double interval)
{
    const double rate = RateOfServers(job);
    const double wait = std::isinf(interval) ? 0 : Spacing(job, interval) / 2;
    const double there = 1 / (1 + rate / job.replicas * (job.repair + wait));
    double lost = 0; // seconds a second of work
    for (const Source& source : job.sources)
    {
        const double back = job.abort + job.restart + job.read;
        lost += Leaves(job, source)
                    ? source.Rate() * there *
                          (source.detection + job.abort + job.regroup + job.step / 2 + back)
                    : 0;
    }
    return there * GoodputOfRestarts(job, interval) / (1 + lost);
}

} // namespace

double
Job::FailureRate() const
{
    double rate = 0;
    for (const Source& source : sources)
    {
        rate += source.Rate();
    }
    return rate;
}

double
Job::RecoveryOf(const Source& source) const
{
    return source.detection + abort + (source.takesServer ? replace : 0) + restart + read;
}

double
WaitingShare(const Job& job)
{
    if (job.policy == Policy::kShrink && job.replicas > 1)
    {
        return 0;
    }
    const double load = RateOfServers(job) * job.repair;
    double blocked = 1; // Erlang's recursion over the places
    for (uint32_t places = 1; places <= job.spares + 1; ++places)
    {
        blocked = load * blocked / (places + load * blocked);
    }
    return blocked;
}

double
Goodput(const Job& job, double interval)
{
    return job.policy == Policy::kShrink && job.replicas > 1
               ? GoodputOfShrinking(job, interval)
               : GoodputOfRestarts(job, interval) * (1 - WaitingShare(job));
}

double
YoungInterval(double stall, double mtbf)
{
    return std::sqrt(2 * stall * mtbf);
}

double
DalyInterval(double stall, double mtbf)
{
    if (std::isinf(mtbf) || stall >= 2 * mtbf)
    {
        return mtbf;
    }
    const double x = std::sqrt(stall / (2 * mtbf));
    return YoungInterval(stall, mtbf) * (1 + x / 3 + x * x / 9) - stall;
}

double
MtbfOfRestarts(const Job& job)
{
    double rate = 0;
    for (const Source& source : job.sources)
    {
        rate += source.Rate() / (Leaves(job, source) ? job.replicas : 1);
    }
    return 1 / rate;
}

double
OptimumOf(const Job& job)
{
    return std::max({DalyInterval(job.stall, MtbfOfRestarts(job)), job.behind, job.step});
}

double
BestInterval(const Job& job)
{
    const double optimum = OptimumOf(job);
    if (std::isinf(optimum))
    {
        return optimum;
    }
    const double less = std::max(1.0, std::floor(optimum / job.step)) * job.step;
    const double more = less + job.step;
    return Goodput(job, more) > Goodput(job, less) ? more : less;
}

} // namespace goodput
