/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which of the frames that come to a full queue within one frame time are lost: a lottery.
 *
 * Two senders of one rate, one full tail-drop queue: in a simulator both keep their phase for ever,
 * so the one whose frames come just after a frame has left always finds room, and the other one
 * never does (the phase effects of S. Floyd and V. Jacobson, "On Traffic Phase Effects in
 * Packet-Switched Gateways", 1991). In a real network they share the losses, as clocks, gaps and
 * pipelines move frames by more than that. Assumption here: within a frame time the order of
 * arrivals is by chance.
 *
 *     lost, without the lottery      |a   b|a   b|a   b|     room is free at |, so a has it always
 *
 * A frame that finds no room competes with those that have joined the queue by other ports within
 * the frame time before it: s of them. (Senders of one rate come a frame time after their last
 * frame, to the picosecond. Of what joined at that very time, that counts which joined after it.) A
 * place in the queue that has been competed for has a weight w, which is how many frames it has
 * been drawn from: 1 at first. The new frame belongs to each of the s places with 1/s. So it takes
 * place i with probability
 *
 *     (1/s) / (w_i + 1/s),      and then w_i += 1/s, taken or not.
 *
 * That is reservoir sampling (Vitter 1985) over places: in the end each of the w frames of a place
 * has it with probability 1/w, whatever their order. It joins at the queue's end, and the frame
 * that had the place leaves the queue, so no flow is reordered (frames of one port do not compete,
 * since their order is not by chance).
 *
 * One object a queue, made at its first loss, so queues that lose nothing cost nothing: what joined
 * before has no place to compete for. Times are ps.
 */
#ifndef RDMA_CORE_ARRIVAL_LOTTERY_H
#define RDMA_CORE_ARRIVAL_LOTTERY_H

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace rdma
{

/// \tparam Frame what is queued: a list linked by Frame::next
template <class Frame>
class ArrivalLottery
{
  public:
    /// Who leaves the queue.
    struct Loser
    {
        Frame* frame = nullptr;  ///< null: the one that has just come
        Frame* before = nullptr; ///< it in the queue; null: it is the first
    };

    /// \param ports by which frames come in
    explicit ArrivalLottery(uint32_t ports)
        : m_lastOf(ports)
    {
    }

    /// A frame joins the queue, at its end.
    void OnJoin(Frame* frame, uint16_t port, uint32_t bytes, int64_t now)
    {
        Joined& one = m_joined[m_joins++ % kJoined];
        one = {frame, now, ++m_seen, bytes, port, 1};
        m_lastOf[port] = m_seen;
        if (m_won)
        {
            one.since = m_place.since;
            one.number = m_place.number;
            one.weight = m_place.weight;
        }
        m_won = false;
    }

    /**
     * A frame has found no room: who leaves. If it is another one, the caller takes that one out of
     * the queue, and this one joins (OnJoin, next).
     *
     * \param port by which it came \param frameTime of the slower one of the links by which it
     * comes and goes \param queueBytes in the queue \param draw() uniform in [0, 1)
     */
    template <class Draw>
    Loser Lose(uint16_t port,
               uint32_t bytes,
               int64_t now,
               int64_t frameTime,
               uint64_t queueBytes,
               const Draw& draw)
    {
        std::array<Place, kJoined> places;
        const uint32_t n = FindPlaces(places, port, bytes, now - frameTime, queueBytes);
        m_lastOf[port] = ++m_seen;
        if (n == 0)
        {
            return {};
        }
        const double share = 1. / n;
        double left = draw();
        Loser loser;
        uint64_t taken = 0;
        for (uint32_t i = 0; i < n; ++i)
        {
            Joined& one = At(places[i].number);
            one.weight += share;
            if (!loser.frame && left < share / one.weight)
            {
                loser = {one.frame, places[i].before};
                taken = places[i].number;
            }
            left -= share / one.weight;
        }
        if (loser.frame)
        {
            m_won = true;
            m_place = At(taken);
            Forget(taken);
        }
        return loser;
    }

    /// The frame that has won a place does not join after all.
    void Forfeit()
    {
        m_won = false;
    }

  private:
    static constexpr uint32_t kJoined = 16; ///< power of 2; more than a frame time has, mostly
    static constexpr int64_t kLongAgo = INT64_MIN;

    /// A frame that has joined, and its place.
    struct Joined
    {
        Frame* frame = nullptr;
        int64_t since = kLongAgo; ///< when the place's first frame joined
        uint64_t number = 0;      ///< of that frame, among all that came
        uint32_t bytes = 0;
        uint16_t port = 0;
        double weight = 1;
    };

    /// One that may be competed for.
    struct Place
    {
        uint64_t number;
        Frame* before; ///< in the queue; null: it is the first
    };

    /// \param number from 1
    Joined& At(uint64_t number)
    {
        return m_joined[(number - 1) % kJoined];
    }

    /// A queue holds the frames that joined it last, so a frame is in it if all from it on are no
    /// more than the queue's bytes. \return how many
    uint32_t FindPlaces(std::array<Place, kJoined>& places,
                        uint16_t port,
                        uint32_t bytes,
                        int64_t since,
                        uint64_t queueBytes)
    {
        uint32_t n = 0;
        uint64_t behind = 0;
        for (uint64_t k = m_joins; k > 0 && k + kJoined > m_joins; --k)
        {
            const Joined& one = At(k);
            behind += one.bytes;
            if (!one.frame || behind > queueBytes)
            {
                break;
            }
            const bool first = behind == queueBytes;
            // The frame before it, if it is remembered and in the queue. The last test is for
            // frames that joined without a word: a node's own.
            const bool known = !first && k > 1 && k + kJoined - 1 > m_joins;
            Frame* before = known ? At(k - 1).frame : nullptr;
            const bool follows =
                before && behind + At(k - 1).bytes <= queueBytes && before->next == one.frame;
            const bool recent =
                one.since > since || (one.since == since && one.number > m_lastOf[port]);
            if (recent && one.port != port && one.bytes >= bytes && (first || follows))
            {
                places[n++] = {k, before};
            }
        }
        return n;
    }

    /// It is not in the queue any more: those that joined later move up.
    void Forget(uint64_t number)
    {
        Joined moved; // so the oldest one's slot, behind the newest, is free again
        for (uint64_t k = m_joins; k >= number; --k)
        {
            std::swap(moved, At(k));
        }
        --m_joins;
    }

    std::array<Joined, kJoined> m_joined; ///< the last frames that joined, as a ring
    uint64_t m_joins = 0;                 ///< entries ever written, less forgotten ones
    bool m_won = false;                   ///< the next frame to join has won m_place
    Joined m_place;
    uint64_t m_seen = 0;            ///< frames that came
    std::vector<uint64_t> m_lastOf; ///< the last one of them, by port
};

} // namespace rdma

#endif // RDMA_CORE_ARRIVAL_LOTTERY_H
