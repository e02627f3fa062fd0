/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a tuner may choose among that imitates no library: every algorithm that can do a collective,
 * with the machine's numbers alone.
 */
#ifndef COLLECTIVES_TUNER_POSSIBLE_CHOICES_H
#define COLLECTIVES_TUNER_POSSIBLE_CHOICES_H

#include "collectives/tuner/exchange-rates.h"
#include "collectives/tuner/tuner.h"

namespace coll
{

/// EstimateSeconds without the measured fall (measured-fall.h), which all choices share: NCCL does
/// not know of it.
std::optional<double> ImitatedSeconds(const Algorithm& algorithm,
                                      topo::Protocol protocol,
                                      const Collective& what,
                                      const Placement& placement,
                                      const AlgorithmOptions& options,
                                      const Machine& machine);

/// ImitatedSeconds without what NCCL expects of trees and of PAT.
std::optional<double> PlainSeconds(const Algorithm& algorithm,
                                   topo::Protocol protocol,
                                   const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options,
                                   const Machine& machine);

/// All choices that can do the collective: each algorithm with every protocol that it may have, and
/// PlainSeconds. In the order of the registry. Without algorithms that need switches between
/// servers: those have to be asked for. May be empty.
std::vector<Choice> AllPossible(const Collective& what,
                                const Placement& placement,
                                const AlgorithmOptions& options,
                                const Machine& machine,
                                const Fixed& fixed = {});

/// Whether a pair's share of channels may slow messages between servers down. A rank that sends to
/// all others at once fills its NIC all the same.
bool MaySlowDown(const ExchangeRates& rates,
                 const Algorithm& algorithm,
                 Op op,
                 const Placement& placement,
                 const Machine& machine);

} // namespace coll

#endif // COLLECTIVES_TUNER_POSSIBLE_CHOICES_H
