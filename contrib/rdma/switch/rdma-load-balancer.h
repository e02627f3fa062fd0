/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LOAD_BALANCER_H
#define RDMA_LOAD_BALANCER_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "contrib/rdma/core/units.h"
#include "contrib/rdma/core/wcmp-weights.h"

#include "ns3/object.h"
#include "ns3/rdma-port.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * The egress queues of a switch, as its load balancer may see them. Ports by their index.
 */
class RdmaQueues
{
  public:
    /// \param ports of the switch, which outlives this
    explicit RdmaQueues(const std::vector<Ptr<RdmaPort>>& ports)
        : m_ports(ports)
    {
    }

    /// \return bytes that wait to leave by a port, all priorities or VLs
    uint64_t GetBytes(uint16_t port) const
    {
        return m_ports[port]->GetQueuedBytes();
    }

    /// \return bytes of one priority or VL
    uint64_t GetBytes(uint16_t port, uint8_t priority) const
    {
        return m_ports[port]->GetQueueBytes(priority);
    }

    /// \return whether PFC or missing credits hold a priority or VL back
    bool IsHeld(uint16_t port, uint8_t priority) const
    {
        return m_ports[port]->GetPausedMask() >> priority & 1;
    }

    /// \return bit/s
    uint64_t GetRate(uint16_t port) const
    {
        return m_ports[port]->GetRate();
    }

  private:
    const std::vector<Ptr<RdmaPort>>& m_ports;
};

/**
 * \ingroup rdma
 * The edge of a fabric: the switches that hosts hang on.
 */
struct RdmaEdges
{
    static constexpr uint32_t NONE = UINT32_MAX;

    /// By endpoint: number of its switch among these; NONE: it hangs on none.
    std::vector<uint32_t> edgeOf;
    uint32_t edges{0};
    /// By edge: one of its endpoints.
    std::vector<uint32_t> endpointOf;
    /// By edge: its group (RdmaNodeSpec::group), numbered anew; edges of no group are one each.
    std::vector<uint32_t> groupOf;
    /// The edges of each group.
    std::vector<std::vector<uint32_t>> edgesOfGroup;
    /// How far endpoints are from each other, now.
    const rdma::EcmpRoutes* routes{nullptr};
};

/**
 * \ingroup rdma
 * Where a switch stands.
 */
struct RdmaPlace
{
    std::shared_ptr<const RdmaEdges> edges;
    uint32_t own{RdmaEdges::NONE};   //!< its number among the edges; NONE: no host hangs on it
    uint32_t group{RdmaEdges::NONE}; //!< as RdmaEdges::groupOf, of any switch; NONE: of no edge's
    std::vector<bool> near;          //!< by edge: whether one other switch stands between
};

class RdmaSwitchBase;
class RdmaWays;

/**
 * \ingroup rdma
 * By which of several ports a switch sends a frame: one of these a switch, Ethernet's or
 * InfiniBand's, chosen by name (attribute LoadBalancer).
 *
 * A class is found by its TypeId: derive it, give it a name, register it, and it is known.
 *
 * What it may keep and use:
 *
 *     state of flows      in its own members, by what is in the frame: endpoints, queue pair, and
 *                         RdmaRoute::GetKey
 *     random numbers      a stream of its own (AssignStreams), so that runs repeat; a seed of its
 *                         own, which differs from switch to switch (GetSeed)
 *     timers              RdmaTimer, in the context of the switch's node (GetNode). Nothing that
 *                         sets itself again and again: a simulation would not end
 *     feedback            what comes back through this switch (NeedsFeedback, OnFeedback): ACKs
 *                         and NAKs, with RdmaFrame::ECN_ECHO, and CNPs
 *     a tag               that frames carry from switch to switch (NeedsFrames,
 * RdmaFrameExtra::tag; Ethernet only)
 *
 *     capacities          of the ways beyond its ports, as routing protocols tell them
 *                         (NeedsCapacity, OnCapacity; Ethernet only)
 *
 * It sees nothing else of other switches or hosts but what frames carry.
 */
class RdmaLoadBalancer : public Object
{
  public:
    static constexpr uint16_t NO_PORT = 0xffff;

    /// The ports that a frame may leave by: those on a shortest way, of links that work.
    struct Candidates
    {
        const uint16_t* ports; //!< ascending
        uint32_t size;         //!< 1 or more
        uint16_t set;          //!< number of this set at the switch, below that of OnRoutes
        /// InfiniBand: what the forwarding table names, which may be none of `ports`; else NO_PORT
        uint16_t table;

        const uint16_t* begin() const
        {
            return ports;
        }

        const uint16_t* end() const
        {
            return ports + size;
        }
    };

    static TypeId GetTypeId();
    ~RdmaLoadBalancer() override;

    /// \return what it is called in the attribute LoadBalancer
    virtual std::string GetName() const = 0;

    /**
     * A frame came in. Called of each that has a choice; Ethernet does not ask if there is but one
     * port. \return one of the candidates' ports, or the table's
     */
    virtual uint16_t Choose(const Candidates& candidates,
                            const RdmaFrame& frame,
                            const RdmaQueues& queues,
                            rdma::TimePoint now) = 0;

    /// The switch has ways now, or others, as a link failed or works again. \param sets how many
    /// different sets of ports there are
    virtual void OnRoutes(uint32_t sets);

    /// \return whether a flow keeps its way as long as there are no others, and so its packets
    /// their order
    virtual bool KeepsFlows() const;

    /// \return whether OnFeedback is to be called; asked once
    virtual bool NeedsFeedback() const;

    /// \return whether OnPlace, OnArrival and OnLeaving are to be called; asked once. Ethernet only
    virtual bool NeedsFrames() const;

    /// \return whether Take is to be called (and OnPlace); asked once. Ethernet only
    virtual bool TakesFrames() const;

    /// A frame came in; ways are looked up next. \return whether it is this one's from now on:
    /// RdmaSwitchBase::PutBack lets it go on, Consume ends it
    virtual bool Take(RdmaFrame* frame, uint16_t inPort, rdma::TimePoint now);

    /// \return how often it has moved a flow to another way by its own decision
    virtual uint64_t GetPathChanges() const;

    /// \return whether OnCapacity is to be called (and OnPlace); asked once. Ethernet only
    virtual bool NeedsCapacity() const;

    /// What ways lead to, behind each OnRoutes. \param ways by edge (RdmaEdges): those of the
    /// switch that work, ports ascending
    virtual void OnCapacity(const std::vector<std::vector<rdma::PathCapacity::Way>>& ways);

    /// Where the switch stands, before the first frame.
    virtual void OnPlace(RdmaPlace place);

    /// A frame came in by a port; a way is chosen next.
    virtual void OnArrival(RdmaFrame& frame, uint16_t inPort, rdma::TimePoint now);

    /// A frame that has an attachment (RdmaFrame::extra) starts to be sent.
    virtual void OnLeaving(RdmaFrame& frame, const RdmaPort& port, rdma::TimePoint now);

    /// An ACK, NAK or CNP came in, which is forwarded as any frame. \param inPort by which, so that
    /// the data it answers may go there.
    virtual void OnFeedback(const RdmaFrame& frame, uint16_t inPort, rdma::TimePoint now);

    /// \return how many streams it takes; the same for all switches
    virtual int64_t AssignStreams(int64_t stream);

    /// \return whether GetTarget is to be called (and OnPlace); asked once. Ethernet only
    virtual bool MakesDetours() const;

    /**
     * A frame came in; ways are looked up next. \param frame whose tag is this balancer's own
     * \return the endpoint that the frame goes towards from here, on a shortest way:
     * where it is addressed to, or another one for the time being. Choose is asked next, unless
     * there is but one port
     */
    virtual uint32_t GetTarget(RdmaFrame& frame,
                               const RdmaWays& ways,
                               const RdmaQueues& queues,
                               rdma::TimePoint now);

    /// Its switch: once, before the first frame. \param drawn from the switch's own stream \param
    /// device null: a test's, which has none
    void Attach(uint32_t node, uint32_t drawn, RdmaSwitchBase* device = nullptr)
    {
        m_node = node;
        m_seed = ChooseSeed(drawn);
        m_device = device;
    }

    /// \return index of the port by which a flow goes as long as queues have no say
    virtual uint32_t PickOfFlow(uint32_t flowHash, const uint16_t* ports, uint32_t n) const;

    /// \return what sets it apart from those of other switches
    uint32_t GetSeed() const
    {
        return m_seed;
    }

    /// \return (name, name of the TypeId) of all there are, sorted
    static const std::vector<std::pair<std::string, std::string>>& GetNames();

    /// \param name short, or of the TypeId. \return null if there is none
    static Ptr<RdmaLoadBalancer> Make(const std::string& name);

  protected:
    /// \return what GetSeed returns
    virtual uint32_t ChooseSeed(uint32_t drawn) const
    {
        return drawn;
    }

    /// \return the context of its events
    uint32_t GetNode() const
    {
        return m_node;
    }

    /// \return the switch, which outlives it
    RdmaSwitchBase* GetSwitch() const
    {
        return m_device;
    }

  private:
    uint32_t m_node{0};
    uint32_t m_seed{0};
    RdmaSwitchBase* m_device{nullptr};
};

/**
 * \ingroup rdma
 * The ways of a switch, as a load balancer that makes detours may see them.
 */
class RdmaWays
{
  public:
    /// \param device which outlives this
    explicit RdmaWays(const RdmaSwitchBase& device)
        : m_device(device)
    {
    }

    /// \return the ports towards an endpoint; of size 0 if there is none
    RdmaLoadBalancer::Candidates Find(uint32_t endpoint) const;

  private:
    const RdmaSwitchBase& m_device;
};

} // namespace ns3

#endif /* RDMA_LOAD_BALANCER_H */
