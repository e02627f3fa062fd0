/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How far the credits of a lane reach: whether a receive buffer keeps a link of some length busy.
 *
 *   sender                 a packet: t on the line                 receiver
 *     |---- delay ---->|  latency of the switch  |-- t: it leaves --|
 *                                                   u - 1 more packets, t each
 *     |<--- delay ---- update, behind a frame that was under way ---|
 *
 * A buffer holds p whole packets. Packets follow each other without a gap if the credits of the
 * first are back before p have been sent. They come back with those of the u packets that an update
 * is sent for, so
 *
 *   full rate   <=>   p t >= u t + 2 delay + latency + blocking + update
 *
 * where u t is the packet itself and those that the update waits for. Less than that and the line
 * is idle while the sender waits: its share is about p t over the right side (exactly if u = 1).
 * `blocking` is 0 if the other direction carries nothing, at most a packet of the other direction
 * if it does.
 *
 * A channel adapter takes a packet out of its buffer when its last bit has come, which is the same
 * without a latency. A packet that a switch does not pass on while it comes (to a faster link)
 * stays for its time on that link longer; `latency` has to include it.
 *
 * Law, asserted in tests against the simulation: see above, both ways.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_CREDIT_REACH_H
#define CONTRIB_RDMA_CORE_IB_IB_CREDIT_REACH_H

#include "contrib/rdma/core/units.h"
#include "ib-credits.h"
#include "ib-sizes.h"

#include <algorithm>
#include <cstdint>

namespace rdma
{

/// Share of a lane's buffer that has to become free until the sender is told at once (assumed).
constexpr double kIbUpdateShare = 0.25;

/// Most bytes that the credits of a lane can tell, with credit blocks of 64 x 2^shift bytes.
constexpr uint64_t
IbMostLaneBytes(uint32_t shift = 0)
{
    return uint64_t{kIbBlockBytes} * kIbCreditWindow << shift;
}

/// Bytes that a lane's buffer has at least: the largest packet, and what rounding to large blocks
/// may hide on both sides.
constexpr uint64_t
IbLeastLaneBytes(uint32_t mtu, uint32_t shift = 0)
{
    return uint64_t{kIbBlockBytes} * (IbLargestPacketBlocks(mtu) + (shift ? 2U << shift : 0));
}

/// Blocks of 64 bytes that have to become free until the sender is told at once. What is not told
/// leaves room for a packet, or the sender would wait for the timer; and it makes a whole credit
/// block at least.
inline uint32_t
IbUpdateBlocks(uint32_t bufferBlocks,
               double share,
               uint32_t largestPacketBlocks,
               uint32_t shift = 0)
{
    const uint32_t hidden = shift ? 2U << shift : 0;
    const uint32_t spare = bufferBlocks - std::min(bufferBlocks, largestPacketBlocks + hidden);
    const uint32_t wanted = static_cast<uint32_t>(share * static_cast<double>(bufferBlocks));
    return std::max<uint32_t>(1U << shift, std::min(wanted, spare));
}

/// One lane of one direction of a link.
struct IbCreditLoop
{
    uint32_t bufferBlocks = 0; ///< 64 B each
    uint32_t updateBlocks = 1;
    uint32_t shift = 0; ///< of credit blocks
    uint32_t packetBlocks = 1;
    uint32_t otherBlocks =
        0;            ///< of the buffer that other frames take: ACKs of the other direction, 1 each
    Duration packet;  ///< on the line
    Duration delay;   ///< one way: propagation and error correction
    Duration latency; ///< of the receiver, if it is a switch
    Duration update;  ///< a flow-control packet on the line
    Duration blocking; ///< of it by a frame of the other direction

    /// Whole packets that the credits allow to be sent.
    uint32_t Packets() const
    {
        return (bufferBlocks - std::min(bufferBlocks, (1U << shift) - 1 + otherBlocks)) /
               packetBlocks;
    }

    /// From the first bit of a packet until its credits are back.
    Duration RoundTrip() const
    {
        const int64_t together = (updateBlocks + packetBlocks - 1) / packetBlocks;
        return Duration(together * packet.ps + 2 * delay.ps + latency.ps + update.ps + blocking.ps);
    }

    bool Covers() const
    {
        return Packets() * packet.ps >= RoundTrip().ps;
    }

    /// Share of the link's rate that the lane gets when it is alone, at most 1.
    double Share() const
    {
        return std::min(1.0,
                        static_cast<double>(Packets() * packet.ps) /
                            static_cast<double>(RoundTrip().ps));
    }

    /// The longest delay, one way, at which it still covers the round trip; below 0: at none.
    Duration LongestDelay() const
    {
        return Duration((Packets() * packet.ps - RoundTrip().ps + 2 * delay.ps) >> 1);
    }
};

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_CREDIT_REACH_H
