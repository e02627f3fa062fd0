/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "child-runs.h"
#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/serving/local-serving.h"
#include "reports/programs/serving-point.h"
#include "scenarios/asked/run.h"
#include "scenarios/inference/requests.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/options/format.h"
#include "scenarios/options/member.h"
#include "serving-simulation.h"
#include "simulate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
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

/// A run that the search wants.
struct Trial
{
    double rate = 0;
    uint64_t seed = 0;
};

/// The rates that --find-rate tries with a seed, one after the other.
class SeedSearch
{
  public:
    /// \param factor of the first step from this rate; each further one to the same side is its
    /// square
    SeedSearch(const scenario::ServingScenario& scenario, uint64_t seed, double rate, double factor)
        : m_scenario(scenario),
          m_found{seed},
          m_rate(rate),
          m_factor(factor)
    {
    }

    bool IsDone() const
    {
        return m_done;
    }

    Trial Next() const
    {
        return {m_rate, m_found.seed};
    }

    void Take(const reports::ServingPoint& point)
    {
        m_points.push_back(point);
        (reports::Meets(point, *m_scenario.findRate) ? m_found.best : m_found.fails) = m_rate;
        const bool bounded = m_found.best > 0 && m_found.fails > 0;
        if ((bounded && m_found.fails / m_found.best < BOUND) || MissesIdle() ||
            m_points.size() == MOST_RATES)
        {
            m_done = true;
            return;
        }
        m_rate = bounded             ? std::sqrt(m_found.best * m_found.fails)
                 : m_found.fails > 0 ? m_rate / m_factor
                                     : m_rate * m_factor;
        m_factor = bounded || m_factor >= 2 ? m_factor : m_factor * m_factor;
        m_done = m_rate < 1e-4; // it meets them at no rate
    }

    const reports::SeedRate& Found() const
    {
        return m_found;
    }

    const std::vector<reports::ServingPoint>& Points() const
    {
        return m_points;
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
        return std::all_of(m_points.end() - ALIKE, m_points.end(), [&](const auto& point) {
            return !reports::Meets(point, *m_scenario.findRate) && point.attainment &&
                   std::abs(*point.attainment - *m_points.back().attainment) < 0.005 &&
                   point.rate <= m_scenario.serving.requests.rate;
        });
    }

    const scenario::ServingScenario& m_scenario;
    reports::SeedRate m_found;
    double m_rate;
    double m_factor;
    std::vector<reports::ServingPoint> m_points;
    bool m_done = false;
};

class RateSearch
{
  public:
    explicit RateSearch(const scenario::ServingScenario& scenario)
        : m_scenario(scenario),
          m_onCluster(scenario.run.childrenOn == "slurm")
    {
    }

    /// \return exit status, of a run that failed; else 0
    int Sweep()
    {
        std::vector<Trial> trials;
        for (const double rate : m_scenario.rates)
        {
            trials.push_back({rate, Seed()});
        }
        std::vector<std::optional<reports::ServingPoint>> points;
        const int status = Try(trials, &points);
        for (std::size_t i = 0; i < points.size(); ++i)
        {
            if (points[i])
            {
                m_search.points.push_back(*points[i]);
            }
            else
            {
                m_search.missing.push_back(trials[i].rate);
            }
        }
        return status;
    }

    /// The largest rate that meets the objectives, with several seeds.
    int Find()
    {
        m_search.wanted = m_scenario.findRate;
        // From the rate that was given, by factors of two to both sides of the answer.
        const double given = m_scenario.serving.requests.rate;
        std::vector<SeedSearch> searches;
        searches.emplace_back(m_scenario, Seed(), given > 0 ? given : 1, 2);
        int status = Run(&searches);
        m_search.points = searches.front().Points();
        const auto byRate = [](const auto& a, const auto& b) { return a.rate < b.rate; };
        std::sort(m_search.points.begin(), m_search.points.end(), byRate);
        const double best = Best();
        searches.clear();
        for (uint64_t i = 1; i < SEEDS && best > 0 && IsRandom(); ++i)
        {
            searches.emplace_back(m_scenario, Seed() + i, best, STEP);
        }
        return status != 0 || searches.empty() || m_search.stopped ? status : Run(&searches);
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

    /// Searches with their seeds: on a cluster together, here one after the other.
    int Run(std::vector<SeedSearch>* searches)
    {
        for (std::size_t first = 0; first < searches->size(); ++first)
        {
            const std::size_t end = m_onCluster ? searches->size() : first + 1;
            for (;;)
            {
                std::vector<SeedSearch*> open;
                std::vector<Trial> trials;
                for (std::size_t i = first; i < end; ++i)
                {
                    if (SeedSearch& one = (*searches)[i]; !one.IsDone())
                    {
                        open.push_back(&one);
                        trials.push_back(one.Next());
                    }
                }
                std::vector<std::optional<reports::ServingPoint>> points;
                if (const int status = trials.empty() ? 0 : Try(trials, &points))
                {
                    return status;
                }
                for (std::size_t i = 0; i < open.size() && points[i]; ++i)
                {
                    open[i]->Take(*points[i]);
                }
                if (open.empty() || m_search.stopped)
                {
                    break;
                }
            }
            for (std::size_t i = first; i < end; ++i)
            {
                // One whose search was stopped is no bound.
                if (const SeedSearch& one = (*searches)[i]; one.IsDone() || m_search.seeds.empty())
                {
                    m_search.seeds.push_back(one.Found());
                }
            }
            if (m_onCluster || m_search.stopped)
            {
                break;
            }
        }
        return 0;
    }

    /// A signal only ends the search: what is known is reported. \param points of those that ended
    int Try(const std::vector<Trial>& trials,
            std::vector<std::optional<reports::ServingPoint>>* points)
    {
        points->assign(trials.size(), std::nullopt);
        if (m_onCluster)
        {
            return TryOnCluster(trials, points);
        }
        for (std::size_t i = 0; i < trials.size() && !m_search.stopped; ++i)
        {
            scenario::ServingScenario one = m_scenario;
            one.serving.requests.rate = trials[i].rate;
            one.serving.requests.seed = trials[i].seed;
            SayRate(trials[i].rate);
            ServingSimulation simulation(one, true);
            const int status = simulation.Run();
            m_search.stopped = scenario::Interruption() != 0;
            if (status != 0 && !m_search.stopped)
            {
                return status;
            }
            if (!m_search.stopped)
            {
                (*points)[i] = reports::PointOf(trials[i].rate,
                                                simulation.GetOutcome(),
                                                simulation.Statistics());
            }
        }
        return 0;
    }

    void SayRate(double rate) const
    {
        if (m_scenario.run.progress)
        {
            SayProgress(scenario::Format("%.3g requests/s", rate));
        }
    }

    /// A configuration of this run at one rate.
    ChildJob JobOf(const Trial& trial) const
    {
        const std::string rate = scenario::Format("%.17g", trial.rate);
        nlohmann::json json = m_scenario.run.asRun;
        nlohmann::json& serving = json["serving"];
        for (const char* const key : {"find_rate", "rate"})
        {
            serving.erase(key);
        }
        std::string requests = serving.value("requests", std::string());
        if (requests.find(':') != std::string::npos && m_scenario.findRate)
        {
            serving["requests"] = WithoutRate(requests);
        }
        serving["sweep_rate"] = rate + ".." + rate + ":1";
        json["run"]["seed"] = trial.seed;
        for (const char* const key : {"on", "slurm_options"})
        {
            json["run"].erase(key);
        }
        ChildJob job;
        job.program = "dlserve";
        job.folder = m_scenario.run.out + "/rates/" + rate + "-seed" + std::to_string(trial.seed);
        job.configuration = json.dump(2) + "\n";
        job.ignoresMemory = false;
        return job;
    }

    /// "gamma:20:2" is "gamma::2": the rate is said elsewhere.
    static std::string WithoutRate(const std::string& requests)
    {
        const std::size_t first = requests.find(':');
        const std::size_t second = requests.find(':', first + 1);
        return requests.substr(0, first) +
               (second == std::string::npos ? "" : ":" + requests.substr(second));
    }

    int TryOnCluster(const std::vector<Trial>& trials,
                     std::vector<std::optional<reports::ServingPoint>>* points)
    {
        std::vector<ChildJob> jobs;
        for (const Trial& trial : trials)
        {
            jobs.push_back(JobOf(trial));
            SayRate(trial.rate);
        }
        const scenario::KeptForAWhile kept;
        const auto results =
            RunChildren(m_scenario.run, jobs, [] { return scenario::Interruption() == 0; });
        m_search.stopped = scenario::Interruption() != 0;
        for (std::size_t i = 0; i < results.size(); ++i)
        {
            (*points)[i] = reports::PointIn(trials[i].rate, results[i].stats);
            if (!(*points)[i] && !m_search.stopped)
            {
                return SayError("dlserve",
                                scenario::Spell(&scenario::asked::Run::on) + "=slurm: the run at " +
                                    scenario::Format("%.3g requests/s", trials[i].rate) +
                                    " came to no end: " + results[i].why,
                                &m_scenario.run);
            }
        }
        return 0;
    }

    const scenario::ServingScenario& m_scenario;
    const bool m_onCluster;
    reports::ServingSearch m_search;
};

} // namespace

int
Simulate(const scenario::ServingScenario& scenario)
{
    if (!scenario.findRate && scenario.rates.size() < 2)
    {
        return ServingSimulation(scenario, false).Run(); // --sweep-rate=A..A:1 has set its rate
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
