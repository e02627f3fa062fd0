/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_SWITCH_BASE_H
#define RDMA_SWITCH_BASE_H

#include "contrib/rdma/core/range-table.h"
#include "contrib/rdma/core/source-routes.h"
#include "rdma-load-balancer.h"

#include "ns3/object.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rdma-port.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/// \ingroup rdma
/// What switches that trim have done (RdmaSwitch).
struct RdmaTrimCounters
{
    uint64_t trimmed{0};      //!< packets whose payload has been cut off
    uint64_t trimmedBytes{0}; //!< their payload
    uint64_t returned{0};     //!< dropped frames that were sent back to their sender
};

/**
 * \ingroup rdma
 * What Ethernet's and InfiniBand's switches have in common: ports, a name, the ways out, a load
 * balancer that chooses among them, counters, and what can be traced.
 *
 * Set-up: SetName; AddPort for all ports; AssignStreams; SetRoutes, which may be called again
 * later, when frames that are queued stay where they are; Start.
 */
class RdmaSwitchBase : public Object, public RdmaPortUser
{
  public:
    static TypeId GetTypeId();

    enum DropReason : uint8_t
    {
        NO_ROUTE,
        POOL_FULL,
        THRESHOLD,
        HEADROOM_FULL,
        PFC_WATCHDOG,
        LINK_DOWN,         //!< queued for a link that went down
        HEADER_QUEUE_FULL, //!< of a switch that trims
        DEAD_NEXT_HOP,     //!< its ways are known as dead, and there are no new ones so far
        DROP_REASONS
    };

    static constexpr uint16_t NO_PORT = RdmaLoadBalancer::NO_PORT;
    static constexpr uint16_t DEAD_PORT = 0xfffe; //!< a way, but known as dead
    static constexpr uint16_t NO_SET = 0xffff;    //!< no way there: rdma::EcmpRoutes::kNoGroup

    /// \return the reason's name in stats.json
    static const char* GetDropReasonName(DropReason reason);

    RdmaSwitchBase();
    ~RdmaSwitchBase() override;

    void SetName(std::string name);
    /// \param ofUnit it leads to a part of the switch itself: RdmaSwitch has as much more buffer as
    /// it sets aside for that, so nothing changes for others \return the port's index
    uint16_t AddPort(Ptr<RdmaPort> port, bool ofUnit = false);
    /// \return how many streams AssignStreams takes, which depends on attributes only
    int64_t CountStreams() const;
    void AssignStreams(int64_t stream);
    /// Random draws begin anew, as at the beginning; what hashes take as their seed stays. \pre
    /// AssignStreams
    virtual void RestartDraws();
    /// \param setOf by what frames are forwarded (an endpoint, or a LID): number of the set of
    /// ports on a shortest way, or NO_SET \param sets the ports of each; empty: all are known as
    /// dead
    void SetRoutes(std::vector<uint16_t> setOf, const std::vector<std::vector<uint16_t>>& sets);
    /// \param ports along which frames for everybody go on, but for where they come from: the links
    /// of a tree of all switches, and hosts'. Until then such frames have no route
    void SetBroadcastPorts(std::vector<uint16_t> ports);
    /// Takes the attributes and ports as they are now. \param largestFrameBytes that buffers must
    /// be prepared for \return what is wrong, or nothing
    virtual std::string Start(uint32_t largestFrameBytes) = 0;

    /// \return from a frame's arrival until it is queued or may leave, ps: its last bit's, or the
    /// first one's if IsCutThrough
    virtual int64_t GetLatencyPs() const = 0;

    virtual bool IsCutThrough() const
    {
        return false;
    }

    /// \return bytes of a frame that a switch which cuts through waits for, beside its latency.
    /// \param lineOverhead as RdmaPort::GetLineOverhead, of its ports
    virtual uint32_t GetCutThroughBytes(uint32_t /* lineOverhead */) const
    {
        return 0;
    }

    const std::string& GetName() const
    {
        return m_name;
    }

    uint32_t GetNPorts() const
    {
        return static_cast<uint32_t>(m_ports.size());
    }

    Ptr<RdmaPort> GetPort(uint16_t index) const
    {
        return m_ports[index];
    }

    /// \return null: the forwarding table alone decides
    Ptr<RdmaLoadBalancer> GetLoadBalancer() const
    {
        return m_balancer;
    }

    uint64_t GetReceived() const
    {
        return m_received;
    }

    uint64_t GetForwarded() const
    {
        return m_forwarded;
    }

    uint64_t GetDrops(DropReason reason) const
    {
        return m_drops[reason];
    }

    /// Where it stands: for load balancers that need it (RdmaLoadBalancer::OnPlace).
    void SetPlace(RdmaPlace place);

    /// \return frames that the load balancer sent another way than the forwarding table says
    uint64_t GetRerouted() const
    {
        return m_rerouted;
    }

    /// \return most that a buffer which all ports share held, bytes; 0: it has none
    virtual uint64_t GetSharedBufferPeak() const
    {
        return 0;
    }

    /// \return RdmaPort::Shaper of those of its ports that have none of their own
    virtual std::string GetShaper() const
    {
        return {};
    }

    /// \return whether it cuts payload off
    virtual bool Trims() const
    {
        return false;
    }

    /// \return packets whose payload has been cut off
    virtual uint64_t GetTrimmed() const
    {
        return 0;
    }

    /// \return their payload
    virtual uint64_t GetTrimmedBytes() const
    {
        return 0;
    }

    /// \return trimmed packets that have been sent back to where they came from
    virtual uint64_t GetReturned() const
    {
        return 0;
    }

    /// A frame that the load balancer has taken, for a host of this switch, waits in the buffer.
    /// \return whether it does: else there was no room for it, and it is gone. Ethernet only
    virtual bool Store(RdmaFrame* frame, uint16_t inPort, int64_t now);
    /// Such a frame goes on.
    virtual void Resume(RdmaFrame* frame, int64_t now);
    /// A frame that the load balancer has taken goes on, as if it had come in now. Ethernet only
    virtual void PutBack(RdmaFrame* frame, uint16_t inPort, int64_t now);

    /// Paths that senders name, over this switch; their frames do not ask the load balancer. Where
    /// the link of a path is dead, its frames are dropped (DEAD_NEXT_HOP). Ethernet that stores
    /// frames. \param paths null: none
    void SetSourceRoutes(std::unique_ptr<const rdma::SourceRoutes> paths);
    /// The same of a frame that the load balancer has made.
    void Originate(RdmaFrame* frame, uint16_t inPort, int64_t now);
    /// A frame that the load balancer has taken ends here.
    void Consume(RdmaFrame* frame);

    /// A port has another rate from now on.
    virtual void OnRateChange(uint16_t port);

    // RdmaPortUser: a switch forwards, and makes nothing
    RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) final;
    void Prefetch(const NodeWindowBin& arrivals, uint32_t depth) const override;

    /// (switch, egress port or null, frame, reason, ps)
    typedef void (*DropTracedCallback)(const RdmaSwitchBase* device,
                                       const RdmaPort* port,
                                       const RdmaFrame* frame,
                                       DropReason reason,
                                       int64_t now);
    /// (egress port, frame, bytes in its queue, ps)
    typedef void (*MarkTracedCallback)(const RdmaPort* port,
                                       const RdmaFrame* frame,
                                       uint64_t queueBytes,
                                       int64_t now);

    using Candidates = RdmaLoadBalancer::Candidates;

    /// \return the ways of a frame; of size 0 if there is none
    Candidates FindCandidates(uint32_t destination) const
    {
        const uint16_t set = destination < m_setOf.Size() ? m_setOf[destination] : NO_SET;
        if (set == NO_SET)
        {
            return {nullptr, 0, NO_SET, NO_PORT};
        }
        return {&m_portsOfSets[m_sets[set].first], m_sets[set].size, set, NO_PORT};
    }

  protected:
    void DoDispose() override;

    /// The attribute LoadBalancer, which a switch has by its own default. \param name "": none
    void SetLoadBalancer(std::string name);
    std::string GetLoadBalancerName() const;
    /// \param needed whether there must be one \return what is wrong with that attribute, or
    /// nothing
    std::string CheckLoadBalancer(bool needed) const;

    bool HasLoadBalancer() const
    {
        return PeekPointer(m_balancer) != nullptr;
    }

    /// \return by what the ways of a frame are found: where it goes to, or where its detour leads
    uint32_t TargetOf(RdmaFrame& frame, int64_t now)
    {
        return __builtin_expect(m_hears & DETOURS, 0)
                   ? m_balancer->GetTarget(frame, RdmaWays(*this), m_queues, rdma::TimePoint(now))
                   : frame.dst;
    }

    /// \pre there is a load balancer, and a candidate
    uint16_t Choose(const Candidates& candidates, const RdmaFrame& frame, int64_t now)
    {
        return m_balancer->Choose(candidates, frame, m_queues, rdma::TimePoint(now));
    }

    /// A frame came in by a port. \return whether the load balancer has taken it
    bool CountReceived(const RdmaPort& port, RdmaFrame& frame, int64_t now)
    {
        ++m_received;
        return m_hears && TellArrival(port, frame, now);
    }

    /// The frame that was counted as received last is none after all.
    void UncountReceived()
    {
        --m_received;
    }

    /// A frame with an attachment leaves by a port.
    void TellLeaving(const RdmaPort& port, RdmaFrame& frame, int64_t now)
    {
        if (m_hears & FRAMES)
        {
            m_balancer->OnLeaving(frame, port, rdma::TimePoint(now));
        }
    }

    /// Marks a frame that leaves or joins the queue of a port.
    void Mark(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now);
    /// A frame for everybody has come: \return copies of it, which it is one of, and where they go.
    /// It is gone if there are none: dropped, NO_ROUTE
    std::vector<std::pair<uint16_t, RdmaFrame*>> Multiply(const RdmaPort& port,
                                                          RdmaFrame* frame,
                                                          int64_t now);
    /// Counts, tells and frees. \param port egress, or null
    void Drop(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now);

    // hot
    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<bool> m_isOfUnit; //!< by port
    uint64_t m_forwarded{0};
    uint64_t m_rerouted{0};
    Ptr<UniformRandomVariable> m_random;
    int64_t m_stream{0}; //!< of m_random; the balancer's are behind it

  private:
    struct Set
    {
        uint32_t first;
        uint32_t size;
    };

    /// Bits of m_hears.
    static constexpr uint8_t FEEDBACK = 1;
    static constexpr uint8_t FRAMES = 2;
    static constexpr uint8_t DETOURS = 4;
    static constexpr uint8_t TAKES = 8;
    static constexpr uint8_t PATHS = 16; //!< not the load balancer: m_paths

    static bool IsFeedback(RdmaOpcode opcode)
    {
        return opcode == RdmaOpcode::ACKNOWLEDGE || opcode == RdmaOpcode::CNP;
    }

    /// A frame's sender has named its way from here.
    virtual void SendAlong(uint16_t way, const RdmaPort& in, RdmaFrame* frame, int64_t now);

    /// \pre m_hears \return whether the frame has gone on, or the load balancer has taken it
    bool TellArrival(const RdmaPort& port, RdmaFrame& frame, int64_t now);

    rdma::RangeTable m_setOf;
    std::vector<Set> m_sets;
    std::vector<uint16_t> m_portsOfSets;
    Ptr<RdmaLoadBalancer> m_balancer;
    RdmaQueues m_queues{m_ports};
    uint8_t m_hears{0};                                //!< what the load balancer is told besides
    std::unique_ptr<const rdma::SourceRoutes> m_paths; //!< null: none is over this switch
    uint64_t m_received{0};
    std::array<uint64_t, DROP_REASONS> m_drops{};

    std::vector<uint16_t> m_broadcastPorts;
    std::string m_unknown; //!< name of a load balancer that there is not
    std::string m_name;

    TracedCallback<const RdmaSwitchBase*, const RdmaPort*, const RdmaFrame*, DropReason, int64_t>
        m_dropTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, uint64_t, int64_t> m_markTrace;
};

} // namespace ns3

#endif /* RDMA_SWITCH_BASE_H */
