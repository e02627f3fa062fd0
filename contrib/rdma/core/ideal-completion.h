/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Completion time on an idle path, exactly: store-and-forward links in a row, frames sent back to
 * back.
 *
 * Frame j leaves link i (0-based) completely at
 *
 *   F(i, j) = max( F(i-1, j) + delay(i-1) + pipeline(i-1),  F(i, j-1) ) + s(i, j)
 *
 * with s the serialization time of its wire bytes, rounded to picoseconds frame by frame as the
 * simulator does it, and F(0, 0) = 0. That is a recurrence in (max, +): F(i, j) is the heaviest of
 * the monotone walks through the grid of links x frames. Over n equal frames that enter at link k
 * with link k free at x(k), the heaviest walk to link i crosses every link once and spends its
 * other n - 1 steps on the slowest, so
 *
 *   F(i, n) = max over k <= i of  x(k) + sum s(k..i) + (n - 1) max s(k..i) + sum of delays and
 *                                 pipelines (k..i-1)
 *
 * and a run of any length costs O(links^2).
 *
 * A node that cuts through passes a frame on from its first bit on: then the link before it adds no
 * s to the crossing,
 *
 *   F(i, j) = max( F(i-1, j) - s(i-1, j) + delay(i-1) + pipeline(i-1),  F(i, j-1) ) + s(i, j)
 *
 * but to a link that is faster it has to wait for the last bit, as if it stored and forwarded.
 *
 * Acknowledged at the sender: the path goes on with the links back, which carry an ACK where the
 * others carry the frame. A frame without an ACK takes no time there and, being ahead of what comes
 * after it, holds nothing up.
 */
#ifndef RDMA_CORE_IDEAL_COMPLETION_H
#define RDMA_CORE_IDEAL_COMPLETION_H

#include "frame-sizes.h"
#include "roce-sizes.h"
#include "units.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace rdma
{

/// One link of a path and the node behind it.
struct PathLink
{
    BitRate rate;
    Duration delay; ///< propagation
    Duration
        pipeline; ///< latency of the node behind the link, before it can send on; 0 at the receiver
    Duration timeUnit{
        1}; ///< serialization times are cut to multiples of this; at 1 ps they are rounded
    bool carriesAcks = false; ///< a link back to the sender
    bool cutThrough =
        false;           ///< the node behind the link passes frames on to links that are not faster
    Duration headers{0}; ///< and has to have so much of a frame before
};

/// Equal frames in a row.
struct FrameRun
{
    Bytes wireBytes; ///< with preamble and gap
    uint64_t count = 0;
    Bytes ackWireBytes; ///< of the ACK of each, on links that carry ACKs; 0: none
};

/// When each link of a path has sent all frames, from the start of sending the first one on the
/// first link. All zero if there is nothing to send. Throws std::invalid_argument for a path
/// without links or a link without rate.
inline std::vector<Duration>
IdealEnds(const std::vector<PathLink>& path, const std::vector<FrameRun>& runs)
{
    if (path.empty())
    {
        throw std::invalid_argument("ideal completion: the path has no links");
    }
    for (const auto& link : path)
    {
        if (link.rate.bps == 0)
        {
            throw std::invalid_argument("ideal completion: a link has no rate");
        }
    }
    const size_t links = path.size();
    std::vector<Duration> freeAt(links); // x: when each link has sent all frames so far
    std::vector<Duration> next(links);
    std::vector<Duration> serialization(links);
    for (const auto& run : runs)
    {
        if (run.count == 0)
        {
            continue;
        }
        for (size_t i = 0; i < links; ++i)
        {
            serialization[i] =
                SerializationTime(path[i].carriesAcks ? run.ackWireBytes : run.wireBytes,
                                  path[i].rate,
                                  path[i].timeUnit);
            next[i] = Duration(0);
        }
        for (size_t k = 0; k < links; ++k)
        {
            Duration crossing = freeAt[k]; // of one frame, from link k up to the start on link i
            Duration slowest(0);
            for (size_t i = k; i < links; ++i)
            {
                slowest = std::max(slowest, serialization[i]);
                next[i] = std::max(next[i],
                                   crossing + slowest * static_cast<int64_t>(run.count - 1) +
                                       serialization[i]);
                const bool passedOn =
                    path[i].cutThrough && i + 1 < links && path[i + 1].rate.bps <= path[i].rate.bps;
                crossing +=
                    path[i].delay + path[i].pipeline +
                    (passedOn ? std::min(path[i].headers, serialization[i]) : serialization[i]);
            }
        }
        freeAt.swap(next);
    }
    return freeAt;
}

/// From the start of sending the first frame to the delivery of the last one (end of its occupancy
/// of the last link, propagation and the last pipeline included). Zero if there is nothing to send.
/// Throws as IdealEnds.
inline Duration
IdealCompletion(const std::vector<PathLink>& path, const std::vector<FrameRun>& runs)
{
    const Duration sent = IdealEnds(path, runs).back();
    const bool any =
        std::any_of(runs.begin(), runs.end(), [](const FrameRun& run) { return run.count > 0; });
    return any ? sent + path.back().delay + path.back().pipeline : Duration(0);
}

/// As IdealCompletion where each packet may take a path of its own, as like the others as can be,
/// between the first link and the receiver's: no bottleneck in between, and frames overtake. Each
/// run as if only the first link had carried the runs before it; of all, the latest. No order of
/// arrival is earlier.
inline Duration
IdealOvertaking(const std::vector<PathLink>& path, const std::vector<FrameRun>& runs)
{
    Duration before(0);
    Duration latest(0);
    for (const FrameRun& run : runs)
    {
        if (run.count == 0)
        {
            continue;
        }
        const PathLink* last = &path.front(); // to the receiver
        for (const PathLink& link : path)
        {
            last = link.carriesAcks ? last : &link;
        }
        const auto serialization = [&run](const PathLink& link) {
            return SerializationTime(run.wireBytes, link.rate, link.timeUnit);
        };
        const Duration apart = std::max(serialization(path.front()), serialization(*last));
        FrameRun one = run;
        one.count = 1;
        latest = std::max(latest,
                          before + IdealCompletion(path, {one}) +
                              apart * static_cast<int64_t>(run.count - 1));
        before += serialization(path.front()) * static_cast<int64_t>(run.count);
    }
    return latest;
}

namespace detail
{

/// The frames of a message cut into requests of 2^31 B (or what `sizes` says) and packets of the
/// MTU; the opcode of each packet is opcodeOf(first, last, with immediate).
template <typename OpcodeOf>
std::vector<FrameRun>
MessageRuns(Bytes message,
            uint32_t mtu,
            bool withImmediate,
            const FrameSizes& sizes,
            OpcodeOf opcodeOf)
{
    if (mtu == 0)
    {
        throw std::invalid_argument("frames of a message: the MTU is zero");
    }
    std::vector<FrameRun> runs;
    const auto add = [&](RoceOpcode opcode, uint64_t payload, uint64_t count) {
        const Bytes wire(sizes.DataWire(opcode, static_cast<uint32_t>(payload)));
        if (count == 0)
        {
            return;
        }
        if (!runs.empty() && runs.back().wireBytes == wire)
        {
            runs.back().count += count;
        }
        else
        {
            runs.push_back({wire, count, Bytes(0)});
        }
    };
    uint64_t left = message.value;
    do
    {
        const uint64_t request = std::min(left, sizes.requestBytes);
        left -= request;
        const bool immediate = withImmediate && left == 0;
        const uint64_t packets = std::max<uint64_t>(1, (request + mtu - 1) / mtu);
        const uint64_t tail = request - (packets - 1) * mtu;
        if (packets > 1)
        {
            add(opcodeOf(true, false, false), mtu, 1);
            add(opcodeOf(false, false, false), mtu, packets - 2);
        }
        add(opcodeOf(packets == 1, true, immediate), tail, 1);
    } while (left > 0);
    return runs;
}

} // namespace detail

/// The frames of an RDMA WRITE of `message` bytes in the order they are sent: requests of 2^31 B
/// (the last one shorter), each cut to the MTU. An immediate goes with the last request. A message
/// of 0 bytes is one packet. `sizes` may have other headers and longer requests. Throws
/// std::invalid_argument for an MTU of zero, as all of these.
inline std::vector<FrameRun>
RoceWriteRuns(Bytes message, uint32_t mtu, bool withImmediate = false, const FrameSizes& sizes = {})
{
    return detail::MessageRuns(message, mtu, withImmediate, sizes, WriteOpcode);
}

/// The same of a SEND, which is one request of at most 2^31 B.
inline std::vector<FrameRun>
RoceSendRuns(Bytes message, uint32_t mtu, bool withImmediate = false, const FrameSizes& sizes = {})
{
    return detail::MessageRuns(message, mtu, withImmediate, sizes, SendOpcode);
}

/// The same of the responses to an RDMA READ.
inline std::vector<FrameRun>
RoceReadResponseRuns(Bytes message, uint32_t mtu, const FrameSizes& sizes = {})
{
    return detail::MessageRuns(message, mtu, false, sizes, [](bool first, bool last, bool) {
        return ReadResponseOpcode(first, last);
    });
}

/// Gives every frame an ACK, or the last one only if there is one for several packets. (An ACK
/// before the last one can hold the last one up, by less than its own length: left out.)
inline void
AddAcks(std::vector<FrameRun>& runs, Bytes ackWire, bool everyFrame)
{
    if (runs.empty())
    {
        return;
    }
    if (everyFrame)
    {
        for (auto& run : runs)
        {
            run.ackWireBytes = ackWire;
        }
        return;
    }
    FrameRun last = runs.back();
    last.count = 1;
    last.ackWireBytes = ackWire;
    --runs.back().count;
    runs.push_back(last);
}

} // namespace rdma

#endif // RDMA_CORE_IDEAL_COMPLETION_H
