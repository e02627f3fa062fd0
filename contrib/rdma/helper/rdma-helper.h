/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HELPER_H
#define RDMA_HELPER_H

#include "rdma-ascii-helper.h"
#include "rdma-fabric-builder.h"

#include "ns3/data-rate.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/nstime.h"
// What users of the helper name: attributes and what switches tell.
#include "ns3/rdma-host.h"
#include "ns3/rdma-switch.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * RDMA NICs and switches on nodes that exist, beside whatever else the nodes have (CSMA,
 * point-to-point, IP stacks):
 *
 *     RdmaHelper rdma;
 *     rdma.SetNicAttribute("Mtu", UintegerValue(1024));
 *     NetDeviceContainer nics = rdma.InstallNics(hosts);
 *     rdma.InstallSwitches(middle);
 *     rdma.SetLinkAttribute("DataRate", StringValue("100Gbps"));
 *     rdma.Connect(nics.Get(0), middle.Get(0));
 *     rdma.Connect(hosts.Get(1), middle.Get(0), DataRate("25Gbps"), NanoSeconds(300));
 *     rdma.Finish();
 *     RdmaHelper::GetNic(nics.Get(0))->CreateQueuePair(3);
 *
 * One helper makes one fabric. Attributes of all its NICs, and of all its switches, are set before
 * the first Install call; those of one switch or port on the object itself, before Finish. A node
 * belongs to one fabric, as host or as switch.
 *
 * A mistake ends the program with a message that names the function, the node and what is allowed.
 *
 * RdmaFabricHelper makes the nodes as well, from a list, in one call; it also has partitions for
 * MPI. Both take the same steps (RdmaFabricBuilder): the same fabric has the same times, if nodes
 * and links come in the same order.
 */
class RdmaHelper : public RdmaAsciiHelper
{
  public:
    RdmaHelper();
    ~RdmaHelper() override;

    /// Attributes of ns3::RdmaNic.
    void SetNicAttribute(const std::string& name, const AttributeValue& value);
    /// Attributes of ns3::RdmaSwitch; after SetInfiniBand, those of ns3::IbSwitch.
    void SetSwitchAttribute(const std::string& name, const AttributeValue& value);
    /// Attributes of ns3::RdmaPort, in NICs and switches.
    void SetPortAttribute(const std::string& name, const AttributeValue& value);
    /// Attributes of links that Connect makes from now on. \param name DataRate (default 100Gbps),
    /// Delay (1us) or BitErrorRate (0)
    void SetLinkAttribute(const std::string& name, const AttributeValue& value);
    /// At any time before Finish. \param prototype every queue pair's congestion control is forked
    /// from it
    void SetCongestionOps(Ptr<RdmaCongestionOps> prototype);

    /// As RdmaFabricHelper::AddTrafficClass: RdmaNic::CreateQueuePair takes its number.
    uint8_t AddTrafficClass(const RdmaTrafficClass& trafficClass);
    /// NICs, switches and links are InfiniBand's, not Ethernet's.
    void SetInfiniBand(const IbFabricConfig& config);

    /**
     * Give each node one more NIC with one port. A node may be there several times.
     * \return the ports, in the order of the nodes. GetNic knows their NICs after Finish
     */
    NetDeviceContainer InstallNics(NodeContainer nodes);

    /// Make each node a switch. Its ports are made by Connect.
    void InstallSwitches(NodeContainer nodes);

    /**
     * An end of a link. A NIC's port (what InstallNics returned) stands for itself. A host stands
     * for the first of its NICs without a link, a switch for a new port.
     */
    class End
    {
      public:
        // Not explicit: Connect takes either.
        End(Ptr<Node> node);
        End(Ptr<NetDevice> device);

      private:
        friend class RdmaHelper;
        Ptr<Node> m_node;
        Ptr<NetDevice> m_device; //!< null: the node's choice
    };

    /// A full-duplex link with the attributes of SetLinkAttribute. \return the ports of a and b
    NetDeviceContainer Connect(End a, End b);
    /// \param rate more than 0, at most 1000 Tb/s \param delay one way, 0 or more. Times have the
    /// resolution of ns3::Time: see Time::SetResolution
    NetDeviceContainer Connect(End a, End b, DataRate rate, Time delay);

    /**
     * Make the NICs, compute routes, and set up buffers. Once, when all links are there.
     * \param stream first of the random streams, which depend on nothing else but the fabric and
     * the run number
     * \return the fabric, for captures (RdmaPcapHelper), faults (RdmaFaults), IP over its ports
     * (RdmaPacketHelper) and counters. It lives until Simulator::Destroy, and as long as this
     * helper
     */
    RdmaFabric& Finish(int64_t stream = 1000);

    /// \param port of a NIC, after Finish
    static Ptr<RdmaNic> GetNic(Ptr<NetDevice> port);

    /// \return from the post of a WRITE to its last byte at the receiver, if the network is idle:
    /// the closed form. After Finish; rounded up to the resolution of ns3::Time
    Time GetIdealCompletion(Ptr<NetDevice> from, Ptr<NetDevice> to, uint64_t bytes) const;

  private:
    /// A port of this fabric: node and number.
    struct Place
    {
        uint32_t node;
        uint16_t port;
    };

    /// Ends the program if `wrong` says anything. \param where function, and node if there is one
    static void Refuse(const std::string& where, const std::string& wrong);
    void CheckOpen(const std::string& where) const;
    void CheckSettings(const std::string& where) const;
    /// \return what forbids that this node is a host (or a switch), or nothing
    std::string CheckNode(Ptr<Node> node, bool isSwitch) const;
    /// \return its number, new or not
    uint32_t AddNode(Ptr<Node> node, bool isSwitch);
    /// \return the port, made now if it is a switch's
    Place Resolve(const std::string& where, const End& end);
    Place ResolveNode(const std::string& where, Ptr<Node> node);
    Place ResolveDevice(const std::string& where, Ptr<NetDevice> device) const;

    RdmaFabricSettings m_settings;
    DataRate m_rate;
    Time m_delay;
    double m_bitErrorRate{0};
    std::unique_ptr<RdmaFabricBuilder> m_builder; //!< null: before the first Install, or finished
    std::map<uint32_t, uint32_t> m_numbers;       //!< by Node::GetId
    std::vector<bool> m_isSwitch;
    /// By node and port: what the port is connected to; empty: not yet. Hosts only.
    std::vector<std::vector<std::string>> m_peers;
    std::shared_ptr<RdmaFabric> m_fabric; //!< null: before Finish
};

} // namespace ns3

#endif /* RDMA_HELPER_H */
