/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Long tests look at a part of their cases, and at all of them with "./ns3 test --full".
 */
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

/// True with "./ns3 test --full".
inline bool
IsFull()
{
    const char* value = std::getenv("DLTRAIN_FULL");
    return value && std::string_view(value) == "1";
}

/// A seeded share of the cases: one of `of`, or all of them with "./ns3 test --full".
class CaseShare
{
  public:
    CaseShare(uint32_t seed, uint32_t of)
        : m_random(seed),
          m_of(of)
    {
    }

    bool Takes()
    {
        return m_random() % m_of == 0 || IsFull();
    }

  private:
    std::mt19937 m_random;
    uint32_t m_of;
};
