/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_IDLE_CORES_H
#define DLTRAIN_IDLE_CORES_H

#include <cstdint>

namespace dltrain
{

/// \return how many threads this process can run without taking a core from somebody, itself
/// included: 1 to `most`. Of the cores that it may use, as proc(5) says of /proc/loadavg who runs
uint32_t IdleCores(uint32_t most);

} // namespace dltrain

#endif // DLTRAIN_IDLE_CORES_H
