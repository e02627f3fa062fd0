/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What formulas say of how collectives are best done on the network that there is
 * (--tuner=network).
 *
 * Of each algorithm that an operation and a group can run, with each of its protocols, the time is
 * that of its schedule on the run's servers, NICs and links (collectives/replay.h), without
 * packets: it knows how many servers there are, uplinks that are narrower than what hangs on them,
 * and which algorithm sends its large messages to near servers. Nothing of NCCL's tuner is in it.
 *
 *     messages of the schedule     time
 *     up to kMostMessagesReplayed          the replay
 *     more, of many chunks         the replay of fewer bytes, and what the last of these took each
 *     more, of many ranks          tuner.h's formula, but at least what the busiest links need
 *
 * The same question has the same answer; it is asked once for all groups that lie alike.
 */
#ifndef SCENARIOS_OPTIONS_COLLECTIVE_NETWORK_CHOICES_H
#define SCENARIOS_OPTIONS_COLLECTIVE_NETWORK_CHOICES_H

#include "collectives/replay.h"
#include "collectives/tuner.h"
#include "scenarios/options/collective/measured-choices.h"
#include "scenarios/run/scenario.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace scenario
{

/// What --tuner says.
constexpr const char* kNetworkTuner = "network";

/// What runs are looked at for advice: of larger ones that would take a second or more.
constexpr uint32_t kMostAdvised = 256;

/// Of a run. For use from several threads.
class NetworkChoices
{
  public:
    NetworkChoices(const ClusterSpec& cluster, const FabricSpec& fabric);

    /// The fastest, with its time; without an algorithm: nothing has one.
    coll::Choice Best(const CollectiveOptions& options,
                      const coll::Collective& what,
                      const coll::Placement& placement,
                      const coll::Fixed& fixed) const;

    /// What one way takes. \return nothing: it has no time
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
    mutable std::mutex m_mutex; ///< of what follows
    mutable topo::SharedLinks m_links;
    mutable std::map<std::string, coll::Choice> m_best;
};

/// Whether an algorithm that is named is for groups of several servers, and this one is in one: it
/// takes what auto does, as NCCL gives a communicator another algorithm where CollNet cannot be.
/// (All of these: collective-choice.cc.)
bool IsForOthers(const coll::Algorithm& algorithm,
                 const coll::Collective& what,
                 const coll::Placement& placement);

/// What a user has fixed of a collective.
coll::Fixed FixedFor(const CollectiveOptions& options,
                     const coll::Collective& what,
                     const coll::Placement& placement);

/// What --tuner=model takes.
coll::Choice ModelChoiceOf(const CollectiveOptions& options,
                           const coll::Collective& what,
                           const coll::Placement& placement);

/// What it takes of what the groups of a run leave to a tuner: of groups of as many ranks, in one
/// server or in several, that of the first.
std::vector<NetworkChoice> ChoicesByNetwork(const NetworkChoices& network,
                                            const CollectiveOptions& options,
                                            const ClusterSpec& cluster,
                                            const std::vector<UsedBy>& groups);

/// Where auto takes what is much slower here than the fastest that there is: which, how much, and
/// the option that takes it, in a line; empty: nowhere. Looks at no more than a few sizes, those
/// with most bytes, and at runs of at most kMostAdvised ranks. With --tuner=network what that
/// gains.
std::string NetworkAdvice(const CollectiveOptions& options,
                          const ClusterSpec& cluster,
                          const FabricSpec& fabric,
                          const std::vector<UsedBy>& groups);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_COLLECTIVE_NETWORK_CHOICES_H
