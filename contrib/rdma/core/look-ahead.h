/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How the delay of a link between two processes is spent.
 *
 * A frame that starts to be sent at t is at the other end at t + delay + serialization, and not
 * before t + delay. The delay is split in two:
 *
 *     t ........ t + hold .................. t + hold + lookAhead <= t + delay
 *       collect            message under way                       first frame of it
 *
 * Frames are collected for at most `hold` after the first one, so that many cross in one message;
 * the message is "received" `lookAhead` after it is sent, in simulated time, and that is how far a
 * conservative parallel simulator may let the processes run apart. A larger share for `hold` means
 * fewer messages, a larger one for `lookAhead` fewer synchronizations.
 */
#ifndef RDMA_CORE_LOOK_AHEAD_H
#define RDMA_CORE_LOOK_AHEAD_H

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rdma
{

struct LookAhead
{
    int64_t holdPs = 0;      ///< a frame waits at most so long for others
    int64_t lookAheadPs = 0; ///< from sending a message to receiving it; more than 0
};

/**
 * Split the delay of a link, or the smallest of several links. \param tickPs resolution of the
 * simulator's clock, ps: both parts are whole ticks, and a tick is kept back when it is more than a
 * picosecond (the event of a frame may then come up to a tick late). \param holdShare of the delay
 * for collecting, 0 to 1 (a half: assumed). \return nothing if the delay is too short: it must be
 * positive, at a coarse resolution two ticks
 */
inline std::optional<LookAhead>
SplitDelay(int64_t delayPs, int64_t tickPs = 1, double holdShare = 0.5)
{
    const int64_t late = tickPs > 1 ? tickPs : 0;
    const int64_t usable = (delayPs - late) / tickPs * tickPs;
    if (delayPs <= late || usable < tickPs)
    {
        return std::nullopt;
    }
    LookAhead split;
    split.holdPs = static_cast<int64_t>(static_cast<double>(usable) * holdShare) / tickPs * tickPs;
    split.holdPs = std::clamp<int64_t>(split.holdPs, 0, usable - tickPs);
    split.lookAheadPs = usable - split.holdPs;
    return split;
}

} // namespace rdma

#endif // RDMA_CORE_LOOK_AHEAD_H
