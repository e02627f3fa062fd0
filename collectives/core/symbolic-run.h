/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a schedule on symbols (checker.h says how and why): lanes as processes, messages between
 * them, and the final content of every buffer. The run finds problems of single steps. Problems of
 * the whole (races, the operation's promise) are left to the caller.
 */
#ifndef COLLECTIVES_CORE_SYMBOLIC_RUN_H
#define COLLECTIVES_CORE_SYMBOLIC_RUN_H

#include "collectives/core/byte-ranges.h"
#include "collectives/core/checker.h"
#include "collectives/core/operation-contents.h"
#include "collectives/core/symbolic-bytes.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace coll
{

class SymbolicRun
{
  public:
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
        SetId known = RankSets::kEmpty; ///< barrier: ranks known to have begun
        std::vector<StepIndex> clock;   ///< per member: steps of this lane known to be received
        std::vector<OpenSend> open;
        ByteRanges reads;
        ByteRanges writes;
    };

    SymbolicRun(const Schedule& schedule, const CheckOptions& options);

    /// Until no lane can go on, or a step is wrong.
    void Go();

    /// All counts but CheckReport::stateBytes.
    CheckReport& Report()
    {
        return m_report;
    }

    /// Lanes, those of a member after one another.
    std::vector<Process>& Processes()
    {
        return m_processes;
    }

    /// A member's first of Processes().
    size_t FirstOf(Rank member) const
    {
        return m_firstOf[member];
    }

    /// The buffer that a member's receives have written, with scratch.
    const SymbolicBytes& Buffer(Rank member) const
    {
        return m_buffers[member];
    }

    RankSets& Sets()
    {
        return m_sets;
    }

    const OperationContents& Contents() const
    {
        return m_contents;
    }

    std::string Name(Rank member) const;
    /// "[0, 4)"
    static std::string Span(uint64_t begin, uint64_t end);
    void Problem(const std::string& text, const StepPlace& place);

  private:
    struct Message
    {
        SymbolicBytes data{0};
        uint64_t chain = 0;
        SetId known = RankSets::kEmpty; ///< barrier: ranks known to have begun
        std::vector<StepIndex> clock;   ///< Process::clock of its sender
        size_t number = 0;              ///< into the run's list of arrivals
        StepIndex step = 0;             ///< its sender's
    };

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

    /// Whether the step sends from the buffer that receives do not write.
    bool ReadsInput(Rank rank, const Step& step) const;
    /// The buffer that a step sends from.
    const SymbolicBytes& Source(Rank rank, const Step& step) const;
    /// Does one step. \return false if it has to wait
    bool Advance(Process& process);
    void Receive(Process& process, const Step& step, const Message& message);
    /// Stores data into the received range, from another rank or from this one.
    void Store(Process& process, const Step& step, const SymbolicBytes& data);
    void Move(Process& process, const Step& step);
    SymbolicBytes Sum(const Process& process,
                      const Step& step,
                      const SymbolicBytes& mine,
                      const SymbolicBytes& theirs);
    void Send(Process& process, const Step& step);
    void CheckOpenSends(Process& process, const Step& step, const SymbolicBytes& data);
    /// Whether the buffer's bytes are those that come for them: then whoever reads them late reads
    /// the same.
    bool Holds(Rank rank,
               const Step& step,
               const SymbolicBytes& data,
               uint64_t begin,
               uint64_t end) const;
    bool ValidPeer(const Process& process, Rank peer, const std::string& does);
    bool ValidRange(const Process& process,
                    const SymbolicBytes& buffer,
                    uint64_t offset,
                    uint64_t bytes,
                    const std::string& does);
    std::string Where(const Process& process) const;
    static StepPlace PlaceOf(const Process& process);
    /// Reports a problem of the current step.
    void Problem(const std::string& text);

    const Schedule& m_schedule;
    const Collective& m_what;
    Rank m_n;
    Rank m_members;
    CheckOptions m_options;
    RankSets m_sets;
    OperationContents m_contents;
    std::vector<uint32_t> m_serverOf; ///< by member; empty without a placement
    /// Buffers that receives write, with scratch. Sends read them if there is no second buffer.
    std::vector<SymbolicBytes> m_buffers;
    std::vector<SymbolicBytes> m_inputs; ///< HasSecondBuffer: what sends read
    std::vector<Process> m_processes;
    std::vector<size_t> m_firstOf; ///< a member's first process
    std::deque<size_t> m_ready;
    std::unordered_map<Link, std::deque<Message>, HashLink> m_queues;
    std::vector<StepIndex> m_arrivals; ///< by message: the receiver's step, plus one
    StepPlace m_now;                   ///< the step that is being done
    CheckReport m_report;
};

} // namespace coll

#endif // COLLECTIVES_CORE_SYMBOLIC_RUN_H
