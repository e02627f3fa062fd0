/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LINK_LAYER_H
#define RDMA_LINK_LAYER_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "contrib/rdma/core/link-words.h"
#include "contrib/rdma/core/units.h"

#include "ns3/object-factory.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-switch-base.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ns3
{

class RdmaCaptureEncoder;
class RdmaFabric;

/**
 * \ingroup rdma
 * What makes the links of a fabric Ethernet's or InfiniBand's. One of these a fabric: it says what
 * its switches and frames are, sets them up, gives them other ways when a link fails, encodes
 * frames for captures, and names things. Whoever looks at a fabric asks it, not what kind it is.
 *
 * A third kind is another class, and what its switches and ports are.
 */
class RdmaLinkLayer
{
  public:
    virtual ~RdmaLinkLayer() = default;

    virtual const rdma::LinkWords& GetWords() const = 0;

    // Building: RdmaFabricHelper calls these, in this order --------------------------------------

    /// \return the class of the switches, a kind of RdmaSwitchBase
    virtual TypeId GetSwitchType() const = 0;
    /// Sizes of frames, unless those of NICs and ports are right.
    virtual void SetFrameSizes(ObjectFactory& nic, ObjectFactory& port) const;
    /// Switches mark as the congestion control wants it, unless the user has said how. \param given
    /// attributes that were set in the factory
    virtual void SetEcn(const RdmaCongestionOps& ops,
                        const std::set<std::string>& given,
                        ObjectFactory& device) const;

    /// From which queue on switches mark; 0: they do not.
    struct Marking
    {
        rdma::Bytes queue;
        rdma::BitRate at; //!< rate of the port that has this threshold; 0: each port has it
    };

    virtual Marking GetMarking(const RdmaSwitchBase& device) const = 0;

    /**
     * Nodes, ports, links, NICs and shortest routes are there: give the NICs and switches what they
     * need, and start them. \param stream first of the random streams \return what is wrong, or
     * nothing
     */
    virtual std::string Start(RdmaFabric& fabric, int64_t stream) = 0;

    // Once it is there ---------------------------------------------------------------------------

    /// \return port of a switch towards an endpoint, the first if there are several, or NO_PORT
    virtual uint16_t GetNextPort(const RdmaFabric& fabric,
                                 uint32_t node,
                                 uint32_t endpoint) const = 0;

    /// \return the port of a switch that a flow leaves by, as the forwarding tables have it and,
    /// of several equal ports, the hash of an ECMP switch; or NO_PORT \param flowHash
    /// rdma::FlowHash of its 5-tuple
    virtual uint16_t GetPortOfFlow(const RdmaFabric& fabric,
                                   uint32_t node,
                                   uint32_t endpoint,
                                   uint32_t flowHash) const = 0;

    /// A link fails or works again, now; the fabric knows and has other shortest routes. \return
    /// what is wrong, and nothing has changed; or nothing
    virtual std::string SetLinkDown(RdmaFabric& fabric, uint32_t link, bool down) = 0;

    /// The fabric knows other links as down, for which it has other shortest routes: the ways
    /// follow, now. What is queued or on a link is not touched. \return as SetLinkDown
    virtual std::string Reroute(RdmaFabric& fabric) = 0;

    /// A switch's ways as they are, without the ports that the fabric knows as dead.
    virtual void Configure(RdmaFabric& fabric, uint32_t node) = 0;

    /// \return whether buffers are never full, as credits say what they have room for; else PFC
    /// holds frames back
    virtual bool HasCredits() const = 0;

    /// \return what a frame that has no way asks for, in words
    virtual std::string DescribeDestination(const RdmaFabric& fabric,
                                            const RdmaFrame& frame) const = 0;

    /// \return what a user should know of the routes, each behind "note: " or, where something can
    /// go wrong, "warning: "
    virtual std::vector<std::string> GetNotes() const;

    virtual std::unique_ptr<RdmaCaptureEncoder> MakeCaptureEncoder(
        const RdmaFabric& fabric) const = 0;

  protected:
    /// Random streams of all switches of the fabric, from this one on. Each takes as many as the
    /// neediest, so that other attributes of one do not change the draws of the others.
    static void AssignStreams(const RdmaFabric& fabric, int64_t stream);
};

} // namespace ns3

#endif /* RDMA_LINK_LAYER_H */
