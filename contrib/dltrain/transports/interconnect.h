/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_INTERCONNECT_H
#define DLTRAIN_INTERCONNECT_H

#include "contrib/dltrain/base/transport.h"
#include "leave-turn.h"
#include "scale-up-transport.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coll
{
struct RecallSettings;
} // namespace coll

namespace dltrain
{

class RecalledLoads;

/// The transports for the messages of a job on a cluster: inside its servers, and between them.
class Interconnect
{
  public:
    /// \param network a NetworkKind \param fabric must have been built from cluster.topology
    /// \param nicsInUse of its servers \param share see NetworkParts
    Interconnect(const scenario::ClusterSpec& cluster,
                 const std::string& network,
                 ns3::RdmaFabric& fabric,
                 TraceCollector& collector,
                 Places::NicsInUse nicsInUse = {},
                 NetworkShare* share = nullptr);
    ~Interconnect();

    Transport& Serving(uint32_t from, uint32_t to) const
    {
        return m_places.ServerOf(from) == m_places.ServerOf(to) ? static_cast<Transport&>(*m_inside)
                                                                : *m_between;
    }

    /// The transport between servers.
    Transport& Between() const
    {
        return *m_between;
    }

    /// The transport inside servers.
    ScaleUpTransport& Inside() const
    {
        return *m_inside;
    }

    /// Where ranks leave collectives that messages inside their servers have ended.
    LeaveTurn& Leaves()
    {
        return m_leaves;
    }

    /// Transport::AddUser
    void AddUser(TransportUser& user)
    {
        m_between->AddUser(user);
    }

    /// Before the first channel: Transport::CarryCauses.
    void CarryCauses()
    {
        m_between->CarryCauses();
    }

    /// Between the nodes' events: nothing is sent any more.
    void Abort()
    {
        m_between->Abort();
    }

    TraceCollector& Collector() const
    {
        return m_collector;
    }

    /// For what is recalled instead of sent.
    RecalledLoads& GetRecalledLoads(const coll::RecallSettings& settings) const;

    ns3::RdmaFabric& Fabric() const
    {
        return m_fabric;
    }

    const Places& GetPlaces() const
    {
        return m_places;
    }

    /// A group of ranks asks switches between servers to add up for it. \param units of
    /// coll::Aggregators \return whether all have room for one more; none serves it otherwise
    bool TakeAggregation(const std::vector<uint32_t>& units);

  private:
    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    Places m_places;
    LeaveTurn m_leaves;
    std::unique_ptr<ScaleUpTransport> m_inside;
    std::unique_ptr<Transport> m_between;
    std::vector<uint32_t> m_groups; ///< by unit
    uint32_t m_mostGroups;          ///< most groups of a unit
    uint32_t m_refused = 0;
    const coll::Aggregators* m_aggregators;
    const topo::Topology& m_topology;
};

} // namespace dltrain

#endif // DLTRAIN_INTERCONNECT_H
