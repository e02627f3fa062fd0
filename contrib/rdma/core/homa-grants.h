/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Homa's decisions at a receiver, without a network: which messages may go on, how far, and with
 * which priority; and the priority of what goes without a grant. Montazeri et al., Homa: A
 * Receiver-Driven Low-Latency Transport Protocol Using Network Priorities, SIGCOMM 2018. What was
 * opened: its abstract, and the author's Internet-Draft (johnousterhout/homa-rfc,
 * draft-ousterhout-tsvwg-homa-00), whose sections the comments name.
 *
 * Units: packets, counted from a connection's first one. Nothing is allocated but for the list of
 * messages, which grows with how many there have been at once.
 */
#ifndef RDMA_CORE_HOMA_GRANTS_H
#define RDMA_CORE_HOMA_GRANTS_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace rdma
{

/// Priorities of a switch that strict priority serves, the highest number first.
inline constexpr uint32_t kHomaPriorities = 8;

/// Sizes of messages up to which unscheduled packets have a priority of their own, the highest
/// first; longer ones have the next. The levels below are for scheduled packets.
class HomaPriorities
{
  public:
    /// \param cutoffs bytes, ascending, at most six
    explicit HomaPriorities(std::vector<uint64_t> cutoffs = {200, 2800, 15000})
        : m_cutoffs(std::move(cutoffs))
    {
    }

    /// \param text bytes, ascending, between commas; empty: one level for all
    /// \return whether it could be read
    static bool Parse(const std::string& text, HomaPriorities* priorities)
    {
        std::vector<uint64_t> cutoffs;
        const char* at = text.c_str();
        while (*at)
        {
            char* end;
            const uint64_t bytes = std::strtoull(at, &end, 10);
            if (end == at || *at < '0' || *at > '9' || (*end && *end != ',') || (*end && !end[1]) ||
                bytes == 0 || (!cutoffs.empty() && bytes <= cutoffs.back()))
            {
                return false;
            }
            cutoffs.push_back(bytes);
            at = *end ? end + 1 : end;
        }
        if (cutoffs.size() + 2 > kHomaPriorities)
        {
            return false;
        }
        *priorities = HomaPriorities(std::move(cutoffs));
        return true;
    }

    /// \return levels for scheduled packets: 1 or more, from priority 0 on
    uint32_t Scheduled() const
    {
        return kHomaPriorities - 1 - static_cast<uint32_t>(m_cutoffs.size());
    }

    /// \return priority of a message's unscheduled packets
    uint8_t OfMessage(uint64_t bytes) const
    {
        const auto cutoff = std::lower_bound(m_cutoffs.begin(), m_cutoffs.end(), bytes);
        return static_cast<uint8_t>(kHomaPriorities - 1 - (cutoff - m_cutoffs.begin()));
    }

    /// \param rank among the messages that are granted, 0: the fewest bytes left \param granted how
    /// many are \return priority: the lowest levels that there are, so that who comes with less has
    /// a higher one; where levels are too few, those with the most left share the lowest (section
    /// "Priorities and overcommitment")
    uint8_t OfGrant(uint32_t rank, uint32_t granted) const
    {
        const uint32_t levels = std::min(granted, Scheduled());
        return static_cast<uint8_t>(rank + 1 < levels ? levels - 1 - rank : 0);
    }

  private:
    std::vector<uint64_t> m_cutoffs;
};

/// \param left packets of a message that its sender has not sent \return its place among others at
/// the sender's NIC, of eight, the highest first: a step for each factor of four, so that messages
/// with about as much left take turns (the paper: the fewest bytes left first)
inline uint8_t
HomaTurn(uint64_t left)
{
    uint8_t turn = kHomaPriorities - 1;
    for (uint64_t most = 1; turn > 0 && left > most; most *= 4)
    {
        --turn;
    }
    return turn;
}

/// A message that comes in and has not been granted whole. Its owner fills it in, and keeps it
/// where it is while it is in a HomaGrants.
struct HomaInbound
{
    uint32_t sender = 0;   ///< its host
    uint64_t received = 0; ///< packets
    uint64_t end = 0;      ///< packets in all
    uint64_t granted = 0;  ///< packets that the sender may send
    uint64_t number = 0;   ///< in order of arrival (HomaGrants)
    bool listed = false;   ///< in a HomaGrants
    size_t place = 0;      ///< there

    uint64_t Left() const
    {
        return end - std::min(received, end);
    }

    bool IsBefore(const HomaInbound& other) const
    {
        return Left() != other.Left() ? Left() < other.Left() : number < other.number;
    }
};

/// All messages of a receiver that wait for grants, those with the fewest packets left first.
class HomaGrants
{
  public:
    static constexpr uint32_t kMost = 64; ///< most that are granted at once

    /// \param window packets that a granted message may have on their way: a round trip's
    /// \param overcommitment messages that are granted at once: 1 to kMost
    HomaGrants(uint64_t window, uint32_t overcommitment)
        : m_window(window),
          m_overcommitment(overcommitment)
    {
    }

    /// Packets of a message have come, or more of it is known.
    void Update(HomaInbound* message)
    {
        if (!message->listed)
        {
            if (message->granted >= message->end)
            {
                return;
            }
            message->listed = true;
            message->number = m_next++;
            message->place = m_waiting.size();
            m_waiting.push_back(message);
        }
        // It can only have come forward, but for a message that has grown.
        while (message->place > 0 && message->IsBefore(*m_waiting[message->place - 1]))
        {
            Exchange(message->place - 1);
        }
        while (message->place + 1 < m_waiting.size() &&
               m_waiting[message->place + 1]->IsBefore(*message))
        {
            Exchange(message->place);
        }
    }

    /// It is complete, or its connection has ended.
    void Forget(HomaInbound* message)
    {
        if (message->listed)
        {
            message->listed = false;
            m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(message->place));
            for (size_t place = message->place; place < m_waiting.size(); ++place)
            {
                m_waiting[place]->place = place;
            }
        }
    }

    /// Grants what may be granted now: as long as messages are there, `overcommitment` of them,
    /// each of another sender (sections "SRPT and Overcommitment", "One message per endpoint"),
    /// have a window's packets on their way. \param grant called with the message, how far it may
    /// send from now on, and the priority of that
    template <class Grant>
    void Give(const HomaPriorities& priorities, Grant grant)
    {
        bool whole = true;
        while (whole)
        {
            whole = false;
            std::array<HomaInbound*, kMost> chosen;
            uint32_t count = 0;
            for (HomaInbound* message : m_waiting)
            {
                const auto end = chosen.begin() + count;
                if (std::none_of(chosen.begin(), end, [message](const HomaInbound* other) {
                        return other->sender == message->sender;
                    }))
                {
                    chosen[count++] = message;
                    if (count == m_overcommitment)
                    {
                        break;
                    }
                }
            }
            for (uint32_t rank = 0; rank < count; ++rank)
            {
                HomaInbound* message = chosen[rank];
                const uint64_t limit = std::min(message->end, message->received + m_window);
                if (limit > message->granted)
                {
                    message->granted = limit;
                    grant(message, limit, priorities.OfGrant(rank, count));
                }
                if (message->granted >= message->end)
                {
                    Forget(message);
                    whole = true; // another one takes its place
                }
            }
        }
    }

    size_t Size() const
    {
        return m_waiting.size();
    }

  private:
    /// A message changes places with the one behind it.
    void Exchange(size_t place)
    {
        std::swap(m_waiting[place], m_waiting[place + 1]);
        m_waiting[place]->place = place;
        m_waiting[place + 1]->place = place + 1;
    }

    uint64_t m_window;
    uint32_t m_overcommitment;
    uint64_t m_next{0};
    std::vector<HomaInbound*> m_waiting;
};

} // namespace rdma

#endif // RDMA_CORE_HOMA_GRANTS_H
