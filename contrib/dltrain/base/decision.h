/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_DECISION_H
#define DLTRAIN_DECISION_H

#include "scenarios/workload/workload.h"

#include <cstdint>
#include <string>
#include <variant>

namespace dltrain
{

/// collperf: the warm-up iterations are over.
struct WarmupEnded
{
};

/// collperf: all iterations of a size are over.
struct SizeEnded
{
};

/// A training job: consequences of a rank's ended round.
struct RoundEnded
{
    uint64_t attempt = 0; ///< of the job, with recovery
    workload::Notice notice = {};
};

/// A training job: the first rank of a group chooses the group's next collective
/// (CollectiveChoice).
struct CollectiveChosen
{
    uint64_t attempt = 0;
    uint32_t communicator = 0;
    uint32_t kind = 0;
    uint32_t round = 0;
    uint32_t index = 0;
};

/// A serving job: an instance has computed an iteration.
struct IterationEnded
{
    uint32_t instance = 0;
    int64_t at = 0; ///< ps
};

/// A serving job: a request's KV blocks are where they shall be.
struct TransferEnded
{
    uint32_t request = 0;
    int64_t at = 0;      ///< ps
    uint32_t orders = 0; ///< transfers that end with it
};

/// A consequence of hosts' events for hosts of all processes (FabricRun::DecideForAll).
struct Decision
{
    std::
        variant<WarmupEnded, SizeEnded, RoundEnded, IterationEnded, TransferEnded, CollectiveChosen>
            what = {};
    uint32_t job = 0; ///< of several
};

/// As it goes to other processes.
std::string ToText(const Decision& decision);
/// \throw std::runtime_error if it is no text of ToText
Decision DecisionOf(const std::string& text);

} // namespace dltrain

#endif // DLTRAIN_DECISION_H
