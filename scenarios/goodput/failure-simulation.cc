/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/goodput/failure-simulation.h"

#include "scenarios/traffic/random.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace goodput
{

namespace
{

/// Whole nanoseconds, so that sums are exact.
using Ns = int64_t;

/// Later than any end: some 146 years.
constexpr Ns FAR = INT64_MAX / 2;

Ns
ToNs(double seconds)
{
    return seconds >= static_cast<double>(FAR) * 1e-9 ? FAR : std::llround(seconds * 1e9);
}

double
ToS(Ns ns)
{
    return static_cast<double>(ns) * 1e-9;
}

/// Checkpoints of an uninterrupted run, by the time x since its begin.
class Run
{
  public:
    Run(const Job& job, double interval)
        : m_work(std::max<Ns>(1, ToNs(interval))),
          m_stall(ToNs(job.stall)),
          m_behind(ToNs(job.behind)),
          m_spacing(m_stall + std::max(m_work, m_behind))
    {
    }

    /// Copies that have ended.
    Ns Copies(Ns x) const
    {
        const Ns first = m_work + m_stall;
        return x < first ? 0 : 1 + (x - first) / m_spacing;
    }

    /// When the n-th copy ends; 0: the run's begin.
    Ns EndOf(Ns n) const
    {
        return n == 0 ? 0 : m_work + m_stall + (n - 1) * m_spacing;
    }

    /// Checkpoints that are safe.
    Ns Safe(Ns x) const
    {
        return x < m_behind ? 0 : Copies(x - m_behind);
    }

    /// Work since the run's begin.
    Ns Work(Ns x) const
    {
        const Ns n = Copies(x);
        return n * m_work + std::min(x - EndOf(n), m_work);
    }

    /// Whether GPUs work, and do not wait for a checkpoint.
    bool Works(Ns x) const
    {
        return x - EndOf(Copies(x)) < m_work;
    }

  private:
    Ns m_work;
    Ns m_stall;
    Ns m_behind;
    Ns m_spacing;
};

class Simulation
{
  public:
    Simulation(const Job& job,
               double interval,
               double duration,
               uint64_t seed,
               uint64_t replication,
               bool keep)
        : m_job(job),
          m_run(job, interval),
          m_step(std::max<Ns>(1, ToNs(job.step))),
          m_end(ToNs(duration)),
          m_keep(keep),
          m_shrinks(job.policy == Policy::kShrink && job.replicas > 1),
          m_random(seed, scenario::kFailureStream + replication)
    {
        for (std::size_t i = 0; i < job.sources.size(); ++i)
        {
            m_next.push_back(Draw(i));
        }
        m_pieces.push_back({0, 1});
    }

    Course Take()
    {
        while (m_now < m_end)
        {
            const std::size_t source = Next();
            const Ns failure = source < m_next.size() ? m_next[source] : FAR;
            const Ns back = WhenBack();
            const Ns until = std::min({failure, back, m_end});
            m_x += until - m_now;
            m_now = until;
            if (until == m_end)
            {
                Settle(true);
            }
            else if (until == failure)
            {
                OnFailure(source);
            }
            else
            {
                ComeBack();
            }
        }
        return std::move(m_course);
    }

  private:
    /// From a time of the run on, so many of the replicas work, 0 to 1.
    struct Piece
    {
        Ns from;
        double share;
    };

    /// Time to the next failure of a source.
    Ns Draw(std::size_t source)
    {
        const double rate = m_job.sources[source].Rate();
        if (rate <= 0)
        {
            return FAR;
        }
        const double mean = 1e9 / rate;
        if (m_job.weibull == 1)
        {
            // A mean of more than 292 years is taken for that.
            const auto whole = static_cast<uint64_t>(std::min(mean, 9.2e18));
            return static_cast<Ns>(std::min<uint64_t>(m_random.Exponential(whole), FAR));
        }
        // If E is exponential, E^(1/k) is Weibull with shape k; its mean is Gamma(1 + 1/k).
        constexpr double ONE = 1099511627776.0; // 2^40
        const double e = static_cast<double>(m_random.Exponential(uint64_t{1} << 40)) / ONE;
        const double k = m_job.weibull;
        return ToNs(1e-9 * mean / std::tgamma(1 + 1 / k) * std::pow(e, 1 / k));
    }

    /// The source that fails next.
    std::size_t Next() const
    {
        return std::min_element(m_next.begin(), m_next.end()) - m_next.begin();
    }

    void Redraw(std::size_t source)
    {
        const Ns next = Draw(source);
        m_next[source] = next >= FAR - m_now ? FAR : m_now + next;
    }

    /// The replicas that work.
    double Share() const
    {
        return m_shrinks ? 1 - static_cast<double>(m_out.size()) / m_job.replicas : 1;
    }

    /// When replicas come back, with a checkpoint; FAR: none does.
    Ns WhenBack() const
    {
        if (!m_shrinks || m_out.empty())
        {
            return FAR;
        }
        const Ns repaired = std::max(m_now, *std::min_element(m_out.begin(), m_out.end()));
        const Ns x = m_x + (repaired - m_now);
        const Ns copies = m_run.Copies(x);
        const bool now = copies > 0 && m_run.EndOf(copies) == x;
        const Ns wait = m_run.EndOf(now ? copies : copies + 1) - x;
        return wait >= FAR - repaired ? FAR : repaired + wait;
    }

    /// Puts down the run until now. \param whole all of its work counts; else what is safe
    void Settle(bool whole)
    {
        const Ns work = m_run.Work(m_x);
        const Ns kept = whole ? m_x : m_run.EndOf(m_run.Safe(m_x));
        double useful = 0;
        for (std::size_t i = 0; i < m_pieces.size(); ++i)
        {
            const Ns until = i + 1 < m_pieces.size() ? std::min(kept, m_pieces[i + 1].from) : kept;
            const Ns from = std::min(until, m_pieces[i].from);
            useful += m_pieces[i].share * ToS(m_run.Work(until) - m_run.Work(from));
        }
        Spent& spent = m_course.spent;
        spent.useful += useful;
        spent.fewer += ToS(m_run.Work(kept)) - useful;
        spent.lost += ToS(work - m_run.Work(kept));
        spent.checkpoint += ToS(m_x - work);
        Note(&Interruption::lost, work - m_run.Work(kept));
        m_x = 0;
        m_pieces = {{0, Share()}};
    }

    void Note(double Interruption::*what, Ns ns)
    {
        if (!m_course.interruptions.empty())
        {
            m_course.interruptions.back().*what += ToS(ns);
        }
    }

    void Count(std::size_t source, bool during)
    {
        const Cause cause = m_job.sources[source].cause;
        ++m_course.failures[static_cast<std::size_t>(cause)];
        if (m_keep)
        {
            m_course.interruptions.push_back({ToS(m_now), cause, during});
        }
        Redraw(source);
    }

    /// A replica that has left does not fail.
    bool Misses()
    {
        constexpr uint64_t MANY = 1ULL << 53;
        return m_shrinks && !m_out.empty() &&
               static_cast<double>(m_random.Below(MANY)) / MANY >= Share();
    }

    void OnFailure(std::size_t source)
    {
        const bool takes = m_job.sources[source].takesServer;
        if (takes && Misses())
        {
            Redraw(source);
            return;
        }
        const bool leaves = m_shrinks && takes && m_out.size() + 1 < m_job.replicas;
        Count(source, false);
        if (leaves)
        {
            Leave(source);
        }
        else
        {
            Settle(false);
            Recover(source);
        }
    }

    /// Time of a recovery. \return false: something has failed meanwhile (m_failed), or it is over
    bool Pass(double seconds, double Spent::*what)
    {
        const std::size_t source = Next();
        const Ns failure = source < m_next.size() ? m_next[source] : FAR;
        const Ns done = m_now + ToNs(seconds);
        const Ns until = std::min({done, failure, m_end});
        m_course.spent.*what += ToS(until - m_now);
        m_now = until;
        m_failed = source;
        return until == done && until < m_end;
    }

    /// A replica leaves: the step is done again by the others.
    void Leave(std::size_t source)
    {
        if (m_run.Works(m_x))
        {
            const Ns part = std::min(m_run.Work(m_x) % m_step, m_x - m_pieces.back().from);
            m_x -= part;
            m_course.spent.lost += ToS(part);
            Note(&Interruption::lost, part);
        }
        for (;;)
        {
            const Source& of = m_job.sources[source];
            m_out.push_back(m_now + ToNs(of.detection + m_job.repair));
            m_pieces.push_back({m_x, Share()});
            if (Pass(of.detection + m_job.abort, &Spent::detection) &&
                Pass(m_job.regroup, &Spent::restart))
            {
                Resumed();
                return;
            }
            if (m_now >= m_end)
            {
                Settle(true);
                return;
            }
            source = m_failed;
            const bool takes = m_job.sources[source].takesServer;
            Count(source, true);
            if (!takes || m_out.size() + 1 >= m_job.replicas)
            {
                Settle(false);
                Recover(source);
                return;
            }
        }
    }

    /// Replicas that are repaired come back: all begin again from the checkpoint of now.
    void ComeBack()
    {
        Return();
        m_pieces.push_back({m_x, Share()});
        if (!Pass(m_job.abort + m_job.restart + m_job.read, &Spent::restart))
        {
            if (m_now >= m_end)
            {
                Settle(true);
                return;
            }
            const std::size_t source = m_failed;
            Count(source, true);
            Settle(false);
            Recover(source);
        }
    }

    /// Servers whose repair has ended are there again.
    void Return()
    {
        m_out.erase(
            std::remove_if(m_out.begin(), m_out.end(), [this](Ns back) { return back <= m_now; }),
            m_out.end());
    }

    void Resumed()
    {
        if (!m_course.interruptions.empty())
        {
            m_course.interruptions.back().resumed = ToS(m_now);
        }
    }

    /// Until enough servers are there. No time passes for parts that stand still.
    void WaitForRepair()
    {
        Return();
        const std::size_t most = m_shrinks ? m_job.replicas - 1 : m_job.spares;
        if (m_out.size() <= most)
        {
            return;
        }
        std::sort(m_out.begin(), m_out.end());
        const Ns until = std::min(m_end, m_out[m_out.size() - most - 1]);
        const Ns wait = until - m_now;
        m_course.spent.waiting += ToS(wait);
        Note(&Interruption::waited, wait);
        m_now = until;
        for (Ns& next : m_next)
        {
            next = next >= FAR - wait ? FAR : next + wait;
        }
        Return();
    }

    void Recover(std::size_t source)
    {
        std::size_t taken = 0; // servers that are not in repair yet
        bool replaces = false;
        for (;;)
        {
            const Source& of = m_job.sources[source];
            taken += of.takesServer ? 1 : 0;
            replaces |= of.takesServer;
            if (Pass(of.detection + m_job.abort, &Spent::detection))
            {
                const Ns repair = ToNs(m_job.repair);
                m_out.insert(m_out.end(), taken, repair >= FAR - m_now ? FAR : m_now + repair);
                taken = 0;
                WaitForRepair();
                if (m_now >= m_end)
                {
                    return;
                }
                if (!replaces || m_shrinks || Pass(m_job.replace, &Spent::replacing))
                {
                    replaces = false;
                    if (Pass(m_job.restart + m_job.read, &Spent::restart))
                    {
                        Return();
                        m_pieces = {{0, Share()}};
                        Resumed();
                        return;
                    }
                }
            }
            if (m_now >= m_end)
            {
                return;
            }
            source = m_failed;
            Count(source, true);
        }
    }

    const Job& m_job;
    const Run m_run;
    const Ns m_step;
    const Ns m_end;
    const bool m_keep;
    const bool m_shrinks;
    scenario::Random m_random;
    Course m_course;
    std::vector<Ns> m_next; //!< failure of each source
    std::vector<Ns> m_out;  //!< ends of repairs
    Ns m_now = 0;
    Ns m_x = 0;                  //!< time of the run since the last recovery
    std::vector<Piece> m_pieces; //!< of this run
    std::size_t m_failed = 0;    //!< the source that ended Pass()
};

} // namespace

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

Course
Simulate(const Job& job,
         double interval,
         double duration,
         uint64_t seed,
         uint64_t replication,
         bool keep)
{
    return Simulation(job, interval, duration, seed, replication, keep).Take();
}

Replications
Replicate(const Job& job, double interval, double duration, uint64_t seed, uint32_t replications)
{
    Replications all;
    all.count = replications;
    std::vector<double> shares;
    for (uint32_t i = 0; i < replications; ++i)
    {
        Course course = Simulate(job, interval, duration, seed, i, i == 0);
        all.mean += course.spent;
        for (std::size_t cause = 0; cause < CAUSES; ++cause)
        {
            all.failures[cause] += static_cast<double>(course.failures[cause]) / replications;
        }
        shares.push_back(course.spent.useful / duration);
        if (i == 0)
        {
            all.first = std::move(course.interruptions);
        }
    }
    all.mean /= replications;
    all.goodput = all.mean.useful / duration;
    double squares = 0;
    for (const double share : shares)
    {
        squares += (share - all.goodput) * (share - all.goodput);
    }
    if (replications > 1)
    {
        const boost::math::students_t distribution(replications - 1);
        all.halfWidth = boost::math::quantile(distribution, 0.975) *
                        std::sqrt(squares / (replications - 1) / replications);
    }
    return all;
}

} // namespace goodput
