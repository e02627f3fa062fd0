/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_LIMITS_H
#define RDMA_NIC_LIMITS_H

#include "contrib/rdma/core/nic-limits.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-frame.h"
#include "ns3/rdma-port.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

class RdmaNic;

/**
 * \ingroup rdma
 * What bounds a NIC beside its line: the queue pairs whose contexts it holds, the bus (PCIe) that
 * payload crosses, the work requests that it starts a second. A NIC without such limits has no
 * object of this class.
 *
 * Sending. A unit prepares one packet at a time: it chooses the queue pair whose turn it is, gets
 * its context if it is not held, then fetches the payload. While one packet is sent the next one is
 * prepared, so the time from packet to packet is
 *
 *     max(wire bytes / line rate, context miss + payload / PCIe)
 *
 * and goodput with full packets min(line's, PCIe's). A packet that is prepared and whose priority
 * is paused waits, and does not hold up other priorities. A message starts when its slot has come:
 * slots are 1 / MessageRate apart, in the order in which queue pairs have a message to start. READ
 * responses need none.
 *
 * Receiving. Requests and READ responses go through a unit of the same kind (a full-duplex bus: it
 * has nothing to do with sending), in order; the queue pair has a packet when its last byte has
 * crossed the bus. What waits is held in the receive buffer. Above XOFF the NIC pauses its peer as
 * a switch does; XOFF leaves headroom for what still arrives (rdma::HeadroomBytes), XON is two of
 * the largest frames below. That is the slow receiver of Guo et al., "RDMA over Commodity Ethernet
 * at Scale", SIGCOMM 2016, 4.4. Priorities that PFC does not cover may fill the buffer up to XOFF
 * (without PFC: all of it) and are dropped beyond.
 *
 * Law (asserted in tests): such packets received by the port = given to queue pairs + dropped +
 * held.
 *
 * Assumed: contexts come one after the other, with the packet that needs them; ACKs, NAKs and CNPs
 * need neither context nor bus; both directions share one cache; the bus has no overhead of its own
 * (give PcieBandwidth as what is left for payload). A READ request that
 * comes while its queue pair waits for a message slot is answered when that has come.
 */
class RdmaNicLimits
{
  public:
    struct Config
    {
        uint32_t qpCacheEntries{0};     //!< 0: all contexts are held
        int64_t qpCacheMissPs{0};       //!< from the need of a context to when it is there
        uint64_t pcieBps{0};            //!< payload rate, each direction; 0: no limit
        uint64_t receiveBufferBytes{0}; //!< 0: no limit, never full
        uint64_t messagesPerSecond{0};  //!< 0: no limit

        bool IsOff() const
        {
            return !qpCacheEntries && !pcieBps && !messagesPerSecond;
        }
    };

    /// Bytes in the receive buffer at which the NIC pauses its peer, and lets it go on.
    struct Thresholds
    {
        uint64_t xoff{0};
        uint64_t xon{0};
    };

    /// \param losslessMask bit p: PFC covers priority p \param largestFrameBytes Ethernet header to
    /// FCS \return what is wrong with the receive buffer, or nothing
    static std::string Find(Thresholds& thresholds,
                            const Config& config,
                            const RdmaPort& port,
                            uint8_t losslessMask,
                            uint32_t largestFrameBytes);

    RdmaNicLimits(RdmaNic* nic,
                  const Config& config,
                  uint8_t losslessMask,
                  const Thresholds& thresholds);
    ~RdmaNicLimits();

    RdmaNicLimits(const RdmaNicLimits&) = delete;
    RdmaNicLimits& operator=(const RdmaNicLimits&) = delete;

    /// The NIC has this many queue pairs (set-up).
    void Grow(uint32_t queuePairs);

    // Sending ------------------------------------------------------------------------------------

    /// The line is idle: what is prepared, of the highest priority that is not paused.
    RdmaFrame* Pull(uint8_t pausedMask, int64_t now);

    /// There may be something to prepare.
    void Prepare(uint8_t pausedMask, int64_t now);

    /// \return when the next message of a queue pair may start; asked again, the same
    int64_t MessageSlot(uint32_t qpIndex, uint64_t firstPsn, int64_t now);

    /// \return when a packet that is chosen now is prepared
    int64_t PreparedAt(uint32_t qpIndex, uint32_t payload, int64_t now)
    {
        return m_sending.Serve(now, Cost(qpIndex, payload));
    }

    // Receiving ----------------------------------------------------------------------------------

    /// A packet has arrived; it goes to its queue pair when its payload has crossed the bus.
    void Receive(uint32_t qpIndex, RdmaFrame* frame, int64_t now);

    /// \return frame bytes in the receive buffer
    uint64_t GetHeldBytes() const
    {
        return m_heldBytes;
    }

    /// \return priorities that it pauses its peer for
    uint8_t GetPausing() const
    {
        return m_pausing ? m_losslessMask : 0;
    }

    uint64_t GetXoffBytes() const
    {
        return m_thresholds.xoff;
    }

  private:
    /// The slot that a queue pair has got and not used.
    struct Slot
    {
        uint64_t psn{UINT64_MAX};
        int64_t at{0};
    };

    /// \return what the receive buffer counts of a frame
    uint32_t FrameBytes(const RdmaFrame* frame) const
    {
        return frame->wireBytes - m_lineOverhead;
    }

    /// What a packet costs in either direction.
    int64_t Cost(uint32_t qpIndex, uint32_t payload);
    void OnPrepared();
    void OnReceived();
    void Pause(bool pause, int64_t now);
    void ScheduleRefresh(int64_t now);
    void OnRefresh();

    RdmaNic* m_nic;
    uint32_t m_lineOverhead;
    Config m_config;
    rdma::LruCache m_cache;

    rdma::SerialUnit m_sending;
    std::array<RdmaFrame*, RdmaPort::PRIORITIES> m_prepared{}; //!< `time`: when it is
    int64_t m_wakeDue;
    RdmaTimer<RdmaNicLimits, &RdmaNicLimits::OnPrepared> m_preparedEvent;

    int64_t m_slotPs{0};   //!< from message to message
    int64_t m_nextSlot{0}; //!< not given away yet
    std::vector<Slot> m_slots;

    rdma::SerialUnit m_receiving;
    RdmaFrameList m_held; //!< `time`: when it has crossed the bus
    uint64_t m_heldBytes{0};
    uint8_t m_losslessMask;
    Thresholds m_thresholds;
    bool m_pausing{false};
    bool m_receivePending{false};
    bool m_refreshPending{false};
    RdmaTimer<RdmaNicLimits, &RdmaNicLimits::OnReceived> m_receiveEvent;
    RdmaTimer<RdmaNicLimits, &RdmaNicLimits::OnRefresh> m_refreshEvent;
};

} // namespace ns3

#endif /* RDMA_NIC_LIMITS_H */
