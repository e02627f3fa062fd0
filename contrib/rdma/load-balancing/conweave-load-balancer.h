/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONWEAVE_LOAD_BALANCER_H
#define CONWEAVE_LOAD_BALANCER_H

#include "contrib/rdma/core/conweave-flow.h"
#include "ecmp-load-balancer.h"

#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rdma-event.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * ConWeave (Song et al., SIGCOMM 2023; rdma::ConweaveSender has what was opened): the first switch
 * moves a flow to another path when an answer to one of its packets is late, and the last switch
 * holds what overtakes, so that a host sees its packets in order.
 *
 * A path is a port of the first switch: two leaves with one other switch between them do so, others
 * use ECMP, as with CongaLoadBalancer. Of two ports by chance the first one is taken that no NOTIFY
 * names, of packets that came marked (CE); if both are named a flow stays where it is. Data packets
 * of RDMA bear a tag (RdmaFrameTag), whose bytes are not counted; REPLY, CLEAR and NOTIFY are
 * frames of 70 B that switches send to each other (RdmaOpcode::SWITCH_REPORT).
 *
 * Held packets are in the shared buffer. A base round trip is twice two links like the first
 * switch's own, and four pipelines.
 *
 * Differences: in the authors' simulator held packets join the buffer when they go on; it keeps
 * epochs in 32 bits, the paper's switches in fewer; its paths are of all hops, for three tiers too.
 */
class RdmaConweaveLoadBalancer : public RdmaEcmpLoadBalancer
{
  public:
    static TypeId GetTypeId();
    RdmaConweaveLoadBalancer();
    ~RdmaConweaveLoadBalancer() override;

    std::string GetName() const override
    {
        return "conweave";
    }

    bool KeepsFlows() const override
    {
        return false;
    }

    bool TakesFrames() const override
    {
        return true;
    }

    bool Take(RdmaFrame* frame, uint16_t inPort, rdma::TimePoint now) override;
    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override;
    void OnRoutes(uint32_t sets) override;
    void OnPlace(RdmaPlace place) override;
    int64_t AssignStreams(int64_t stream) override;

    uint64_t GetPathChanges() const override
    {
        return m_pathChanges;
    }

    /// \return packets that have been held
    uint64_t GetHeld() const
    {
        return m_held;
    }

    /// \return flows of which packets have been held at once, at most
    uint32_t GetMostHolding() const
    {
        return m_mostHolding;
    }

  private:
    static constexpr int64_t NEVER = INT64_MAX;

    /// A flow that begins here.
    struct Sender
    {
        rdma::ConweaveSender law;
        uint16_t port{NO_PORT};
    };

    /// A flow that ends here.
    struct Receiver
    {
        rdma::ConweaveReceiver law;
        RdmaFrameList held;
        int64_t due{NEVER}; //!< what is held goes on
    };

    /// \return what a flow is found by: 64 mixed bits of its ends
    static uint64_t KeyOf(uint32_t src, uint32_t dst, uint32_t destQp);
    uint32_t EdgeOf(uint32_t endpoint) const;
    /// A data packet leaves towards a near edge.
    void Send(RdmaFrame& frame, uint32_t to, int64_t now);
    /// \return one of the ports; NO_PORT: both that chance named are to be avoided
    uint16_t PickPort(const Candidates& candidates, uint32_t to, int64_t now);
    int64_t GetBaseRtt(uint16_t port, uint32_t wireBytes) const;
    int64_t& BusyUntil(uint32_t to, uint16_t port);
    /// A data packet with a tag has come to its last switch. \return as Take
    bool Receive(RdmaFrame* frame, uint16_t inPort, int64_t now);
    /// Another switch's report, which ends here.
    void Hear(RdmaFrame* frame, int64_t now);
    /// The first switch of a packet is told something.
    void Report(rdma::ConweaveKind kind,
                const RdmaFrame& data,
                const RdmaFrameTag& tag,
                uint16_t inPort,
                int64_t now);
    void Flush(Receiver& receiver, int64_t now);
    void Arm(int64_t at);
    void OnTimer();

    Time m_reply;
    Time m_pause;
    Time m_flush;
    Time m_hold;
    Time m_idle;
    uint8_t m_priority;
    rdma::ConweaveParameters m_parameters;
    Ptr<UniformRandomVariable> m_random;
    std::shared_ptr<const RdmaEdges> m_edges;
    uint32_t m_own{RdmaEdges::NONE};
    std::vector<bool> m_near;
    std::unordered_map<uint64_t, Sender> m_senders;
    std::unordered_map<uint64_t, Receiver> m_receivers; //!< they stay where they are
    std::vector<Receiver*> m_holding;                   //!< in the order in which they began to
    std::vector<std::vector<int64_t>> m_busyUntil;      //!< by edge, then port
    int64_t m_timerAt{NEVER};
    RdmaTimer<RdmaConweaveLoadBalancer, &RdmaConweaveLoadBalancer::OnTimer> m_timer;
    uint64_t m_pathChanges{0};
    uint64_t m_held{0};
    uint32_t m_mostHolding{0};
};

} // namespace ns3

#endif /* CONWEAVE_LOAD_BALANCER_H */
