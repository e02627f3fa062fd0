/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Thread blocks of a file (msccl-xml.h) become lanes. Blocks that have to be in one lane are found
 * by joining; then all blocks of all GPUs run once, as far as they can, and each GPU's lane keeps
 * the order in which its steps were done. Any such order ends; this one sends as soon as it can.
 */
#include "collectives/msccl/msccl-program.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace coll
{

namespace
{

constexpr std::size_t kMostLanes = 4096;

class Ordering
{
  public:
    Ordering(const MscclProgram& program, const std::string& name, MscclLanes* lanes)
        : m_program(program),
          m_name(name),
          m_lanes(*lanes)
    {
        for (Rank gpu = 0; gpu < program.gpus.size(); gpu++)
        {
            for (const MscclBlock& block : program.gpus[gpu].blocks)
            {
                m_numberOf[{gpu, block.id}] = m_blocks.size();
                m_blocks.push_back({gpu, &block, 0, {}});
            }
        }
        m_joined.resize(m_blocks.size());
        std::iota(m_joined.begin(), m_joined.end(), 0U);
    }

    bool Do(std::string* error)
    {
        const bool good = Join() && FindLanes() && Run();
        *error = m_error;
        return good;
    }

  private:
    struct Block
    {
        Rank gpu;
        const MscclBlock* block;
        std::size_t next;                                ///< step
        std::multimap<std::size_t, std::size_t> waiters; ///< by step: blocks
    };

    bool Fail(uint32_t line, const std::string& problem)
    {
        m_error = m_name + ":" + std::to_string(line) + ": " + problem;
        return false;
    }

    std::size_t Root(std::size_t i)
    {
        while (m_joined[i] != i)
        {
            m_joined[i] = m_joined[m_joined[i]];
            i = m_joined[i];
        }
        return i;
    }

    void Unite(std::size_t a, std::size_t b)
    {
        m_joined[Root(a)] = Root(b);
    }

    /// Both ends of a connection, and what waits for each other.
    bool Join()
    {
        std::map<std::tuple<Rank, Rank, uint32_t>, std::size_t> senders;
        for (std::size_t i = 0; i < m_blocks.size(); i++)
        {
            const auto& [gpu, block, next, waiters] = m_blocks[i];
            if (block->send != kNoRank &&
                !senders.try_emplace({gpu, block->send, block->channel}, i).second)
            {
                return Fail(block->line,
                            "a second <tb> that sends to " + std::to_string(block->send) +
                                " on channel " + std::to_string(block->channel));
            }
            if (block->recv != kNoRank &&
                !m_receiver.try_emplace({block->recv, gpu, block->channel}, i).second)
            {
                return Fail(block->line,
                            "a second <tb> that receives from " + std::to_string(block->recv) +
                                " on channel " + std::to_string(block->channel));
            }
        }
        for (const auto& [connection, receiver] : m_receiver)
        {
            const auto sender = senders.find(connection);
            if (sender != senders.end())
            {
                Unite(sender->second, receiver);
            }
        }
        for (std::size_t i = 0; i < m_blocks.size(); i++)
        {
            for (const MscclStep& step : m_blocks[i].block->steps)
            {
                if (step.afterBlock < 0)
                {
                    continue;
                }
                const auto other = m_numberOf.find({m_blocks[i].gpu, step.afterBlock});
                if (other == m_numberOf.end() || step.afterStep < 0 ||
                    static_cast<std::size_t>(step.afterStep) >=
                        m_blocks[other->second].block->steps.size())
                {
                    return Fail(step.line,
                                "waits for step " + std::to_string(step.afterStep) + " of <tb> " +
                                    std::to_string(step.afterBlock) + ", which is not there");
                }
                Unite(i, other->second);
            }
        }
        return true;
    }

    /// Joined blocks get the first lane of their channel that none of their GPUs has given away.
    bool FindLanes()
    {
        std::map<std::size_t, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < m_blocks.size(); i++)
        {
            groups[Root(i)].push_back(i);
        }
        std::map<uint32_t, std::vector<Lane>> ofChannel;
        std::vector<std::set<Lane>> taken(m_program.gpus.size());
        m_laneOf.resize(m_blocks.size());
        for (const auto& [root, blocks] : groups)
        {
            uint32_t channel = UINT32_MAX;
            for (const std::size_t i : blocks)
            {
                channel = std::min(channel, m_blocks[i].block->channel);
            }
            std::vector<Lane>& lanes = ofChannel[channel];
            const auto isFree = [&](Lane lane) {
                for (const std::size_t i : blocks)
                {
                    if (taken[m_blocks[i].gpu].count(lane) != 0)
                    {
                        return false;
                    }
                }
                return true;
            };
            auto lane = std::find_if(lanes.begin(), lanes.end(), isFree);
            if (lane == lanes.end())
            {
                if (m_lanes.channels.size() == kMostLanes)
                {
                    return Fail(m_blocks[blocks[0]].block->line,
                                "thread blocks for more than " + std::to_string(kMostLanes) +
                                    " lanes");
                }
                lanes.push_back(static_cast<Lane>(m_lanes.channels.size()));
                m_lanes.channels.push_back(channel);
                lane = lanes.end() - 1;
            }
            for (const std::size_t i : blocks)
            {
                taken[m_blocks[i].gpu].insert(*lane);
                m_laneOf[i] = *lane;
            }
        }
        return true;
    }

    bool Run()
    {
        m_lanes.steps.assign(m_program.gpus.size(),
                             std::vector<std::vector<ChunkStep>>(m_lanes.channels.size()));
        m_lanes.scratch.clear();
        for (const MscclGpu& gpu : m_program.gpus)
        {
            m_lanes.scratch.push_back(gpu.scratch);
        }
        for (std::size_t i = 0; i < m_blocks.size(); i++)
        {
            Consider(i);
        }
        while (!m_ready.empty() || !m_receiving.empty())
        {
            auto& queue = m_ready.empty() ? m_receiving : m_ready;
            const std::size_t i = queue.front();
            queue.pop_front();
            if (CanGo(i))
            {
                Go(i);
                Consider(i);
            }
        }
        for (const Block& block : m_blocks)
        {
            if (block.next < block.block->steps.size())
            {
                return Fail(block.block->steps[block.next].line,
                            "GPU " + std::to_string(block.gpu) + " waits here for ever");
            }
        }
        return true;
    }

    const MscclStep* NextOf(const Block& block) const
    {
        return block.next < block.block->steps.size() ? &block.block->steps[block.next] : nullptr;
    }

    /// Messages under way between two GPUs on a lane: the channels they were sent on.
    std::deque<uint32_t>& Queue(Rank from, Rank to, Lane lane)
    {
        return m_queues[{from, to, lane}];
    }

    /// Puts a block in line if it may be able to go on.
    void Consider(std::size_t i)
    {
        if (const MscclStep* step = NextOf(m_blocks[i]))
        {
            (step->Receives() ? m_receiving : m_ready).push_back(i);
        }
    }

    bool CanGo(std::size_t i)
    {
        Block& block = m_blocks[i];
        const MscclStep* step = NextOf(block);
        if (!step)
        {
            return false;
        }
        if (step->afterBlock >= 0)
        {
            const std::size_t other = m_numberOf.at({block.gpu, step->afterBlock});
            const auto after = static_cast<std::size_t>(step->afterStep);
            if (m_blocks[other].next <= after)
            {
                m_blocks[other].waiters.emplace(after, i);
                return false;
            }
        }
        if (step->Receives())
        {
            const auto& queue = Queue(block.block->recv, block.gpu, m_laneOf[i]);
            return !queue.empty() && queue.front() == block.block->channel;
        }
        return true;
    }

    void Go(std::size_t i)
    {
        Block& block = m_blocks[i];
        const MscclStep& step = *NextOf(block);
        const Lane lane = m_laneOf[i];
        Write(block, step, lane);
        if (step.Receives())
        {
            auto& queue = Queue(block.block->recv, block.gpu, lane);
            queue.pop_front();
            if (!queue.empty())
            {
                Wake(block.block->recv, block.gpu, queue.front());
            }
        }
        if (step.Sends())
        {
            auto& queue = Queue(block.gpu, block.block->send, lane);
            queue.push_back(block.block->channel);
            if (queue.size() == 1)
            {
                Wake(block.gpu, block.block->send, block.block->channel);
            }
        }
        const auto [begin, end] = block.waiters.equal_range(block.next);
        for (auto waiter = begin; waiter != end; ++waiter)
        {
            Consider(waiter->second);
        }
        block.waiters.erase(begin, end);
        block.next++;
    }

    void Wake(Rank from, Rank to, uint32_t channel)
    {
        const auto receiver = m_receiver.find({from, to, channel});
        if (receiver != m_receiver.end())
        {
            Consider(receiver->second);
        }
    }

    /// One step of a block is up to two of a lane.
    void Write(const Block& block, const MscclStep& step, Lane lane)
    {
        using Type = MscclStep::Type;
        std::vector<ChunkStep>& steps = m_lanes.steps[block.gpu][lane];
        const auto move = [&](uint64_t from, uint64_t to, bool reduce) {
            ChunkStep local;
            local.local = true;
            local.reduce = reduce;
            local.fromInput = step.fromInput;
            local.sendChunk = from;
            local.recvChunk = to;
            local.count = step.count;
            local.line = step.line;
            if (from != to || step.fromInput)
            {
                steps.push_back(local);
            }
        };
        ChunkStep one;
        one.count = step.count;
        one.line = step.line;
        uint64_t place = step.destination;
        switch (step.type)
        {
        case Type::kNop:
            return;
        case Type::kCopy:
        case Type::kReduce:
            move(step.source, step.destination, step.type == Type::kReduce);
            return;
        case Type::kSend:
            one.fromInput = step.fromInput;
            place = step.source;
            break;
        case Type::kRecv:
        case Type::kRecvCopySend:
            break;
        case Type::kRecvReduceSend:
            // The sum is not kept anywhere: it gets a place of its own in the scratch.
            place = m_program.chunks + m_lanes.scratch[block.gpu];
            m_lanes.scratch[block.gpu] += step.count;
            [[fallthrough]];
        case Type::kRecvReduceCopy:
        case Type::kRecvReduceCopySend:
            move(step.source, place, false);
            one.reduce = true;
            break;
        }
        if (step.Receives())
        {
            one.recvPeer = block.block->recv;
            one.recvChunk = place;
        }
        if (step.Sends())
        {
            one.sendPeer = block.block->send;
            one.sendChunk = place;
        }
        steps.push_back(one);
    }

    const MscclProgram& m_program;
    const std::string& m_name;
    MscclLanes& m_lanes;
    std::vector<Block> m_blocks;
    std::map<std::pair<Rank, int64_t>, std::size_t> m_numberOf; ///< number of a GPU's block
    std::map<std::tuple<Rank, Rank, uint32_t>, std::size_t> m_receiver;
    std::vector<std::size_t> m_joined;
    std::vector<Lane> m_laneOf;
    std::map<std::tuple<Rank, Rank, Lane>, std::deque<uint32_t>> m_queues;
    std::deque<std::size_t> m_ready;     ///< blocks that may do a step without a receive
    std::deque<std::size_t> m_receiving; ///< with one
    std::string m_error;
};

} // namespace

bool
OrderMscclProgram(const MscclProgram& program,
                  const std::string& name,
                  MscclLanes* lanes,
                  std::string* error)
{
    *lanes = MscclLanes();
    return Ordering(program, name, lanes).Do(error);
}

} // namespace coll
