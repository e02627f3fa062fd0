/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/checker.h"

#include "collectives/byte-ranges.h"
#include "collectives/operation-contents.h"
#include "collectives/state-bytes.h"
#include "collectives/symbolic-bytes.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

namespace coll
{

namespace
{

constexpr size_t kMostProblems = 24;
constexpr uint32_t kNoServer = UINT32_MAX; ///< of a switch between servers

struct Message
{
    SymbolicBytes data{0};
    uint64_t chain = 0;
    SetId known = RankSets::kEmpty; ///< barrier: ranks known to have begun
    std::vector<StepIndex> clock;   ///< per member: steps of this lane known to be received
    size_t number = 0;              ///< into the run's list of arrivals
};

/// A send whose bytes may still be read by the NIC.
struct OpenSend
{
    uint64_t begin;
    uint64_t end;
    Rank peer;
    size_t number;
};

/// A lane of a member.
struct Process
{
    Rank rank = 0; ///< or network node
    Lane lane = 0;
    StepIndex next = 0;
    StepIndex steps = 0;
    uint64_t chain = 0;
    SetId known = RankSets::kEmpty;
    std::vector<StepIndex> clock;
    std::vector<OpenSend> open;
    ByteRanges reads;
    ByteRanges writes;
};

std::string
Span(uint64_t begin, uint64_t end)
{
    return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

class Run
{
  public:
    Run(const Schedule& schedule, const CheckOptions& options)
        : m_schedule(schedule),
          m_what(schedule.What()),
          m_n(schedule.What().ranks),
          m_members(schedule.Members()),
          m_options(options),
          m_sets(m_n),
          m_contents(m_what, m_sets)
    {
        m_report.bytesSent.assign(m_members, 0);
        m_report.messagesSent.assign(m_members, 0);
        m_report.bytesReduced.assign(m_members, 0);
        m_report.bytesCopied.assign(m_members, 0);
        if (options.placement != nullptr)
        {
            std::unordered_map<uint32_t, uint32_t> index;
            for (const uint32_t server : options.placement->serverOf)
            {
                m_serverOf.push_back(index.try_emplace(server, index.size()).first->second);
            }
            m_report.bytesOutOfServer.assign(index.size(), 0);
            for (const NetworkNode& node : schedule.NetworkNodes())
            {
                const auto server = index.find(node.where);
                const bool inServer =
                    node.kind != NetworkNode::kFabricSwitch && server != index.end();
                m_serverOf.push_back(inServer ? server->second : kNoServer);
            }
        }
        for (Rank r = 0; r < m_members; r++)
        {
            if (HasSecondBuffer(m_what.op) && r < m_n)
            {
                m_inputs.push_back(m_contents.Input(r));
            }
            const SymbolicBytes buffer =
                r < m_n ? m_contents.Buffer(r) : SymbolicBytes(m_what.bytes);
            SymbolicBytes all(buffer.Size() + schedule.ScratchBytes(r));
            all.Write(0, buffer);
            m_buffers.push_back(std::move(all));
        }
    }

    CheckReport Result()
    {
        Simulate();
        if (m_report.Ok())
        {
            CheckRaces();
            CheckFinalState();
        }
        for (Rank node = m_n; node < m_members && m_report.Ok(); node++)
        {
            m_report.stateBytes.push_back(MostBytesInUse(m_schedule, node));
        }
        return std::move(m_report);
    }

  private:
    /// Whether it sends of what receives do not write.
    bool ReadsInput(Rank rank, const Step& step) const
    {
        return HasSecondBuffer(m_what.op) && !step.fromResult && rank < m_n;
    }

    /// What a step sends of.
    const SymbolicBytes& Source(Rank rank, const Step& step) const
    {
        return ReadsInput(rank, step) ? m_inputs[rank] : m_buffers[rank];
    }

    void Simulate()
    {
        std::vector<size_t> firstOf;
        for (Rank r = 0; r < m_members; r++)
        {
            firstOf.push_back(m_processes.size());
            for (Lane lane = 0; lane < m_schedule.Lanes(r); lane++)
            {
                Process process;
                process.rank = r;
                process.lane = lane;
                process.steps = m_schedule.Steps(r, lane);
                process.known = r < m_n ? m_sets.Single(r) : RankSets::kEmpty;
                process.clock.assign(m_options.zeroCopy ? m_members : 0, 0);
                m_processes.push_back(std::move(process));
            }
        }
        m_firstOf = std::move(firstOf);

        for (size_t i = 0; i < m_processes.size(); i++)
        {
            m_ready.push_back(i);
        }
        while (!m_ready.empty() && m_report.Ok())
        {
            Process& process = m_processes[m_ready.front()];
            m_ready.pop_front();
            while (process.next < process.steps && Advance(process) && m_report.Ok())
            {
                process.next++;
            }
        }
        if (!m_report.Ok())
        {
            return;
        }
        for (const Process& process : m_processes)
        {
            if (process.next < process.steps)
            {
                Problem("deadlock: " + Where(process) + " waits for a message from " +
                        Name(m_schedule.At(process.rank, process.lane, process.next).recvPeer) +
                        " that is never sent");
            }
        }
        for (const auto& [link, queue] : m_queues)
        {
            if (!queue.empty())
            {
                Problem(std::to_string(queue.size()) + " messages from " + Name(link.from) +
                        " to " + Name(link.to) + " on lane " + std::to_string(link.lane) +
                        " are never received");
            }
        }
    }

    /// One step; false: it has to wait.
    bool Advance(Process& process)
    {
        const Step step = m_schedule.At(process.rank, process.lane, process.next);
        if (step.local)
        {
            Move(process, step);
            return true;
        }
        if (step.recvPeer != kNoRank)
        {
            if (!ValidPeer(process, step.recvPeer, "receives from") ||
                !ValidRange(process,
                            m_buffers[process.rank],
                            step.recvOffset,
                            step.recvBytes,
                            "receives into"))
            {
                return true;
            }
            auto& queue = m_queues[{step.recvPeer, process.rank, process.lane}];
            if (queue.empty())
            {
                return false;
            }
            const Message message = std::move(queue.front());
            queue.pop_front();
            Receive(process, step, message);
        }
        else if (step.recvBytes != 0 || step.reduce)
        {
            Problem(Where(process) + " receives without a peer");
        }
        if (!m_report.Ok())
        {
            return true;
        }
        if (step.sendPeer != kNoRank)
        {
            if (ValidPeer(process, step.sendPeer, "sends to") &&
                ValidRange(process,
                           Source(process.rank, step),
                           step.sendOffset,
                           step.sendBytes,
                           "sends"))
            {
                Send(process, step);
            }
        }
        else if (step.sendBytes != 0)
        {
            Problem(Where(process) + " sends without a peer");
        }
        return true;
    }

    void Receive(Process& process, const Step& step, const Message& message)
    {
        process.chain = std::max(process.chain, message.chain);
        if (m_what.op == Op::kBarrier)
        {
            process.known = m_sets.Union(process.known, message.known).first;
        }
        for (size_t r = 0; r < message.clock.size(); r++)
        {
            process.clock[r] = std::max(process.clock[r], message.clock[r]);
        }
        if (m_options.zeroCopy)
        {
            process.clock[process.rank] = process.next + 1;
            m_arrivals[message.number] = process.next + 1;
        }
        if (message.data.Size() != step.recvBytes)
        {
            Problem(Where(process) + " expects " + std::to_string(step.recvBytes) + " bytes from " +
                    Name(step.recvPeer) + ", which sent " + std::to_string(message.data.Size()));
            return;
        }
        Store(process, step, message.data);
    }

    /// What comes into the received range, from another rank or from this one.
    void Store(Process& process, const Step& step, const SymbolicBytes& data)
    {
        const uint64_t begin = step.recvOffset;
        const uint64_t end = begin + step.recvBytes;
        process.writes.Add(begin, step.recvBytes);
        CheckOpenSends(process, step, data);
        SymbolicBytes& buffer = m_buffers[process.rank];
        if (!step.reduce)
        {
            buffer.Write(begin, data);
            return;
        }
        m_report.bytesReduced[process.rank] += step.recvBytes;
        buffer.Write(begin, Sum(process, step, buffer.Copy(begin, end), data));
    }

    void Move(Process& process, const Step& step)
    {
        const Rank rank = process.rank;
        const SymbolicBytes& source = Source(rank, step);
        if (step.recvPeer != kNoRank || step.sendPeer != kNoRank ||
            step.recvBytes != step.sendBytes)
        {
            Problem(Where(process) + " is local, with a peer or of " +
                    std::to_string(step.sendBytes) + " bytes into " +
                    std::to_string(step.recvBytes));
            return;
        }
        if (!ValidRange(process, source, step.sendOffset, step.sendBytes, "moves") ||
            !ValidRange(process, m_buffers[rank], step.recvOffset, step.recvBytes, "moves into"))
        {
            return;
        }
        if (!ReadsInput(process.rank, step))
        {
            process.reads.Add(step.sendOffset, step.sendBytes);
        }
        m_report.bytesCopied[rank] += step.reduce ? 0 : step.sendBytes;
        Store(process, step, source.Copy(step.sendOffset, step.sendOffset + step.sendBytes));
    }

    SymbolicBytes Sum(const Process& process,
                      const Step& step,
                      const SymbolicBytes& mine,
                      const SymbolicBytes& theirs)
    {
        SymbolicBytes sum = mine;
        mine.ForEach(0, mine.Size(), [&](uint64_t begin, uint64_t end, const Content& a) {
            theirs.ForEach(begin, end, [&](uint64_t b, uint64_t e, const Content& c) {
                const auto [ranks, overlap] = m_sets.Union(a.ranks, c.ranks);
                const auto at = [&] {
                    return Where(process) + " adds bytes " +
                           Span(step.recvOffset + b, step.recvOffset + e) + " from " +
                           Name(step.local ? process.rank : step.recvPeer);
                };
                if (a.ranks == RankSets::kEmpty || c.ranks == RankSets::kEmpty)
                {
                    Problem(at() + ": one of the two holds nothing yet");
                }
                else if (overlap)
                {
                    Problem(at() + ": contributions " + m_sets.Show(c.ranks) + " to " +
                            m_sets.Show(a.ranks) + ", some twice");
                }
                else if (a.shift != c.shift)
                {
                    Problem(at() + ": they belong to another offset");
                }
                SymbolicBytes piece(e - b, {ranks, a.shift + static_cast<int64_t>(b)});
                sum.Write(b, piece);
            });
        });
        return sum;
    }

    void Send(Process& process, const Step& step)
    {
        Message message;
        message.data =
            Source(process.rank, step).Copy(step.sendOffset, step.sendOffset + step.sendBytes);
        message.chain = process.chain + 1;
        message.known = process.known;
        if (!ReadsInput(process.rank, step))
        {
            process.reads.Add(step.sendOffset, step.sendBytes);
        }
        if (m_options.zeroCopy)
        {
            message.clock = process.clock;
            message.number = m_arrivals.size();
            m_arrivals.push_back(0);
            if (!ReadsInput(process.rank, step) && step.sendBytes > 0)
            {
                process.open.push_back({step.sendOffset,
                                        step.sendOffset + step.sendBytes,
                                        step.sendPeer,
                                        message.number});
            }
        }
        m_report.messages++;
        m_report.totalBytes += step.sendBytes;
        m_report.messagesSent[process.rank]++;
        m_report.bytesSent[process.rank] += step.sendBytes;
        m_report.longestChain = std::max(m_report.longestChain, message.chain);
        m_report.largestMessage = std::max(m_report.largestMessage, step.sendBytes);
        if (!m_serverOf.empty() && m_serverOf[process.rank] != kNoServer &&
            m_serverOf[process.rank] != m_serverOf[step.sendPeer])
        {
            m_report.bytesOutOfServer[m_serverOf[process.rank]] += step.sendBytes;
        }

        auto& queue = m_queues[{process.rank, step.sendPeer, process.lane}];
        queue.push_back(std::move(message));
        if (process.lane < m_schedule.Lanes(step.sendPeer))
        {
            // Harmless if it waits for someone else.
            const size_t receiver = m_firstOf[step.sendPeer] + process.lane;
            if (m_processes[receiver].next < m_processes[receiver].steps && queue.size() == 1)
            {
                m_ready.push_back(receiver);
            }
        }
    }

    void CheckOpenSends(Process& process, const Step& step, const SymbolicBytes& data)
    {
        auto& open = process.open;
        open.erase(std::remove_if(open.begin(),
                                  open.end(),
                                  [&](const OpenSend& send) {
                                      const StepIndex arrived = m_arrivals[send.number];
                                      return arrived != 0 && process.clock[send.peer] >= arrived;
                                  }),
                   open.end());
        for (const OpenSend& send : open)
        {
            const uint64_t begin = std::max(send.begin, step.recvOffset);
            const uint64_t end = std::min(send.end, step.recvOffset + step.recvBytes);
            m_report.zeroCopySafe =
                m_report.zeroCopySafe &&
                (begin >= end || (!step.reduce && Holds(process.rank, step, data, begin, end)));
        }
    }

    /// Whether the buffer's bytes are those that come for them: then whoever reads them late reads
    /// the same.
    bool Holds(Rank rank,
               const Step& step,
               const SymbolicBytes& data,
               uint64_t begin,
               uint64_t end) const
    {
        const SymbolicBytes mine = m_buffers[rank].Copy(begin, end);
        const SymbolicBytes theirs = data.Copy(begin - step.recvOffset, end - step.recvOffset);
        bool same = true;
        mine.ForEach(0, mine.Size(), [&](uint64_t from, uint64_t to, const Content& a) {
            theirs.ForEach(from, to, [&](uint64_t, uint64_t, const Content& b) {
                same = same && a == b;
            });
        });
        return same;
    }

    void CheckRaces()
    {
        for (Process& process : m_processes)
        {
            process.reads.Sort();
            process.writes.Sort();
        }
        for (size_t a = 0; a < m_processes.size(); a++)
        {
            for (size_t b = m_firstOf[m_processes[a].rank];
                 b < m_processes.size() && m_processes[b].rank == m_processes[a].rank;
                 b++)
            {
                if (a == b)
                {
                    continue;
                }
                const Process& writer = m_processes[a];
                const Process& other = m_processes[b];
                const auto both = [&] {
                    return "race: " + Name(writer.rank) + " lanes " + std::to_string(writer.lane) +
                           " and " + std::to_string(other.lane);
                };
                if (const auto byte = writer.writes.FirstCommonByte(other.writes); byte && a < b)
                {
                    Problem(both() + " both write byte " + std::to_string(*byte));
                }
                if (const auto byte = writer.writes.FirstCommonByte(other.reads))
                {
                    Problem(both() + ": the first writes byte " + std::to_string(*byte) +
                            ", which the second sends");
                }
            }
        }
    }

    void CheckFinalState()
    {
        for (Rank rank = 0; rank < m_n; rank++)
        {
            for (const OperationContents::Expected& expected : m_contents.Promise(rank))
            {
                m_buffers[rank].ForEach(
                    expected.begin,
                    expected.end,
                    [&](uint64_t begin, uint64_t end, const Content& content) {
                        if (!(content == expected.content))
                        {
                            Problem("rank " + std::to_string(rank) + " bytes " + Span(begin, end) +
                                    " end with contributions of " + m_sets.Show(content.ranks) +
                                    (content.shift != expected.content.shift ? " of another offset"
                                                                             : "") +
                                    ", not " + m_sets.Show(expected.content.ranks));
                        }
                    });
            }
        }
        if (m_what.op == Op::kBarrier && m_n > 1)
        {
            // A rank is through when all its lanes are, so what any of them knows counts.
            std::vector<SetId> known(m_n, RankSets::kEmpty);
            for (const Process& process : m_processes)
            {
                if (process.rank >= m_n)
                {
                    continue;
                }
                known[process.rank] = m_sets.Union(known[process.rank], process.known).first;
            }
            for (Rank rank = 0; rank < m_n; rank++)
            {
                if (known[rank] != m_sets.All())
                {
                    Problem("rank " + std::to_string(rank) + " can leave the barrier when only " +
                            m_sets.Show(known[rank]) + " have come");
                }
            }
        }
    }

    bool ValidPeer(const Process& process, Rank peer, const std::string& does)
    {
        if (peer < m_members && peer != process.rank)
        {
            return true;
        }
        Problem(Where(process) + " " + does + " " + Name(peer) + " of " +
                std::to_string(m_members));
        return false;
    }

    bool ValidRange(const Process& process,
                    const SymbolicBytes& buffer,
                    uint64_t offset,
                    uint64_t bytes,
                    const std::string& does)
    {
        if (bytes <= buffer.Size() && offset <= buffer.Size() - bytes)
        {
            return true;
        }
        Problem(Where(process) + " " + does + " bytes " + Span(offset, offset + bytes) +
                " of a buffer of " + std::to_string(buffer.Size()));
        return false;
    }

    std::string Name(Rank member) const
    {
        const bool node = member >= m_n && member < m_members;
        return (node ? "network node " : "rank ") + std::to_string(member);
    }

    std::string Where(const Process& process) const
    {
        return Name(process.rank) + " lane " + std::to_string(process.lane) + " step " +
               std::to_string(process.next);
    }

    void Problem(const std::string& text)
    {
        if (m_report.problems.size() < kMostProblems)
        {
            m_report.problems.push_back(text);
        }
    }

    struct Link
    {
        Rank from;
        Rank to;
        Lane lane;

        bool operator==(const Link& o) const
        {
            return from == o.from && to == o.to && lane == o.lane;
        }
    };

    struct HashLink
    {
        size_t operator()(const Link& link) const
        {
            return (uint64_t{link.from} << 32 | link.to) * 0x9e3779b97f4a7c15U ^ link.lane;
        }
    };

    const Schedule& m_schedule;
    const Collective& m_what;
    Rank m_n;
    Rank m_members;
    CheckOptions m_options;
    RankSets m_sets;
    OperationContents m_contents;
    std::vector<uint32_t> m_serverOf; ///< by member; empty without a placement
    std::vector<SymbolicBytes>
        m_buffers; ///< what receives write, with scratch; sends read it if there is no second one
    std::vector<SymbolicBytes> m_inputs; ///< HasSecondBuffer: what sends read
    std::vector<Process> m_processes;
    std::vector<size_t> m_firstOf; ///< a member's first process
    std::deque<size_t> m_ready;
    std::unordered_map<Link, std::deque<Message>, HashLink> m_queues;
    std::vector<StepIndex> m_arrivals; ///< by message: the receiver's step, plus one
    CheckReport m_report;
};

} // namespace

std::string
CheckReport::Problems() const
{
    std::string text;
    for (const std::string& problem : problems)
    {
        text += problem + "\n";
    }
    return text;
}

CheckReport
Check(const Schedule& schedule, const CheckOptions& options)
{
    return Run(schedule, options).Result();
}

} // namespace coll
