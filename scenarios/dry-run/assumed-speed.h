/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time and the events of a run before it runs: the counts of work.h times what each costs. All
 * costs are assumed: as on the machine and day of assumed-speed.cc, with a core for each process.
 */
#ifndef SCENARIOS_DRY_RUN_ASSUMED_SPEED_H
#define SCENARIOS_DRY_RUN_ASSUMED_SPEED_H

#include "scenarios/dry-run/work.h"
#include "scenarios/job/scenario.h"

#include <array>

namespace scenario
{

/// The quantities that the speed depends on.
struct SpeedNeeds
{
    double hosts = 0;       ///< network interfaces that send or receive
    double links = 0;       ///< links of the network
    double connections = 0; ///< pairs of queue pairs: state that frames look up
    bool mixed = false;     ///< flows begin at random, or many meet on a link
    bool infiniBand = false;
    bool windows = true; ///< the engine; else ns-3's
    bool packets = true; ///< the network has packets
    bool attribution = true;
    bool report = true;
    bool timeline = true;
    uint32_t threads = 0; ///< as given; 0: those that are idle, of which a plan knows nothing
    Processes processes;
};

/// \return what those options say that cost time
SpeedNeeds SpeedNeedsOf(const RunOptions& run, const FabricSpec& fabric);

struct Cost
{
    double seconds = 0; ///< of one core
    double events = 0;
};

class AssumedSpeed
{
  public:
    double setUpSeconds = 0;
    double gain = 1; ///< speed-up of the events by several threads or processes

    Cost& operator[](WorkKind kind)
    {
        return m_costs[static_cast<std::size_t>(kind)];
    }

    const Cost& operator[](WorkKind kind) const
    {
        return m_costs[static_cast<std::size_t>(kind)];
    }

    /// The time of work of one sort, with the gain.
    double Seconds(const Work& work, WorkOf sort) const;
    /// All of it, with set-up.
    double Seconds(const Work& work) const;
    double Events(const Work& work) const;

  private:
    std::array<Cost, kWorkKinds> m_costs{};
};

/// A pure function.
AssumedSpeed AssumeSpeed(const SpeedNeeds& needs);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_ASSUMED_SPEED_H
