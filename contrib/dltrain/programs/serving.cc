/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/serving/local-serving.h"
#include "scenarios/inference/requests.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/options/format.h"
#include "serving-simulation.h"
#include "simulate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace dltrain
{

namespace
{

/// Rates that --find-rate tries with a seed.
constexpr uint32_t MOST_RATES = 12;
/// Halvings of a factor of two, as the search does them, until rates are 4.4% apart. Of 300
/// requests of which 90% meet an objective, the share varies by 1.7% (binomial): rates that are
/// closer are not told apart.
constexpr double STEP = 1.0442737824274138; // 2^(1/16)
constexpr double BOUND = 1.05;
/// Seeds with which --find-rate searches.
constexpr uint32_t SEEDS = 4;

class RateSearch
{
  public:
    explicit RateSearch(const scenario::ServingScenario& scenario)
        : m_scenario(scenario)
    {
    }

    /// \return exit status, of a run that failed; else 0
    int Sweep()
    {
        for (const double rate : m_scenario.rates)
        {
            reports::ServingPoint point;
            const int status = m_search.stopped ? 0 : Try(rate, Seed(), &point);
            if (status != 0)
            {
                return status;
            }
            if (m_search.stopped)
            {
                m_search.missing.push_back(rate);
                continue;
            }
            m_search.points.push_back(point);
        }
        return 0;
    }

    /// The largest rate that meets the objectives, with several seeds.
    int Find()
    {
        m_search.wanted = m_scenario.findRate;
        // From the rate that was given, by factors of two to both sides of the answer.
        const double given = m_scenario.serving.requests.rate;
        int status = FindWith(Seed(), given > 0 ? given : 1, 2, &m_search.points);
        const auto byRate = [](const auto& a, const auto& b) { return a.rate < b.rate; };
        std::sort(m_search.points.begin(), m_search.points.end(), byRate);
        const double best = Best();
        for (uint64_t i = 1; i < SEEDS && best > 0 && IsRandom() && status == 0; ++i)
        {
            std::vector<reports::ServingPoint> points;
            status = m_search.stopped ? 0 : FindWith(Seed() + i, best, STEP, &points);
        }
        return status;
    }

    /// Of the seed of the run that is reported; 0: none.
    double Best() const
    {
        return m_search.seeds.empty() ? 0 : m_search.seeds.front().best;
    }

    const reports::ServingSearch& Search() const
    {
        return m_search;
    }

  private:
    uint64_t Seed() const
    {
        return m_scenario.serving.requests.seed;
    }

    /// Whether another seed gives another run.
    bool IsRandom() const
    {
        serving::RequestsSpec one = m_scenario.serving.requests;
        one.rate = one.rate > 0 ? one.rate : 1;
        serving::RequestsSpec other = one;
        ++other.seed;
        const auto differs = [](const serving::Request& a, const serving::Request& b) {
            return a.arrival != b.arrival || a.prompt != b.prompt || a.output != b.output;
        };
        const auto first = serving::MakeRequests(one);
        const auto second = serving::MakeRequests(other);
        return m_scenario.serving.speculation ||
               !std::equal(first.begin(),
                           first.end(),
                           second.begin(),
                           second.end(),
                           [&](const auto& a, const auto& b) { return !differs(a, b); });
    }

    /// \param factor of the first step from this rate; each further one to the same side is its
    /// square
    int FindWith(uint64_t seed,
                 double rate,
                 double factor,
                 std::vector<reports::ServingPoint>* points)
    {
        reports::SeedRate found{seed};
        for (uint32_t i = 0; i < MOST_RATES; ++i)
        {
            reports::ServingPoint point;
            const int status = Try(rate, seed, &point);
            if (status != 0)
            {
                return status;
            }
            if (m_search.stopped)
            {
                break;
            }
            points->push_back(point);
            (reports::Meets(point, *m_scenario.findRate) ? found.best : found.fails) = rate;
            const bool bounded = found.best > 0 && found.fails > 0;
            if ((bounded && found.fails / found.best < BOUND) || MissesIdle(*points))
            {
                break;
            }
            rate = bounded           ? std::sqrt(found.best * found.fails)
                   : found.fails > 0 ? rate / factor
                                     : rate * factor;
            factor = bounded || factor >= 2 ? factor : factor * factor;
            if (rate < 1e-4)
            {
                break; // it meets them at no rate
            }
        }
        // One whose search was stopped is no bound.
        if (!m_search.stopped || m_search.seeds.empty())
        {
            m_search.seeds.push_back(found);
        }
        return 0;
    }

    /// At several rates as many miss them, although hardly anybody waits for others.
    bool MissesIdle(const std::vector<reports::ServingPoint>& points) const
    {
        constexpr std::size_t ALIKE = 3;
        if (points.size() < ALIKE || !points.back().attainment)
        {
            return false;
        }
        return std::all_of(points.end() - ALIKE, points.end(), [&](const auto& point) {
            return !reports::Meets(point, *m_scenario.findRate) && point.attainment &&
                   std::abs(*point.attainment - *points.back().attainment) < 0.005 &&
                   point.rate <= m_scenario.serving.requests.rate;
        });
    }

    /// A signal only ends the search: what is known is reported.
    int Try(double rate, uint64_t seed, reports::ServingPoint* point)
    {
        scenario::ServingScenario one = m_scenario;
        one.serving.requests.rate = rate;
        one.serving.requests.seed = seed;
        if (m_scenario.run.progress)
        {
            SayProgress(scenario::Format("%.3g requests/s", rate));
        }
        ServingSimulation simulation(one, true);
        const int status = simulation.Run();
        if (scenario::Interruption() != 0)
        {
            m_search.stopped = true;
            return 0;
        }
        if (status == 0)
        {
            *point = reports::PointOf(rate, simulation.GetOutcome(), simulation.Statistics());
        }
        return status;
    }

    const scenario::ServingScenario& m_scenario;
    reports::ServingSearch m_search;
};

} // namespace

int
Simulate(const scenario::ServingScenario& scenario)
{
    if (!scenario.findRate && scenario.rates.empty())
    {
        return ServingSimulation(scenario, false).Run();
    }
    RateSearch search(scenario);
    const int status = scenario.findRate ? search.Find() : search.Sweep();
    if (status != 0)
    {
        return status;
    }
    const auto& points = search.Search().points;
    scenario::ServingScenario last = scenario;
    last.serving.requests.rate = search.Best() > 0   ? search.Best()
                                 : points.empty()    ? last.serving.requests.rate
                                 : scenario.findRate ? points.front().rate
                                                     : points.back().rate;
    // After a signal this does not begin, and writes what is known.
    return ServingSimulation(last, false, search.Search()).Run();
}

} // namespace dltrain
