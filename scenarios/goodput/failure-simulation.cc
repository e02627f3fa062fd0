/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/goodput/failure-simulation.h"

#include "scenarios/traffic/random.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
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
               bool keep,
               const GoesOn& goesOn)
        : m_job(job),
          m_run(job, interval),
          m_step(std::max<Ns>(1, ToNs(job.step))),
          m_end(ToNs(duration)),
          m_keep(keep),
          m_goesOn(goesOn),
          m_shrinks(job.LeavingShare() > 0),
          m_servers(job.servers),
          m_random(seed, scenario::kFailureStream + replication),
          m_outages(job.replicas, 0)
    {
        for (std::size_t i = 0; i < job.sources.size(); ++i)
        {
            m_next.push_back(DrawFirst(i));
        }
        for (uint32_t i = 0; m_shrinks && m_servers.empty() && i < job.replicas; ++i)
        {
            m_own.push_back({i});
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

    /// A server in repair.
    struct Out
    {
        Ns repaired;
        uint32_t server;
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

    /// Time to the first failure of a source, which did not fail just before the begin: what is
    /// left of an interval that is seen at any time, the stationary excess, of density
    /// (1 - F(t)) / mean (D. R. Cox, Renewal Theory, 1962). With it duration / mean failures are
    /// expected. For a Weibull distribution (t / scale)^k is then Gamma(1 / k).
    Ns DrawFirst(std::size_t source)
    {
        const double rate = m_job.sources[source].Rate();
        if (m_job.weibull == 1 || rate <= 0)
        {
            return Draw(source);
        }
        const double k = m_job.weibull;
        const double scale = 1 / rate / std::tgamma(1 + 1 / k);
        return ToNs(scale * std::pow(boost::math::gamma_p_inv(1 / k, Uniform()), 1 / k));
    }

    /// In [0, 1).
    double Uniform()
    {
        constexpr uint64_t MANY = 1ULL << 53;
        return static_cast<double>(m_random.Below(MANY)) / MANY;
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
        return m_shrinks ? 1 - static_cast<double>(m_missing) / m_job.replicas : 1;
    }

    /// When replicas come back, with a checkpoint; FAR: none does.
    Ns WhenBack() const
    {
        if (!m_shrinks || m_out.empty())
        {
            return FAR;
        }
        const Ns repaired = std::max(m_now, NextRepaired());
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

    /// The interruption that came last; null: it is not kept.
    Interruption* Last()
    {
        const bool kept = !m_course.interruptions.empty() && m_course.leftOut == 0;
        return kept ? &m_course.interruptions.back() : nullptr;
    }

    void Note(double Interruption::*what, Ns ns)
    {
        if (Interruption* const last = Last())
        {
            last->*what += ToS(ns);
        }
    }

    void Count(std::size_t source, bool during)
    {
        const Cause cause = m_job.sources[source].cause;
        ++m_course.failures[static_cast<std::size_t>(cause)];
        if (m_keep && m_course.interruptions.size() < kMostKept)
        {
            m_course.interruptions.push_back({ToS(m_now), cause, during});
        }
        else if (m_keep)
        {
            ++m_course.leftOut;
        }
        Redraw(source);
        constexpr uint64_t OFTEN = 4096;
        if (++m_counted % OFTEN == 0 && m_goesOn && !m_goesOn())
        {
            m_end = m_now;
        }
    }

    const std::vector<uint32_t>& ReplicasOf(uint32_t server) const
    {
        return m_servers.empty() ? m_own[server] : m_servers[server];
    }

    /// Replicas of a server that are there.
    std::size_t Present(uint32_t server) const
    {
        const auto& replicas = ReplicasOf(server);
        return std::count_if(replicas.begin(), replicas.end(), [this](uint32_t replica) {
            return m_outages[replica] == 0;
        });
    }

    /// Chooses the server that fails. \return false: its replicas have left, so nothing does
    bool Fails(std::size_t source)
    {
        if (!m_shrinks || !m_job.sources[source].takesServer)
        {
            return true;
        }
        m_server = static_cast<uint32_t>(
            m_random.Below(m_servers.empty() ? m_own.size() : m_servers.size()));
        return Present(m_server) > 0;
    }

    /// Whether others are left without the replicas of the server that has failed.
    bool GoesOnWithout(std::size_t source) const
    {
        return m_shrinks && m_job.sources[source].takesServer &&
               m_missing + Present(m_server) < m_job.replicas;
    }

    void TakeOut(uint32_t server, Ns repaired)
    {
        m_out.push_back({repaired, server});
        if (m_shrinks)
        {
            for (const uint32_t replica : ReplicasOf(server))
            {
                m_missing += m_outages[replica]++ == 0 ? 1 : 0;
            }
        }
    }

    Ns NextRepaired() const
    {
        return std::min_element(m_out.begin(),
                                m_out.end(),
                                [](const Out& a, const Out& b) { return a.repaired < b.repaired; })
            ->repaired;
    }

    void OnFailure(std::size_t source)
    {
        if (!Fails(source))
        {
            Redraw(source);
            return;
        }
        const bool leaves = GoesOnWithout(source);
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
        const Ns done = m_now + ToNs(seconds);
        for (;;)
        {
            const std::size_t source = Next();
            const Ns failure = source < m_next.size() ? m_next[source] : FAR;
            const Ns until = std::min({done, failure, m_end});
            m_course.spent.*what += ToS(until - m_now);
            m_now = until;
            m_failed = source;
            if (until == done || until == m_end || Fails(source))
            {
                return until == done && until < m_end;
            }
            Redraw(source);
        }
    }

    /// Replicas leave: the step is done again by the others.
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
            TakeOut(m_server, m_now + ToNs(of.detection + m_job.repair));
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
            Count(source, true);
            if (!GoesOnWithout(source))
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
        const std::size_t missing = m_missing;
        Return();
        if (m_missing == missing)
        {
            return; // they wait for another server
        }
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
        const auto repaired = std::partition(m_out.begin(), m_out.end(), [this](const Out& out) {
            return out.repaired > m_now;
        });
        for (auto out = repaired; m_shrinks && out != m_out.end(); ++out)
        {
            for (const uint32_t replica : ReplicasOf(out->server))
            {
                m_missing -= --m_outages[replica] == 0 ? 1 : 0;
            }
        }
        m_out.erase(repaired, m_out.end());
    }

    void Resumed()
    {
        if (Interruption* const last = Last())
        {
            last->resumed = ToS(m_now);
        }
    }

    /// Until enough servers are there. No time passes for parts that stand still.
    void WaitForRepair()
    {
        const Ns begin = m_now;
        Return();
        while (m_now < m_end &&
               (m_shrinks ? m_missing == m_job.replicas : m_out.size() > m_job.spares))
        {
            m_now = std::min(m_end, NextRepaired());
            Return();
        }
        const Ns wait = m_now - begin;
        m_course.spent.waiting += ToS(wait);
        Note(&Interruption::waited, wait);
        for (Ns& next : m_next)
        {
            next = next >= FAR - wait ? FAR : next + wait;
        }
    }

    void Recover(std::size_t source)
    {
        std::vector<uint32_t> taken; // servers that are not in repair yet
        bool replaces = false;
        for (;;)
        {
            const Source& of = m_job.sources[source];
            taken.insert(taken.end(), of.takesServer ? 1 : 0, m_server);
            replaces |= of.takesServer;
            if (Pass(of.detection + m_job.abort, &Spent::detection))
            {
                const Ns repair = ToNs(m_job.repair);
                for (const uint32_t server : taken)
                {
                    TakeOut(server, repair >= FAR - m_now ? FAR : m_now + repair);
                }
                taken.clear();
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
    Ns m_end;
    const bool m_keep;
    const GoesOn& m_goesOn;
    const bool m_shrinks;
    const std::vector<std::vector<uint32_t>>& m_servers;
    std::vector<std::vector<uint32_t>> m_own; //!< for m_servers, if that is empty
    scenario::Random m_random;
    Course m_course;
    std::vector<Ns> m_next; //!< failure of each source
    std::vector<Out> m_out;
    std::vector<uint32_t> m_outages; //!< of each replica: its servers in repair
    std::size_t m_missing = 0;       //!< replicas that have left
    uint32_t m_server = 0;           //!< that failed last
    uint64_t m_counted = 0;
    Ns m_now = 0;
    Ns m_x = 0;                  //!< time of the run since the last recovery
    std::vector<Piece> m_pieces; //!< of this run
    std::size_t m_failed = 0;    //!< the source that ended Pass()
};

} // namespace

Course
Simulate(const Job& job,
         double interval,
         double duration,
         uint64_t seed,
         uint64_t replication,
         bool keep,
         const GoesOn& goesOn)
{
    return Simulation(job, interval, duration, seed, replication, keep, goesOn).Take();
}

} // namespace goodput
