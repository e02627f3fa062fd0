/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long batches take that run at once on a GPU, and what of the GPU they use.
 */
#ifndef SCENARIOS_MULTIPLEX_BATCH_TIMES_H
#define SCENARIOS_MULTIPLEX_BATCH_TIMES_H

#include "scenarios/multiplex/interference.h"
#include "scenarios/multiplex/policy.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace multiplex
{

/// A batch that runs, with the largest share that it may have.
struct Claim
{
    uint32_t model;
    uint32_t batch;
    double percent;
    Time due = 0; ///< of its first request, by the SLO: kFluid serves the first due first
};

class BatchTimes
{
  public:
    /// \param mix kept by reference
    BatchTimes(const Mix& mix, Sharing sharing, bool interferes);

    /// Seconds of each while all run. \return the share of the GPU in use, per cent
    double Of(const std::vector<Claim>& claims, std::vector<double>* seconds);

    /// LeastWork() of a batch of a model, s of a whole GPU.
    double WorkOf(uint32_t model, uint32_t batch);

  private:
    /// The batch, or the next larger one that its curve has: a smaller one is padded.
    uint32_t KnownBatch(uint32_t model, uint32_t batch) const;
    const Running& AtShare(uint32_t model, uint32_t batch, double percent);
    double Fluid(const std::vector<Claim>& claims, std::vector<double>* seconds);

    const Mix& m_mix;
    Sharing m_sharing;
    bool m_interferes;
    std::unordered_map<uint64_t, Running> m_running;
    std::unordered_map<uint64_t, double> m_work;
    std::vector<const Running*> m_now;
    std::vector<std::size_t> m_order;
};

/// Equal shares that add up to 100% at most, none above its own. \return the level
double EqualShares(const std::vector<Claim>& claims, std::vector<double>* shares);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_BATCH_TIMES_H
