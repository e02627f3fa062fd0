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

/// Failures a second after which the job goes on without some replicas.
double
LeaveRate(const Job& job, const Source& source)
{
    return source.takesServer ? source.Rate() * job.LeavingShare() : 0;
}

/// Failures a second after which all go back to a checkpoint.
double
BackRate(const Job& job, const Source& source)
{
    return source.Rate() - LeaveRate(job, source);
}

bool
GoesOnWithout(const Job& job, const std::vector<uint32_t>& ofServer)
{
    return ofServer.size() < job.replicas;
}

/// Share of time that a replica is there, mean of all. \param away s that it is not, a failure
double
ShareThere(const Job& job, double rate, double away)
{
    if (job.servers.empty())
    {
        return 1 / (1 + rate / job.replicas * away);
    }
    std::vector<uint32_t> servers(job.replicas, 0);
    for (const auto& ofServer : job.servers)
    {
        for (const uint32_t replica : ofServer)
        {
            servers[replica] += GoesOnWithout(job, ofServer) ? 1 : 0;
        }
    }
    double sum = 0;
    for (const uint32_t count : servers)
    {
        sum += 1 / (1 + rate * count / static_cast<double>(job.servers.size()) * away);
    }
    return sum / job.replicas;
}

/// Of a failure after which the job goes on: share of replicas that leave.
double
ShareThatLeaves(const Job& job)
{
    double sum = 0;
    uint64_t count = 0;
    for (const auto& ofServer : job.servers)
    {
        const bool leaves = GoesOnWithout(job, ofServer);
        sum += leaves ? static_cast<double>(ofServer.size()) / job.replicas : 0;
        count += leaves ? 1 : 0;
    }
    return count > 0 ? sum / static_cast<double>(count) : 1.0 / job.replicas;
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

/// An uninterrupted run of some length: goodput-model.h's terms.
class RunUntil
{
  public:
    RunUntil(const Job& job, double interval, double rate, double length)
        : m_interval(interval),
          m_rate(rate),
          m_length(length),
          m_copy(interval + job.stall),
          m_safe(m_copy + job.behind),
          m_spacing(Spacing(job, interval))
    {
    }

    /// Work behind the last safe checkpoint.
    double Unsafe() const
    {
        const double copies = EndsFrom(m_copy);
        const double since = copies > 0 ? m_length - m_copy - (copies - 1) * m_spacing : m_length;
        const double work = std::min(since, m_interval);
        return copies > 0 ? work + (copies - EndsFrom(m_safe)) * m_interval : work;
    }

    /// Integral of exp(-rate x) over the times of work.
    double Working() const
    {
        const double copies = EndsFrom(m_copy);
        if (copies == 0)
        {
            return Integral(std::min(m_length, m_interval));
        }
        const double last = m_copy + (copies - 1) * m_spacing;
        return Integral(m_interval) +
               Integral(m_interval) * std::exp(-m_rate * m_copy) * Powers(copies - 1) +
               std::exp(-m_rate * last) * Integral(std::min(m_interval, m_length - last));
    }

    /// Work until the safe checkpoints s, each times exp(-rate s).
    double Kept() const
    {
        const double count = EndsFrom(m_safe);
        return count > 0 ? m_interval * std::exp(-m_rate * m_safe) * Powers(count) : 0;
    }

    /// The same times length - s.
    double KeptFor() const
    {
        const double count = EndsFrom(m_safe);
        if (count == 0)
        {
            return 0;
        }
        // sum j r^j = r (sum r^j - count r^(count - 1)) / (1 - r)
        const double one = -std::expm1(-m_rate * m_spacing);
        const double r = 1 - one;
        const double last = std::exp(-m_rate * m_spacing * (count - 1));
        const double weighted = r * (Powers(count) - count * last) / one;
        return m_interval * std::exp(-m_rate * m_safe) *
               ((m_length - m_safe) * Powers(count) - m_spacing * weighted);
    }

  private:
    /// How many of first, first + spacing, ... are over.
    double EndsFrom(double first) const
    {
        return m_length < first ? 0 : 1 + std::floor((m_length - first) / m_spacing);
    }

    /// Of exp(-rate x) from 0 on.
    double Integral(double until) const
    {
        return -std::expm1(-m_rate * until) / m_rate;
    }

    /// Sum of exp(-rate spacing)^j, j < count.
    double Powers(double count) const
    {
        return std::expm1(-m_rate * m_spacing * count) / std::expm1(-m_rate * m_spacing);
    }

    double m_interval;
    double m_rate;
    double m_length;
    double m_copy;    ///< the first copy ends
    double m_safe;    ///< and is safe
    double m_spacing; ///< from one to the next
};

/// Work that counts of a job that ends, over its time. \param there share of time that runs have
double
GoodputOfDuration(const Job& job, double interval, double duration, double rate, double there)
{
    const RunUntil run(job, interval, rate, duration);
    const double only = run.Kept() + std::exp(-rate * duration) * run.Unsafe();
    return ((1 - there) * only + there * (run.Working() + rate * run.KeptFor())) / duration;
}

/// Of the causes that go back to a checkpoint; without waiting for repairs.
double
GoodputOfRestarts(const Job& job, double interval, double duration)
{
    double rate = 0;
    double back = 0; // rate times q
    for (const Source& source : job.sources)
    {
        rate += BackRate(job, source);
    }
    for (const Source& source : job.sources)
    {
        back += BackRate(job, source) * std::exp(-rate * job.RecoveryOf(source));
    }
    if (rate > 0 && !std::isinf(duration))
    {
        return GoodputOfDuration(job, interval, duration, rate, back / rate);
    }
    if (rate <= 0 && interval >= duration)
    {
        return 1;
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
GoodputOfShrinking(const Job& job, double interval, double duration)
{
    const double wait = std::isinf(interval) ? 0 : Spacing(job, interval) / 2;
    const double there = ShareThere(job, RateOfServers(job), job.repair + wait);
    double lost = 0; // seconds a second of work
    for (const Source& source : job.sources)
    {
        const double back = job.abort + job.restart + job.read;
        lost += LeaveRate(job, source) * there *
                (source.detection + job.abort + job.regroup + job.step / 2 + back);
    }
    return there * GoodputOfRestarts(job, interval, duration) / (1 + lost);
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
Job::LeavingShare() const
{
    if (policy != Policy::kShrink || replicas < 2)
    {
        return 0;
    }
    if (servers.empty())
    {
        return 1;
    }
    const auto leaving =
        std::count_if(servers.begin(), servers.end(), [this](const auto& ofServer) {
            return GoesOnWithout(*this, ofServer);
        });
    return static_cast<double>(leaving) / static_cast<double>(servers.size());
}

double
Job::RecoveryOf(const Source& source) const
{
    const bool replaces = source.takesServer && LeavingShare() <= 0;
    return source.detection + abort + (replaces ? replace : 0) + restart + read;
}

double
WaitingShare(const Job& job)
{
    const double load = RateOfServers(job) * (1 - job.LeavingShare()) * job.repair;
    double blocked = 1; // Erlang's recursion over the places
    for (uint32_t places = 1; places <= job.spares + 1; ++places)
    {
        blocked = load * blocked / (places + load * blocked);
    }
    return blocked;
}

double
Goodput(const Job& job, double interval, double duration)
{
    const double working = job.LeavingShare() > 0 ? GoodputOfShrinking(job, interval, duration)
                                                  : GoodputOfRestarts(job, interval, duration);
    return working * (1 - WaitingShare(job));
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
        rate += BackRate(job, source) + LeaveRate(job, source) * ShareThatLeaves(job);
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
