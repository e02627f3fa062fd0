/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/stage-search.h"

#include "contrib/rdma/core/set-up-phase.h"

#include <algorithm>
#include <limits>
#include <set>

namespace sharding
{

namespace
{

constexpr double kUnreachable = std::numeric_limits<double>::infinity();

/// Steps of all programmes together up to which each bound is tried: some seconds of a core
/// (assumed).
constexpr double kMostSteps = 1e9;
/// Beyond it, how much a bound is above the one before.
constexpr double kBoundStep = 1.01;

class StageProgramme
{
  public:
    explicit StageProgramme(const StageProblem& problem)
        : m_p(problem),
          m_most(std::min(problem.units, problem.devices))
    {
        m_seconds.resize(std::size_t{m_p.units} * (m_p.units + 1) * m_p.meshes.size() * m_most,
                         kUnreachable);
        // Asking is nearly all of the search: strategies of each stage on each mesh.
        const rdma::SetUpPhase phase("searching stages",
                                     uint64_t{m_p.units} * (m_p.units + 1) / 2 * m_p.meshes.size());
        uint64_t asked = 0;
        for (uint32_t begin = 0; begin < m_p.units; ++begin)
        {
            for (uint32_t end = begin + 1; end <= m_p.units; ++end)
            {
                for (uint32_t mesh = 0; mesh < m_p.meshes.size(); ++mesh)
                {
                    Ask(begin, end, mesh);
                    phase.Done(++asked);
                }
            }
        }
    }

    std::optional<FoundStages> Best()
    {
        std::set<double> bounds;
        for (const double seconds : m_seconds)
        {
            if (seconds < kUnreachable)
            {
                bounds.insert(seconds);
            }
        }
        const double steps = double(m_most) * m_p.units * m_p.units / 2 * m_p.devices *
                             double(m_p.meshes.size()) * double(bounds.size());
        const double grows = steps > kMostSteps ? kBoundStep : 1;
        std::optional<FoundStages> best;
        double last = 0;
        for (auto at = bounds.begin(); at != bounds.end(); ++at)
        {
            // The slowest stage alone is no less than this.
            if (best && m_p.passes * *at >= best->seconds)
            {
                break;
            }
            const auto next = std::next(at);
            if (next != bounds.end() && *at < last * grows && *next < last * grows)
            {
                continue;
            }
            last = *at;
            const auto found = Within(*at);
            if (found && (!best || found->seconds < best->seconds))
            {
                best = found;
            }
        }
        return best;
    }

  private:
    void Ask(uint32_t begin, uint32_t end, uint32_t mesh)
    {
        // No more stages behind than units and devices are left for.
        const uint32_t devices = m_p.meshes[mesh];
        const uint32_t most =
            devices <= m_p.devices ? std::min(m_p.units - end, m_p.devices - devices) : 0;
        for (uint32_t behind = 0; behind < m_most && behind <= most; ++behind)
        {
            const bool ends = end == m_p.units;
            if (ends != (behind == 0))
            {
                continue;
            }
            const auto seconds = m_p.seconds(begin, end, devices, behind);
            if (!seconds)
            {
                break; // nor with more behind
            }
            m_seconds[Index(begin, end, mesh, behind)] = *seconds;
        }
    }

    std::size_t Index(uint32_t begin, uint32_t end, uint32_t mesh, uint32_t behind) const
    {
        return ((std::size_t{begin} * (m_p.units + 1) + end) * m_p.meshes.size() + mesh) * m_most +
               behind;
    }

    std::size_t State(uint32_t stages, uint32_t unit, uint32_t devices) const
    {
        return (std::size_t{stages} * (m_p.units + 1) + unit) * (m_p.devices + 1) + devices;
    }

    struct Step
    {
        double seconds = kUnreachable;
        uint32_t end = 0;
        uint32_t mesh = 0;
    };

    /// The least sum with no stage slower than the bound.
    std::optional<FoundStages> Within(double bound)
    {
        m_states.assign(std::size_t{m_most + 1} * (m_p.units + 1) * (m_p.devices + 1), {});
        m_states[State(0, m_p.units, 0)].seconds = 0;
        for (uint32_t stages = 1; stages <= m_most; ++stages)
        {
            for (uint32_t unit = 0; unit < m_p.units; ++unit)
            {
                for (uint32_t devices = 1; devices <= m_p.devices; ++devices)
                {
                    m_states[State(stages, unit, devices)] = First(stages, unit, devices, bound);
                }
            }
        }
        uint32_t stages = 0;
        double least = kUnreachable;
        for (uint32_t s = 1; s <= m_most; ++s)
        {
            const double seconds = m_states[State(s, 0, m_p.devices)].seconds;
            stages = seconds < least ? s : stages;
            least = std::min(least, seconds);
        }
        return stages > 0 ? std::optional(Told(stages)) : std::nullopt;
    }

    Step First(uint32_t stages, uint32_t unit, uint32_t devices, double bound) const
    {
        Step best;
        for (uint32_t end = unit + 1; end + stages - 1 <= m_p.units; ++end)
        {
            for (uint32_t mesh = 0; mesh < m_p.meshes.size(); ++mesh)
            {
                if (m_p.meshes[mesh] > devices)
                {
                    break;
                }
                const double own = m_seconds[Index(unit, end, mesh, stages - 1)];
                const double rest =
                    m_states[State(stages - 1, end, devices - m_p.meshes[mesh])].seconds;
                if (own <= bound && own + rest < best.seconds)
                {
                    best = {own + rest, end, mesh};
                }
            }
        }
        return best;
    }

    FoundStages Told(uint32_t stages) const
    {
        FoundStages found;
        uint32_t unit = 0;
        uint32_t devices = m_p.devices;
        double slowest = 0;
        for (; stages > 0; --stages)
        {
            const Step& step = m_states[State(stages, unit, devices)];
            const double own = m_seconds[Index(unit, step.end, step.mesh, stages - 1)];
            found.stages.push_back({unit, step.end, m_p.meshes[step.mesh], own});
            found.seconds += own;
            slowest = std::max(slowest, own);
            unit = step.end;
            devices -= m_p.meshes[step.mesh];
        }
        found.seconds += (m_p.passes - 1.0) * slowest;
        return found;
    }

    const StageProblem& m_p;
    uint32_t m_most; ///< stages
    std::vector<double> m_seconds;
    std::vector<Step> m_states;
};

} // namespace

std::optional<FoundStages>
FindStages(const StageProblem& problem)
{
    return StageProgramme(problem).Best();
}

} // namespace sharding
