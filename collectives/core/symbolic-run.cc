/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/symbolic-run.h"

#include <algorithm>
#include <utility>

namespace coll
{

namespace
{

constexpr size_t kMostProblems = 24;
constexpr uint32_t kNoServer = UINT32_MAX; ///< the server of a switch between servers

} // namespace

std::string
SymbolicRun::Span(uint64_t begin, uint64_t end)
{
    return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

SymbolicRun::SymbolicRun(const Schedule& schedule, const CheckOptions& options)
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
    m_report.messagesReceived.assign(m_members, 0);
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
        m_report.bytesIntoServer.assign(index.size(), 0);
        for (const NetworkNode& node : schedule.NetworkNodes())
        {
            const auto server = index.find(node.where);
            const bool inServer = node.kind != NetworkNode::kFabricSwitch && server != index.end();
            m_serverOf.push_back(inServer ? server->second : kNoServer);
        }
    }
    for (Rank r = 0; r < m_members; r++)
    {
        if (HasSecondBuffer(m_what.op) && r < m_n)
        {
            m_inputs.push_back(m_contents.Input(r));
        }
        const SymbolicBytes buffer = r < m_n ? m_contents.Buffer(r) : SymbolicBytes(m_what.bytes);
        SymbolicBytes all(buffer.Size() + schedule.ScratchBytes(r));
        all.Write(0, buffer);
        m_buffers.push_back(std::move(all));
    }
}

bool
SymbolicRun::ReadsInput(Rank rank, const Step& step) const
{
    return HasSecondBuffer(m_what.op) && !step.fromResult && rank < m_n;
}

const SymbolicBytes&
SymbolicRun::Source(Rank rank, const Step& step) const
{
    return ReadsInput(rank, step) ? m_inputs[rank] : m_buffers[rank];
}

void
SymbolicRun::Go()
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
                        " that is never sent",
                    PlaceOf(process));
        }
    }
    for (const auto& [link, queue] : m_queues)
    {
        if (!queue.empty())
        {
            Problem(std::to_string(queue.size()) + " messages from " + Name(link.from) + " to " +
                        Name(link.to) + " on lane " + std::to_string(link.lane) +
                        " are never received",
                    StepPlace{link.from, link.lane, queue.front().step});
        }
    }
}

bool
SymbolicRun::Advance(Process& process)
{
    m_now = PlaceOf(process);
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
        if (ValidPeer(process, step.sendPeer, "sends to") && ValidRange(process,
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

void
SymbolicRun::Receive(Process& process, const Step& step, const Message& message)
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

void
SymbolicRun::Store(Process& process, const Step& step, const SymbolicBytes& data)
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

void
SymbolicRun::Move(Process& process, const Step& step)
{
    const Rank rank = process.rank;
    const SymbolicBytes& source = Source(rank, step);
    if (step.recvPeer != kNoRank || step.sendPeer != kNoRank || step.recvBytes != step.sendBytes)
    {
        Problem(Where(process) + " is local, with a peer or of " + std::to_string(step.sendBytes) +
                " bytes into " + std::to_string(step.recvBytes));
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

SymbolicBytes
SymbolicRun::Sum(const Process& process,
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

void
SymbolicRun::Send(Process& process, const Step& step)
{
    Message message;
    message.data =
        Source(process.rank, step).Copy(step.sendOffset, step.sendOffset + step.sendBytes);
    message.chain = process.chain + 1;
    message.known = process.known;
    message.step = process.next;
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
            process.open.push_back(
                {step.sendOffset, step.sendOffset + step.sendBytes, step.sendPeer, message.number});
        }
    }
    m_report.messages++;
    m_report.totalBytes += step.sendBytes;
    m_report.messagesSent[process.rank]++;
    m_report.messagesReceived[step.sendPeer]++;
    m_report.bytesSent[process.rank] += step.sendBytes;
    m_report.longestChain = std::max(m_report.longestChain, message.chain);
    m_report.largestMessage = std::max(m_report.largestMessage, step.sendBytes);
    const bool known = !m_serverOf.empty();
    const uint32_t from = known ? m_serverOf[process.rank] : kNoServer;
    const uint32_t to = known ? m_serverOf[step.sendPeer] : kNoServer;
    if (from != kNoServer && from != to)
    {
        m_report.bytesOutOfServer[from] += step.sendBytes;
    }
    if (to != kNoServer && from != to)
    {
        m_report.bytesIntoServer[to] += step.sendBytes;
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

void
SymbolicRun::CheckOpenSends(Process& process, const Step& step, const SymbolicBytes& data)
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

bool
SymbolicRun::Holds(Rank rank,
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

bool
SymbolicRun::ValidPeer(const Process& process, Rank peer, const std::string& does)
{
    if (peer < m_members && peer != process.rank)
    {
        return true;
    }
    Problem(Where(process) + " " + does + " " + Name(peer) + " of " + std::to_string(m_members));
    return false;
}

bool
SymbolicRun::ValidRange(const Process& process,
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

std::string
SymbolicRun::Name(Rank member) const
{
    const bool node = member >= m_n && member < m_members;
    return (node ? "network node " : "rank ") + std::to_string(member);
}

std::string
SymbolicRun::Where(const Process& process) const
{
    return Name(process.rank) + " lane " + std::to_string(process.lane) + " step " +
           std::to_string(process.next);
}

StepPlace
SymbolicRun::PlaceOf(const Process& process)
{
    return {process.rank, process.lane, process.next};
}

void
SymbolicRun::Problem(const std::string& text)
{
    Problem(text, m_now);
}

void
SymbolicRun::Problem(const std::string& text, const StepPlace& place)
{
    if (m_report.Ok())
    {
        m_report.place = place;
    }
    if (m_report.problems.size() < kMostProblems)
    {
        m_report.problems.push_back(text);
    }
}

} // namespace coll
