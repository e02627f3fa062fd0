/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_SWITCH_H
#define RDMA_SWITCH_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "contrib/rdma/core/ecn-law.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "pfc-watchdog.h"
#include "rdma-port.h"

#include "ns3/object.h"
#include "ns3/random-variable-stream.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * An output-queued, store-and-forward Ethernet switch with a shared buffer, PFC, ECN and ECMP.
 *
 * A frame comes in whole, spends the pipeline latency, is admitted to the shared buffer (or
 * dropped, for one of the reasons in DropReason), queued at its egress port, and leaves.
 * Conservation, asserted in tests, per switch: frames received = forwarded + dropped (by reason) +
 * queued; bytes in the buffer = bytes in the egress queues.
 *
 * Sizes that depend on speed are given for a port of 100 Gb/s and scaled with each port's rate
 * (FIELD: no thresholds to be listed by hand for every link speed).
 */
class RdmaSwitch : public Object, public RdmaPortUser
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
        LINK_DOWN, //!< queued for a link that went down
        DROP_REASONS
    };

    /// \return the reason's name in stats.json
    static const char* GetDropReasonName(DropReason reason);

    RdmaSwitch();
    ~RdmaSwitch() override;

    // Set-up: AddPort for all ports, then SetRoutes, then Start.

    void SetName(std::string name);
    /// \return the port's index
    uint16_t AddPort(Ptr<RdmaPort> port);
    /// May be called again later: frames that are queued stay where they are.
    /// \param groupOfEndpoint for each endpoint the group, or rdma::EcmpRoutes::kNoGroup
    /// \param groups for each group its ports; not empty
    void SetRoutes(std::vector<uint16_t> groupOfEndpoint,
                   std::vector<std::vector<uint16_t>> groups);
    /// \return what is wrong with the attributes of ECN taken together, as Start() does; or nothing
    std::string CheckEcn() const;

    /// Most that EcnKmin and EcnKmax take, per 100 Gb/s (bytes).
    static constexpr uint64_t MAX_THRESHOLD = 1000000000000;

    /// Sizes the buffer and thresholds from the attributes and the ports. \return an error, or
    /// nothing
    std::string Start(uint32_t largestFrameBytes);
    int64_t AssignStreams(int64_t stream);

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

    const rdma::SharedBuffer& GetBuffer() const
    {
        return m_buffer;
    }

    uint64_t GetDrops(DropReason reason) const
    {
        return m_drops[reason];
    }

    uint64_t GetForwarded() const
    {
        return m_forwarded;
    }

    uint64_t GetReceived() const
    {
        return m_received;
    }

    /// \return pause storms found by the PFC watchdog
    uint64_t GetPfcStorms() const
    {
        return m_watchdog ? m_watchdog->GetStorms() : 0;
    }

    // RdmaPortUser
    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
    RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) override;
    void OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now) override;
    uint8_t GetPausing(const RdmaPort* port) const override;

    /// (switch, egress port or null, frame, reason, ps)
    typedef void (*DropTracedCallback)(const RdmaSwitch* device,
                                       const RdmaPort* port,
                                       const RdmaFrame* frame,
                                       DropReason reason,
                                       int64_t now);
    /// (egress port, frame, bytes in its queue, ps)
    typedef void (*MarkTracedCallback)(const RdmaPort* port,
                                       const RdmaFrame* frame,
                                       uint64_t queueBytes,
                                       int64_t now);
    /// (ingress port that asks its peer, priority, pause or resume, bytes stored of it, ps)
    typedef void (*PfcTracedCallback)(const RdmaPort* port,
                                      uint8_t priority,
                                      bool pause,
                                      uint64_t stored,
                                      int64_t now);

    /// (egress port, priority, a pause storm begins or ends, ps)
    typedef void (*StormTracedCallback)(const RdmaPort* port,
                                        uint8_t priority,
                                        bool begins,
                                        int64_t now);

  protected:
    void DoDispose() override;

  private:
    struct Group
    {
        uint32_t first;
        uint32_t size;
    };

    /// What the attributes say of ECN, for a port of this rate.
    rdma::EcnLaw MakeEcnLaw(rdma::BitRate rate) const;

    /// \param length bytes in the queue, or ps in it
    bool Marks(uint32_t port, uint64_t length)
    {
        return m_ecnLaws[port].Marks(length, [this] { return m_random->GetValue(); });
    }

    /// \return what the buffer counts of a frame. Not the port's own, which would be one more cache
    /// line.
    uint32_t FrameBytes(const RdmaFrame* frame) const
    {
        return frame->wireBytes - m_lineOverhead;
    }

    /// What the attributes say of the buffer, sizes of ports aside. \return an error, or nothing
    std::string ConfigureBuffer(rdma::SharedBufferConfig& config) const;
    void Drop(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now);
    void Pause(RdmaPort* port, uint8_t priority, bool pause, int64_t now);
    /// A queued frame is given up.
    void DropQueued(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now);
    void ScheduleRefresh(int64_t now);
    void OnRefresh();

    // hot
    std::vector<uint16_t> m_groupOfEndpoint;
    std::vector<Group> m_groups;
    std::vector<uint16_t> m_groupPorts;
    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<rdma::EcnLaw> m_ecnLaws; //!< of each port, by bytes or by time
    rdma::SharedBuffer m_buffer;
    uint32_t m_hashSeed{0};
    bool m_ecn;
    bool m_markOnEnqueue;
    bool m_markBySojourn;
    uint32_t m_lineOverhead{0}; //!< of its ports
    uint32_t m_markWithout{0};  //!< mask: these bytes of a frame are not of the queue it leaves
    std::unique_ptr<PfcWatchdog> m_watchdog; //!< null: off
    uint64_t m_received{0};
    uint64_t m_forwarded{0};
    std::array<uint64_t, DROP_REASONS> m_drops{};

    // attributes
    Time m_pipelineLatency;
    uint64_t m_bufferPer100G;
    uint64_t m_bufferBytes;
    std::string m_chip;
    std::string m_policy;
    bool m_pfc;
    uint8_t m_losslessMask;
    double m_alpha;
    double m_alphaLossy;
    std::string m_alphaOfPriority;
    uint64_t m_guaranteedBytes;
    uint64_t m_xonOffset;
    uint64_t m_ecnKmin;
    uint64_t m_ecnKmax;
    double m_ecnPmax;
    bool m_markBehind;
    uint16_t m_pauseQuanta;
    Time m_watchdogDetection;
    Time m_watchdogRestoration;
    PfcWatchdog::Action m_watchdogAction;

    std::string m_name;
    Ptr<UniformRandomVariable> m_random;
    bool m_refreshPending{false};
    RdmaTimer<RdmaSwitch, &RdmaSwitch::OnRefresh> m_refreshEvent;
    uint32_t m_pausedUpstreams{0};

    TracedCallback<const RdmaSwitch*, const RdmaPort*, const RdmaFrame*, DropReason, int64_t>
        m_dropTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, uint64_t, int64_t> m_markTrace;
    TracedCallback<const RdmaPort*, uint8_t, bool, uint64_t, int64_t> m_pfcTrace;
    TracedCallback<const RdmaPort*, uint8_t, bool, int64_t> m_stormTrace;
};

} // namespace ns3

#endif /* RDMA_SWITCH_H */
