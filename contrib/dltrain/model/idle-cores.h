/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_IDLE_CORES_H
#define DLTRAIN_IDLE_CORES_H

#include <cstdint>

namespace dltrain
{

/// \return how many threads this process can run without taking a core from somebody, itself
/// included: 1 to 64. Of the cores that it may use, as proc(5) says of /proc/loadavg who runs now
uint32_t IdleCores();

} // namespace dltrain

#endif // DLTRAIN_IDLE_CORES_H
