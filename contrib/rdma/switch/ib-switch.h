/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_SWITCH_H
#define IB_SWITCH_H

#include "contrib/rdma/core/ib/ib-congestion.h"
#include "rdma-switch-base.h"

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
 * forwarding tables, marking with FECN.
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
class IbSwitch : public RdmaSwitchBase
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

    static constexpr uint32_t SERVICE_LEVELS = 16;

    /// RdmaFrame::inPort: the port, and above it the VL that the packet came in on.
    static constexpr uint32_t PORT_BITS = 13;
    static constexpr uint16_t PORT_MASK = (1U << PORT_BITS) - 1;

    static uint16_t PortOf(uint16_t inPort)
    {
        return inPort & PORT_MASK;
    }

    static uint8_t LaneOf(uint16_t inPort)
    {
        return static_cast<uint8_t>(inPort >> PORT_BITS);
    }

    IbSwitch();
    ~IbSwitch() override;

    /**
     * Its ways, before Start and after a failure. Its ports are numbered from 0; those of the
     * architecture from 1, as 0 is the switch itself.
     * \param forwarding by LID: the port's index, NO_PORT, or DEAD_PORT
     * \param lanes VL on the way out, [(in * ports + out) * 16 + service level]; empty: VL 0
     */
    void SetTables(std::vector<uint16_t> forwarding, std::vector<uint8_t> lanes);
    std::string Start(uint32_t largestFrameBytes) override;

    /// \return whether it has started: attributes are refused from then on
    bool IsRunning() const
    {
        return !m_inputs.empty();
    }

    int64_t GetLatencyPs() const override
    {
        return m_latency.GetPicoSeconds();
    }

    bool IsCutThrough() const override
    {
        return m_cutThrough;
    }

    /// \return bytes that the buffer of an input holds at most, all VLs
    uint64_t GetBufferBytesPerPort() const;

    // RdmaPortUser
    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
    void OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now) override;
    void OnRateChange(uint16_t port) override;

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
    /// \return the port by which the packet leaves, or NO_PORT, or DEAD_PORT
    uint16_t FindPort(const RdmaFrame& frame, int64_t now);
    void OnHeld();

    // hot
    std::vector<uint16_t> m_forwarding;
    std::vector<uint8_t> m_lanes;
    std::vector<uint64_t> m_rates;
    std::vector<rdma::IbMarker> m_markers; //!< [port * 8 + VL]; empty: no marking
    std::vector<Input> m_inputs;
    std::vector<std::pair<int64_t, uint16_t>> m_due; //!< min-heap: when an input's next is whole

    // attributes
    Time m_latency;
    bool m_cutThrough;
    uint8_t m_threshold;
    uint16_t m_markingRate;
    uint8_t m_packetSize;
    VictimMask m_victims;

    RdmaTimer<IbSwitch, &IbSwitch::OnHeld> m_heldEvent;
};

} // namespace ns3

#endif /* IB_SWITCH_H */
