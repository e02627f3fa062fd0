/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand's credit flow control on one virtual lane of one link direction: InfiniBand
 * Architecture Specification vol. 1, 7.9. Counts are blocks of 64 bytes modulo 4096.
 *
 *        sender                                          receiver
 *   FCTBS  blocks sent since initialization         ABR    blocks received, plus those known to be
 *                                                          lost
 *   CL     the credit limit received last           FCCL = ABR + min(free blocks, 2048)
 *
 *   may send n blocks        (CL - (FCTBS + n)) mod 4096 <= 2048
 *   a packet is sent         FCTBS += n
 *   a packet is received     ABR += n, and it occupies n blocks until it has left
 *   FCTBS of a flow-control packet comes      ABR := FCTBS
 *
 * The last rule is what returns the credits of a corrupted packet: the receiver never counted it,
 * and since a link keeps order, at the moment the flow-control packet comes every packet that it
 * counts has come or is lost. Lost flow-control packets do no harm: the next one says the same and
 * more. Therefore they are sent again at least every 65,536 symbol times (IbLink::CreditTimeout).
 *
 * Each end of a link has, for each data VL, a sender and a receiver (IbCreditLane); one
 * flow-control packet carries FCTBS of the end's sender and FCCL of its receiver. VL 15 has none.
 * "init" packets come first: a sender may not send before it has seen a limit, which initialization
 * starts from zero on both sides.
 *
 * Larger credit blocks, for links longer than 2,048 blocks of 64 bytes can fill ("Credit-based flow
 * control for long-haul links", Mellanox, US patent application 2016/0021016, granted as US
 * 9,584,429): packets are counted in blocks of 64 bytes on both sides as ever, but FCTBS and FCCL
 * on the wire are the most significant bits of those counts, in blocks that are 2^s times as large
 * (claims 1 and 4). So 2,048 x 2^s blocks can be granted. The limit is rounded down, which costs
 * less than one large block; so is FCTBS, so a loss of less than one large block is found with the
 * next that passes a multiple. The ratio is an integer in the patent; powers of two are what bits
 * can say, and how large it may be is assumed (64: blocks of 4 KiB).
 *
 * Laws, for tests and for checks while running:
 *
 *   occupied <= capacity                                     (OnReceived says no if it would break)
 *   available + (FCTBS - ABR) + occupied <= capacity         with (FCTBS - ABR) = blocks in flight
 *                                                            + lost, not yet known
 *   CL never goes back
 *
 * HoldsCredits is the second one (and the first).
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_CREDITS_H
#define CONTRIB_RDMA_CORE_IB_IB_CREDITS_H

#include <cstdint>

namespace rdma
{

constexpr uint32_t kIbCreditModulo = 4096; ///< of FCTBS, ABR and FCCL
constexpr uint32_t kIbCreditWindow = 2048; ///< blocks that can be granted at a time: 128 KiB a VL

constexpr uint32_t kIbMostCreditShift = 6; ///< credit blocks of 64 B x 2^6 = 4 KiB (assumed)

/// (a - b) modulo 4096 x 2^shift.
constexpr uint32_t
IbCreditDifference(uint32_t a, uint32_t b, uint32_t shift = 0)
{
    return (a - b) & ((kIbCreditModulo << shift) - 1);
}

/// The sender's side of a VL; copies are states.
class IbCreditSender
{
  public:
    /// \param shift credit blocks on the wire are of 64 x 2^shift bytes
    explicit IbCreditSender(uint32_t shift = 0)
        : m_shift(shift)
    {
    }

    /// Whether a packet of this many blocks (1 to 2048 x 2^shift) may be sent now.
    bool CanSend(uint32_t blocks) const
    {
        const uint32_t window = kIbCreditWindow << m_shift;
        return m_ready && IbCreditDifference(m_limit, m_sent + blocks, m_shift) <= window &&
               blocks <= window;
    }

    /// Blocks that may be sent now.
    uint32_t Available() const
    {
        const uint32_t credit = IbCreditDifference(m_limit, m_sent, m_shift);
        return m_ready && credit <= kIbCreditWindow << m_shift ? credit : 0;
    }

    /// A packet of this many blocks goes onto the link (whether or not it will arrive). CanSend
    /// must have said so.
    void OnSent(uint32_t blocks)
    {
        m_sent = IbCreditDifference(m_sent + blocks, 0, m_shift);
    }

    /// A flow-control packet with this credit limit came. With large blocks a limit that was
    /// rounded down can be behind what has been sent already; then there is no credit.
    void OnFlowControl(uint16_t fccl)
    {
        m_limit = IbCreditDifference(uint32_t{fccl} << m_shift, 0, m_shift);
        m_ready = true;
    }

    /// Credit blocks sent since initialization: what a flow-control packet carries.
    uint16_t Fctbs() const
    {
        return static_cast<uint16_t>(m_sent >> m_shift);
    }

    /// Blocks of 64 bytes sent since initialization.
    uint32_t Sent() const
    {
        return m_sent;
    }

    /// The credit limit received last, as a flow-control packet carries it.
    uint16_t Limit() const
    {
        return static_cast<uint16_t>(m_limit >> m_shift);
    }

    /// Whether a limit was received since initialization.
    bool IsReady() const
    {
        return m_ready;
    }

    uint32_t Shift() const
    {
        return m_shift;
    }

    /// The link was initialized again.
    void Initialize()
    {
        *this = IbCreditSender(m_shift);
    }

  private:
    uint32_t m_sent = 0;  ///< FCTBS, blocks of 64 bytes
    uint32_t m_limit = 0; ///< CL, blocks of 64 bytes
    uint32_t m_shift;
    bool m_ready = false;
};

/// The receiver's side of a VL, with the count of its buffer.
class IbCreditReceiver
{
  public:
    /// \param capacity blocks of 64 bytes of the VL's buffer
    /// \param shift credit blocks on the wire are of 64 x 2^shift bytes
    explicit IbCreditReceiver(uint32_t capacity = 0, uint32_t shift = 0)
        : m_capacity(capacity),
          m_shift(shift)
    {
    }

    /// A packet of this many blocks came in good order. False, and nothing counted, if it has no
    /// room: the other side sent what it was not allowed to, and the packet has to be dropped.
    bool OnReceived(uint32_t blocks)
    {
        if (blocks > m_capacity - m_occupied)
        {
            return false;
        }
        m_occupied += blocks;
        m_received = IbCreditDifference(m_received + blocks, 0, m_shift);
        return true;
    }

    /// A packet of this many blocks has left the buffer. Not more than is in it.
    void OnFreed(uint32_t blocks)
    {
        m_occupied -= blocks;
    }

    /// A flow-control packet with this count of the other side's sent blocks came. Returns the
    /// blocks that were found lost by it: 0 on a link without errors.
    uint32_t OnFlowControl(uint16_t fctbs)
    {
        const uint32_t sent = IbCreditDifference(uint32_t{fctbs} << m_shift, 0, m_shift);
        const uint32_t lost = IbCreditDifference(sent, m_received, m_shift);
        if (m_shift && lost > kIbCreditWindow << m_shift)
        {
            return 0; // rounded down: less than what has been received
        }
        m_received = sent;
        return lost;
    }

    /// The credit limit of now.
    uint16_t Fccl() const
    {
        const uint32_t free = m_capacity - m_occupied;
        const uint32_t window = kIbCreditWindow << m_shift;
        const uint32_t limit = m_received + (free < window ? free : window);
        return static_cast<uint16_t>(IbCreditDifference(limit, 0, m_shift) >> m_shift);
    }

    /// The same, noted as told to the other side.
    uint16_t Advertise()
    {
        m_advertised = Fccl();
        return m_advertised;
    }

    /// The limit told last; 0 before.
    uint16_t LastAdvertised() const
    {
        return m_advertised;
    }

    /// Blocks of 64 bytes of credit that the other side has not been told of.
    uint32_t Unadvertised() const
    {
        return IbCreditDifference(Fccl(), m_advertised) << m_shift;
    }

    /// Adjusted blocks received, of 64 bytes.
    uint32_t Abr() const
    {
        return m_received;
    }

    uint32_t Capacity() const
    {
        return m_capacity;
    }

    uint32_t Occupied() const
    {
        return m_occupied;
    }

    uint32_t Free() const
    {
        return m_capacity - m_occupied;
    }

    /// The link was initialized again; what the buffer holds stays.
    void Initialize()
    {
        m_received = 0;
        m_advertised = 0;
    }

  private:
    uint32_t m_capacity;
    uint32_t m_shift;
    uint32_t m_occupied = 0;
    uint32_t m_received = 0;   ///< ABR, blocks of 64 bytes
    uint16_t m_advertised = 0; ///< FCCL told last
};

/// Kinds of a flow-control packet (the Op field).
enum class IbFlowControlOp : uint8_t
{
    kNormal = 0,
    kInit = 1, ///< while the link is in LinkInitialize
};

/// The contents of a flow-control packet.
struct IbFlowControl
{
    IbFlowControlOp op = IbFlowControlOp::kNormal;
    uint8_t vl = 0;     ///< 4 bits
    uint16_t fctbs = 0; ///< 12 bits
    uint16_t fccl = 0;  ///< 12 bits
};

/// One end of a link, one VL: the sender towards the other end, the receiver from it.
struct IbCreditLane
{
    IbCreditSender sender;
    IbCreditReceiver receiver;

    explicit IbCreditLane(uint32_t capacity = 0, uint32_t shift = 0)
        : sender(shift),
          receiver(capacity, shift)
    {
    }

    /// The flow-control packet to send now. It has to keep its place among the data packets of the
    /// VL.
    IbFlowControl Make(uint8_t vl, IbFlowControlOp op = IbFlowControlOp::kNormal)
    {
        return {op, vl, sender.Fctbs(), receiver.Advertise()};
    }

    /// A flow-control packet of this VL came. Returns the blocks that were found lost by it.
    uint32_t OnFlowControl(const IbFlowControl& packet)
    {
        sender.OnFlowControl(packet.fccl);
        return receiver.OnFlowControl(packet.fctbs);
    }

    /// The link was initialized again.
    void Initialize()
    {
        sender.Initialize();
        receiver.Initialize();
    }
};

/// Blocks that have been sent but not been counted as received: in flight, or lost and not yet
/// known to be.
inline uint32_t
IbBlocksUnderway(const IbCreditSender& sender, const IbCreditReceiver& receiver)
{
    return IbCreditDifference(sender.Sent(), receiver.Abr(), sender.Shift());
}

/// The second law above, of the sender at one end and the receiver at the other.
inline bool
HoldsCredits(const IbCreditSender& sender, const IbCreditReceiver& receiver)
{
    return receiver.Occupied() <= receiver.Capacity() &&
           sender.Available() + IbBlocksUnderway(sender, receiver) + receiver.Occupied() <=
               receiver.Capacity();
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_CREDITS_H
