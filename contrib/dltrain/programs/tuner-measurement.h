/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TUNER_MEASUREMENT_H
#define DLTRAIN_TUNER_MEASUREMENT_H

#include "contrib/dltrain/runners/collective-runner.h"
#include "contrib/dltrain/runners/fabric-run.h"
#include "scenarios/collective/measured-choices.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * One choice for a collective, simulated alone on a run's network. All groups enter it at once, on
 * fresh connections, and the time is that of the last rank to leave. There are no faults, no
 * background and no warm-up. Each has a network of its own, so its time does not depend on what was
 * measured before.
 */
class TunerMeasurement : public FabricSimulation, public CollectiveUser
{
  public:
    /// Network, cluster and collective are kept by reference. \param program for errors
    TunerMeasurement(const std::string& program,
                     const scenario::RunOptions& run,
                     const scenario::FabricSpec& fabric,
                     const scenario::ClusterSpec& cluster,
                     const scenario::CollectiveOptions& options,
                     const scenario::MeasuredCollective& one,
                     const coll::Choice& choice);

    /// \return ps; 0: it did not come to an end; nothing: it could not be simulated, and an error
    /// was printed
    std::optional<int64_t> Run();

    // CollectiveUser
    void OnRankDone(const reports::CollectivePart& part,
                    uint64_t cookie,
                    reports::PathRecord* path) override;

  private:
    // FabricSimulation
    std::string Populate() override;
    double GetShareDone() const override;
    bool IsDone() const override;
    std::string DescribeUnfinished() const override;
    nlohmann::ordered_json GetStatistics() const override;
    void PrintSummary(std::ostream& os, const reports::RunStats& network) const override;

    void EnterAll();
    /// A rank has left. As NodeWindows::Note tells.
    void Hear(const int64_t& left);

    const scenario::RunOptions m_runOptions; ///< before what reads it
    const scenario::CollectiveOptions m_options;
    const scenario::ClusterSpec& m_cluster;
    const scenario::MeasuredCollective& m_one;
    FabricRun m_run;
    std::unique_ptr<Interconnect> m_interconnect;
    std::unique_ptr<CollectiveRunner> m_runner;
    std::vector<uint32_t> m_communicators; ///< by group
    std::size_t m_ranks = 0;               ///< ranks of all groups
    std::size_t m_done = 0;
    uint32_t m_tag = 0;
    int64_t m_last = 0; ///< ps
};

} // namespace dltrain

#endif // DLTRAIN_TUNER_MEASUREMENT_H
