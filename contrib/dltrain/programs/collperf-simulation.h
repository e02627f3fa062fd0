/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLPERF_SIMULATION_H
#define DLTRAIN_COLLPERF_SIMULATION_H

#include "contrib/dltrain/base/part-note.h"
#include "contrib/dltrain/runners/collective-runner.h"
#include "contrib/dltrain/runners/fabric-run.h"
#include "reports/attribution/collective-join.h"
#include "reports/programs/collperf-table.h"

#include <optional>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * One collective over a range of sizes, as nccl-tests does it: for each size the ranks run the
 * warm-up iterations and the measured ones back to back, each rank entering the next as soon as it
 * has left the last. Common steps (the measured iterations, the next size, the end) are decided
 * when the last rank is done, and happen through FabricRun::Decide.
 */
class CollperfSimulation : public FabricSimulation, public CollectiveUser
{
  public:
    explicit CollperfSimulation(const scenario::CollperfScenario& scenario);

    /// Simulates and reports. \return exit status
    int Run();

    // CollectiveUser
    void OnRankDone(const reports::CollectivePart& part,
                    uint64_t cookie,
                    reports::PathRecord* path) override;

  private:
    // FabricSimulation
    std::string Populate() override;
    void OnBegin() override;
    void MergeRanks() override;
    double GetShareDone() const override;
    bool GoesOnByItself() const override;
    bool IsDone() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(reports::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    void PrintSummary(std::ostream& os, const reports::RunStats& network) const override;
    std::string GetFiles() const override;

    /// Proves the schedules of all sizes. \return the first problem; empty: there is none
    std::string Prove() const;
    void StartSize();
    void EnterAll();
    void Enter(Rank position, int64_t now);

    /// A rank's part of an iteration.
    struct Left
    {
        reports::CollectivePart part;
        uint32_t entered;                    //!< by this rank, for this size
        reports::CollectivePaths::Path path; //!< path of the last iteration, held
    };

    /// The same as it goes to another process.
    struct LeftNote
    {
        PartNote part;
        uint32_t entered;
    };

    /// As NodeWindows::Note tells.
    void TellPart(const Left& left);
    /// At once or, of several processes, in the first one.
    void HearPart(const Left& left);
    /// As decided, in all processes.
    void Apply(const Decision& decision);
    /// All ranks have left an iteration.
    void OnIteration(const CollectiveRecord& record);
    /// All ranks have done this size.
    void OnSizeDone();
    /// One time from the ranks' times, from the start to leaving the last iteration, ps: --average.
    double Elapsed() const;

    /// An algorithm's way to do all sizes: the table's own, and those compared with it, which each
    /// have connections of their own, so that none finds what another has left.
    struct Choice
    {
        std::unique_ptr<Interconnect> interconnect;
        std::unique_ptr<CollectiveRunner> runner;
        uint32_t communicator = 0;
    };

    /// Sizes and choices.
    std::size_t Jobs() const;

    const scenario::CollperfScenario& m_scenario;
    FabricRun m_run;
    std::unique_ptr<reports::CollectivePaths> m_paths; ///< before runners, which go first
    std::vector<Choice> m_choices;
    reports::CollperfTable m_table;
    std::size_t m_begun = 0;         ///< number of Jobs() that have begun; the last of them runs
    coll::Collective m_what;         ///< the collective of the current size
    uint32_t m_iterations;           ///< iterations of a size, warm-up included
    std::vector<uint32_t> m_entered; ///< per rank of this process, of this size
    uint32_t m_tag = 0;
    // The joined parts of ranks, for this size.
    reports::CollectiveJoin m_join;
    int64_t m_start = 0; ///< ps: the first rank enters the first measured iteration
    // When ranks left the last iteration:
    std::optional<int64_t> m_firstLeft; ///< ps: the first of them
    int64_t m_lastLeft = 0;             ///< ps
    int64_t m_zeroLeft = 0;             ///< ps: rank 0
    double m_leftTogether = 0;          ///< ps, summed up
    /// The path on which the last rank left it; held.
    reports::CollectivePaths::Path m_path = reports::CollectivePaths::NONE;
    uint32_t m_iterationsDone = 0;
    uint32_t m_ranksWarm = 0; ///< ranks that have ended their warm-up iterations
    uint32_t m_ranksDone = 0;
    uint16_t m_kind = 0; ///< kind in RankNotes
};

} // namespace dltrain

#endif // DLTRAIN_COLLPERF_SIMULATION_H
