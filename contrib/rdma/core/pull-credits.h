/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Credits that a receiver gives on demand, counted in packets: who sends says how many it could use
 * (its target), who receives gives no more than that, one after the other, at the rate of its line.
 * EQDS: Olteanu et al., "An edge-queued datagram service for all datacenter traffic", NSDI 2022, as
 * its authors' simulator has it (Broadcom/csg-htsim, sim/eqds.cpp).
 *
 *     sender                                         receiver
 *       target = given so far that it has heard of   wants = target - given
 *                + what it has to send, at most a
 *                  window, - credits it will use --->
 *                                        <---------- given, cumulative: a lost pull is made good
 *                                                    by the next
 *
 * Both numbers have 32 bits and wrap.
 */
#ifndef RDMA_CORE_PULL_CREDITS_H
#define RDMA_CORE_PULL_CREDITS_H

#include <algorithm>
#include <cstdint>

namespace rdma
{

/// The sender's side.
class CreditAsker
{
  public:
    /// \param window most credits that it has and asks for together; also those of a beginning,
    /// which nobody gave; > 0, less than 2^31 \param roundTrip packets until the first answer on
    /// its own line: more of the unsolicited credits it does not count on
    CreditAsker(uint32_t window, uint32_t roundTrip)
        : m_window(window),
          m_roundTrip(std::min(window, roundTrip)),
          m_unsolicited(window),
          m_countedOn(m_roundTrip)
    {
    }

    /// Credits, given or unsolicited.
    uint32_t Credits() const
    {
        return m_credit + m_unsolicited;
    }

    /// A packet goes: credits that were given are used first. \pre Credits() > 0
    void Spend()
    {
        if (m_credit > 0)
        {
            --m_credit;
            return;
        }
        --m_unsolicited;
        m_countedOn -= m_countedOn > 0;
    }

    /// Nothing is on its way any more: what comes next begins as a new connection does.
    void Begin()
    {
        m_credit = 0;
        m_unsolicited = m_window;
        m_countedOn = m_roundTrip;
        Forget();
    }

    /// The receiver has everything that there was, and gives no more (CreditGiver::Settle).
    void Forget()
    {
        m_asked = m_heard;
    }

    /// The receiver has answered, so it knows of this sender.
    void StopUnsolicited()
    {
        m_unsolicited = m_countedOn = 0;
    }

    /// Returns whether this number, of all that were given so far, was not known before.
    bool Hear(uint32_t given)
    {
        const auto fresh = static_cast<int32_t>(given - m_heard);
        if (fresh <= 0)
        {
            return false;
        }
        m_heard = given;
        m_credit = std::min(m_window, m_credit + static_cast<uint32_t>(fresh));
        return true;
    }

    /// What to ask for. \param backlog packets that it would send, first or again
    uint32_t Target(uint64_t backlog)
    {
        const auto wanted = static_cast<uint32_t>(std::min<uint64_t>(backlog, m_window));
        const uint32_t target = m_heard + wanted - m_credit - m_countedOn;
        if (static_cast<int32_t>(target - m_asked) > 0)
        {
            m_asked = target;
        }
        return target;
    }

    /// Whether some of what it has asked for has not come yet.
    bool Expects() const
    {
        return static_cast<int32_t>(m_asked - m_heard) > 0;
    }

  private:
    uint32_t m_window;
    uint32_t m_roundTrip;
    uint32_t m_unsolicited;
    uint32_t m_countedOn; ///< of the unsolicited: those that go before the first answer
    uint32_t m_credit = 0;
    uint32_t m_heard = 0; ///< given so far, as far as it knows
    uint32_t m_asked = 0; ///< highest target
};

/// The receiver's side.
class CreditGiver
{
  public:
    uint32_t Given() const
    {
        return m_given;
    }

    void Hear(uint32_t target)
    {
        if (static_cast<int32_t>(target - m_target) > 0)
        {
            m_target = target;
        }
    }

    /// Packets have to be sent again: credits for them go before those of others.
    void Urge(uint32_t packets)
    {
        m_urgent += packets;
    }

    bool IsUrgent() const
    {
        return m_urgent > 0;
    }

    bool Wants() const
    {
        return m_urgent > 0 || static_cast<int32_t>(m_target - m_given) > 0;
    }

    /// Gives up to `most` credits, which it returns. \pre Wants(), most > 0
    uint32_t Give(uint32_t most)
    {
        const auto asked = static_cast<int32_t>(m_target - m_given);
        const uint32_t wanted = std::max(m_urgent, asked > 0 ? static_cast<uint32_t>(asked) : 0U);
        const uint32_t packets = std::min(most, wanted);
        m_given += packets;
        m_urgent -= std::min(m_urgent, packets);
        return packets;
    }

    /// Among the packets asked for, so many are to be sent again.
    void UrgeAsked(uint32_t packets)
    {
        const auto asked = static_cast<int32_t>(m_target - m_given);
        if (asked > 0)
        {
            m_urgent = std::max(m_urgent, std::min(packets, static_cast<uint32_t>(asked)));
        }
    }

    /// Everything has come, and nothing is behind it: what is still asked for is not any more.
    void Settle()
    {
        m_target = m_given;
        m_urgent = 0;
    }

  private:
    uint32_t m_target = 0;
    uint32_t m_given = 0;
    uint32_t m_urgent = 0;
};

} // namespace rdma

#endif // RDMA_CORE_PULL_CREDITS_H
