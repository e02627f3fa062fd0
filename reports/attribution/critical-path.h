/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_CRITICAL_PATH_H
#define REPORTS_ATTRIBUTION_CRITICAL_PATH_H

#include "reports/attribution/collective-paths.h"
#include "reports/attribution/link-notes.h"
#include "reports/base/records.h"
#include "reports/schema/object.h"
#include "scenarios/training/steps/message-match.h"
#include "scenarios/training/steps/parallelism.h"
#include "scenarios/training/steps/step-graph.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reports
{

/**
 * The critical path of a step: walked back from its last call.
 *
 *     rank 7   forward .. backward ......| reduce-scatter .. (moved last by a message of rank 2)
 *     rank 2   forward .. backward ..........| reduce-scatter (enters last) ...
 *
 * A call starts when the last of those it waits for has ended: the call before it on its stream, or
 * one that its step graph names. A collective's part goes back from rank to rank, message by
 * message (CollectivePaths), to where a rank entered it, and on with what that rank did before. So
 * the parts of the path follow one another without a gap, from the step's beginning on the rank
 * where the walk ends to the end of the step. Their shares of time add up to its length, to the
 * picosecond.
 *
 * A receive may be posted early. Its rank waits for the sender only from the moment when everything
 * else that its next call needs has ended, until the send begins.
 *
 *     rank 0   forward A | send A, forward B ......... | send B
 *     rank 1             |------| forward A |          |-------| forward B
 *                                           | waited   |
 *
 * Straggling is the excess of a computation's time on the path over the time of half of the GPUs
 * that compute the same.
 *
 * Memory: 24 B per call and rank of the steps in progress, and the records of CollectivePaths for
 * each rank's collectives in them. These are about RECORDS at most, but at least one for each.
 */
class CriticalPath
{
  public:
    static constexpr std::size_t RECORDS = 1U << 16; //!< records of CollectivePaths, for all ranks
    static constexpr std::size_t MOST_DEPTH = 128;   //!< messages of a path kept
    /// Where there is room for one message only, none is kept. The last message of a ring of
    /// thousands tells nothing, and paths without messages are faster to note (CollectivePaths).
    static constexpr std::size_t LEAST_DEPTH = 2;
    static constexpr std::size_t MOST_PARTS = 1000; //!< rows of critical_path.csv
    static constexpr std::size_t MOST_MESSAGES =
        500;                                     //!< rows of critical_messages.csv: the longest
    static constexpr std::size_t MOST_HOPS = 10; //!< in stats.json: those with most time

    /// \param plan, ports (names by end of the fabric), tags (names of messages) kept by reference
    CriticalPath(const training::TrainingPlan& plan,
                 const std::vector<std::string>& ports,
                 const std::vector<std::string>& tags,
                 const rdma::LinkWords& link);

    /// For CollectiveRunner::SetPaths.
    CollectivePaths& GetPaths()
    {
        return m_paths;
    }

    /// Sets additional notes on links. \param notes kept; null: none
    void SetNotes(const LinkNotes* notes)
    {
        m_notes = notes;
    }

    /// A call of any rank has ended. For a collective: call it while the runner reports it. By any
    /// thread.
    void OnCall(const CallRecord& call, CollectivePaths::Path path = CollectivePaths::NONE);
    /// All ranks have ended this step: walk back. \param begin end of the step before, ps
    void OnStep(uint32_t step, int64_t begin);

    /// Interrupts the steps in progress; no step before this one is a whole one. Call it between
    /// the nodes' events.
    void Forget(uint32_t first);

    /// \return `critical_path` of stats.json; null if no step has ended
    nlohmann::ordered_json ToJson() const;
    /// Words for its keys.
    static const Object<CriticalPath>& Keys();

    /// A row of critical_path.csv: a call on the path. ps.
    struct Call
    {
        std::string_view call;
        coll::Rank rank; //!< collective: the rank whose entry brings the path into it
        int64_t start;
        int64_t end;
        std::optional<int64_t> straggling; //!< nothing: it does not straggle
        std::optional<int64_t> waited;     //!< nothing: it does not communicate
        std::optional<uint32_t> messages;
        std::array<int64_t, PATH_SHARES> shares;
    };

    /// \return the first MOST_PARTS calls
    std::vector<Call> GetCalls() const;
    /// Writes critical_path.csv and critical_messages.csv.
    void WriteTables(const std::string& out) const;

    /// A line for the terminal: how much of the path, or words, or both.
    struct Line
    {
        std::string what;  //!< "computing"
        int64_t ps{-1};    //!< -1: words only
        std::string words; //!< may be empty
    };

    /// \return the path itself first, then its parts; empty if no step has ended
    std::vector<Line> InLines() const;

  private:
    /// \return the stragglers, in words. \pre there is one
    std::string Stragglers() const;

    struct Times
    {
        int64_t start{-1};
        int64_t end{-1};
        CollectivePaths::Path path{CollectivePaths::NONE}; //!< path of a collective, held
    };

    using Shares = std::array<int64_t, PATH_SHARES>; //!< ps

    /// A call on the path.
    struct Part
    {
        const training::Task* task;
        coll::Rank rank; //!< collective: the rank whose entry brings the path into it
        int64_t start;   //!< collective: when that rank entered
        int64_t end;     //!< when the path leaves it
        /// Collective: how long its first rank had waited for this one. Receive: how long its rank
        /// had nothing else to wait for before the message was sent.
        int64_t waited;
        int64_t straggling; //!< excess time of a straggling computation
        uint32_t messages;  //!< collective: number of messages on the path
        Shares shares;      //!< collective: shares of its time
    };

    /// A message on the path, or a run of messages inside a server.
    struct Message
    {
        uint32_t call; //!< in m_path
        coll::Rank from;
        coll::Rank to;
        uint32_t messages; //!< 1, or the length of a run inside a server
        int64_t start;     //!< when the cause of the post had happened
        int64_t end;       //!< arrival
        uint32_t port;     //!< CollectivePaths::Record
        uint32_t behind;   //!< the same
        Shares shares;
    };

    /// parts_us of stats.json, or share.
    static const Object<CriticalPath>& PartKeys(bool asShare);
    static const Object<CriticalPath>& ParallelismKeys();
    /// \return of a call that communicates
    training::Parallelism ParallelismOf(const Part& part) const;
    int64_t TimeOf(training::Parallelism parallelism) const;
    /// \return whether a call has a row
    static bool IsTold(const Part& part);
    std::size_t CountCalls() const;
    /// \return empty: no tag
    std::string_view TagName(uint32_t tag) const;

    /// ps. \pre a step has ended
    int64_t Total() const
    {
        return m_path.back().end - m_path.front().start;
    }

    using Step = std::vector<Times>; //!< by m_offsets[rank] + task

    const Times& Of(const Step& step, coll::Rank rank, training::TaskId task) const
    {
        return step[m_offsets[rank] + task];
    }

    /// A port on the path.
    struct Hop
    {
        PathHop hop;   //!< the longest at this port
        TimeShare why; //!< cause of most of its wait
        uint32_t call; //!< in m_path
    };

    /// \return the task that is the same collective to another rank of its group: the k-th call of
    /// a group is one collective to all, whichever role they play
    training::TaskId SameCollective(coll::Rank rank, training::TaskId task, coll::Rank other) const;

    /// \return the record of a step, which may be empty so far. By any thread
    Step& Open(uint32_t number);
    static uint16_t DepthFor(const training::TrainingPlan& plan);
    /// \return the time when everything else had ended that the call after a receive waits for.
    /// Before that time the message was not waited for.
    /// \param waiting NO_TASK: the end of the step, for all calls
    int64_t EndOfOthers(const Step& step,
                        coll::Rank rank,
                        training::TaskId receive,
                        training::TaskId waiting) const;
    /// \param length of a computation, ps \return its excess over half of the GPUs that compute the
    /// same
    int64_t Straggling(const Step& step,
                       coll::Rank rank,
                       training::TaskId task,
                       int64_t length) const;
    void AddCollective(const Times& times, int64_t end, Part& part);
    /// \param ofCollective of a collective's message, else of one between two ranks
    std::string InWords(std::size_t share, bool ofCollective) const;
    /// Whether a share of the path's messages is collectives' for the larger part.
    bool IsMostlyCollectives(std::size_t share) const;
    void AddHop(const Hop& longest, std::vector<Line>& lines) const;
    void AddCauseElsewhere(std::vector<Line>& lines) const;
    std::string NoteOf(const Hop& hop) const;

    const training::TrainingPlan& m_plan;
    training::MessageMatch m_match;
    const std::vector<std::string>& m_ports;
    const std::vector<std::string>& m_tags;
    const rdma::LinkWords& m_link;
    const LinkNotes* m_notes{nullptr};
    CollectivePaths m_paths;
    std::vector<std::size_t> m_offsets;                  //!< by rank
    std::vector<std::vector<training::TaskId>> m_before; //!< by role and task: on its stream
    /// By role and group kind: its collectives, in the order of the graph.
    std::vector<std::vector<std::vector<training::TaskId>>> m_collectives;
    std::vector<std::vector<const std::vector<coll::Rank>*>> m_groupOf; //!< by group kind and rank
    std::map<uint32_t, Step> m_steps;
    uint32_t m_firstWhole{0}; //!< steps before it were interrupted
    std::mutex m_opening;     //!< guards opening steps: hosts of several threads end calls
    // The step that was kept last:
    uint32_t m_kept{0};
    int64_t m_begin{0};              //!< end of the step before
    std::vector<Part> m_path;        //!< in the order of time
    std::vector<Message> m_messages; //!< the longest, in the order of time
    std::vector<Hop> m_hops;         //!< those with most time first
    Shares m_shares{};               //!< shares of all collectives on the path
    int64_t m_computing{0};          //!< straggling included
    int64_t m_straggling{0};         //!< part of m_computing
    int64_t m_onHost{0};             //!< copies from and to the host, work of its CPU, loading
    uint64_t m_nMessages{0};
};

} // namespace reports

#endif /* REPORTS_ATTRIBUTION_CRITICAL_PATH_H */
