/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-cores.h"

#include <algorithm>
#include <cstdio>
#include <sched.h>

namespace dltrain
{

uint32_t
IdleCores(uint32_t most)
{
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof(mine), &mine) != 0)
    {
        return 1;
    }
    int running = 1; // this one
    if (std::FILE* file = std::fopen("/proc/loadavg", "r"))
    {
        if (std::fscanf(file, "%*s %*s %*s %d/", &running) != 1)
        {
            running = 1;
        }
        std::fclose(file);
    }
    return static_cast<uint32_t>(
        std::clamp(CPU_COUNT(&mine) - (running - 1), 1, static_cast<int>(most)));
}

} // namespace dltrain
