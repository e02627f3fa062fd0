/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A schedule from a file (msccl-xml.h) as it is written there, and in lanes.
 */
#ifndef COLLECTIVES_MSCCL_MSCCL_PROGRAM_H
#define COLLECTIVES_MSCCL_MSCCL_PROGRAM_H

#include "collectives/core/schedule.h"

#include <string>
#include <vector>

namespace coll
{

struct MscclStep
{
    enum class Type : uint8_t
    {
        kSend,
        kRecv,
        kRecvCopySend,
        kRecvReduceCopy,
        kRecvReduceSend,
        kRecvReduceCopySend,
        kCopy,
        kReduce,
        kNop,
    };

    Type type = Type::kNop;
    /// Chunks of the rank's buffer and the scratch behind it; of alltoall's input if fromInput.
    uint64_t source = 0;
    uint64_t destination = 0;
    uint64_t count = 0;
    bool fromInput = false;
    int64_t afterBlock = -1; ///< a block's id; -1: none
    int64_t afterStep = -1;
    uint32_t line = 0;

    bool Receives() const
    {
        return type == Type::kRecv || type == Type::kRecvCopySend ||
               type == Type::kRecvReduceCopy || type == Type::kRecvReduceSend ||
               type == Type::kRecvReduceCopySend;
    }

    bool Sends() const
    {
        return type == Type::kSend || type == Type::kRecvCopySend ||
               type == Type::kRecvReduceSend || type == Type::kRecvReduceCopySend;
    }
};

/// A thread block.
struct MscclBlock
{
    int64_t id = 0;
    Rank send = kNoRank;
    Rank recv = kNoRank;
    uint32_t channel = 0;
    uint32_t line = 0;
    std::vector<MscclStep> steps;
};

struct MscclGpu
{
    bool given = false;
    uint32_t line = 0;
    uint64_t scratch = 0; ///< chunks
    std::vector<MscclBlock> blocks;
};

struct MscclProgram
{
    Op op = Op::kAllReduce;
    Rank root = 0;
    uint64_t chunks = 0; ///< number of chunks that S is cut into
    uint32_t line = 0;   ///< line of the <algo> tag
    std::vector<MscclGpu> gpus;
};

/// A step of a lane: as Step, in chunks.
struct ChunkStep
{
    Rank recvPeer = kNoRank;
    Rank sendPeer = kNoRank;
    bool reduce = false;
    bool local = false;
    bool fromInput = false;
    uint64_t recvChunk = 0;
    uint64_t sendChunk = 0;
    uint64_t count = 0;
    uint32_t line = 0; ///< line in the file
};

struct MscclLanes
{
    std::vector<uint32_t> channels; ///< by lane
    /// By rank and lane.
    std::vector<std::vector<std::vector<ChunkStep>>> steps;
    std::vector<uint64_t> scratch; ///< chunks, by rank
};

/// The text of a file, read; false: *error says why, with a line.
bool ParseMscclProgram(const std::string& text,
                       const std::string& name,
                       MscclProgram* program,
                       std::string* error);

/// Its thread blocks as lanes; false: they wait for each other for ever, or are too many.
bool OrderMscclProgram(const MscclProgram& program,
                       const std::string& name,
                       MscclLanes* lanes,
                       std::string* error);

} // namespace coll

#endif // COLLECTIVES_MSCCL_MSCCL_PROGRAM_H
