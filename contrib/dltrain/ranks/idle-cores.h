/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_IDLE_CORES_H
#define DLTRAIN_IDLE_CORES_H

#include <cstdint>

namespace dltrain
{

/// \return the number of threads this process can run without taking a core from another one,
/// itself included: 1 to `most`. Counts the cores that it may use, and the running tasks in
/// /proc/loadavg (proc(5))
uint32_t IdleCores(uint32_t most);

} // namespace dltrain

#endif // DLTRAIN_IDLE_CORES_H
