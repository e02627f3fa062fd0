/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The variables that NCCL reads, and what each does here. Sources: nccl-environment.h.
 */
#ifndef SCENARIOS_COLLECTIVE_NCCL_VARIABLES_H
#define SCENARIOS_COLLECTIVE_NCCL_VARIABLES_H

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

enum class NcclUse : uint8_t
{
    kAlgorithm,   ///< algorithms to choose among
    kProtocol,    ///< protocols to choose among
    kMinChannels, ///< bound of channels, of collectives that add up or pass on
    kMaxChannels,
    kTimeout,    ///< --timeout-exponent
    kRetries,    ///< --retry-count
    kQueuePairs, ///< --qps-per-connection
    kSplit,      ///< --split-data-on-qps
    kSwitch,     ///< 0: `algorithms` are not chosen
    kOnly,       ///< other values than `allowed` would change times and are not simulated: refused
    /// Would change times, a little; told with what does so here.
    kElsewhere,
    kNothing, ///< concerns nothing that is simulated
};

struct NcclVariable
{
    std::string name;
    NcclUse use = NcclUse::kNothing;
    std::string help; ///< its effect here, or its replacement; empty for kNothing
    std::vector<std::string> allowed = {};
    std::vector<const char*> algorithms = {};
    std::vector<const char*> behind = {}; ///< names that win over this older one
};

const std::vector<NcclVariable>& AllNcclVariables();

/// \return null if there is no variable of that name
const NcclVariable* FindNcclVariable(const std::string& name);

/// In a sentence, for help.
std::string Describe(const NcclVariable& variable);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_NCCL_VARIABLES_H
