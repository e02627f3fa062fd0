/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A flow's state at the two ends of ConWeave, without a network: Song et al., Network Load
 * Balancing with In-network Reordering Support for RDMA, SIGCOMM 2023. What was opened: the
 * abstract, and the authors' simulator (conweave-project/conweave-ns3@74fa3b2e,
 * src/point-to-point/model/conweave-routing.cc, which this follows; run.py@6b393623 for constants).
 *
 *     first switch                                      last switch
 *       epoch begins: REQUEST ------------------------->
 *                          <---------------------------- REPLY
 *       in time: the next packet begins an epoch, same path
 *       late: TAIL on the old path -------------------->
 *             phase 1 on another path ----------------->   held until TAIL has come, or is due
 *                          <---------------------------- CLEAR: the next packet begins an epoch
 *       nothing for `idle`: an epoch on another path
 *
 * Times are in ps.
 */
#ifndef RDMA_CORE_CONWEAVE_FLOW_H
#define RDMA_CORE_CONWEAVE_FLOW_H

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rdma
{

/// For two tiers (run.py).
struct ConweaveParameters
{
    int64_t reply = 4000000;  ///< a REPLY is late if it takes so much more than a base round trip
    int64_t pause = 16000000; ///< a path that a NOTIFY names is avoided for so long
    int64_t flush = 16000000; ///< held packets wait so much longer than TAIL should take
    int64_t hold = 200000000; ///< when TAIL is due is not known: held packets wait so long
    int64_t idle = 300000000; ///< a flow without packets for so long begins anew
};

/// What a packet says besides, and what the last switch answers.
enum class ConweaveKind : uint8_t
{
    kData,
    kRequest,
    kTail,
    kReply,
    kClear,
    kNotify
};

/// At the first switch.
class ConweaveSender
{
  public:
    struct Decision
    {
        ConweaveKind kind = ConweaveKind::kData;
        uint8_t phase = 0;
        bool pathNow = false;   ///< another path for this packet and those behind it
        bool pathAfter = false; ///< for those behind it only
    };

    /// A packet leaves. \param baseRtt from it to its answer, without queues
    Decision OnData(int64_t now, int64_t baseRtt, const ConweaveParameters& p)
    {
        const bool expired = m_active == kNever || now - m_active > p.idle;
        const bool begins = expired || m_stable;
        m_stable = false;
        m_active = now;
        Decision decision;
        if (begins)
        {
            m_replyBy = now + baseRtt + p.reply;
            ++m_epoch;
            m_phase = 0;
            m_tail = 0;
            decision.kind = ConweaveKind::kRequest;
            decision.pathNow = expired;
        }
        else if (now > m_replyBy)
        {
            m_replyBy = kNever;
            m_phase = 1;
            m_tail = now;
            decision.kind = ConweaveKind::kTail;
            decision.pathAfter = true;
        }
        else
        {
            decision.phase = m_phase;
        }
        return decision;
    }

    /// A REPLY or CLEAR of this epoch has come.
    void OnAnswer(ConweaveKind kind, uint32_t epoch, int64_t now)
    {
        const bool reply =
            kind == ConweaveKind::kReply && m_phase == 0 && m_replyBy != kNever && now < m_replyBy;
        const bool clear = kind == ConweaveKind::kClear && m_phase == 1;
        if (epoch == m_epoch && (reply || clear))
        {
            m_stable = true;
            m_replyBy = kNever;
        }
    }

    uint32_t Epoch() const
    {
        return m_epoch;
    }

    /// \return when TAIL left; 0: none has in this epoch
    int64_t Tail() const
    {
        return m_tail;
    }

  private:
    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

    int64_t m_active = kNever; ///< the last packet left
    int64_t m_replyBy = kNever;
    int64_t m_tail = 0;
    uint32_t m_epoch = 0;
    uint8_t m_phase = 0;
    bool m_stable = false; ///< the next packet begins an epoch
};

/// At the last switch.
class ConweaveReceiver
{
  public:
    /// What a packet's tag says.
    struct Packet
    {
        ConweaveKind kind = ConweaveKind::kData;
        uint8_t phase = 0;
        uint32_t epoch = 0;
        int64_t sent = 0; ///< it left the first switch
        int64_t tail = 0; ///< and so did TAIL
    };

    struct Verdict
    {
        bool old = false;         ///< of an epoch that is over: it goes on, and that is all
        bool hold = false;        ///< it joins the held packets, or is the first of them
        bool flushBefore = false; ///< the held packets go on before it
        bool flushAfter = false;  ///< the held packets go on behind it
        int64_t due = 0;          ///< if packets are held: they go on at this time
    };

    Verdict OnData(const Packet& packet, int64_t now, const ConweaveParameters& p)
    {
        Verdict verdict;
        if (packet.epoch < m_epoch)
        {
            verdict.old = true;
            return verdict;
        }
        const bool tail = packet.kind == ConweaveKind::kTail;
        if (packet.epoch > m_epoch)
        {
            // The simulator warns of held packets of the epoch before; here they go on first.
            verdict.flushBefore = m_holding;
            m_holding = false;
            m_epoch = packet.epoch;
            m_phase = tail ? 1 : 0;
            m_knowsPhase0 = false;
        }
        else if (tail && !m_holding)
        {
            m_phase = 1;
        }
        if (packet.phase == 0)
        {
            m_sent = packet.sent;
            m_came = now;
            m_knowsPhase0 = true;
        }
        if (tail || packet.phase == 1)
        {
            m_tail = packet.tail;
        }
        const int64_t gap = m_knowsPhase0 ? std::max<int64_t>(0, m_tail - m_sent) : p.hold;
        if (packet.phase == 0)
        {
            if (m_holding)
            {
                verdict.flushAfter = tail;
                m_due = now + gap + p.flush;
            }
        }
        else if (packet.phase > m_phase)
        {
            verdict.hold = true;
            if (!m_holding)
            {
                m_holding = true;
                m_due = std::max(now, (m_knowsPhase0 ? m_came : now) + gap + p.flush);
            }
        }
        verdict.due = m_due;
        return verdict;
    }

    /// What was held has gone on.
    void OnFlushed()
    {
        m_holding = false;
        m_phase = 1;
    }

    bool IsHolding() const
    {
        return m_holding;
    }

  private:
    uint32_t m_epoch = 0;
    uint8_t m_phase = 0; ///< 1: TAIL has come, or is not waited for any more
    bool m_holding = false;
    bool m_knowsPhase0 = false;
    int64_t m_sent = 0; ///< the last packet of phase 0 left
    int64_t m_came = 0; ///< and came
    int64_t m_tail = 0;
    int64_t m_due = 0;
};

} // namespace rdma

#endif // RDMA_CORE_CONWEAVE_FLOW_H
