/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long collectives take in groups of ranks along digits: the tuner's formulas for the group
 * that is slowest.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_OPTIONS_DIGIT_TIMES_H
#define SCENARIOS_OPERATOR_SEARCH_OPTIONS_DIGIT_TIMES_H

#include "scenarios/collective/collective-times.h"
#include "scenarios/operator-search/simulator-cost.h"

#include <cstdint>
#include <map>
#include <unordered_map>

namespace scenario
{

class DigitTimes : public sharding::CommunicationTimes
{
  public:
    /// \param ranks the first ones of the cluster
    DigitTimes(const TrainingScenario& on, uint32_t ranks)
        : m_times(on),
          m_ranks(ranks),
          m_gpus(on.cluster.server.gpus)
    {
    }

    double Seconds(coll::Op op, double bytes, const sharding::Digits& digits) override;
    bool TakesNics(const sharding::Digits& digits) override;

  private:
    struct Groups
    {
        /// How groups lie on servers, and how many GPUs of a server share its NICs then: of 2 x 3
        /// GPUs in pairs, the second pair alone is on both servers.
        std::map<uint32_t, uint32_t> kinds;
        std::unordered_map<uint64_t, double> seconds; ///< by bytes and operation
    };

    Groups& GroupsOf(const sharding::Digits& digits);
    std::map<uint32_t, uint32_t> KindsOf(const sharding::Digits& digits);

    CollectiveTimes m_times;
    uint32_t m_ranks;
    uint32_t m_gpus; ///< of a server
    std::map<sharding::Digits, Groups> m_groups;
};

} // namespace scenario

#endif // SCENARIOS_OPERATOR_SEARCH_OPTIONS_DIGIT_TIMES_H
