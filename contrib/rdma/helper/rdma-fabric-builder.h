/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_BUILDER_H
#define RDMA_FABRIC_BUILDER_H

#include "contrib/rdma/core/source-routes.h"
#include "ib-subnet-helper.h"
#include "rdma-fabric.h"

#include "ns3/object-factory.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * What a helper has been told about the NICs, switches and links of a fabric.
 */
struct RdmaFabricSettings
{
    RdmaFabricSettings();

    void SetSwitchAttribute(const std::string& name, const AttributeValue& value);
    void SetInfiniBand(const IbFabricConfig& config);

    ObjectFactory nic;
    ObjectFactory device; //!< switches
    ObjectFactory port;
    std::set<std::string> deviceGiven;     //!< attributes of switches that the user has set
    bool keepsMarking{false};              //!< whatever the congestion control would have
    uint32_t largestFrame{0};              //!< bytes, Ethernet header to FCS; 0: as RDMA's
    Ptr<RdmaCongestionOps> prototype;      //!< null: none
    std::vector<RdmaTrafficClass> classes; //!< from class 1 on
    RdmaPartition partition;
    std::vector<rdma::StaticRoute> routes; //!< instead of shortest ones; of Ethernet
    std::vector<rdma::SourceHop> paths;    //!< that senders name
    uint32_t bond{1};                      //!< neighbouring ports of a host that are one NIC's
    std::function<std::unique_ptr<RdmaLinkLayer>()> makeLinkLayer; //!< Ethernet's by default
};

/**
 * \ingroup rdma
 * Set-up of one fabric, step by step. RdmaFabricHelper makes all nodes itself and takes all steps
 * at once; RdmaHelper is given nodes that exist, and takes a step at each of its calls.
 *
 *     AddNode, for all nodes
 *     AddLink, or AddPort and Join: a port may be there before its cable
 *     Finish: NICs on the ports of hosts, routes, buffers
 */
class RdmaFabricBuilder
{
  public:
    explicit RdmaFabricBuilder(const RdmaFabricSettings& settings);
    ~RdmaFabricBuilder();

    /// As if the settings had this one: switches that are there mark as it wants, but where their
    /// attributes have been set. Before Finish.
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

    /// \param node without RDMA ports so far \return its number in the fabric
    uint32_t AddNode(Ptr<Node> node, const RdmaNodeSpec& spec);

    /// \param here whether this process simulates the node, or the other end of the port's cable
    /// \param settings of this port; null: none \return the port's number at its node
    uint16_t AddPort(uint32_t node, bool here = true, const RdmaPlaceSettings* settings = nullptr);

    /// \return null: the port is another process's
    Ptr<RdmaPort> GetPort(uint32_t node, uint16_t port) const
    {
        return m_ports[node][port];
    }

    /// A cable with new ports at both ends. \return what is wrong, or nothing
    std::string AddLink(const RdmaLinkSpec& link);

    /// A cable between ports that have none yet. \return what is wrong, or nothing
    std::string Join(const RdmaLinkSpec& link, uint16_t portA, uint16_t portB);

    /// \pre each port has a cable \param stream first of the random streams
    /// \param[out] error what is wrong, if nothing is returned \return the fabric
    std::unique_ptr<RdmaFabric> Finish(std::string& error, int64_t stream);

  private:
    std::string Check(const RdmaLinkSpec& link) const;
    /// \return what is wrong with a static route, or nothing
    std::string CheckRoutes() const;
    std::string SetSourceRoutes();
    std::string CheckBond();
    std::string MakeBonds();
    Ptr<RdmaSwitchBase> MakeSwitch(const RdmaPlaceSettings* settings) const;
    /// Of a switch that is not here, or of a host's neighbours.
    void MakeStandIns();
    /// From which queue on a NIC's own switch marks; if it does not, the first one that does.
    RdmaLinkLayer::Marking GetMarkingAt(uint32_t nodeBehind) const;
    /// NICs on the ports of hosts, in the order of their endpoints.
    void MakeNics();
    Ptr<RdmaNic> MakeNic(uint32_t node, uint32_t end, bool only);
    int64_t AssignPortStreams(int64_t stream);
    /// \return an error if NICs recover by trimming, and switches do not trim, or if what is set of
    /// the recovery does not go together
    std::string CheckTrimming() const;
    /// Queue disciplines of all ports, and what they need of NICs. \return what is wrong, or
    /// nothing
    std::string StartQueueDiscs();
    std::string StartShapers();
    /// \return what a class needs, and its NICs and switches do not have; or nothing
    std::string CheckClasses() const;
    /// The congestion controls of a NIC that is not attached: its own, and those of classes.
    void AddLaws(RdmaNic& nic) const;
    /// What all NICs have in common, and what closed forms ask of switches, those of other ranks
    /// too.
    void ReadAttributes();
    /// What a NIC finds out from the ports it can see; across ranks it cannot see them all.
    void SetPathsAcrossRanks();

    RdmaFabricSettings m_settings;
    ObjectFactory m_plainDevice; //!< without what the congestion control wants
    std::unique_ptr<RdmaFabric> m_fabric;
    std::vector<std::vector<Ptr<RdmaPort>>> m_ports;        //!< by node and port
    std::map<uint32_t, RdmaLinkLayer::Marking> m_markingAt; //!< by node: GetMarkingAt
    bool m_ordered;                                         //!< by RdmaEventOrder
};

} // namespace ns3

#endif /* RDMA_FABRIC_BUILDER_H */
