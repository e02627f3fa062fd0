/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_JOURNEY_COLLECTOR_H
#define DLTRAIN_JOURNEY_COLLECTOR_H

#include "contrib/dltrain/base/journey-parts.h"
#include "fabric-baseline.h"
#include "reports/attribution/flow-ways.h"
#include "reports/attribution/interference.h"
#include "reports/attribution/link-notes.h"
#include "reports/attribution/path-table.h"
#include "reports/attribution/tail-attribution.h"
#include "reports/tables/flow-table.h"

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-journey.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dltrain
{

/**
 * Results from the journeys of messages: the parts of their time (attribution.csv, and by path),
 * their paths (paths.csv), and the jobs that delayed each other.
 *
 * It makes all NICs note journeys. Its owner, TraceCollector, reports the messages.
 */
class JourneyCollector
{
  public:
    /// The names of endpoints, ports and so on; kept by reference, and may grow.
    struct Names
    {
        const std::vector<std::string>& endpoints;
        const std::vector<std::string>& ports;
        const std::vector<std::string>& tags;
        const rdma::LinkWords& words;
        const reports::LinkNotes& notes;
    };

    /// \param paths patterns, for paths.csv; none: no file
    JourneyCollector(ns3::RdmaFabric& fabric,
                     const Names& names,
                     const std::vector<std::string>& paths);

    /// The time of a message that is complete, in parts.
    void Divide(const ns3::RdmaJourney& journey, int64_t now, reports::MessageParts& parts);

    /// Before the first message: owners are numbered as reports::FlowTable numbers them.
    void AddOwner(const std::string& name);

    /// Ordinary packets are this owner's.
    void SetOwnerOfOrdinary(uint32_t owner)
    {
        m_ownerOfOrdinary = owner;
    }

    /// A message of ordinary packets: when there were some.
    void AddOrdinary(int64_t beginPs, int64_t endPs, uint64_t bytes);

    /// The run is over: what the ports carried of ordinary packets since `baseline`.
    void NoteOrdinary(const FabricBaseline& baseline, int64_t nowPs);

    /// A measured message is complete. \param queuePair its sender \param wayNoted of the queue
    /// pair, kept by the caller, false since measuring began: what spares looking it up among all
    /// that have sent
    /// \param parts null: not noted
    void Add(const reports::FlowRecord& record,
             uint64_t queuePair,
             bool& wayNoted,
             const reports::MessageParts* parts,
             const reports::FlowTable& flows);

    /// One of an owner's warm-up, beside the measured time of another.
    void AddUnmeasured(const reports::Interference::Passing& message,
                       const reports::MessageParts& parts,
                       uint32_t owner);

    /// Forgets everything added so far.
    void StartMeasuring(int64_t nowPs);

    /// Completes the files. \param folder empty: no files
    void Finish(const std::string& folder);

    /// Messages from now on do not meet earlier ones.
    void Next()
    {
        m_flowWays.Next();
    }

    const reports::FlowWays& GetFlowWays() const
    {
        return m_flowWays;
    }

    const reports::TailAttribution& GetAttribution() const
    {
        return m_attribution;
    }

    /// TailAttribution::SetCollectives
    void SetCollectives(const std::vector<bool>* tags)
    {
        m_attribution.SetCollectives(tags);
    }

    /// \return null if no paths are chosen
    const reports::PathTable* GetPaths() const
    {
        return m_paths.get();
    }

    /// \return null if there are no owners
    const reports::Interference* GetInterference() const
    {
        return m_interference.get();
    }

  private:
    void ChoosePaths(const std::vector<std::string>& texts);
    void OnWay(ns3::RdmaQueuePair* qp, const ns3::RdmaJourney& journey, int64_t now);

    ns3::RdmaFabric& m_fabric;
    const Names m_names;
    JourneyParts m_parts;
    reports::TailAttribution m_attribution;
    reports::FlowWays m_flowWays;
    std::unique_ptr<reports::PathTable> m_paths; //!< null: not asked for
    ns3::RdmaJourney::Wanted m_wanted;           //!< by m_paths
    /// By receiving endpoint, whose events alone touch it: packets by sending endpoint and way.
    std::vector<std::map<std::pair<uint32_t, reports::Way>, uint64_t>> m_packets;
    int64_t m_packetsSince{0}; //!< ps: packets of messages posted before do not count
    std::unique_ptr<reports::Interference> m_interference;
    std::optional<uint32_t> m_ownerOfOrdinary;
};

} // namespace dltrain

#endif // DLTRAIN_JOURNEY_COLLECTOR_H
