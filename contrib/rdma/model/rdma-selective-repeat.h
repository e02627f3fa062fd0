/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_SELECTIVE_REPEAT_H
#define RDMA_SELECTIVE_REPEAT_H

#include "contrib/rdma/core/frame-sizes.h"
#include "contrib/rdma/core/receive-bitmap.h"
#include "rdma-frame.h"

#include <cstdint>
#include <vector>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * What a queue pair keeps for selective repeat, after IRN (Mittal et al., "Revisiting Network
 * Support for RDMA", SIGCOMM 2018). A queue pair of go-back-N has none of this.
 *
 * Sender (3.1): a bitmap of what has been selectively acknowledged; a NACK or a time-out begins a
 * recovery, which first sends the oldest unacknowledged packet again, then each packet that is not
 * acknowledged although one behind it is; each once. Where nothing is lost any more it sends new
 * packets. A recovery ends once all that was sent before it began is acknowledged.
 *
 * BDP-FC (3.2): next PSN - acknowledged PSN < the BDP cap, in packets.
 *
 * Receiver (3.1, 5): packets that come out of order are kept, one bit and a few bytes each, and
 * answered by a NACK that carries the expected PSN and the one that has come.
 *
 * Beyond the paper, and why:
 * - A packet sent again in a recovery although it was first sent during it prolongs the recovery
 *   until it is acknowledged too: else the next recovery would begin with it and send it a third
 *   time, for nothing.
 * - In a recovery that a time-out began, an ACK that stops before its end says that the next packet
 *   is lost too (as NewReno's partial ACK, RFC 6582): else a lost tail of n packets would cost n
 *   time-outs.
 */
class RdmaSelectiveRepeat
{
  public:
    struct Timeouts
    {
        int64_t low{0};  //!< ps, while few packets are in flight
        int64_t high{0}; //!< ps, otherwise
        uint32_t few{0}; //!< packets
    };

    RdmaSelectiveRepeat(uint64_t firstSent,
                        uint64_t sendCap,
                        uint64_t firstExpected,
                        uint64_t receiveCap,
                        const Timeouts& timeouts);

    // Sender

    /// Before anything is sent.
    void SendFrom(uint64_t first);
    /// A NACK says that this PSN has arrived.
    void OnSack(uint64_t psn);
    /// A NACK says that something has arrived that was sent with this PSN: what is before is late.
    void OnLostBefore(uint64_t psn);
    /// This PSN needs not be sent again.
    void Mark(uint64_t psn);
    /// The receiver has thrown away all from this PSN on. A recovery begins.
    void LoseAll(uint64_t from, uint64_t highest);
    /// \return the first PSN in [from, limit) that has arrived out of order, or `limit`
    uint64_t NextArrived(uint64_t from, uint64_t limit) const;
    /// \return the first PSN in [from, limit) that has not, or `limit`
    uint64_t NextMissing(uint64_t from, uint64_t limit) const;
    /// All before `acked` is acknowledged.
    void OnCumulative(uint64_t acked, int64_t now);
    /// A recovery begins. \param highest all before has been sent
    void Begin(uint64_t acked, uint64_t highest, bool afterTimeout);
    void OnRetransmitted(uint64_t psn);
    /// \return the first PSN that this recovery has to send again and has not yet, or `highest`
    uint64_t NextLost(uint64_t highest) const;

    bool IsRecovering() const
    {
        return m_recovering;
    }

    /// \return time-out of so many packets in flight, ps
    int64_t GetTimeout(uint64_t inFlight) const
    {
        return inFlight <= m_timeouts.few ? m_timeouts.low : m_timeouts.high;
    }

    /// \return the least time-out, ps: to look this often is often enough
    int64_t GetLeastTimeout() const
    {
        return m_timeouts.low < m_timeouts.high ? m_timeouts.low : m_timeouts.high;
    }

    /// When something was acknowledged last, or first sent with nothing in flight, ps.
    int64_t lastProgress{0};

    // Receiver

    /// A packet out of order, of which its message still has to be told.
    struct Held
    {
        uint32_t immediate; //!< of a READ its length
        uint16_t payload;
        RdmaOpcode opcode;
        uint8_t flags;
    };

    enum class Hold : uint8_t
    {
        KEPT,
        DUPLICATE,
        NO_ROOM
    };

    /// \param expected the first PSN that has not arrived \param count PSNs that the frame takes:
    /// those of a READ behind the first are kept as if they were empty MIDDLEs
    Hold Keep(uint64_t psn, uint64_t expected, const RdmaFrame& frame, uint32_t count);

    bool HasHeld() const
    {
        return m_received.Count() > 0;
    }

    /// What has arrived from `expected` on without a gap leaves the window. \return the first PSN
    /// that has not arrived
    uint64_t Release(uint64_t expected);
    /// Nothing has arrived from this PSN on.
    void Forget(uint64_t psn);

    /// What was kept of a packet, until the next Keep().
    const Held& Get(uint64_t psn) const
    {
        return m_held[psn & (m_held.size() - 1)];
    }

    /**
     * The base round-trip time to the farthest host that a NIC reaches, ps: that of a full packet
     * and its ACK on an idle path of store-and-forward switches: serialization, propagation and
     * pipeline of each link, along the slowest of the paths with the fewest links. Linear in the
     * links of the fabric, once for each switch with hosts.
     */
    static int64_t ComputeBaseRtt(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes);

    /// BDP cap of a NIC, packets: the line rate times the base round-trip time, over a full packet.
    static uint64_t ComputeBdpCap(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes);

  private:
    Timeouts m_timeouts;

    rdma::ReceiveBitmap m_sacked;
    uint64_t m_lostBefore{0}; //!< what is not acknowledged and before this is lost
    uint64_t m_cursor{0};     //!< all lost before has been sent again in this recovery
    uint64_t m_end{0};        //!< the recovery ends when all before is acknowledged
    bool m_recovering{false};
    bool m_afterTimeout{false};

    rdma::ReceiveBitmap m_received;
    std::vector<Held> m_held; //!< a ring, made when something first comes out of order
};

} // namespace ns3

#endif /* RDMA_SELECTIVE_REPEAT_H */
