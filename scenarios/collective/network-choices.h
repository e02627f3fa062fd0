/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The choice of algorithms by a replay on the run's network (--tuner=network).
 *
 * Each algorithm that an operation and a group can run, with each of its protocols, has a time:
 * that of its schedule on the run's servers, NICs and links (collectives/tuner/replay.h), without
 * packets. So the time depends on the number of servers, on uplinks narrower than the links below
 * them, and on whether an algorithm sends its large messages to near servers. It has nothing of
 * NCCL's tuner.
 *
 *     messages of the schedule     time
 *     up to kMostMessagesReplayed          the replay
 *     more, of many chunks         the replay of fewer bytes, and what the last of these took each
 *     more, of many ranks          tuner.h's formula, but at least what the busiest links need
 *
 * The same question has the same answer. It is asked once for all groups with the same shape.
 */
#ifndef SCENARIOS_COLLECTIVE_NETWORK_CHOICES_H
#define SCENARIOS_COLLECTIVE_NETWORK_CHOICES_H

#include "collectives/tuner/replay.h"
#include "collectives/tuner/tuner.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/job/scenario.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace scenario
{

/// The name in --tuner.
constexpr const char* kNetworkTuner = "network";

/// The largest run, in ranks, that is looked at for advice: larger ones would take a second or
/// more.
constexpr uint32_t kMostAdvised = 256;

/// The choices of a run. For use from several threads.
class NetworkChoices
{
  public:
    NetworkChoices(const ClusterSpec& cluster, const FabricSpec& fabric);

    /// The fastest, with its time; without an algorithm: nothing has one.
    coll::Choice Best(const CollectiveOptions& options,
                      const coll::Collective& what,
                      const coll::Placement& placement,
                      const coll::Fixed& fixed) const;

    /// The time of one choice. \return nothing if it has no time
    std::optional<double> SecondsOf(const CollectiveOptions& options,
                                    const coll::Collective& what,
                                    const coll::Placement& placement,
                                    const coll::Choice& choice) const;

  private:
    /// Groups of one text lie alike.
    std::string ShapeOf(const coll::Placement& placement) const;
    std::optional<double> Seconds(const CollectiveOptions& options,
                                  const coll::Collective& what,
                                  const coll::Placement& placement,
                                  const coll::Choice& choice,
                                  double limit) const;
    coll::ReplayTimes TimesOf(const CollectiveOptions& options,
                              const coll::Collective& what,
                              const coll::Placement& placement,
                              const coll::Choice& choice) const;
    coll::Choice Search(const CollectiveOptions& options,
                        const coll::Collective& what,
                        const coll::Placement& placement,
                        const coll::Fixed& fixed) const;

    topo::Topology m_topology;
    topo::ServerSpec m_server;
    std::vector<uint32_t> m_hostOfServer;
    coll::ReplayNetwork m_network;
    mutable std::mutex m_mutex; ///< guards the members below
    mutable topo::SharedLinks m_links;
    mutable std::map<std::string, coll::Choice> m_best;
};

/// Whether a named algorithm is for groups of several servers, while this group is in one server.
/// Such a group takes the choice of auto, as NCCL gives a communicator another algorithm where
/// CollNet cannot be. (All such algorithms: collective-choice.cc.)
bool IsForOthers(const coll::Algorithm& algorithm,
                 const coll::Collective& what,
                 const coll::Placement& placement);

/// The parts of a choice that the user has fixed for a collective.
coll::Fixed FixedFor(const CollectiveOptions& options,
                     const coll::Collective& what,
                     const coll::Placement& placement);

/// The choice of --tuner=model.
coll::Choice ModelChoiceOf(const CollectiveOptions& options,
                           const coll::Collective& what,
                           const coll::Placement& placement);

/// The choices of --tuner=network where the groups of a run leave them to a tuner. The first group
/// stands for all groups with as many ranks, in one server or in several.
std::vector<NetworkChoice> ChoicesByNetwork(const NetworkChoices& network,
                                            const CollectiveOptions& options,
                                            const ClusterSpec& cluster,
                                            const std::vector<UsedBy>& groups);

/// A line about collectives for which auto takes a choice much slower here than the fastest one:
/// which, by how much, and the option for the fastest one. Empty: none. Looks at only a few sizes,
/// those with most bytes, and at runs of at most kMostAdvised ranks. With --tuner=network, the line
/// says what that gains.
std::string NetworkAdvice(const CollectiveOptions& options,
                          const ClusterSpec& cluster,
                          const FabricSpec& fabric,
                          const std::vector<UsedBy>& groups);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_NETWORK_CHOICES_H
