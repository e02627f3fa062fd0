/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PACKETS_H
#define RDMA_PACKETS_H

#include "ns3/mac48-address.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/object.h"
#include "ns3/rdma-packet-addresses.h"
#include "ns3/rdma-packet-service.h"
#include "ns3/traced-callback.h"

#include <array>
#include <cstdint>
#include <string>

namespace ns3
{

class RdmaNic;
class RdmaPort;

/// \ingroup rdma
/// Counters of a NIC's ordinary packets; they only grow. Conservation, asserted in tests:
/// accepted = sent + lostWithLink + those that still wait.
struct RdmaPacketCounters
{
    uint64_t accepted{0}; //!< packets that NetDevice::Send took
    uint64_t refused{0};  //!< packets that it refused: queue full, link down, or packet too large
    uint64_t sent{0};
    uint64_t sentBytes{0};     //!< without Ethernet's header
    uint64_t lostWithLink{0};  //!< they waited while the link went down
    uint64_t received{0};      //!< for this NIC, or for all
    uint64_t receivedBytes{0}; //!< without Ethernet's header
    uint64_t foreign{0};       //!< received, for other NICs
    uint64_t marked{0};        //!< among `received`: switches have marked them CE
};

/**
 * \ingroup rdma
 * Ordinary packets of a NIC: they make its port a NetDevice of the whole fabric, as a host's
 * Ethernet interface is, over which ns-3's ARP, IPv4, IPv6, TCP and UDP run. Without one the port
 * is an end of a cable (RdmaPort::Send). RdmaPacketHelper installs them.
 *
 *     TcpSocket ... Ipv4 -> (queue disc) -> RdmaPort::Send -> queue here --+-- port -- switches
 *                                                         queue pairs -----+
 *
 * Each packet is one frame (RdmaOpcode::ETHERNET) that switches forward, queue, mark and drop as
 * they do RDMA's, in the priority that its DSCP says. An ECN-capable packet that they mark comes
 * with CE in its IP header. Its way is by a hash of its 5-tuple, and for an address that no NIC
 * has, for groups and for all, along a tree of the switches to every NIC.
 *
 * Here packets wait in a queue for each priority, and take turns with the NIC's queue pairs as the
 * port's StrictPriorities and weights say: RDMA, whose own rule is the highest priority first, has
 * one turn beside them, with the weight of the priority that it would send of (with RdmaNic::Ets,
 * RdmaNicTurns takes the place of this). NetDevice::Send
 * refuses what is more than QueuePackets, and a queue disc above is stopped when that many wait.
 *
 * Ethernet only; of one process, whose nodes one thread runs, as ns-3's Packet is not made for
 * more.
 */
class RdmaPackets : public Object, public RdmaPacketService
{
  public:
    static TypeId GetTypeId();

    RdmaPackets();
    ~RdmaPackets() override;

    /**
     * Before the first packet, once.
     * \param nic whose port becomes a NetDevice of the fabric \param addresses of that fabric
     * \param largestFrame that the buffers of its switches are prepared for, bytes
     * \return what is wrong, or nothing
     */
    std::string Attach(Ptr<RdmaNic> nic, Ptr<RdmaPacketAddresses> addresses, uint32_t largestFrame);

    /// \return whether it is attached: attributes that are read then are refused from then on
    bool IsRunning() const
    {
        return m_nic != nullptr;
    }

    const RdmaPacketCounters& GetCounters() const
    {
        return m_counters;
    }

    /// \return packets that wait here
    uint32_t GetWaiting() const
    {
        return m_packets;
    }

    uint16_t GetMtu() const override
    {
        return m_mtu;
    }

    /// \return whether frames can be so large: attribute Mtu
    bool SetMtu(uint16_t mtu) override;

    /// The port has another address. \param before the last one
    void OnAddress(Mac48Address before) override;

    /// For the port: NetDevice::SendFrom.
    bool Send(Ptr<Packet> packet,
              Mac48Address source,
              Mac48Address destination,
              uint16_t protocol) override;

    // For the NIC:

    /// Packets of some priorities wait: whose turn is it? \pre it has some
    RdmaFrame* Pull(uint8_t pausedMask, int64_t now);
    /// \return the packet of a priority that waits longest. \pre one does
    RdmaFrame* Take(uint8_t priority);
    /// A frame has come; it is owned here now.
    void Receive(RdmaFrame* frame);

  protected:
    void DoDispose() override;

  private:
    static constexpr uint32_t PRIORITIES = 8;
    static constexpr uint32_t PAIRS = PRIORITIES; //!< the turn of the NIC's queue pairs
    static constexpr uint32_t TURNS = PRIORITIES + 1;

    std::string ReadDscps();
    uint32_t GetWeight(uint32_t turn, uint8_t priorityOfPairs) const;
    /// \param eligible one bit for each turn that may send, PAIRS among them \return whose turn it
    /// is
    uint32_t PickTurn(uint32_t eligible, uint8_t priorityOfPairs);
    bool Refuse(Ptr<const Packet> packet);
    void OnLinkChange();
    void UpdateMask();

    RdmaNic* m_nic{nullptr};
    RdmaPort* m_port{nullptr};
    Ptr<RdmaPacketAddresses> m_addresses;
    Ptr<NetDeviceQueueInterface> m_above; //!< what queue discs see
    std::array<RdmaFrameList, PRIORITIES> m_queues;
    uint8_t m_waiting{0}; //!< bit p: queue p is not empty
    uint32_t m_packets{0};
    uint32_t m_turn{0};
    /// Bytes that each may still send in this round; below 0 after a frame that was longer.
    std::array<int64_t, TURNS> m_deficits{};
    std::array<uint8_t, 64> m_priorityOfDscp{};
    RdmaPacketCounters m_counters;
    uint32_t m_largestFrame{0};

    // attributes
    uint8_t m_priority;
    std::string m_dscps;
    uint32_t m_mostPackets;
    uint16_t m_mtu;

    TracedCallback<Ptr<const Packet>> m_txTrace;
    TracedCallback<Ptr<const Packet>> m_txDropTrace;
    TracedCallback<Ptr<const Packet>> m_rxTrace;
};

} // namespace ns3

#endif /* RDMA_PACKETS_H */
