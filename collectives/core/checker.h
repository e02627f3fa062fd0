/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Proves a schedule by running it on symbols instead of numbers.
 *
 * Every byte of every rank's buffer holds, instead of a value, the set of contributions that were
 * added up in it: their ranks, and the byte in each rank's buffer. Bytes with the same content are
 * kept as intervals. Lanes run as processes that send without blocking and block in receives; a
 * message carries what the buffer held when it was posted, first in first out per (sender, lane,
 * receiver).
 *
 * One run is enough. A lane never chooses: it receives from the peer its next step names (a Kahn
 * process network), so messages, results and deadlocks do not depend on timing as long as lanes of
 * one rank do not touch the same bytes. And lanes can only exchange messages with lanes of their
 * own number, so lanes of one rank are never ordered: any byte written by one and touched by
 * another is a race, and is reported.
 *
 * Scratch (schedule.h) is part of what a rank receives into and holds nothing at first; a local
 * step is a read and a write of its lane. Network nodes run as ranks do. Their buffer holds nothing
 * at first, and its final content is not checked. The bytes that a node has in use are counted
 * (state-bytes.h).
 *
 * Reported as problems: peers or bytes out of range, a rank that sends to itself, lengths that
 * differ between sender and receiver, a contribution added twice, bytes added that belong to
 * different offsets or hold nothing yet, deadlock, messages never received, races between lanes,
 * and a final state that is not exactly the one the operation promises:
 *
 *     all_reduce       every byte of every rank: all n contributions, once
 *     reduce_scatter   piece r at rank r: all n contributions, once
 *     all_gather       every rank: piece j from rank j
 *     broadcast        every rank: the root's bytes
 *     reduce           the root: every byte, all n contributions, once
 *     gather           the root: piece j from rank j
 *     scatter          piece r at rank r, from the root
 *     alltoall         block i of rank r: piece r of rank i (own block: a local copy, given)
 *     alltoallv        the same, of blocks of given sizes
 *     sendrecv         rank r: all of rank r - 1 (a single rank: a local copy, given)
 *     barrier          no rank has finished before every rank has begun
 */
#ifndef COLLECTIVES_CORE_CHECKER_H
#define COLLECTIVES_CORE_CHECKER_H

#include "collectives/core/schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace coll
{

/// Where a schedule is wrong.
struct StepPlace
{
    Rank member = kNoRank; ///< a rank, or a network node
    Lane lane = 0;
    std::optional<StepIndex> step; ///< nothing: none of the member's steps wrote the bytes
};

struct CheckReport
{
    /// Empty: proved. At most a few dozen; the run stops at the first wrong step.
    std::vector<std::string> problems;
    /// The place of the first problem, for the author of the schedule. It is the step that is
    /// wrong, that waits for ever, whose message is never received, that races, or that was the
    /// last to write bytes other than the promised ones.
    StepPlace place;

    uint64_t messages = 0;       ///< messages of ranks and of network nodes
    uint64_t totalBytes = 0;     ///< bytes of ranks and of network nodes
    uint64_t longestChain = 0;   ///< messages that wait for one another, as Cost::chain
    uint64_t largestMessage = 0; ///< bytes
    /// By member: ranks first, then network nodes; so are the next four.
    std::vector<uint64_t> bytesSent;
    std::vector<uint64_t> messagesSent;
    std::vector<uint64_t> messagesReceived;
    std::vector<uint64_t> bytesReduced;
    std::vector<uint64_t> bytesCopied; ///< by local steps that do not add
    /// By server, in order of first appearance; empty without a placement. The switch of a server
    /// is part of it. A switch between servers is part of none: data to it leave the server, and
    /// the data it sends count for no server.
    std::vector<uint64_t> bytesOutOfServer;
    std::vector<uint64_t> bytesIntoServer; ///< bytes that come into a server, counted likewise
    /// By network node, from 0 on: most bytes in use at once (MostBytesInUse, state-bytes.h), for
    /// Schedule::StateBytes.
    std::vector<uint64_t> stateBytes;

    /**
     * No lane changes bytes of a send before it can know that the message has arrived. So a NIC may
     * read them late (RDMA without staging). The contract does not demand this; a schedule that
     * breaks it says so: Schedule::CopiesOut.
     */
    bool zeroCopySafe = true;

    bool Ok() const
    {
        return problems.empty();
    }

    std::string Problems() const;
};

struct CheckOptions
{
    const Placement* placement = nullptr; ///< for bytesOutOfServer, bytesIntoServer
    bool zeroCopy = true;                 ///< track it: O(n) time and memory a message
};

CheckReport Check(const Schedule& schedule, const CheckOptions& options = {});

} // namespace coll

#endif // COLLECTIVES_CORE_CHECKER_H
