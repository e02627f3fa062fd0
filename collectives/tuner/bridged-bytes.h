/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a collective sends over the host bridge of a PCIe server, which all messages between its
 * GPUs share.
 *
 *     ring over two servers of 8 GPUs: 7 of 8 messages of a round cross each server's bridge
 */
#ifndef COLLECTIVES_TUNER_BRIDGED_BYTES_H
#define COLLECTIVES_TUNER_BRIDGED_BYTES_H

#include "collectives/tuner/tuner.h"

namespace coll
{

/// Bytes over the host bridge of a server, all servers being alike; 0: there is none, or it is not
/// known (of algorithms with switches that add up).
double BridgedBytes(const Algorithm& algorithm,
                    const Cost& cost,
                    const Collective& what,
                    const Placement& placement,
                    const Machine& machine);

} // namespace coll

#endif // COLLECTIVES_TUNER_BRIDGED_BYTES_H
