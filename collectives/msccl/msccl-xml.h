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
 * Translation. Thread blocks at both ends of a connection, and those that wait for each other by
 * depid, become one lane (schedule.h). The thread blocks of one GPU in a lane do their steps in one
 * order: that of a run in which sends go first where they can. So less happens at once than with
 * thread blocks as threads; files without depid lose nothing. The checker proves the whole before
 * it can run.
 *
 * Limits. As in MSCCL, the file is refused for sizes that nchunksperloop does not divide, and for
 * another number of ranks. minBytes, maxBytes and proto are read and have no effect: a user who
 * names a file wants it. redop, inplace, outofplace and nchannels change nothing. i_chunks and
 * o_chunks, if given, bound the chunks of input and output that a GPU's steps use: a step beyond
 * them is refused.
 */
#ifndef COLLECTIVES_MSCCL_MSCCL_XML_H
#define COLLECTIVES_MSCCL_MSCCL_XML_H

#include "collectives/core/schedule.h"

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

/// Why an algorithm of a file has chunks that are not whole elements, for so many bytes, with the
/// line that gives the number of chunks. Empty: its chunks are whole elements, or the algorithm is
/// not from a file.
std::string WhyNoElements(const Algorithm& algorithm, uint64_t bytes, uint32_t elementBytes);

} // namespace coll

#endif // COLLECTIVES_MSCCL_MSCCL_XML_H
