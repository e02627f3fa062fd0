/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_SWITCH_H
#define IB_SWITCH_H

#include "contrib/rdma/core/ib-congestion.h"
#include "rdma-port.h"

#include "ns3/object.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * An InfiniBand switch: buffers at the inputs, credits by virtual lane, cut-through, linear
 * forwarding tables, marking with FECN, adaptive routing.
 *
 * A packet is passed on as soon as its head has been read (the latency is from the first bit that
 * comes in to the first that goes out), if the way out is idle, has credits and is not faster than
 * the way in; to a faster link it goes once it has come whole. Till its last bit has left it holds
 * its blocks in the buffer of its VL at the port where it came in. Those buffers have a queue for
 * each output and VL, served in the order of arrival, whatever the input (assumed; so there is no
 * head of line within a buffer, but a buffer that is full of packets for one output stops them
 * all).
 *
 * Nothing is dropped for want of a buffer: the sender has no credits then. Conservation, asserted
 * in tests: packets received = forwarded + dropped (no route) + queued; blocks taken = queued +
 * given back.
 */
class IbSwitch : public Object, public RdmaPortUser
{
  public:
    static TypeId GetTypeId();

    /// Which outputs have their bit in the victim mask.
    enum VictimMask
    {
        NONE,
        ADAPTERS,
        ALL
    };

    static constexpr uint16_t NO_PORT = 0xffff;
    static constexpr uint32_t SERVICE_LEVELS = 16;

    IbSwitch();
    ~IbSwitch() override;

    // Set-up: AddPort for all ports, then SetRoutes, then Start.
    // -----------------------------------

    void SetName(std::string name);
    /// \return the port's index; that of the architecture is one more, 0 is the switch itself
    uint16_t AddPort(Ptr<RdmaPort> port);
    /**
     * \param forwarding by LID: the port's index, or NO_PORT
     * \param lanes VL on the way out, [(in * ports + out) * 16 + service level]; empty: VL 0
     */
    void SetRoutes(std::vector<uint16_t> forwarding, std::vector<uint8_t> lanes);
    /// The new ways after a failure; what is queued stays where it is.
    void SetForwarding(std::vector<uint16_t> forwarding);
    /// \return whether choices have a use
    bool IsAdaptive() const
    {
        return m_adaptive;
    }

    /// \param choices by LID: all ports on a shortest way, for AdaptiveRouting
    void SetChoices(std::vector<std::vector<uint16_t>> choices);
    /// \return an error, or nothing
    std::string Start();

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

    uint64_t GetReceived() const
    {
        return m_received;
    }

    uint64_t GetForwarded() const
    {
        return m_forwarded;
    }

    /// \return packets to a LID that the table does not know
    uint64_t GetNoRouteDrops() const
    {
        return m_noRoute;
    }

    /// \return packets that adaptive routing sent another way than the table says
    uint64_t GetRerouted() const
    {
        return m_rerouted;
    }

    /// \return bytes that the buffer of an input holds at most, all VLs
    uint64_t GetBufferBytesPerPort() const;

    // RdmaPortUser
    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
    RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) override;

    /// (switch, frame, ps)
    typedef void (*DropTracedCallback)(const IbSwitch* device, const RdmaFrame* frame, int64_t now);
    /// (egress port, frame, bytes in its queue, ps)
    typedef void (*MarkTracedCallback)(const RdmaPort* port,
                                       const RdmaFrame* frame,
                                       uint64_t queueBytes,
                                       int64_t now);

  protected:
    void DoDispose() override;

  private:
    /// What comes in too slowly to be passed on at once: held until it is whole.
    struct Input
    {
        RdmaFrameList held;
        bool slow{false}; //!< some port is faster
    };

    void Forward(uint16_t in, RdmaFrame* frame, int64_t now);
    /// \return the way to the LID with the shortest queue, or `chosen` if none is shorter
    uint16_t LeastLoaded(uint32_t lid, uint16_t chosen);
    void OnHeld();

    // hot
    std::vector<uint16_t> m_forwarding;
    std::vector<uint8_t> m_lanes;
    std::vector<Ptr<RdmaPort>> m_ports;
    std::vector<uint64_t> m_rates;
    std::vector<rdma::IbMarker> m_markers; //!< [port * 8 + VL]; empty: no marking
    std::vector<Input> m_inputs;
    std::vector<std::pair<int64_t, uint16_t>> m_due; //!< min-heap: when an input's next is whole
    std::vector<std::vector<uint16_t>> m_choices;    //!< by LID; empty: no adaptive routing
    uint64_t m_received{0};
    uint64_t m_forwarded{0};
    uint64_t m_noRoute{0};
    uint64_t m_rerouted{0};

    // attributes
    Time m_latency;
    bool m_cutThrough;
    uint8_t m_threshold;
    uint16_t m_markingRate;
    uint8_t m_packetSize;
    VictimMask m_victims;
    bool m_adaptive;
    uint64_t m_adaptiveThreshold;

    std::string m_name;
    RdmaTimer<IbSwitch, &IbSwitch::OnHeld> m_heldEvent;

    TracedCallback<const IbSwitch*, const RdmaFrame*, int64_t> m_dropTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, uint64_t, int64_t> m_markTrace;
};

} // namespace ns3

#endif /* IB_SWITCH_H */
