/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The mean of several courses.
 */
#include "scenarios/goodput/failure-simulation.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace goodput
{

Spent&
Spent::operator+=(const Spent& other)
{
    useful += other.useful;
    checkpoint += other.checkpoint;
    lost += other.lost;
    detection += other.detection;
    waiting += other.waiting;
    replacing += other.replacing;
    restart += other.restart;
    fewer += other.fewer;
    return *this;
}

Spent&
Spent::operator/=(double count)
{
    for (double* const part :
         {&useful, &checkpoint, &lost, &detection, &waiting, &replacing, &restart, &fewer})
    {
        *part /= count;
    }
    return *this;
}

Replications
Replicate(const Job& job,
          double interval,
          double duration,
          uint64_t seed,
          uint32_t replications,
          const GoesOn& goesOn)
{
    Replications all;
    std::vector<double> shares;
    for (uint32_t i = 0; i < replications; ++i)
    {
        Course course = Simulate(job, interval, duration, seed, i, i == 0, goesOn);
        if (goesOn && !goesOn())
        {
            break;
        }
        ++all.count;
        all.mean += course.spent;
        for (std::size_t cause = 0; cause < CAUSES; ++cause)
        {
            all.failures[cause] += static_cast<double>(course.failures[cause]);
        }
        shares.push_back(course.spent.useful / duration);
        if (i == 0)
        {
            all.first = std::move(course.interruptions);
            all.leftOut = course.leftOut;
        }
    }
    if (all.count == 0)
    {
        return all;
    }
    for (double& failures : all.failures)
    {
        failures /= all.count;
    }
    all.mean /= all.count;
    all.goodput = all.mean.useful / duration;
    double squares = 0;
    for (const double share : shares)
    {
        squares += (share - all.goodput) * (share - all.goodput);
    }
    if (all.count > 1)
    {
        const boost::math::students_t distribution(all.count - 1);
        all.halfWidth = boost::math::quantile(distribution, 0.975) *
                        std::sqrt(squares / (all.count - 1) / all.count);
    }
    return all;
}

} // namespace goodput
