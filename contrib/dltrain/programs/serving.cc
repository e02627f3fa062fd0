/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/dltrain/ranks/program.h"
#include "contrib/dltrain/serving/local-serving.h"
#include "serving-simulation.h"
#include "simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

namespace dltrain
{

namespace
{

/// Rates that --find-rate tries: with each the range is halved, so the last leaves a 256th of it,
/// or less, where the first already fails or meets.
constexpr uint32_t MOST_RATES = 12;
/// Ratio of two rates that are told apart: assumed.
constexpr double NEAR = 1.02;

class RateSearch
{
  public:
    explicit RateSearch(const scenario::ServingScenario& scenario)
        : m_scenario(scenario)
    {
    }

    /// \return exit status, of a run that failed or was stopped; else 0
    int Sweep()
    {
        for (const double rate : m_scenario.rates)
        {
            if (const int status = Try(rate))
            {
                return status;
            }
        }
        return 0;
    }

    /// The largest rate that meets the objectives.
    int Find()
    {
        const double share = *m_scenario.findRate;
        // From the rate that was given, by factors of two to both sides of the answer.
        double rate = m_scenario.serving.requests.rate;
        rate = rate > 0 ? rate : 1;
        double meets = 0;
        double fails = 0;
        for (uint32_t i = 0; i < MOST_RATES; ++i)
        {
            if (const int status = Try(rate))
            {
                return status;
            }
            (results::Meets(m_points.back(), share) ? meets : fails) = rate;
            if ((meets > 0 && fails > 0 && fails / meets < NEAR) || MissesIdle())
            {
                break;
            }
            rate = fails == 0 ? 2 * rate : meets == 0 ? rate / 2 : std::sqrt(meets * fails);
            if (rate < 1e-4)
            {
                break; // it meets them at no rate
            }
        }
        m_best = meets;
        std::sort(m_points.begin(), m_points.end(), [](const auto& a, const auto& b) {
            return a.rate < b.rate;
        });
        return 0;
    }

    double Best() const
    {
        return m_best;
    }

    std::vector<results::ServingPoint> TakePoints()
    {
        return std::move(m_points);
    }

  private:
    /// At several rates as many miss them, although hardly anybody waits for others.
    bool MissesIdle() const
    {
        constexpr std::size_t ALIKE = 3;
        if (m_points.size() < ALIKE || !m_points.back().attainment)
        {
            return false;
        }
        return std::all_of(m_points.end() - ALIKE, m_points.end(), [this](const auto& point) {
            return !results::Meets(point, *m_scenario.findRate) && point.attainment &&
                   std::abs(*point.attainment - *m_points.back().attainment) < 0.005 &&
                   point.rate <= m_scenario.serving.requests.rate;
        });
    }

    int Try(double rate)
    {
        scenario::ServingScenario one = m_scenario;
        one.serving.requests.rate = rate;
        if (m_scenario.run.progress)
        {
            std::fprintf(stderr, "dlserve: %g requests/s\n", rate);
        }
        ServingSimulation simulation(one, true);
        const int status = simulation.Run();
        if (RunControl::IsInterrupted())
        {
            SayError("dlserve",
                     "stopped by signal " + std::to_string(RunControl::Signal()) + " after " +
                         std::to_string(m_points.size()) + " rates: nothing is written",
                     &m_scenario.run);
            return 128 + RunControl::Signal();
        }
        if (status != 0)
        {
            return status;
        }
        m_points.push_back(
            results::PointOf(rate, simulation.GetOutcome(), simulation.Statistics()));
        return 0;
    }

    const scenario::ServingScenario& m_scenario;
    std::vector<results::ServingPoint> m_points;
    double m_best = 0;
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
    ServingPoints points{search.TakePoints(), scenario.findRate};
    scenario::ServingScenario last = scenario;
    last.serving.requests.rate =
        scenario.findRate && search.Best() > 0 ? search.Best() : points.points.back().rate;
    if (scenario.findRate && search.Best() == 0)
    {
        last.serving.requests.rate = points.points.front().rate;
    }
    return ServingSimulation(last, false, std::move(points)).Run();
}

} // namespace dltrain
