/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Credits of receivers through a bucket, all else as ports do.
 */
#include "contrib/rdma/core/marker-draws.h"
#include "contrib/rdma/core/queue-disc-names.h"
#include "contrib/rdma/core/units.h"
#include "rdma-priority-queue-disc.h"

#include "ns3/double.h"
#include "ns3/rdma-priority-turns.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

/**
 * \ingroup rdma
 * What ExpressPass asks of ports (kaist-ina/ns2-xpass@cfa84f5f, queue/xpass-red.cc): frames of one
 * priority, the credits, go first and no faster than the data packets that they ask for can come
 * back, one each time that a credit and a full data packet take on this line. So of credits and
 * data together a link carries no more than its rate, and of data alone at most
 * data / (data + credit). The other priorities share what is left as in a port without a
 * discipline.
 *
 * The bucket holds two credits (scripts/large-scale-fattree.tcl@01dcb958: maxCreditBurst). There
 * credits have 76 to 92 B by chance, 84 on average, so that flows do not stay in step; here their
 * size stays, and each is charged for one such size.
 */
class CreditQueueDisc : public RdmaPriorityQueueDisc
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override
    {
        return "credit";
    }

    std::string Attach(const RdmaPort& port, uint64_t seed) override
    {
        m_draws = rdma::MarkerDraws(seed);
        return RdmaPriorityQueueDisc::Attach(port, seed);
    }

    RdmaFrame* Pop(uint8_t eligible, int64_t now) override
    {
        const auto credits = static_cast<uint8_t>(1U << m_priority);
        if (eligible & credits)
        {
            if (now >= GetDue())
            {
                Charge(GetFront(m_priority), now);
                return RdmaPriorityQueueDisc::Pop(credits, now);
            }
            eligible &= static_cast<uint8_t>(~credits);
        }
        return eligible ? RdmaPriorityQueueDisc::Pop(eligible, now) : nullptr;
    }

    int64_t NotBefore(uint8_t, int64_t now) override
    {
        return std::max(GetDue(), now + 1);
    }

  protected:
    uint8_t Pick(uint8_t eligible, int64_t) override
    {
        if (eligible == 1U << m_priority)
        {
            return m_priority;
        }
        const uint8_t priority = m_turns.Pick(eligible, GetPort());
        m_turns.Charge(priority, GetPort().GetFrameBytes(&GetFront(priority)), GetPort());
        return priority;
    }

  private:
    /// \return when the next credit may go: the bucket is a queue that each credit lengthens, and
    /// may be so many credits long
    int64_t GetDue() const
    {
        return m_empty - (m_burst - 1) * m_gap;
    }

    void Charge(const RdmaFrame& credit, int64_t now)
    {
        m_gap = rdma::SerializationTime(rdma::Bytes(credit.wireBytes + m_dataBytes),
                                        rdma::BitRate(GetPort().GetRate()))
                    .ps;
        const double drawn = 1 + m_jitter * (2 * m_draws.Next() - 1);
        m_empty = std::max(m_empty, now) + std::llround(static_cast<double>(m_gap) * drawn);
    }

    uint8_t m_priority;
    uint32_t m_dataBytes;
    uint32_t m_burst;
    double m_jitter;
    int64_t m_gap{0};   //!< ps between credits, without jitter; 0: none has gone
    int64_t m_empty{0}; //!< when the bucket is full of credit again, ps
    rdma::MarkerDraws m_draws;
    RdmaPriorityTurns m_turns;
};

NS_OBJECT_ENSURE_REGISTERED(CreditQueueDisc);

TypeId
CreditQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CreditQueueDisc")
            .SetParent<RdmaPriorityQueueDisc>()
            .SetGroupName("Rdma")
            .AddConstructor<CreditQueueDisc>()
            .AddAttribute("Priority",
                          "Of credits (ns3::RdmaNic::PullPriority)",
                          UintegerValue(7),
                          MakeUintegerAccessor(&CreditQueueDisc::m_priority),
                          MakeUintegerChecker<uint8_t>(0, 7))
            .AddAttribute("DataBytes",
                          "Wire bytes of the data packet that a credit asks for",
                          UintegerValue(1538),
                          MakeUintegerAccessor(&CreditQueueDisc::m_dataBytes),
                          MakeUintegerChecker<uint32_t>(1, 65535))
            .AddAttribute("Burst",
                          "Credits that may go at once after a pause",
                          UintegerValue(2),
                          MakeUintegerAccessor(&CreditQueueDisc::m_burst),
                          MakeUintegerChecker<uint32_t>(1, 1000))
            .AddAttribute("Jitter",
                          "Part by which the time between credits varies, either way: 8 of 84 B",
                          DoubleValue(8. / 84),
                          MakeDoubleAccessor(&CreditQueueDisc::m_jitter),
                          MakeDoubleChecker<double>(0, 1));
    return tid;
}

namespace
{

const rdma::RegisteredQueueDisc g_credit{
    "credit",
    "credits of receivers first, no faster than data can come back (ExpressPass); else as drr"};

} // namespace

} // namespace ns3
