/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ExpressPass's decisions at a receiver, without a network: how fast it sends credits for a flow.
 * Cho, Jang, Han: Credit-Scheduled Delay-Bounded Congestion Control for Datacenters, SIGCOMM 2017.
 *
 *     receiver                                     sender
 *       credit 1, 2, 3, ... ------- some lost ---->  hears the latest number and how many
 *                          <----------------------   one data packet a credit says both
 *       a round is over when the data packet comes that answers a credit sent at its begin:
 *       loss = 1 - heard / sent of that time
 *
 * The law is that of the authors' simulator (kaist-ina/ns2-xpass@07c36324, xpass/xpass.cc:
 * credit_feedback_control): the target of losses is an eighth of what the rate lacks to the line's;
 * weights are between 0.01 and 0.5, halved by more loss, and grow by 0.05 with the second round
 * without; rates are between one credit a round trip and the line's. First rate and weight: 0.5
 * (scripts/dumbell-topology.tcl@036214cf). The paper was not at hand. From memory it has a target
 * of a tenth whatever the rate, which was tried: of two flows the later one then often stays
 * behind.
 *
 * A round is a round trip, however few credits it has. (Rounds of at least ten, which could tell a
 * loss of a tenth, were tried: slow flows then change seldom, and the fast one takes all.)
 *
 * Rates are parts of what the receiver's line allows.
 */
#ifndef RDMA_CORE_CREDIT_FEEDBACK_H
#define RDMA_CORE_CREDIT_FEEDBACK_H

#include <algorithm>
#include <cstdint>

namespace rdma
{

/// The rate of one flow's credits.
class CreditFeedback
{
  public:
    static constexpr double kWeightStep = 0.05;

    struct Settings
    {
        double targetLoss =
            0.125; ///< of a rate of nothing; in proportion to what a rate lacks to 1
        double leastWeight = 0.01;
        double mostWeight = 0.5;
        double firstWeight = 0.5;
        double firstRate = 0.5;
    };

    explicit CreditFeedback(const Settings& settings)
        : m_settings(settings)
    {
        Begin();
    }

    /// A flow begins.
    void Begin()
    {
        m_rate = m_settings.firstRate;
        m_weight = m_settings.firstWeight;
        m_increased = false;
    }

    /// A round is over. \param loss part of its credits that did not arrive \param arrived rate of
    /// those that did \param leastRate a credit a round trip
    void OnRound(double loss, double arrived, double leastRate)
    {
        const double target = (1 - m_rate) * m_settings.targetLoss;
        if (loss <= target)
        {
            if (m_increased)
            {
                m_weight = std::min(m_weight + kWeightStep, m_settings.mostWeight);
            }
            m_increased = true;
            m_rate = (1 - m_weight) * m_rate + m_weight;
        }
        else
        {
            m_increased = false;
            // What arrived was sent a round trip ago, perhaps at another rate.
            m_rate = std::min(m_rate, arrived * (1 + target));
            m_weight = std::max(m_weight / 2, m_settings.leastWeight);
        }
        m_rate = std::min(std::max(m_rate, leastRate), 1.0);
    }

    double Rate() const
    {
        return m_rate;
    }

    double Weight() const
    {
        return m_weight;
    }

  private:
    Settings m_settings;
    double m_rate = 0;
    double m_weight = 0;
    bool m_increased = false; ///< by the round before
};

/// What a sender says in each data packet: low 16 bits of the latest credit's number, and of how
/// many credits have come.
struct CreditEcho
{
    uint32_t number = 0;
    uint32_t heard = 0;

    uint32_t Pack() const
    {
        return number << 16 | (heard & 0xffff);
    }
};

/// The receiver's account of a flow's credits: it numbers them from 1 on and finds the rounds.
class CreditRounds
{
  public:
    struct Round
    {
        double loss = 0;
        uint32_t heard = 0;    ///< credits
        int64_t length = 0;    ///< time in which their data packets came, ps
        int64_t roundTrip = 0; ///< ps
    };

    /// \return the number of a credit that is sent now, or is lost at once
    uint32_t Send(int64_t now)
    {
        ++m_sent;
        if (m_probe == 0)
        {
            m_probe = m_sent;
            m_probeSent = now;
        }
        return m_sent;
    }

    /// A flow begins: what was under way belongs to the one before.
    void Begin()
    {
        m_probe = 0;
        m_counts = false;
    }

    /// A data packet has come. \param echo CreditEcho::Pack() \return whether a round is over
    bool Hear(uint32_t echo, int64_t now, Round* round)
    {
        const int32_t ahead = Ahead(echo >> 16, m_number);
        if (ahead < 0)
        {
            return false; // overtaken
        }
        m_number += static_cast<uint32_t>(ahead);
        m_heard += static_cast<uint32_t>(std::max(Ahead(echo & 0xffff, m_heard), 0));
        if (!m_counts) // the first one: the time before it was the network's
        {
            m_counts = true;
            Count(now);
            return false;
        }
        const uint32_t sent = m_number - m_fromNumber;
        if (m_probe == 0 || static_cast<int32_t>(m_number - m_probe) < 0)
        {
            return false;
        }
        round->heard = std::min(m_heard - m_fromHeard, sent);
        round->loss = sent ? 1 - static_cast<double>(round->heard) / static_cast<double>(sent) : 0;
        round->length = now - m_from;
        round->roundTrip = now - m_probeSent;
        m_probe = 0;
        Count(now);
        return true;
    }

  private:
    /// \return how far a number of these low 16 bits is ahead of one near it
    static int32_t Ahead(uint32_t low, uint32_t near)
    {
        return static_cast<int16_t>(static_cast<uint16_t>(low - near));
    }

    /// The next round begins.
    void Count(int64_t now)
    {
        m_fromNumber = m_number;
        m_fromHeard = m_heard;
        m_from = now;
    }

    uint32_t m_sent = 0;       ///< number of the last credit
    uint32_t m_probe = 0;      ///< number of the first of this round; 0: none has been sent
    int64_t m_probeSent = 0;   ///< ps
    uint32_t m_number = 0;     ///< as the sender has said last
    uint32_t m_heard = 0;      ///< the same
    bool m_counts = false;     ///< a data packet of this flow has come
    int64_t m_from = 0;        ///< when the round began, ps
    uint32_t m_fromNumber = 0; ///< the same when the round began
    uint32_t m_fromHeard = 0;  ///< the same
};

} // namespace rdma

#endif // RDMA_CORE_CREDIT_FEEDBACK_H
