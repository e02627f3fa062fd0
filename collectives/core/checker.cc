/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/checker.h"

#include "collectives/core/state-bytes.h"
#include "collectives/core/symbolic-run.h"

#include <utility>

namespace coll
{

namespace
{

/// The last step of a lane that writes a byte, or that sends it.
StepPlace
LastThatTouches(const Schedule& schedule, Rank member, Lane lane, uint64_t byte, bool writes)
{
    for (StepIndex k = schedule.Steps(member, lane); k > 0; k--)
    {
        const Step step = schedule.At(member, lane, k - 1);
        const uint64_t begin = writes ? step.recvOffset : step.sendOffset;
        const uint64_t bytes = writes ? step.recvBytes : step.sendBytes;
        if (byte >= begin && byte - begin < bytes)
        {
            return {member, lane, k - 1};
        }
    }
    return {member, lane, std::nullopt};
}

StepPlace
LastWriter(const Schedule& schedule, Rank rank, uint64_t byte)
{
    StepPlace last{rank, 0, std::nullopt};
    // At most one lane writes it: races are found before.
    for (Lane lane = 0; lane < schedule.Lanes(rank) && !last.step; lane++)
    {
        last = LastThatTouches(schedule, rank, lane, byte, true);
    }
    return last;
}

/// Bytes that one lane writes and another one of the same member touches.
void
CheckRaces(SymbolicRun& run, const Schedule& schedule)
{
    std::vector<SymbolicRun::Process>& processes = run.Processes();
    for (SymbolicRun::Process& process : processes)
    {
        process.reads.Sort();
        process.writes.Sort();
    }
    for (size_t a = 0; a < processes.size(); a++)
    {
        for (size_t b = run.FirstOf(processes[a].rank);
             b < processes.size() && processes[b].rank == processes[a].rank;
             b++)
        {
            if (a == b)
            {
                continue;
            }
            const SymbolicRun::Process& writer = processes[a];
            const SymbolicRun::Process& other = processes[b];
            const auto both = [&] {
                return "race: " + run.Name(writer.rank) + " lanes " + std::to_string(writer.lane) +
                       " and " + std::to_string(other.lane);
            };
            if (const auto byte = writer.writes.FirstCommonByte(other.writes); byte && a < b)
            {
                run.Problem(both() + " both write byte " + std::to_string(*byte),
                            LastThatTouches(schedule, other.rank, other.lane, *byte, true));
            }
            if (const auto byte = writer.writes.FirstCommonByte(other.reads))
            {
                run.Problem(both() + ": the first writes byte " + std::to_string(*byte) +
                                ", which the second sends",
                            LastThatTouches(schedule, other.rank, other.lane, *byte, false));
            }
        }
    }
}

/// Checks the final state that the operation promises.
void
CheckFinalState(SymbolicRun& run, const Schedule& schedule)
{
    const Collective& what = schedule.What();
    for (Rank rank = 0; rank < what.ranks; rank++)
    {
        for (const OperationContents::Expected& expected : run.Contents().Promise(rank))
        {
            run.Buffer(rank).ForEach(
                expected.begin,
                expected.end,
                [&](uint64_t begin, uint64_t end, const Content& content) {
                    if (!(content == expected.content))
                    {
                        run.Problem(
                            "rank " + std::to_string(rank) + " bytes " +
                                SymbolicRun::Span(begin, end) + " end with contributions of " +
                                run.Sets().Show(content.ranks) +
                                (content.shift != expected.content.shift ? " of another offset"
                                                                         : "") +
                                ", not " + run.Sets().Show(expected.content.ranks),
                            LastWriter(schedule, rank, begin));
                    }
                });
        }
    }
    if (what.op == Op::kBarrier && what.ranks > 1)
    {
        // A rank is through when all its lanes are, so what any of them knows counts.
        std::vector<SetId> known(what.ranks, RankSets::kEmpty);
        for (const SymbolicRun::Process& process : run.Processes())
        {
            if (process.rank >= what.ranks)
            {
                continue;
            }
            known[process.rank] = run.Sets().Union(known[process.rank], process.known).first;
        }
        for (Rank rank = 0; rank < what.ranks; rank++)
        {
            if (known[rank] != run.Sets().All())
            {
                run.Problem("rank " + std::to_string(rank) + " can leave the barrier when only " +
                                run.Sets().Show(known[rank]) + " have come",
                            {rank, 0, std::nullopt});
            }
        }
    }
}

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
    SymbolicRun run(schedule, options);
    run.Go();
    CheckReport& report = run.Report();
    if (report.Ok())
    {
        CheckRaces(run, schedule);
        CheckFinalState(run, schedule);
    }
    for (Rank node = schedule.What().ranks; node < schedule.Members() && report.Ok(); node++)
    {
        report.stateBytes.push_back(MostBytesInUse(schedule, node));
    }
    return std::move(report);
}

} // namespace coll
