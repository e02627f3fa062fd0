/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Long tests look at a part of their cases, and at all of them with "./ns3 test --full".
 */
#pragma once

#include <cstdlib>
#include <string_view>

/// True with "./ns3 test --full".
inline bool
IsFull()
{
    const char* value = std::getenv("DLTRAIN_FULL");
    return value && std::string_view(value) == "1";
}
