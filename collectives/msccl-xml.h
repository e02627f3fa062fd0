/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Schedules that users bring: files as Microsoft's MSCCL reads them (microsoft/msccl src/graph:
 * what its parser takes; msccl-tools writes them).
 *
 *     <algo name="..." ngpus="2" nchunksperloop="2" coll="allreduce" ...>   S is 2 chunks
 *       <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="0">
 *         <tb id="0" send="1" recv="1" chan="0">                            a thread block
 *           <step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" cnt="1"
 *                 depid="-1" deps="-1" hasdep="0"/>
 *           ...
 *
 * A step is s (send), r (receive), rcs (receive, send on), rrc (receive, add to the source, into
 * the destination), rrs (the same, sent instead of kept), rrcs (kept and sent), cpy, re (add) or
 * nop; depid and deps: it waits for that step of that thread block of the same GPU. Buffers are
 * i(nput), o(utput), s(cratch); input and output are one here, as in place, but in alltoall.
 *
 * What becomes of it. Thread blocks at both ends of a connection, and those that wait for each
 * other by depid, are one lane (schedule.h); one GPU's of a lane do their steps in one order, that
 * of a run in which what can be sent is sent first. So less happens at once than where thread
 * blocks are threads: files without depid lose nothing. The whole is proved by the checker before
 * it can run.
 *
 * What MSCCL does not use the file for, this refuses: sizes that nchunksperloop does not divide, or
 * another number of ranks. minBytes, maxBytes, proto are read and say nothing here: who names a
 * file wants it. redop, inplace, outofplace and nchannels change nothing. i_chunks and o_chunks,
 * where they stand, are the chunks of input and output that a GPU's steps use at most: a step
 * beyond them is refused.
 */
#ifndef COLLECTIVES_MSCCL_XML_H
#define COLLECTIVES_MSCCL_XML_H

#include "collectives/schedule.h"

#include <memory>
#include <string>

namespace coll
{

/// Bytes of a file, at most.
constexpr uint64_t kLargestMscclFile = 32 << 20;

/// The algorithm in a file's text, proved. \param name of the file and the algorithm. null: *error
/// says why, "ring.xml:12: ..." in one line.
std::unique_ptr<Algorithm> ReadMscclXml(const std::string& text,
                                        const std::string& name,
                                        std::string* error);

/// Reads a file and registers it under its path, so that Find(op, path) has it. Empty, or why not,
/// as above. The same file twice is read again only if it changed.
std::string RegisterMscclFile(const std::string& path);

/// Of an algorithm of a file: that its chunks of so many bytes are no whole elements, with the line
/// that says how many chunks there are. Empty: they are, or the algorithm is of no file.
std::string WhyNoElements(const Algorithm& algorithm, uint64_t bytes, uint32_t elementBytes);

} // namespace coll

#endif // COLLECTIVES_MSCCL_XML_H
