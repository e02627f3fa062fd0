/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_SUBNET_HELPER_H
#define IB_SUBNET_HELPER_H

#include "contrib/rdma/core/ib/ib-credit-reach.h"
#include "contrib/rdma/core/ib/ib-discovery.h"
#include "contrib/rdma/core/ib/ib-routing.h"

#include "ns3/ib-link-credits.h"
#include "ns3/ib-switch.h"
#include "ns3/rdma-nic.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * What makes a fabric InfiniBand: RdmaFabricHelper::SetInfiniBand.
 */
struct IbFabricConfig
{
    /// Engine of the subnet manager (rdma::IbRoutingEngines), or several: the first that can.
    std::string routing{"ftree,updn"};
    /// Forwarding tables instead of an engine's: a file as OpenSM or ibroute writes it
    /// (core/ib-tables.h). They may deadlock, and do not change when a cable fails.
    std::string forwardingFile;
    uint8_t lmc{0};             //!< each host port has 2^lmc LIDs
    uint8_t lanes{1};           //!< data VLs: 1, 2, 4 or 8
    uint64_t laneBuffer{65536}; //!< receive buffer of a VL at each port (bytes); at most 2,048 x
                                //!< creditBlock
    /// Unit of the credits on the wire (bytes), for links longer than 128 KiB can fill: 64 or a
    /// larger power of two, at most 4,096. See core/ib-credits.h.
    uint32_t creditBlock{64};
    /// Share of the buffer that becomes free until the sender is told at once.
    double updateShare{rdma::kIbUpdateShare};
    std::string vlHigh;     //!< VL arbitration: "0:64,1:128" (VL:weight, 64 B each)
    std::string vlLow;      //!< all VLs alike if both are empty
    uint8_t highLimit{255}; //!< of high priority, 4 KiB each; 255: unlimited
    bool unsafe{false};     //!< routes that may deadlock, rather than an error
    /// Static rate control (InfiniBand Architecture 1, 9.11): a queue pair whose path has a slower
    /// link than its port waits some packet times behind each packet.
    bool staticRate{false};
    /// Frames of flits instead of InfiniBand's packets, of so many bytes (FrameSizes::OfFlits): the
    /// same links with credits, as those between GPUs have them. 0: InfiniBand's
    uint32_t flitBytes{0};
};

/**
 * \ingroup rdma
 * The subnet manager at work: LIDs, tables of the switches, path records of the NICs.
 */
class IbSubnetHelper : public RdmaPathSource
{
  public:
    /// Finds the subnet and its routes. \return what is wrong, or nothing
    /// \param linkRates of fabric.links, bit/s
    std::string Route(const IbFabricConfig& config,
                      rdma::IbFabric fabric,
                      std::vector<uint64_t> linkRates);

    /// The tables of a switch. \param node its number in the fabric
    void Configure(uint32_t node,
                   IbSwitch& device,
                   const std::function<bool(uint16_t port)>& isDead) const;

    /**
     * A cable has failed, or works again: LIDs stay, ways change. Packets that are on their way
     * find the new tables at the next switch. \return what is wrong, or nothing
     */
    std::string SetLinkDown(uint32_t link, bool down);
    /// The same of all: by link. A sweep of the subnet manager.
    std::string SetLinksDown(std::vector<bool> down);

    /// Writes DIR/opensm-lfts.dump and DIR/opensm-sl2vl.dump. \return what is wrong, or nothing
    std::string Dump(const std::string& folder) const;

    /// \return what a user should know of the tables: which engine could not route, a cycle in
    /// which their packets can come to rest ("warning: ")
    std::vector<std::string> GetNotes() const;

    const rdma::IbSubnet& GetSubnet() const
    {
        return m_subnet;
    }

    /// \return what is cabled, and which cables have failed
    const rdma::IbFabric& GetCabling() const
    {
        return m_fabric;
    }

    const rdma::IbTables& GetTables() const
    {
        return m_tables;
    }

    const IbFabricConfig& GetConfig() const
    {
        return m_config;
    }

    /// \return port of the node towards an endpoint's LID, or IbSwitch::NO_PORT \param entropy
    /// picks one of several LIDs (GetPath); 0: the first
    uint16_t GetNextPort(uint32_t node, uint32_t endpoint, uint32_t entropy = 0) const;

    Path GetPath(uint32_t from, uint32_t to, uint8_t serviceLevel, uint32_t entropy) const override;

  private:
    /// \return how much longer than shortest paths its own are, and what ends it; empty: they are
    /// not
    std::string LongerPathsNote() const;

    /// \return of the LIDs that an endpoint has, the one that a flow with this entropy uses
    uint32_t LidOf(const rdma::IbSubnet::Endpoint& endpoint, uint32_t entropy) const
    {
        return endpoint.lid + (entropy & ((1U << m_config.lmc) - 1));
    }

    std::string Sweep(const rdma::IbSubnet* previous);
    /// Tables of m_config.forwardingFile; throws std::runtime_error
    rdma::IbTables ReadTables(const rdma::IbSubnet& subnet) const;

    /// \return rate that static rate control gives a path; 0: that of the port
    uint64_t GetStaticRate(uint32_t from, uint32_t lid) const;

    IbFabricConfig m_config;
    rdma::IbFabric m_fabric;
    std::vector<uint64_t> m_linkRates;
    rdma::IbSubnet m_subnet;
    rdma::IbTables m_tables;
};

/// \ingroup rdma
/// \return what all ports of a link of this rate have. \param [out] error what is wrong, or nothing
IbPortConfig MakeIbPortConfig(const IbFabricConfig& config,
                              uint64_t rateBps,
                              uint32_t mtu,
                              std::string& error);

} // namespace ns3

#endif /* IB_SUBNET_HELPER_H */
