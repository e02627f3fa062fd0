/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CELL_CREDITS_H
#define RDMA_CELL_CREDITS_H

#include "ns3/rdma-event.h"

#include <array>
#include <cstdint>

namespace ns3
{

class RdmaPort;
struct RdmaFrame;

/**
 * \ingroup rdma
 * Credit-based flow control of an Ethernet link (Ultra Ethernet 1.0, 5.2: CBFC): the part of a port
 * that counts credits, both directions, by priority. A lossless priority is a virtual channel.
 *
 * The receiver keeps a buffer for each of them. The sender counts cells that it has sent, the
 * receiver cells that have left the buffer again; both counts are cyclic, of 20 bits. Their
 * difference is what may be in the buffer. The receiver tells its count by an update (CF_Update),
 * `spacingPs` after the last one at the earliest. A priority is held while its credits do not cover
 * the largest frame: RdmaPort has it as paused, so that queues, disciplines, NICs and the search
 * for deadlocks treat it as PFC's.
 *
 * InfiniBand's credits (IbPortCredits) are another protocol: its updates tell a limit, and the
 * sender's count, that lost frames are found by.
 *
 * Source: opencomputeproject/SAI@9ca8312, doc/CBFC/SAI-Credit_Based_Flow_Control.md, by the UEC's
 * management working group: counters of 20 bits, credits of a packet = its size over the credit
 * size, rounded up; updates in control ordered sets of 8 B, by default 6,400 B of line time apart,
 * at least 800; credits of 256 B in its example.
 *
 * Assumed: packets have no overhead in the buffer; an update tells of one priority; a sender looks
 * for the largest frame's credits, not the next one's; a frame gives its credits back when it
 * starts to leave a switch, as the shared buffer has it, and at once in a host. CC_Updates, which
 * restore credits of lost frames, are not there: a link with bit errors needs RdmaLinkRetry, whose
 * replays take no new credits. There an update is repeated, as it may be lost itself.
 *
 * Law: throughput of a priority is at most C / T, for credits of C bytes and a time T from a
 * frame's start until its credits are back and it may be followed.
 */
class RdmaCellCredits
{
  public:
    static constexpr uint32_t CELL_BYTES = 256;
    static constexpr uint32_t PRIORITIES = 8;
    /// Bit of an update's `flags`.
    static constexpr uint8_t UPDATE = 2;
    /// Most that a priority's buffer may have: less than the counts' modulus.
    static constexpr uint32_t MAX_CELLS = (1U << 20) - 1;

    struct Config
    {
        uint8_t sendMask{0};   //!< bit p: the peer has a buffer for priority p
        uint32_t sendCells{0}; //!< of each of those
        uint32_t largestFrameCells{0};
        int64_t spacingPs{0}; //!< between updates
        bool consumes{false}; //!< what has come leaves the buffer at once
    };

    /// \param port outlives this
    RdmaCellCredits(const Config& config, RdmaPort& port);

    /// \return credits of a frame of so many bytes, Ethernet header to FCS
    static constexpr uint32_t CellsOf(uint64_t bytes)
    {
        return static_cast<uint32_t>((bytes + CELL_BYTES - 1) / CELL_BYTES);
    }

    const Config& GetConfig() const
    {
        return m_config;
    }

    /// \param ps between updates, from the next one on
    void SetSpacing(int64_t ps)
    {
        m_config.spacingPs = ps;
    }

    /// \return cells that may be in the peer's buffer, as far as this end knows
    uint32_t GetInUse(uint8_t priority) const
    {
        return (m_sent[priority] - m_heard[priority]) & MAX_CELLS;
    }

    /// A frame starts to be sent, for the first time.
    void OnSent(const RdmaFrame& frame, int64_t now);
    /// A frame has come.
    void OnArrival(const RdmaFrame& frame, int64_t now);
    /// A frame of so many bytes leaves the buffer.
    void Return(uint8_t priority, uint64_t bytes, int64_t now);
    /// An update starts to be sent. What it says holds then.
    void FillUpdate(RdmaFrame* frame, int64_t now);
    void OnUpdate(const RdmaFrame& frame, int64_t now);

  private:
    /// On a link with bit errors, how often the same is said again (as IbLinkCredits::REPEATS).
    static constexpr uint32_t REPEATS = 16;
    /// Updates' distance then, in spacings (the source's longest is 262,144 B, 41 of 6,400).
    static constexpr int64_t REPEAT_SPACINGS = 41;

    bool HasRoom(uint8_t priority) const
    {
        return GetInUse(priority) + m_config.largestFrameCells <= m_config.sendCells;
    }

    bool IsCounted(const RdmaFrame& frame) const;
    void Tell(int64_t now);
    void OnSpacing();
    void OnRepeat();

    Config m_config;
    RdmaPort& m_port;
    std::array<uint32_t, PRIORITIES> m_sent{};  //!< cells, modulo 2^20
    std::array<uint32_t, PRIORITIES> m_heard{}; //!< the peer's m_freed, as heard last
    std::array<uint32_t, PRIORITIES> m_freed{}; //!< cells, modulo 2^20
    uint8_t m_untold{0};                        //!< bit p: the peer does not know m_freed[p]
    uint8_t m_used{0};                          //!< bit p: m_freed[p] has been told
    bool m_wordQueued{false};
    bool m_spacingPending{false};
    bool m_repeatPending{false};
    uint32_t m_repeats{0};
    uint8_t m_last{0};     //!< priority that was told of last
    int64_t m_nextWord{0}; //!< no update before, ps
    RdmaTimer<RdmaCellCredits, &RdmaCellCredits::OnSpacing> m_spacingEvent;
    RdmaTimer<RdmaCellCredits, &RdmaCellCredits::OnRepeat> m_repeatEvent;
};

} // namespace ns3

#endif /* RDMA_CELL_CREDITS_H */
